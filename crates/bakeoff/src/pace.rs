//! How fast a run goes: the time that has gone, and the time that the rest will take by the trials so far.
//! In: trials as they end. Out: durations.

use records::TrialRecord;
use std::time::{Duration, Instant};

/// The pace of a run since it began, or went on.
pub struct Pace {
    began: Instant,
    /// Seconds that trials took: sum and count.
    took: (f64, u32),
}

impl Pace {
    /// From now on.
    pub fn new() -> Pace {
        Pace { began: Instant::now(), took: (0.0, 0) }
    }

    /// A trial ended.
    pub fn ended(&mut self, trial: &TrialRecord) {
        self.took = (self.took.0 + trial.took(), self.took.1 + 1);
    }

    /// Since it began.
    pub fn gone(&self) -> Duration {
        self.began.elapsed()
    }

    /// What so many more trials will take; `None` where none has ended, or none is left.
    pub fn left(&self, done: usize, of: usize) -> Option<Duration> {
        let (seconds, count) = self.took;
        let more = of.checked_sub(done).filter(|more| *more > 0 && count > 0)?;
        Some(Duration::from_secs_f64(seconds / f64::from(count) * more as f64))
    }
}
