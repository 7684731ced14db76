//! What the workers of a phase and the process that gathers share: the gate, the stop mark, and a slot for each worker.
//! In: numbers stored by workers as they go. Out: the same numbers, readable at any time, also after a worker was killed.
//! Each slot holds counters, notes (errors in full), a time series and histograms.

use crate::histogram;
use crate::region::Region;
use crate::sys::Errno;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use workload::outcome::{CommandRun, GroupOutcome, OperationError};

/// Words for all workers together; each on a cache line of its own.
#[derive(Debug, Clone, Copy)]
pub enum Common {
    /// Workers that are ready to start.
    Ready = 0,
    /// Set when the clock starts.
    Gate = 8,
    /// Set when workers are to stop; see [`Stop`].
    Stop = 16,
    /// The common start, in the clock's nanoseconds.
    Start = 24,
    /// Operations that failed, all workers together.
    Errors = 32,
    /// Workers still at work that are not followers.
    Producers = 40,
    /// The clock when all was durable.
    Durable = 48,
    /// How often a worker came to the end of a slice, or of its work.
    Arrivals = 56,
    /// The slice that workers may carry out, from 0.
    Slice = 64,
}

const COMMON_WORDS: usize = 128;

/// Words of a group: the open loop's shared schedule.
pub const GROUP_WORDS: usize = 16;

/// Why workers were told to stop.
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
    /// Sum of the hashes of everything done.
    Hash,
    /// Clock at the last return.
    End,
    /// Clock when counting began (the common start, or the end of the ramp).
    Begin,
    /// User CPU nanoseconds.
    User,
    /// System CPU nanoseconds.
    System,
    /// Set when the worker finished its work in order.
    Finished,
    /// Operations started late, of an open loop.
    Late,
    /// Operations started, of an open loop.
    Started,
    /// Blocks whose content was checked.
    Checked,
    /// Blocks whose content was wrong.
    Wrong,
    /// File that is being worked on (mappings only).
    CurrentFile,
    /// Offset that is being worked on (mappings only).
    CurrentOffset,
    /// Intervals of the series that are filled.
    Intervals,
    /// Bytes used in the notes.
    Notes,
    /// Slices carried out, but for the last.
    Slices,
    /// How often the intervals of the series were made twice as long.
    Doublings,
}

const COUNT_WORDS: usize = 24;
const NOTE_WORDS: usize = 48 << 10;
/// Words of one interval of the series; the last is the longest call, the others are sums.
pub const INTERVAL_WORDS: usize = 5;
/// Length of the first intervals, in nanoseconds.
pub const INTERVAL_NS: u64 = 100_000_000;
/// Intervals of the series; an even number. When they are full, pairs are joined and intervals are twice as long from then on.
pub const INTERVALS: usize = 4096;

/// What a worker has to say in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// An operation failed.
    Error(OperationError),
    /// Content was wrong.
    Wrong(String),
    /// Something was not done as asked.
    Remark(String),
    /// The worker cannot work at all.
    Fatal(String),
    /// A program of the user's own was run.
    Ran(Box<CommandRun>),
    /// Something that is judged, by the word that asks for it.
    Told(String, f64),
    /// What such a program reported of a part of its work.
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
    /// Memory for so many groups and workers, and histograms for each worker.
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

    /// Tell the workers to stop; the first reason stands.
    pub fn stop(&self, why: Stop) {
        let _ = self.common(Common::Stop).compare_exchange(0, why as u64, Relaxed, Relaxed);
    }

    /// Why the workers were told to stop, if they were.
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

    /// The slot of a worker, counted over all groups.
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
    /// Read a counter.
    pub fn get(&self, count: Count) -> u64 {
        self.words[count as usize].load(Relaxed)
    }

    /// Store a counter.
    #[inline]
    pub fn set(&self, count: Count, value: u64) {
        self.words[count as usize].store(value, Relaxed);
    }

    /// Add to a counter.
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

    /// Joins each pair of intervals, so that the upper half is free.
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

    /// Forget the series.
    pub fn clear_series(&self) {
        for number in 0..self.get(Count::Intervals) as usize {
            self.interval(number).into_iter().flatten().for_each(|word| word.store(0, Relaxed));
        }
        self.set(Count::Intervals, 0);
    }

    /// Leave a note; dropped when the room for notes is used up, and then false.
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

    /// The notes left so far.
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
    fn the_first_reason_to_stop_stands() {
        let shared = Shared::new(1, 1, 0).unwrap();
        shared.stop(Stop::Time);
        shared.stop(Stop::Death);
        assert_eq!(shared.stopped(), Some(Stop::Time));
    }
}
