//! Reads files that the user provides: plans, workloads, descriptions, claims.
//! In: a path and a limit. Out: text, or [`Unreadable`], in bounded time and memory whatever the path leads to.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{FsWord, OFlags};
use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Size limit of a file written by hand, in bytes; larger than any known one.
pub const TEXT_LIMIT: u64 = 1 << 20;

/// Why a file could not be read; printed after the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The system refused it.
    #[error("{0}")]
    Refused(String),
    /// It is not a regular file.
    #[error("it is {0}, not a regular file")]
    NoFile(&'static str),
    /// It exceeds the size limit.
    #[error("it is larger than {0} bytes, which is the limit")]
    TooLarge(u64),
    /// It is not UTF-8 text.
    #[error("it is not UTF-8 text: byte {0} is invalid")]
    NoText(usize),
}

/// Reads a text of at most `limit` bytes.
///
/// # Errors
/// [`Unreadable`]
pub fn text_file(path: &Path, limit: u64) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    open_up_to(path, limit)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    // The file may have grown since it was opened.
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    String::from_utf8(bytes).map_err(|error| Unreadable::NoText(error.utf8_error().valid_up_to()))
}

/// Opens a regular file of at most `limit` bytes for reading; as [`open`].
///
/// # Errors
/// [`Unreadable::Refused`], [`Unreadable::NoFile`] and [`Unreadable::TooLarge`]
pub fn open_up_to(path: &Path, limit: u64) -> Result<File, Unreadable> {
    let file = open(path)?;
    let bytes = file.metadata()?.len();
    if bytes > limit { Err(Unreadable::TooLarge(limit)) } else { Ok(file) }
}

/// Opens a regular file for reading, and nothing else: a FIFO would block, a device may act on being opened, and files in /proc and /sys may
/// block (/proc/kmsg) or be consumed by reading.
///
/// # Errors
/// [`Unreadable::Refused`] and [`Unreadable::NoFile`]
pub fn open(path: &Path) -> Result<File, Unreadable> {
    let check = |kind: FileType| if kind.is_file() { Ok(()) } else { Err(Unreadable::NoFile(named(kind))) };
    check(std::fs::metadata(path)?.file_type())?;
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits() as i32;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // The file may have been replaced in between.
    check(file.metadata()?.file_type())?;
    if is_of_the_kernel(file.as_fd())? {
        return Err(Unreadable::NoFile("an interface of the kernel"));
    }
    Ok(file)
}

/// Whether an open file or directory is in a filesystem whose files are interfaces of the kernel, such as proc.
///
/// # Errors
/// The system's answer to fstatfs(2).
pub fn is_of_the_kernel(open: BorrowedFd) -> std::io::Result<bool> {
    Ok(KERNEL_FILESYSTEMS.contains(&rustix::fs::fstatfs(open)?.f_type))
}

/// Filesystems whose files are interfaces of the kernel (linux/magic.h): proc, sysfs, debugfs, tracefs, securityfs, cgroup and cgroup2,
/// configfs, pstore, efivarfs, binfmt_misc, SELinux, bpf, fusectl, mqueue and nsfs.
const KERNEL_FILESYSTEMS: [FsWord; 16] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6367_7270,
    0x0027_e0eb,
    0x6265_6570,
    0x6165_676c,
    0xde5e_81e4,
    0x4249_4e4d,
    0xf97c_ff8c,
    0xcafe_4a11,
    0x6573_5543,
    0x1980_0202,
    0x6e73_6673,
];

fn named(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a FIFO",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    }
}

impl From<std::io::Error> for Unreadable {
    fn from(error: std::io::Error) -> Unreadable {
        Unreadable::Refused(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let place = tempfile::tempdir().expect("a folder");
        let fifo = place.path().join("fifo");
        mknodat(CWD, &fifo, Kind::Fifo, Mode::RUSR, 0).expect("made");
        assert_eq!(text_file(&fifo, 10), Err(Unreadable::NoFile("a FIFO")));
        assert_eq!(text_file(Path::new("/dev/zero"), 10), Err(Unreadable::NoFile("a device")));
        assert_eq!(text_file(place.path(), 10), Err(Unreadable::NoFile("a folder")));
        for kernels in ["/proc/kmsg", "/proc/self/status", "/proc/self/mem"].map(Path::new) {
            // Without root the kernel refuses one of them.
            let answer = open(kernels).expect_err("no file of anybody's");
            let is_refused = matches!(answer, Unreadable::Refused(_));
            assert!(is_refused || answer == Unreadable::NoFile("an interface of the kernel"), "{answer}");
        }
        let socket = place.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
        assert_eq!(text_file(&socket, 10), Err(Unreadable::NoFile("a socket")));
        assert!(matches!(text_file(&place.path().join("none"), 10), Err(Unreadable::Refused(_))));
    }

    #[test]
    fn a_text_may_have_as_many_bytes_as_the_limit_and_no_more() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("text");
        std::fs::write(&path, "0123456789").expect("written");
        assert_eq!(text_file(&path, 10).as_deref(), Ok("0123456789"));
        assert_eq!(text_file(&path, 9), Err(Unreadable::TooLarge(9)));
        std::fs::write(&path, b"ab\xff").expect("written");
        assert_eq!(text_file(&path, 10), Err(Unreadable::NoText(2)));
        std::fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert_eq!(text_file(&path, TEXT_LIMIT), Err(Unreadable::TooLarge(TEXT_LIMIT)));
        assert!(matches!(open_up_to(&path, 1 << 39), Err(Unreadable::TooLarge(_))));
        open_up_to(&path, 1 << 40).expect("just within the limit");
    }
}
