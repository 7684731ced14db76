//! Whose things are: what a run writes down before it makes anything, and what proves later that it was the one.
//! In: paths, devices and processes of a run. Out: marks and records, and whether their maker still lives.
//! Everything that makes or removes something stands on this; nothing here removes more than its own records.

pub(crate) mod cleanup_journal;
pub(crate) mod life;
pub(crate) mod owned;
pub(crate) mod state;
