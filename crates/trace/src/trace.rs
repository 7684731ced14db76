//! The content of a trace.
//! In: the recorder's output, or an untrusted file. Out: values that a replay may rely on once [`Trace::check`] has passed.

use serde::{Deserialize, Serialize};

/// The format that this version writes and reads.
pub const FORMAT: u32 = 1;
/// Most calls of one trace.
pub const ACTIONS_LIMIT: usize = 20_000_000;
/// Most files, folders and links of the initial tree.
pub const ENTRIES_LIMIT: usize = 5_000_000;
/// Most threads of one trace, all processes together.
pub const THREADS_LIMIT: u32 = 200_000;
/// Calls that a trace does not contain, as in [`Header::unseen`]: besides reads and writes, fsync(2) and others may be submitted in this way.
pub const UNSEEN_RINGS: &str = "reads and writes through io_uring or io_submit";

/// One recorded run of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Its origin and size.
    pub header: Header,
    /// The initial folder, parents before their content.
    pub tree: Vec<Entry>,
    /// The actions, in an order to which [`Action::after`] refers; the actions of each thread are in their order.
    pub actions: Vec<Action>,
}

/// Origin and size of a trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format; must be supported by this version.
    pub format: u32,
    /// Bakeoff and its version.
    pub made_by: String,
    /// Time of the recording, in RFC 3339.
    pub recorded: String,
    /// The words of the command.
    pub command: Vec<String>,
    /// Exit status of the command; None if a signal ended it.
    pub status: Option<i32>,
    /// Type of the filesystem on which it was recorded.
    pub filesystem: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Entries of the tree that follow.
    pub entries: u64,
    /// Actions that follow.
    pub actions: u64,
    /// Threads of all processes together, numbered from 0.
    pub threads: u32,
    /// Open file descriptions, numbered from 0.
    pub handles: u32,
    /// Duration of the command during the recording, in nanoseconds.
    pub elapsed_ns: u64,
    /// Whether the time between calls is CPU time; otherwise it is elapsed time, including that of others.
    #[serde(default)]
    pub think_on_processor: bool,
    /// Cost of recording.
    pub overhead: Overhead,
    /// Share of the tree's data that a compressor saves, in percent, sampled.
    pub compressible_before: u8,
    /// The same for the files at the end.
    pub compressible_after: u8,
    /// Operations that could not be recorded or cannot be replayed, in sentences.
    pub unseen: Vec<String>,
}

impl Header {
    /// Whether calls of any kind were made that the trace does not contain.
    pub fn hides_calls(&self) -> bool {
        self.unseen.iter().any(|calls| calls.starts_with(UNSEEN_RINGS))
    }
}

/// Cost of recording.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// The watcher: `eBPF` or `strace`.
    pub watcher: String,
    /// Recorded calls, including those outside of the folder.
    pub calls: u64,
    /// Mean nanoseconds that recording added between two calls: recorded call by call, or measured with a test program. They are subtracted
    /// from the program's own time.
    pub between_ns: u64,
    /// Nanoseconds that it added within a call.
    pub within_ns: u64,
}

impl Overhead {
    /// Total nanoseconds, if nothing ran in parallel.
    pub fn in_all_ns(&self) -> u64 {
        self.calls.saturating_mul(self.between_ns + self.within_ns)
    }
}

/// One entry of the initial tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Path relative to the folder, without a slash at either end.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Its kind.
    pub kind: EntryKind,
}

/// The files in a tree, with their sizes in bytes.
pub fn files(tree: &[Entry]) -> impl Iterator<Item = (&str, u64)> {
    tree.iter().filter_map(|entry| match entry.kind {
        EntryKind::File(size) => Some((entry.path.as_str(), size)),
        _ => None,
    })
}

/// Kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file of this size in bytes.
    File(u64),
    /// A hard link to an earlier entry.
    Link(String),
    /// A symbolic link with this text.
    Symlink(String),
}

/// One call of one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// The thread.
    pub thread: u32,
    /// Nanoseconds of own time since the thread's last action: computation, and calls unrelated to the folder.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub think_ns: u64,
    /// Duration of the call in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_ns: u64,
    /// The result; an error as its negative number.
    #[serde(default, skip_serializing_if = "is_none")]
    pub result: i64,
    /// The call.
    pub call: Call,
    /// Earlier actions of other threads that must have finished, by their index in [`Trace::actions`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_none(number: &i64) -> bool {
    *number == 0
}

