//! The run's clocks: one that people set, for stamps, and one that only goes forward, for every duration.
//! In: nothing. Out: stamps, elapsed time, waits.
//! Tests put a stand-in here, whose wall clock jumps and whose waits take no time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a run asks of time.
pub trait Clock {
    /// Milliseconds since 1970 by the wall clock; for showing only.
    fn stamp_ms(&self) -> i64;
    /// Time since some fixed moment, by a clock that nobody sets.
    fn steady(&self) -> Duration;
    /// Waits.
    fn wait(&self, time: Duration);
}

/// This machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct MachineClock {
    origin: Instant,
}

impl Default for MachineClock {
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for MachineClock {
    fn stamp_ms(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
    }

    fn steady(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Waits in parts, and looks between them whether to stop; true where it was asked to.
pub(crate) fn wait_unless(clock: &dyn Clock, time: Duration, stop: &dyn Fn() -> bool) -> bool {
    const PART: Duration = Duration::from_millis(100);
    let mut left = time;
    while !left.is_zero() && !stop() {
        let part = left.min(PART);
        clock.wait(part);
        left -= part;
    }
    stop()
}
