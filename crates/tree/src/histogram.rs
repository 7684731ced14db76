//! Histograms of whole numbers over the whole range of 64 bits, in little memory.
//! In: values. Out: bins, shares, classes of similar values, and the distance between two histograms.

/// Bins per power of two, as a power of two: bins are at most 1/16 of their smallest value wide, and exact below 32.
const PRECISION_BITS: u32 = 4;

/// The values of one bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bin {
    /// Number of values.
    pub count: u64,
    /// Smallest value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
    /// Sum of the values.
    pub sum: u128,
}

impl Bin {
    fn with(self, other: Bin) -> Bin {
        match (self.count, other.count) {
            (0, _) => other,
            (_, 0) => self,
            _ => Bin {
                count: self.count + other.count,
                least: self.least.min(other.least),
                most: self.most.max(other.most),
                sum: self.sum + other.sum,
            },
        }
    }
}

/// A histogram with a relative precision of 1/16.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    bins: Vec<Bin>,
}

fn bin_of(value: u64) -> usize {
    let shift = value.max(1).ilog2().saturating_sub(PRECISION_BITS);
    ((shift << PRECISION_BITS) as usize) + (value >> shift) as usize
}

impl Histogram {
    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Adds a value several times.
    pub fn add_many(&mut self, value: u64, count: u64) {
        let at = bin_of(value);
        if self.bins.len() <= at {
            self.bins.resize(at + 1, Bin::default());
        }
        let added = Bin { count, least: value, most: value, sum: u128::from(value) * u128::from(count) };
        self.bins[at] = self.bins[at].with(added);
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.bins.resize(self.bins.len().max(other.bins.len()), Bin::default());
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin = bin.with(*more);
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// Sum of the values.
    pub fn sum(&self) -> u128 {
        self.bins.iter().map(|bin| bin.sum).sum()
    }

    /// Largest value; 0 if there is none.
    pub fn largest(&self) -> u64 {
        self.bins.last().map_or(0, |bin| bin.most)
    }

    /// The share of values from `least` to `most`, both included. Exact if both are limits of bins, as powers of two are.
    pub fn share(&self, least: u64, most: u64) -> f64 {
        let within = self.bins.iter().filter(|bin| bin.count > 0 && (least..=most).contains(&bin.least));
        within.map(|bin| bin.count).sum::<u64>() as f64 / self.count().max(1) as f64
    }

    /// Bins that are not empty, neighbours merged: until a class has one of `parts` equal parts of the number or of the sum of values, or its
    /// largest value would exceed `spread` times its smallest.
    pub fn classes(&self, parts: u32, spread: f64) -> Vec<Bin> {
        let (count, sum) = (self.count() as f64 / f64::from(parts), self.sum() as f64 / f64::from(parts));
        let mut classes: Vec<Bin> = Vec::new();
        for bin in self.bins.iter().filter(|bin| bin.count > 0) {
            let joins = |class: &Bin| {
                bin.most as f64 <= class.least as f64 * spread
                    && (class.count as f64) < count
                    && (class.sum as f64) < sum
            };
            match classes.last_mut().filter(|class| joins(class)) {
                Some(class) => *class = class.with(*bin),
                None => classes.push(*bin),
            }
        }
        classes
    }

    /// The Kolmogorov-Smirnov distance: the largest difference between the shares of values up to any limit, from 0 (equal) to 1. An empty
    /// histogram is at distance 1 from any other (Kolmogorov, 1933; Smirnov, 1948).
    pub fn distance(&self, other: &Histogram) -> f64 {
        let (own, others) = (self.count(), other.count());
        if own == 0 || others == 0 {
            return if own == others { 0.0 } else { 1.0 };
        }
        let at = |bins: &[Bin], number: usize| bins.get(number).map_or(0, |bin| bin.count) as f64;
        let (mut first, mut second, mut largest) = (0.0, 0.0, 0.0f64);
        for number in 0..self.bins.len().max(other.bins.len()) {
            first += at(&self.bins, number) / own as f64;
            second += at(&other.bins, number) / others as f64;
            largest = largest.max((first - second).abs());
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.add(value));
        histogram
    }

    #[test]
    fn bins_are_narrow_and_ascend() {
        let mut last = 0;
        for value in (0..5_000).chain([1 << 20, (1 << 40) + 1, u64::MAX]) {
            let bin = bin_of(value);
            assert!(bin >= last, "{value}");
            last = bin;
        }
        let wide = of([1_000_000, 1_060_000]);
        assert!(wide.bins.iter().filter(|bin| bin.count > 0).all(|bin| bin.most - bin.least <= bin.least / 16));
        assert!(bin_of(u64::MAX) < 1_024);
    }

    #[test]
    fn classes_keep_number_sum_and_range() {
        let histogram = of((0..10_000).map(|value| value * value));
        let classes = histogram.classes(32, 2.0);
        assert!((20..120).contains(&classes.len()), "{}", classes.len());
        assert_eq!(classes.iter().map(|class| class.count).sum::<u64>(), 10_000);
        assert_eq!(classes.iter().map(|class| class.sum).sum::<u128>(), histogram.sum());
        assert!(classes.windows(2).all(|pair| pair[0].most < pair[1].least));
        assert_eq!(classes.last().map(|class| class.most), Some(9_999 * 9_999));
    }

    #[test]
    fn a_single_large_value_is_a_class_of_its_own() {
        let classes = of(std::iter::repeat_n(100, 99).chain([1 << 30])).classes(32, 2.0);
        assert_eq!(
            classes.iter().map(|class| (class.count, class.least)).collect::<Vec<_>>(),
            [(99, 100), (1, 1 << 30)]
        );
    }

    #[test]
    fn the_distance_is_the_largest_difference_of_shares() {
        let (a, b) = (of([1, 1, 1, 1]), of([1, 1, 1, 1_000]));
        assert!((a.distance(&b) - 0.25).abs() < 1e-12);
        assert_eq!((a.distance(&a), a.distance(&of([])), of([]).distance(&of([]))), (0.0, 1.0, 0.0));
    }

    #[test]
    fn shares_count_values() {
        let histogram = of(0..100);
        assert_eq!(histogram.largest(), 99);
        assert!((histogram.share(0, 31) - 0.32).abs() < 1e-12);
    }
}
