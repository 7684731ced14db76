//! Data to write: incompressible and unique in every 4 KiB, or as compressible and repetitive as the fileset requests.
//! In: a content, the file's identity, an offset, a version. Out: bytes; equal input gives equal output.
//! A pool of random words is combined with a key that is new for every 4 KiB and changes every 64 bytes: as
//! fast as a copy, and neither compressible nor deduplicable.

use crate::hash::{below, mix, mix_all};
use crate::{patterns, stamp};
use workload::program::Content;

/// Unit of uniqueness, compression and verification, in bytes.
pub const GRAIN: usize = 4096;

/// Words per iteration of the inner loop: enough independent sums to fill the processor's adders.
const LANES: usize = 8;
const VECTORS: usize = GRAIN / 8 / LANES;

/// The pool: one grain of random words.
type Pool = [[u64; LANES]; VECTORS];

/// Fills a grain, or the beginning of one, from the pool and a key.
type Fill = fn(&mut [u8], &Pool, u64);

/// Number of distinct grains that duplicates repeat.
const DUPLICATES: u64 = 64;

/// Where and when bytes are written; determines a grain's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// [`crate::names::Files::identity`] of the file.
    pub file: u64,
    /// Changes with each write to the same place, so that no data is written twice.
    pub version: u64,
}

/// The generator of one fileset's content.
pub struct Generator {
    content: Content,
    seed: u64,
    pool: Box<Pool>,
    pattern: Option<&'static [u8]>,
    scratch: Box<[u8; GRAIN]>,
    scratch_of: Option<(Source, u64)>,
    fill: Fill,
}

impl Generator {
    /// A generator whose bytes are all determined by the seed.
    pub fn new(seed: u64, content: Content) -> Generator {
        let mut pool = Box::new([[0; LANES]; VECTORS]);
        let mut state = mix(seed ^ 0x706f_6f6c);
        for word in pool.as_flattened_mut() {
            state = mix(state);
            *word = mix(state ^ seed);
        }
        let pattern = content.pattern.map(patterns::stock);
        Generator { content, seed, pool, pattern, scratch: Box::new([0; GRAIN]), scratch_of: None, fill: fastest() }
    }

    /// Fills a buffer with the file's content from `offset` on.
    pub fn fill(&mut self, buffer: &mut [u8], source: Source, offset: u64) {
        if self.content.zeros && !self.content.verify {
            buffer.fill(0);
            return;
        }
        let mut offset = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let within = (offset % GRAIN as u64) as usize;
            let take = rest.len().min(GRAIN - within);
            let (now, later) = rest.split_at_mut(take);
            self.piece(now, source, offset / GRAIN as u64, within);
            offset += take as u64;
            rest = later;
        }
    }

    fn piece(&mut self, out: &mut [u8], source: Source, grain: u64, within: usize) {
        if within == 0 && (out.len() == GRAIN || !self.content.verify && out.len() >= 64) {
            self.grain(out, source, grain);
            return;
        }
        // Small calls use a grain piece by piece: it is generated once, then copied.
        if self.scratch_of != Some((source, grain)) {
            let mut scratch = std::mem::replace(&mut self.scratch, Box::new([0; GRAIN]));
            self.grain(&mut scratch[..], source, grain);
            self.scratch = scratch;
            self.scratch_of = Some((source, grain));
        }
        out.copy_from_slice(&self.scratch[within..within + out.len()]);
    }

    /// Generates the beginning of one grain.
    fn grain(&self, out: &mut [u8], source: Source, grain: u64) {
        if self.content.zeros {
            out.fill(0);
        } else {
            let stream = mix(source.file ^ mix(source.version ^ self.seed));
            let key = self.key(stream, grain);
            match self.pattern {
                Some(stock) => {
                    // The grains of a file follow each other in the stock; duplicates have a fixed position.
                    let at =
                        if key == place(stream, grain) { mix(stream).wrapping_add(grain * GRAIN as u64) } else { key };
                    patterns::fill(out, stock, at, key);
                }
                None => (self.fill)(out, &self.pool, key),
            }
            let zeros = GRAIN * usize::from(self.content.compressible_percent.min(100)) / 100;
            if zeros > 0 {
                let from = (GRAIN - zeros).min(out.len());
                out[from..].fill(0);
            }
        }
        if self.content.verify && out.len() == GRAIN {
            stamp::write(out, source, grain);
        }
    }

    /// The key of a grain of the data of `stream`; a share of grains uses one of a few keys, so that they repeat. This runs for every 4 KiB, so it
    /// is one mix and a multiplication for each lane: each is a bijection of the mixed word, hence no two grains have a lane in common.
    #[inline]
    fn key(&self, stream: u64, grain: u64) -> u64 {
        let mut place = place(stream, grain);
        let percent = u64::from(self.content.duplicate_percent);
        if percent > 0 && below(mix(place), 100) < percent {
            place = mix_all(&[self.seed, 0xd0b1e, place % DUPLICATES]);
        }
        place
    }
}

