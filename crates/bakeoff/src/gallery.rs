//! Published runs, and the gallery made of them.
//! In: runs of a ledger, or folders of published runs, treated as hostile. Out: the statement of a published run, and the gallery's data.

mod disk;
mod gather;
mod judged;
mod literature;
mod pool;
mod stated;
mod whole;

pub use gather::{Refused, gather};
pub use judged::Judged;
pub use stated::Stated;
pub use whole::whole;
