//! Kinds of work: the targets of a group's steps, a file for each.
//! In: a group of a program. Out: whether its steps make sense, and their effect on the simulated files.
//! The engine also has a file for each kind, which carries it out; no other code distinguishes kinds.

mod aged;
mod blocks;
mod command;
mod device;
mod directories;
mod files;
mod space;
mod trace;
mod volume;

use crate::compile::Outcome;
use crate::program::{Group, Over};
use crate::simulate::{Work, World};

/// One kind of work, in the language.
pub(crate) trait Kind {
    /// Whether the steps and settings of a group make sense for it.
    fn check(&self, group: &Group) -> Outcome<()>;

    /// The effect of a group on the simulated files, one pass of all its workers.
    fn simulate(&self, world: &mut World, group: &Group) -> Outcome<Work>;
}

/// The kind of a group.
pub(crate) fn of(over: Over) -> Box<dyn Kind> {
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
