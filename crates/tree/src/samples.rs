//! Samples that are chosen during the scan, of bounded size.
//! In: files, one after the other. Out: random samples, weighted or not; all files of randomly chosen sizes.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BinaryHeap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Pieces of data that are compressed.
pub const PIECES: usize = 1_000;
/// Files whose attributes are read.
pub const ATTRIBUTE_FILES: usize = 2_000;
/// Files that are searched for duplicates.
pub const DUPLICATE_FILES: usize = 20_000;

/// A file of a sample.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chosen {
    /// Size in bytes when it was found.
    pub bytes: u64,
    /// Path below the folder.
    pub path: Box<[u8]>,
}

/// A random sample without replacement, in which a file's chance grows with its weight: those with the smallest keys, drawn from exponential
/// distributions with the weight as rate (Efraimidis and Spirakis, Information Processing Letters 97, 2006).
pub struct Reservoir {
    heap: BinaryHeap<(u64, Chosen)>,
    size: usize,
    /// Bits of the smallest key that was not kept.
    threshold: u64,
}

impl Reservoir {
    fn new(size: usize) -> Reservoir {
        Reservoir { heap: BinaryHeap::with_capacity(size + 1), size, threshold: f64::INFINITY.to_bits() }
    }

    fn add(&mut self, weight: u64, random: f64, chosen: impl FnOnce() -> Chosen) {
        if weight == 0 {
            return;
        }
        // Positive floats have the same order as their bits.
        let key = (-random.max(f64::MIN_POSITIVE).ln() / weight as f64).to_bits();
        if self.heap.len() < self.size || self.heap.peek().is_some_and(|(largest, _)| key < *largest) {
            self.heap.push((key, chosen()));
            if self.heap.len() > self.size {
                self.threshold = self.heap.pop().map_or(self.threshold, |(largest, _)| largest.min(self.threshold));
            }
        } else {
            self.threshold = self.threshold.min(key);
        }
    }

    /// Bytes of all files that a file of this sample represents: its own, divided by its chance to be in the sample.
    pub fn represented(&self) -> impl Fn(u64) -> f64 + use<> {
        let threshold = f64::from_bits(self.threshold);
        move |bytes| bytes as f64 / -(-(bytes as f64) * threshold).exp_m1()
    }

    /// The sample.
    pub fn into_files(self) -> impl Iterator<Item = Chosen> {
        self.heap.into_iter().map(|(_, chosen)| chosen)
    }
}

/// All files whose size is in a random set of sizes: copies have the same size, so that they are in the sample together or not at all.
/// When the sample is full, half of the sizes are dropped (after Gibbons, VLDB 2001).
pub struct BySize {
    files: Vec<Chosen>,
    mask: u64,
    size: usize,
}

impl BySize {
    fn new(size: usize) -> BySize {
        BySize { files: Vec::new(), mask: 0, size }
    }

    fn add(&mut self, bytes: u64, chosen: impl FnOnce() -> Chosen) {
        if bytes == 0 || hash(bytes) & self.mask != 0 {
            return;
        }
        self.files.push(chosen());
        // Sizes that are too frequent for a sample of this size would empty it: then none is left, and no share is shown.
        while self.files.len() > self.size && self.mask != u64::MAX {
            self.mask = self.mask << 1 | 1;
            self.files.retain(|file| hash(file.bytes) & self.mask == 0);
        }
    }

    /// The sample, ordered by size.
    pub fn into_files(mut self) -> Vec<Chosen> {
        self.files.sort_unstable();
        self.files
    }
}

fn hash(bytes: u64) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

/// All samples.
pub struct Samples {
    /// By bytes: for compressibility.
    pub data: Reservoir,
    /// Each file with the same chance: for attributes.
    pub files: Reservoir,
    /// For duplicates.
    pub by_size: BySize,
    random: StdRng,
}

impl Samples {
    /// Empty samples. The random choices are the same for the same tree, read in the same order.
    pub fn new() -> Samples {
        Samples {
            data: Reservoir::new(PIECES),
            files: Reservoir::new(ATTRIBUTE_FILES),
            by_size: BySize::new(DUPLICATE_FILES),
            random: StdRng::seed_from_u64(1),
        }
    }

    /// Considers a file.
    pub fn add(&mut self, bytes: u64, path: impl Fn() -> Box<[u8]>) {
        let chosen = || Chosen { bytes, path: path() };
        self.data.add(bytes, self.random.random(), chosen);
        self.files.add(1, self.random.random(), chosen);
        self.by_size.add(bytes, chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(number: u64) -> Box<[u8]> {
        number.to_string().into_bytes().into()
    }

    #[test]
    fn a_weighted_sample_prefers_large_files_and_keeps_its_size() {
        let mut samples = Samples::new();
        // A hundredth of the files has nine tenths of the bytes.
        (0..100_000u64).for_each(|number| samples.add(if number % 100 == 0 { 89_100 } else { 100 }, || path(number)));
        let represented = samples.data.represented();
        let data: Vec<Chosen> = samples.data.into_files().collect();
        let large = data.iter().filter(|file| file.bytes > 100).count();
        assert_eq!(data.len(), PIECES);
        assert!(large > PIECES / 2, "{large} of {PIECES} are large");
        let bytes: f64 = data.iter().map(|file| represented(file.bytes)).sum();
        assert!((0.9..1.1).contains(&(bytes / 99_000_000.0)), "{bytes} bytes instead of 99,000,000");
        let files: Vec<Chosen> = samples.files.into_files().collect();
        let large = files.iter().filter(|file| file.bytes > 100).count();
        assert!(files.len() == ATTRIBUTE_FILES && large < 60, "{large} of {ATTRIBUTE_FILES} are large");
    }

    #[test]
    fn files_of_one_size_are_sampled_together() {
        let mut by_size = BySize::new(1_000);
        for number in 0..100_000u64 {
            let bytes = 1 + number % 5_000;
            by_size.add(bytes, || Chosen { bytes, path: path(number) });
        }
        let files = by_size.into_files();
        assert!(!files.is_empty() && files.len() <= 1_000, "{}", files.len());
        assert!(files.chunk_by(|a, b| a.bytes == b.bytes).all(|same| same.len() == 20));
    }
}
