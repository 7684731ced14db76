//! What a search improves: what a trial shows of each goal but speed, which the judge's tables show, and how results are put in words.
//! In: the trials of a stage. Out: for each set how many times better than the baseline it is, paired by rounds.

use crate::args::Goal;
use records::TrialRecord;
use records::outcome::PhaseOutcome;
use records::program::VolumeTool;
use report::Material;
use std::collections::{BTreeMap, BTreeSet};
use tune::{Decision, Measured};

/// The percentile of latency, as a share.
const TAIL: f64 = 0.99;
/// Fewest operations of a phase for a percentile of its own: with fewer it is its longest operation.
const OPERATIONS: u64 = 100;
/// Fewest degrees of freedom with which a set is judged by its own scatter; with fewer, by that of all sets of its stage.
const OWN_DF: usize = 4;

impl Goal {
    /// Its name, in sentences and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Speed => "speed",
            Self::Space => "space",
            Self::Latency => "latency",
            Self::Writes => "writes",
            Self::Rebuild => "rebuild",
        }
    }

    /// Why a work may have no figures of this goal.
    pub fn why_none(self) -> &'static str {
        match self {
            Self::Speed => "no phase was completed",
            Self::Space => "the used space could not be read",
            Self::Latency => "no phase has 100 operations of which each was timed; programs are timed as a whole",
            Self::Writes => {
                "the device has other writers, so that its counters show more than this filesystem's writes"
            }
            Self::Rebuild => "it rebuilds no device; `mirror` does, with --with devices=2",
        }
    }

    /// What a gain and a loss are, after "1.24x".
    pub fn gain_and_loss(self) -> (&'static str, &'static str) {
        match self {
            Self::Speed => ("faster", "slower"),
            Self::Space => ("less space", "more space"),
            Self::Latency => ("shorter latency", "longer latency"),
            Self::Writes => ("fewer writes", "more writes"),
            Self::Rebuild => ("faster to rebuild", "slower to rebuild"),
        }
    }

    /// A result in words: `1.24x faster (1.15 to 1.33)`.
    pub fn in_words(self, decision: &Decision) -> String {
        let Decision { ratio, low, high, .. } = *decision;
        let (better, worse) = self.gain_and_loss();
        if decision.gain {
            format!("{ratio:.2}x {better} ({low:.2} to {high:.2})")
        } else if decision.loss {
            format!("{:.2}x {worse} ({:.2} to {:.2})", 1.0 / ratio, 1.0 / high, 1.0 / low)
        } else {
            format!("no difference shown in {} ({low:.2} to {high:.2})", self.name())
        }
    }
}

/// The first contender against each of the first `count`, by a goal that is not speed: the mean over workloads, and within them over
/// phases. `None` for the baseline, and for a set without a round in common with it; in place of all where the baseline has no figure.
pub fn results(goal: Goal, material: &Material, count: usize) -> Option<Vec<Option<Measured>>> {
    let all = costs(goal, material);
    all.keys().find(|(contender, ..)| *contender == 0)?;
    let works: BTreeSet<Work> = all.keys().map(|(_, _, work)| *work).collect();
    let rounds: BTreeSet<u32> = all.keys().map(|(_, round, _)| *round).collect();
    let of_round = |contender: usize, round: u32| {
        let logs = works.iter().map(|work| {
            let [base, own] = [0, contender].map(|one| all.get(&(one, round, *work)));
            let (base, own) = (base?, own?);
            mean(&base.iter().filter_map(|(part, cost)| Some((cost / own.get(part)?).ln())).collect::<Vec<_>>())
        });
        mean(&logs.collect::<Option<Vec<f64>>>()?)
    };
    let logs: Vec<Vec<f64>> =
        (0..count).map(|contender| rounds.iter().filter_map(|round| of_round(contender, *round)).collect()).collect();
    Some(measured(&logs))
}

/// Results from the logarithms of all rounds of each set; those of the first are not used.
pub fn measured(logs: &[Vec<f64>]) -> Vec<Option<Measured>> {
    let squares = |logs: &[f64]| {
        let mean = mean(logs).unwrap_or(0.0);
        logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
    };
    let others = logs.get(1..).unwrap_or_default();
    let df_of_all: usize = others.iter().map(|logs| logs.len().saturating_sub(1)).sum();
    let of_all: f64 = others.iter().map(|logs| squares(logs)).sum();
    let of = |logs: &Vec<f64>| {
        let own_df = logs.len().saturating_sub(1);
        let (squares, df) = if own_df < OWN_DF { (of_all, df_of_all) } else { (squares(logs), own_df) };
        let error = (squares / df as f64 / logs.len() as f64).sqrt();
        if df > 0 { Some(Measured { log: mean(logs)?, error, df: df as f64 }) } else { None }
    };
    logs.iter().enumerate().map(|(at, logs)| if at == 0 { None } else { of(logs) }).collect()
}

/// Name and scale of a workload.
type Work<'a> = (&'a str, &'a str);

/// The costs of a trial by the name of the phase, or by an empty name for the whole: less is better.
type Costs<'a> = BTreeMap<&'a str, f64>;

