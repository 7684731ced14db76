//! Cleaning up after interrupted runs: finding what they left, and removing what is proven to be theirs.
//! In: cleanup records of [`crate::ownership`]. Out: what was found, what was removed, what could not be.

pub(crate) mod clean;
pub(crate) mod leftover;
mod removal;
