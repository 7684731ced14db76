//! So many of so many: the share, and how sure it is.
//! In: counts. Out: the exact interval of Clopper and Pearson (1934), which holds at least as often as it says, also for none of few.

use statrs::distribution::{Beta, ContinuousCDF};

/// Half of what a 95 % interval leaves out.
const TAIL: f64 = 0.025;

/// The 95 % interval of a share of which `count` of `of` were seen; everything is possible where nothing was looked at.
pub fn proportion(count: u32, of: u32) -> (f64, f64) {
    let count = count.min(of);
    let (seen, rest) = (f64::from(count), f64::from(of - count));
    let low = Beta::new(seen, rest + 1.0).map_or(0.0, |beta| beta.inverse_cdf(TAIL));
    let high = Beta::new(seen + 1.0, rest).map_or(1.0, |beta| beta.inverse_cdf(1.0 - TAIL));
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: (f64, f64), wanted: (f64, f64)) -> bool {
        (found.0 - wanted.0).abs() < 2e-4 && (found.1 - wanted.1).abs() < 2e-4
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Clopper and Pearson's own formula in closed form for none and for all; 10 of 100 from published tables.
        assert!(is_near(proportion(0, 1000), (0.0, 1.0 - 0.025f64.powf(1e-3))), "{:?}", proportion(0, 1000));
        assert!(is_near(proportion(20, 20), (0.025f64.powf(0.05), 1.0)), "{:?}", proportion(20, 20));
        assert!(is_near(proportion(10, 100), (0.0490, 0.1762)), "{:?}", proportion(10, 100));
        assert_eq!(proportion(0, 0), (0.0, 1.0));
    }
}
