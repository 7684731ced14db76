//! Work on the files created by ageing: one item a file, read only.

use super::Kind;
use super::files::check_steps;
use crate::aged_files;
use crate::check::Check;
use crate::worker::Task;
use workload::program::{Group, Order, Program, Step};

/// The aged tree next to the root.
pub struct Aged;

impl Kind for Aged {
    fn check(&self, _program: &Program, group: &Group) -> Check {
        check_steps(group)?;
        let fits = |s: &Step| matches!(s, Step::Open | Step::Read | Step::Close | Step::Stat);
        if !group.steps.iter().all(fits) || group.order != Order::Readdir || group.workers != 1 {
            return Err(
                "work over aged files has one worker, readdir order, and the steps open, read, close and stat".into()
            );
        }
        Ok(())
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        aged_files::work(task)
    }
}
