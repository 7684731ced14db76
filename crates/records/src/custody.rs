//! What is promised of devices: words that allow erasing them, and which devices a run began on.
//! In: the command line's words, and what `staging` found when it took the devices. Out: plain values, kept with the run's plan.

use crate::device::Number;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the owner of devices said, and what was found when a run began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Names of devices that may be erased.
    pub erase: Vec<String>,
    /// Which devices these were when the run began; empty in runs of version 0.1.
    pub promised: Vec<Promise>,
}

/// What was promised of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The path by which the user named it.
    pub named: PathBuf,
    /// Which device that was.
    pub identity: Identity,
}

/// Which device it is, by what cannot move by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Bytes.
    pub size_bytes: u64,
    /// Smallest unit that can be addressed, in bytes.
    pub logical_sector: u32,
    /// Model, of the whole disk for a partition.
    pub model: Option<String>,
    /// Serial number, of the whole disk for a partition.
    pub serial: Option<String>,
    /// World-wide name, likewise.
    pub wwid: Option<String>,
    /// Names under /dev/disk/by-id.
    pub by_id: Vec<String>,
    /// Partitions only: number, first byte, and the identifiers of the partition and of its table.
    pub partition: Option<PartitionIdentity>,
    /// Loop devices only: the file behind it.
    pub backing: Option<Backing>,
    /// The kernel's count of disks since boot; it says nothing after another boot.
    pub sequence: Option<u64>,
    /// The boot in which that count was read.
    pub boot_id: String,
}

/// Which partition it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionIdentity {
    /// Number on the disk.
    pub number: u32,
    /// First byte on the disk.
    pub start: u64,
    /// Identifier of the partition.
    pub uuid: Option<String>,
    /// Identifier of the disk's table.
    pub table_uuid: Option<String>,
}

/// Which file is behind a loop device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backing {
    /// Its name, as the kernel remembers it.
    pub path: PathBuf,
    /// The file, or None where a device is behind it.
    pub file: Option<FileId>,
    /// Where in it the loop device begins.
    pub offset: u64,
}

/// A file, whatever its name: the device of its filesystem and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileId {
    /// Device number that stat(2) tells for its filesystem.
    pub device: Number,
    /// Its number on that filesystem.
    pub inode: u64,
}
