//! How many passes one mount needs.
//! In: the measured passes of one phase, trial by trial, and the cost of a trial and of a pass. Out: a number of passes.
//! Kalibera and Jones (ISMM 2013, section 8): with c the costs and s2 the variance components of two levels of repetition, the lower level
//! is repeated sqrt(c_upper/c_lower * s2_lower/s2_upper) times; no other division of the time gives a narrower interval.

use crate::numbers::{mean, variance};

/// Fewest passes of the first trials, from which the variances are estimated.
pub const SCREEN_PASSES: u32 = 2;
/// Most passes of the first trials, used where passes are so short that a pause of the machine would dominate one: a median of five is not
/// affected by two pauses.
pub const SCREEN_MOST: u32 = 5;
/// Seconds, cold starts included, after which the first trials make only the minimum number of passes.
pub const SCREEN_SECONDS: f64 = 1.0;
/// Most passes: more passes do not average out what is specific to a mount.
pub const MOST_PASSES: u32 = 10;
/// Most seconds that the passes of one phase may take in a trial, cold starts included, if there are several: slow phases need blocks more
/// than passes.
const MOST_SECONDS: f64 = 1.5;
/// Fewest degrees of freedom of either component.
const LEAST_DF: f64 = 4.0;

/// Passes of a phase in each further trial; `None` while too little is known and screening continues.
///
/// `contenders`: for each contender its trials, for each trial the logs of its passes. `trial_seconds`: cost of another trial for this
/// phase, without the pass itself; `pass_seconds`: cost of another pass.
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
    // The mean of n passes contains 1/n of their variance.
    Some((within, of_means - within * mean(&shares)))
}

/// Variances pooled by their degrees of freedom.
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

    /// Three contenders with four trials of two passes: deviations of passes from their mount's mean, and of mounts from their contender's mean.
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