/// The key of a grain that is no duplicate.
#[inline]
fn place(stream: u64, grain: u64) -> u64 {
    mix(stream ^ grain.wrapping_mul(0xa076_1d64_78bd_642f))
}

/// Odd constants by which the lanes of a key differ and advance; from the golden ratio and the primes of xxHash.
const STRIDES: [u64; LANES] = [
    0x9e37_79b9_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
    0x2545_f491_4f6c_dd1d,
    0xd6e8_feb8_6659_fd93,
    0xbf58_476d_1ce4_e5b9,
];

#[inline(always)]
fn fill_generic(out: &mut [u8], pool: &Pool, place: u64) {
    // Computed here and not passed: an argument of this size is in the caller's memory, and each step would wait for it.
    let mut key = STRIDES.map(|stride| place.wrapping_mul(stride));
    let mut vectors = out.chunks_exact_mut(8 * LANES);
    let mut used = 0;
    for (vector, random) in (&mut vectors).zip(pool) {
        for lane in 0..LANES {
            key[lane] = key[lane].wrapping_add(STRIDES[lane]);
            let word = random[lane] ^ key[lane];
            vector[8 * lane..8 * lane + 8].copy_from_slice(&word.to_le_bytes());
        }
        used += 1;
    }
    let rest = vectors.into_remainder();
    if !rest.is_empty() {
        let mut last = [0u8; 8 * LANES];
        for lane in 0..LANES {
            let word = pool[used % VECTORS][lane] ^ key[lane].wrapping_add(STRIDES[lane]);
            last[8 * lane..8 * lane + 8].copy_from_slice(&word.to_le_bytes());
        }
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

fn fill_plain(out: &mut [u8], pool: &Pool, key: u64) {
    fill_generic(out, pool, key);
}

#[cfg(target_arch = "x86_64")]
fn fastest() -> Fill {
    wide::fastest().unwrap_or(fill_plain)
}

#[cfg(not(target_arch = "x86_64"))]
fn fastest() -> Fill {
    fill_plain
}

/// The same loop, compiled for wider registers.
#[cfg(target_arch = "x86_64")]
mod wide {
    #![allow(unsafe_code)]
    use super::{Fill, Pool, fill_generic};

    #[target_feature(enable = "avx2")]
    fn avx2(out: &mut [u8], pool: &Pool, key: u64) {
        fill_generic(out, pool, key);
    }

    fn checked(out: &mut [u8], pool: &Pool, key: u64) {
        // SAFETY: only returned by `fastest` after the processor was found to have AVX2.
        unsafe { avx2(out, pool, key) }
    }

    pub fn fastest() -> Option<Fill> {
        std::is_x86_feature_detected!("avx2").then_some(checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use workload::program::Pattern;

    fn bytes(content: Content, file: u64, version: u64, length: usize) -> Vec<u8> {
        let mut out = vec![0; length];
        Generator::new(1, content).fill(&mut out, Source { file, version }, 0);
        out
    }

    #[test]
    fn no_two_grains_are_the_same() {
        let mut seen = HashSet::new();
        for (file, version) in [(1, 0), (2, 0), (1, 1)] {
            for grain in bytes(Content::default(), file, version, 4 << 20).chunks(GRAIN) {
                assert!(seen.insert(grain.to_vec()));
            }
        }
    }

    #[test]
    fn bytes_are_spread_evenly() {
        let data = bytes(Content::default(), 3, 0, 1 << 20);
        let mut counts = [0u64; 256];
        data.iter().for_each(|b| counts[usize::from(*b)] += 1);
        let expected = (data.len() / 256) as f64;
        let chi: f64 = counts.iter().map(|c| (*c as f64 - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert!(chi < 400.0, "chi squared {chi}");
    }

    #[test]
    fn shares_are_kept() {
        let half = bytes(Content { compressible_percent: 50, ..Content::default() }, 1, 0, 1 << 20);
        let zeros = half.iter().filter(|b| **b == 0).count() as f64 / half.len() as f64;
        assert!((0.49..0.52).contains(&zeros), "{zeros}");
        let repeated = bytes(Content { duplicate_percent: 30, ..Content::default() }, 1, 0, 16 << 20);
        let kinds: HashSet<&[u8]> = repeated.chunks(GRAIN).collect();
        let share = 1.0 - (kinds.len() as f64 - DUPLICATES as f64) / (repeated.len() / GRAIN) as f64;
        assert!((0.27..0.33).contains(&share), "{share}");
        assert!(bytes(Content { zeros: true, ..Content::default() }, 1, 0, 9_999).iter().all(|b| *b == 0));
    }

    #[test]
    fn patterns_compress_as_such_data_does_and_repeat_no_grain() {
        let ratio = |data: &[u8]| {
            let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut packed, data).expect("in memory");
            data.len() as f64 / packed.finish().expect("in memory").len() as f64
        };
        // Deflate makes 2.2 to 3 of English prose and 5 to 12 of web servers' logs.
        for (pattern, least, most) in [(Pattern::Text, 2.0, 3.5), (Pattern::Logs, 4.5, 12.0)] {
            let content = Content { pattern: Some(pattern), ..Content::default() };
            let data = bytes(content, 1, 0, 16 << 20);
            let found = ratio(&data[..128 << 10]);
            assert!((least..most).contains(&found), "{pattern:?}: {found}");
            assert!(data.is_ascii(), "{pattern:?}");
            let grains: HashSet<&[u8]> = data.chunks(GRAIN).collect();
            assert_eq!(grains.len(), data.len() / GRAIN, "{pattern:?}");
            assert_ne!(data[..GRAIN], bytes(content, 1, 1, GRAIN)[..], "{pattern:?}");
            let repeated = bytes(Content { duplicate_percent: 50, ..content }, 1, 0, 4 << 20);
            let kinds: HashSet<&[u8]> = repeated.chunks(GRAIN).collect();
            assert!((400..700).contains(&kinds.len()), "{pattern:?}: {} of 1024 differ", kinds.len());
        }
    }

    #[test]
    fn pieces_of_any_length_give_the_same_stream() {
        let text = Content { pattern: Some(Pattern::Text), ..Content::default() };
        for content in [Content::default(), Content { verify: true, ..Content::default() }, text] {
            let whole = bytes(content, 5, 2, 3 * GRAIN);
            for piece in [1, 100, 1000, 5000] {
                let mut generator = Generator::new(1, content);
                let mut out = vec![0; whole.len()];
                let mut at = 0;
                for chunk in out.chunks_mut(piece) {
                    generator.fill(chunk, Source { file: 5, version: 2 }, at);
                    at += chunk.len() as u64;
                }
                assert!(out == whole, "pieces of {piece}");
            }
        }
    }

    #[test]
    fn wide_and_plain_code_agree() {
        let generator = Generator::new(9, Content::default());
        let key = generator.key(77, 3);
        for length in [64, 100, 1023, 4096] {
            let (mut a, mut b) = (vec![0; length], vec![0; length]);
            fill_plain(&mut a, &generator.pool, key);
            (generator.fill)(&mut b, &generator.pool, key);
            assert_eq!(a, b);
        }
    }
}
