//! One writer per ledger: a locked file next to it.
//! In: the ledger's real path. Out: the lock, held as long as it is kept, or its current holder.
//! A file of that name that is not a lock of ours is left unchanged.

use crate::error::LedgerError;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to retry a lock that is held.
const LOCK_WAIT: Duration = Duration::from_millis(500);

/// Largest size of a lock file, in bytes: it holds a process id.
const CONTENT_LIMIT: u64 = 32;

/// Takes the lock file next to the ledger at `real`, which errors show as `path`. SQLite's own file must not be opened a second time in this
/// process: closing it would drop SQLite's locks.
pub(crate) fn beside(real: &Path, path: &Path) -> Result<File, LedgerError> {
    let mut name = real.as_os_str().to_owned();
    name.push(".lock");
    let refused = |error: std::io::Error| LedgerError::Refused {
        doing: "locking the ledger",
        path: path.into(),
        answer: format!("{error}; choose a writable place with --ledger"),
    };
    let name = PathBuf::from(name);
    let mut file = system::create::kept_file(&name, false).map_err(refused)?;
    let content = content(&file);
    match wait(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            // The holder's id only improves the message; an unreadable one must not change the error.
            let holder = content.unwrap_or_default();
            return Err(LedgerError::Busy { path: path.into(), holder: living(&holder) });
        }
        Err(TryLockError::Error(error)) => return Err(refused(error)),
    }
    if content.is_none() {
        let text = format!("{} is not a lock file of bakeoff; it is not changed", name.display());
        return Err(refused(std::io::Error::other(text)));
    }
    file.set_len(0).and_then(|()| file.rewind()).map_err(refused)?;
    write!(file, "{}", std::process::id()).map_err(refused)?;
    Ok(file)
}

/// Content of a lock; None if it is not a lock.
fn content(file: &File) -> Option<String> {
    let mut text = String::new();
    file.take(CONTENT_LIMIT + 1).read_to_string(&mut text).ok()?;
    let is_lock = text.len() as u64 <= CONTENT_LIMIT && text.trim().chars().all(|letter| letter.is_ascii_digit());
    is_lock.then_some(text)
}

/// The process that holds a lock, as text: empty if the file names a process that has ended.
fn living(written: &str) -> String {
    match written.trim().parse().ok().and_then(system::process::Process::of) {
        Some(process) => format!(" (process {})", process.pid),
        None => String::new(),
    }
}

/// Retries for a short time: a forked child that has not called exec yet still holds its parent's locks.
fn wait(file: &File) -> Result<(), TryLockError> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            answer => return answer,
        }
    }
}
