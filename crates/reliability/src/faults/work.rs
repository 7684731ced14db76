//! Work on a disk that fails: files that are written and synced, each call with its answer.
//! In: a folder. Out: which files were acknowledged, which calls failed, how long the slowest took, and whether it can still be written at the end.

use super::files::Known;
use super::result::Access;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Files that are written and synced one by one, and of how many sectors: 64 KiB, together more than a full disk takes.
const SYNCED: u32 = 100;
const SECTORS: u32 = 128;
/// Files that are written after them and synced together.
const TOGETHER: u32 = 20;
/// Numbers of these files begin here.
const FIRST: u32 = 1 << 20;
/// How long it goes on at most.
const LIMIT: Duration = Duration::from_secs(20);

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Files that are safe by what was answered.
    pub acknowledged: Vec<Known>,
    pub failed: u32,
    pub first_error: Option<String>,
    pub slowest: Duration,
    /// Whether it could be written at the end.
    pub access: Access,
}

/// Works until all is done, the time is over, or it is told to stop; tells that it lives before each call.
pub(crate) fn work(root: &Path, stop: &AtomicBool, lives: &Sender<()>) -> Done {
    let mut hand = Hand { done: Done::default(), stop, lives, until: Instant::now() + LIMIT };
    let folder = root.join("made");
    hand.call("mkdir", || std::fs::create_dir(&folder));
    for number in 0..SYNCED {
        let known = named(&folder, number);
        let file = hand.call("write", || known.write());
        let synced = file.and_then(|file| hand.call("fsync", || file.sync_all()));
        let safe = synced.and_then(|()| hand.call("fsync of the folder", || crate::stamps::sync_folder(&folder)));
        hand.done.acknowledged.extend(safe.map(|()| known));
    }
    let together: Vec<Known> = (SYNCED..SYNCED + TOGETHER)
        .map(|number| named(&folder, number))
        .filter_map(|known| hand.call("write", || known.write()).map(|_| known))
        .collect();
    let all = hand.call("open", || std::fs::File::open(&folder));
    if all.and_then(|all| hand.call("syncfs", || Ok(rustix::fs::syncfs(&all)?))).is_some() {
        hand.done.acknowledged.extend(together);
    }
    hand.done.access = access(&root.join("probe"));
    hand.done
}

fn named(folder: &Path, number: u32) -> Known {
    Known::new(folder.join(number.to_string()), FIRST + number, SECTORS)
}

/// Whoever makes the calls.
struct Hand<'a> {
    done: Done,
    stop: &'a AtomicBool,
    lives: &'a Sender<()>,
    until: Instant,
}

impl Hand<'_> {
    /// Makes a call, where there is time.
    fn call<T>(&mut self, name: &str, call: impl FnOnce() -> io::Result<T>) -> Option<T> {
        if self.stop.load(Ordering::Relaxed) || Instant::now() > self.until {
            return None;
        }
        // Nobody listens any more where it was told to stop.
        let _ = self.lives.send(());
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

/// Whether a filesystem can be written: a file is made and synced.
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
    use super::super::files::look;
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn on_a_whole_disk_everything_is_acknowledged_and_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lives, heard) = channel();
        let done = work(folder.path(), &AtomicBool::new(false), &lives);
        assert_eq!((done.acknowledged.len(), done.failed), ((SYNCED + TOGETHER) as usize, 0));
        assert_eq!((done.access, look(&done.acknowledged, 1).right), (Access::Writable, SYNCED + TOGETHER));
        drop(lives);
        assert!(heard.iter().count() > 300, "it says that it lives before each call");
    }

    #[test]
    fn who_is_told_to_stop_makes_no_call_and_acknowledges_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let done = work(folder.path(), &AtomicBool::new(true), &channel().0);
        assert_eq!((done.acknowledged.len(), done.failed, done.first_error), (0, 0, None));
    }

    #[test]
    fn what_fails_is_counted_and_not_acknowledged() {
        let folder = tempfile::tempdir().expect("a folder");
        let gone = folder.path().join("gone");
        let done = work(&gone, &AtomicBool::new(false), &channel().0);
        assert!(done.acknowledged.is_empty() && done.failed > 100, "{done:?}");
        assert!(done.first_error.is_some_and(|said| said.starts_with("mkdir: No such file")));
        assert_eq!(done.access, Access::Failing);
    }
}
