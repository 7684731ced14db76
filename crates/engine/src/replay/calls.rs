//! The replayed calls.
//! In: a call of a trace. Out: the kernel's answer.

use super::Root;
use crate::content::{Generator, Source};
use crate::sys;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    self, Access, Advice, AtFlags, FallocateFlags, Gid, Mode, OFlags, RenameFlags, SeekFrom, Timespec, Timestamps, Uid,
};
use rustix::io::{self, Errno};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};
use trace::Call;

/// Most bytes of one read or write; a larger call is divided.
const PIECE: u64 = 64 << 20;

/// Buffers for reads and writes.
pub struct Buffers {
    generator: Generator,
    read: Vec<u8>,
    write: Vec<u8>,
    list: Vec<MaybeUninit<u8>>,
}

impl Buffers {
    /// For one thread.
    pub fn new(generator: Generator) -> Buffers {
        Buffers { generator, read: Vec::new(), write: Vec::new(), list: Vec::new() }
    }

    /// Generates the data of a write: new for each call.
    pub fn make(&mut self, call: &Call, action: u32) {
        let (Call::Write { length, .. } | Call::WriteAt { length, .. }) = call else { return };
        let length = (*length).min(PIECE) as usize;
        if self.write.len() < length {
            self.write.resize(length, 0);
        }
        let source = Source { file: u64::from(action) + 1, version: 1 };
        self.generator.fill(&mut self.write[..length], source, 0);
    }

    fn room(&mut self, length: u64) -> &mut [u8] {
        let length = length.min(PIECE) as usize;
        if self.read.len() < length {
            self.read.resize(length, 0);
        }
        &mut self.read[..length]
    }
}

/// Open files by their number in the trace.
pub struct Files<'a> {
    root: &'a Root,
    open: Vec<Mutex<Option<Arc<OwnedFd>>>>,
}

type Answer = Result<i64, Errno>;

fn done<T>(answer: Result<T, Errno>) -> Answer {
    answer.map(|_| 0)
}

/// Repeats a call in pieces, until one is short.
fn pieces(length: u64, mut piece: impl FnMut(u64, u64) -> Result<usize, Errno>) -> Answer {
    let mut moved = 0;
    loop {
        let wanted = (length - moved).min(PIECE);
        let now = match piece(moved, wanted) {
            Err(_) if moved > 0 => return Ok(moved as i64),
            other => other? as u64,
        };
        moved += now;
        if now < wanted || moved >= length {
            return Ok(moved as i64);
        }
    }
}

