//! Prepared steps: flags computed, names of histograms resolved, so that the loops only branch and call.
//! In: a group's steps and I/O settings. Out: operations with the number of their histogram.
//! Target directories of renames are numbered here, too.

use crate::hash::mix;
use rustix::fs::Advice;
use workload::program::{Engine, Group, Io, Order, Step, SyncCall, SyncMode};

/// One prepared operation.
#[derive(Debug, Clone)]
pub struct Op {
    /// The action.
    pub act: Act,
    /// Number of its latency histogram.
    pub histogram: usize,
    /// Name in errors and histograms.
    pub name: &'static str,
}

/// The action of an operation.
#[derive(Debug, Clone)]
pub enum Act {
    /// Create the missing directories.
    Mkdir,
    /// Open with these flags; `anew` if the file's next generation begins.
    Open { flags: i32, anew: bool },
    /// Read.
    Read,
    /// Write.
    Write,
    /// Change a byte of the buffer.
    Modify,
    /// Close.
    Close,
    /// Make the open file durable.
    Sync(SyncCall),
    /// fsync of the directory.
    SyncDirectory,
    /// chown.
    Chown,
    /// chmod.
    Chmod,
    /// stat.
    Stat,
    /// access.
    LookUp,
    /// Rename into the target directory of this number.
    Rename(usize),
    /// Hard link next to the file, with this suffix.
    Link(String),
    /// Open an unnamed file, with these flags.
    OpenNameless { flags: i32 },
    /// Give it its name.
    LinkNameless,
    /// Clone (true) or copy into the target directory of this number.
    Copy { clones: bool, target: usize },
    /// fallocate with this mode.
    Allocate { mode: i32 },
    /// Truncate the file to this share, in percent.
    Truncate(u8),
    /// Set an attribute: Bakeoff's own with this many bytes; None: the access control list.
    SetAttribute(Option<u32>),
    /// Get an attribute: Bakeoff's own; or the access control list.
    GetAttribute { acl: bool },
    /// fadvise of the whole file.
    Advise(Advice),
    /// unlink.
    Unlink,
    /// List a directory.
    List,
    /// rmdir.
    Rmdir,
    /// Run a program of the user or of the filesystem.
    Run,
    /// Lay out a recorded program's tree, or replay its calls.
    Recorded,
    /// These steps on a share of items; the number distinguishes shares.
    Share(u8, u64, Vec<Op>),
}

/// A group's operations.
#[derive(Debug, Clone, Default)]
pub struct Ops {
    /// In order.
    pub list: Vec<Op>,
    /// Names of the histograms, by number.
    pub histograms: Vec<&'static str>,
    /// Target directories of renames.
    pub targets: Vec<String>,
    /// Histogram of whole items; None if an item is one operation, whose histogram is the same.
    pub item: Option<usize>,
    /// Histogram of getdents calls.
    pub readdir: usize,
    /// Histogram of syncs between operations.
    pub sync: usize,
    /// Histogram of response times, from the scheduled start.
    pub response: usize,
}

/// Open flags that a group's I/O settings add.
pub fn flags(io: &Io, writes: bool) -> i32 {
    let sync = match io.sync {
        SyncMode::None => 0,
        SyncMode::Sync => libc::O_SYNC,
        SyncMode::Dsync => libc::O_DSYNC,
    };
    // A mapping uses the page cache whatever the flags.
    let direct = if io.direct && io.engine != Engine::Mmap { libc::O_DIRECT } else { 0 };
    direct | if writes { sync } else { 0 }
}

/// Flags of each read and write of blocks.
pub fn call_flags(io: &Io) -> i32 {
    (if io.atomic { RWF_ATOMIC } else { 0 }) | if io.uncached { RWF_DONTCACHE } else { 0 }
}

/// RWF_ATOMIC of linux/fs.h, since Linux 6.11.
pub const RWF_ATOMIC: i32 = 0x40;
/// RWF_DONTCACHE of linux/fs.h, since Linux 6.14.
pub const RWF_DONTCACHE: i32 = 0x80;

