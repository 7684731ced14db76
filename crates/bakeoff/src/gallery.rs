//! Published runs, and the gallery that is made of many.
//! In: runs of a ledger, or folders of what others published, taken as hostile. Out: what a published run states, and the gallery's data.

pub mod stated;

pub use stated::{Stated, Verdict};
