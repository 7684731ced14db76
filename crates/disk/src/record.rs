//! The record of a disk: every write at its submission and at its completion, every flush, and what somebody marked between them.
//! In: what the server sees, in order. Out: a [`Record`], which knows the order and not the data.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What happened to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A write, by its number, arrived.
    Submitted(usize),
    /// It was answered.
    Completed(usize),
    /// A flush, by its number, arrived.
    FlushSubmitted(usize),
    /// It was answered.
    Flushed(usize),
    /// Somebody had a word written down.
    Marked(u64),
}

/// An event and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// What happened.
    pub event: Event,
    /// Time since the recording began.
    pub at: Duration,
}

/// A write without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteFacts {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// The blocks were given up (discarded, or made zeros), and hold zeros then.
    pub cleared: bool,
}

/// What was done to a disk while it was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// All that happened, in order.
    pub moments: Vec<Moment>,
    /// The writes, by number.
    pub writes: Vec<WriteFacts>,
}
