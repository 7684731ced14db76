//! How many passes one mount is worth.
//! In: what passes of one phase measured, trial by trial, and what a trial and a pass cost. Out: a number of passes.
//! Kalibera and Jones (ISMM 2013, section 8): with c the costs and s2 the variance components of two levels of repetition, the lower level is
//! repeated sqrt(c_upper/c_lower * s2_lower/s2_upper) times; then no other division of the time gives a narrower interval.

use crate::numbers::{mean, variance};

/// Passes of the first trials at least, so that there is something to learn from.
pub const SCREEN_PASSES: u32 = 2;
/// Passes of the first trials at most, where they are so short that a pause of the machine would be most of one: a median needs five to be
/// none of two pauses.
pub const SCREEN_MOST: u32 = 5;
/// Seconds, cold starts and all, after which the first trials make no more than they must.
pub const SCREEN_SECONDS: f64 = 1.0;
/// Passes at most: what a mount keeps to itself, no number of passes averages out.
pub const MOST_PASSES: u32 = 10;
/// Seconds that the passes of one phase may take in a trial, cold starts and all, where there are several: what is slow needs blocks more.
const MOST_SECONDS: f64 = 1.5;
/// Degrees of freedom that either component is known by at least.
const LEAST_DF: f64 = 4.0;

/// Passes of a phase in each further trial; `None` while too little is known, and it is screened.
///
/// `contenders`: for each its trials, for each of these the logs of what its passes measured. `trial_seconds`: what another trial costs for this
/// phase, the pass itself left out; `pass_seconds`: what another pass costs.
pub fn passes(contenders: &[Vec<Vec<f64>>], trial_seconds: f64, pass_seconds: f64) -> Option<u32> {
    let (within, between) = components(contenders)?;
    if pass_seconds <= 0.0 || trial_seconds <= 0.0 || within <= 0.0 {
        return Some(1);
    }
    let most = (MOST_SECONDS / pass_seconds).clamp(1.0, f64::from(MOST_PASSES));
    if between <= 0.0 {
        return Some(most as u32);
    }
    let best = (trial_seconds / pass_seconds * within / between).sqrt().round();
    Some(best.clamp(1.0, most) as u32)
}

/// Variance of passes within a mount and of mounts beyond that, over all contenders; `None` while too little is known.
fn components(contenders: &[Vec<Vec<f64>>]) -> Option<(f64, f64)> {
    let (mut within, mut between) = (Pooled::default(), Pooled::default());
    let mut shares = Vec::new();
    for trials in contenders {
        let trials = trials.iter().filter(|passes| !passes.is_empty());
        let means: Vec<f64> = trials.clone().map(|passes| mean(passes)).collect();
        between.add(variance(&means), means.len());
        for passes in trials {
            within.add(variance(passes), passes.len());
            shares.push(1.0 / passes.len() as f64);
        }
    }
    let (within, of_means) = (within.known()?, between.known()?);
    // A mean of n passes holds 1/n of their variance.
    Some((within, of_means - within * mean(&shares)))
}

/// Variances put together by their degrees of freedom.
#[derive(Default)]
struct Pooled {
    sum: f64,
    df: f64,
}

impl Pooled {
    fn add(&mut self, found: Option<f64>, count: usize) {
        if let Some(found) = found {
            let df = count as f64 - 1.0;
            self.sum += found * df;
            self.df += df;
        }
    }

    fn known(&self) -> Option<f64> {
        (self.df >= LEAST_DF).then(|| self.sum / self.df)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three contenders of four trials of two passes: how far passes are from their mount's mean, and mounts from their contender's.
    fn drawn(within: f64, between: f64) -> Vec<Vec<Vec<f64>>> {
        let trial = |level: f64| vec![level + within, level - within];
        let trials = |own: f64| [1.0, -1.0, 0.5, -0.5].map(|step| trial(own + between * step)).to_vec();
        [0.0, 1.0, 2.0].map(trials).to_vec()
    }

    #[test]
    fn too_little_is_screened() {
        assert_eq!(passes(&[], 3.0, 0.1), None);
        assert_eq!(passes(&[vec![vec![0.1], vec![0.2]]], 3.0, 0.1), None);
    }

    #[test]
    fn passes_that_agree_are_made_once_and_mounts_that_agree_are_used_up() {
        assert_eq!(passes(&drawn(0.0, 0.1), 3.0, 0.1), Some(1));
        assert_eq!(passes(&drawn(0.1, 0.0), 3.0, 0.1), Some(MOST_PASSES));
    }

    #[test]
    fn the_ratio_of_costs_and_variances_decides() {
        let equal = passes(&drawn(0.05, 0.1), 0.1, 0.1);
        assert!(equal.is_some_and(|equal| (1..=2).contains(&equal)), "{equal:?}");
        assert!(passes(&drawn(0.05, 0.1), 3.0, 0.1) > passes(&drawn(0.05, 0.1), 0.3, 0.1));
        assert!(passes(&drawn(0.09, 0.1), 0.9, 0.1) > passes(&drawn(0.02, 0.1), 0.9, 0.1));
        assert_eq!(passes(&drawn(0.1, 0.0), 3.0, 1.0), Some(1), "what is slow is passed once");
        assert_eq!(passes(&drawn(0.05, 0.1), 0.0, 1.0), Some(1), "a trial that costs nothing is better than a pass");
    }
}
