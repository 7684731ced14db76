//! A hard disk.
//! In: its parameters, and requests. Out: the time when each completes.
//!
//! One arm moves all heads over the platters; its next work is chosen when it is free. arm.rs has its times, buffer.rs the read buffer,
//! cache.rs the write cache, decide.rs the choice, device.rs the sequence of events.

mod arm;
mod buffer;
mod cache;
mod decide;
mod device;

pub(crate) use device::HardDiskDevice;

use crate::geometry::Geometry;
use crate::seek::SeekCurve;

/// Parameters of a hard disk. Times are nanoseconds, amounts of data sectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HardDisk {
    pub geometry: Geometry,
    pub seek: SeekCurve,
    /// Additional time of a write after a seek.
    pub settle: u64,
    pub head_switch: u64,
    /// Bytes a second over the interface.
    pub rate: f64,
    /// The controller's time per command before it can start.
    pub overhead: u64,
    /// Length of the queue from which it chooses.
    pub queue: usize,
    /// Age above which a command goes first, and the same for cached writes.
    pub age_limit: u64,
    pub cache_age_limit: u64,
    /// Read buffer: number of segments, and sectors in each.
    pub segments: usize,
    pub segment: u64,
    /// Write cache: sectors, and pieces. 0 sectors: it is off.
    pub cache: u64,
    pub pieces: usize,
    /// Number of cached writes compared for the next choice.
    pub window: usize,
    /// After a read, the arm waits this long for another one before it writes.
    pub idle: u64,
    /// Most reads that go before a write that a request waits for.
    pub reads_in_row: u64,
}
