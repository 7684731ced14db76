//! A recorded run of a program, done again in the root: its tree, and its calls by as many threads as it had.
//! In: a trace file. Out: a tally of its calls; those that ended otherwise than when they were recorded are counted and told.
//! A call is made when those are over that it must come after, and the program's own time before it has passed.

mod calls;
mod ending;
mod threads;
mod tree;

use crate::worker::Task;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use trace::Trace;
use workload::program::Replay;

pub use threads::calls;
pub use tree::lay_out;

/// The root, and whether nothing in this process can name what lies outside of it.
struct Root {
    fd: OwnedFd,
    closed: bool,
}

impl Root {
    /// Enters the root. Who may not make it this process' own can still work in it, with links that lead nowhere else.
    fn enter(task: &Task) -> Result<Root, String> {
        let root = &task.program.root;
        let failed = |error| format!("opening {}: {error}", root.display());
        let fd =
            openat(CWD, root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        rustix::process::chdir(root).map_err(failed)?;
        let closed = rustix::process::chroot(root).is_ok();
        Ok(Root { fd, closed })
    }

    /// The text of a symbolic link that may be made here: one that could lead out is replaced by one of the same length.
    fn link_text(&self, text: &str) -> String {
        let leads_out = text.starts_with('/') || text.split('/').any(|part| part == "..");
        if leads_out && !self.closed { "x".repeat(text.len().min(255)) } else { text.to_owned() }
    }
}

/// The trace, which must be the one that the run began with.
fn read(replay: &Replay) -> Result<Trace, String> {
    let shown = replay.trace.display();
    let now = trace::checksum(&replay.trace).map_err(|error| format!("reading {shown}: {error}"))?;
    if !replay.checksum.is_empty() && replay.checksum != now {
        return Err(format!(
            "{shown} is not the trace any more that this run began with (it was {}, and is {now})",
            replay.checksum
        ));
    }
    trace::read(&replay.trace).map_err(|why| format!("{shown} cannot be replayed: {why}"))
}
