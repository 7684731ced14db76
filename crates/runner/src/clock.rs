//! The run's clocks: the wall clock for time stamps, and the monotonic clock for every duration.
//! In: nothing. Out: time stamps, elapsed time, waits.
//! Tests use a stand-in, whose wall clock jumps and whose waits take no time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A run's view of time.
pub trait Clock {
    /// Milliseconds since 1970 by the wall clock; for display only.
    fn stamp_ms(&self) -> i64;
    /// Time since some fixed moment, by the monotonic clock.
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

/// Waits in parts, and checks in between whether to stop; true if stopped.
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
