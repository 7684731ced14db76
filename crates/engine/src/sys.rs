//! System calls on files and directories, each one call and nothing else.
//! In: descriptors, names, buffers. Out: the kernel's answer, or its errno.
//! The engine accesses files only here; memory and processes are in `region` and `process`.
#![allow(unsafe_code)]

use rustix::fs::{self, Access, Advice, AtFlags, FallocateFlags, Gid, Mode, OFlags, SeekFrom, Stat, Uid, XattrFlags};
use rustix::io::{self, ReadWriteFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::CStr;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::Path;
use workload::program::{Inode, Program};

pub use rustix::io::Errno;

/// What a call returns.
pub type Answer<T> = Result<T, Errno>;

/// A descriptor; the function that opened it closes it.
pub(crate) type Fd = i32;

/// The errno of the C library call that has just failed in this thread.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[inline]
fn answer(r: i32) -> Answer<()> {
    if r < 0 { Err(last_errno()) } else { Ok(()) }
}

/// A descriptor borrowed for one call.
#[inline]
fn of(fd: Fd) -> BorrowedFd<'static> {
    // SAFETY: used within the one call only, during which its owner keeps it open.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// A function for each call, by its name in the engine.
macro_rules! calls {
    ($($(#[$about:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty = $call:expr;)*) => {$(
        $(#[$about])*
        #[inline]
        pub(crate) fn $name($($argument: $kind),*) -> Answer<$answer> {
            $call
        }
    )*};
}

calls! {
    /// openat(2); the descriptor closes on exec.
    open(dir: Fd, name: &CStr, flags: i32, mode: u32) -> Fd = {
        let flags = OFlags::from_bits_retain(flags as u32) | OFlags::CLOEXEC;
        fs::openat(of(dir), name, flags, Mode::from_bits_retain(mode)).map(IntoRawFd::into_raw_fd)
    };
    /// Opens a directory for reading and as the base of other calls.
    open_directory(dir: Fd, name: &CStr) -> Fd = open(dir, name, libc::O_RDONLY | libc::O_DIRECTORY, 0);
    /// close(2).
    // SAFETY: takes a number; the caller owns the descriptor.
    close(fd: Fd) -> () = answer(unsafe { libc::close(fd) });
    /// read(2).
    read(fd: Fd, buffer: &mut [u8]) -> usize = io::read(of(fd), buffer);
    /// write(2).
    write(fd: Fd, buffer: &[u8]) -> usize = io::write(of(fd), buffer);
    /// pread(2).
    read_at(fd: Fd, buffer: &mut [u8], offset: u64) -> usize = io::pread(of(fd), buffer, offset);
    /// pwrite(2).
    write_at(fd: Fd, buffer: &[u8], offset: u64) -> usize = io::pwrite(of(fd), buffer, offset);
    /// pread(2) with flags (preadv2).
    read_at_flagged(fd: Fd, buffer: &mut [u8], offset: u64, flags: i32) -> usize =
        io::preadv2(of(fd), &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::from_bits_retain(flags as u32));
    /// pwrite(2) with flags (pwritev2).
    write_at_flagged(fd: Fd, buffer: &[u8], offset: u64, flags: i32) -> usize =
        io::pwritev2(of(fd), &[IoSlice::new(buffer)], offset, ReadWriteFlags::from_bits_retain(flags as u32));
    /// mkdirat(2) with mode 0755.
    mkdir(dir: Fd, name: &CStr) -> () = fs::mkdirat(of(dir), name, Mode::from_bits_retain(0o755));
    /// unlinkat(2).
    unlink(dir: Fd, name: &CStr) -> () = fs::unlinkat(of(dir), name, AtFlags::empty());
    /// unlinkat(2) with AT_REMOVEDIR.
    rmdir(dir: Fd, name: &CStr) -> () = fs::unlinkat(of(dir), name, AtFlags::REMOVEDIR);
    /// renameat(2).
    rename(from: Fd, old: &CStr, to: Fd, new: &CStr) -> () = fs::renameat(of(from), old, of(to), new);
    /// linkat(2).
    link(from: Fd, old: &CStr, to: Fd, new: &CStr) -> () = fs::linkat(of(from), old, of(to), new, AtFlags::empty());
    /// linkat(2) of an open file, which may be unnamed.
    link_open(fd: Fd, to: Fd, name: &CStr) -> () =
        fs::linkat(fs::CWD, format!("/proc/self/fd/{fd}"), of(to), name, AtFlags::SYMLINK_FOLLOW);
    /// ioctl(2) FICLONE: the target shares all of the source's data.
    clone_file(target: Fd, source: Fd) -> () = fs::ioctl_ficlone(of(target), of(source));
    /// copy_file_range(2) at both files' offsets; returns bytes copied, 0 at the end.
    copy_range(source: Fd, target: Fd, length: usize) -> usize =
        fs::copy_file_range(of(source), None, of(target), None, length);
    /// fallocate(2).
    allocate(fd: Fd, mode: i32, offset: u64, length: u64) -> () =
        fs::fallocate(of(fd), FallocateFlags::from_bits_retain(mode as u32), offset, length);
    /// posix_fadvise(2) of a whole file.
    advise(fd: Fd, advice: Advice) -> () = fs::fadvise(of(fd), 0, None, advice);
    /// fsetxattr(2).
    set_attribute(fd: Fd, name: &CStr, value: &[u8]) -> () = fs::fsetxattr(of(fd), name, value, XattrFlags::empty());
    /// fgetxattr(2); returns the bytes of the value.
    get_attribute(fd: Fd, name: &CStr, buffer: &mut [u8]) -> usize = fs::fgetxattr(of(fd), name, buffer);
    /// faccessat(2) with F_OK.
    look_up(dir: Fd, name: &CStr) -> () = fs::accessat(of(dir), name, Access::EXISTS, AtFlags::empty());
    /// fchmodat(2).
    chmod(dir: Fd, name: &CStr, mode: u32) -> () =
        fs::chmodat(of(dir), name, Mode::from_bits_retain(mode), AtFlags::empty());
    /// fchownat(2) to these ids.
    chown(dir: Fd, name: &CStr, ids: (u32, u32)) -> () =
        fs::chownat(of(dir), name, Some(Uid::from_raw(ids.0)), Some(Gid::from_raw(ids.1)), AtFlags::empty());
    /// fstatat(2), without following symbolic links.
    stat(dir: Fd, name: &CStr) -> Status = fs::statat(of(dir), name, AtFlags::SYMLINK_NOFOLLOW).map(Status::from);
    /// fstat(2).
    stat_open(fd: Fd) -> Status = fs::fstat(of(fd)).map(Status::from);
    /// fsync(2).
    fsync(fd: Fd) -> () = fs::fsync(of(fd));
    /// fdatasync(2).
    fdatasync(fd: Fd) -> () = fs::fdatasync(of(fd));
    /// syncfs(2).
    syncfs(fd: Fd) -> () = fs::syncfs(of(fd));
    /// sync_file_range(2).
    // SAFETY: takes numbers only.
    sync_range(fd: Fd, offset: u64, length: u64, flags: u32) -> () =
        answer(unsafe { libc::sync_file_range(fd, offset as i64, length as i64, flags) });
    /// ftruncate(2).
    truncate(fd: Fd, size: u64) -> () = fs::ftruncate(of(fd), size);
    /// lseek(2) to an offset from the beginning.
    seek(fd: Fd, offset: u64) -> () = fs::seek(of(fd), SeekFrom::Start(offset)).map(drop);
    /// Sets or clears O_DIRECT on an open file.
    set_direct(fd: Fd, direct: bool) -> () = {
        let mut flags = fs::fcntl_getfl(of(fd))?;
        flags.set(OFlags::DIRECT, direct);
        fs::fcntl_setfl(of(fd), flags)
    };
    /// fstatvfs(2).
    space(fd: Fd) -> Space = {
        let s = fs::fstatvfs(of(fd))?;
        let unit = s.f_frsize;
        Ok(Space { used: (s.f_blocks - s.f_bfree) * unit, available: s.f_bavail * unit, free: s.f_bfree * unit })
    };
}

/// The fields of stat(2) that the engine needs.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    /// Size in bytes.
    pub size: u64,
    /// Type and mode bits.
    pub mode: u32,
    /// Allocated bytes.
    pub allocated: u64,
}

impl From<Stat> for Status {
    fn from(s: Stat) -> Status {
        Status { size: s.st_size as u64, mode: s.st_mode, allocated: s.st_blocks as u64 * 512 }
    }
}

/// Space of a filesystem, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Used.
    pub used: u64,
    /// Free for users other than root.
    pub available: u64,
    /// Free for root.
    pub free: u64,
}

impl Space {
    /// How full it is, in percent, as in df(1): space reserved for root is left out.
    pub(crate) fn full_percent(self) -> f64 {
        100.0 * self.used as f64 / (self.used + self.available).max(1) as f64
    }
}

/// Opens a file or folder by its path; it is closed when dropped.
pub(crate) fn open_path(path: &Path, flags: OFlags) -> Result<OwnedFd, String> {
    fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(|e| format!("opening {}: {e}", path.display()))
}

/// Opens a root, as the base of other calls.
pub(crate) fn open_root(root: &Path) -> Result<OwnedFd, String> {
    open_path(root, OFlags::DIRECTORY)
}

/// Opens the folder of a program's work, which must be the one that was created for it.
pub(crate) fn open_work(program: &Program) -> Result<OwnedFd, String> {
    let Some(made) = program.root_inode else { return open_root(&program.root) };
    // A link or a file here also means that it was replaced.
    let opened = fs::open(&program.root, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    match opened {
        Ok(root) if inode(&root)? == made => Ok(root),
        Ok(_) | Err(Errno::NOTDIR | Errno::LOOP) => Err(replaced(&program.root)),
        Err(error) => Err(format!("opening {}: {error}", program.root.display())),
    }
}

/// A separate descriptor of an open folder.
pub(crate) fn kept(fd: Fd) -> Result<OwnedFd, String> {
    of(fd).try_clone_to_owned().map_err(|error| format!("keeping a folder open: {error}"))
}

/// The error for a work folder that was replaced.
pub(crate) fn replaced(root: &Path) -> String {
    format!(
        "opening {}: another process replaced the folder of the trial; name a folder that no other user can write to",
        root.display()
    )
}

/// Device and inode number of an open file.
pub(crate) fn inode(file: impl AsFd) -> Result<Inode, String> {
    let facts = fs::fstat(file).map_err(|error| format!("inspecting an open folder: {error}"))?;
    Ok(Inode { device: facts.st_dev, number: facts.st_ino })
}

/// The caller's user and group.
pub(crate) fn own_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// getdents64(2); returns the filled bytes of the buffer, 0 at the end.
pub fn list(fd: Fd, buffer: &mut [u8]) -> Answer<usize> {
    // SAFETY: the kernel writes at most `len` bytes into a buffer of that length.
    let r = unsafe { libc::syscall(libc::SYS_getdents64, fd, buffer.as_mut_ptr(), buffer.len()) };
    if r < 0 { Err(last_errno()) } else { Ok(r as usize) }
}

/// Pages of an open file in the page cache, by cachestat(2), Linux 6.5 or newer.
pub fn cached_pages(fd: Fd) -> Answer<u64> {
    // Number of the call on every architecture since Linux 5.1.
    const SYS_CACHESTAT: libc::c_long = 451;
    let range = [0u64, 0u64];
    let mut found = [0u64; 5];
    // SAFETY: the kernel reads two words and writes five; both arrays are that long.
    let r = unsafe { libc::syscall(SYS_CACHESTAT, fd, range.as_ptr(), found.as_mut_ptr(), 0u32) };
    if r < 0 { Err(last_errno()) } else { Ok(found[0]) }
}

/// Bytes of a file mapped at once.
const WINDOW: u64 = 1 << 30;

/// Maps a part of a file, window by window, and calls `ask` on each; the mapped memory itself is not accessed.
fn each_window(fd: Fd, offset: u64, length: u64, mut ask: impl FnMut(*mut libc::c_void, usize) -> i32) -> Answer<()> {
    let mut at = 0;
    while at < length {
        let window = (length - at).min(WINDOW) as usize;
        // SAFETY: a fresh mapping that nothing else knows is made, asked about and removed.
        unsafe {
            let from = (offset + at) as i64;
            let map = libc::mmap64(std::ptr::null_mut(), window, libc::PROT_READ, libc::MAP_SHARED, fd, from);
            if map == libc::MAP_FAILED {
                return Err(last_errno());
            }
            let r = ask(map, window);
            let failed = last_errno();
            libc::munmap(map, window);
            if r < 0 {
                return Err(failed);
            }
        }
        at += WINDOW;
    }
    Ok(())
}

/// Pages of an open file in the page cache, by mmap(2) and mincore(2); for kernels without cachestat(2).
pub fn resident_pages(fd: Fd, size: u64) -> Answer<u64> {
    let page = page_size();
    let mut found = 0;
    let mut marks = vec![0u8; (WINDOW / page) as usize];
    each_window(fd, 0, size, |map, length| {
        // SAFETY: the mapping is that long, and `marks` has a byte for each of its pages.
        let r = unsafe { libc::mincore(map, length, marks.as_mut_ptr()) };
        if r == 0 {
            let pages = (length as u64).div_ceil(page) as usize;
            found += marks[..pages].iter().filter(|m| **m & 1 == 1).count() as u64;
        }
        r
    })?;
    Ok(found)
}

/// Reads a part of a file as if it were mapped and each page touched: madvise(2) with MADV_POPULATE_READ, Linux 5.14 or newer.
pub fn populate(fd: Fd, offset: u64, length: u64) -> Answer<()> {
    // SAFETY: the mapping is that long, and pages of it are only made present.
    each_window(fd, offset, length, |map, length| unsafe { libc::madvise(map, length, libc::MADV_POPULATE_READ) })
}

/// Bytes of a page.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

/// Raises the soft limit on open files to the hard one.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
