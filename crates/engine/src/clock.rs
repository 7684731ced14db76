//! The engine's clock: nanoseconds in the scale of CLOCK_MONOTONIC, read from the processor's counter if that is steady.
//! In: the counter and the kernel's clock, to calibrate one against the other. Out: one cheap reading per operation.
//! The only place that reads a clock.
#![allow(unsafe_code)]

use std::time::Duration;

/// A reading of both clocks at the same moment.
#[derive(Debug, Clone, Copy)]
struct Pair {
    ticks: u64,
    ns: u64,
}

/// Shortest time between the two pairs that give the counter's rate: readings that are each off by 50 ns make
/// it off by 25 parts in a million at most.
const CALIBRATION: Duration = Duration::from_millis(4);

/// Remembers when the process started, so that calibration uses the longest possible time.
#[derive(Debug, Clone, Copy)]
pub struct Calibrator {
    first: Option<Pair>,
}

/// A calibrated clock; copied into every worker.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Pair,
    /// Nanoseconds per tick, 32.32 fixed point; 0: read the kernel's clock instead.
    rate: u64,
}

impl Calibrator {
    /// Takes the first pair.
    pub fn start() -> Calibrator {
        Calibrator { first: counter_is_steady().then(pair) }
    }

    /// A clock calibrated from the first pair until now; waits a few milliseconds if hardly any time has passed.
    pub fn clock(&self) -> Clock {
        let Some(first) = self.first else {
            return Clock { base: Pair { ticks: 0, ns: 0 }, rate: 0 };
        };
        let mut now = pair();
        while now.ns - first.ns < CALIBRATION.as_nanos() as u64 {
            now = pair();
        }
        let rate = ((u128::from(now.ns - first.ns) << 32) / u128::from((now.ticks - first.ticks).max(1))) as u64;
        Clock { base: now, rate }
    }
}

impl Clock {
    /// Nanoseconds since some fixed moment.
    #[inline]
    pub fn now(&self) -> u64 {
        if self.rate == 0 {
            return kernel_ns();
        }
        let ticks = counter().wrapping_sub(self.base.ticks);
        self.base.ns + ((u128::from(ticks) * u128::from(self.rate)) >> 32) as u64
    }

    /// `tsc` (the processor's counter) or `clock_monotonic`.
    pub fn name(&self) -> &'static str {
        if self.rate == 0 { "clock_monotonic" } else { "tsc" }
    }

    /// How far this clock is from the kernel's since `start`, as a share of that time.
    pub fn error_since(&self, start: u64) -> f64 {
        if self.rate == 0 {
            return 0.0;
        }
        let (ours, kernel) = (self.now(), kernel_ns());
        ours.abs_diff(kernel) as f64 / kernel.saturating_sub(start).max(1) as f64
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub fn kernel_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills one structure; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Sleeps until a time of CLOCK_MONOTONIC in nanoseconds, or a signal.
pub fn sleep_until(ns: u64) {
    let t = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    // SAFETY: the kernel reads one structure.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &t, std::ptr::null_mut()) };
}

/// Of a few pairs the one with the closest counter readings, so that an interrupt does not spoil it.
fn pair() -> Pair {
    let mut best = (u64::MAX, Pair { ticks: 0, ns: 0 });
    for _ in 0..8 {
        let before = counter();
        let ns = kernel_ns();
        let after = counter();
        if after.wrapping_sub(before) < best.0 {
            best = (after.wrapping_sub(before), Pair { ticks: before + (after - before) / 2, ns });
        }
    }
    best.1
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: rdtsc exists on every x86-64 processor and touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter must run at one rate in every power state and on every core; the kernel lists both as flags.
#[cfg(target_arch = "x86_64")]
fn counter_is_steady() -> bool {
    let trusted = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let listed = trusted.is_ok_and(|t| t.split_whitespace().any(|c| c == "tsc"));
    // Invariant TSC: leaf 8000_0007h, EDX bit 8 (AMD manual volume 3, appendix E; Intel manual volume 3, 18.17.1).
    let highest = core::arch::x86_64::__cpuid(0x8000_0000).eax;
    listed && highest >= 0x8000_0007 && core::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter may be read from user space on Linux and touches no memory.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// The architected timer is steady by definition, but often ticks at 25 MHz or so: too coarse for latencies.
#[cfg(target_arch = "aarch64")]
fn counter_is_steady() -> bool {
    let hertz: u64;
    // SAFETY: reads a register that user space may read.
    unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nomem, nostack)) };
    hertz >= 500_000_000
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter_is_steady() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_keeps_to_the_kernels_within_a_thousandth() {
        let calibrator = Calibrator::start();
        let clock = calibrator.clock();
        let start = kernel_ns();
        std::thread::sleep(Duration::from_millis(50));
        assert!(clock.error_since(start) < 1e-3, "off by {}", clock.error_since(start));
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        let clock = Calibrator::start().clock();
        let mut last = clock.now();
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
