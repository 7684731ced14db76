//! System calls instead of small commands; the journal records each as the equivalent shell command.
//! In: the call, a limit, a journal. Out: success, or the system's error.
//! A process per call would cost more than the work between two calls. A device that hangs blocks its caller, so each call runs in a thread
//! of its own, which is abandoned at the limit.

// Three ioctls without an argument, and one system call that has no wrapper yet.
#![allow(unsafe_code)]

use crate::command::{CommandError, within};
use crate::journal::{Journal, Record, typed};
use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{NoArg, Opcode, ioctl};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The switch that empties the kernel's caches.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// FIFREEZE, FITHAW and BLKFLSBUF (linux/fs.h).
const FREEZE: Opcode = 0xc004_5877;
const THAW: Opcode = 0xc004_5878;
const FLUSH_BUFFERS: Opcode = 0x1261;

/// One call, not yet made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// syncfs(2) on the filesystem of a path.
    Sync(PathBuf),
    /// Freezes and thaws the filesystem of a mount point, so that it writes out what its journal holds back.
    Checkpoint(PathBuf),
    /// Thaws a filesystem that was left frozen.
    Thaw(PathBuf),
    /// Drops all clean pages, dentries and inodes of this machine.
    DropCaches,
    /// Writes back and drops the cached pages of a block device.
    FlushBuffers(PathBuf),
}

impl Call {
    /// The equivalent command, as typed in a shell.
    pub fn words(&self) -> Vec<String> {
        let shell = |line: String| vec!["sh".into(), "-c".into(), line];
        let plain = |words: &[&str], path: &Path| {
            words.iter().map(|word| word.to_string()).chain([path.display().to_string()]).collect()
        };
        match self {
            Call::Sync(path) => plain(&["sync", "--file-system"], path),
            Call::Checkpoint(path) => {
                let path = typed(&[path.display().to_string()]);
                shell(format!("fsfreeze --freeze {path} && fsfreeze --unfreeze {path}"))
            }
            Call::Thaw(path) => plain(&["fsfreeze", "--unfreeze"], path),
            Call::DropCaches => shell(format!("echo 3 > {DROP_CACHES}")),
            Call::FlushBuffers(path) => plain(&["blockdev", "--flushbufs"], path),
        }
    }

    /// Makes the call and records it in the journal; a planning journal only records it.
    ///
    /// # Errors
    /// The system's error, or the call took longer than `limit`.
    pub fn make(&self, limit: Duration, journal: &Journal) -> Result<(), CommandError> {
        let mut record = Record::begun(self.words(), journal);
        let began = Instant::now();
        let call = self.clone();
        let made = if journal.is_planning() { Ok(()) } else { within(limit, move || call.carry_out()) };
        if !journal.is_planning() {
            record.elapsed_ns = Some(began.elapsed().as_nanos() as u64);
        }
        match &made {
            Ok(()) => record.status = (!record.planned).then_some(0),
            Err(failure) => record.remark = Some(failure.to_string()),
        }
        journal.add(record);
        let command = typed(&self.words());
        made.map_err(|what| CommandError { command, what, answer: String::new(), hint: String::new() })
    }

    fn carry_out(&self) -> std::io::Result<()> {
        match self {
            Call::Sync(path) => Ok(rustix::fs::syncfs(opened(path)?)?),
            Call::Checkpoint(path) => {
                let root = opened(path)?;
                request::<FREEZE>(&root)?;
                request::<THAW>(&root)
            }
            Call::Thaw(path) => request::<THAW>(&opened(path)?),
            // "1" would leave dentries and inodes cached.
            Call::DropCaches => File::options().write(true).open(DROP_CACHES)?.write_all(b"3"),
            Call::FlushBuffers(path) => flush_buffers(&opened(path)?),
        }
    }
}

