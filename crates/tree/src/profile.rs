//! What a scan found. Plain data.

use crate::Histogram;
use std::time::Duration;

/// A tree in numbers. A file with several names (hard links) counts once, in the directory in which it was first found.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Sizes of regular files, in bytes.
    pub sizes: Histogram,
    /// Lengths of the names of regular files, in bytes.
    pub names: Histogram,
    /// Files per directory, for each level; the folder itself is level 0. Deeper directories count to the last level.
    pub levels: Vec<Histogram>,
    /// Levels of files: that of their directory.
    pub file_levels: Histogram,
    /// Bytes that files occupy, as the filesystem reports.
    pub allocated: u64,
    /// Further names of files that were found before.
    pub further_names: u64,
    /// Files that occupy fewer blocks than their size needs: with holes, or compressed by the filesystem.
    pub sparse: u64,
    /// Symbolic links.
    pub symbolic_links: u64,
    /// Sockets, FIFOs and devices.
    pub special: u64,
    /// Directories below the deepest level that is kept.
    pub too_deep: u64,
    /// Share of the data that deflate saves, by bytes; `looked_at` counts pieces of at most 64 KiB.
    pub compressible: Sampled,
    /// Share of the data in files whose size, first and last 64 KiB another file has as well, by bytes; `looked_at` counts files.
    pub duplicate: Sampled,
    /// Share of files with attributes of the user (`user.*`); `looked_at` counts files.
    pub attributes: Sampled,
    /// Mean bytes of the values of a file's attributes, of files that have any.
    pub attribute_bytes: u64,
    /// What is missing in all these numbers.
    pub left_out: LeftOut,
    /// Duration of the scan, without samples.
    pub duration: Duration,
    /// Duration of reading samples, after the scan.
    pub sampling: Duration,
}

/// A share that was estimated from a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampled {
    /// The share, from 0 to 1; None if nothing could be sampled.
    pub share: Option<f64>,
    /// Size of the sample.
    pub looked_at: u64,
}

/// What a scan did not see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Directories that could not be read, and the first with the reason.
    pub unreadable: u64,
    /// The first of them, and the system's answer.
    pub first_unreadable: Option<String>,
    /// Entries that vanished or could not be inspected.
    pub vanished: u64,
    /// Directories on which another filesystem is mounted.
    pub other_filesystems: u64,
    /// Known directories that were not read when the scan ended at its limit; an unknown number is below them.
    pub unread: u64,
    /// The limit at which the scan ended: `files` or `time`.
    pub limit: Option<&'static str>,
    /// Names of files with several names that may count twice, since the table of such files was full.
    pub untracked_names: u64,
    /// Files of samples that could not be opened or read.
    pub unsampled: u64,
}

impl Profile {
    /// Number of regular files.
    pub fn files(&self) -> u64 {
        self.sizes.count()
    }

    /// Number of directories, the folder itself included.
    pub fn directories(&self) -> u64 {
        self.levels.iter().map(Histogram::count).sum()
    }

    /// Bytes of all files: the sum of their sizes.
    pub fn bytes(&self) -> u128 {
        self.sizes.sum()
    }

    /// Files per directory on all levels.
    pub fn per_directory(&self) -> Histogram {
        let mut all = Histogram::default();
        self.levels.iter().for_each(|level| all.merge(level));
        all
    }
}
