//! Steady state of an SSD, by SNIA's Performance Test Specification.
//! In: one figure for each round. Out: [`SteadyState`].
//! Five rounds in a row whose range is at most 20 % of their mean and whose fitted line changes by at most 10 %.

use crate::decision::SteadyState;
use crate::numbers::mean;

/// Rounds in the window.
pub const WINDOW: usize = 5;
/// Most rounds.
pub const MOST_ROUNDS: usize = 25;
const RANGE: f64 = 0.20;
const SLOPE: f64 = 0.10;

/// Whether the rounds so far have reached steady state: the first window that qualifies counts.
pub fn steady_state(rounds: &[f64]) -> SteadyState {
    let seen = &rounds[..rounds.len().min(MOST_ROUNDS)];
    for (from, window) in seen.windows(WINDOW).enumerate() {
        let (range, slope) = shape(window);
        if range <= RANGE && slope <= SLOPE {
            return SteadyState::Reached { from, mean: mean(window) };
        }
    }
    if seen.len() == MOST_ROUNDS {
        return SteadyState::Never;
    }
    let last = seen.len().checked_sub(WINDOW).map(|from| shape(&seen[from..]));
    SteadyState::NotYet { range: last.map(|shape| shape.0), slope: last.map(|shape| shape.1) }
}

/// Range, and change of the least-squares line from the first round to the last, as shares of the mean.
fn shape(window: &[f64]) -> (f64, f64) {
    let average = mean(window);
    let (low, high) = window.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let middle = (window.len() as f64 - 1.0) / 2.0;
    let along = |at: usize| at as f64 - middle;
    let across: f64 = (0..window.len()).map(|at| along(at).powi(2)).sum();
    let slope = window.iter().enumerate().map(|(at, value)| along(at) * (value - average)).sum::<f64>() / across;
    let change = (slope * (window.len() - 1) as f64).abs();
    if average > 0.0 { ((high - low) / average, change / average) } else { (f64::INFINITY, f64::INFINITY) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_level_rounds_are_steady() {
        let found = steady_state(&[50.0, 80.0, 100.0, 101.0, 99.0, 100.0, 100.0]);
        assert_eq!(found, SteadyState::Reached { from: 2, mean: 100.0 });
    }

    #[test]
    fn a_slow_slide_within_the_range_is_not_steady() {
        // The range is 16 % of the mean, yet the line falls by 16 %: only the slope rejects it.
        let found = steady_state(&[108.0, 104.0, 100.0, 96.0, 92.0]);
        assert!(matches!(found, SteadyState::NotYet { range: Some(r), slope: Some(s) } if r < 0.2 && s > 0.1));
    }

    #[test]
    fn a_level_line_through_wide_scatter_is_not_steady() {
        let found = steady_state(&[100.0, 125.0, 100.0, 125.0, 100.0]);
        assert!(matches!(found, SteadyState::NotYet { range: Some(r), slope: Some(s) } if r > 0.2 && s < 0.1));
    }

    #[test]
    fn twenty_five_rounds_are_the_end() {
        let rounds: Vec<f64> = (0..30).map(|round| 100.0 * 0.9_f64.powi(round)).collect();
        assert_eq!(steady_state(&rounds), SteadyState::Never);
        assert_eq!(steady_state(&rounds[..3]), SteadyState::NotYet { range: None, slope: None });
    }
}
