//! A resource that carries one transfer at a time: a channel, or one direction of the interface.
//! In: when a transfer is ready, and its duration. Out: its end.
//!
//! Transfers go in the order in which they are ready. They are reserved in the order of their requests, so a later reservation may be ready
//! earlier; it takes a gap before the others if one is long enough.

use std::collections::VecDeque;

/// Reservations in order, without finished ones.
#[derive(Debug, Default)]
pub(super) struct Lane {
    taken: VecDeque<(u64, u64)>,
}

impl Lane {
    /// Reserves the first sufficient gap from `ready` on. Reservations that ended by `now` are dropped.
    pub fn reserve(&mut self, now: u64, ready: u64, length: u64) -> u64 {
        while self.taken.front().is_some_and(|(_, end)| *end <= now) {
            self.taken.pop_front();
        }
        // The place is usually the end, since most arrive in order.
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

    /// Adjacent reservations are merged.
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