impl Files<'_> {
    /// Without open files.
    pub fn new(root: &Root, handles: u32) -> Files<'_> {
        Files { root, open: (0..handles).map(|_| Mutex::default()).collect() }
    }

    /// Makes a call; returns its result, an error as a negative number.
    pub fn make(&self, call: &Call, recorded: i64, buffers: &mut Buffers) -> i64 {
        let answer = self.of_handles(call, recorded, buffers).unwrap_or_else(|| self.of_paths(call));
        answer.unwrap_or_else(|error| -i64::from(error.raw_os_error()))
    }

    fn get(&self, handle: u32) -> Result<Arc<OwnedFd>, Errno> {
        self.open[handle as usize].lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Errno::BADF)
    }

    fn set(&self, handle: u32, fd: Option<OwnedFd>) -> Option<Arc<OwnedFd>> {
        std::mem::replace(
            &mut *self.open[handle as usize].lock().unwrap_or_else(PoisonError::into_inner),
            fd.map(Arc::new),
        )
    }

    /// Calls on open files; None for other calls.
    fn of_handles(&self, call: &Call, recorded: i64, buffers: &mut Buffers) -> Option<Answer> {
        let answer = match *call {
            Call::Open { ref path, flags, mode, handle } => self.open(path, flags, mode, handle, recorded),
            Call::Close { handle } => match self.set(handle, None) {
                Some(fd) => {
                    drop(fd);
                    Ok(0)
                }
                None => Err(Errno::BADF),
            },
            Call::Read { handle, length } => {
                self.get(handle).and_then(|fd| pieces(length, |_, wanted| io::read(&fd, buffers.room(wanted))))
            }
            Call::ReadAt { handle, offset, length } => self
                .get(handle)
                .and_then(|fd| pieces(length, |from, wanted| io::pread(&fd, buffers.room(wanted), offset + from))),
            Call::Map { handle, offset, length } => self.map(handle, offset, length, buffers),
            Call::Write { handle, length } => self
                .get(handle)
                .and_then(|fd| pieces(length, |_, wanted| io::write(&fd, &buffers.write[..wanted as usize]))),
            Call::WriteAt { handle, offset, length } => self.get(handle).and_then(|fd| {
                pieces(length, |from, wanted| io::pwrite(&fd, &buffers.write[..wanted as usize], offset + from))
            }),
            Call::Seek { handle, offset, whence } => self.get(handle).and_then(|fd| seek(&fd, offset, whence)),
            Call::List { handle, length } => self.get(handle).and_then(|fd| list(&fd, length, recorded, buffers)),
            Call::Fsync { handle } => self.get(handle).and_then(|fd| done(fs::fsync(&fd))),
            Call::Fdatasync { handle } => self.get(handle).and_then(|fd| done(fs::fdatasync(&fd))),
            Call::Syncfs { handle } => self.get(handle).and_then(|fd| done(fs::syncfs(&fd))),
            Call::Sync => done(fs::syncfs(&self.root.fd)),
            Call::SyncRange { handle, offset, length, flags } => {
                self.get(handle).and_then(|fd| done(sys::sync_range(fd.as_raw_fd(), offset, length, flags)))
            }
            Call::Truncate { handle, size } => self.get(handle).and_then(|fd| done(fs::ftruncate(&fd, size))),
            Call::Allocate { handle, mode, offset, length } => {
                let mode = FallocateFlags::from_bits_retain(mode);
                self.get(handle).and_then(|fd| done(fs::fallocate(&fd, mode, offset, length)))
            }
            Call::Advise { handle, offset, length, advice } => {
                self.get(handle).and_then(|fd| advise(&fd, offset, length, advice))
            }
            Call::StatHandle { handle } => self.get(handle).and_then(|fd| done(fs::fstat(&fd))),
            Call::ModeHandle { handle, mode } => {
                self.get(handle).and_then(|fd| done(fs::fchmod(&fd, Mode::from_raw_mode(mode))))
            }
            Call::OwnerHandle { handle } => self.get(handle).and_then(|fd| {
                let (user, group) = own();
                done(fs::fchown(&fd, Some(user), Some(group)))
            }),
            Call::TimesHandle { handle } => self.get(handle).and_then(|fd| done(fs::futimens(&fd, &now()))),
            Call::AttributesHandle { handle, list } => self.get(handle).and_then(|fd| attributes(&fd, list)),
            Call::CopyRange { .. } | Call::SendFile { .. } | Call::Clone { .. } => self.copy(call),
            _ => return None,
        };
        Some(answer)
    }

    fn open(&self, path: &str, flags: u32, mode: u32, handle: u32, recorded: i64) -> Answer {
        let flags = OFlags::from_bits_retain(flags) | OFlags::CLOEXEC;
        let fd = fs::openat(&self.root.fd, path, flags, Mode::from_raw_mode(mode))?;
        // A file that the program failed to open is not kept open here.
        drop(self.set(handle, (recorded >= 0).then_some(fd)));
        Ok(0)
    }

    /// Mapped pages are touched once each, in order; if the kernel or the filesystem cannot do that at once, they are read.
    fn map(&self, handle: u32, offset: u64, length: u64, buffers: &mut Buffers) -> Answer {
        const STEP: u64 = 128 << 10;
        let fd = self.get(handle)?;
        let there = fs::fstat(&fd)?.st_size.max(0) as u64;
        let length = length.min(there.saturating_sub(offset));
        if sys::populate(fd.as_raw_fd(), offset, length).is_ok() {
            return Ok(length as i64);
        }
        let mut at = 0;
        while at < length {
            let read = io::pread(&fd, buffers.room((length - at).min(STEP)), offset + at)?;
            if read == 0 {
                break;
            }
            at += read as u64;
        }
        Ok(at as i64)
    }

    fn copy(&self, call: &Call) -> Answer {
        match *call {
            Call::CopyRange { from, to, length } => {
                let (from, to) = (self.get(from)?, self.get(to)?);
                fs::copy_file_range(&from, None, &to, None, length as usize).map(|moved| moved as i64)
            }
            Call::SendFile { from, to, length } => {
                let (from, to) = (self.get(from)?, self.get(to)?);
                fs::sendfile(&to, &from, None, length as usize).map(|moved| moved as i64)
            }
            Call::Clone { from, to } => {
                let (from, to) = (self.get(from)?, self.get(to)?);
                done(fs::ioctl_ficlone(&to, &from))
            }
            _ => Err(Errno::INVAL),
        }
    }

    /// Calls on paths.
    fn of_paths(&self, call: &Call) -> Answer {
        let at = &self.root.fd;
        let link = |follow: bool| if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        match *call {
            Call::Stat { ref path, follow } => done(fs::statat(at, path.as_str(), link(follow))),
            Call::Access { ref path } => done(fs::accessat(at, path.as_str(), Access::EXISTS, AtFlags::empty())),
            Call::ReadLink { ref path } => done(fs::readlinkat(at, path.as_str(), Vec::new())),
            Call::Rename { ref from, ref to, flags } => {
                let flags = RenameFlags::from_bits_retain(flags);
                done(fs::renameat_with(at, from.as_str(), at, to.as_str(), flags))
            }
            Call::Unlink { ref path } => done(fs::unlinkat(at, path.as_str(), AtFlags::empty())),
            Call::RemoveFolder { ref path } => done(fs::unlinkat(at, path.as_str(), AtFlags::REMOVEDIR)),
            Call::MakeFolder { ref path, mode } => done(fs::mkdirat(at, path.as_str(), Mode::from_raw_mode(mode))),
            Call::Link { ref from, ref to } => done(fs::linkat(at, from.as_str(), at, to.as_str(), AtFlags::empty())),
            Call::Symlink { ref text, ref path } => done(fs::symlinkat(self.root.link_text(text), at, path.as_str())),
            Call::Mode { ref path, mode } => {
                done(fs::chmodat(at, path.as_str(), Mode::from_raw_mode(mode), AtFlags::empty()))
            }
            Call::Owner { ref path, follow } => {
                let (user, group) = own();
                done(fs::chownat(at, path.as_str(), Some(user), Some(group), link(follow)))
            }
            Call::Times { ref path, follow } => done(fs::utimensat(at, path.as_str(), &now(), link(follow))),
            Call::TruncatePath { ref path, size } => {
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                fs::openat(at, path.as_str(), flags, Mode::empty()).and_then(|fd| done(fs::ftruncate(&fd, size)))
            }
            // There is no such call relative to a descriptor, and this process' working directory is the root.
            Call::Attributes { ref path, follow, list } => {
                let (path, buffer) = (path.as_str(), &mut [0_u8; 256][..]);
                done(match (list, follow) {
                    (true, true) => fs::listxattr(path, buffer),
                    (true, false) => fs::llistxattr(path, buffer),
                    (false, true) => fs::getxattr(path, ABSENT, buffer),
                    (false, false) => fs::lgetxattr(path, ABSENT, buffer),
                })
            }
            _ => Ok(0),
        }
    }
}

