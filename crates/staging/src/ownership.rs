//! Ownership: what a run records before it makes anything, and what later proves that the run made it.
//! In: paths, devices and processes of a run. Out: cleanup records, and whether their maker is alive.
//! Everything that makes or removes something builds on this; nothing here removes more than its own records.

pub(crate) mod cleanup_journal;
pub(crate) mod life;
pub(crate) mod owned;
pub(crate) mod state;
