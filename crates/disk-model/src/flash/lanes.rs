//! Something that carries one thing at a time: a channel, a direction of the interface.
//! In: from when on a thing could be carried, and for how long. Out: when that is over.
//!
//! What is ready first goes first. Things are told in the order of their requests, so one that is told later may be ready earlier; it gets a gap before the
//! other if there is one that is long enough.

use std::collections::VecDeque;

/// What is reserved, in order, without what is over.
#[derive(Debug, Default)]
pub(super) struct Lane {
    taken: VecDeque<(u64, u64)>,
}

impl Lane {
    /// Reserves the first gap from `ready` on. What was over at `now` is forgotten.
    pub fn reserve(&mut self, now: u64, ready: u64, length: u64) -> u64 {
        while self.taken.front().is_some_and(|(_, end)| *end <= now) {
            self.taken.pop_front();
        }
        // From the end, since most come in order.
        let mut place = self.taken.partition_point(|(_, end)| *end <= ready);
        let mut start = ready;
        while let Some((from, end)) = self.taken.get(place).copied() {
            if start + length <= from {
                break;
            }
            start = start.max(end);
            place += 1;
        }
        self.note(place, start, start + length);
        start + length
    }

    /// Things without a gap between them are kept as one.
    fn note(&mut self, place: usize, start: u64, end: u64) {
        let joins_before = place > 0 && self.taken[place - 1].1 == start;
        let joins_after = self.taken.get(place).is_some_and(|next| next.0 == end);
        match (joins_before, joins_after) {
            (true, true) => {
                self.taken[place - 1].1 = self.taken[place].1;
                self.taken.remove(place);
            }
            (true, false) => self.taken[place - 1].1 = end,
            (false, true) => self.taken[place].0 = start,
            (false, false) => self.taken.insert(place, (start, end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_at_a_time_and_a_gap_is_used() {
        let mut lane = Lane::default();
        assert_eq!(lane.reserve(0, 100, 10), 110);
        assert_eq!(lane.reserve(0, 100, 10), 120);
        assert_eq!(lane.reserve(0, 50, 10), 60, "it is ready before the others");
        assert_eq!(lane.reserve(0, 55, 41), 161, "no gap is long enough");
        assert_eq!(lane.reserve(0, 55, 40), 100);
        assert_eq!(lane.taken, VecDeque::from([(50, 161)]));
        assert_eq!(lane.reserve(200, 200, 5), 205);
        assert_eq!(lane.taken.len(), 1);
    }
}
