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

    /// The rest of the budget; without one, the estimated time of the remaining trials. `None` if the budget is spent, no
    /// trial has ended, or none is left.
    pub fn left(&self, done: usize, of: usize) -> Option<Duration> {
        if let Some(budget) = self.budget {
            return budget.checked_sub(self.gone());
        }
        let (seconds, count) = self.took;
        let more = of.checked_sub(done).filter(|more| *more > 0 && count > 0)?;
        Some(Duration::from_secs_f64(seconds / f64::from(count) * more as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(budget: Option<u64>) -> Pace {
        let budget = budget.map(Duration::from_secs);
        Pace { began: Instant::now(), before: Duration::ZERO, budget, took: (4.0, 2) }
    }

    fn left(budget: Option<u64>, done: usize, of: usize) -> Option<f64> {
        pace(budget).left(done, of).map(|left| left.as_secs_f64().round())
    }

    #[test]
    fn time_left_is_that_of_the_budget_and_without_one_that_of_the_trials() {
        assert_eq!((left(Some(100), 2, 5), left(Some(100), 5, 5)), (Some(100.0), Some(100.0)));
        assert_eq!((left(None, 2, 5), left(None, 5, 5)), (Some(6.0), None));
        assert_eq!(left(Some(0), 2, 5), None, "a run whose budget is spent is about to end");
    }

    #[test]
    fn a_resumed_run_has_already_spent_time() {
        let mut pace = pace(Some(3_100));
        pace.resumed(Duration::from_secs(3_000));
        assert!(pace.gone() >= Duration::from_secs(3_000));
        assert_eq!(pace.left(2, 5).map(|left| left.as_secs_f64().round()), Some(100.0));
    }
}
