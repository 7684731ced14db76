//! A count out of a total: the share, and its interval.
//! In: counts. Out: the exact interval of Clopper and Pearson (1934), whose coverage is at least nominal, also for a count of zero in a small sample.

use statrs::distribution::{Beta, ContinuousCDF};

/// Probability in each tail outside a 95 % interval.
const TAIL: f64 = 0.025;

/// The 95 % interval of a share from `count` of `of`; everything is possible for a total of zero.
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
        // The closed form of Clopper and Pearson for none and for all; 10 of 100 from published tables.
        assert!(is_near(proportion(0, 1000), (0.0, 1.0 - 0.025f64.powf(1e-3))), "{:?}", proportion(0, 1000));
        assert!(is_near(proportion(20, 20), (0.025f64.powf(0.05), 1.0)), "{:?}", proportion(20, 20));
        assert!(is_near(proportion(10, 100), (0.0490, 0.1762)), "{:?}", proportion(10, 100));
        assert_eq!(proportion(0, 0), (0.0, 1.0));
    }
}
