//! Lateness of a modelled disk.
//! In: for each request, the times of its completion in the model and of its answer; the kernel's counters of the device. Out:
//! [`Lateness`], which counts from the start of the server, and the [`Summary`] of a span.

use disk_model::Kind;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A kind of request counts if its time is at least this share of the span.
const LEAST_SHARE: f64 = 0.05;
/// With up to this many writes in progress on average, a process waits for each, so the kernel's time of them is waiting time.
const SHALLOW: f64 = 2.0;
/// The kernel shows times in whole milliseconds.
const KERNEL_UNIT_NS: u64 = 1_000_000;
/// Buckets for each doubling; also those below the first doubling.
const FINE: u64 = 8;
/// Number of buckets: up to 2^40 ns, some 18 minutes.
const BUCKETS: usize = 312;

/// Requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Answered requests.
    pub requests: u64,
    /// Their time in the model, from arrival at the server.
    pub device_ns: u64,
    /// Time by which answers were late.
    pub late_ns: u64,
    /// Part of it that is unavoidable: the model takes less time than the path to the device and back.
    pub unreachable_ns: u64,
}

impl Times {
    fn since(self, before: Times) -> Times {
        Times {
            requests: self.requests.saturating_sub(before.requests),
            device_ns: self.device_ns.saturating_sub(before.device_ns),
            late_ns: self.late_ns.saturating_sub(before.late_ns),
            unreachable_ns: self.unreachable_ns.saturating_sub(before.unreachable_ns),
        }
    }

    /// Uses the kernel's time for the same requests: any excess counts as late, whatever the server measured.
    fn by_kernel(mut self, kernel_ns: u64) -> Times {
        let longer = kernel_ns.saturating_sub(self.device_ns).saturating_sub(KERNEL_UNIT_NS);
        self.late_ns = self.late_ns.max(longer);
        self
    }

    fn share(&self) -> f64 {
        self.late_ns as f64 / self.device_ns.max(1) as f64
    }

    fn unreachable_share(&self) -> f64 {
        self.unreachable_ns as f64 / self.device_ns.max(1) as f64
    }

    fn avoidable_share(&self) -> f64 {
        self.share() - self.unreachable_share()
    }
}

/// Requests answered since the server started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Reads.
    pub reads: Times,
    /// Writes.
    pub writes: Times,
    /// Flushes.
    pub flushes: Times,
    /// Discards.
    pub discards: Times,
    /// Histogram of lateness; trailing zeros are omitted.
    late: Vec<u64>,
}

/// The kernel's counters of the device over a span, in nanoseconds from the start of each request to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelTimes {
    /// Length of the span.
    pub span_ns: u64,
    /// All reads together.
    pub reads_ns: u64,
    /// All writes together; writes with a flush include its time.
    pub writes_ns: u64,
    /// All flushes together.
    pub flushes_ns: u64,
}

/// Lateness in a span.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    /// Answered requests.
    pub requests: u64,
    /// Time of the device in the model.
    pub device_ns: u64,
    /// Lateness as a share of the device's time, for the kind of request where it is largest.
    pub share: f64,
    /// Part of it that no repetition reduces: the model is faster than the path to the device and back.
    pub unreachable: f64,
    /// The largest share of a kind of request that a repetition may reduce.
    pub avoidable: f64,
    /// Half of the requests were not later than this.
    pub median_ns: u64,
    /// 99 % of the requests were not later than this.
    pub p99_ns: u64,
}

impl Lateness {
    /// Counts an answered request. `takes`: its time in the model; `late`: how late the answer was; `unreachable`: the unavoidable part of that.
    pub fn answered(&mut self, kind: Kind, takes: Duration, late: Duration, unreachable: Duration) {
        let times = match kind {
            Kind::Read => &mut self.reads,
            Kind::Write => &mut self.writes,
            Kind::Flush => &mut self.flushes,
            Kind::Discard => &mut self.discards,
        };
        times.requests += 1;
        times.device_ns = times.device_ns.saturating_add(nanoseconds(takes));
        times.late_ns = times.late_ns.saturating_add(nanoseconds(late));
        times.unreachable_ns = times.unreachable_ns.saturating_add(nanoseconds(unreachable.min(late)));
        let bucket = bucket(nanoseconds(late));
        if self.late.len() <= bucket {
            self.late.resize(bucket + 1, 0);
        }
        self.late[bucket] += 1;
    }

    /// Requests answered since an earlier moment.
    #[must_use]
    pub fn since(&self, before: &Lateness) -> Lateness {
        let earlier = |at: usize| before.late.get(at).copied().unwrap_or(0);
        Lateness {
            reads: self.reads.since(before.reads),
            writes: self.writes.since(before.writes),
            flushes: self.flushes.since(before.flushes),
            discards: self.discards.since(before.discards),
            late: self.late.iter().enumerate().map(|(at, count)| count.saturating_sub(earlier(at))).collect(),
        }
    }