/// Calls, named after the kernel's, with the arguments of the manual page. Paths are relative to the folder; the folder itself is `.`.
/// Handles are open file descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[allow(missing_docs, reason = "arguments are those of the manual page")]
pub enum Call {
    /// The first action of this thread may follow.
    Start { thread: u32 },
    /// An event for which other threads wait: a byte in a pipe, an end.
    Tell,
    /// Waits for the actions in [`Action::after`], and does nothing.
    Wait,
    /// Waits for this time, independent of other threads.
    Sleep(Sleep),
    /// openat(2).
    Open { path: String, flags: u32, mode: u32, handle: u32 },
    /// close(2) of the last descriptor.
    Close { handle: u32 },
    /// read(2).
    Read { handle: u32, length: u64 },
    /// pread(2).
    ReadAt { handle: u32, offset: u64, length: u64 },
    /// write(2).
    Write { handle: u32, length: u64 },
    /// pwrite(2).
    WriteAt { handle: u32, offset: u64, length: u64 },
    /// lseek(2).
    Seek { handle: u32, offset: i64, whence: u32 },
    /// getdents64(2).
    List { handle: u32, length: u64 },
    /// mmap(2) for reading; a replay reads the range.
    Map { handle: u32, offset: u64, length: u64 },
    /// fsync(2).
    Fsync { handle: u32 },
    /// fdatasync(2).
    Fdatasync { handle: u32 },
    /// syncfs(2).
    Syncfs { handle: u32 },
    /// sync(2): a replay syncs the folder's filesystem.
    Sync,
    /// sync_file_range(2).
    SyncRange { handle: u32, offset: u64, length: u64, flags: u32 },
    /// ftruncate(2).
    Truncate { handle: u32, size: u64 },
    /// truncate(2).
    TruncatePath { path: String, size: u64 },
    /// fallocate(2).
    Allocate { handle: u32, mode: u32, offset: u64, length: u64 },
    /// copy_file_range(2).
    CopyRange { from: u32, to: u32, length: u64 },
    /// sendfile(2).
    SendFile { from: u32, to: u32, length: u64 },
    /// ioctl(FICLONE).
    Clone { from: u32, to: u32 },
    /// posix_fadvise(2).
    Advise { handle: u32, offset: u64, length: u64, advice: u32 },
    /// stat(2), and lstat(2) where it does not follow links.
    Stat { path: String, follow: bool },
    /// fstat(2).
    StatHandle { handle: u32 },
    /// access(2).
    Access { path: String },
    /// readlink(2).
    ReadLink { path: String },
    /// renameat2(2).
    Rename { from: String, to: String, flags: u32 },
    /// unlink(2).
    Unlink { path: String },
    /// rmdir(2).
    RemoveFolder { path: String },
    /// mkdir(2).
    MakeFolder { path: String, mode: u32 },
    /// link(2).
    Link { from: String, to: String },
    /// symlink(2).
    Symlink { text: String, path: String },
    /// chmod(2).
    Mode { path: String, mode: u32 },
    /// fchmod(2).
    ModeHandle { handle: u32, mode: u32 },
    /// chown(2); a replay changes the owner to its own user.
    Owner { path: String, follow: bool },
    /// fchown(2), as [`Call::Owner`].
    OwnerHandle { handle: u32 },
    /// utimensat(2); a replay sets the present time.
    Times { path: String, follow: bool },
    /// futimens(2), as [`Call::Times`].
    TimesHandle { handle: u32 },
    /// listxattr(2), or getxattr(2) of a missing name, as copying programs make it.
    Attributes { path: String, follow: bool, list: bool },
    /// flistxattr(2) or fgetxattr(2), as [`Call::Attributes`].
    AttributesHandle { handle: u32, list: bool },
}

/// A wait for something outside of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// Nanoseconds.
    pub ns: u64,
    /// It timed out without the event that would have ended it: a replay ends it when the event that the thread waits for next has happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wakes: bool,
}

/// Names of calls in tables and histograms, and the list of them.
macro_rules! names {
    ($($kind:pat => $name:literal,)*) => {
        /// Name in tables and histograms.
        pub fn name(&self) -> &'static str {
            match self {
                Call::Start { .. } | Call::Tell | Call::Wait | Call::Sleep(_) => "wait",
                Call::Open { flags, .. } if flags & libc::O_CREAT as u32 != 0 => "create",
                Call::Open { .. } => "open",
                $($kind => $name,)*
            }
        }

        /// Names of all timed calls, each once.
        pub const NAMES: &[&str] = &["open", "create", $($name),*];
    };
}

impl Call {
    names! {
        Call::Close { .. } => "close",
        Call::Read { .. } | Call::ReadAt { .. } => "read",
        Call::Map { .. } => "map",
        Call::Write { .. } | Call::WriteAt { .. } => "write",
        Call::Seek { .. } => "seek",
        Call::List { .. } => "list",
        Call::Fsync { .. } => "fsync",
        Call::Fdatasync { .. } => "fdatasync",
        Call::Syncfs { .. } | Call::Sync | Call::SyncRange { .. } => "sync",
        Call::Truncate { .. } | Call::TruncatePath { .. } => "truncate",
        Call::Allocate { .. } => "allocate",
        Call::CopyRange { .. } | Call::SendFile { .. } | Call::Clone { .. } => "copy",
        Call::Advise { .. } => "advise",
        Call::Stat { .. } | Call::StatHandle { .. } => "stat",
        Call::Access { .. } => "look-up",
        Call::ReadLink { .. } => "read-link",
        Call::Rename { .. } => "rename",
        Call::Unlink { .. } => "unlink",
        Call::RemoveFolder { .. } => "rmdir",
        Call::MakeFolder { .. } => "mkdir",
        Call::Link { .. } => "link",
        Call::Symlink { .. } => "symlink",
        Call::Mode { .. } | Call::ModeHandle { .. } => "chmod",
        Call::Owner { .. } | Call::OwnerHandle { .. } => "chown",
        Call::Times { .. } | Call::TimesHandle { .. } => "utimes",
        Call::Attributes { .. } | Call::AttributesHandle { .. } => "xattr",
    }
}
