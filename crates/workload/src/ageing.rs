//! Ageing as the seam carries it: the history that a volume is to have lived through, and what came of it.
//! In: made from a profile of `ages/` and a volume's size. Out: read by the engine, answered to the runner.
//! A history is a pure function of these values: names, sizes and order are the same on every filesystem.

use crate::program::Durable;
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

/// Weights of operations; creations and deletions are balanced so that the fill is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mix {
    /// A new file.
    pub create: u32,
    /// A file grows at its end.
    pub append: u32,
    /// A part of a file is written again in its place.
    pub overwrite: u32,
    /// A file loses its end.
    pub truncate: u32,
    /// A file gets another name in another directory.
    pub rename: u32,
    /// A file goes.
    pub delete: u32,
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

/// What came of a history.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Aged {
    /// Files that are there in the end, by the history.
    pub files: u64,
    /// Bytes that they hold, by the history.
    pub bytes: u64,
    /// Operations of the history.
    pub operations: u64,
    /// Bytes that were written.
    pub written: u64,
    /// Operations for which there was no space. What they would have written is not there, and the file is removed.
    pub no_space: u64,
    /// Operations on files that such an operation removed.
    pub skipped: u64,
    /// Bytes that files held, by the history, when space ran out for the first time.
    pub no_space_at: Option<u64>,
    /// Nanoseconds from the beginning until all was written back.
    pub elapsed_ns: u64,
    /// CPU time of the ager, in nanoseconds.
    pub cpu_ns: u64,
    /// Extents for each file of more than one block, after each eighth of the churn; empty where the filesystem does not
    /// tell extents.
    pub extents: Vec<f64>,
    /// Bytes that the churn wrote before it stopped for the layout had converged.
    pub converged_after: Option<u64>,
    /// Every operation with its names, sizes and order, folded into one number: equal for equal histories.
    pub history_hash: u64,
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

/// How files lie.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Layout {
    /// Regular files.
    pub files: u64,
    /// Directories below the root.
    pub directories: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// Bytes that the filesystem says it gave them.
    pub allocated: u64,
    /// Files of more than one block of which extents were asked.
    pub sampled: u64,
    /// One of so many files was looked at; 1: all.
    pub one_of: u64,
    /// Extents for each of these; extents that follow each other on the device count as one. Absent: the filesystem does
    /// not tell.
    pub extents_per_file: Option<f64>,
    /// Share of these files that lie in one piece.
    pub in_one_piece: Option<f64>,
    /// Share of blocks, first blocks of files left out, that follow the block before: the layout score of Smith and
    /// Seltzer (SIGMETRICS 1997), all files together.
    pub layout_score: Option<f64>,
    /// Mean of the files' own layout scores.
    pub mean_file_score: Option<f64>,
    /// Paths, sizes and, where asked for, content of everything, folded into one number in which order does not count.
    pub tree_hash: u64,
    /// Why there are no extents.
    pub no_extents: Option<String>,
}
