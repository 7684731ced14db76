//! Reads the files that people name or lay down: plans, workloads, descriptions, claims.
//! In: a path and a limit. Out: text, or [`Unreadable`], in bounded time and memory whatever the path leads to.

use rustix::fs::OFlags;
use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Bytes that a file written by hand may have; larger than any that was ever seen.
pub const TEXT_LIMIT: u64 = 1 << 20;

/// Why a file could not be read; said after the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The system refused.
    #[error("{0}")]
    Refused(String),
    /// It is something else.
    #[error("it is {0}, not a file with text")]
    NoFile(&'static str),
    /// It has too many bytes.
    #[error("it is larger than {0} bytes, which is the limit")]
    TooLarge(u64),
    /// It holds something else.
    #[error("it is not text in UTF-8: byte {0} fits nowhere")]
    NoText(usize),
}

/// Reads a text of at most `limit` bytes.
///
/// # Errors
/// [`Unreadable`]
pub fn text_file(path: &Path, limit: u64) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    String::from_utf8(bytes).map_err(|error| Unreadable::NoText(error.utf8_error().valid_up_to()))
}

/// Opens a regular file for reading, and nothing else: a FIFO would be waited for, and a device may act on being opened.
///
/// # Errors
/// [`Unreadable::Refused`] and [`Unreadable::NoFile`]
pub fn open(path: &Path) -> Result<File, Unreadable> {
    let check = |kind: FileType| if kind.is_file() { Ok(()) } else { Err(Unreadable::NoFile(named(kind))) };
    check(std::fs::metadata(path).map_err(refused)?.file_type())?;
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits() as i32;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(refused)?;
    // It may have been exchanged in between.
    check(file.metadata().map_err(refused)?.file_type())?;
    Ok(file)
}

fn named(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a FIFO",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    }
}

fn refused(error: std::io::Error) -> Unreadable {
    Unreadable::Refused(error.to_string())
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
        assert!(matches!(text_file(&place.path().join("none"), 10), Err(Unreadable::Refused(_))));
    }

    #[test]
    fn a_text_may_have_as_many_bytes_as_the_limit_says_and_none_more() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("text");
        std::fs::write(&path, "0123456789").expect("written");
        assert_eq!(text_file(&path, 10).as_deref(), Ok("0123456789"));
        assert_eq!(text_file(&path, 9), Err(Unreadable::TooLarge(9)));
        std::fs::write(&path, b"ab\xff").expect("written");
        assert_eq!(text_file(&path, 10), Err(Unreadable::NoText(2)));
        std::fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert_eq!(text_file(&path, TEXT_LIMIT), Err(Unreadable::TooLarge(TEXT_LIMIT)));
    }
}
