//! What a power cut may leave on a disk.
//! In: the record of the disk, and a point in it. Out: which writes are safe there, which may be lost, and legal [`State`]s.
//!
//! A write is safe if it completed before the submission of the last completed flush. Every other submitted write may be there or not,
//! whole or in part, since a disk with a cache writes back in any order (the block device's persistence model of Pillai et al., OSDI 2014).
//! Loop devices turn a FUA write into a write and a flush, so there is no third kind.

use crate::blocks::PAGE;
use crate::record::{Event, Record};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Sizes of an atomic write: a sector of 512 or of 4096 bytes.
const SECTORS: [u64; 2] = [512, 4096];

/// Which of the unsafe writes survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// None of them.
    Nothing,
    /// All.
    Everything,
    /// This many, the first in the order of completion, as on a disk that keeps order.
    First(usize),
    /// All but this one, an index among them.
    AllBut(usize),
    /// Each with probability one half.
    Some {
        /// The random seed.
        seed: u64,
    },
    /// All, but only the first bytes of the one at this index.
    Torn {
        /// The index.
        place: usize,
        /// Bytes of it that were written.
        bytes: u64,
    },
}

/// A disk after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// The power fails before this event, an index in [`Record::moments`].
    pub cut: usize,
    /// Which of the unsafe writes survive.
    pub kept: Kept,
}

impl State {
    /// Whether a disk that keeps the order of writes can also leave this state.
    pub fn is_in_order(&self, pending: usize) -> bool {
        match self.kept {
            Kept::Nothing | Kept::Everything | Kept::First(_) => true,
            Kept::AllBut(place) => place + 1 >= pending,
            Kept::Torn { place, .. } => place + 1 >= pending,
            Kept::Some { .. } => pending == 0,
        }
    }

    /// Whether a block of [`PAGE`] bytes is partly new and partly old. Only a disk with smaller sectors leaves that. `pending`: of [`At`].
    pub fn tears_a_block(&self, record: &Record, pending: &[usize]) -> bool {
        let Kept::Torn { place, bytes } = self.kept else { return false };
        let write = pending.get(place).and_then(|write| record.writes.get(*write));
        bytes > 0 && write.is_some_and(|write| !(write.offset + bytes).is_multiple_of(PAGE as u64))
    }
}

/// Writes at the power cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct At {
    /// Safe writes, in the order of submission.
    pub safe: Vec<usize>,
    /// All other submitted writes, in the order of completion; those not completed come last.
    pub pending: Vec<usize>,
}

/// Writes before event `cut`. `lying`: the disk reports a flush as done but does nothing.
pub fn at(record: &Record, cut: usize, lying: bool) -> At {
    let seen = &record.moments[..cut.min(record.moments.len())];
    let mut submitted = vec![None; record.writes.len()];
    let mut completed = vec![None; record.writes.len()];
    let mut flushes: Vec<usize> = Vec::new();
    let mut barrier = 0;
    for (place, moment) in seen.iter().enumerate() {
        match moment.event {
            Event::Submitted(write) => submitted[write] = Some(place),
            Event::Completed(write) => completed[write] = Some(place),
            // Flushes are numbered in order of arrival.
            Event::FlushSubmitted(_) => flushes.push(place),
            Event::Flushed(done) if !lying => barrier = barrier.max(flushes.get(done).copied().unwrap_or(0)),
            Event::Flushed(_) | Event::Marked(_) => {}
        }
    }
    let is_safe = |write: &usize| completed[*write].is_some_and(|place| place < barrier);
    let known: Vec<usize> = (0..record.writes.len()).filter(|write| submitted[*write].is_some()).collect();
    let (mut safe, mut pending): (Vec<usize>, Vec<usize>) = known.into_iter().partition(is_safe);
    safe.sort_by_key(|write| submitted[*write]);
    pending.sort_by_key(|write| (completed[*write].unwrap_or(usize::MAX), submitted[*write]));
    At { safe, pending }
}

/// Indexes of the pending writes that a state keeps, each with the number of its bytes (None: all).
pub(crate) fn keeps(kept: Kept, pending: usize) -> Vec<(usize, Option<u64>)> {
    let all = 0..pending;
    match kept {
        Kept::Nothing => Vec::new(),
        Kept::Everything => all.map(|place| (place, None)).collect(),
        Kept::First(count) => all.take(count).map(|place| (place, None)).collect(),
        Kept::AllBut(left) => all.filter(|place| *place != left).map(|place| (place, None)).collect(),
        Kept::Some { seed } => {
            let mut coins = ChaCha8Rng::seed_from_u64(seed);
            all.filter(|_| coins.random_bool(0.5)).map(|place| (place, None)).collect()
        }
        Kept::Torn { place: torn, bytes } => all.map(|place| (place, (place == torn).then_some(bytes))).collect(),
    }
}

/// Which states to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Their number.
    pub count: usize,
    /// The same seed gives the same choice.
    pub seed: u64,
    /// Only states with a write torn within a block, as a disk with sectors of 512 bytes leaves it.
    pub torn: bool,
}