/// An attribute that no file has.
const ABSENT: &str = "user.bakeoff.absent";

fn attributes(fd: &OwnedFd, list: bool) -> Answer {
    let buffer = &mut [0_u8; 256][..];
    done(if list { fs::flistxattr(fd, buffer) } else { fs::fgetxattr(fd, ABSENT, buffer) })
}

fn own() -> (Uid, Gid) {
    (rustix::process::getuid(), rustix::process::getgid())
}

fn now() -> Timestamps {
    let now = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
}

fn seek(fd: &OwnedFd, offset: i64, whence: u32) -> Answer {
    let to = match whence as i32 {
        libc::SEEK_SET => SeekFrom::Start(offset.max(0) as u64),
        libc::SEEK_CUR => SeekFrom::Current(offset),
        libc::SEEK_END => SeekFrom::End(offset),
        libc::SEEK_DATA => SeekFrom::Data(offset.max(0) as u64),
        libc::SEEK_HOLE => SeekFrom::Hole(offset.max(0) as u64),
        _ => return Err(Errno::INVAL),
    };
    fs::seek(fd, to).map(|at| at as i64)
}

/// One call; the last one continues to the end, since filesystems return more or fewer names per call.
fn list(fd: &OwnedFd, length: u64, recorded: i64, buffers: &mut Buffers) -> Answer {
    const MOST: usize = 1 << 20;
    let length = (length as usize).clamp(1024, MOST);
    if buffers.list.len() < length {
        buffers.list.resize(length, MaybeUninit::uninit());
    }
    loop {
        let mut entries = fs::RawDir::new(fd.as_fd(), &mut buffers.list[..length]);
        let mut any = false;
        while let Some(entry) = entries.next() {
            entry?;
            any = true;
            if entries.is_buffer_empty() {
                break;
            }
        }
        if recorded > 0 || !any {
            return Ok(recorded.max(0));
        }
    }
}

fn advise(fd: &OwnedFd, offset: u64, length: u64, advice: u32) -> Answer {
    let advice = match advice as i32 {
        libc::POSIX_FADV_NORMAL => Advice::Normal,
        libc::POSIX_FADV_SEQUENTIAL => Advice::Sequential,
        libc::POSIX_FADV_RANDOM => Advice::Random,
        libc::POSIX_FADV_NOREUSE => Advice::NoReuse,
        libc::POSIX_FADV_WILLNEED => Advice::WillNeed,
        libc::POSIX_FADV_DONTNEED => Advice::DontNeed,
        _ => return Err(Errno::INVAL),
    };
    done(fs::fadvise(fd, offset, std::num::NonZeroU64::new(length), advice))
}
