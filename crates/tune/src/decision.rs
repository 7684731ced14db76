//! What the confirmation allows to claim.
//! In: the winner against the baseline, from rounds that took no part in the search. Out: a [`Decision`].
//! The rounds are fixed before they begin, so the interval needs no correction for looks; only the winner is claimed, so none for
//! several comparisons.

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
}

/// Decides on a result; `margin` is the share up to which a difference does not matter, 0.03 for 3 %.
pub fn decide(result: Measured, margin: f64) -> Decision {
    let half = judge::t_critical(LEVEL, result.df) * result.error;
    let [ratio, low, high] = [result.log, result.log - half, result.log + half].map(f64::exp);
    Decision { ratio, low, high, gain: low > 1.0 + margin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_needs_the_whole_interval_above_the_margin() {
        let decided = |log: f64, error: f64| decide(Measured { log, error, df: 9.0 }, 0.03);
        let clear = decided(0.2, 0.02);
        assert!(clear.gain && clear.low > 1.15 && clear.high < 1.29, "{clear:?}");
        assert!(!decided(0.05, 0.02).gain, "above 1, but not by the margin");
        assert!(!decided(0.2, 0.1).gain && !decided(-0.2, 0.02).gain);
    }
}
