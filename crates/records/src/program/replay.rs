//! A recorded run of a program as work.
//! In: made by `workload` from a workload file. Out: part of a [`super::Program`], replayed by the engine in the root.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which trace is replayed, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The trace's file, whole.
    pub trace: PathBuf,
    /// Its contents, as `trace::checksum` has it; empty: whatever they are.
    pub checksum: String,
    /// Whether the program's own time passes between its calls; without it, a call is made as soon as those are over that it comes after.
    pub think: bool,
}
