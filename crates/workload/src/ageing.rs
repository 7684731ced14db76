//! Ageing as the seam carries it: the history that a volume is to have lived through, and what came of it.
//! In: made from a profile of `ages/` and a volume's size. Out: read by the engine, answered to the runner.
//! A history is a pure function of these values: names, sizes and order are the same on every filesystem.

use crate::program::Durable;
pub use records::ageing::{Aged, Layout, Mix};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Folder of aged files, beside the folder in which workloads work.
pub const FOLDER: &str = "aged";

/// Sizes are remembered in grains of this many bytes, so that a file takes eight bytes of memory.
pub const GRAIN: u64 = 64;

/// Largest file of a history, in bytes.
pub const LARGEST: u64 = GRAIN * u32::MAX as u64;

/// Files of one history at most; what is remembered of each takes 12 bytes.
pub const FILES_LIMIT: u64 = 64_000_000;

/// What a volume is to have lived through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Seed of every choice.
    pub seed: u64,
    /// Bytes of the volume.
    pub volume: u64,
    /// Bytes that files hold in the end, each rounded up to 4 KiB.
    pub filled: u64,
    /// Sizes of new files: the most bytes, and the share of files up to that size in millionths; ascending, the last is
    /// 1,000,000. Within a step all sizes are equally likely.
    pub sizes: Vec<(u64, u32)>,
    /// Largest file in bytes; larger draws are cut.
    pub largest: u64,
    /// Files in a directory, on average.
    pub files_per_directory: u32,
    /// What goes on after filling; None: nothing.
    pub churn: Option<Churn>,
    /// Only the files that are left in the end are written, once, directory after directory.
    pub rewritten: bool,
}

/// What goes on after filling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Churn {
    /// Bytes to write.
    pub bytes: u64,
    /// Ends earlier, where the layout changes by less than 10 % from one eighth of the bytes to the next.
    pub until_converged: bool,
    /// How often each operation is drawn.
    pub mix: Mix,
    /// Share of new files, in percent, that are deleted after [`Churn::short_life`] operations.
    pub short_lived_percent: u32,
    /// Operations that they live.
    pub short_life: u32,
}

/// What the engine is asked: live through a history in a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ageing {
    /// Directory in which [`FOLDER`] is made.
    pub root: PathBuf,
    /// The history.
    pub history: History,
    /// Everything is written back after every so many bytes, so that the filesystem lives through what it is told
    /// rather than forget it in memory.
    pub sync_bytes: u64,
    /// What writes back.
    pub durable: Durable,
    /// Seconds after which it fails.
    pub time_limit: u64,
}

/// What the engine is asked: how the files below a directory lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The directory.
    pub root: PathBuf,
    /// Extents are asked of so many files at most, evenly spread by the hash of their paths.
    pub sample: u64,
    /// Files that are expected, from which the sample's share follows; 0: not known, all are looked at.
    pub expected: u64,
    /// Whether files are read, so that the hash is one of their content too.
    pub content: bool,
}
