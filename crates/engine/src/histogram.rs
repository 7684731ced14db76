//! Latency histograms: a log-linear one in shared memory for the hot path, and the HDR interchange form.
//! In: nanoseconds. Out: count, extremes, exact mean, and the HDR V2 deflate encoding.
//! Buckets are those of HdrHistogram with 3 digits from 1 ns on, so that nothing is rounded twice.

use base64::Engine as _;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use workload::outcome::{Histogram, Percentiles};

/// Values below this have a bucket per nanosecond; above, each power of two is divided into half as many.
const LINEAR: u64 = 2048;
const HALF: u64 = LINEAR / 2;

/// Longest distinguishable latency: 2^43 ns, two hours and twenty-six minutes.
const LARGEST: u64 = (1 << 43) - 1;

const COUNT: usize = 0;
const SUM: usize = 1;
const LEAST: usize = 2;
const MOST: usize = 3;
const BUCKETS: usize = 8;

/// Words of shared memory per histogram; pages without latencies are never touched.
pub const WORDS: usize = BUCKETS + index(LARGEST) + 1;

/// Bucket of a value.
#[inline]
const fn index(value: u64) -> usize {
    if value < LINEAR {
        return value as usize;
    }
    let shift = 53 - value.leading_zeros() as u64;
    (shift * HALF + (value >> shift)) as usize
}

/// Smallest value of a bucket.
const fn value(index: usize) -> u64 {
    let index = index as u64;
    if index < LINEAR {
        return index;
    }
    let shift = index / HALF - 1;
    (index - shift * HALF) << shift
}

/// The hot path: one worker records into words that the gatherer reads.
pub struct Recorder<'a> {
    words: &'a [AtomicU64],
    count: u64,
    sum: u64,
    least: u64,
    most: u64,
    /// Longest since [`Recorder::take_longest`].
    longest: u64,
}

impl<'a> Recorder<'a> {
    /// A recorder into words that are all zero.
    pub fn new(words: &'a [AtomicU64]) -> Recorder<'a> {
        Recorder { words: &words[..WORDS], count: 0, sum: 0, least: u64::MAX, most: 0, longest: 0 }
    }

    /// Records one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.sum += ns;
        self.least = self.least.min(ns);
        self.most = self.most.max(ns);
        self.longest = self.longest.max(ns);
        // There is only one writer, so a plain load and store suffice.
        let word = &self.words[BUCKETS + index(ns.min(LARGEST))];
        word.store(word.load(Relaxed) + 1, Relaxed);
    }

    /// Number of recorded latencies, and their sum in nanoseconds.
    pub fn totals(&self) -> (u64, u64) {
        (self.count, self.sum)
    }

    /// The longest latency since the last call, in nanoseconds.
    pub fn take_longest(&mut self) -> u64 {
        std::mem::take(&mut self.longest)
    }

    /// Publishes the totals to the gatherer.
    pub fn flush(&self) {
        self.words[COUNT].store(self.count, Relaxed);
        self.words[SUM].store(self.sum, Relaxed);
        self.words[LEAST].store(self.least, Relaxed);
        self.words[MOST].store(self.most, Relaxed);
    }

    /// Clears everything: the ramp is over.
    pub fn clear(&mut self) {
        if self.count > 0 {
            for word in &self.words[BUCKETS + index(self.least)..=BUCKETS + index(self.most.min(LARGEST))] {
                word.store(0, Relaxed);
            }
        }
        *self = Recorder::new(self.words);
        self.flush();
    }
}

/// The cold path: the sum of several workers' histograms.
pub struct Merged {
    hdr: hdrhistogram::Histogram<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Merged {
    /// An empty histogram.
    pub fn new() -> Merged {
        let mut hdr = hdrhistogram::Histogram::new_with_bounds(1, LARGEST, 3).expect("bounds that HDR allows");
        hdr.auto(false);
        Merged { hdr, count: 0, sum: 0, least: u64::MAX, most: 0 }
    }

    /// Adds a worker's histogram.
    pub fn add(&mut self, words: &[AtomicU64]) {
        let count = words[COUNT].load(Relaxed);
        if count == 0 {
            return;
        }
        let (least, most) = (words[LEAST].load(Relaxed), words[MOST].load(Relaxed));
        self.count += count;
        self.sum += u128::from(words[SUM].load(Relaxed));
        self.least = self.least.min(least);
        self.most = self.most.max(most);
        for i in index(least.min(LARGEST))..=index(most.min(LARGEST)) {
            let n = words[BUCKETS + i].load(Relaxed);
            if n > 0 {
                self.hdr.saturating_record_n(value(i), n);
            }
        }
    }

    /// Adds counts from another source: nanoseconds and how often, with the reported extremes and mean.
    pub fn add_counts(&mut self, counts: impl Iterator<Item = (u64, u64)>, (least, most): (u64, u64), mean: f64) {
        let mut number = 0;
        for (ns, count) in counts {
            self.hdr.saturating_record_n(ns, count);
            number += count;
        }
        if number > 0 {
            self.count += number;
            self.sum += (mean.max(0.0) * number as f64) as u128;
            self.least = self.least.min(least);
            self.most = self.most.max(most);
        }
    }

    /// The interchange form; None if nothing was recorded.
    pub fn finish(self) -> Option<Histogram> {
        if self.count == 0 {
            return None;
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.hdr, &mut bytes).ok()?;
        Some(Histogram {
            count: self.count,
            min_ns: self.least,
            max_ns: self.most,
            mean_ns: self.sum as f64 / self.count as f64,
            hdr: base64::engine::general_purpose::STANDARD.encode(bytes),
        })
    }
}

/// Merges histograms of several engines bucket by bucket, so that percentiles are those of all values; None if nothing was recorded.
///
/// # Errors
/// One of them is not in the engine's form.
pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Histogram>) -> Result<Option<Histogram>, String> {
    let mut merged = Merged::new();
    for part in parts {
        let hdr = read(part)?;
        let counts = hdr.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()));
        merged.add_counts(counts, (part.min_ns, part.max_ns), part.mean_ns);
    }
    Ok(merged.finish())
}

