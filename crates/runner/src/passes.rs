//! Passes of phases that can be read again: as many as their noise asks for.
//! In: the trials so far. Out: for each workload how many passes of which phase the next trials make.

use crate::steady;
use records::{PhaseRecord, TrialRecord, TrialStatus};
use std::collections::BTreeMap;
use std::time::Duration;
use workload::facts::{Compiled, PhaseFacts};

/// Passes by the name of a phase, `None` while they are screened; a phase that is not in it is passed as often as its workload says.
pub type Passes = BTreeMap<String, Option<u32>>;

/// Whether a phase has been passed often enough in a trial, after so many passes in so much time.
pub fn are_enough(wanted: Option<u32>, made: u32, spent: Duration) -> bool {
    let screened = || made >= judge::SCREEN_PASSES && spent.as_secs_f64() >= judge::SCREEN_SECONDS;
    wanted.map_or_else(|| made >= judge::SCREEN_MOST || screened(), |wanted| made >= wanted)
}

/// How often each phase of a workload is passed in the next trial of a contender: by the noise of all, since one alone shows little of it, and by
/// what its own passes cost. Phases that find something else the second time are passed once.
pub fn passes(work: &Compiled, contender: u32, trials: &[TrialRecord]) -> Passes {
    let own: Vec<&TrialRecord> = trials
        .iter()
        .filter(|trial| trial.workload == work.program.workload && trial.scale == work.scale)
        .filter(|trial| trial.status != TrialStatus::Failed)
        .collect();
    let again = work.program.phases.iter().zip(&work.phases).filter(|(phase, _)| steady::reads_again(phase));
    again.map(|(phase, facts)| (phase.name.clone(), of_phase(facts, contender, &own, work.phases.len()))).collect()
}

fn of_phase(facts: &PhaseFacts, contender: u32, trials: &[&TrialRecord], phases: usize) -> Option<u32> {
    if samples::cache_below(trials, facts) {
        // Only the first says what a cold start costs.
        return Some(1);
    }
    let mut contenders: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    let (mut own_seconds, mut other_seconds) = (Vec::new(), Vec::new());
    for trial in trials {
        let made: Vec<&PhaseRecord> =
            trial.phases.iter().filter(|pass| pass.name == facts.name && pass.counts()).collect();
        let start = start_seconds(trial);
        let seconds: Vec<f64> = made.iter().map(|pass| pass.evidence.observed_ns as f64 / 1e9 + start).collect();
        // The trial serves its other phases, too.
        if trial.contender == contender {
            other_seconds.push((trial.took() - seconds.iter().sum::<f64>()).max(0.0) / phases.max(1) as f64);
            own_seconds.extend(seconds);
        }
        let values = made.iter().filter_map(|pass| samples::headline(pass, facts)).filter(|value| *value > 0.0);
        contenders.entry(trial.contender).or_default().push(values.map(f64::ln).collect());
    }
    if own_seconds.is_empty() {
        return None;
    }
    let contenders: Vec<Vec<Vec<f64>>> = contenders.into_values().collect();
    let cost = |seconds: &[f64]| judge::median(seconds).unwrap_or(0.0);
    judge::passes(&contenders, cost(&other_seconds), cost(&own_seconds))
}

/// What a cold start of a trial took: its share of all that was not a pass. Making and checking the filesystem count as one more.
fn start_seconds(trial: &TrialRecord) -> f64 {
    let passes: f64 = trial.phases.iter().map(|pass| pass.evidence.observed_ns as f64 / 1e9).sum();
    let starts = trial.phases.iter().filter(|pass| pass.evidence.cold.is_some()).count();
    (trial.took() - passes).max(0.0) / (starts + 1) as f64
}
