//! Cost of the path to a served disk and back: loop device, FUSE, and the server's threads.
//! In: measurements on this machine. Out: how much earlier to answer a request, so that the answer arrives when the model is done.

use disk_model::Kind;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time of a request that the device answers at once, by length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByLength {
    /// Time of a small one, in nanoseconds.
    pub base_ns: u64,
    /// Additional time per MiB.
    pub per_mib_ns: u64,
}

/// Cost of the path there and back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCost {
    /// Of reads.
    pub read: ByLength,
    /// Of writes.
    pub write: ByLength,
    /// Of flushes, and of discards.
    pub flush_ns: u64,
}

impl ByLength {
    /// The line through the times of a small and a large request.
    pub fn through(small: (u64, Duration), large: (u64, Duration)) -> ByLength {
        let more = large.1.saturating_sub(small.1).as_nanos() as f64;
        let mib = large.0.saturating_sub(small.0) as f64 / f64::from(1 << 20);
        let per_mib_ns = if mib > 0.0 { (more / mib) as u64 } else { 0 };
        ByLength { base_ns: small.1.as_nanos() as u64, per_mib_ns }
    }

    fn of(self, length: u64) -> Duration {
        let more = (u128::from(self.per_mib_ns) * u128::from(length)) >> 20;
        Duration::from_nanos(self.base_ns.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)))
    }
}

impl PathCost {
    /// Of one request.
    pub fn of(&self, kind: Kind, length: u64) -> Duration {
        match kind {
            Kind::Read => self.read.of(length),
            Kind::Write => self.write.of(length),
            Kind::Flush | Kind::Discard => Duration::from_nanos(self.flush_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_length_lies_on_the_line_through_two_that_were_measured() {
        let (small, large) = (Duration::from_micros(40), Duration::from_micros(440));
        let read = ByLength::through((0, small), (1 << 20, large));
        let cost = PathCost { read, flush_ns: 7, ..PathCost::default() };
        assert_eq!(cost.of(Kind::Read, 0), small);
        assert_eq!(cost.of(Kind::Read, 512 << 10), Duration::from_micros(240));
        assert_eq!(cost.of(Kind::Read, 1 << 20), large);
        assert_eq!(cost.of(Kind::Discard, 1 << 30), Duration::from_nanos(7));
        // Measured while another load disturbed the small one.
        assert_eq!(ByLength::through((4096, large), (1 << 20, small)).per_mib_ns, 0);
    }
}