impl Ops {
    /// Prepares a group's steps.
    pub fn new(group: &Group) -> Ops {
        let mut ops = Ops::default();
        let mut shares = 0;
        ops.list = group.steps.iter().map(|s| ops.ready(s, &group.io, &mut shares)).collect();
        if matches!(group.order, Order::Readdir | Order::Follow) {
            ops.readdir = ops.histogram("readdir");
        }
        if group.io.sync_every.is_some() || group.io.fsync_on_close {
            ops.sync = ops.histogram("sync");
        }
        if ops.list.len() > 1 {
            ops.item = Some(ops.histogram("item"));
        }
        if group.rate.is_some() {
            ops.response = ops.histogram("response");
        }
        ops
    }

    fn histogram(&mut self, name: &'static str) -> usize {
        self.histograms.iter().position(|h| *h == name).unwrap_or_else(|| {
            self.histograms.push(name);
            self.histograms.len() - 1
        })
    }

    fn ready(&mut self, step: &Step, io: &Io, shares: &mut u64) -> Op {
        let name = step.name();
        let act = match step {
            Step::Mkdir => Act::Mkdir,
            Step::Create => {
                Act::Open { flags: libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY | flags(io, true), anew: false }
            }
            Step::Open => Act::Open { flags: libc::O_RDONLY | flags(io, false), anew: false },
            Step::OpenTruncate => Act::Open { flags: libc::O_WRONLY | libc::O_TRUNC | flags(io, true), anew: true },
            Step::OpenReadWrite => Act::Open { flags: libc::O_RDWR | flags(io, true), anew: false },
            Step::Read => Act::Read,
            Step::Write => Act::Write,
            Step::Modify => Act::Modify,
            Step::Close => Act::Close,
            Step::Fsync => Act::Sync(SyncCall::Fsync),
            Step::Fdatasync => Act::Sync(SyncCall::Fdatasync),
            Step::FsyncDirectory => Act::SyncDirectory,
            Step::Chown => Act::Chown,
            Step::Chmod => Act::Chmod,
            Step::Stat => Act::Stat,
            Step::LookUp => Act::LookUp,
            Step::Rename(directory) => Act::Rename(self.target(directory)),
            Step::Link(suffix) => Act::Link(suffix.clone()),
            Step::OpenTmpfile => Act::OpenNameless { flags: libc::O_TMPFILE | libc::O_WRONLY | flags(io, true) },
            Step::LinkTmpfile => Act::LinkNameless,
            Step::Reflink(directory) => Act::Copy { clones: true, target: self.target(directory) },
            Step::CopyRange(directory) => Act::Copy { clones: false, target: self.target(directory) },
            Step::Fallocate => Act::Allocate { mode: 0 },
            Step::PunchHole => Act::Allocate { mode: libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE },
            Step::Truncate(percent) => Act::Truncate(*percent),
            Step::SetXattr(bytes) => Act::SetAttribute(Some(*bytes)),
            Step::SetAcl => Act::SetAttribute(None),
            Step::GetXattr => Act::GetAttribute { acl: false },
            Step::GetAcl => Act::GetAttribute { acl: true },
            Step::Readahead => Act::Advise(Advice::WillNeed),
            Step::DropCached => Act::Advise(Advice::DontNeed),
            Step::Unlink => Act::Unlink,
            Step::List => Act::List,
            Step::Rmdir => Act::Rmdir,
            Step::Run(_) | Step::Volume(..) | Step::Fill(_) | Step::AwaitSpace(_) => Act::Run,
            Step::LayOut(_) => Act::Recorded,
            Step::Replay(_) => {
                for name in trace::Call::NAMES {
                    self.histogram(name);
                }
                Act::Recorded
            }
            Step::Share(percent, steps) => {
                *shares += 1;
                let number = *shares;
                return Op {
                    act: Act::Share(*percent, number, steps.iter().map(|s| self.ready(s, io, shares)).collect()),
                    histogram: 0,
                    name,
                };
            }
        };
        Op { act, histogram: self.histogram(name), name }
    }

    fn target(&mut self, directory: &str) -> usize {
        self.targets.iter().position(|t| t == directory).unwrap_or_else(|| {
            self.targets.push(directory.to_owned());
            self.targets.len() - 1
        })
    }
}

/// Distinguishes the operations of one histogram in the hash of the work.
#[inline]
pub fn salt(histogram: usize) -> u64 {
    const KNOWN: [u64; 16] = {
        let mut known = [0; 16];
        let mut number = 0;
        while number < known.len() {
            known[number] = mix(number as u64 + 1);
            number += 1;
        }
        known
    };
    KNOWN.get(histogram).copied().unwrap_or_else(|| mix(histogram as u64 + 1))
}
