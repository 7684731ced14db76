//! Work on the files created by ageing: one item a file, read only.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Group, Order, Step};
use crate::simulate::{Work, World};
use crate::steps::{closes_what_it_opens, only, without_block_settings};

/// The tree created by ageing.
pub(crate) struct Aged;

impl Kind for Aged {
    fn check(&self, group: &Group) -> Outcome<()> {
        without_block_settings(group)?;
        only(&group.steps, "aged files, which are only read", &|step| {
            matches!(step, Step::Open | Step::Read | Step::Close | Step::Stat)
        })?;
        if group.order != Order::Readdir || group.workers != 1 || group.first > 0 {
            return Err(Problem::new("work on aged files needs readdir order, one worker and no `first`")
                .help("write `order = \"readdir\"`"));
        }
        closes_what_it_opens(group)
    }

    fn simulate(&self, _world: &mut World, group: &Group) -> Outcome<Work> {
        // Their number is known only on the aged filesystem.
        Ok(Work { items: group.count.unwrap_or(1), ..Work::default() })
    }
}
