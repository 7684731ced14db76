//! Replay of recorded calls of a program: one item a call.

use super::Kind;
use super::command::visit_all;
use crate::cached::Visit;
use crate::check::Check;
use crate::replay;
use crate::sys::Fd;
use crate::worker::Task;
use workload::program::{Group, Io, Order, Program, Step};

/// A recorded run.
pub struct Trace;

impl Kind for Trace {
    fn check(&self, _program: &Program, group: &Group) -> Check {
        if !matches!(group.steps.as_slice(), [Step::LayOut(_) | Step::Replay(_)]) {
            return Err(
                "the work of a trace must have exactly one step, which creates its files or replays its calls".into()
            );
        }
        if group.io != Io::default() || group.order != Order::InOrder || group.rate.is_some() || group.workers != 1 {
            return Err("a trace fixes its threads, reads and writes, and has no order or rate".into());
        }
        Ok(())
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        match task.group().steps.as_slice() {
            [Step::LayOut(replay)] => replay::lay_out(task, replay),
            [Step::Replay(replay)] => replay::calls(task, replay),
            _ => Err("the work of a trace must have exactly one step".into()),
        }
    }

    /// The calls may read any file in the root.
    fn visit(&self, program: &Program, _: &Group, _: Fd, limit: u64, visit: &mut Visit) -> Result<u64, String> {
        visit_all(program, limit, visit)
    }
}
