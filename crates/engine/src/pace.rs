//! An open loop: operations start when they are due, however long the previous ones take.
//! In: a rate and a schedule that the group's workers share. Out: the due time of each operation, and how many were late.
//! Response times start at the due time, so that waiting is not omitted.

use crate::hash::mix;
use crate::shared::Count;
use crate::tally::Tally;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::program::Rate;

/// An operation is late if it starts more than this after it was due: well above the time of a wake-up, and
/// well below what a user would call sustained.
pub const LATE_NS: u64 = 1_000_000;

/// Sleeping ends this long before an operation is due; the rest is spent spinning.
const SPIN_NS: u64 = 80_000;

/// Longest sleep, so that a stop is noticed.
const SLEEP_NS: u64 = 100_000_000;

/// Words of the group: 0 is the lock, 1 the due time of the next operation, 2 its number.
const LOCK: usize = 0;
const DUE: usize = 1;
const NUMBER: usize = 2;

/// One worker's access to its group's schedule; without a rate it does nothing.
pub struct Pacer<'a> {
    rate: Option<(f64, bool)>,
    words: &'a [AtomicU64],
    seed: u64,
    late: u64,
    started: u64,
}

impl<'a> Pacer<'a> {
    /// The pacer of a group; `words` are the group's in shared memory.
    pub fn new(rate: Option<Rate>, words: &'a [AtomicU64], seed: u64) -> Pacer<'a> {
        let rate = rate.map(|r| (1e9 / r.per_second, r.poisson));
        Pacer { rate, words, seed, late: 0, started: 0 }
    }

    /// Whether there is a rate.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.rate.is_some()
    }

    /// Takes the next due time from the schedule; None without a rate.
    pub fn next(&mut self, start: u64) -> Option<u64> {
        let (mean_ns, poisson) = self.rate?;
        while self.words[LOCK].compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        let number = self.words[NUMBER].load(Ordering::Relaxed);
        let due = if poisson {
            // Exponential gaps form a Poisson process; the first gap counts from the start.
            let uniform = (mix(self.seed ^ mix(number)) >> 11) as f64 / (1u64 << 53) as f64;
            let before = if number == 0 { start } else { self.words[DUE].load(Ordering::Relaxed) };
            before + (-(1.0 - uniform).ln() * mean_ns) as u64
        } else {
            start + (number as f64 * mean_ns) as u64
        };
        self.words[DUE].store(due, Ordering::Relaxed);
        self.words[NUMBER].store(number + 1, Ordering::Relaxed);
        self.words[LOCK].store(0, Ordering::Release);
        Some(due)
    }

    /// Waits until the next operation is due, and returns its due time. None: the phase ended meanwhile.
    #[inline]
    pub fn wait(&mut self, tally: &mut Tally) -> Option<u64> {
        if self.rate.is_none() {
            return Some(0);
        }
        self.wait_open(tally)
    }

    fn wait_open(&mut self, tally: &mut Tally) -> Option<u64> {
        let due = self.next(tally.start())?;
        loop {
            tally.skip();
            if !tally.running() || due >= tally.end() {
                return None;
            }
            if tally.now >= due {
                break;
            }
            let left = due - tally.now;
            if left > SPIN_NS {
                crate::clock::sleep_until(crate::clock::kernel_ns() + (left - SPIN_NS).min(SLEEP_NS));
            } else {
                std::hint::spin_loop();
            }
        }
        self.start(tally, tally.now, due);
        Some(due)
    }

    /// Counts an operation that was due at `due` and starts now.
    pub fn start(&mut self, tally: &Tally, now: u64, due: u64) {
        if tally.counts(due) {
            self.started += 1;
            self.late += u64::from(now.saturating_sub(due) > LATE_NS);
            tally.slot().set(Count::Started, self.started);
            tally.slot().set(Count::Late, self.late);
        }
    }

    /// Records the response time of a finished operation, from its due time.
    #[inline]
    pub fn done(&self, tally: &mut Tally, histogram: usize, due: u64) {
        if self.rate.is_some() {
            tally.span(histogram, due);
        }
    }
}
