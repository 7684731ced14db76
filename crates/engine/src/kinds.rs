//! Kinds of work: the targets of a group's steps, a file for each.
//! In: a group of a phase. Out: whether it can run, its preparation, and one worker's share of it.
//! The language also has a file for each kind; no other code distinguishes kinds.

mod aged;
mod blocks;
mod command;
mod device;
mod directories;
mod files;
mod space;
mod trace;
mod volume;

use crate::cached::Visit;
use crate::check::Check;
use crate::sys::Fd;
use crate::worker::Task;
use workload::program::{Group, Order, Over, Program};

/// One kind of work, in the engine.
pub trait Kind {
    /// Whether a group can run; nothing is changed.
    fn check(&self, program: &Program, group: &Group) -> Check;

    /// Creates what must exist before the clock starts.
    fn prepare(&self, _program: &Program, _group: &Group, _root: Fd) -> Result<(), String> {
        Ok(())
    }

    /// Items of all of a group's workers, if known in advance.
    fn expected(&self, _program: &Program, _group: &Group) -> Option<u64> {
        None
    }

    /// One worker's share, from ready to the final tally.
    fn work(&self, task: &Task) -> Result<(), String>;

    /// Visits at most `limit` files of a group that may be cached, evenly spread. Returns how many were visited. By default none: aged files
    /// are read cold, and visiting would open them all; fill files are not read; tools read the device, or files unknown to the steps.
    fn visit(&self, _: &Program, _: &Group, _: Fd, _: u64, _: &mut Visit) -> Result<u64, String> {
        Ok(0)
    }
}

/// The kind of a group.
pub fn of(over: Over) -> Box<dyn Kind> {
    match over {
        Over::Files { fileset } => Box::new(files::Files { fileset }),
        Over::Blocks { fileset, block, length } => Box::new(blocks::Blocks { fileset, block, length }),
        Over::Directories { fileset } => Box::new(directories::Directories { fileset }),
        Over::Aged => Box::new(aged::Aged),
        Over::Device { block, length } => Box::new(device::Device { block, length }),
        Over::Command => Box::new(command::Command),
        Over::Trace => Box::new(trace::Trace),
        Over::Space { fileset } => Box::new(space::FreeSpace { fileset }),
        Over::Volume => Box::new(volume::Volume),
    }
}

/// Total items that a group adds to its phase; a follower adds none.
pub fn expected(program: &Program, group: &Group) -> Option<u64> {
    if group.order == Order::Follow { Some(0) } else { of(group.over).expected(program, group) }
}