    /// Summary of a span. None: the device was almost idle.
    ///
    /// The server measures from the arrival of a request to its answer. The kernel's time includes the path to the device and back. It is
    /// used if a process waits for each request: for reads and flushes, and for writes if few are in progress and none contains a flush.
    pub fn summary(&self, kernel: &KernelTimes) -> Option<Summary> {
        let waited = self.flushes.requests == 0 && (kernel.writes_ns as f64) <= SHALLOW * kernel.span_ns as f64;
        let kinds = [
            self.reads.by_kernel(kernel.reads_ns),
            if waited { self.writes.by_kernel(kernel.writes_ns) } else { self.writes },
            self.flushes.by_kernel(kernel.flushes_ns),
            self.discards,
        ];
        let least = LEAST_SHARE * kernel.span_ns as f64;
        let counts = |times: &&Times| times.requests > 0 && (times.device_ns + times.late_ns) as f64 >= least;
        let worst = kinds.iter().filter(counts).max_by(|one, other| one.share().total_cmp(&other.share()))?;
        let avoidable = kinds.iter().filter(counts).map(Times::avoidable_share).fold(0.0, f64::max);
        Some(Summary {
            requests: kinds.iter().map(|times| times.requests).sum(),
            device_ns: kinds.iter().map(|times| times.device_ns).sum(),
            share: worst.share(),
            unreachable: worst.unreachable_share(),
            avoidable,
            median_ns: self.quantile(0.5),
            p99_ns: self.quantile(0.99),
        })
    }

    fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.late.iter().sum::<u64>() as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.late.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0, value)
    }
}

/// Eight buckets for each doubling: a resolution of one eighth of the value.
fn bucket(value: u64) -> usize {
    if value < FINE {
        return value as usize;
    }
    let shift = u64::from(value.ilog2()) - 3;
    ((FINE * (shift + 1) + (value >> shift) - FINE) as usize).min(BUCKETS - 1)
}

/// The smallest value of a bucket.
fn value(bucket: usize) -> u64 {
    let (doublings, place) = (bucket as u64 / FINE, bucket as u64 % FINE);
    if doublings == 0 { place } else { (FINE + place) << (doublings - 1) }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    /// This many reads of 100 us, each late by this much.
    fn reads(count: u64, late: u64, unreachable: u64) -> Lateness {
        let mut all = Lateness::default();
        (0..count).for_each(|_| all.answered(Kind::Read, us(100), us(late), us(unreachable)));
        all
    }

    fn span(ms: u64) -> KernelTimes {
        KernelTimes { span_ns: ms * 1_000_000, ..KernelTimes::default() }
    }

    #[test]
    fn buckets_hold_their_own_values_to_an_eighth() {
        for exact in (0..5000).chain([123_456, 9_999_999_999]) {
            let kept = value(bucket(exact));
            assert!(kept <= exact && exact - kept <= exact / 8, "{exact} became {kept}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn lateness_is_a_share_of_the_devices_time_with_its_median_and_its_99th_percentile() {
        let mut all = reads(98, 4, 0);
        (0..2).for_each(|_| all.answered(Kind::Read, us(100), us(90), us(0)));
        let summary = all.summary(&span(10)).expect("the device worked");
        assert_eq!((summary.requests, summary.device_ns), (100, 10_000_000));
        assert!((summary.share - (98.0 * 4.0 + 180.0) / 10_000.0).abs() < 1e-9, "{summary:?}");
        assert!((3_500..=4_000).contains(&summary.median_ns), "{summary:?}");
        assert!((80_000..=90_000).contains(&summary.p99_ns), "{summary:?}");
    }

    #[test]
    fn lateness_that_no_repetition_mends_is_separate_and_hides_no_other_kind() {
        let mut all = reads(100, 20, 0);
        (0..100).for_each(|_| all.answered(Kind::Write, us(20), us(42), us(40)));
        let summary = all.summary(&span(12)).expect("the device worked");
        assert!((summary.share - 2.1).abs() < 1e-9 && (summary.unreachable - 2.0).abs() < 1e-9, "{summary:?}");
        assert!((summary.avoidable - 0.2).abs() < 1e-9, "{summary:?}");
    }

    #[test]
    fn waits_of_the_kernel_beyond_the_model_are_lateness_even_if_the_server_missed_them() {
        let all = reads(1000, 0, 0);
        let seen = |reads_ns| all.summary(&KernelTimes { reads_ns, ..span(200) }).expect("the device worked").share;
        assert_eq!(seen(100_000_000), 0.0);
        // Within the resolution of the kernel's counters.
        assert_eq!(seen(101_000_000), 0.0);
        assert!((seen(151_000_000) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn the_kernels_time_of_writes_counts_only_where_someone_waits_for_each_of_them() {
        let mut all = Lateness::default();
        (0..1000).for_each(|_| all.answered(Kind::Write, us(100), us(0), us(0)));
        let share = |all: &Lateness, writes_ns| {
            let kernel = KernelTimes { writes_ns, ..span(200) };
            all.summary(&kernel).expect("the device worked").share
        };
        assert!(share(&all, 200_000_000) > 0.9);
        // Many in progress: they wait for each other.
        assert_eq!(share(&all, 2_000_000_000), 0.0);
        all.answered(Kind::Flush, us(100), us(0), us(0));
        assert_eq!(share(&all, 200_000_000), 0.0);
    }

    #[test]
    fn a_span_has_what_was_answered_in_it_and_one_without_work_has_nothing() {
        let before = reads(100, 50, 0);
        let mut after = before.clone();
        (0..10).for_each(|_| after.answered(Kind::Read, us(100), us(2), us(0)));
        let summary = after.since(&before).summary(&span(1)).expect("the device worked");
        assert_eq!(summary.requests, 10);
        assert!((summary.share - 0.02).abs() < 1e-9, "{summary:?}");
        assert_eq!(after.since(&after).summary(&span(1)), None);
        // Busy for only a thousandth of the span.
        assert_eq!(reads(1, 0, 0).summary(&span(100)), None);
    }
}
