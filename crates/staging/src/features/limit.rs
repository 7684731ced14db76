//! Searching for limits.
//! In: a test for a number. Out: the largest number that passes.

/// The largest accepted number from `low` (taken as accepted) to `high`, if all below it are accepted.
pub(crate) fn largest(low: u64, high: u64, mut accepts: impl FnMut(u64) -> bool) -> u64 {
    if accepts(high) {
        return high;
    }
    let (mut good, mut bad) = (low, high);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if accepts(middle) { good = middle } else { bad = middle }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_accepted_number_is_found_between_and_at_the_ends() {
        for limit in [0, 1, 255, 4095, 4096] {
            assert_eq!(largest(0, 4096, |n| n <= limit), limit);
        }
        assert_eq!(largest(0, i64::MAX as u64, |n| n <= 17_592_186_040_320), 17_592_186_040_320);
    }
}
