//! Steady state: rounds of one phase until they no longer change, for devices whose speed depends on what was written.
//! In: the rounds so far. Out: whether to continue; the rounds that count are marked. The rule is SNIA's (docs/method.md).

use judge::SteadyState;
use records::PhaseRecord;
use workload::facts::PhaseFacts;
use workload::program::{Cache, Phase};

/// Rounds of a window, by the rule of SNIA's Performance Test Specification.
const WINDOW: usize = 5;

/// Whether a phase can be repeated: block work on existing files, or the raw device.
pub fn repeatable(phase: &Phase) -> bool {
    phase.passes <= 1 && !phase.preparation && phase.groups.iter().all(|group| group.over.is_of_blocks())
}

/// Whether a repetition of a phase finds the same state: reading blocks changes nothing. Reading many files also sets their access times, once.
pub fn reads_again(phase: &Phase) -> bool {
    repeatable(phase) && !phase.writes && phase.cache == Cache::Cold
}

/// Whether the rounds of a phase are complete; then each is marked as counting or not.
///
/// If no steady state is reached, the last rounds count, with a remark.
pub fn ended(rounds: &mut [PhaseRecord], facts: &PhaseFacts) -> bool {
    let values: Vec<f64> = rounds.iter().filter_map(|round| samples::headline(round, facts)).collect();
    let (from, remark) = match judge::steady_state(&values) {
        // A round without a figure can never be steady.
        SteadyState::NotYet { .. } if values.len() == rounds.len() => return false,
        SteadyState::NotYet { .. } => {
            (rounds.len().saturating_sub(WINDOW), Some("no steady state: a round had no figure"))
        }
        SteadyState::Reached { from, .. } => (from, None),
        SteadyState::Never => {
            (rounds.len().saturating_sub(WINDOW), Some("no steady state in 25 rounds: the last five count"))
        }
    };
    for (number, round) in rounds.iter_mut().enumerate() {
        round.evidence.steady = Some((from..from + WINDOW).contains(&number));
        round.evidence.remarks.extend(remark.map(str::to_owned));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::outcome::PhaseOutcome;
    use workload::program::{Cache, Figure};

    fn facts() -> PhaseFacts {
        PhaseFacts {
            name: "write".into(),
            title: "write".into(),
            doing: "writing".into(),
            operation: "write".into(),
            cache_label: "direct".into(),
            figure: Figure::Seconds,
            ..PhaseFacts::default()
        }
    }

    fn round(seconds: f64) -> PhaseRecord {
        let outcome = PhaseOutcome { items: 1, returned_ns: (seconds * 1e9) as u64, ..PhaseOutcome::default() };
        PhaseRecord {
            name: "write".into(),
            operation: "write".into(),
            cache: Cache::AsFound,
            figure: Figure::Seconds,
            preparation: false,
            outcome,
            evidence: ledger::Evidence::default(),
        }
    }

    fn rounds_until_ended(seconds: impl Fn(usize) -> f64) -> Vec<PhaseRecord> {
        let mut rounds = Vec::new();
        loop {
            rounds.push(round(seconds(rounds.len())));
            if ended(&mut rounds, &facts()) {
                return rounds;
            }
        }
    }

    #[test]
    fn a_device_that_slows_down_is_measured_where_it_no_longer_does() {
        let rounds = rounds_until_ended(|number| if number < 6 { 1.0 + number as f64 } else { 8.0 });
        let counting: Vec<usize> = (0..rounds.len()).filter(|&at| rounds[at].evidence.steady == Some(true)).collect();
        assert_eq!(counting, [6, 7, 8, 9, 10]);
    }

    #[test]
    fn a_device_that_never_settles_ends_after_25_rounds_with_a_remark() {
        let rounds = rounds_until_ended(|number| 1.0 + number as f64);
        assert_eq!(rounds.len(), 25);
        assert!(rounds[24].evidence.remarks[0].contains("no steady state in 25 rounds"));
        assert_eq!(rounds.iter().filter(|round| round.evidence.steady == Some(true)).count(), 5);
    }
}
