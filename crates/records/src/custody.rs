//! Permissions for devices: which may be erased, and which devices a run began on.
//! In: arguments of the command line, and what `staging` found when it took the devices. Out: plain values, kept with the run's plan.

use crate::device::Number;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The permissions that the user gave, and the devices found when a run began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Names of devices that may be erased.
    pub erase: Vec<String>,
    /// Identities of these devices when the run began; empty in runs of version 0.1.
    pub promised: Vec<Promise>,
}

/// Permission for one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The path that the user gave.
    pub named: PathBuf,
    /// Identity of that device.
    pub identity: Identity,
}

/// Identity of a device, by properties that do not change by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Bytes.
    pub size_bytes: u64,
    /// Smallest addressable unit, in bytes.
    pub logical_sector: u32,
    /// Model, of the whole disk for a partition.
    pub model: Option<String>,
    /// Serial number, of the whole disk for a partition.
    pub serial: Option<String>,
    /// World-wide name, of the whole disk for a partition.
    pub wwid: Option<String>,
    /// Names under /dev/disk/by-id.
    pub by_id: Vec<String>,
    /// Partitions only: number, first byte, and the identifiers of the partition and of its table.
    pub partition: Option<PartitionIdentity>,
    /// Loop devices only: the file behind it.
    pub backing: Option<Backing>,
    /// The kernel's count of disks since boot; meaningless after another boot.
    pub sequence: Option<u64>,
    /// The boot in which that count was read.
    pub boot_id: String,
}

/// Identity of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionIdentity {
    /// Number on the disk.
    pub number: u32,
    /// First byte on the disk.
    pub start: u64,
    /// Identifier of the partition.
    pub uuid: Option<String>,
    /// Identifier of the disk's partition table.
    pub table_uuid: Option<String>,
}

/// Identity of the backing file of a loop device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backing {
    /// Its name, as the kernel keeps it.
    pub path: PathBuf,
    /// The file, or None if it is a device.
    pub file: Option<FileId>,
    /// Offset of the loop device in it.
    pub offset: u64,
}

/// A file, whatever its name: the device of its filesystem and its inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileId {
    /// Device number of its filesystem, as in stat(2).
    pub device: Number,
    /// Its inode number on that filesystem.
    pub inode: u64,
}
