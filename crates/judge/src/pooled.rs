//! One ratio from many runs: its average over machines, and a prediction for another machine.
//! In: a log ratio with its standard error for each run, and the machine of each run. Out: a [`Pooled`] ratio with an interval, and with a
//! prediction interval if there are enough machines.
//!
//! Machines differ by more than their samples scatter, so each machine has its own true ratio, drawn around a common one (random effects).
//! Their variance is estimated by Paule and Mandel (1982). The interval of the mean is that of Hartung and Knapp (2001), with the variance
//! never below that from the runs' own errors (Röver, Knapp and Friede 2015). A squared error from few samples is shrunk towards the mean
//! of all, as if that had [`PRIOR`] degrees of freedom: weights would follow chance otherwise. The prediction interval is that of Higgins,
//! Thompson and Spiegelhalter (2009) for a further machine in a run like these, its own error included: without it the interval would be
//! too narrow wherever chance hides the variance between machines.

use crate::numbers::t_critical;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Chance that an interval misses the truth.
const ALPHA: f64 = 0.05;
/// Degrees of freedom of the mean of all squared errors.
const PRIOR: f64 = 8.0;
/// Fewest machines for a prediction for another one.
const PREDICTING: usize = 3;
/// Bisection steps in the search for the variance between machines.
const HALVINGS: usize = 100;

/// A ratio as one run measured it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Study {
    /// The machine it was measured on: runs with the same number are of one machine.
    pub machine: usize,
    /// Natural logarithm of the ratio.
    pub log: f64,
    /// Standard error of it.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
}

/// A range of ratios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A ratio over many runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pooled {
    /// The ratio of a typical machine.
    pub ratio: f64,
    /// 95 % interval of that: of one machine, where there is only one.
    pub interval: Span,
    /// Where the ratio that a run on a further machine shows lies with 95 %; `None` below three machines.
    pub prediction: Option<Span>,
    /// Standard deviation of machines' own ratios, on logarithms: 0.1 for a spread of about 10 %.
    pub between: f64,
    /// Runs that it is based on.
    pub runs: usize,
    /// Machines that these were measured on.
    pub machines: usize,
}

/// A mean with its variance and degrees of freedom, on logarithms.
#[derive(Clone, Copy)]
struct Mean {
    log: f64,
    /// Its variance: from the errors of the averaged values or from their scatter, whichever is larger.
    variance: f64,
    between: f64,
}

/// Pools the ratios of many runs; `None` where none of them has a finite ratio with an error above zero.
pub fn pooled(studies: &[Study]) -> Option<Pooled> {
    let is_sound =
        |study: &&Study| study.log.is_finite() && study.error.is_finite() && study.error > 0.0 && study.df > 0.0;
    let mut sound: Vec<Study> = studies.iter().filter(is_sound).copied().collect();
    sound.sort_by_key(|study| study.machine);
    let machines: Vec<Study> =
        sound.chunk_by(|one, other| one.machine == other.machine).filter_map(of_one_machine).collect();
    let points = points(&machines);
    let count = machines.len();
    let (mean, df) = match machines.as_slice() {
        [] => return None,
        [only] => (Mean { log: only.log, variance: only.error.powi(2), between: 0.0 }, only.df),
        _ => (mean(&points), count as f64 - 1.0),
    };
    let span = |half: f64| Span { low: (mean.log - half).exp(), high: (mean.log + half).exp() };
    let own = points.iter().map(|(_, variance)| variance).sum::<f64>() / count as f64;
    let further = || (mean.between.powi(2) + own + mean.variance).sqrt() * t_critical(ALPHA, count as f64 - 2.0);
    Some(Pooled {
        ratio: mean.log.exp(),
        interval: span(t_critical(ALPHA, df) * mean.variance.sqrt()),
        prediction: (count >= PREDICTING).then(|| span(further())),
        between: mean.between,
        runs: sound.len(),
        machines: count,
    })
}

/// Combines the runs of one machine.
fn of_one_machine(runs: &[Study]) -> Option<Study> {
    let first = runs.first()?;
    match runs {
        [only] => Some(*only),
        _ => {
            let mean = mean(&points(runs));
            Some(Study { log: mean.log, error: mean.variance.sqrt(), df: runs.len() as f64 - 1.0, ..*first })
        }
    }
}

/// Log ratios with their squared errors; those from few samples are shrunk towards the mean of all.
fn points(studies: &[Study]) -> Vec<(f64, f64)> {
    let squares = || studies.iter().map(|study| study.error.powi(2));
    let middle = squares().sum::<f64>() / studies.len() as f64;
    let drawn = |(study, square): (&Study, f64)| (study.log, (study.df * square + PRIOR * middle) / (study.df + PRIOR));
    studies.iter().zip(squares()).map(drawn).collect()
}

/// The mean of values with own variances, whose true values scatter, too.
fn mean(points: &[(f64, f64)]) -> Mean {
    let between = variance_between(points);
    let (log, weights) = weighted(points, between);
    let scatter = scattered(points, between) / (points.len() as f64 - 1.0);
    Mean { log, variance: scatter.max(1.0) / weights, between: between.sqrt() }
}

/// Weighted mean, and the sum of its weights.
fn weighted(points: &[(f64, f64)], between: f64) -> (f64, f64) {
    let weights: f64 = points.iter().map(|(_, variance)| 1.0 / (variance + between)).sum();
    let sum: f64 = points.iter().map(|(log, variance)| log / (variance + between)).sum();
    (sum / weights, weights)
}

/// Weighted sum of squares around the weighted mean.
fn scattered(points: &[(f64, f64)], between: f64) -> f64 {
    let (mean, _) = weighted(points, between);
    points.iter().map(|(log, variance)| (log - mean).powi(2) / (variance + between)).sum()
}

/// The variance of the true values at which the values scatter as expected: the root of a decreasing function (Paule and Mandel).
fn variance_between(points: &[(f64, f64)]) -> f64 {
    let wanted = points.len() as f64 - 1.0;
    if scattered(points, 0.0) <= wanted {
        return 0.0;
    }
    // With a variance as large as the sum of all squares the function is below its target.
    let middle = points.iter().map(|(log, _)| log).sum::<f64>() / points.len() as f64;
    let mut high: f64 = points.iter().map(|(log, _)| (log - middle).powi(2)).sum();
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let half = (low + high) / 2.0;
        if scattered(points, half) > wanted { low = half } else { high = half }
    }
    (low + high) / 2.0
}
