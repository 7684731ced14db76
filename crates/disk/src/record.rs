//! The record of a disk: submission and completion of every write and flush, and marks between them.
//! In: requests at the server, in order. Out: a [`Record`] of their order, without data.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An event on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A write arrived; its number.
    Submitted(usize),
    /// It was answered.
    Completed(usize),
    /// A flush arrived; its number.
    FlushSubmitted(usize),
    /// It was answered.
    Flushed(usize),
    /// The client set a mark.
    Marked(u64),
}

/// An event and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The event.
    pub event: Event,
    /// Time since the start of the recording.
    pub at: Duration,
}

/// A write without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteFacts {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// The blocks were discarded or zeroed, and then hold zeros.
    pub cleared: bool,
}

/// All changes of a disk during a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// All events, in order.
    pub moments: Vec<Moment>,
    /// The writes, by number.
    pub writes: Vec<WriteFacts>,
}