/// The reported percentiles of a histogram.
///
/// # Errors
/// As of [`merged`].
pub fn percentiles(of: &Histogram) -> Result<Percentiles, String> {
    let hdr = read(of)?;
    Ok(of.percentiles(|quantile| hdr.value_at_quantile(quantile)))
}

fn read(part: &Histogram) -> Result<hdrhistogram::Histogram<u64>, String> {
    let failed = |why: String| format!("reading the latencies of another engine: {why}");
    let bytes = base64::engine::general_purpose::STANDARD.decode(&part.hdr).map_err(|e| failed(e.to_string()))?;
    let mut reader = hdrhistogram::serialization::Deserializer::new();
    reader.deserialize(&mut bytes.as_slice()).map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    fn decode(h: &Histogram) -> hdrhistogram::Histogram<u64> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(&h.hdr).unwrap();
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
    }

    #[test]
    fn buckets_are_those_of_hdr() {
        let hdr = Merged::new().hdr;
        for v in (0..100_000).chain((17..43).flat_map(|b| [(1 << b) - 1, 1 << b, (1 << b) + 12_345])) {
            assert_eq!(value(index(v)), hdr.lowest_equivalent(v), "{v}");
        }
        assert!(index(LARGEST) + BUCKETS < WORDS);
    }

    #[test]
    fn recorded_values_come_back() {
        let words = words();
        let mut recorder = Recorder::new(&words);
        for ns in 1..=10_000u64 {
            recorder.record(ns * 100);
        }
        recorder.flush();
        let mut merged = Merged::new();
        merged.add(&words);
        merged.add(&words);
        let h = merged.finish().unwrap();
        assert_eq!((h.count, h.min_ns, h.max_ns), (20_000, 100, 1_000_000));
        assert!((h.mean_ns - 500_050.0).abs() < 1e-6);
        let median = decode(&h).value_at_quantile(0.5);
        assert!(median.abs_diff(500_000) <= 500, "{median}");
    }

    #[test]
    fn percentiles_of_several_are_those_of_all_their_values() {
        let mut all: Vec<u64> = Vec::new();
        let parts: Vec<Histogram> = (0..8u64)
            .map(|client| {
                let words = words();
                let mut recorder = Recorder::new(&words);
                for n in 0..5_000u64 {
                    // One client is ten times as slow as the others, so that a mean of percentiles would be wrong.
                    let slow = if client == 5 { 10 } else { 1 };
                    let ns = (1_000 + (crate::hash::mix(n + client * 10_000) % 400_000)) * slow;
                    recorder.record(ns);
                    all.push(ns);
                }
                recorder.flush();
                let mut one = Merged::new();
                one.add(&words);
                one.finish().unwrap()
            })
            .collect();
        all.sort_unstable();
        let of_all = merged(&parts).unwrap().unwrap();
        let found = percentiles(&of_all).unwrap();
        let exact = |quantile: f64| all[(quantile * all.len() as f64).ceil() as usize - 1];
        for (found, exact) in [(found.p50_ns, exact(0.5)), (found.p99_ns, exact(0.99)), (found.p999_ns, exact(0.999))] {
            assert_eq!(index(found), index(exact), "{found} represents {exact}: another bucket");
        }
        assert_eq!((found.count, found.max_ns), (40_000, *all.last().unwrap()));
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        assert!((found.mean_ns - mean).abs() < 1.0, "{} {mean}", found.mean_ns);
        assert_eq!(merged(&[]).unwrap(), None);
    }

    #[test]
    fn nothing_recorded_is_nothing_and_not_zero() {
        let words = words();
        let mut merged = Merged::new();
        merged.add(&words);
        assert!(merged.finish().is_none());
    }

    #[test]
    fn a_cleared_recorder_is_empty() {
        let words = words();
        let mut recorder = Recorder::new(&words);
        recorder.record(5);
        recorder.record(u64::MAX / 4);
        recorder.clear();
        assert!(words.iter().enumerate().all(|(i, w)| i == LEAST || w.load(Relaxed) == 0));
    }
}
