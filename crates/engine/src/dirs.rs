//! Handles on directories, so that calls name files by one component and the kernel resolves no paths.
//! In: a fileset's directory numbers. Out: open descriptors, a bounded number of them.
//! Creates directories if a step requires it.

use crate::names::{Files, Name};
use crate::sys::{self, Answer, Errno, Fd};
use std::ffi::{CStr, CString};

/// Most directory handles of one worker.
const HANDLES: u64 = 1024;

/// The open directories of one worker.
pub struct Directories {
    root: Fd,
    base: Option<Fd>,
    base_path: CString,
    /// Directory 0 is the base itself.
    base_is_first: bool,
    slots: Vec<(u64, Fd)>,
    name: Name,
}

const NONE: (u64, Fd) = (u64::MAX, -1);

impl Directories {
    /// Without open handles.
    pub fn new(root: Fd, files: &Files) -> Directories {
        let slots = vec![NONE; files.directories().clamp(1, HANDLES) as usize];
        let base_is_first = files.base_holds_files();
        Directories { root, base: None, base_path: path(&files.base), base_is_first, slots, name: Name::new() }
    }

    /// The fileset's own directory.
    #[inline]
    pub fn base(&mut self) -> Answer<Fd> {
        match self.base {
            Some(fd) => Ok(fd),
            None => {
                let fd = sys::open_directory(self.root, &self.base_path)?;
                self.base = Some(fd);
                Ok(fd)
            }
        }
    }

    /// The handle of a directory, opened if need be.
    #[inline]
    pub fn get(&mut self, directory: u64, files: &Files) -> Answer<Fd> {
        if directory == 0 && self.base_is_first {
            return self.base();
        }
        let slot = (directory % self.slots.len() as u64) as usize;
        if self.slots[slot].0 == directory {
            return Ok(self.slots[slot].1);
        }
        self.open(directory, slot, files)
    }

    fn open(&mut self, directory: u64, slot: usize, files: &Files) -> Answer<Fd> {
        let base = self.base()?;
        files.directory_name(directory, &mut self.name);
        let fd = sys::open_directory(base, self.name.c())?;
        let (_, old) = std::mem::replace(&mut self.slots[slot], (directory, fd));
        if old >= 0 {
            sys::close(old)?;
        }
        Ok(fd)
    }

    /// The handle of a directory; creates it and its parents if they are missing.
    pub fn ensure(&mut self, directory: u64, files: &Files) -> Answer<Fd> {
        match self.get(directory, files) {
            Err(Errno::NOENT) => {
                self.make(directory, files)?;
                self.get(directory, files)
            }
            other => other,
        }
    }

    fn make(&mut self, directory: u64, files: &Files) -> Answer<()> {
        if self.base.is_none() {
            make_path(self.root, &files.base)?;
        }
        if directory == 0 && self.base_is_first {
            return Ok(());
        }
        let base = self.base()?;
        files.directory_name(directory, &mut self.name);
        let mut whole = Name::new();
        for part in self.name.bytes().split(|b| *b == b'/') {
            if !whole.bytes().is_empty() {
                whole.push(b"/");
            }
            whole.push(part);
            exists_is_fine(sys::mkdir(base, whole.c()))?;
        }
        Ok(())
    }
}

impl Drop for Directories {
    fn drop(&mut self) {
        for fd in self.slots.iter().map(|s| s.1).chain(self.base).filter(|fd| *fd >= 0) {
            let _ = sys::close(fd);
        }
    }
}

/// Creates a path below the root, with all parents; existing directories are unchanged.
pub fn make_path(root: Fd, path_below: &str) -> Answer<()> {
    let mut whole = String::new();
    for part in path_below.split('/').filter(|p| !p.is_empty()) {
        if !whole.is_empty() {
            whole.push('/');
        }
        whole.push_str(part);
        exists_is_fine(sys::mkdir(root, &path(&whole)))?;
    }
    Ok(())
}

/// mkdir returns EEXIST if another worker was faster, or if the directory exists already.
pub fn exists_is_fine(answer: Answer<()>) -> Answer<()> {
    match answer {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

/// A path below the root for a system call; the root itself is ".". Programs with a NUL in a path are refused in advance.
pub fn path(below: &str) -> CString {
    if below.is_empty() { c".".to_owned() } else { CString::new(below).unwrap_or_default() }
}

/// Entries of one directory, in readdir order.
pub struct Listing {
    buffer: Vec<u8>,
    filled: usize,
    at: usize,
}

/// Buffer size of one getdents call, as in glibc's readdir.
const LISTING_BYTES: usize = 32 << 10;

/// Type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// Anything else.
    Other,
    /// Not reported by the filesystem.
    Unknown,
}

impl Listing {
    /// A listing at its beginning.
    pub fn new() -> Listing {
        Listing { buffer: vec![0; LISTING_BYTES], filled: 0, at: 0 }
    }

    /// Fetches more entries; false at the end of the directory.
    pub fn fetch(&mut self, directory: Fd) -> Answer<bool> {
        self.filled = sys::list(directory, &mut self.buffer)?;
        self.at = 0;
        Ok(self.filled > 0)
    }

    /// The next fetched entry, without "." and "..".
    pub fn next(&mut self) -> Option<(&CStr, Kind)> {
        // Each record: inode (8), offset (8), length (2), type (1), name with NUL; getdents(2).
        while self.at + 19 < self.filled {
            let record = self.at;
            let length = u16::from_ne_bytes([self.buffer[record + 16], self.buffer[record + 17]]);
            self.at += usize::from(length).max(20);
            let end = self.at.min(self.filled);
            let first = &self.buffer[record + 19..end];
            if first.starts_with(b".\0") || first.starts_with(b"..\0") {
                continue;
            }
            let kind = match self.buffer[record + 18] {
                libc::DT_DIR => Kind::Directory,
                libc::DT_UNKNOWN => Kind::Unknown,
                _ => Kind::Other,
            };
            return Some((CStr::from_bytes_until_nul(&self.buffer[record + 19..end]).unwrap_or_default(), kind));
        }
        self.at = self.filled;
        None
    }
}
