//! Work by a user's own program: one item a run.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Group, Io, Order};
use crate::simulate::{Work, World};

/// A program that is run in the root.
pub(crate) struct Command;

impl Kind for Command {
    fn check(&self, group: &Group) -> Outcome<()> {
        if group.io != Io::default() {
            return Err(Problem::new("a command controls its own reads and writes")
                .help("leave out `direct`, `sync`, `engine` and the like"));
        }
        if group.order != Order::InOrder || group.count.is_some() || group.first > 0 || group.rate.is_some() {
            return Err(Problem::new("`order`, `count`, `first` and `rate` have no meaning for a command")
                .help("`workers` runs several at once, `passes` one after the other"));
        }
        Ok(())
    }

    fn simulate(&self, _world: &mut World, group: &Group) -> Outcome<Work> {
        Ok(Work { items: u64::from(group.workers), ..Work::default() })
    }
}
