//! Files that somebody changed: real samples with bytes, numbers and whole parts altered, the same for the same seed.
//! In: samples and a reader. Out: nothing; a reader that panics leaves the file and its path behind.
//! `BAKEOFF_FUZZ=100000` asks for so many rounds instead of the usual few, which take seconds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Changes to one file at most.
const MOST_CHANGES: u64 = 8;
/// Largest file that comes out, in bytes.
const LARGEST: usize = 4 << 20;
/// Pieces on which readers have stumbled: ends of numbers, signs that mean something, depths.
const PIECES: [&[u8]; 26] = [
    b"18446744073709551616",
    b"-9223372036854775808",
    b"9223372036854775807",
    b"1e309",
    b"-1",
    b"0",
    b"0.0000000000000001",
    b"NaN",
    b"inf",
    b"null",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\xff\xfe",
    b"\0",
    b"\r\n",
    b"\n\n\n",
    b",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,",
    b"{",
    b"}",
    b"[[[[",
    b"=1+1",
    b"../../../../etc/passwd",
    b"\xe2\x80\xae",
    b"true",
    b"+++++",
];

/// Changes files as chance has it; the same seed changes them in the same way.
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// A mutator of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// splitmix64, below a limit.
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }

    /// A part of a file: where it begins and where it ends.
    fn part(&mut self, length: usize, most: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        (from, (from + self.below(most + 1)).min(length))
    }

    /// One of the samples, changed in one to eight places.
    pub fn changed(&mut self, samples: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = samples[self.below(samples.len())].clone();
        for _ in 0..=self.below(MOST_CHANGES as usize) {
            self.change(&mut bytes, samples);
            bytes.truncate(LARGEST);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
        match self.below(9) {
            0 if !bytes.is_empty() => {
                let at = self.below(bytes.len());
                bytes[at] ^= 1 << self.below(8);
            }
            1 if !bytes.is_empty() => {
                let at = self.below(bytes.len());
                bytes[at] = self.below(256) as u8;
            }
            2 => {
                let (from, to) = self.part(bytes.len(), 64);
                bytes.drain(from..to);
            }
            3 => {
                let (from, to) = self.part(bytes.len(), 256);
                let part = bytes[from..to].to_vec();
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, part);
            }
            4 => {
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, PIECES[self.below(PIECES.len())].iter().copied());
            }
            5 => self.number(bytes),
            6 => {
                let other = &samples[self.below(samples.len())];
                let (from, to) = self.part(other.len(), 2000);
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            7 if self.below(4) == 0 => {
                let at = self.below(bytes.len() + 1);
                bytes.truncate(at);
            }
            8 if self.below(8) == 0 => {
                let deep = [b"[".as_slice(), b"{\"a\":", b"{a=", b"a."][self.below(4)].repeat(3000);
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, deep);
            }
            _ => {}
        }
    }

    /// Puts another number in the place of one.
    fn number(&mut self, bytes: &mut Vec<u8>) {
        let digits: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
        if digits.is_empty() {
            return;
        }
        let from = digits[self.below(digits.len())];
        let length = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let number = PIECES[self.below(10)].to_vec();
        bytes.splice(from..from + length, number);
    }
}

/// Hands changed samples to a reader, as many as usual or as `BAKEOFF_FUZZ` says.
pub fn fuzz(name: &str, samples: &[Vec<u8>], usual: u64, folder: &Path, mut read: impl FnMut(&[u8])) {
    let asked = std::env::var("BAKEOFF_FUZZ").ok().and_then(|rounds| rounds.parse().ok());
    for round in 0..asked.unwrap_or(usual) {
        let bytes = Mutator::new(round).changed(samples);
        if catch_unwind(AssertUnwindSafe(|| read(&bytes))).is_err() {
            let path = folder.join(format!("fuzz-{name}-{round}"));
            let kept = std::fs::write(&path, &bytes);
            panic!("the reader of {name} broke off at round {round}; its file is {} ({kept:?})", path.display());
        }
    }
}
