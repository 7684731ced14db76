//! A recorded run of a program as work.
//! In: made by `workload` from a workload file. Out: part of a [`super::Program`], replayed by the engine in the root.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which trace is replayed, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The whole trace file.
    pub trace: PathBuf,
    /// Checksum of its contents, by `trace::checksum`; empty: any contents.
    pub checksum: String,
    /// Whether the program's own time between its calls is kept; without it, a call starts as soon as the calls it depends on are over.
    pub think: bool,
}
