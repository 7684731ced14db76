//! The served folder, as FUSE sees it: one level of files, each usable as a disk.
//! In: requests of the kernel, in its order. Out: answers.
//!
//! Requests are received as fast as they arrive. The disk's own thread answers all but reads that need not wait.

use crate::content::Change;
use crate::device;
use crate::inodes::{Inode, Shared, lock};
use crate::pace::{Job, What, WriteAnswer};
use crate::server::Service;
use fuser::{
    AccessFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime};

/// How long the kernel may cache a file's attributes: nothing else changes them.
const TRUSTED: Duration = Duration::from_secs(3600);
/// Longest file name.
const NAME_LENGTH: usize = 255;
/// Most requests at a time: more than the queue of a loop device, whose requests may be split.
const DEPTH: u16 = 512;
/// Largest write: what the kernel uses for most disks.
const MOST_AT_ONCE: u32 = 1 << 20;
/// Unit of sizes.
const BLOCK: u32 = 4096;

/// The folder.
#[derive(Debug)]
pub(crate) struct Folder {
    shared: Shared,
    jobs: Sender<Job>,
    /// Whether reads also go through the queue.
    queues_reads: bool,
}

impl Folder {
    /// A folder that sends its requests to the answering thread.
    pub fn of(shared: &Shared, service: &Service, jobs: Sender<Job>) -> Folder {
        let queues_reads = service.model.is_some() || service.queues_reads;
        Folder { shared: Arc::clone(shared), jobs, queues_reads }
    }

    fn send(&self, number: u64, what: What) {
        // The other thread ends only after this one.
        let _ = self.jobs.send(Job { number, arrived: Instant::now(), what });
    }

    fn change(&self, number: u64, offset: u64, change: Change, answer: WriteAnswer) {
        // Numbered under the lock and sent in that order, since a single thread receives requests.
        let recorded = lock(&self.shared).submitted(number, offset, &change);
        self.send(number, What::Write { offset, change, recorded, answer });
    }
}

fn facts(number: u64, inode: &Inode) -> FileAttr {
    attributes(number, FileType::RegularFile, inode.mode, inode.size, inode.content.kept(), inode.changed)
}

fn root() -> FileAttr {
    attributes(INodeNo::ROOT.0, FileType::Directory, 0o700, 0, 0, SystemTime::UNIX_EPOCH)
}

fn attributes(number: u64, kind: FileType, mode: u16, size: u64, kept: u64, changed: SystemTime) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: kept / 512,
        atime: changed,
        mtime: changed,
        ctime: changed,
        crtime: changed,
        kind,
        perm: mode,
        nlink: if kind == FileType::Directory { 2 } else { 1 },
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

impl Filesystem for Folder {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let wanted =
            |refused: InitFlags| std::io::Error::other(format!("this kernel's FUSE does not support {refused:?}"));
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(wanted)?;
        // If one is refused, the default is good enough.
        let _ = config.set_max_write(MOST_AT_ONCE);
        let _ = config.set_max_background(DEPTH);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match lock(&self.shared).look_up(name).filter(|_| parent == INodeNo::ROOT) {
            Some((number, inode)) => reply.entry(&TRUSTED, &facts(number, inode), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn forget(&self, _: &Request, number: INodeNo, times: u64) {
        lock(&self.shared).forget(number.0, times);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        if number == INodeNo::ROOT {
            return reply.attr(&TRUSTED, &root());
        }
        match lock(&self.shared).inode(number.0) {
            Some(inode) => reply.attr(&TRUSTED, &facts(number.0, inode)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut inodes = lock(&self.shared);
        if size.is_some_and(|size| !inodes.resize(number.0, size)) {
            return reply.error(Errno::EFBIG);
        }
        let Some(inode) = inodes.inode(number.0) else { return reply.error(Errno::EPERM) };
        if let Some(mode) = mode {
            inode.mode = (mode & 0o777) as u16;
        }
        reply.attr(&TRUSTED, &facts(number.0, inode));
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match lock(&self.shared).unlink(name) {
            true => reply.ok(),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn create(&self, _: &Request, _: INodeNo, name: &OsStr, mode: u32, umask: u32, _: i32, reply: ReplyCreate) {
        if name.len() > NAME_LENGTH {
            return reply.error(Errno::ENAMETOOLONG);
        }
        match lock(&self.shared).create(name, (mode & !umask & 0o777) as u16) {
            Some((number, inode)) => {
                let facts = facts(number, inode);
                reply.created(&TRUSTED, &facts, Generation(0), FileHandle(0), FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
            }
            None => reply.error(Errno::ENOSPC),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = size as usize;
        if self.queues_reads || lock(&self.shared).waits(number.0) {
            return self.send(number.0, What::Read { offset, length, answer: reply });
        }
        device::read(&self.shared, number.0, offset, length, reply);
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.change(number.0, offset, Change::Data(data.into()), WriteAnswer::Written(reply));
    }

    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let asked = rustix::fs::FallocateFlags::from_bits_retain(mode as u32);
        let clears = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::ZERO_RANGE;
        let end = offset.saturating_add(length);
        let beyond = lock(&self.shared).inode(number.0).is_none_or(|inode| end > inode.size);
        if !asked.intersects(clears) || beyond {
            return reply.error(Errno::EOPNOTSUPP);
        }
        self.change(number.0, offset, Change::Clear(length), WriteAnswer::Cleared(reply));
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let recorded = lock(&self.shared).recording_of(number.0).map(|recording| recording.flush_submitted());
        self.send(number.0, What::Flush { recorded, answer: reply });
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let inodes = lock(&self.shared);
        let own = [".", ".."].map(|name| (name.into(), INodeNo::ROOT, FileType::Directory));
        let files = inodes.names().map(|(name, number)| (name.clone(), INodeNo(number), FileType::RegularFile));
        let all: Vec<(std::ffi::OsString, INodeNo, FileType)> = own.into_iter().chain(files).collect();
        for (place, (name, number, kind)) in all.into_iter().enumerate().skip(offset as usize) {
            if reply.add(number, place as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let inodes = lock(&self.shared);
        let (all, free) = (inodes.room() / u64::from(BLOCK), inodes.free() / u64::from(BLOCK));
        reply.statfs(all, free, free, 0, 0, BLOCK, NAME_LENGTH as u32, BLOCK);
    }
}
