//! The arm: time to reach a position, and to read or write there.
//! In: a place and the time. Out: the time until it is under the head, or has passed.

use super::HardDisk;
use crate::geometry::Place;

/// Position of the arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arm {
    pub cylinder: u64,
    pub surface: u64,
}

impl HardDisk {
    /// Nanoseconds until a place is under its head: seek or head switch, settling, rotation.
    pub(super) fn position(&self, arm: Arm, now: u64, place: &Place, is_write: bool) -> u64 {
        let distance = arm.cylinder.abs_diff(place.cylinder);
        let settle = if is_write && distance > 0 { self.settle } else { 0 };
        // Seek and head switch overlap, and both end in finding the track.
        let switch = if arm.surface == place.surface { 0 } else { self.head_switch };
        let moved = (self.seek.time(distance) + settle).max(switch);
        moved + self.geometry.wait(place, now + moved)
    }

    /// Reads or writes from sector `from` to `end`, at most until `deadline`. Returns the next sector, and when the head is at its start.
    pub(super) fn run(
        &self,
        arm: &mut Arm,
        now: u64,
        (from, end): (u64, u64),
        is_write: bool,
        deadline: u64,
    ) -> (u64, u64) {
        let (mut sector, mut time) = (from, now);
        while sector < end {
            let place = self.geometry.place(sector);
            let start = time + self.position(*arm, time, &place, is_write);
            if start >= deadline {
                break;
            }
            *arm = Arm { cylinder: place.cylinder, surface: place.surface };
            let count = place.left.min(end - sector);
            let finish = start + self.geometry.span(&place, count);
            if finish > deadline {
                let passed = self.geometry.passed(&place, deadline - start).min(count);
                return (sector + passed, start + self.geometry.span(&place, passed));
            }
            (sector, time) = (sector + count, finish);
        }
        (sector, time)
    }
}
