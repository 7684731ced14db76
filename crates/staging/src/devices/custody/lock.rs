//! The lock on a device, held for the whole run, between trials too.
//! In: a device. Out: locked files below the run folder, or the holder.
//! Two runs on one device refuse each other; two on different partitions of a disk do not.

use crate::error::StagingError;
use crate::ownership::cleanup_journal::RUN_FOLDER;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::BlockDevice;
use system::block::Number;

/// How long a released lock may still seem held: a child process that is being started keeps it until exec.
const PASSING: Duration = Duration::from_millis(500);

pub(super) fn lock(device: &BlockDevice) -> Result<Vec<File>, StagingError> {
    let folder = PathBuf::from(RUN_FOLDER).join("locks");
    std::fs::create_dir_all(&folder).map_err(|error| StagingError::file("make", &folder, error))?;
    let mut locks = Vec::new();
    if let Some(parent) = &device.parent {
        locks.push(lock_one(&folder, parent, device, true)?);
    }
    locks.push(lock_one(&folder, &device.name, device, false)?);
    Ok(locks)
}

fn lock_one(folder: &Path, name: &str, device: &BlockDevice, shared: bool) -> Result<File, StagingError> {
    let path = folder.join(format!("{}.lock", name.replace('/', "!")));
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let opened =
        OpenOptions::new().create(true).truncate(false).read(true).write(true).custom_flags(no_link).open(&path);
    let file = opened.map_err(|error| StagingError::file("open", &path, error))?;
    let end = Instant::now() + PASSING;
    let got = loop {
        match if shared { file.try_lock_shared() } else { file.try_lock() } {
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10))
            }
            got => break got,
        }
    };
    got.map_err(|error| match error {
        std::fs::TryLockError::WouldBlock => {
            StagingError::Busy { what: device.path.display().to_string(), holder: holder(&file) }
        }
        std::fs::TryLockError::Error(error) => StagingError::file("lock", &path, error),
    })?;
    Ok(file)
}

/// The holder of the lock by the kernel's list, which has no process that has ended.
fn holder(file: &File) -> String {
    let listed = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let Ok(facts) = file.metadata() else { return String::new() };
    let Some(pid) =
        listed.lines().find_map(|line| lock_of(line, system::block::number_from_raw(facts.dev()), facts.ino()))
    else {
        return String::new();
    };
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(program) => format!(" (process {pid}, {})", program.trim()),
        Err(_) => String::new(),
    }
}

/// `1: FLOCK  ADVISORY  WRITE 1234 00:19:5678 0 EOF`: the process, if the line is about this file.
fn lock_of(line: &str, device: Number, inode: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // A waiting request has an arrow in this place.
    if words.get(1) != Some(&"FLOCK") {
        return None;
    }
    let mut place = words.get(5)?.split(':');
    let mut hex = || u32::from_str_radix(place.next()?, 16).ok();
    let found = Number { major: hex()?, minor: hex()? };
    let same = found == device && place.next()?.parse() == Ok(inode);
    same.then(|| words.get(4)?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_list_names_the_holder_of_this_file_only() {
        let line = "1: FLOCK  ADVISORY  WRITE 1234 00:19:5678 0 EOF";
        let device = Number { major: 0, minor: 0x19 };
        assert_eq!(lock_of(line, device, 5678), Some(1234));
        assert_eq!(lock_of(line, device, 5679), None);
        assert_eq!(lock_of("1: -> FLOCK ADVISORY WRITE 99 00:19:5678 0 EOF", device, 5678), None);
        assert_eq!(lock_of("2: POSIX  ADVISORY  READ 7 00:19:5678 0 EOF", device, 5678), None);
    }
}
