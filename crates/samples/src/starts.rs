//! Consecutive passes with a cold start: if only the first one is slow, there is a cache that this machine cannot empty.
//! In: trials of a workload and one of its phases. Out: whether a cache outside this machine (a hypervisor's, a controller's) served the later ones.

use crate::figures;
use records::facts::PhaseFacts;
use records::program::Figure;
use records::{PhaseRecord, TrialRecord};

/// From this ratio on, a slower first cold pass indicates a cache.
const FAR_SLOWER: f64 = 1.5;
/// Fewest trials with several cold passes for that conclusion.
const TRIALS: usize = 3;

/// Whether the first cold pass of a phase is far slower than the next ones, in the median trial; then only the first passes show the cost
/// of a cold start.
pub fn cache_below(trials: &[&TrialRecord], facts: &PhaseFacts) -> bool {
    let slower: Vec<f64> = trials.iter().filter_map(|trial| slower(trial, facts)).collect();
    slower.len() >= TRIALS && judge::median(&slower).is_some_and(|times| times >= FAR_SLOWER)
}

/// How many times slower the first cold pass of a trial was than the mean of the others.
fn slower(trial: &TrialRecord, facts: &PhaseFacts) -> Option<f64> {
    let is_cold = |pass: &&PhaseRecord| pass.name == facts.name && pass.counts() && pass.evidence.cold.is_some();
    let values: Vec<f64> =
        trial.phases.iter().filter(is_cold).filter_map(|pass| figures::headline(pass, facts)).collect();
    let (first, others) = values.split_first()?;
    let mean = (!others.is_empty()).then(|| others.iter().sum::<f64>() / others.len() as f64)?;
    Some(if facts.figure == Figure::Seconds { first / mean } else { mean / first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::outcome::PhaseOutcome;
    use records::program::Cache;
    use records::{ColdStart, Evidence};

    fn facts(figure: Figure) -> PhaseFacts {
        PhaseFacts { name: "read".into(), figure, ..PhaseFacts::default() }
    }

    /// A trial whose cold passes took so many seconds for a million bytes each.
    fn trial(seconds: &[u64]) -> TrialRecord {
        let pass = |(pass, seconds): (u32, &u64)| {
            let (bytes_read, returned_ns) = (1_000_000, seconds * 1_000_000_000);
            let outcome = PhaseOutcome { pass, bytes_read, returned_ns, ..PhaseOutcome::default() };
            let evidence = Evidence { cold: Some(ColdStart::default()), ..Evidence::default() };
            PhaseRecord { evidence, ..PhaseRecord::new("read", Cache::Cold, Figure::Seconds, outcome) }
        };
        let phases = (0..).zip(seconds).map(pass).collect();
        TrialRecord { phases, ..TrialRecord::begun((0, 0), 0, "w", "quick") }
    }

    fn below(trials: &[TrialRecord], figure: Figure) -> bool {
        cache_below(&trials.iter().collect::<Vec<_>>(), &facts(figure))
    }

    #[test]
    fn a_first_pass_that_is_far_slower_in_most_trials_shows_a_cache_below() {
        for figure in [Figure::Seconds, Figure::BytesPerSecond] {
            assert!(below(&[trial(&[9, 3]), trial(&[10, 2, 2]), trial(&[3, 3])], figure));
            assert!(!below(&[trial(&[9, 3]), trial(&[3, 3]), trial(&[3, 4])], figure), "one of three is chance");
            assert!(!below(&[trial(&[3, 9]), trial(&[3, 8]), trial(&[2, 9])], figure), "slower later is no cache");
        }
    }

    #[test]
    fn single_passes_and_few_trials_show_nothing() {
        assert!(!below(&[trial(&[9]), trial(&[3]), trial(&[3])], Figure::Seconds));
        assert!(!below(&[trial(&[9, 3]), trial(&[9, 3])], Figure::Seconds));
    }
}
