//! Filesystems in memory: where one is, whether a file is on one, how much memory is available.
//! In: a folder or an open file. Out: yes or no, bytes.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The tmpfs that every Linux has and any user may write to; by default half as large as the memory (shm_overview(7)).
pub const FOLDER: &str = "/dev/shm";

/// tmpfs and ramfs (statfs(2)).
const KINDS: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Whether an open file or folder is in memory, without a disk behind it.
pub fn is_in_memory(file: impl AsFd) -> bool {
    // The field's width differs between architectures.
    rustix::fs::fstatfs(file).is_ok_and(|found| KINDS.contains(&(found.f_type as u32)))
}

/// The folder in memory that users may write to.
///
/// # Errors
/// There is none: the error text names what is there instead, and the remedy.
pub fn folder() -> Result<PathBuf, String> {
    let folder = Path::new(FOLDER);
    let way = format!("mount a tmpfs there (`mount -t tmpfs tmpfs {FOLDER}`), or name a folder on one");
    match std::fs::File::open(folder) {
        Ok(open) if is_in_memory(&open) => Ok(folder.to_owned()),
        Ok(_) => Err(format!("{FOLDER} is not in memory here; {way}")),
        Err(error) => Err(format!("{FOLDER}: {error}; {way}")),
    }
}

/// Bytes of memory that this process can take without swapping, and without reaching the limit of its control groups.
pub fn available() -> u64 {
    let machine = crate::machine::memory("MemAvailable:");
    crate::memory_limit::left().map_or(machine, |left| left.min(machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_filesystem_is_in_no_memory_of_ours() {
        assert!(!is_in_memory(std::fs::File::open("/proc").expect("Linux")));
        assert!(available() > 0);
    }

    #[test]
    fn the_folder_is_found_where_it_is_there() {
        let there = std::fs::File::open(FOLDER).is_ok_and(is_in_memory);
        assert_eq!(folder().is_ok(), there);
    }
}
