//! A recording with its data, and the disk in the states that a power cut leaves.
//! In: writes and flushes as they arrive. Out: the [`Record`], and [`Blocks`] for each requested state.

use crate::blocks::Blocks;
use crate::cut::{self, State};
use crate::record::{Event, Moment, Record, WriteFacts};
use std::sync::Arc;
use std::time::Instant;

/// Most bytes of written data in a recording.
const MOST_BYTES: u64 = 4 << 30;
/// Most events in a recording.
const MOST_EVENTS: usize = 4 << 20;

/// Effect of a write on the blocks.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Data(Arc<[u8]>),
    /// This many bytes become zeros.
    Clear(u64),
}

impl Change {
    pub fn length(&self) -> u64 {
        match self {
            Change::Data(data) => data.len() as u64,
            Change::Clear(length) => *length,
        }
    }

    /// Applies the change, or only its first bytes.
    pub fn apply(&self, blocks: &mut Blocks, offset: u64, bytes: Option<u64>) {
        let length = bytes.unwrap_or(u64::MAX).min(self.length());
        match self {
            Change::Data(data) => blocks.write(offset, &data[..length as usize]),
            Change::Clear(_) => blocks.clear(offset, length),
        }
    }
}

/// A disk during a recording.
#[derive(Debug)]
pub(crate) struct Recording {
    base: Blocks,
    changes: Vec<Change>,
    record: Record,
    began: Instant,
    bytes: u64,
    flushes: usize,
}

impl Recording {
    /// Starts with the disk's present content.
    pub fn of(base: Blocks) -> Recording {
        let (changes, record) = (Vec::new(), Record::default());
        Recording { base, changes, record, began: Instant::now(), bytes: 0, flushes: 0 }
    }

    fn note(&mut self, event: Event) {
        if !self.is_over_full() {
            self.record.moments.push(Moment { event, at: self.began.elapsed() });
        }
    }

    /// Whether it stopped because it reached a limit.
    pub fn is_over_full(&self) -> bool {
        self.bytes > MOST_BYTES || self.record.moments.len() >= MOST_EVENTS
    }

    /// Records the arrival of a write; returns its number.
    pub fn submitted(&mut self, offset: u64, change: &Change) -> usize {
        let number = self.changes.len();
        let cleared = matches!(change, Change::Clear(_));
        self.bytes += if cleared { 0 } else { change.length() };
        self.note(Event::Submitted(number));
        if !self.is_over_full() {
            self.changes.push(change.clone());
            self.record.writes.push(WriteFacts { offset, length: change.length(), cleared });
        }
        number
    }

    pub fn completed(&mut self, number: usize) {
        self.note(Event::Completed(number));
    }

    /// Records the arrival of a flush; returns its number.
    pub fn flush_submitted(&mut self) -> usize {
        let number = self.flushes;
        self.flushes += 1;
        self.note(Event::FlushSubmitted(number));
        number
    }

    pub fn flushed(&mut self, number: usize) {
        self.note(Event::Flushed(number));
    }

    pub fn marked(&mut self, word: u64) {
        self.note(Event::Marked(word));
    }

    /// Ends the recording.
    pub fn end(self) -> Past {
        let known = self.base.clone();
        let applied = vec![false; self.changes.len()];
        Past { base: self.base, changes: self.changes, record: self.record, known, applied, reached: 0, lying: false }
    }
}

/// A finished recording: all changes of the disk, with their data.
#[derive(Debug)]
pub(crate) struct Past {
    base: Blocks,
    changes: Vec<Change>,
    record: Record,
    /// The disk with all writes that are safe at the latest cut; states are requested in the order of their cuts.
    known: Blocks,
    applied: Vec<bool>,
    reached: usize,
    lying: bool,
}

impl Past {
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The disk in a state. `lying`: the disk reports a flush as done but does nothing.
    pub fn state(&mut self, state: &State, lying: bool) -> Blocks {
        if state.cut < self.reached || lying != self.lying {
            self.known = self.base.clone();
            self.applied.fill(false);
        }
        (self.reached, self.lying) = (state.cut, lying);
        let at = cut::at(&self.record, state.cut, lying);
        for write in at.safe {
            if !std::mem::replace(&mut self.applied[write], true) {
                self.changes[write].apply(&mut self.known, self.record.writes[write].offset, None);
            }
        }
        let mut blocks = self.known.clone();
        let kept = cut::keeps(state.kept, at.pending.len());
        let mut kept: Vec<(usize, Option<u64>)> =
            kept.into_iter().map(|(place, bytes)| (at.pending[place], bytes)).collect();
        // Later writes overwrite earlier ones at the same offset.
        kept.sort_unstable();
        for (write, bytes) in kept {
            self.changes[write].apply(&mut blocks, self.record.writes[write].offset, bytes);
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::Kept;

    fn write(recording: &mut Recording, offset: u64, byte: u8) {
        let number = recording.submitted(offset, &Change::Data(vec![byte; 4096].into()));
        recording.completed(number);
    }

    fn flush(recording: &mut Recording) {
        let number = recording.flush_submitted();
        recording.flushed(number);
    }

    fn bytes(blocks: &Blocks) -> [u8; 3] {
        let mut found = [0; 3];
        for (place, byte) in found.iter_mut().enumerate() {
            blocks.read(place as u64 * 4096 + 100, std::slice::from_mut(byte));
        }
        found
    }

    /// Three blocks of 1. The first becomes 2 and is flushed; then the second becomes 3, the third 4, the first 5.
    fn past() -> Past {
        let mut base = Blocks::default();
        base.write(0, &[1; 3 * 4096]);
        let mut recording = Recording::of(base);
        write(&mut recording, 0, 2);
        flush(&mut recording);
        write(&mut recording, 4096, 3);
        write(&mut recording, 8192, 4);
        write(&mut recording, 0, 5);
        recording.end()
    }

    #[test]
    fn states_hold_what_is_safe_and_what_they_keep_of_the_rest() {
        let mut past = past();
        let all = past.record().moments.len();
        let found = |past: &mut Past, cut, kept| bytes(&past.state(&State { cut, kept }, false));
        assert_eq!(found(&mut past, 0, Kept::Everything), [1, 1, 1]);
        assert_eq!(found(&mut past, 3, Kept::Nothing), [1, 1, 1], "the flush is not done");
        assert_eq!(found(&mut past, 4, Kept::Nothing), [2, 1, 1]);
        assert_eq!(found(&mut past, all, Kept::Nothing), [2, 1, 1]);
        assert_eq!(found(&mut past, all, Kept::Everything), [5, 3, 4]);
        assert_eq!(found(&mut past, all, Kept::AllBut(0)), [5, 1, 4]);
        assert_eq!(found(&mut past, all, Kept::First(1)), [2, 3, 1]);
        assert_eq!(found(&mut past, all, Kept::Torn { place: 2, bytes: 0 }), [2, 3, 4]);
        assert_eq!(found(&mut past, 0, Kept::Everything), [1, 1, 1], "an earlier cut after a later one");
    }

    #[test]
    fn a_disk_that_lies_may_have_lost_everything() {
        let mut past = past();
        let state = State { cut: past.record().moments.len(), kept: Kept::Nothing };
        assert_eq!(bytes(&past.state(&state, true)), [1, 1, 1]);
        assert_eq!(bytes(&past.state(&state, false)), [2, 1, 1]);
    }
}
