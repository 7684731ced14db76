//! `scheduler`: the I/O scheduler of the device under test.
//! In: its current name. Out: that scheduler in sysfs, read back.

use crate::axis::{About, Applied, Axis, Ground, Moment, Seen};
use crate::queue::Setting;
use records::{Contender, OptionFound};

pub(crate) struct Scheduler;

impl Axis for Scheduler {
    fn about(&self) -> About {
        About { usual: "as it is", moment: Moment::Scheduler, ..About::named("scheduler") }
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

    fn applies(&self, contender: &Contender) -> Vec<(String, String)> {
        contender.scheduler.iter().map(|name| (String::new(), name.clone())).collect()
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!("+{value}")
    }

    fn apply(&self, _: &str, value: &str, ground: &mut dyn Ground) -> Result<Applied, String> {
        Setting::of("scheduler", value)?.apply(ground)
    }

    fn read_back(&self, seen: &Seen) -> Result<Vec<OptionFound>, String> {
        Setting::of("scheduler", seen.value)?.read_back(seen)
    }
}
