//! Published runs, and the gallery that is made of many.
//! In: runs of a ledger, or folders of what others published, taken as hostile. Out: what a published run states, and the gallery's data.

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
