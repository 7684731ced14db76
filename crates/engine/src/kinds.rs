//! Kinds of work: what a group's steps are carried out on, a file for each.
//! In: a group of a phase. Out: whether it can be performed, what must be there before, and one worker's share of it.
//! The language has a file for each of them, too; nobody else tells kinds apart.

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
    /// Whether a group can be performed; nothing is touched.
    fn check(&self, program: &Program, group: &Group) -> Check;

    /// Makes what must be there before the clock starts.
    fn prepare(&self, _program: &Program, _group: &Group, _root: Fd) -> Result<(), String> {
        Ok(())
    }

    /// Items of all of a group's workers, where that is known beforehand.
    fn expected(&self, _program: &Program, _group: &Group) -> Option<u64> {
        None
    }

    /// One worker's share, from being ready to its closed account.
    fn work(&self, task: &Task) -> Result<(), String>;

    /// Visits what may be cached of a group's files, at most so many of them, evenly spread. Answers how many there were. Of none: aged files are
    /// read cold, and looking would open them all; what is filled in is not read; tools read the device, or files that no step knows.
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

/// Items in all that a group adds to its phase; who follows others adds none.
pub fn expected(program: &Program, group: &Group) -> Option<u64> {
    if group.order == Order::Follow { Some(0) } else { of(group.over).expected(program, group) }
}