/// Chooses states between two events, in the order of their cuts. A quarter of the cuts come right after any mark, where the most has just
/// been promised; a quarter right after a mark with unsafe writes; half anywhere with unsafe writes. The kinds of remainder alternate. If
/// all are torn, the first quarter also needs unsafe writes.
pub fn choose(record: &Record, between: std::ops::Range<usize>, choice: Choice) -> Vec<State> {
    let Choice { count, seed, torn } = choice;
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let (start, end) = (between.start, between.end.min(record.moments.len()).max(between.start));
    let pending = pending(record);
    let is_open = |cut: &usize| pending[*cut] > 0;
    let marks: Vec<usize> =
        (start..end).filter(|at| matches!(record.moments[*at].event, Event::Marked(_))).map(|at| at + 1).collect();
    let open_marks: Vec<usize> = marks.iter().copied().filter(is_open).collect();
    let open: Vec<usize> = (start..=end).filter(is_open).collect();
    let mut cuts: Vec<usize> = (0..count)
        .map(|turn| {
            let from = [if torn { &open_marks } else { &marks }, &open, &open_marks, &open][turn % 4];
            from.choose(&mut dice).copied().unwrap_or_else(|| dice.random_range(start..=end))
        })
        .collect();
    cuts.sort_unstable();
    let pick = |(turn, cut): (usize, usize)| State {
        cut,
        kept: if torn { tear(record, cut, &SECTORS[..1], &mut dice) } else { remainder(record, cut, turn, &mut dice) },
    };
    cuts.into_iter().enumerate().map(pick).collect()
}

/// The number of unsafe writes before each event, and at the end.
fn pending(record: &Record) -> Vec<usize> {
    let (mut submitted, mut completed, mut safe) = (0, 0, 0);
    // For each flush, the number of writes that were completed when it arrived.
    let mut flushes = Vec::new();
    let mut counts = vec![0];
    for moment in &record.moments {
        match moment.event {
            Event::Submitted(_) => submitted += 1,
            Event::Completed(_) => completed += 1,
            Event::FlushSubmitted(_) => flushes.push(completed),
            Event::Flushed(done) => safe = flushes.get(done).copied().unwrap_or(0).max(safe),
            Event::Marked(_) => {}
        }
        counts.push(submitted - safe);
    }
    counts
}

fn remainder(record: &Record, cut: usize, turn: usize, dice: &mut impl Rng) -> Kept {
    let pending = at(record, cut, false).pending;
    if pending.is_empty() {
        return Kept::Nothing;
    }
    let any = |dice: &mut dyn rand::RngCore| dice.random_range(0..pending.len());
    match turn % 8 {
        0 => Kept::Nothing,
        1 => Kept::Everything,
        2 => Kept::First(any(dice)),
        3 | 4 => Kept::AllBut(any(dice)),
        5 | 6 => Kept::Some { seed: dice.random() },
        _ => tear_of(record, &pending, &SECTORS, dice),
    }
}

/// All unsafe writes before an event, one of them torn at a sector boundary.
fn tear(record: &Record, cut: usize, sectors: &[u64], dice: &mut impl Rng) -> Kept {
    let pending = at(record, cut, false).pending;
    if pending.is_empty() { Kept::Nothing } else { tear_of(record, &pending, sectors, dice) }
}

