//! `guest.start` and `guest.clock`: how a contender's virtual machine starts, and what drives its clock.
//! In: words. Out: nothing is set around a trial; staging starts the machine accordingly.
//! Both apply to contenders that name a kernel; for others staging refuses them.

use crate::axis::{About, Axis};
use records::Contender;

/// Name of the axis for how a guest starts.
pub const START: &str = "guest.start";
/// Its kernel boots for each trial.
pub const BOOTED: &str = "booted";
/// It continues as a copy of a guest that was booted once.
const RESTORED: &str = "restored";

/// Name of the axis for what drives a guest's clock.
pub const CLOCK: &str = "guest.clock";
/// Each instruction of the guest takes a nanosecond.
pub const INSTRUCTIONS: &str = "instructions";
/// Real time.
const TIME: &str = "time";

/// Names of the axes that only apply to guests.
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
