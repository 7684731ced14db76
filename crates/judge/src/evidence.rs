//! The evidence from comparing two contenders, before any verdict.
//! In: two members of a row and an estimate of the scatter. Out: [`Evidence`], and a [`Meeting`] where either was picked from several.

use crate::figure::MIN_SAMPLES;
use crate::judgement::{Estimand, Interval};
use crate::numbers::{mean, t_critical, t_p, variance};
use crate::row::{Member, Row, paired};
use crate::scatter::{Prior, Scatter};
use crate::sessions::{ANOTHER_TIME, Parts};

/// How far apart the modes of a bimodal contender may be for [`Evidence::may_be_modes`].
const MODES: f64 = 1.25;

/// The evidence from comparing two contenders, before any verdict.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// Log ratio: how much worse the second is.
    pub log: f64,
    /// Standard error of it; 0 where all differences are equal.
    pub error: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Degrees of freedom that come from the prior.
    pub prior_df: f64,
    /// Pairs of samples.
    pub samples: usize,
    /// Two-sided p-value.
    pub p: f64,
}

impl Evidence {
    /// Compares two members of a row: by block where they share enough blocks for the prior, else as two groups of trials.
    pub fn of(first: &Member, second: &Member, prior: Prior) -> Option<Self> {
        let by_block = paired(first, second);
        let differences: Vec<f64> = by_block.iter().map(|difference| difference.1).collect();
        let count = differences.len();
        if count < prior.least_samples() {
            return Self::apart(first, second, prior);
        }
        let error = prior.across.and_then(|across| {
            let parts = Parts::of(&by_block, across.sessions);
            Some(across.error(prior.within(&parts)?, &parts))
        });
        let (squared, df) = match error {
            Some(error) => error,
            // If each session has one round and no other contender provides a scatter estimate, the rounds are the sessions.
            None => {
                let (spread, df) = prior.moderate(variance(&differences)?, count as f64 - 1.0);
                (spread / count as f64, df)
            }
        };
        Some(Self { prior_df: prior.df, ..Self::new(mean(&differences), squared.sqrt(), df, count) })
    }

    /// Compares two members that share too few blocks.
    fn apart(first: &Member, second: &Member, prior: Prior) -> Option<Self> {
        let found = Self::unpaired(&first.trials, &second.trials)?;
        let Some(across) = prior.across else { return Some(found) };
        let [first, second] = [first, second].map(|member| Parts::of(&member.blocks, across.sessions));
        let (squared, df) = across.apart((found.error.powi(2), found.df), &first, &second);
        Some(Self::new(found.log, squared.sqrt(), df, found.samples))
    }

    /// The same for another time than that of the only session: adds the assumed component between times ([`ANOTHER_TIME`]).
    pub fn at_another_time(self) -> Self {
        let (within, squared) = (self.error.powi(2), self.error.powi(2) + ANOTHER_TIME.powi(2));
        // The component is assumed, not estimated: it has practically unlimited degrees of freedom.
        let df = (self.df * (squared / within).powi(2)).min(1e6);
        Self { prior_df: self.prior_df, ..Self::new(self.log, squared.sqrt(), df, self.samples) }
    }

    /// Compares two groups of trials by Welch's t.
    pub fn unpaired(first: &[f64], second: &[f64]) -> Option<Self> {
        let count = first.len().min(second.len());
        if count < MIN_SAMPLES {
            return None;
        }
        let a = variance(first)? / first.len() as f64;
        let b = variance(second)? / second.len() as f64;
        let parts = a * a / (first.len() as f64 - 1.0) + b * b / (second.len() as f64 - 1.0);
        let df = if parts > 0.0 { (a + b).powi(2) / parts } else { (first.len() + second.len() - 2) as f64 };
        Some(Self::new(mean(second) - mean(first), (a + b).sqrt(), df, count))
    }