fn tear_of(record: &Record, pending: &[usize], sectors: &[u64], dice: &mut impl Rng) -> Kept {
    let (place, sector) = (dice.random_range(0..pending.len()), sectors[dice.random_range(0..sectors.len())]);
    let sectors = record.writes[pending[place]].length / sector;
    Kept::Torn { place, bytes: if sectors < 2 { 0 } else { dice.random_range(1..sectors) * sector } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Moment, WriteFacts};
    use std::time::Duration;

    fn record(events: &[Event]) -> Record {
        let writes = events.iter().filter(|event| matches!(event, Event::Submitted(_))).count();
        let moment = |(at, event): (usize, &Event)| Moment { event: *event, at: Duration::from_millis(at as u64) };
        let write = |at: usize| WriteFacts { offset: at as u64 * 8192, length: 8192, cleared: false };
        Record { moments: events.iter().enumerate().map(moment).collect(), writes: (0..writes).map(write).collect() }
    }

    use Event::{Completed, FlushSubmitted, Flushed, Marked, Submitted};

    #[test]
    fn only_what_was_completed_before_a_completed_flush_was_submitted_is_safe() {
        let events = [
            Submitted(0),
            Submitted(1),
            Completed(0),
            FlushSubmitted(0),
            Completed(1),
            Submitted(2),
            Completed(2),
            Flushed(0),
        ];
        let all = record(&events);
        assert_eq!(
            at(&all, 8, false),
            At { safe: vec![0], pending: vec![1, 2] },
            "one completed during the flush is not"
        );
        assert_eq!(
            at(&all, 7, false),
            At { safe: vec![], pending: vec![0, 1, 2] },
            "nor is any before it was answered"
        );
        assert_eq!(
            at(&all, 8, true),
            At { safe: vec![], pending: vec![0, 1, 2] },
            "a disk that lies keeps nothing safe"
        );
        assert_eq!(at(&all, 0, false), At::default());
    }

    #[test]
    fn an_incomplete_write_may_be_on_the_disk() {
        let all = record(&[Submitted(0), Submitted(1), Completed(1)]);
        assert_eq!(at(&all, 3, false).pending, [1, 0]);
    }

    #[test]
    fn each_remainder_keeps_the_writes_that_its_name_states() {
        let places = |kept| keeps(kept, 4).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!(places(Kept::Nothing), [0usize; 0]);
        assert_eq!(places(Kept::Everything), [0, 1, 2, 3]);
        assert_eq!(places(Kept::First(2)), [0, 1]);
        assert_eq!(places(Kept::AllBut(1)), [0, 2, 3]);
        assert_eq!(keeps(Kept::Torn { place: 1, bytes: 512 }, 2), [(0, None), (1, Some(512))]);
        let some = keeps(Kept::Some { seed: 1 }, 1000).len();
        assert!((400..600).contains(&some) && keeps(Kept::Some { seed: 1 }, 1000).len() == some, "{some}");
    }

    #[test]
    fn states_are_chosen_within_their_range_in_order_and_again_by_their_seed() {
        let mut events = Vec::new();
        for write in 0..50 {
            events.extend([Submitted(write), Completed(write), Marked(write as u64)]);
            if write % 10 == 9 {
                events.extend([FlushSubmitted(write / 10), Flushed(write / 10)]);
            }
        }
        let all = record(&events);
        let choice = |seed| Choice { count: 400, seed, torn: false };
        let chosen = choose(&all, 20..120, choice(7));
        assert_eq!(chosen.len(), 400);
        assert!(chosen.windows(2).all(|two| two[0].cut <= two[1].cut), "in the order of their cuts");
        assert!(chosen.iter().all(|state| (20..=120).contains(&state.cut)));
        assert_eq!(chosen, choose(&all, 20..120, choice(7)));
        assert_ne!(chosen, choose(&all, 20..120, choice(8)));
        let all_torn = choose(&all, 20..120, Choice { torn: true, ..choice(7) });
        let is_torn = |state: &State| state.tears_a_block(&all, &at(&all, state.cut, false).pending);
        assert!(
            all_torn.iter().filter(|state| is_torn(state)).count() > 300,
            "of writes of two blocks one of 15 ends between them"
        );
        let torn = chosen
            .iter()
            .filter_map(|state| if let Kept::Torn { bytes, .. } = state.kept { Some(bytes) } else { None });
        let torn: Vec<u64> = torn.collect();
        assert!(!torn.is_empty() && torn.iter().all(|bytes| *bytes < 8192 && bytes % 512 == 0), "{torn:?}");
    }

    #[test]
    fn the_count_of_pending_writes_is_correct() {
        let mut events = Vec::new();
        for write in 0..30 {
            events.push(Submitted(write));
            if write % 3 == 1 {
                events.extend([FlushSubmitted(write / 3), Completed(write - 1), Flushed(write / 3), Completed(write)]);
            }
            if write % 3 == 2 {
                events.push(Completed(write));
            }
        }
        let all = record(&events);
        let wanted: Vec<usize> = (0..=events.len()).map(|cut| at(&all, cut, false).pending.len()).collect();
        assert_eq!(pending(&all), wanted);
        assert!(wanted.iter().max() > Some(&2));
    }

    #[test]
    fn a_disk_that_keeps_order_leaves_the_first_of_what_was_pending() {
        let state = |kept| State { cut: 0, kept };
        for kept in
            [Kept::Nothing, Kept::Everything, Kept::First(2), Kept::AllBut(3), Kept::Torn { place: 3, bytes: 512 }]
        {
            assert!(state(kept).is_in_order(4), "{kept:?}");
        }
        for kept in [Kept::AllBut(0), Kept::Some { seed: 0 }, Kept::Torn { place: 0, bytes: 512 }] {
            assert!(!state(kept).is_in_order(4), "{kept:?}");
        }
    }

    #[test]
    fn a_block_is_torn_where_a_write_ends_within_it() {
        let mut all = record(&[Submitted(0), Submitted(1)]);
        all.writes[1].offset = 512;
        let tears = |kept| State { cut: 2, kept }.tears_a_block(&all, &[0, 1]);
        assert!(tears(Kept::Torn { place: 0, bytes: 4608 }) && tears(Kept::Torn { place: 1, bytes: 4096 }));
        for kept in [
            Kept::Torn { place: 0, bytes: 0 },
            Kept::Torn { place: 0, bytes: 4096 },
            Kept::Torn { place: 1, bytes: 3584 },
            Kept::Torn { place: 2, bytes: 512 },
            Kept::AllBut(0),
        ] {
            assert!(!tears(kept), "{kept:?}");
        }
    }
}
