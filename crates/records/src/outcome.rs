//! Outcomes: the engine's results, one per pass of a phase.
//! In: what the workers counted and timed. Out: kept complete in the ledger, so that every figure can be recomputed.
//! A value that was not measured is absent, never zero.

pub use crate::together::{ClientOutcome, Percentiles, Together};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One pass of one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseOutcome {
    /// Index into [`crate::program::Program::phases`].
    pub phase: usize,
    /// Pass, from 0.
    pub pass: u32,
    /// Items completed: files, entries or blocks.
    pub items: u64,
    /// Bytes that read calls returned.
    pub bytes_read: u64,
    /// Bytes that write calls accepted.
    pub bytes_written: u64,
    /// From the common start to the return of the last call, in nanoseconds.
    pub returned_ns: u64,
    /// From the common start until all was durable, in nanoseconds; absent where nothing was written.
    pub durable_ns: Option<u64>,
    /// CPU time of the workers until the last call returned.
    pub cpu: CpuTime,
    /// One entry for each group of the phase.
    pub groups: Vec<GroupOutcome>,
    /// Throughput over time, all groups together; absent for phases shorter than one interval.
    pub series: Option<Series>,
    /// Operations that failed, the first few in full.
    pub errors: Errors,
    /// Blocks whose content differed from what was written; absent if content is not verified.
    pub verified: Option<Verified>,
    /// Name, size and position of all work done, folded into one number: equal for equal work on any filesystem.
    pub work_hash: u64,
    /// Requested work that did not happen, as text (such as a refused O_DIRECT).
    pub remarks: Vec<String>,
    /// Runs of the user's own programs; omitted if there are none, as in most phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
    /// Other judged results of the engine in this phase, by the name that requests them: [`crate::program::USABLE_SHARE`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub told: BTreeMap<String, f64>,
    /// When the first worker began, on this machine's CLOCK_MONOTONIC; only for one of several clients, until their outcomes are merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ns: Option<u64>,
    /// What each of several clients did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Box<Together>>,
    /// Duration of each slice in nanoseconds, where the pass was divided into slices alternating with other contenders; includes syncing at
    /// the end of a slice that left much to be written. Time of other contenders is in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices_ns: Vec<u64>,
}

impl PhaseOutcome {
    /// Number of slices: 1 for a pass that was not divided.
    pub fn slices(&self) -> usize {
        self.slices_ns.len().max(1)
    }
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRun {
    /// Program and arguments, as typed in a shell.
    pub line: String,
    /// Status with which it exited; None where a signal ended it.
    pub status: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Most memory that any one of its processes held (resident), in bytes.
    pub peak_memory_bytes: u64,
    /// Context switches of all its processes, voluntary and involuntary.
    pub context_switches: u64,
    /// Bytes returned by the read calls of all its processes, from files, pipes and devices; absent where the kernel does not count them.
    /// Mapped files, io_uring and libaio are not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that their write calls accepted, counted likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Names of processes that it left behind, which were killed; 8 at most.
    pub left_behind: Vec<String>,
    /// Bytes that it wrote to standard output.
    pub output_bytes: u64,
    /// The end of its standard output.
    pub output: String,
    /// Bytes that it wrote to standard error.
    pub error_bytes: u64,
    /// The end of its standard error.
    pub errors: String,
    /// Its own figures found in its output, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// What confined its writes to the contender's folder: `mount namespace`, `Landlock`; empty if nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confined_by: Vec<String>,
}

/// One group's part of a pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupOutcome {
    /// Name of the group.
    pub name: String,
    /// Items completed.
    pub items: u64,
    /// From the common start to this group's last return, in nanoseconds.
    pub returned_ns: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// One for each worker, in nanoseconds from the common start to its last return.
    pub workers_ns: Vec<u64>,
    /// Latency by step name, and `item` for a whole item: HDR V2 deflate, base64; nanoseconds, 3 digits.
    pub latency: BTreeMap<String, Histogram>,
    /// Uncounted time at the start of the phase, before its program began the work, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lead_ns: u64,
    /// Only for an open loop.
    pub pace: Option<Pace>,
}

/// A latency histogram in the HDR interchange form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// Values recorded.
    pub count: u64,
    /// Smallest, in nanoseconds.
    pub min_ns: u64,
    /// Largest, in nanoseconds.
    pub max_ns: u64,
    /// Exact mean, in nanoseconds.
    pub mean_ns: f64,
    /// HDR V2 with deflate, base64.
    pub hdr: String,
}

