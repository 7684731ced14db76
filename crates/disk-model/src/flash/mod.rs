//! A disk of flash chips.
//! In: its numbers, and requests. Out: when each is done.
//!
//! Many dies work at once, a few on each channel. Each sort of thing that can be waited for (the controller, the interface, a channel, a die) does one thing
//! after the other; lanes.rs keeps them, dies.rs the dies, device.rs what passes between them.

mod device;
mod dies;
mod lanes;

pub(crate) use device::FlashDevice;

/// The numbers of a flash disk. Times are nanoseconds, rates bytes a second, amounts of data bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flash {
    pub channels: usize,
    pub dies_per_channel: usize,
    /// Of one channel.
    pub bus: f64,
    /// What one die reads at once, and in what time.
    pub page: u64,
    pub read: u64,
    /// What one die programs at once, and in what time, when the SLC cache is full.
    pub unit: u64,
    pub program: u64,
    /// Bytes that are programmed for each that is written, when the SLC cache is full.
    pub amplification: f64,
    /// In what time a program gives way to a read; 0: it does not.
    pub suspend: u64,
    pub rate: f64,
    /// Data goes both ways at once.
    pub full_duplex: bool,
    /// The controller's time for each command, one after the other.
    pub command: u64,
    /// What a read and a write take beside that, of which many are under way at once.
    pub read_latency: u64,
    pub write_latency: u64,
    pub discard: u64,
    pub queue: usize,
    pub buffer: u64,
    /// What is in the buffer is safe.
    pub protected: bool,
    pub flush: u64,
    /// The SLC cache, and the time in which a unit is programmed there.
    pub slc: u64,
    pub slc_program: u64,
    /// How fast it is freed, after so much time without a command.
    pub fold: f64,
    pub idle: u64,
}

impl Flash {
    /// All dies.
    pub fn dies(&self) -> usize {
        self.channels * self.dies_per_channel
    }
}

/// Nanoseconds in which so many bytes go over something.
pub(crate) fn passing(bytes: u64, rate: f64) -> u64 {
    (bytes as f64 / rate * 1e9) as u64
}
