//! System calls on files and directories, each one call and nothing else.
//! In: descriptors, names, buffers. Out: what the kernel answered, or its errno.
//! The only place in which the engine touches files; memory and processes are in `region` and `process`.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fmt;

/// An errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// The errno of the call that has just failed in this thread.
    pub fn last() -> Errno {
        Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", std::io::Error::from_raw_os_error(self.0))
    }
}

impl From<Errno> for std::io::Error {
    fn from(e: Errno) -> std::io::Error {
        std::io::Error::from_raw_os_error(e.0)
    }
}

/// What a call returns.
pub type Answer<T> = Result<T, Errno>;

/// A descriptor; whoever opened it closes it.
pub type Fd = i32;

#[inline]
fn answer(r: i32) -> Answer<i32> {
    if r < 0 { Err(Errno::last()) } else { Ok(r) }
}

#[inline]
fn answer_size(r: isize) -> Answer<usize> {
    if r < 0 { Err(Errno::last()) } else { Ok(r as usize) }
}

/// A function for each call that answers nothing but whether it went well.
macro_rules! calls {
    ($($(#[$about:meta])* $name:ident($($argument:ident: $kind:ty),*) = $call:ident($($value:expr),*);)*) => {$(
        $(#[$about])*
        #[inline]
        pub fn $name($($argument: $kind),*) -> Answer<()> {
            // SAFETY: each name is a C string that outlives the call, each value is as long as the kernel is told, and all else is numbers.
            answer(unsafe { libc::$call($($value),*) }).map(|_| ())
        }
    )*};
}

calls! {
    /// close(2).
    close(fd: Fd) = close(fd);
    /// mkdirat(2) with mode 0755.
    mkdir(dir: Fd, name: &CStr) = mkdirat(dir, name.as_ptr(), 0o755);
    /// unlinkat(2).
    unlink(dir: Fd, name: &CStr) = unlinkat(dir, name.as_ptr(), 0);
    /// unlinkat(2) with AT_REMOVEDIR.
    rmdir(dir: Fd, name: &CStr) = unlinkat(dir, name.as_ptr(), libc::AT_REMOVEDIR);
    /// renameat(2).
    rename(from: Fd, old: &CStr, to: Fd, new: &CStr) = renameat(from, old.as_ptr(), to, new.as_ptr());
    /// linkat(2).
    link(from: Fd, old: &CStr, to: Fd, new: &CStr) = linkat(from, old.as_ptr(), to, new.as_ptr(), 0);
    /// ioctl(2) FICLONE: the target shares all of the source's data.
    clone_file(target: Fd, source: Fd) = ioctl(target, libc::FICLONE, source);
    /// fallocate(2).
    allocate(fd: Fd, mode: i32, offset: u64, length: u64) = fallocate64(fd, mode, offset as i64, length as i64);
    /// fsetxattr(2).
    set_attribute(fd: Fd, name: &CStr, value: &[u8]) = fsetxattr(fd, name.as_ptr(), value.as_ptr().cast(), value.len(), 0);
    /// faccessat(2) with F_OK.
    look_up(dir: Fd, name: &CStr) = faccessat(dir, name.as_ptr(), libc::F_OK, 0);
    /// fchmodat(2).
    chmod(dir: Fd, name: &CStr, mode: u32) = fchmodat(dir, name.as_ptr(), mode, 0);
    /// fsync(2).
    fsync(fd: Fd) = fsync(fd);
    /// fdatasync(2).
    fdatasync(fd: Fd) = fdatasync(fd);
    /// syncfs(2).
    syncfs(fd: Fd) = syncfs(fd);
    /// sync_file_range(2).
    sync_range(fd: Fd, offset: u64, length: u64, flags: u32) = sync_file_range(fd, offset as i64, length as i64, flags);
    /// ftruncate(2).
    truncate(fd: Fd, size: u64) = ftruncate64(fd, size as i64);
}

/// openat(2); the descriptor closes on exec.
#[inline]
pub fn open(dir: Fd, name: &CStr, flags: i32, mode: u32) -> Answer<Fd> {
    // SAFETY: `name` is a C string that outlives the call.
    answer(unsafe { libc::openat(dir, name.as_ptr(), flags | libc::O_CLOEXEC, mode) })
}

/// Open a directory for reading and as the base of other calls.
pub fn open_directory(dir: Fd, name: &CStr) -> Answer<Fd> {
    open(dir, name, libc::O_RDONLY | libc::O_DIRECTORY, 0)
}

/// read(2).
#[inline]
pub fn read(fd: Fd, buffer: &mut [u8]) -> Answer<usize> {
    // SAFETY: the kernel writes at most `len` bytes into a buffer of that length.
    answer_size(unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// write(2).
#[inline]
pub fn write(fd: Fd, buffer: &[u8]) -> Answer<usize> {
    // SAFETY: the kernel reads at most `len` bytes from a buffer of that length.
    answer_size(unsafe { libc::write(fd, buffer.as_ptr().cast(), buffer.len()) })
}

/// pread(2).
#[inline]
pub fn read_at(fd: Fd, buffer: &mut [u8], offset: u64) -> Answer<usize> {
    // SAFETY: as in `read`.
    answer_size(unsafe { libc::pread64(fd, buffer.as_mut_ptr().cast(), buffer.len(), offset as i64) })
}

/// pwrite(2).
#[inline]
pub fn write_at(fd: Fd, buffer: &[u8], offset: u64) -> Answer<usize> {
    // SAFETY: as in `write`.
    answer_size(unsafe { libc::pwrite64(fd, buffer.as_ptr().cast(), buffer.len(), offset as i64) })
}

/// pread(2) with flags (preadv2).
pub fn read_at_flagged(fd: Fd, buffer: &mut [u8], offset: u64, flags: i32) -> Answer<usize> {
    let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: as in `read`; the kernel reads one description of the buffer.
    answer_size(unsafe { libc::preadv2(fd, &part, 1, offset as i64, flags) })
}

/// pwrite(2) with flags (pwritev2).
pub fn write_at_flagged(fd: Fd, buffer: &[u8], offset: u64, flags: i32) -> Answer<usize> {
    let part = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: buffer.len() };
    // SAFETY: as in `write`; the kernel reads one description of the buffer, and nothing is written into it.
    answer_size(unsafe { libc::pwritev2(fd, &part, 1, offset as i64, flags) })
}

/// linkat(2) of an open file, which may have no name.
pub fn link_open(fd: Fd, to: Fd, name: &CStr) -> Answer<()> {
    let mut path = [0u8; 32];
    let text = format!("/proc/self/fd/{fd}");
    path[..text.len()].copy_from_slice(text.as_bytes());
    // SAFETY: both are C strings that outlive the call: the first ends in the zeros that it is filled up with.
    let r = unsafe { libc::linkat(libc::AT_FDCWD, path.as_ptr().cast(), to, name.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    answer(r).map(|_| ())
}

/// copy_file_range(2) at both files' offsets; bytes copied, 0 at the end.
pub fn copy_range(source: Fd, target: Fd, length: usize) -> Answer<usize> {
    let (from, to) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: takes numbers, and no offsets to read or write.
    answer_size(unsafe { libc::copy_file_range(source, from, target, to, length, 0) })
}

/// posix_fadvise(2) of a whole file.
pub fn advise(fd: Fd, advice: i32) -> Answer<()> {
    // SAFETY: takes numbers only. It answers the errno itself.
    match unsafe { libc::posix_fadvise64(fd, 0, 0, advice) } {
        0 => Ok(()),
        errno => Err(Errno(errno)),
    }
}

/// fgetxattr(2); bytes of the value.
pub fn get_attribute(fd: Fd, name: &CStr, buffer: &mut [u8]) -> Answer<usize> {
    // SAFETY: the name is a C string, and the kernel writes at most `len` bytes.
    answer_size(unsafe { libc::fgetxattr(fd, name.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// What stat(2) says that the engine needs.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    /// Size in bytes.
    pub size: u64,
    /// Type and mode bits.
    pub mode: u32,
    /// Bytes that the filesystem gave it.
    pub allocated: u64,
}

/// fstatat(2), following no symbolic link.
#[inline]
pub fn stat(dir: Fd, name: &CStr) -> Answer<Status> {
    let mut s = std::mem::MaybeUninit::<libc::stat64>::uninit();
    // SAFETY: the kernel fills the whole structure when it answers 0; it is read only then.
    unsafe {
        answer(libc::fstatat64(dir, name.as_ptr(), s.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW))?;
        let s = s.assume_init_ref();
        Ok(Status { size: s.st_size as u64, mode: s.st_mode, allocated: s.st_blocks as u64 * 512 })
    }
}

/// fstat(2).
pub fn stat_open(fd: Fd) -> Answer<Status> {
    let mut s = std::mem::MaybeUninit::<libc::stat64>::uninit();
    // SAFETY: as in `stat`.
    unsafe {
        answer(libc::fstat64(fd, s.as_mut_ptr()))?;
        let s = s.assume_init_ref();
        Ok(Status { size: s.st_size as u64, mode: s.st_mode, allocated: s.st_blocks as u64 * 512 })
    }
}

/// Space of a filesystem, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Given away.
    pub used: u64,
    /// Free for those who are not root.
    pub available: u64,
    /// Free for root.
    pub free: u64,
}

impl Space {
    /// How full it is, in percent, as df(1) counts: what is kept for root is left out.
    pub fn full_percent(self) -> f64 {
        100.0 * self.used as f64 / (self.used + self.available).max(1) as f64
    }
}

/// fstatvfs(2).
pub fn space(fd: Fd) -> Answer<Space> {
    let mut s = std::mem::MaybeUninit::<libc::statvfs64>::uninit();
    // SAFETY: the kernel fills the whole structure when it answers 0; it is read only then.
    unsafe {
        answer(libc::fstatvfs64(fd, s.as_mut_ptr()))?;
        let s = s.assume_init_ref();
        let unit = s.f_frsize;
        Ok(Space { used: (s.f_blocks - s.f_bfree) * unit, available: s.f_bavail * unit, free: s.f_bfree * unit })
    }
}

/// fchownat(2) to these ids.
pub fn chown(dir: Fd, name: &CStr, ids: (u32, u32)) -> Answer<()> {
    // SAFETY: as in `look_up`.
    answer(unsafe { libc::fchownat(dir, name.as_ptr(), ids.0, ids.1, 0) }).map(|_| ())
}

/// The caller's own user and group.
pub fn own_ids() -> (u32, u32) {
    // SAFETY: these calls take nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Set or clear O_DIRECT on an open file.
pub fn set_direct(fd: Fd, direct: bool) -> Answer<()> {
    // SAFETY: takes numbers only.
    let flags = answer(unsafe { libc::fcntl(fd, libc::F_GETFL) })?;
    let flags = if direct { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
    // SAFETY: takes numbers only.
    answer(unsafe { libc::fcntl(fd, libc::F_SETFL, flags) }).map(|_| ())
}

/// getdents64(2): bytes of the buffer that were filled, 0 at the end.
pub fn list(fd: Fd, buffer: &mut [u8]) -> Answer<usize> {
    // SAFETY: the kernel writes at most `len` bytes into a buffer of that length.
    let r = unsafe { libc::syscall(libc::SYS_getdents64, fd, buffer.as_mut_ptr(), buffer.len()) };
    answer_size(r as isize)
}

/// lseek(2) to an offset from the beginning.
pub fn seek(fd: Fd, offset: u64) -> Answer<()> {
    // SAFETY: takes numbers only.
    if unsafe { libc::lseek64(fd, offset as i64, libc::SEEK_SET) } < 0 { Err(Errno::last()) } else { Ok(()) }
}

/// Pages of an open file that are in the page cache: cachestat(2), Linux 6.5 or newer.
pub fn cached_pages(fd: Fd) -> Answer<u64> {
    // Number of the call on every architecture that Linux supports since 5.1.
    const SYS_CACHESTAT: libc::c_long = 451;
    let range = [0u64, 0u64];
    let mut found = [0u64; 5];
    // SAFETY: the kernel reads two words and writes five; both arrays are that long.
    let r = unsafe { libc::syscall(SYS_CACHESTAT, fd, range.as_ptr(), found.as_mut_ptr(), 0u32) };
    if r < 0 { Err(Errno::last()) } else { Ok(found[0]) }
}

/// Bytes of a file that are mapped at once.
const WINDOW: u64 = 1 << 30;

/// Maps a part of a file, window by window, and has the kernel asked something of each: of memory that nobody reads or writes.
fn each_window(fd: Fd, offset: u64, length: u64, mut ask: impl FnMut(*mut libc::c_void, usize) -> i32) -> Answer<()> {
    let mut at = 0;
    while at < length {
        let window = (length - at).min(WINDOW) as usize;
        // SAFETY: a fresh mapping that nothing else knows is made, asked about and removed.
        unsafe {
            let from = (offset + at) as i64;
            let map = libc::mmap64(std::ptr::null_mut(), window, libc::PROT_READ, libc::MAP_SHARED, fd, from);
            if map == libc::MAP_FAILED {
                return Err(Errno::last());
            }
            let r = ask(map, window);
            let failed = Errno::last();
            libc::munmap(map, window);
            if r < 0 {
                return Err(failed);
            }
        }
        at += WINDOW;
    }
    Ok(())
}

/// Pages of an open file that are in the page cache, by mmap(2) and mincore(2); for kernels without cachestat(2).
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

/// Reads a part of a file as a program does that maps it and touches each page: madvise(2) with MADV_POPULATE_READ, Linux 5.14 or newer.
pub fn populate(fd: Fd, offset: u64, length: u64) -> Answer<()> {
    // SAFETY: the mapping is that long, and pages of it are only made present.
    each_window(fd, offset, length, |map, length| unsafe { libc::madvise(map, length, libc::MADV_POPULATE_READ) })
}

/// Bytes of a page.
pub fn page_size() -> u64 {
    // SAFETY: sysconf takes a number only.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// Raise the soft limit on open files to the hard one, and answer it.
pub fn raise_open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills and reads one structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) < 0 {
            return 256;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
    }
    limit.rlim_cur
}