/// Writes back and drops the cached pages of an open block device (BLKFLSBUF).
///
/// # Errors
/// The system's error: it is not a block device, or this process lacks the right.
pub fn flush_buffers(device: impl AsFd) -> std::io::Result<()> {
    request::<FLUSH_BUFFERS>(device)
}

/// Bytes of an open file or block device in the page cache (cachestat(2), Linux 6.5 or newer); None where the kernel lacks the call.
pub fn cached_bytes(file: impl AsFd) -> Option<u64> {
    // The call has this number on every architecture that Linux supports since 5.1.
    const CACHESTAT: libc::c_long = 451;
    let range = [0u64, 0u64];
    let mut found = [0u64; 5];
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the kernel reads two words and writes five; both arrays are that long and live until it answers.
    let answer = unsafe { libc::syscall(CACHESTAT, file, range.as_ptr(), found.as_mut_ptr(), 0u32) };
    (answer == 0).then(|| found[0].saturating_mul(rustix::param::page_size() as u64))
}

/// Marks this process as one that serves a block device or a filesystem (PR_SET_IO_FLUSHER, Linux 5.6): its memory allocations do not
/// trigger writeback to what it serves.
///
/// # Errors
/// The system's error: the call needs CAP_SYS_RESOURCE.
pub fn serve_blocks() -> std::io::Result<()> {
    // <linux/prctl.h>; the C library's header lacks it on some systems.
    const SET_IO_FLUSHER: libc::c_int = 57;
    const YES: libc::c_ulong = 1;
    // SAFETY: the request takes numbers only, and concerns this process alone.
    let answer = unsafe { libc::prctl(SET_IO_FLUSHER, YES, 0, 0, 0) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn request<const CODE: Opcode>(file: impl AsFd) -> std::io::Result<()> {
    // SAFETY: these three requests take no argument and write nothing to this process's memory.
    Ok(unsafe { ioctl(file, NoArg::<CODE>::new()) }?)
}

fn opened(path: &Path) -> std::io::Result<std::os::fd::OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn the_journal_records_a_call_as_the_equivalent_command() {
        let journal = Journal::new();
        let folder = tempfile::tempdir().expect("a folder");
        Call::Sync(folder.path().into()).make(LIMIT, &journal).expect("synced");
        let records = journal.drain();
        assert_eq!(records[0].typed(), format!("sync --file-system {}", folder.path().display()));
        assert_eq!((records.len(), records[0].status), (1, Some(0)));
        assert!(records[0].elapsed_ns.is_some_and(|time| time > 0));
    }

    #[test]
    fn a_refused_call_is_an_error_with_the_systems_answer_and_is_recorded() {
        let journal = Journal::new();
        let error = Call::FlushBuffers("/dev/null".into()).make(LIMIT, &journal).expect_err("no block device");
        assert!(error.to_string().starts_with("`blockdev --flushbufs /dev/null` was refused: "), "{error}");
        assert!(journal.drain()[0].remark.as_ref().is_some_and(|remark| remark.contains("refused")));
        let error = Call::Sync("/is/not/there".into()).make(LIMIT, &journal).expect_err("nothing there");
        assert!(error.to_string().contains("No such file"), "{error}");
    }

    #[test]
    fn a_plan_makes_no_call() {
        let journal = Journal::planning();
        Call::Checkpoint("/is/not/there".into()).make(LIMIT, &journal).expect("only written down");
        let records = journal.drain();
        assert!(records[0].planned && records[0].elapsed_ns.is_none() && records[0].status.is_none());
        assert_eq!(records[0].typed(), "sh -c 'fsfreeze --freeze /is/not/there && fsfreeze --unfreeze /is/not/there'");
    }

    #[test]
    fn pages_of_a_file_are_counted_where_the_kernel_can() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[7; 64 << 10]).expect("written");
        // Just written, the file is fully cached, unless the folder's filesystem caches no pages at all.
        if let Some(bytes) = cached_bytes(&file) {
            assert!(bytes == 64 << 10 || bytes == 0, "{bytes}");
        }
    }
}
