//! Replay of recorded calls of a program: one item a call.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Group, Io, Order};
use crate::simulate::{Work, World};

/// A recorded run.
pub(crate) struct Trace;

impl Kind for Trace {
    fn check(&self, group: &Group) -> Outcome<()> {
        let settings = group.io != Io::default() || group.order != Order::InOrder || group.count.is_some();
        if settings || group.first > 0 || group.rate.is_some() || group.workers != 1 {
            return Err(Problem::new("the trace fixes the threads, order and sizes of a replay")
                .help("only `steps` and `think` go with `trace`"));
        }
        Ok(())
    }

    fn simulate(&self, _world: &mut World, _group: &Group) -> Outcome<Work> {
        Ok(Work { items: 1, ..Work::default() })
    }
}
