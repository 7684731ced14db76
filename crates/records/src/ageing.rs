//! Ageing: the requested profile, the outcome of its history, and the file layout after it.
//! In: profiles from `ages/*.toml`, outcomes from the engine. Out: plain values.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name that contenders refer to: the name of its file.
    pub name: String,
    /// Its purpose.
    pub about: String,
    /// Published studies and facts that it is based on.
    pub sources: Vec<String>,
    /// Share of the volume to fill, unless the contender sets one.
    pub fill: f64,
    /// Seed of the history.
    pub seed: u64,
    /// See `workload::ageing::History::sizes`.
    pub sizes: Vec<(u64, u32)>,
    /// Largest file, as a share of the filled space.
    pub largest: f64,
    /// Files in a directory, on average.
    pub files_per_directory: u32,
    /// Bytes after which everything is written back.
    pub sync_bytes: u64,
    /// Churn after filling.
    pub churn: Option<ProfileChurn>,
    /// See `workload::ageing::History::rewritten`.
    pub rewritten: bool,
    /// A git history that is checked out commit by commit, after filling and churn.
    pub git: Option<Git>,
}

/// Churn after filling, before the volume's size is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileChurn {
    /// Bytes to write, as a multiple of the volume.
    pub written: f64,
    /// See `workload::ageing::Churn::until_converged`.
    pub until_converged: bool,
    /// See `workload::ageing::Churn::mix`.
    pub mix: Mix,
    /// See `workload::ageing::Churn::short_lived_percent`.
    pub short_lived_percent: u32,
    /// See `workload::ageing::Churn::short_life`.
    pub short_life: u32,
}

/// A git history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Git {
    /// The repository.
    pub path: PathBuf,
    /// Number of commits to check out, evenly spread over the first parents of its HEAD, the oldest first.
    pub checkouts: u32,
}

/// Weights of operations; creations and deletions are balanced so that the fill is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mix {
    /// A new file.
    pub create: u32,
    /// A file is extended at its end.
    pub append: u32,
    /// A part of a file is overwritten in place.
    pub overwrite: u32,
    /// A file is shortened at its end.
    pub truncate: u32,
    /// A file is moved to another directory under another name.
    pub rename: u32,
    /// A file is deleted.
    pub delete: u32,
}

/// Outcome of a history.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aged {
    /// Files that exist in the end, by the history.
    pub files: u64,
    /// Bytes in these files, by the history.
    pub bytes: u64,
    /// Operations of the history.
    pub operations: u64,
    /// Bytes that were written.
    pub written: u64,
    /// Operations that failed for lack of space. Their data is not there, and the file is removed.
    pub no_space: u64,
    /// Operations on files that such an operation removed.
    pub skipped: u64,
    /// Bytes in files, by the history, when space ran out for the first time.
    pub no_space_at: Option<u64>,
    /// Nanoseconds from the beginning until everything was written back.
    pub elapsed_ns: u64,
    /// CPU time of the ager, in nanoseconds.
    pub cpu_ns: u64,
    /// Extents per file of more than one block, after each eighth of the churn; empty where the filesystem does not report extents.
    pub extents: Vec<f64>,
    /// Bytes that the churn had written when it stopped because the layout had converged.
    pub converged_after: Option<u64>,
    /// Every operation with its names, sizes and order, folded into one number: equal for equal histories.
    pub history_hash: u64,
}

/// File layout.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Regular files.
    pub files: u64,
    /// Directories below the root.
    pub directories: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// Bytes that the filesystem reports as allocated to them.
    pub allocated: u64,
    /// Files of more than one block whose extents were read.
    pub sampled: u64,
    /// One in so many files was inspected; 1: all.
    pub one_of: u64,
    /// Extents per inspected file; extents that are adjacent on the device count as one. Absent: the filesystem does not report them.
    pub extents_per_file: Option<f64>,
    /// Share of these files that have one extent.
    pub in_one_piece: Option<f64>,
    /// Share of blocks, without first blocks of files, that follow the previous block on the device: the layout score of Smith and Seltzer
    /// (SIGMETRICS 1997), over all files.
    pub layout_score: Option<f64>,
    /// Mean of the files' own layout scores.
    pub mean_file_score: Option<f64>,
    /// Paths, sizes and, on request, content of everything, folded into one order-independent number.
    pub tree_hash: u64,
    /// Why there are no extents.
    pub no_extents: Option<String>,
}
