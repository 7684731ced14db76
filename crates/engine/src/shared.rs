//! Memory shared by the workers of a phase and the gathering process: the gate, the stop flag, and a slot for each worker.
//! In: numbers stored by workers as they go. Out: the same numbers, readable at any time, also after a worker was killed.
//! Each slot holds counters, notes (errors in full), a time series and histograms.

use crate::histogram;
use crate::region::Region;
use crate::sys::Errno;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use workload::outcome::{CommandRun, GroupOutcome, OperationError};

/// Words for all workers together, each on its own cache line.
#[derive(Debug, Clone, Copy)]
pub enum Common {
    /// Workers that are ready to start.
    Ready = 0,
    /// Set when the clock starts.
    Gate = 8,
    /// Set when workers must stop; see [`Stop`].
    Stop = 16,
    /// The common start, in the clock's nanoseconds.
    Start = 24,
    /// Operations that failed, all workers together.
    Errors = 32,
    /// Workers that are still running and are not followers.
    Producers = 40,
    /// Clock when all data was durable.
    Durable = 48,
    /// How often workers reached the end of a slice, or of their work.
    Arrivals = 56,
    /// The slice that workers may process, from 0.
    Slice = 64,
}

const COMMON_WORDS: usize = 128;

/// Words of a group: the open loop's shared schedule.
pub const GROUP_WORDS: usize = 16;

/// Why workers must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Too many operations failed.
    Errors = 1,
    /// The phase ran past its time limit.
    Time = 2,
    /// A worker died, or could not start.
    Death = 3,
}

/// Counters in a worker's slot.
#[derive(Debug, Clone, Copy)]
pub enum Count {
    /// Items completed.
    Items = 0,
    /// Bytes read.
    Read,
    /// Bytes written.
    Written,
    /// Sum of the hashes of all operations.
    Hash,
    /// Clock at the last return.
    End,
    /// Clock when counting began (the common start, or the end of the ramp).
    Begin,
    /// User CPU nanoseconds.
    User,
    /// System CPU nanoseconds.
    System,
    /// Set when the worker finished its work normally.
    Finished,
    /// Operations of an open loop that started late.
    Late,
    /// Operations of an open loop that started.
    Started,
    /// Blocks whose content was checked.
    Checked,
    /// Blocks whose content was wrong.
    Wrong,
    /// Current file (mappings only).
    CurrentFile,
    /// Current offset (mappings only).
    CurrentOffset,
    /// Filled intervals of the series.
    Intervals,
    /// Bytes used in the notes.
    Notes,
    /// Finished slices, except the last.
    Slices,
    /// How often the intervals of the series were doubled.
    Doublings,
}

const COUNT_WORDS: usize = 24;
const NOTE_WORDS: usize = 48 << 10;
/// Words of one interval of the series; the last is the longest call, the others are sums.
pub const INTERVAL_WORDS: usize = 5;
/// Length of the first intervals, in nanoseconds.
pub const INTERVAL_NS: u64 = 100_000_000;
/// Intervals of the series; an even number. When they are full, pairs are joined and their length doubles.
pub const INTERVALS: usize = 4096;

/// Notes of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// An operation failed.
    Error(OperationError),
    /// Content was wrong.
    Wrong(String),
    /// Something was not done as requested.
    Remark(String),
    /// The worker cannot work at all.
    Fatal(String),
    /// A user's own program was run.
    Ran(Box<CommandRun>),
    /// An extra metric, by its name.
    Told(String, f64),
    /// A part of its work, as such a program reported it.
    Part(Box<GroupOutcome>),
}

/// The shared memory of one pass.
pub struct Shared {
    region: Region,
    groups: usize,
    workers: usize,
    histograms: usize,
}

impl Shared {
    /// Memory for these numbers of groups and workers, and of histograms for each worker.
    pub fn new(groups: usize, workers: usize, histograms: usize) -> Result<Shared, Errno> {
        let mut shared = Shared { region: Region::new(0)?, groups, workers, histograms };
        shared.region = Region::new(COMMON_WORDS + groups * GROUP_WORDS + workers * shared.slot_words())?;
        Ok(shared)
    }

    fn slot_words(&self) -> usize {
        (COUNT_WORDS + NOTE_WORDS + INTERVAL_WORDS * INTERVALS + self.histograms * histogram::WORDS)
            .next_multiple_of(512)
    }

    /// A word for all workers.
    pub fn common(&self, word: Common) -> &AtomicU64 {
        &self.region[word as usize]
    }

    /// Stops the workers; the first reason is kept.
    pub fn stop(&self, why: Stop) {
        let _ = self.common(Common::Stop).compare_exchange(0, why as u64, Relaxed, Relaxed);
    }

    /// Why the workers must stop, if so.
    pub fn stopped(&self) -> Option<Stop> {
        match self.common(Common::Stop).load(Relaxed) {
            1 => Some(Stop::Errors),
            2 => Some(Stop::Time),
            3 => Some(Stop::Death),
            _ => None,
        }
    }

    /// The words of a group.
    pub fn group(&self, group: usize) -> &[AtomicU64] {
        assert!(group < self.groups);
        let from = COMMON_WORDS + group * GROUP_WORDS;
        &self.region[from..from + GROUP_WORDS]
    }

    /// The slot of a worker, numbered over all groups.
    pub fn slot(&self, worker: usize) -> Slot<'_> {
        assert!(worker < self.workers);
        let from = COMMON_WORDS + self.groups * GROUP_WORDS + worker * self.slot_words();
        Slot { words: &self.region[from..from + self.slot_words()] }
    }
}

