//! Distributions in classes: a value for each number of a range, so that all together follow the distribution.
//! In: the classes of `Size::Classes` or `Names::Lengths`, and a number. Out: a value; nothing is stored per value.

use crate::hash::below;
use crate::tree::coprime_step;
use workload::program::{Class, values_in_classes};

/// Values for the numbers below a count.
#[derive(Debug, Clone)]
pub struct Distribution {
    parts: Vec<Part>,
    count: u64,
    step: u64,
    offset: u64,
}

/// A class that has values.
#[derive(Debug, Clone)]
struct Part {
    /// Rank of its smallest value.
    first: u64,
    /// Number of its values.
    values: u64,
    class: Class,
}

impl Distribution {
    /// The distribution of `count` values over valid classes; the key determines which number has which value.
    pub fn new(classes: &[Class], count: u64, key: u64) -> Distribution {
        let (mut parts, mut first) = (Vec::new(), 0);
        for (class, values) in classes.iter().zip(values_in_classes(classes, count)) {
            if values > 0 {
                parts.push(Part { first, values, class: *class });
            }
            first += values;
        }
        let count = count.max(1);
        Distribution { parts, count, step: coprime_step(count), offset: below(key, count) }
    }

    /// The value of a number below the count; its rank is unique among them.
    #[inline]
    pub fn value(&self, number: u64) -> u64 {
        let place = u128::from(number) * u128::from(self.step) + u128::from(self.offset);
        let rank = (place % u128::from(self.count)) as u64;
        let at = self.parts.partition_point(|part| part.first <= rank).saturating_sub(1);
        let Some(Part { first, values, class }) = self.parts.get(at) else { return 0 };
        // Spread evenly over the class, in the middles of equal parts.
        let width = u128::from(class.most - class.least) + 1;
        class.least + (u128::from(2 * (rank - first) + 1) * width / u128::from(2 * values)) as u64
    }

    /// The largest value.
    pub fn largest(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.class.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_classes_as_closely_as_their_number_allows() {
        let class = |weight, least, most| Class { weight, least, most };
        let classes = [class(50, 0, 0), class(30, 1, 100), class(19, 1_000, 1_999), class(1, 1 << 40, 1 << 40)];
        for count in [100, 1_000, 99_999] {
            let distribution = Distribution::new(&classes, count, 7);
            let values: Vec<u64> = (0..count).map(|number| distribution.value(number)).collect();
            for Class { weight, least, most } in classes {
                let found = values.iter().filter(|value| (least..=most).contains(value)).count() as u64;
                assert!(found.abs_diff(weight * count / 100) <= 1, "{found} of {count} in {least}..={most}");
            }
            assert_eq!(values.iter().max(), Some(&distribution.largest()));
        }
    }

    #[test]
    fn a_class_too_rare_for_so_few_values_has_none() {
        let class = |weight, least| Class { weight, least, most: least };
        let distribution = Distribution::new(&[class(999, 1), class(1, 1 << 50)], 100, 0);
        assert_eq!((distribution.value(99), distribution.largest()), (1, 1));
    }
}
