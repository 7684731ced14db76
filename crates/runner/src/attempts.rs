//! Attempts and their outcomes: which trials are done, which are repeated, and which contenders drop out.
//! In: trials, from the ledger and as they end. Out: answers for the run loop.
//! All repetitions are bounded: within a round, in a row, and over the run.

use judge::FAILURES_IN_A_ROW;
use records::{Cause, Sampling, TrialRecord, TrialStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Most repetitions of a disturbed trial.
const REPETITIONS: u32 = 1;
/// Most repetitions of disturbed trials, and as many attempts after failures, over the whole run, as a share of its trials: on a machine that
/// is always disturbed or full, repeating everything only takes longer.
const SHARE: f64 = 0.1;
/// Longest trial that is repeated for a disturbance if no budget decides, in seconds.
const LONGEST_REPEATED: f64 = 60.0;
/// Disturbed passes that may be repeated at once even in a short run.
const PASSES_AT_LEAST: u32 = 3;
/// Attempts after failures that are allowed even in a short run.
const AGAIN_AT_LEAST: u32 = 10;
/// Waits before retries of a trial within its round after a temporary failure.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// The same for an unclear cause: the same failure again means that it is permanent.
const WAITS_UNCLEAR: [Duration; 1] = [Duration::from_secs(1)];

/// (contender, workload).
type Pair = (usize, usize);

/// The last of the attempts at one place of the plan.
#[derive(Debug, Clone)]
struct Attempted {
    count: u32,
    /// Attempts that failed.
    failed: u32,
    status: TrialStatus,
    cause: Option<Cause>,
    reason: Option<String>,
    seconds: f64,
}

/// All attempts of a run.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    done: BTreeMap<(u32, usize, usize), Attempted>,
    /// Contenders that have dropped out.
    pub out: BTreeSet<usize>,
    /// Contenders that were staged at least once.
    staged: BTreeSet<usize>,
    /// Consecutive rounds in which a pair failed, and the last of them.
    failures: BTreeMap<Pair, (u32, u32)>,
    repeated: u32,
    /// Seconds spent on them.
    repeated_seconds: f64,
    again: u32,
    /// Passes that were performed, and those of them that were repeated at once.
    passes: u32,
    passes_repeated: u32,
}

/// What to do after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next trial.
    Another,
    /// The same trial again, after a wait.
    Again(Duration),
}

impl Attempts {
    /// Records a trial.
    pub fn note(&mut self, trial: &TrialRecord, work: usize) {
        let contender = trial.contender as usize;
        if trial.found.is_some() {
            self.staged.insert(contender);
        }
        self.passes += trial.phases.len() as u32;
        self.passes_repeated += trial.phases.iter().filter(|pass| pass.evidence.set_aside).count() as u32;
        let place = (trial.block, contender, work);
        let before = self.done.get(&place);
        match before.map(|before| before.status) {
            Some(TrialStatus::Disturbed) => {
                self.repeated += 1;
                self.repeated_seconds += trial.took();
            }
            Some(TrialStatus::Failed) => self.again += 1,
            _ => {}
        }
        let is_failure = trial.status == TrialStatus::Failed;
        let row = self.failures.entry((contender, work)).or_default();
        *row = match *row {
            _ if !is_failure => (0, trial.block),
            // Failed attempts within one round count as one failure.
            (count, block) if count > 0 && block == trial.block => (count, block),
            (count, _) => (count + 1, trial.block),
        };
        let failed = before.map_or(0, |before| before.failed) + u32::from(is_failure);
        let count = trial.attempt + 1;
        let (status, cause, reason) = (trial.status, trial.cause, trial.reason.clone());
        self.done.insert(place, Attempted { count, failed, status, cause, reason, seconds: trial.took() });
    }

    /// Gives every pair that failed too often one more attempt: the cause may have been fixed before the resume.
    pub fn another_chance(&mut self) {
        for (count, _) in self.failures.values_mut() {
            *count = (*count).min(FAILURES_IN_A_ROW - 1);
        }
    }

    /// How many disturbed passes of the next trial may be repeated at once, by the same share as whole trials.
    pub fn passes_left(&self) -> u32 {
        let share = (f64::from(self.passes) * SHARE).ceil() as u32;
        share.max(PASSES_AT_LEAST).saturating_sub(self.passes_repeated)
    }

    /// Places of the plan with a finished trial.
    pub fn places(&self) -> usize {
        self.done.len()
    }

    /// Whether any trial of a round was carried out.
    pub fn has_block(&self, block: u32) -> bool {
        self.done.keys().any(|(done, _, _)| *done == block)
    }

