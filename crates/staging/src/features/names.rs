//! Names, links and directories: their limits.
//! In: a folder. Out: answers, each with what was tried.
//! Numbers are tried up to a cap and a time limit; the answer shows if no limit was met.

use super::limit::largest;
use super::{Answer, Found};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest name that is tried: a path may have 4,096 bytes with its end.
const NAME_CAP: u64 = 4095;
/// Links and files that are tried at most.
const LINK_CAP: u64 = 66_000;
const FILE_CAP: u64 = 20_000;
/// Time limit for each of the two.
const PATIENCE: Duration = Duration::from_secs(12);

pub(super) fn probe(root: &Path, found: &mut Found) {
    let folder = match rustix::fs::open(root, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(folder) => folder,
        Err(error) => {
            for key in ["name_bytes", "name_letters", "links", "directory_files"] {
                found.put(key, Answer::unknown(format!("the folder cannot be opened: {error}")));
            }
            return;
        }
    };
    let bytes = largest(0, NAME_CAP, |length| takes(&folder, &"n".repeat(length as usize)));
    found.put("name_bytes", Answer::amount(bytes, bytes.to_string(), "creating files with ever longer names"));
    let letters = largest(0, NAME_CAP / 2, |length| takes(&folder, &"\u{e9}".repeat(length as usize)));
    let how = format!("with the letter \u{e9}: {} bytes", letters * 2);
    found.put("name_letters", Answer::amount(letters, letters.to_string(), how));
    found.put("links", links(&folder));
    found.put("directory_files", files(&folder));
}

/// Creates an empty file.
fn make(folder: &OwnedFd, name: &str) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map(drop)
}

fn takes(folder: &OwnedFd, name: &str) -> bool {
    // The next question must not be affected by a full folder.
    make(folder, name).is_ok() && rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_ok()
}

/// Makes more and more until one is refused, within a maximum and a time limit. Returns their number, and the error that ended it.
fn as_many(from: u64, most: u64, mut make: impl FnMut(u64) -> Result<(), Errno>) -> (u64, Option<Errno>) {
    let began = Instant::now();
    let mut count = from;
    while count < most && began.elapsed() < PATIENCE {
        if let Err(error) = make(count) {
            return (count, Some(error));
        }
        count += 1;
    }
    (count, None)
}

fn links(folder: &OwnedFd) -> Answer {
    if make(folder, "linked").is_err() {
        return Answer::unknown("no file could be created");
    }
    let (count, refused) = as_many(1, LINK_CAP, |number| {
        rustix::fs::linkat(folder, "linked", folder, format!("link-{number}"), AtFlags::empty())
    });
    for number in 1..count {
        let _ = rustix::fs::unlinkat(folder, format!("link-{number}"), AtFlags::empty());
    }
    counted(count, refused, "hard links to one file")
}

fn files(folder: &OwnedFd) -> Answer {
    if rustix::fs::mkdirat(folder, "many", Mode::RWXU).is_err() {
        return Answer::unknown("no folder could be created");
    }
    let Ok(many) = rustix::fs::openat(folder, "many", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else {
        return Answer::unknown("the folder cannot be opened");
    };
    let (count, refused) = as_many(0, FILE_CAP, |number| make(&many, &format!("file-{number}")));
    counted(count, refused, "empty files in one directory")
}

fn counted(count: u64, refused: Option<Errno>, what: &str) -> Answer {
    match refused {
        Some(error) => Answer::amount(count, count.to_string(), format!("{what}; the next one fails: {error}")),
        None => Answer::amount(count, format!("{count} and more"), format!("{what}; all that were tried succeeded")),
    }
}