/// Costs of all trials that count, by contender, round and workload.
fn costs(goal: Goal, material: &Material) -> BTreeMap<(usize, u32, Work<'_>), Costs<'_>> {
    let mut all = BTreeMap::new();
    for (_, trial) in samples::counted(&material.trials) {
        let work = (trial.workload.as_str(), trial.scale.as_str());
        let whole = |cost: Option<u64>| -> Costs { cost.map(|cost| ("", cost.max(1) as f64)).into_iter().collect() };
        let costs: Costs = match goal {
            Goal::Speed => Costs::new(),
            Goal::Space => whole(used(trial)),
            Goal::Writes => whole(trial.closing.as_ref().and_then(|closing| closing.written_bytes)),
            Goal::Latency => tails(trial, material),
            Goal::Rebuild => rebuilds(trial, material),
        };
        if !costs.is_empty() {
            all.insert((trial.contender as usize, trial.block, work), costs);
        }
    }
    all
}

/// Bytes that the filesystem showed as used (statfs, as in `df`) at most after a phase. ext4 counts its inode tables and its journal neither
/// as used nor as free.
fn used(trial: &TrialRecord) -> Option<u64> {
    let empty = trial.found.as_ref()?.empty.used_bytes;
    trial.phases.iter().filter_map(|phase| phase.evidence.taken_bytes).max().map(|taken| empty + taken)
}

/// The tail of the latency of whole items in each phase that is not a preparation, in nanoseconds.
fn tails<'a>(trial: &'a TrialRecord, material: &Material) -> Costs<'a> {
    let works = &material.run.new.works;
    let own = works.iter().find(|work| work.name == trial.workload && work.scale == trial.scale);
    let is_meant =
        |name: &str| own.is_some_and(|work| work.phases.iter().any(|facts| facts.name == name && !facts.preparation));
    let mut tails: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for phase in trial.phases.iter().filter(|phase| phase.counts() && is_meant(&phase.name)) {
        let items = phase.outcome.groups.iter().filter_map(|group| group.latency.get("item"));
        for item in items.filter(|item| item.count >= OPERATIONS) {
            let Ok(histogram) = ledger::histogram::read(&item.hdr) else { continue };
            tails.entry(&phase.name).or_default().push(histogram.value_at_quantile(TAIL).max(1) as f64);
        }
    }
    // Passes and groups of a phase count alike.
    let middle = |tails: &Vec<f64>| mean(&tails.iter().map(|tail| tail.ln()).collect::<Vec<_>>()).map(f64::exp);
    tails.iter().filter_map(|(name, tails)| Some((*name, middle(tails)?))).collect()
}

/// Nanoseconds of each phase that rebuilds a device and is not a preparation, until all is durable.
fn rebuilds<'a>(trial: &'a TrialRecord, material: &Material) -> Costs<'a> {
    let works = material.run.new.plan.iter().flat_map(|plan| &plan.works);
    let mut own = works.filter(|work| work.name == trial.workload && work.compiled.scale == trial.scale);
    let Some(compiled) = own.next().map(|work| &work.compiled) else { return Costs::new() };
    let all = compiled.program.phases.iter().zip(&compiled.phases);
    let rebuilding = all.filter(|(phase, facts)| phase.device_of(VolumeTool::Rebuild).is_some() && !facts.preparation);
    let names: BTreeSet<&str> = rebuilding.map(|(phase, _)| phase.name.as_str()).collect();
    let counted = trial.phases.iter().filter(|phase| phase.counts() && names.contains(phase.name.as_str()));
    let cost = |outcome: &PhaseOutcome| outcome.durable_ns.unwrap_or(outcome.returned_ns).max(1) as f64;
    counted.map(|phase| (phase.name.as_str(), cost(&phase.outcome))).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_stages_are_judged_by_the_scatter_of_all_sets_and_long_ones_by_their_own() {
        let short = measured(&[vec![], vec![0.1, 0.3], vec![0.0, 0.0], vec![]]);
        assert!(short[0].is_none() && short[3].is_none());
        let both = [1, 2].map(|at| short[at].expect("measured"));
        assert!((both[0].log - 0.2).abs() < 1e-12 && both[1].log == 0.0);
        assert!(both[0].error > 0.0 && both[0].error == both[1].error && both[0].df == 2.0, "{both:?}");
        let long = measured(&[vec![], vec![0.1, 0.3, 0.1, 0.3, 0.2], vec![0.5; 5]]);
        let both = [1, 2].map(|at| long[at].expect("measured"));
        assert!((both[0].error - (0.04_f64 / 4.0 / 5.0).sqrt()).abs() < 1e-12 && both[1].error == 0.0, "{both:?}");
        assert_eq!(measured(&[vec![], vec![0.1]])[1], None, "nothing shows how far one round scatters");
    }

    #[test]
    fn results_are_named_by_their_goal_and_direction() {
        let words =
            |goal: Goal, log: f64| goal.in_words(&tune::decide(Measured { log, error: 0.01, df: 9.0 }, 0.03, 1));
        assert_eq!(words(Goal::Speed, 1.25_f64.ln()), "1.25x faster (1.22 to 1.28)");
        assert_eq!(words(Goal::Space, -(2.0_f64.ln())), "2.00x more space (1.96 to 2.05)");
        assert_eq!(words(Goal::Writes, 0.0), "no difference shown in writes (0.98 to 1.02)");
    }
}
