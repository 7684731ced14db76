//! `guest.start` and `guest.clock`: how the virtual machine of a contender begins, and by what its clock goes.
//! In: words. Out: nothing that is set around a trial; staging starts the machine so.
//! Both are about contenders that name a kernel; elsewhere staging refuses them.

use crate::axis::{About, Axis};
use records::Contender;

/// Name of the axis that says how a guest begins.
pub const START: &str = "guest.start";
/// Its kernel boots for each trial.
pub const BOOTED: &str = "booted";
/// It goes on as a copy of one that was booted once.
const RESTORED: &str = "restored";

/// Name of the axis that says what a guest's time is.
pub const CLOCK: &str = "guest.clock";
/// Each instruction of the guest takes a nanosecond.
pub const INSTRUCTIONS: &str = "instructions";
/// The time of whoever looks at a clock on the wall.
const TIME: &str = "time";

/// Names of what is about guests alone.
pub const OF_GUESTS: [&str; 2] = [START, CLOCK];

pub(crate) struct Start;
pub(crate) struct Clock;

impl Axis for Start {
    fn about(&self) -> About {
        About { usual: RESTORED, ..About::named(START) }
    }

    fn check(&self, _: &str, value: &str) -> Result<(), String> {
        one_of(value, [RESTORED, BOOTED])
    }

    fn applies(&self, _: &Contender) -> Vec<(String, String)> {
        Vec::new()
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" {value}")
    }
}

impl Axis for Clock {
    fn about(&self) -> About {
        About { usual: TIME, ..About::named(CLOCK) }
    }

    fn check(&self, _: &str, value: &str) -> Result<(), String> {
        one_of(value, [TIME, INSTRUCTIONS])
    }

    fn applies(&self, _: &Contender) -> Vec<(String, String)> {
        Vec::new()
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" by {value}")
    }
}

fn one_of(value: &str, known: [&str; 2]) -> Result<(), String> {
    let [usual, other] = known;
    if known.contains(&value) { Ok(()) } else { Err(format!("`{value}` is neither {usual} nor {other}")) }
}
