//! Prefaulting memory of virtual machines, which the host provides at the first write.
//! In: bytes. Out: how many were written once, so that the next allocation finds them provided; whether the host takes them back.
//!
//! Measured here: the first write to memory ran at a seventh of the speed of the next one, and the first trials on a freshly started machine
//! wrote at a tenth of their later speed. A balloon that reports free pages (Linux 5.7) gives back memory that was free for two seconds: then
//! memory is provided before each pass.
#![allow(unsafe_code)]

use rustix::fs::{Mode, OFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Most bytes that are prefaulted.
const MOST: u64 = 8 << 30;
/// The same for files. A host waits two seconds before it takes free memory back, and reading more takes longer.
const MOST_OF_FILES: u64 = 1 << 30;
/// The balloon's number among virtio devices, and its feature of reporting free pages (Virtual I/O Device 1.2, 5.5).
const BALLOON: &str = "0x0005";
const REPORTS_FREE_PAGES: usize = 5;

/// Name of the balloon by which the host takes back free memory; None if there is none.
pub fn taken_back_by() -> Option<String> {
    found(Path::new("/sys/bus/virtio/devices"))
}

fn found(devices: &Path) -> Option<String> {
    let entries = std::fs::read_dir(devices).into_iter().flatten().flatten();
    let reports = |device: &std::fs::DirEntry| {
        let device = device.path();
        let text = |name: &str| crate::text(device.join(name)).unwrap_or_default();
        text("device") == BALLOON
            && device.join("driver").exists()
            && text("features").as_bytes().get(REPORTS_FREE_PAGES) == Some(&b'1')
    };
    entries.into_iter().find(reports).map(|device| device.file_name().to_string_lossy().into_owned())
}

/// Writes once to so many bytes of memory and frees them, at most half of what is available; returns how many. The kernel reuses the memory
/// freed last first.
pub fn touch(bytes: u64) -> u64 {
    let bytes = bytes.min(MOST).min(crate::in_memory::available() / 2);
    write_once(bytes as usize);
    bytes
}

/// A file without a name that never reaches the disk; writing it makes a host that takes free memory back provide it again.
///
/// A balloon gives back free blocks of 2 MiB and more; the kernel reuses first what was freed last, if it has the size that is asked for. So the
/// memory has to be taken and freed as the work takes it: in blocks of 1 MiB, like large writes and read-ahead, and from the page cache. Measured
/// here with six files of 256 MiB in turns of 85 MiB: on XFS each write took 4 ms after this, and 195 ms in memory that the host had to provide.
/// After reading as much of a hole, or writing to memory of the program's own, a quarter of the writes still took 60 to 210 ms, because those took
/// smaller blocks that the host never takes back. Reading files of 256 MiB was alike (42 to 48 ms; 46 to 170 after reading a hole).
pub struct PageCache(File);

impl PageCache {
    /// Opens it in a folder on a disk. None if no host takes memory back, or the folder is unusable.
    pub fn open(folder: &Path) -> Option<Self> {
        taken_back_by()?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::NOATIME | OFlags::CLOEXEC;
        let file = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).ok()?;
        Some(Self(file.into()))
    }

    /// Makes the host provide so many bytes for files: at most 1 GiB, and less than the kernel would begin to write to the disk. Errors are
    /// ignored.
    pub fn provide(&self, bytes: u64) {
        const BLOCK: usize = 1 << 20;
        let block = vec![0; BLOCK];
        let bytes = bytes.min(MOST_OF_FILES).min(self.room());
        for offset in (0..bytes).step_by(BLOCK) {
            if self.0.write_all_at(&block, offset).is_err() {
                break;
            }
        }
        let _ = rustix::fs::ftruncate(&self.0, 0);
    }

    /// Bytes that can be written without the kernel writing them to the disk, and without filling that disk.
    fn room(&self) -> u64 {
        let disk = rustix::fs::fstatvfs(&self.0).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        let written_from = std::fs::read_to_string("/proc/vmstat").map_or(0, |text| written_from(&text));
        (disk / 8).min(written_from / 2).min(crate::in_memory::available() / 4)
    }
}

/// Bytes of changed pages from which the kernel writes them to disks in the background, by /proc/vmstat; 0 if it does not show this.
fn written_from(vmstat: &str) -> u64 {
    let pages =
        vmstat.lines().find_map(|line| line.strip_prefix("nr_dirty_background_threshold ")?.trim().parse().ok());
    pages.unwrap_or(0_u64).saturating_mul(rustix::param::page_size() as u64)
}

fn write_once(bytes: usize) {
    if bytes == 0 {
        return;
    }
    let (any, both) = (std::ptr::null_mut(), ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a fresh mapping that no other code knows is made, written to and removed. Failures are ignored.
    unsafe {
        let Ok(memory) = mmap_anonymous(any, bytes, both, MapFlags::PRIVATE) else { return };
        if madvise(memory, bytes, Advice::LinuxPopulateWrite).is_err() {
            // Before Linux 5.14.
            memory.cast::<u8>().write_bytes(1, bytes);
        }
        let _ = munmap(memory, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balloon_that_reports_free_pages_is_found() {
        let devices = tempfile::tempdir().expect("a folder");
        assert_eq!(found(devices.path()), None);
        let balloon = devices.path().join("virtio0");
        std::fs::create_dir_all(balloon.join("driver")).expect("made");
        std::fs::write(balloon.join("device"), "0x0005\n").expect("written");
        std::fs::write(balloon.join("features"), "0110000000\n").expect("written");
        assert_eq!(found(devices.path()), None, "it does not report");
        std::fs::write(balloon.join("features"), "0110010000\n").expect("written");
        assert_eq!(found(devices.path()).as_deref(), Some("virtio0"));
    }

    #[test]
    fn memory_for_files_is_provided_without_a_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(cache) = PageCache::open(folder.path()) {
            cache.provide(4 << 20);
            cache.provide(0);
            assert_eq!(cache.0.metadata().expect("a file").len(), 0);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 0);
        assert!(PageCache::open(&folder.path().join("nowhere")).is_none());
    }

    #[test]
    fn the_limit_of_changed_pages_is_read_and_nothing_is_written_where_it_is_unknown() {
        let vmstat = "nr_dirty_threshold 900\nnr_dirty_background_threshold 300\npgpgin 7\n";
        assert_eq!(written_from(vmstat), 300 * rustix::param::page_size() as u64);
        assert_eq!(written_from("pgpgin 7\n"), 0);
    }

    #[test]
    fn no_more_is_touched_than_is_there_to_spare() {
        assert_eq!(touch(1 << 20), 1 << 20);
        assert_eq!(touch(0), 0);
    }

    #[test]
    fn memory_is_written_to_and_given_back() {
        let before = crate::in_memory::available();
        write_once(256 << 20);
        write_once(0);
        assert!(crate::in_memory::available() > before / 2);
    }
}
