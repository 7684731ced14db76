//! A disk of flash chips.
//! In: its parameters, and requests. Out: the time when each completes.
//!
//! Many dies work in parallel, several on each channel. Each resource (the controller, the interface, a channel, a die) does one thing at a
//! time. lanes.rs has channels and interface, dies.rs the dies, device.rs what passes between them.

mod device;
mod dies;
mod lanes;

pub(crate) use device::FlashDevice;

/// Parameters of a flash disk. Times are nanoseconds, rates bytes a second, amounts of data bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flash {
    pub channels: usize,
    pub dies_per_channel: usize,
    /// Rate of one channel.
    pub bus: f64,
    /// Page that one die reads at once, and the time for that.
    pub page: u64,
    pub read: u64,
    /// Unit that one die programs at once, and the time for that, when the SLC cache is full.
    pub unit: u64,
    pub program: u64,
    /// Bytes programmed per byte written, when the SLC cache is full.
    pub amplification: f64,
    /// Time in which a program is suspended for a read; 0: never.
    pub suspend: u64,
    pub rate: f64,
    /// Whether data can go in both directions at once.
    pub full_duplex: bool,
    /// The controller's time per command; commands go one after the other.
    pub command: u64,
    /// Further latency of a read and of a write; many overlap.
    pub read_latency: u64,
    pub write_latency: u64,
    pub discard: u64,
    pub queue: usize,
    pub buffer: u64,
    /// Whether data in the buffer is durable.
    pub protected: bool,
    pub flush: u64,
    /// Size of the SLC cache, and the time to program a unit there.
    pub slc: u64,
    pub slc_program: u64,
    /// Rate at which it is freed, and the idle time before that starts.
    pub fold: f64,
    pub idle: u64,
}

impl Flash {
    /// Number of dies.
    pub fn dies(&self) -> usize {
        self.channels * self.dies_per_channel
    }
}

/// Nanoseconds to transfer this many bytes.
pub(crate) fn passing(bytes: u64, rate: f64) -> u64 {
    (bytes as f64 / rate * 1e9) as u64
}
