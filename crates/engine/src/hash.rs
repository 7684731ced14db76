//! Choices determined by the seed alone: hashes, draws from a range, permutations without memory.
//! In: numbers. Out: numbers; equal input gives equal output on every machine.
//! Nothing here keeps state, so any worker can compute any choice.

/// Mixes one word: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection in which every bit of the input changes every
/// bit of the output with a chance of one half.
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Mixes several words; their order matters.
#[inline]
pub fn mix_all(words: &[u64]) -> u64 {
    words.iter().fold(0x6a09_e667_f3bc_c908, |h, w| mix(h ^ w))
}

/// Hashes bytes (names), a word at a time.
pub fn mix_bytes(bytes: &[u8]) -> u64 {
    let mut hash = mix(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    hash
}

/// A number below `bound` from 64 random bits, by multiplication (Lemire, 2019, without the rejection: the bias is below
/// bound / 2^64). `bound` is at least 1.
#[inline]
pub fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// A permutation of `0..length`: a Feistel network of four rounds over the smallest even number of bits that holds the
/// length, walked along its cycle until it lands inside (Black and Rogaway, CT-RSA 2002); fewer than four steps on average.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    length: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation of `0..length` for this key.
    pub fn new(length: u64, key: u64) -> Permutation {
        let bits = (64 - length.saturating_sub(1).leading_zeros()).max(2);
        let keys = [1, 2, 3, 4].map(|round| mix(key ^ mix(round)));
        Permutation { length, half_bits: bits.div_ceil(2), keys }
    }

    /// The image of `position`, which must be below the length.
    #[inline]
    pub fn at(&self, position: u64) -> u64 {
        debug_assert!(position < self.length);
        let mask = (1u64 << self.half_bits) - 1;
        let mut x = position;
        loop {
            let (mut left, mut right) = (x >> self.half_bits, x & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (round(right, key) & mask));
            }
            x = (left << self.half_bits) | right;
            if x < self.length {
                return x;
            }
        }
    }
}

/// One multiplication is enough for a round function: the order must look random to a filesystem, not to a cryptanalyst.
#[inline]
fn round(half: u64, key: u64) -> u64 {
    let x = (half ^ key).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_meets_every_number_once() {
        for length in [1, 2, 3, 7, 64, 65, 1000, 4097] {
            let p = Permutation::new(length, 42);
            let mut seen = vec![false; length as usize];
            for i in 0..length {
                let at = p.at(i) as usize;
                assert!(!seen[at], "{at} twice in a permutation of {length}");
                seen[at] = true;
            }
        }
    }

    #[test]
    fn another_key_gives_another_order() {
        let (a, b) = (Permutation::new(1000, 1), Permutation::new(1000, 2));
        let same = (0..1000).filter(|i| a.at(*i) == b.at(*i)).count();
        assert!(same < 20, "{same} of 1000 places are the same");
    }

    #[test]
    fn a_permutation_looks_random() {
        // In a random order about 2 in `length` neighbours stay neighbours.
        let p = Permutation::new(100_000, 7);
        let near = (1..100_000).filter(|i| p.at(*i).abs_diff(p.at(*i - 1)) <= 1).count();
        assert!(near < 20, "{near} neighbours stayed side by side");
    }

    #[test]
    fn draws_cover_their_range_evenly() {
        let mut counts = [0u32; 10];
        for i in 0..100_000 {
            counts[below(mix(i), 10) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }
}
