//! Block devices as found: size, identity, queue, related devices.
//! In: sysfs, read by `system`. Out: plain values.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl Number {
    /// From `major:minor`.
    pub fn parse(text: &str) -> Option<Number> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Number { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.major, self.minor)
    }
}

/// One block device or partition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockDevice {
    /// Device node, all symlinks resolved.
    pub path: PathBuf,
    /// Name in sysfs: `sda1`, `nvme0n1`, `loop3`.
    pub name: String,
    /// Device number.
    pub number: Number,
    /// Bytes.
    pub size_bytes: u64,
    /// Serial number, of the whole disk for a partition; absent where the device reports none.
    pub serial: Option<String>,
    /// World-wide name; absent where the device reports none.
    pub wwid: Option<String>,
    /// Names under /dev/disk/by-id that lead to this device itself.
    pub by_id: Vec<String>,
    /// Model, of the whole disk for a partition.
    pub model: Option<String>,
    /// Kernel driver or transport, as far as sysfs shows it: `virtio_blk`, `nvme`, `sd`, `loop`.
    pub driver: Option<String>,
    /// Reports itself as rotational.
    pub rotational: bool,
    /// Reports itself as removable.
    pub removable: bool,
    /// Read-only now.
    pub read_only: bool,
    /// Smallest addressable unit, in bytes.
    pub logical_sector: u32,
    /// Unit that is written without a read first, in bytes.
    pub physical_sector: u32,
    /// Discards (TRIM) take effect.
    pub discards: bool,
    /// The kernel's count of disks since boot: a device that was removed and attached again has another.
    pub sequence: Option<u64>,
    /// The disk that this is a partition of.
    pub parent: Option<String>,
    /// Partitions of this disk.
    pub partitions: Vec<String>,
    /// Devices built on this one (device mapper, RAID, bcache).
    pub holders: Vec<String>,
    /// Devices that this one is built on.
    pub slaves: Vec<String>,
    /// Kind of layer, as text: `partition 1, from byte 1048576`, `RAID (raid5) of 3 devices`; absent for a plain disk.
    pub layout: Option<String>,
    /// File behind a loop device.
    pub backing_file: Option<PathBuf>,
    /// Loop devices only: whether direct I/O to the backing file is on.
    pub loop_direct: Option<bool>,
    /// Queue settings.
    pub queue: Queue,
}

impl BlockDevice {
    /// The whole disk: the parent of a partition, else the device itself.
    pub fn disk(&self) -> String {
        self.parent.clone().unwrap_or_else(|| self.name.clone())
    }
}

/// Settings of a device's queue (of the whole disk for a partition).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// I/O scheduler in use; absent where the device has none.
    pub scheduler: Option<String>,
    /// Available schedulers.
    pub schedulers: Vec<String>,
    /// All other kept files of `queue/`, by name: read_ahead_kb, nr_requests, write_cache, max_sectors_kb ...
    pub settings: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_is_written() {
        let number = Number { major: 259, minor: 3 };
        assert_eq!(Number::parse(&number.to_string()), Some(number));
        assert_eq!(Number::parse("259"), None);
    }
}
