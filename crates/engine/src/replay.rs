//! A recorded run of a program, done again in the root: its tree, and its calls by as many threads as it had.
//! In: a trace file. Out: a tally of its calls; those that ended otherwise than when they were recorded are counted and told.
//! A call is made when those are over that it must come after, and the program's own time before it has passed.

mod calls;
mod ending;
mod threads;
mod tree;

use crate::sandbox;
use crate::sys;
use crate::worker::Task;
use rustix::fd::OwnedFd;
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
    /// Enters the root, makes it this process' own root where that is allowed, and gives up all other rights. Without its own root, links that
    /// lead out of the folder are not made.
    fn enter(task: &Task) -> Result<Root, String> {
        let fd = sys::open_work(task.program)?;
        rustix::process::fchdir(&fd).map_err(|error| format!("entering {}: {error}", task.program.root.display()))?;
        let closed = rustix::process::chroot(c".").is_ok();
        sandbox::confine_thread(&fd)?;
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
            "{shown} is not the trace with which this run began (it was {}, and is {now})",
            replay.checksum
        ));
    }
    trace::read(&replay.trace).map_err(|why| format!("{shown} cannot be replayed: {why}"))
}
