//! Passes of phases that can be read again: as many as their noise asks for.
//! In: the trials so far. Out: for each workload how many passes of which phase the next trials make.

use crate::steady;
use records::{PhaseRecord, TrialRecord, TrialStatus};
use std::collections::BTreeMap;
use workload::facts::{Compiled, PhaseFacts};

/// Passes by the name of a phase; a phase that is not in it is passed as often as its workload says.
pub type Passes = BTreeMap<String, u32>;

/// How often each phase of a workload is passed in its next trials. Phases that find something else the second time are passed once.
pub fn passes(work: &Compiled, trials: &[TrialRecord]) -> Passes {
    let own: Vec<&TrialRecord> = trials
        .iter()
        .filter(|trial| trial.workload == work.program.workload && trial.scale == work.scale)
        .filter(|trial| trial.status != TrialStatus::Failed)
        .collect();
    let again = work.program.phases.iter().zip(&work.phases).filter(|(phase, _)| steady::reads_again(phase));
    again.map(|(phase, facts)| (phase.name.clone(), of_phase(facts, &own, work.phases.len()))).collect()
}

fn of_phase(facts: &PhaseFacts, trials: &[&TrialRecord], phases: usize) -> u32 {
    if samples::cache_below(trials, facts) {
        // Only the first says what a cold start costs.
        return 1;
    }
    let mut contenders: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    let (mut own_seconds, mut other_seconds) = (Vec::new(), Vec::new());
    for trial in trials {
        let made: Vec<&PhaseRecord> =
            trial.phases.iter().filter(|pass| pass.name == facts.name && pass.counts()).collect();
        let seconds: Vec<f64> = made.iter().map(|pass| pass.outcome.returned_ns as f64 / 1e9).collect();
        // The trial serves its other phases, too.
        other_seconds.push((trial.took() - seconds.iter().sum::<f64>()).max(0.0) / phases.max(1) as f64);
        own_seconds.extend(seconds);
        let values = made.iter().filter_map(|pass| samples::headline(pass, facts)).filter(|value| *value > 0.0);
        contenders.entry(trial.contender).or_default().push(values.map(f64::ln).collect());
    }
    let contenders: Vec<Vec<Vec<f64>>> = contenders.into_values().collect();
    let cost = |seconds: &[f64]| judge::median(seconds).unwrap_or(0.0);
    judge::passes(&contenders, cost(&other_seconds), cost(&own_seconds))
}