    /// Whether two modes of one behaviour may cause this difference: the chance that n samples on each side fall into one mode each is at
    /// most 2 x 4^-n, whatever t is. Modes further apart than [`MODES`] are not considered.
    fn may_be_modes(&self, level: f64) -> bool {
        self.log.abs() < MODES.ln() && 2.0 * 0.25_f64.powi(self.samples.min(100) as i32) > level
    }

    /// Whether a difference is shown at a level. Two samples give a bound, but never show a difference.
    pub fn shows(&self, level: f64, plain: f64) -> bool {
        self.samples >= MIN_SAMPLES && self.p <= level && !self.may_be_modes(plain)
    }

    fn new(log: f64, error: f64, df: f64, samples: usize) -> Self {
        // Samples that are equal to the last digit reached the clock's resolution; they do not prove zero variance.
        let error = error.max(1e-6);
        Evidence { log, error, df, prior_df: 0.0, samples, p: t_p(log / error, df) }
    }

    /// The same from the other side.
    pub fn turned(self) -> Self {
        Evidence { log: -self.log, ..self }
    }

    /// Interval of the ratio that misses the truth with a chance of `level`.
    pub fn interval(&self, level: f64) -> Interval {
        let half = t_critical(level, self.df) * self.error;
        Interval { low: (self.log - half).exp(), high: (self.log + half).exp(), of: Estimand::Ratio }
    }
}

/// Comparison of two contenders, either of which may have been picked from several by the same samples: a statement about the picked ones
/// must hold against each alternative that may be the better pick.
#[derive(Debug, Clone)]
pub struct Meeting {
    /// The evidence of the picked ones: how much worse the second is.
    pub picked: Evidence,
    /// The first against each alternative of the second.
    of_second: Vec<Evidence>,
    /// Each alternative of the first against the second.
    of_first: Vec<Evidence>,
}

impl Meeting {
    /// Compares two members of a row; `None` where samples allow no interval.
    pub fn of(row: &Row, scatter: &Scatter, at: usize, first: &Member, second: &Member) -> Option<Self> {
        let evidence = |a: &Member, b: &Member| Evidence::of(a, b, scatter.prior(at, a.contender, b.contender));
        Some(Meeting {
            picked: evidence(first, second)?,
            of_second: row.alternatives(second.contender).filter_map(|other| evidence(first, other)).collect(),
            of_first: row.alternatives(first.contender).filter_map(|other| evidence(other, second)).collect(),
        })
    }

    /// The evidence that must show a difference before it counts: the picked pair, and every alternative of the worse side.
    fn decisive(&self) -> impl Iterator<Item = &Evidence> {
        let alternatives = if self.picked.log >= 0.0 { &self.of_second } else { &self.of_first };
        [&self.picked].into_iter().chain(alternatives)
    }

    /// Whether a difference is shown at a level, in the direction of the picked ones.
    pub fn shows(&self, level: f64, plain: f64) -> bool {
        let sign = self.picked.log >= 0.0;
        self.decisive().all(|found| (found.log >= 0.0) == sign && found.shows(level, plain))
    }

    /// The largest p-value of the decisive evidence.
    pub fn p(&self) -> f64 {
        self.decisive().map(|found| found.p).fold(0.0, f64::max)
    }

    /// The same for another time than that of the only session.
    pub fn at_another_time(self) -> Self {
        let all = |found: Vec<Evidence>| found.into_iter().map(Evidence::at_another_time).collect();
        let Meeting { picked, of_second, of_first } = self;
        Meeting { picked: picked.at_another_time(), of_second: all(of_second), of_first: all(of_first) }
    }

    /// Interval of the ratio between the best of both sets of alternatives: the picked one bounds its own side.
    pub fn interval(&self, level: f64) -> Interval {
        let all = |found: &[Evidence], own: f64, end: fn(Interval) -> f64, further: fn(f64, f64) -> f64| {
            found.iter().map(|found| end(found.interval(level))).fold(own, further)
        };
        let own = self.picked.interval(level);
        Interval {
            low: all(&self.of_second, own.low, |interval| interval.low, f64::min),
            high: all(&self.of_first, own.high, |interval| interval.high, f64::max),
            of: own.of,
        }
    }
}
