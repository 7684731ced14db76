//! A file mapped to memory for writing.
//! In: an open file. Out: writes to the page cache, and msync(2). A file that cannot be read gives an error instead of a signal.
#![allow(unsafe_code)]

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::AsFd;

/// A shared map of a file's first bytes.
#[derive(Debug)]
pub struct Mapped {
    at: *mut c_void,
    length: usize,
}

impl Mapped {
    /// Maps so many bytes and populates them all for writing.
    ///
    /// # Errors
    /// The system's error: the file is shorter, not open for reading and writing, or cannot be read. Kernels before Linux 5.14 cannot populate.
    pub fn of(file: impl AsFd, length: usize) -> io::Result<Mapped> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses and that no other code knows.
        let at = unsafe { mmap(std::ptr::null_mut(), length, both, MapFlags::SHARED, file, 0) }?;
        let mapped = Mapped { at, length };
        // SAFETY: it is our mapping, of this length. An unreadable page is an error here, and would be a signal at the first write.
        unsafe { madvise(mapped.at, mapped.length, Advice::LinuxPopulateWrite) }?;
        Ok(mapped)
    }

    /// Writes at the beginning, at most as much as is mapped.
    pub fn write(&self, data: &[u8]) {
        let length = data.len().min(self.length);
        // SAFETY: the mapping has that many bytes, all populated; this process alone maps them, and no reference to them is ever made.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.at.cast::<u8>(), length) };
    }

    /// msync(2), which waits until all is written.
    ///
    /// # Errors
    /// The system's error.
    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: it is our mapping, of this length.
        Ok(unsafe { msync(self.at, self.length, MsyncFlags::SYNC) }?)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, of this length, and nothing uses it any more.
        let _ = unsafe { munmap(self.at, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn data_written_to_a_map_is_in_the_file() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[1; 10_000]).expect("written");
        let mapped = Mapped::of(&file, 10_000).expect("mapped");
        mapped.write(&[2; 5000]);
        mapped.sync().expect("synced");
        let mut found = [0; 10_000];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, 0).expect("read");
        assert!(found[..5000].iter().all(|byte| *byte == 2) && found[5000..].iter().all(|byte| *byte == 1));
    }

    #[test]
    fn a_file_that_is_too_short_is_an_error_and_no_signal() {
        let file = tempfile::tempfile().expect("a file");
        assert!(Mapped::of(&file, 8192).is_err());
    }
}
