//! How long commands on a filesystem may take before they count as hung, by how large it is.
//! In: bytes of the device. Out: a limit for each kind of command: ten minutes, and more for large devices.
//! The rates are those of a slow disk, so only hung commands are cut off.

use crate::error::StagingError;
use std::path::Path;
use std::time::Duration;

/// No limit is shorter, in seconds.
const LEAST: u64 = 600;
/// Bytes a second at which dirty memory is written back.
const WRITING_BACK: u64 = 10_000_000;
/// Bytes of a device a second for mkfs, which writes a small part of it.
const MAKING: u64 = 1_000_000_000;
/// Bytes of a device a second for mounting, which may replay a log or read an index.
const MOUNTING: u64 = 4_000_000_000;
/// Bytes of a device a second for checking, which may read all of it.
const CHECKING: u64 = 20_000_000;

/// Limits for one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    bytes: u64,
    memory: u64,
}

impl Limits {
    /// For a device of this size; None for a directory of unknown size, which counts as a large one.
    pub fn of(bytes: Option<u64>) -> Limits {
        let system = rustix::system::sysinfo();
        let memory = (system.totalram as u64).saturating_mul(u64::from(system.mem_unit));
        Limits { bytes: bytes.unwrap_or(u64::MAX), memory }
    }

    /// Syncing, freezing and unmounting write back at most what memory and the device can hold.
    pub fn sync(self) -> Duration {
        after(self.bytes.min(self.memory), WRITING_BACK)
    }

    /// mkfs.
    pub fn make(self) -> Duration {
        after(self.bytes, MAKING)
    }

    /// Mounting.
    pub fn mount(self) -> Duration {
        after(self.bytes, MOUNTING)
    }

    /// Checking after the work.
    pub fn check(self) -> Duration {
        after(self.bytes, CHECKING)
    }

    /// All limits of closing a stage together, for a caller that waits for all of it.
    pub fn all(self) -> Duration {
        self.sync() + self.make() + self.mount() + self.check()
    }
}

fn after(bytes: u64, rate: u64) -> Duration {
    Duration::from_secs(LEAST + bytes / rate)
}

/// fsync(2) of a device, which writes its buffers and empties its cache. It runs in another thread, which is left behind if the device hangs.
pub(crate) fn flush(device: &Path, limit: Duration) -> Result<(), StagingError> {
    let (send, done) = std::sync::mpsc::channel();
    let path = device.to_path_buf();
    std::thread::spawn(move || {
        let flushed = std::fs::OpenOptions::new().read(true).open(&path).and_then(|file| file.sync_all());
        // After the limit nothing waits for this.
        let _ = send.send(flushed);
    });
    let hung = || std::io::Error::from(rustix::io::Errno::TIMEDOUT);
    let flushed = done.recv_timeout(limit).unwrap_or_else(|_| Err(hung()));
    flushed.map_err(|error| StagingError::file("flush", device, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_grows_with_the_device_and_is_never_below_ten_minutes() {
        let (small, large) = (Limits { bytes: 1 << 30, memory: 8 << 30 }, Limits { bytes: 10 << 40, memory: 8 << 30 });
        for limit in [small.make(), small.mount(), small.check(), small.sync()] {
            assert!(limit >= Duration::from_secs(LEAST) && limit < Duration::from_secs(3600), "{limit:?}");
        }
        assert!(large.check() > Duration::from_secs(24 * 3600), "ten TiB are not read in a day: {:?}", large.check());
        assert_eq!(large.sync(), Limits { bytes: 20 << 40, ..large }.sync(), "memory bounds what can be dirty");
        assert!(large.make() > small.make() && large.all() > large.check());
    }
}
