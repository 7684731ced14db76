//! Work on a faulty disk: files are written and synced, with the result of each call.
//! In: a folder. Out: acknowledged files, failed calls, the slowest call, and whether the filesystem is still writable at the end.

use super::files::{Counts, Known};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of files written and synced one by one, and their sectors: 64 KiB, together more than a full disk holds.
const SYNCED: u32 = 100;
const SECTORS: u32 = 128;
/// Number of files written after them and synced together.
const TOGETHER: u32 = 20;
/// The first number of these files.
const FIRST: u32 = 1 << 20;
/// Their folder.
const FOLDER: &str = "made";
/// Time limit of the work.
const LIMIT: Duration = Duration::from_secs(20);

/// Whether a filesystem can be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It could not be mounted.
    #[default]
    None,
    /// Writing and syncing return an error.
    Failing,
    /// It is read-only.
    ReadOnly,
    /// A file can be created and synced.
    Writable,
}

/// Result of the work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Worked {
    /// Files read before.
    pub read: Counts,
    /// Numbers of the acknowledged files.
    pub acknowledged: Vec<u32>,
    pub failed: u32,
    pub first_error: Option<String>,
    pub slowest: Duration,
    /// Whether it could be written at the end.
    pub access: Access,
}

/// Works until all is done, the time is over, or it is stopped: `lives` is called before each call and returns whether to make it.
pub(crate) fn work(root: &Path, lives: &mut dyn FnMut() -> bool) -> Worked {
    let mut hand = Hand { done: Worked::default(), lives, until: Instant::now() + LIMIT };
    let folder = root.join(FOLDER);
    hand.call("mkdir", || std::fs::create_dir(&folder));
    for number in 0..SYNCED {
        let known = made(root, number);
        let file = hand.call("write", || known.write());
        let synced = file.and_then(|file| hand.call("fsync", || file.sync_all()));
        let safe = synced.and_then(|()| hand.call("fsync of the folder", || crate::stamps::sync_folder(&folder)));
        hand.done.acknowledged.extend(safe.map(|()| number));
    }
    let written = |number: &u32| hand.call("write", || made(root, *number).write()).is_some();
    let together: Vec<u32> = (SYNCED..SYNCED + TOGETHER).filter(written).collect();
    let all = hand.call("open", || std::fs::File::open(&folder));
    if all.and_then(|all| hand.call("syncfs", || Ok(rustix::fs::syncfs(&all)?))).is_some() {
        hand.done.acknowledged.extend(together);
    }
    hand.done.access = access(&root.join("probe"));
    hand.done
}

/// The file of this number.
pub(crate) fn made(root: &Path, number: u32) -> Known {
    Known::new(root.join(FOLDER).join(number.to_string()), FIRST + number, SECTORS)
}

/// Makes the calls.
struct Hand<'a> {
    done: Worked,
    lives: &'a mut dyn FnMut() -> bool,
    until: Instant,
}

impl Hand<'_> {
    /// Makes a call, if there is time.
    fn call<T>(&mut self, name: &str, call: impl FnOnce() -> io::Result<T>) -> Option<T> {
        if Instant::now() > self.until || !(self.lives)() {
            return None;
        }
        let began = Instant::now();
        let answer = call();
        self.done.slowest = self.done.slowest.max(began.elapsed());
        match answer {
            Ok(value) => Some(value),
            Err(error) => {
                self.done.failed += 1;
                self.done.first_error.get_or_insert_with(|| format!("{name}: {error}"));
                None
            }
        }
    }
}

/// Whether a filesystem is writable: creates and syncs a file.
pub(crate) fn access(path: &Path) -> Access {
    let made = std::fs::write(path, "probe").and_then(|()| std::fs::File::open(path)?.sync_all());
    match made {
        Ok(()) => Access::Writable,
        Err(error) if error.raw_os_error() == Some(Errno::ROFS.raw_os_error()) => Access::ReadOnly,
        Err(_) => Access::Failing,
    }
}

#[cfg(test)]
mod tests {
    use super::super::hands;
    use super::*;

    #[test]
    fn on_a_whole_disk_everything_is_acknowledged_and_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut count = 0;
        let done = work(folder.path(), &mut || {
            count += 1;
            true
        });
        assert_eq!((done.acknowledged.len(), done.failed), ((SYNCED + TOGETHER) as usize, 0));
        assert_eq!(done.access, Access::Writable);
        assert_eq!(hands::look(folder.path(), &done.acknowledged).kept.right, SYNCED + TOGETHER);
        assert!(count > 300, "it says that it lives before each call");
    }

    #[test]
    fn stopped_work_makes_no_call_and_acknowledges_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let done = work(folder.path(), &mut || false);
        assert_eq!((done.acknowledged.len(), done.failed, done.first_error), (0, 0, None));
    }

    #[test]
    fn failed_calls_are_counted_and_not_acknowledged() {
        let folder = tempfile::tempdir().expect("a folder");
        let done = work(&folder.path().join("gone"), &mut || true);
        assert!(done.acknowledged.is_empty() && done.failed > 100, "{done:?}");
        assert!(done.first_error.is_some_and(|note| note.starts_with("mkdir: No such file")));
        assert_eq!(done.access, Access::Failing);
    }
}
