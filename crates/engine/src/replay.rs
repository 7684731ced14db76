//! Replay of a recorded program in the root: its tree, and its calls by as many threads as it had.
//! In: a trace file. Out: a tally of its calls; those that ended differently from the recording are counted and reported.
//! A call is made when the calls that it depends on are done, and the program's own time before it has passed.

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

/// The root, and whether it is this process' own root, so that no path leads outside.
struct Root {
    fd: OwnedFd,
    closed: bool,
}

impl Root {
    /// Enters the root, makes it this process' own root if permitted, and gives up all other rights. Without its own root, links that lead
    /// out of the folder are not created.
    fn enter(task: &Task) -> Result<Root, String> {
        let fd = sys::open_work(task.program)?;
        rustix::process::fchdir(&fd).map_err(|error| format!("entering {}: {error}", task.program.root.display()))?;
        let closed = rustix::process::chroot(c".").is_ok();
        sandbox::confine_thread(&fd)?;
        Ok(Root { fd, closed })
    }

    /// The text of a symbolic link; a text that could lead out of the folder is replaced by one of the same length.
    fn link_text(&self, text: &str) -> String {
        let leads_out = text.starts_with('/') || text.split('/').any(|part| part == "..");
        if leads_out && !self.closed { "x".repeat(text.len().min(255)) } else { text.to_owned() }
    }
}

/// Reads the trace, which must be the one that the run began with.
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
