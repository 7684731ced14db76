//! Ageing in the protocol: the history that a volume goes through, and its result.
//! In: made from a profile of `ages/` and a volume's size. Out: read by the engine; the result goes to the runner.
//! A history is a pure function of these values: names, sizes and order are the same on every filesystem.

use crate::program::Durable;
pub use records::ageing::{Aged, Layout, Mix};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Folder of aged files, next to the folder in which workloads run.
pub const FOLDER: &str = "aged";

/// Unit of recorded sizes in bytes, so that a file takes eight bytes of memory.
pub const GRAIN: u64 = 64;

/// Largest file of a history, in bytes.
pub const LARGEST: u64 = GRAIN * u32::MAX as u64;

/// Files of one history at most; the record of each takes 12 bytes.
pub const FILES_LIMIT: u64 = 64_000_000;

/// The history that a volume goes through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Seed of every choice.
    pub seed: u64,
    /// Bytes of the volume.
    pub volume: u64,
    /// Bytes of files at the end, each rounded up to 4 KiB.
    pub filled: u64,
    /// Sizes of new files: the most bytes, and the share of files up to that size in millionths; ascending, the last is
    /// 1,000,000. Within a step all sizes are equally likely.
    pub sizes: Vec<(u64, u32)>,
    /// Largest file in bytes; larger draws are cut.
    pub largest: u64,
    /// Files in a directory, on average.
    pub files_per_directory: u32,
    /// Operations after filling; None: none.
    pub churn: Option<Churn>,
    /// Only the files that remain at the end are written, once, directory by directory.
    pub rewritten: bool,
}

/// Operations after filling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Churn {
    /// Bytes to write.
    pub bytes: u64,
    /// Ends early if the layout changes by less than 10 % from one eighth of the bytes to the next.
    pub until_converged: bool,
    /// How often each operation is drawn.
    pub mix: Mix,
    /// Share of new files, in percent, that are deleted after [`Churn::short_life`] operations.
    pub short_lived_percent: u32,
    /// Lifetime of those files in operations.
    pub short_life: u32,
}

/// Request to the engine: carry out a history in a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ageing {
    /// Directory in which [`FOLDER`] is made.
    pub root: PathBuf,
    /// The history.
    pub history: History,
    /// Everything is written back each time this many bytes were written, so that the filesystem handles the whole history and does not
    /// cancel out operations in memory.
    pub sync_bytes: u64,
    /// The call that writes back.
    pub durable: Durable,
    /// Time limit in seconds.
    pub time_limit: u64,
}

/// Request to the engine: the layout of the files below a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The directory.
    pub root: PathBuf,
    /// Extents are read of this many files at most, evenly sampled by the hash of their paths.
    pub sample: u64,
    /// Expected number of files, which gives the sample's share; 0: unknown, all are read.
    pub expected: u64,
    /// Whether files are read, so that the hash covers their content too.
    pub content: bool,
}