/// One worker's part of the shared memory.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    words: &'a [AtomicU64],
}

impl<'a> Slot<'a> {
    /// Reads a counter.
    pub fn get(&self, count: Count) -> u64 {
        self.words[count as usize].load(Relaxed)
    }

    /// Stores a counter.
    #[inline]
    pub fn set(&self, count: Count, value: u64) {
        self.words[count as usize].store(value, Relaxed);
    }

    /// Adds to a counter.
    pub fn add(&self, count: Count, value: u64) {
        self.set(count, self.get(count).wrapping_add(value));
    }

    /// The words of a histogram.
    pub fn histogram(&self, number: usize) -> &'a [AtomicU64] {
        let from = COUNT_WORDS + NOTE_WORDS + INTERVAL_WORDS * INTERVALS + number * histogram::WORDS;
        &self.words[from..from + histogram::WORDS]
    }

    /// Items, bytes, calls, their time and the longest of them in one interval of the series; None beyond the last.
    pub fn interval(&self, number: usize) -> Option<&'a [AtomicU64]> {
        let from = COUNT_WORDS + NOTE_WORDS + INTERVAL_WORDS * number;
        (number < INTERVALS).then(|| &self.words[from..from + INTERVAL_WORDS])
    }

    /// Joins pairs of intervals, so that the upper half is free.
    pub fn join_intervals(&self) {
        for number in 0..INTERVALS {
            let pair = [2 * number, 2 * number + 1].map(|one| self.interval(one));
            for (place, word) in self.interval(number).into_iter().flatten().enumerate() {
                let [first, second] = pair.map(|one| one.map_or(0, |words| words[place].load(Relaxed)));
                word.store(if place == INTERVAL_WORDS - 1 { first.max(second) } else { first + second }, Relaxed);
            }
        }
        self.set(Count::Intervals, self.get(Count::Intervals).div_ceil(2));
        self.add(Count::Doublings, 1);
    }

    /// Clears the series.
    pub fn clear_series(&self) {
        for number in 0..self.get(Count::Intervals) as usize {
            self.interval(number).into_iter().flatten().for_each(|word| word.store(0, Relaxed));
        }
        self.set(Count::Intervals, 0);
    }

    /// Stores a note; drops it and returns false if the room for notes is used up.
    pub fn note(&self, note: &Note) -> bool {
        let Ok(mut text) = serde_json::to_vec(note) else { return false };
        text.push(b'\n');
        let used = self.get(Count::Notes) as usize;
        if used + text.len() > NOTE_WORDS * 8 {
            return false;
        }
        for (i, byte) in text.iter().enumerate() {
            let (word, shift) = ((used + i) / 8, (used + i) % 8 * 8);
            self.words[COUNT_WORDS + word].fetch_or(u64::from(*byte) << shift, Relaxed);
        }
        self.set(Count::Notes, (used + text.len()) as u64);
        true
    }

    /// The notes so far.
    pub fn notes(&self) -> Vec<Note> {
        let used = self.get(Count::Notes) as usize;
        let byte = |i: usize| (self.words[COUNT_WORDS + i / 8].load(Relaxed) >> (i % 8 * 8)) as u8;
        let text: Vec<u8> = (0..used).map(byte).collect();
        text.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_as_they_were_left() {
        let shared = Shared::new(1, 2, 1).unwrap();
        let notes = [Note::Remark("first".into()), Note::Wrong("ünd second".into())];
        assert!(notes.iter().all(|note| shared.slot(1).note(note)));
        assert_eq!(shared.slot(1).notes(), notes);
        assert!(shared.slot(0).notes().is_empty());
    }

    #[test]
    fn notes_beyond_the_limit_are_dropped_whole() {
        let shared = Shared::new(1, 1, 0).unwrap();
        let fitted = (0..60_000).filter(|i| shared.slot(0).note(&Note::Remark(format!("remark {i}")))).count();
        assert!((5_000..60_000).contains(&fitted), "{fitted}");
        let kept = shared.slot(0).notes();
        assert_eq!(kept.len(), fitted);
        assert_eq!(kept.last(), Some(&Note::Remark(format!("remark {}", kept.len() - 1))));
    }

    #[test]
    fn joined_intervals_have_the_sums_and_the_longest_of_both() {
        let shared = Shared::new(1, 1, 0).unwrap();
        let slot = shared.slot(0);
        for number in 0..INTERVALS {
            let words = slot.interval(number).unwrap();
            words.iter().for_each(|word| word.store(number as u64, Relaxed));
        }
        assert!(slot.interval(INTERVALS).is_none());
        slot.set(Count::Intervals, INTERVALS as u64);
        slot.join_intervals();
        assert_eq!((slot.get(Count::Intervals), slot.get(Count::Doublings)), (INTERVALS as u64 / 2, 1));
        let values = |number| slot.interval(number).unwrap().iter().map(|word| word.load(Relaxed)).collect::<Vec<_>>();
        assert_eq!(values(0), [1, 1, 1, 1, 1]);
        assert_eq!(values(7), [29, 29, 29, 29, 15]);
        assert_eq!(values(INTERVALS / 2), [0; 5]);
        slot.clear_series();
        assert_eq!(values(7), [0; 5]);
    }

    #[test]
    fn the_first_reason_to_stop_is_kept() {
        let shared = Shared::new(1, 1, 0).unwrap();
        shared.stop(Stop::Time);
        shared.stop(Stop::Death);
        assert_eq!(shared.stopped(), Some(Stop::Time));
    }
}
