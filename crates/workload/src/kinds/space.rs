//! Work on the filesystem's free space: filling it to a share, and waiting until some is free again.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Group, Io, Order};
use crate::simulate::{Work, World};

/// The free space of the root's filesystem.
pub(crate) struct FreeSpace {
    pub fileset: Option<usize>,
}

impl Kind for FreeSpace {
    fn check(&self, group: &Group) -> Outcome<()> {
        let ranged = group.count.is_some() || group.first > 0 || group.rate.is_some() || group.workers > 1;
        if ranged || group.io != Io::default() || group.order != Order::InOrder {
            return Err(Problem::new(
                "filling space, or waiting for it, needs one worker and no `count`, `first` or `order`",
            )
            .help("leave out all but `files` and `fill`, or `await-space`"));
        }
        Ok(())
    }

    /// The number of files is not known in advance; one is enough for a later phase to remove them.
    fn simulate(&self, world: &mut World, _group: &Group) -> Outcome<Work> {
        if let Some(index) = self.fileset {
            let state = &mut world.states[index];
            state.directories = true;
            state.files = 1;
            state.bytes = Some(0);
        }
        Ok(Work { items: 1, ..Work::default() })
    }
}
