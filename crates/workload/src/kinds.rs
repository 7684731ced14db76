//! Kinds of work: what a group's steps are carried out on, a file for each.
//! In: a group of a program. Out: whether its steps make sense, and what it does to the files as they would stand.
//! The engine has a file for each of them, too, which performs it; nobody else tells kinds apart.

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

    /// What a group does to the files as they stand, one pass of all its workers.
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
