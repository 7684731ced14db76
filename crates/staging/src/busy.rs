//! Retrying what is busy for a moment: tools of other filesystems probe every device now and then, a server that is shutting down keeps a
//! file open until it exits, and a child that is just starting may hold a file that its parent has closed until it execs.
//! In: an attempt, and a time limit. Out: the result of the last attempt.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for a device that another process is probing.
pub(crate) const PASSING: Duration = Duration::from_secs(1);

/// The first pause between two attempts; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest pause: each attempt is a journal record, so there should be few.
const LONGEST_PAUSE: Duration = Duration::from_millis(320);

/// Repeats the attempt until it succeeds or the limit is over.
pub(crate) fn when_free<Done, Why>(
    limit: Duration,
    mut attempt: impl FnMut() -> Result<Done, Why>,
) -> Result<Done, Why> {
    let end = Instant::now() + limit;
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt() {
            Err(_) if Instant::now() < end => std::thread::sleep(pause),
            ended => return ended,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Waits until no other process has one of these devices open exclusively, for [`PASSING`] at most each. True if one was held and all are free now.
pub(crate) fn await_free<'p>(devices: impl IntoIterator<Item = &'p Path>) -> bool {
    let mut had = false;
    for device in devices {
        if !is_held(device) {
            continue;
        }
        if when_free(PASSING, || if is_held(device) { Err(()) } else { Ok(()) }).is_err() {
            return false;
        }
        had = true;
    }
    had
}

/// Whether a process, a mount or another device holds this one exclusively.
fn is_held(device: &Path) -> bool {
    let alone = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    matches!(rustix::fs::open(device, alone, Mode::empty()), Err(Errno::BUSY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_another_opener_holds_for_a_moment_is_waited_for() {
        prerequisites::needs!(root);
        let image = tempfile::NamedTempFile::new().expect("a file");
        image.as_file().set_len(1 << 20).expect("sized");
        let node = system::loops::attach(image.as_file(), image.path(), 0).expect("attached");
        let hold = || rustix::fs::open(&node, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
        assert!(!await_free([node.as_path()]), "free from the beginning");
        let held = hold().expect("held");
        assert!(!await_free([node.as_path()]), "held for longer than it is waited for");
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        assert!(await_free([node.as_path()]));
        ends.join().expect("ended");
        let detach = system::Command::new(["losetup", "--detach", &node.display().to_string()]);
        detach.run(&system::Journal::new()).expect("detached");
    }

    #[test]
    fn it_is_tried_until_it_succeeds_or_the_time_is_over() {
        let mut left = 3;
        let mut attempt = || {
            left -= 1;
            if left == 0 { Ok("free") } else { Err(left) }
        };
        assert_eq!(when_free(Duration::from_secs(60), &mut attempt), Ok("free"));
        assert_eq!(when_free(Duration::ZERO, &mut attempt), Err(-1), "one attempt at least");
    }
}
