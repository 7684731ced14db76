//! Cold starts: how they are done, and the proof of each.
//! In: the way is chosen by a plan, the rest filled in when caches are emptied. Out: kept with the phase that began cold.
//! docs/staging.md compares the two.

use serde::{Deserialize, Serialize};

/// How the caches of a filesystem are emptied before a cold phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColdWay {
    /// Unmount the filesystem, drop its device's pages, and mount it again: only this filesystem starts cold. Where that is impossible
    /// (directories, filesystems with a cache of their own) caches are dropped.
    #[default]
    Remount,
    /// Drop all clean pages, dentries and inodes of the machine.
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

/// How one phase was started cold, and the proof.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdStart {
    /// The way that was used.
    pub way: ColdWay,
    /// Bytes of the device in the page cache while it was unmounted; 0 proves the cold start, absent where it stayed mounted or the kernel
    /// does not report it (cachestat(2), Linux 6.5).
    pub device_cached_bytes: Option<u64>,
    /// Bytes of the device in the page cache after mounting again: what mounting itself read.
    pub mounting_read_bytes: Option<u64>,
    /// Bytes in the page cache of the image file below the device.
    pub image_cached_bytes: Option<u64>,
    /// Files of the phase that were checked for cached pages; with none found in n of them, at most 3/n of all have any (with 95 %
    /// confidence). Absent where none were checked.
    pub files_looked_at: Option<u64>,
}
