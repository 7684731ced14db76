//! Outcomes: what the engine answers, one for every pass of a phase.
//! In: what the workers counted and timed. Out: kept whole in the ledger, so that every figure can be computed again.
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
    /// CPU of the workers until the last call returned.
    pub cpu: CpuTime,
    /// One entry for each group of the phase.
    pub groups: Vec<GroupOutcome>,
    /// Throughput over time, all groups together; absent for phases shorter than one interval.
    pub series: Option<Series>,
    /// Operations that failed, the first few in full.
    pub errors: Errors,
    /// Blocks whose content was not what had been written; absent where content is not verified.
    pub verified: Option<Verified>,
    /// Name, size and place of everything done, folded into one number: equal for equal work on any filesystem.
    pub work_hash: u64,
    /// Work that did not happen although it was asked for, in words (an O_DIRECT that was refused, say).
    pub remarks: Vec<String>,
    /// Runs of the user's own programs; left out where there are none, as in most phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
    /// What else the engine found out in this phase that is judged, by the word that asks for it: [`crate::program::USABLE_SHARE`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub told: BTreeMap<String, f64>,
    /// When the first worker began, on this machine's CLOCK_MONOTONIC; only of one client among several, until their outcomes are put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ns: Option<u64>,
    /// What each of several clients did, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Box<Together>>,
    /// How long each slice took, in nanoseconds, where the pass was cut into slices between which others had their turn; with what made it durable, where
    /// it left so much to be written that this was done at its end. The time of others is in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices_ns: Vec<u64>,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRun {
    /// Program and arguments, as they would be typed.
    pub line: String,
    /// Status with which it exited; None where a signal ended it.
    pub status: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Most memory that any one of its processes held (resident), in bytes.
    pub peak_memory_bytes: u64,
    /// Context switches of all its processes: given up by themselves (waiting) and taken away.
    pub context_switches: u64,
    /// Bytes that the read calls of all its processes returned, from files, pipes and devices; absent where the kernel does not count them. What it
    /// maps, and what it reads through io_uring or libaio, is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that their write calls accepted, counted likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Names of processes that it left behind, which were ended; 8 at most.
    pub left_behind: Vec<String>,
    /// Bytes that it wrote to standard output.
    pub output_bytes: u64,
    /// The end of its standard output.
    pub output: String,
    /// Bytes that it wrote to standard error.
    pub error_bytes: u64,
    /// The end of its standard error.
    pub errors: String,
    /// Figures of its own that were found in what it wrote, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// What kept its writes in the contender's folder: `mount namespace`, `Landlock`; empty where nothing did.
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
    /// Of the phase's time before it began to work, which is not counted: what a program does until then. Nanoseconds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lead_ns: u64,
    /// Of an open loop.
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
    /// In a few numbers, by what tells the value at a quantile.
    pub fn percentiles(&self, at: impl Fn(f64) -> u64) -> Percentiles {
        // The end of a bucket may lie beyond the largest value in it.
        let at = |quantile: f64| at(quantile).min(self.max_ns);
        let Self { count, max_ns, mean_ns, .. } = *self;
        Percentiles { count, p50_ns: at(0.5), p99_ns: at(0.99), p999_ns: at(0.999), max_ns, mean_ns }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(nanoseconds: &u64) -> bool {
    *nanoseconds == 0
}

/// What became of an asked-for rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Operations a second that were asked for.
    pub asked_per_second: f64,
    /// Operations a second that were started.
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
    /// Calls that returned in each interval; absent in records of before they were counted, as are their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<u64>,
    /// Time that these calls took, together, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls_ns: Vec<u64>,
    /// Time that the longest of them took, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest_ns: Vec<u64>,
}

impl Series {
    /// Series of the same time as one, in the longest of their intervals; shorter ones are whole parts of it.
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
    /// What the system calls it.
    pub message: String,
}

/// What checking of content found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// Blocks checked.
    pub blocks: u64,
    /// Blocks that were wrong.
    pub wrong: u64,
    /// The first wrong ones, in words: file, offset, what was expected, what was found; 16 at most.
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
