//! Limits of this machine's memory and clock, without any filesystem: no valid figure exceeds them.
//! In: only the machine. Out: `workload::outcome::Ceiling`, in about a fifth of a second.
//! The best of several short rounds counts, since a ceiling is the best that can be reached.

use crate::clock::{Calibrator, kernel_ns};
use crate::content::{Generator, Source};
use crate::histogram::{Recorder, WORDS};
use std::sync::atomic::AtomicU64;
use workload::outcome::Ceiling;
use workload::program::Content;

/// Bytes of one round: the size of a large write.
const BLOCK: usize = 1 << 20;

/// Memory to write to, larger than the private caches of a core.
const TARGET: usize = 32 << 20;

const ROUNDS: usize = 7;

/// Readings of the clock in one round.
const READINGS: u64 = 200_000;

/// Measures the ceiling.
pub fn measure(calibrator: &Calibrator) -> Ceiling {
    let clock = calibrator.clock();
    let begun = kernel_ns();
    let mut generator = Generator::new(1, Content::default());
    let mut block = vec![0u8; BLOCK];
    let mut target = vec![1u8; TARGET];
    let mut version = 0;
    let mut fill = |block: &mut [u8]| {
        version += 1;
        generator.fill(block, Source { file: 1, version }, 0);
        std::hint::black_box(block);
    };
    let generate = best(|| (0..TARGET / BLOCK).for_each(|_| fill(&mut block)));
    let write = best(|| {
        for chunk in target.chunks_exact_mut(BLOCK) {
            fill(&mut block);
            chunk.copy_from_slice(&block);
        }
        std::hint::black_box(&mut target);
    });
    let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
    let mut recorder = Recorder::new(&words);
    let reading = best(|| (0..READINGS).for_each(|_| _ = std::hint::black_box(clock.now())));
    let recording = best(|| {
        let mut last = clock.now();
        for _ in 0..READINGS {
            let now = clock.now();
            recorder.record(now - last);
            last = now;
        }
    });
    Ceiling {
        generate_bytes_per_second: TARGET as f64 / generate,
        write_bytes_per_second: TARGET as f64 / write,
        clock_read_ns: reading * 1e9 / READINGS as f64,
        record_ns: recording * 1e9 / READINGS as f64,
        clock: clock.name().into(),
        clock_error: clock.error_since(begun),
    }
}

/// Seconds of the fastest of a few rounds.
fn best(mut round: impl FnMut()) -> f64 {
    let mut best = u64::MAX;
    for _ in 0..ROUNDS {
        let start = kernel_ns();
        round();
        best = best.min(kernel_ns() - start);
    }
    best.max(1) as f64 / 1e9
}
