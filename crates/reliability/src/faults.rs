//! Faults: what a contender reports, returns and keeps when its disk fails.
//! In: a stage on a disk that Bakeoff serves itself, and the name of a fault. Out: a [`Round`] for each time, and of all of them a [`FaultResult`].
//!
//! A fresh filesystem is filled with files whose content is known sector by sector; then the disk is harmed, everything is read, and files are written and
//! synced; then the disk is whole again, the filesystem is mounted anew, everything is read once more, and its own check is asked.

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