impl Histogram {
    /// A summary in a few numbers; `at` returns the value at a quantile.
    pub fn percentiles(&self, at: impl Fn(f64) -> u64) -> Percentiles {
        // The end of a bucket may exceed the largest value in it.
        let at = |quantile: f64| at(quantile).min(self.max_ns);
        let Self { count, max_ns, mean_ns, .. } = *self;
        Percentiles { count, p50_ns: at(0.5), p99_ns: at(0.99), p999_ns: at(0.999), max_ns, mean_ns }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(nanoseconds: &u64) -> bool {
    *nanoseconds == 0
}

/// The outcome of a requested rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Operations per second that were requested.
    pub asked_per_second: f64,
    /// Operations per second that were started.
    pub started_per_second: f64,
    /// Operations that started late.
    pub late: u64,
    /// More than 1 % of operations started late: the rate is not sustained.
    pub saturated: bool,
}

/// CPU time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel on behalf of the workers.
    pub system_ns: u64,
}

/// Throughput and latency over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Length of one interval, in nanoseconds.
    pub interval_ns: u64,
    /// Items completed in each interval.
    pub items: Vec<u64>,
    /// Bytes moved in each interval.
    pub bytes: Vec<u64>,
    /// Calls that returned in each interval; absent in older records, as are their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<u64>,
    /// Total time of these calls, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls_ns: Vec<u64>,
    /// Time of the longest of them, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest_ns: Vec<u64>,
}

impl Series {
    /// Merges series of the same time, in the longest of their intervals; shorter intervals divide it evenly.
    pub fn together<'a>(each: impl Iterator<Item = &'a Series> + Clone) -> Option<Series> {
        let interval_ns = each.clone().map(|one| one.interval_ns).max().filter(|longest| *longest > 0)?;
        let gather = |of: fn(&Series) -> &Vec<u64>, fold: fn(u64, u64) -> u64| {
            let mut all = Vec::new();
            for one in each.clone() {
                for (at, value) in of(one).iter().enumerate() {
                    let place = (at as u64 * one.interval_ns / interval_ns) as usize;
                    all.resize(all.len().max(place + 1), 0);
                    all[place] = fold(all[place], *value);
                }
            }
            all
        };
        let sum = |of| gather(of, std::ops::Add::add);
        Some(Series {
            interval_ns,
            items: sum(|one| &one.items),
            bytes: sum(|one| &one.bytes),
            calls: sum(|one| &one.calls),
            calls_ns: sum(|one| &one.calls_ns),
            longest_ns: gather(|one| &one.longest_ns, u64::max),
        })
    }
}

/// Failed operations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// How many failed.
    pub count: u64,
    /// The first of them, 16 at most.
    pub first: Vec<OperationError>,
}

/// One operation that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationError {
    /// Name of the step.
    pub step: String,
    /// File, relative to the root.
    pub file: String,
    /// Offset in bytes, for reads and writes.
    pub offset: Option<u64>,
    /// errno.
    pub errno: i32,
    /// Its message.
    pub message: String,
}

/// Result of verifying content.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// Blocks checked.
    pub blocks: u64,
    /// Blocks that were wrong.
    pub wrong: u64,
    /// The first wrong ones, as text: file, offset, expected, found; 16 at most.
    pub first: Vec<String>,
}

/// What this machine's memory allows, measured without any filesystem: no valid figure exceeds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Bytes a second that the data generator makes, one worker.
    pub generate_bytes_per_second: f64,
    /// Bytes a second that are generated and then copied once, as a write to memory does.
    pub write_bytes_per_second: f64,
    /// Nanoseconds that one clock read takes.
    pub clock_read_ns: f64,
    /// Nanoseconds that recording one latency takes, clock read included.
    pub record_ns: f64,
    /// Which clock: `tsc` or `clock_monotonic`.
    pub clock: String,
    /// How far that clock was off the kernel's during the measurement, as a share.
    pub clock_error: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(interval_ns: u64, items: &[u64]) -> Series {
        let items = items.to_vec();
        let of_calls = || items.iter().map(|items| 2 * items).collect();
        Series { interval_ns, bytes: vec![], calls: of_calls(), calls_ns: vec![], longest_ns: of_calls(), items }
    }

    #[test]
    fn series_of_several_intervals_are_joined_in_the_longest() {
        let (fine, coarse) = (series(100, &[1, 2, 3, 4, 5]), series(200, &[10, 20]));
        let both = Series::together([&fine, &coarse].into_iter()).expect("there are two");
        assert_eq!((both.interval_ns, both.items.as_slice()), (200, &[13, 27, 5][..]));
        assert_eq!(both.longest_ns, [20, 40, 10]);
        assert!(both.bytes.is_empty() && both.calls == [26, 54, 10]);
        assert_eq!(Series::together([].into_iter()), None);
    }
}
