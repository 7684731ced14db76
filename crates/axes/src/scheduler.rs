//! `scheduler`: the I/O scheduler of the device under test.
//! In: its name of today. Out: the contender's scheduler, which staging writes to sysfs, reads back and restores.

use crate::axis::Axis;
use records::Contender;

pub(crate) struct Scheduler;

impl Axis for Scheduler {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn usual(&self) -> &'static str {
        "as it is"
    }

    fn put(&self, contender: &mut Contender, _: &str, value: &str) {
        contender.scheduler = Some(value.to_owned());
    }

    fn clear(&self, contender: &mut Contender, _: &str) {
        contender.scheduler = None;
    }

    fn asked(&self, contender: &Contender, _: &str) -> Option<String> {
        contender.scheduler.clone()
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!("+{value}")
    }
}
