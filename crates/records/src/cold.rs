//! Cold starts: the ways to bring one about, and what shows that it was one.
//! In: chosen by a plan, filled in by whoever empties caches. Out: kept beside the phase that began cold.
//! docs/staging.md compares the two.

use serde::{Deserialize, Serialize};

/// How the caches of a filesystem are emptied before a cold phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColdWay {
    /// It is unmounted, its device's pages are forgotten, and it is mounted again: only this filesystem starts cold. Where
    /// that cannot be done (directories, filesystems with a cache of their own) caches are dropped.
    #[default]
    Remount,
    /// All clean pages, dentries and inodes of the machine are dropped.
    Drop,
}

impl ColdWay {
    /// Name in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ColdWay::Remount => "remount",
            ColdWay::Drop => "drop",
        }
    }
}

/// How one phase was started cold, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdStart {
    /// The way that was gone.
    pub way: ColdWay,
    /// Bytes of the device that were cached while nothing was mounted on it; 0 proves the start, absent where it stayed
    /// mounted or the kernel cannot tell (cachestat(2), Linux 6.5).
    pub device_cached_bytes: Option<u64>,
    /// Bytes of the device that were cached once it was mounted again: what mounting itself read.
    pub mounting_read_bytes: Option<u64>,
    /// Bytes of an image's file that were cached beneath the device.
    pub image_cached_bytes: Option<u64>,
    /// Files of the phase that were looked at for cached pages; with none found in n of them, at most 3/n of all have any
    /// (with 95 % confidence). Absent where none were.
    pub files_looked_at: Option<u64>,
}
