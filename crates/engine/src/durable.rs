//! Makes a phase's data durable after its last call has returned.
//! In: the program's steps for it. Out: nothing, or what failed.
//! If a step fails, the phase has no durable time instead of a wrong one.

use crate::sys::{self, Errno, Fd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use workload::program::Durable;

/// A step that failed.
#[derive(Debug)]
pub struct Undone {
    /// What was done, and the system's error.
    pub reason: String,
    /// Its errno, if a system call failed.
    pub errno: Option<Errno>,
    /// A command was killed by a signal from outside.
    pub killed: bool,
}

impl Undone {
    fn of(doing: impl std::fmt::Display, error: &std::io::Error) -> Undone {
        Undone { reason: format!("{doing}: {error}"), errno: Errno::from_io_error(error), killed: false }
    }
}

/// Carries out everything in order, within the remaining time.
pub fn make(durable: &Durable, root: Fd, left: Duration) -> Result<(), Undone> {
    if durable.syncfs {
        sys::syncfs(root).map_err(|errno| Undone::of("syncfs on the root", &errno.into()))?;
    }
    if let [program, arguments @ ..] = durable.command.as_slice() {
        command(program, arguments, left)?;
    }
    durable.flush.iter().try_for_each(|path| flush(path))
}

fn flush(path: &Path) -> Result<(), Undone> {
    let path_shown = path.display();
    let file = std::fs::File::open(path).map_err(|e| Undone::of(format!("opening {path_shown} to flush it"), &e))?;
    file.sync_all().map_err(|e| Undone::of(format!("fsync of {path_shown}"), &e))
}

fn command(program: &str, arguments: &[String], left: Duration) -> Result<(), Undone> {
    let line = std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Undone::of(format!("`{line}`"), &e))?;
    let undone = |how: String, killed: bool| Undone { reason: format!("`{line}` {how}"), errno: None, killed };
    let deadline = Instant::now() + left;
    // The wait grows from 50 us, so that a quick command is not charged a long sleep.
    let mut nap = Duration::from_micros(50);
    loop {
        match child.try_wait().map_err(|e| Undone::of(format!("`{line}`"), &e))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(undone(format!("ended with {status}"), is_killed(status))),
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(undone("did not end within the phase's time limit".into(), false));
            }
            None => std::thread::sleep(nap),
        }
        nap = (nap * 2).min(Duration::from_millis(5));
    }
}

/// Whether a signal killed a command; `nsenter` and shells return 128 plus the signal of their child.
fn is_killed(status: ExitStatus) -> bool {
    status.signal().is_some() || status.code().is_some_and(|code| (129..=159).contains(&code))
}
