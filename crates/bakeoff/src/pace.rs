//! The pace of a run: elapsed time, and the estimated rest from the trials so far.
//! In: trials as they end. Out: durations.

use records::{ResolvedPlan, TrialRecord};
use std::time::{Duration, Instant};

/// The pace of a run.
pub struct Pace {
    began: Instant,
    /// Time that it took before it was resumed.
    before: Duration,
    /// The time budget, which applies whatever the number of trials; absent if a number of rounds is requested.
    budget: Option<Duration>,
    /// Duration of trials in seconds: sum and count.
    took: (f64, u32),
}

impl Pace {
    /// Starts now.
    pub fn new(plan: &ResolvedPlan) -> Pace {
        let sampling = &plan.sampling;
        let seconds = sampling.budget_seconds.filter(|_| sampling.samples.is_none());
        let budget = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Pace { began: Instant::now(), before: Duration::ZERO, budget, took: (0.0, 0) }
    }

    /// The run has already taken so long.
    pub fn resumed(&mut self, before: Duration) {
        self.before = before;
    }

    /// The time budget.
    pub fn budget(&self) -> Option<Duration> {
        self.budget
    }

    /// Counts a finished trial.
    pub fn ended(&mut self, trial: &TrialRecord) {
        self.took = (self.took.0 + trial.took(), self.took.1 + 1);
    }

    /// Elapsed time.
    pub fn gone(&self) -> Duration {
        self.before.saturating_add(self.began.elapsed())
    }

    /// The estimated time of the remaining trials. `None` if no trial has ended, or none is left.
    pub fn left(&self, done: usize, of: usize) -> Option<Duration> {
        let (seconds, count) = self.took;
        let more = of.checked_sub(done).filter(|more| *more > 0 && count > 0)?;
        Some(Duration::from_secs_f64(seconds / f64::from(count) * more as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        Pace { began: Instant::now(), before: Duration::ZERO, budget: None, took: (4.0, 2) }
    }

    #[test]
    fn time_left_is_that_of_the_remaining_trials() {
        let left = |done, of| pace().left(done, of).map(|left| left.as_secs_f64().round());
        assert_eq!((left(2, 5), left(5, 5)), (Some(6.0), None));
    }

    #[test]
    fn a_resumed_run_has_already_spent_time() {
        let mut pace = pace();
        pace.resumed(Duration::from_secs(3_000));
        assert!(pace.gone() >= Duration::from_secs(3_000));
    }
}
