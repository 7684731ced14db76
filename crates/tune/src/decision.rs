//! What the confirmation allows to claim.
//! In: a set of options against the baseline, from rounds that took no part in the search. Out: a [`Decision`].
//! The rounds are fixed before they begin, so the interval needs no correction for looks. With one goal the winner is claimed, and only if
//! it gains the winner with fewer options, which needs none for several comparisons; with several goals every finalist is claimed in each
//! of them (Bonferroni).

use crate::race::Measured;

/// Chance that the interval misses the truth.
const LEVEL: f64 = 0.05;

/// The result of the confirmation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// How many times faster than the baseline, estimated.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end: larger gains are excluded.
    pub high: f64,
    /// Whether a gain is claimed: the whole interval is above the margin.
    pub gain: bool,
    /// Whether a loss is claimed: the whole interval is below it.
    pub loss: bool,
}

/// Decides on a result that is one of so many `claims`; `margin` is the share up to which a difference does not matter, 0.03 for 3 %.
pub fn decide(result: Measured, margin: f64, claims: usize) -> Decision {
    let half = judge::t_critical(LEVEL / claims.max(1) as f64, result.df) * result.error;
    let [ratio, low, high] = [result.log, result.log - half, result.log + half].map(f64::exp);
    Decision { ratio, low, high, gain: low > 1.0 + margin, loss: high < 1.0 / (1.0 + margin) }
}

/// Which of these sets remain a choice, each with one decision for every goal: those with a gain that no other of them beats. One beats
/// another if it is better in a goal, interval against interval, is estimated to be worse in none, and is as safe:
/// `is_less_safe(a, b)` is true where a gives up something that b keeps.
pub fn choices(decisions: &[Vec<Decision>], is_less_safe: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let beats = |one: usize, other: usize| {
        let pairs = || decisions[one].iter().zip(&decisions[other]);
        pairs().any(|(one, other)| one.low > other.high)
            && pairs().all(|(one, other)| one.ratio >= other.ratio)
            && !is_less_safe(one, other)
    };
    let gaining: Vec<usize> =
        (0..decisions.len()).filter(|at| decisions[*at].iter().any(|decision| decision.gain)).collect();
    gaining.iter().copied().filter(|at| !gaining.iter().any(|other| beats(*other, *at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_needs_the_whole_interval_above_the_margin() {
        let decided = |log: f64, error: f64| decide(Measured { log, error, df: 9.0 }, 0.03, 1);
        let clear = decided(0.2, 0.02);
        assert!(clear.gain && clear.low > 1.15 && clear.high < 1.29, "{clear:?}");
        assert!(!decided(0.05, 0.02).gain, "above 1, but not by the margin");
        assert!(!decided(0.2, 0.1).gain && !decided(-0.2, 0.02).gain);
        assert!(decided(-0.2, 0.02).loss && !decided(-0.05, 0.02).loss && !clear.loss);
    }

    #[test]
    fn each_of_several_claims_has_a_wider_interval() {
        let decided = |claims| decide(Measured { log: 0.0, error: 0.02, df: 9.0 }, 0.03, claims);
        assert!(decided(1).high < decided(2).high && decided(2).high < decided(8).high);
        assert!((decided(1).high.ln() - 0.02 * 2.262).abs() < 1e-4, "Student's t: {:?}", decided(1));
    }

    #[test]
    fn a_choice_gains_something_and_no_other_is_better_in_a_goal_and_worse_in_none() {
        let sets = |logs: &[[f64; 2]]| -> Vec<Vec<Decision>> {
            let decided = |log: f64| decide(Measured { log, error: 0.01, df: 9.0 }, 0.03, 1);
            logs.iter().map(|of| of.iter().map(|log| decided(*log)).collect()).collect()
        };
        let alike = |_: usize, _: usize| false;
        let both = sets(&[[0.3, -0.2], [-0.1, 0.5], [0.2, -0.3], [0.0, 0.0], [-0.2, 0.2]]);
        assert_eq!(choices(&both, &alike), [0, 1], "the third and the last are beaten, the fourth gains nothing");
        let near = sets(&[[0.3, 0.1], [0.29, 0.101]]);
        assert_eq!(choices(&near, &alike), [0, 1], "neither is shown to be better");
        assert_eq!(
            choices(&sets(&[[0.3, 0.0], [0.2, 0.0]]), &|one, _| one == 0),
            [0, 1],
            "the better one is less safe"
        );
    }
}
