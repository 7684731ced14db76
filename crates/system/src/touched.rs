//! Prefaulting memory of virtual machines, which the host provides at the first write.
//! In: bytes. Out: how many were written once, so that the next allocation finds them provided; whether the host takes them back.
//!
//! Measured here: the first write to memory ran at a seventh of the speed of the next one, and the first trials on a freshly started machine
//! wrote at a tenth of their later speed. A balloon that reports free pages (Linux 5.7) gives back memory that was free for two seconds: then
//! prefaulting helps first trials, while later ones pay now and then.
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

/// A sparse file; reading it makes a host that takes free memory back provide it again.
///
/// The kernel takes memory for files from other free lists than a program's own, in other sizes, and reuses first what was freed last.
/// Reading a hole takes memory as reading data does, without a disk. Measured here with files of 128 MiB, 3 s after their memory became free,
/// eight times each: read at 0.60 GB/s in the median (55 to 185 ms in the kernel), 0.66 after writing to as much memory of the program's own,
/// 1.27 after reading a hole (46 to 72 ms), and 1.30 right after the same file had left the cache.
pub struct Hole(File);

impl Hole {
    /// Opens it in a folder on a disk: filesystems in memory read holes without taking memory. None if no host takes memory back, or the
    /// folder is unusable.
    pub fn open(folder: &Path) -> Option<Self> {
        taken_back_by()?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::NOATIME | OFlags::CLOEXEC;
        let file = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).ok()?;
        rustix::fs::ftruncate(&file, MOST_OF_FILES).ok()?;
        Some(Self(file.into()))
    }

    /// Makes the host provide so many bytes for files, at most 1 GiB and a quarter of what is available. Errors are ignored.
    pub fn provide(&self, bytes: u64) {
        let bytes = bytes.min(MOST_OF_FILES).min(crate::in_memory::available() / 4);
        let mut part = vec![0; 1 << 20];
        for offset in (0..bytes).step_by(part.len()) {
            let _ = self.0.read_at(&mut part, offset);
        }
        let _ = rustix::fs::fadvise(&self.0, 0, None, rustix::fs::Advice::DontNeed);
    }
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
    fn a_hole_is_read_and_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(hole) = Hole::open(folder.path()) {
            hole.provide(4 << 20);
            hole.provide(0);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 0);
        assert!(Hole::open(&folder.path().join("nowhere")).is_none());
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