    /// The number of the next attempt at a place; None if nothing is left to do there.
    pub fn next(&self, place: (u32, usize, usize)) -> Option<u32> {
        match self.done.get(&place) {
            None => Some(0),
            // A process that ended left it like that, or the run is being resumed.
            Some(before) if before.status == TrialStatus::Failed && before.cause == Some(Cause::Passing) => {
                Some(before.count)
            }
            Some(_) => None,
        }
    }

    /// Whether a pair has dropped out.
    pub fn is_out(&self, pair: Pair) -> bool {
        let failed = self.failures.get(&pair).is_some_and(|(count, _)| *count >= FAILURES_IN_A_ROW);
        self.out.contains(&pair.0) || failed
    }

    /// What to do after the last recorded trial at this place; `planned`: trials of the run so far.
    pub fn after(&self, place: (u32, usize, usize), planned: u32, sampling: &Sampling, begun_at: u32) -> Next {
        let Some(last) = self.done.get(&place) else { return Next::Another };
        let share = (f64::from(planned) * SHARE).ceil() as u32;
        let of_this_visit = last.count - begun_at.min(last.count);
        match (last.status, last.cause) {
            (TrialStatus::Disturbed, _)
                if sampling.repeat_disturbed
                    && last.count - last.failed <= REPETITIONS
                    && self.repeated < share
                    && self.is_worth(last.seconds, sampling.budget_seconds) =>
            {
                Next::Again(Duration::ZERO)
            }
            (TrialStatus::Failed, Some(cause)) if self.again < share.max(AGAIN_AT_LEAST) => {
                let waits: &[Duration] = match cause {
                    Cause::Passing => &WAITS,
                    Cause::Unclear if !self.staged.contains(&place.1) => &WAITS_UNCLEAR,
                    _ => &[],
                };
                waits.get(of_this_visit.saturating_sub(1) as usize).map_or(Next::Another, |wait| Next::Again(*wait))
            }
            _ => Next::Another,
        }
    }

    /// Whether so many more seconds may go into repetitions: the same share of the budget as of the trials, so that one long trial does not
    /// cost all others a round. Without a budget a trial that took minutes, as in an emulated guest, is marked instead.
    fn is_worth(&self, seconds: f64, budget: Option<f64>) -> bool {
        match budget {
            Some(budget) => self.repeated_seconds + seconds <= budget * SHARE,
            None => seconds <= LONGEST_REPEATED,
        }
    }

    /// Whether a contender drops out after the last trial at this place: it was never staged, and the cause is permanent, came back at once,
    /// or did not pass for the tolerated number of rounds.
    pub fn goes_out(&self, place: (u32, usize, usize)) -> Option<(Cause, String)> {
        let last = self.done.get(&place).filter(|last| last.status == TrialStatus::Failed)?;
        let cause = last.cause.filter(|_| !self.staged.contains(&place.1))?;
        let too_often = self.is_out((place.1, place.2));
        let why = last.reason.clone().unwrap_or_else(|| "it could not be set up".into());
        (cause != Cause::Passing || too_often).then_some((cause, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Until;

    fn disturbed(contender: u32, seconds: f64) -> TrialRecord {
        TrialRecord {
            seconds: Some(seconds),
            status: TrialStatus::Disturbed,
            ..TrialRecord::begun((0, 0), contender, "w", "quick")
        }
    }

    #[test]
    fn repetitions_take_no_more_than_their_share_of_a_budget() {
        let sampling = |budget_seconds| Sampling {
            samples: None,
            precision: 0.05,
            budget_seconds,
            screen_first: false,
            until: Until::Precision,
            blocks: (3, 30),
            repeat_disturbed: true,
            steady: false,
        };
        let next = |seconds, budget| {
            let mut attempts = Attempts::default();
            attempts.note(&disturbed(0, seconds), 0);
            attempts.after((0, 0, 0), 15, &sampling(budget), 0)
        };
        assert_eq!(next(29.0, Some(300.0)), Next::Again(Duration::ZERO));
        assert_eq!(next(80.0, Some(300.0)), Next::Another, "it is marked instead");
        assert_eq!(next(50.0, None), Next::Again(Duration::ZERO));
        assert_eq!(next(123.0, None), Next::Another, "a guest's trial took two minutes");
        let mut attempts = Attempts::default();
        attempts.note(&disturbed(0, 20.0), 0);
        attempts.note(&TrialRecord { attempt: 1, ..disturbed(0, 20.0) }, 0);
        attempts.note(&disturbed(1, 20.0), 0);
        assert_eq!(attempts.after((0, 1, 0), 15, &sampling(Some(300.0)), 0), Next::Another, "20 of 30 s are spent");
    }
}
