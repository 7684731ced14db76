//! The share of a run's time that was measured work.
//! In: its trials. Out: seconds of each and their share. The rest is making, mounting, settling, checking, judging.
//! Users wait for all of it, but only measured work leads to the answer.

use records::TrialRecord;

/// Longest gap in seconds between two trials that counts as the run's own; after a longer one the run was stopped and resumed.
const LONGEST_GAP: f64 = 60.0;

/// Time of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Seconds of work that gave figures: phases until durable, without preparation and without passes that were set aside.
    pub measured: f64,
    /// Seconds from the start of the first trial to the end of the last one, without the time in which the run was stopped.
    pub all: f64,
}

impl Time {
    /// The time of these trials, in the order in which they ran. Trials without a duration (imported ones) have none.
    pub fn of(trials: &[TrialRecord]) -> Option<Self> {
        let measured = trials.iter().map(measured).sum();
        let took: f64 = trials.iter().map(TrialRecord::took).sum();
        // Interleaved trials begin while others are in progress, and each measures its own time: together they take the sum.
        let (mut ended, mut between) = (None, 0.0);
        for trial in trials {
            let began = trial.began_ms as f64 / 1e3;
            let gap = ended.map_or(0.0, |ended| began - ended);
            if (0.0..=LONGEST_GAP).contains(&gap) {
                between += gap;
            }
            ended = Some(ended.map_or(began, |ended: f64| ended.max(began)) + trial.took());
        }
        (took > 0.0).then_some(Self { measured, all: took + between })
    }

    /// Measured work as a share of all time, 0 to 1.
    pub fn share(self) -> f64 {
        // An empty sum is -0, and would be shown with its sign.
        (self.measured / self.all).clamp(0.0, 1.0) + 0.0
    }
}

fn measured(trial: &TrialRecord) -> f64 {
    let value = trial.phases.iter().filter(|phase| !phase.preparation && phase.counts());
    let of = |outcome: &records::outcome::PhaseOutcome| outcome.durable_ns.unwrap_or(outcome.returned_ns);
    value.map(|phase| of(&phase.outcome) as f64 / 1e9).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::outcome::PhaseOutcome;
    use records::program::{Cache, Figure};
    use records::{Evidence, PhaseRecord};

    fn pass(returned: u64, durable: Option<u64>, preparation: bool, set_aside: bool) -> PhaseRecord {
        let seconds = 1_000_000_000;
        let outcome = PhaseOutcome {
            returned_ns: returned * seconds,
            durable_ns: durable.map(|durable| durable * seconds),
            ..PhaseOutcome::default()
        };
        let evidence = Evidence { set_aside, ..Evidence::default() };
        PhaseRecord { preparation, evidence, ..PhaseRecord::new("write", Cache::Cold, Figure::Seconds, outcome) }
    }

    fn trial(began: i64, seconds: f64, phases: Vec<PhaseRecord>) -> TrialRecord {
        TrialRecord {
            began_ms: began * 1000,
            ended_ms: began * 1000 + (seconds * 1e3) as i64,
            seconds: Some(seconds),
            phases,
            ..TrialRecord::begun((0, 0), 0, "w", "quick")
        }
    }

    #[test]
    fn work_counts_until_durable_and_what_gave_no_figure_does_not() {
        let first = trial(0, 10.0, vec![pass(1, Some(3), false, false), pass(2, None, true, false)]);
        let second = trial(12, 8.0, vec![pass(4, None, false, true), pass(5, None, false, false)]);
        let time = Time::of(&[first, second]).expect("they took time");
        assert_eq!((time.measured, time.all), (8.0, 20.0));
        assert_eq!(time.share(), 0.4);
    }

    #[test]
    fn trials_that_take_turns_take_the_sum_of_their_own_times() {
        let turns = [0, 1, 2].map(|began| trial(began, 5.0, Vec::new()));
        let next = [16, 17, 18].map(|began| trial(began, 5.0, Vec::new()));
        assert_eq!(Time::of(&[turns, next].concat()).map(|time| time.all), Some(31.0));
    }

    #[test]
    fn a_night_between_two_trials_is_no_part_of_the_run() {
        let trials = [trial(0, 10.0, Vec::new()), trial(40_000, 10.0, Vec::new())];
        assert_eq!(Time::of(&trials).map(|time| time.all), Some(20.0));
        assert_eq!(Time::of(&[]), None);
    }
}
