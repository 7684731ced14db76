//! Faults: what a contender reports, returns and keeps when its disk fails.
//! In: a stage on a disk served by Bakeoff, and the name of a fault. Out: a [`Round`] for each time, and a [`FaultResult`] for all of them.
//!
//! A fresh filesystem is filled with files of known content, stamped sector by sector. Then a fault is injected, everything is read, and files are
//! written and synced. Then the disk is repaired, the filesystem is mounted again, everything is read once more, and its own check runs.

mod files;
mod ground;
mod hands;
mod in_guest;
mod kinds;
mod result;
mod trial;
mod work;

pub use files::Counts;
pub(crate) use files::lay_out;
pub use ground::Ground;
pub(crate) use hands::{Looked, at_work, look};
pub use kinds::{FAULTS, KnownFault, known};
pub use result::{FaultResult, Harmed, Verdict, of_rounds};
pub use trial::{Round, harm};
pub use work::Access;
pub(crate) use work::{Worked, access};
