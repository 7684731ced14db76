//! A hard disk.
//! In: its numbers, and requests. Out: when each is done.
//!
//! One arm with all heads moves over the platters; what is next is decided when it is free. arm.rs has its times, buffer.rs what was read ahead, cache.rs
//! what is yet to be written, device.rs the order in which things are done.

mod arm;
mod buffer;
mod cache;
mod decide;
mod device;

pub(crate) use device::HardDiskDevice;

use crate::geometry::Geometry;
use crate::seek::SeekCurve;

/// The numbers of a hard disk. Times are nanoseconds, amounts of data sectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HardDisk {
    pub geometry: Geometry,
    pub seek: SeekCurve,
    /// What a write takes longer after a seek.
    pub settle: u64,
    pub head_switch: u64,
    /// Bytes a second over the interface.
    pub rate: f64,
    /// What the controller does for each command before it can begin.
    pub overhead: u64,
    /// Commands among which it chooses.
    pub queue: usize,
    /// A command that waits longer goes first, and among cached writes one that is there longer.
    pub age_limit: u64,
    pub cache_age_limit: u64,
    /// Read buffer: so many segments of so many sectors.
    pub segments: usize,
    pub segment: u64,
    /// Write cache: sectors, and pieces. 0 sectors: it is off.
    pub cache: u64,
    pub pieces: usize,
    /// Cached writes that are compared when one is chosen.
    pub window: usize,
    /// So long after a read the arm waits for the next one before it writes.
    pub idle: u64,
    /// Reads that go before a write that somebody waits for.
    pub reads_in_row: u64,
}
