//! Passes of phases that can be read again: as many as their noise requires.
//! In: the trials so far. Out: for each workload the number of passes per phase in the next trials.

use crate::steady;
use records::{PhaseRecord, TrialRecord, TrialStatus};
use std::collections::BTreeMap;
use std::time::Duration;
use workload::facts::{Compiled, PhaseFacts};

/// Passes by the name of a phase, `None` while they are screened; other phases use their workload's number.
pub type Passes = BTreeMap<String, Option<u32>>;

/// Whether a phase has had enough passes in a trial, after so many passes in so much time.
pub fn are_enough(wanted: Option<u32>, made: u32, spent: Duration) -> bool {
    let screened = || made >= judge::SCREEN_PASSES && spent.as_secs_f64() >= judge::SCREEN_SECONDS;
    wanted.map_or_else(|| made >= judge::SCREEN_MOST || screened(), |wanted| made >= wanted)
}

/// The passes of each phase of a workload in the next trial of each contender: by the noise of all, since one alone shows little of it, and
/// by the cost of its own passes. Phases that find another state the second time get one pass.
pub fn passes(work: &Compiled, contenders: usize, trials: &[TrialRecord]) -> Vec<Passes> {
    let own: Vec<&TrialRecord> = trials
        .iter()
        .filter(|trial| trial.workload == work.program.workload && trial.scale == work.scale)
        .filter(|trial| trial.status != TrialStatus::Failed)
        .collect();
    let mut passes = vec![Passes::new(); contenders];
    for (phase, facts) in work.program.phases.iter().zip(&work.phases).filter(|(phase, _)| steady::reads_again(phase)) {
        let wanted = of_phase(facts, contenders, &own, work.phases.len());
        passes.iter_mut().zip(wanted).for_each(|(passes, wanted)| {
            passes.insert(phase.name.clone(), wanted);
        });
    }
    passes
}

/// Observations of one contender in one phase.
#[derive(Default)]
struct Seen {
    /// Logarithms of the values of its passes, per trial.
    logs: Vec<Vec<f64>>,
    /// Seconds of each pass, with its cold start.
    own: Vec<f64>,
    /// Seconds of each trial without those passes.
    other: Vec<f64>,
}

fn of_phase(facts: &PhaseFacts, contenders: usize, trials: &[&TrialRecord], phases: usize) -> Vec<Option<u32>> {
    if samples::cache_below(trials, facts) {
        // Only the first pass shows the cost of a cold start.
        return vec![Some(1); contenders];
    }
    let mut all: Vec<Seen> = Vec::new();
    all.resize_with(contenders, Seen::default);
    for trial in trials {
        let Some(seen) = all.get_mut(trial.contender as usize) else { continue };
        let made: Vec<&PhaseRecord> =
            trial.phases.iter().filter(|pass| pass.name == facts.name && pass.counts()).collect();
        let start = start_seconds(trial);
        let seconds: Vec<f64> = made.iter().map(|pass| pass.evidence.observed_ns as f64 / 1e9 + start).collect();
        // The trial serves its other phases, too.
        seen.other.push((trial.took() - seconds.iter().sum::<f64>()).max(0.0) / phases.max(1) as f64);
        seen.own.extend(seconds);
        let values = made.iter().filter_map(|pass| samples::headline(pass, facts)).filter(|value| *value > 0.0);
        seen.logs.push(values.map(f64::ln).collect());
    }
    let logs: Vec<Vec<Vec<f64>>> = all.iter_mut().map(|seen| std::mem::take(&mut seen.logs)).collect();
    let of = |seen: &Seen| judge::passes(&logs, judge::median(&seen.other)?, judge::median(&seen.own)?);
    all.iter().map(of).collect()
}

/// Time of a cold start in a trial: its share of the time outside passes. Making and checking the filesystem count as one more.
fn start_seconds(trial: &TrialRecord) -> f64 {
    let passes: f64 = trial.phases.iter().map(|pass| pass.evidence.observed_ns as f64 / 1e9).sum();
    let starts = trial.phases.iter().filter(|pass| pass.evidence.cold.is_some()).count();
    (trial.took() - passes).max(0.0) / (starts + 1) as f64
}
