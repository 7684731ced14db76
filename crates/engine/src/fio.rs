//! The report of fio with `--output-format=json+`, and its errors.
//! In: which parts, and fio's output. Out: bytes, operations, time and latencies of each; the lines that name errors.
//! A part is what a job, or a group of jobs, has read or written: the sum of all its entries in the report.

use crate::histogram::Merged;
use serde::Deserialize;
use std::collections::BTreeMap;
use workload::outcome::GroupOutcome;

#[derive(Deserialize)]
struct Report {
    jobs: Vec<Job>,
}

/// An entry: a job, one of its copies, or several jobs together.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Job {
    jobname: String,
    groupid: u32,
    read: Direction,
    write: Direction,
    sync: Syncs,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Direction {
    io_bytes: u64,
    total_ios: u64,
    /// Milliseconds, without the ramp.
    runtime: u64,
    /// From submission to completion; without buckets unless the job enables them.
    lat_ns: Latency,
    /// From the end of the submission.
    clat_ns: Latency,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Syncs {
    lat_ns: Latency,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Latency {
    min: u64,
    max: u64,
    mean: f64,
    /// Operations by their latency in nanoseconds.
    bins: BTreeMap<String, u64>,
}

/// The named parts of a report.
///
/// # Errors
/// The output is not such a report, or one of the parts is missing; in a sentence.
pub fn parts(names: &[String], output: &str) -> Result<Vec<GroupOutcome>, String> {
    // fio may print notes before and after the report.
    let start = if output.starts_with('{') { Some(0) } else { output.find("\n{").map(|at| at + 1) };
    let text = &output[start.ok_or("fio printed no report")?..];
    let mut reports = serde_json::Deserializer::from_str(text).into_iter::<Report>();
    let report = match reports.next() {
        Some(report) => report.map_err(|error| format!("fio's report cannot be read: {error}"))?,
        None => return Err("fio printed no report".into()),
    };
    names.iter().map(|name| part(&report, name).ok_or_else(|| format!("fio's report has no `{name}`"))).collect()
}

/// The errors in fio's output, which may be long before its end; None if there are none.
pub fn errors(output: &str) -> Option<String> {
    const LINES: usize = 4;
    let lines: Vec<&str> = output.lines().filter(|line| line.starts_with("fio: ")).take(LINES).collect();
    let refused = |line: &&str| line.contains("io_uring.c") && line.contains("Operation not permitted");
    let hint = if lines.iter().any(refused) {
        " / io_uring is disabled on this machine (sysctl kernel.io_uring_disabled, or a seccomp filter): Operation not permitted. Enable it, \
         or use ioengine=libaio"
    } else {
        ""
    };
    (!lines.is_empty()).then(|| lines.join(" / ") + hint)
}

fn part(report: &Report, name: &str) -> Option<GroupOutcome> {
    let (whose, direction) = name.rsplit_once(' ').filter(|(_, direction)| ["read", "write"].contains(direction))?;
    let group = whose.strip_prefix("group ").and_then(|number| number.parse::<u32>().ok());
    let is_of = |job: &&Job| job.jobname == whose || group == Some(job.groupid);
    let mut sum = Sum::default();
    let (mut latency, mut syncs) = (Merged::new(), Merged::new());
    for job in report.jobs.iter().filter(is_of) {
        let side = if direction == "read" { &job.read } else { &job.write };
        sum.add(side);
        record(&mut latency, if side.lat_ns.bins.is_empty() { &side.clat_ns } else { &side.lat_ns });
        if direction == "write" {
            record(&mut syncs, &job.sync.lat_ns);
        }
    }
    let named = [("item", latency.finish()), ("fsync", syncs.finish())];
    (sum.operations > 0).then(|| GroupOutcome {
        name: name.into(),
        items: sum.operations,
        returned_ns: sum.milliseconds.saturating_mul(1_000_000),
        bytes_read: if direction == "read" { sum.bytes } else { 0 },
        bytes_written: if direction == "write" { sum.bytes } else { 0 },
        workers_ns: Vec::new(),
        latency: named.into_iter().filter_map(|(step, histogram)| Some((step.to_owned(), histogram?))).collect(),
        lead_ns: 0,
        pace: None,
    })
}

#[derive(Default)]
struct Sum {
    bytes: u64,
    operations: u64,
    milliseconds: u64,
}

impl Sum {
    /// Entries run in parallel, so the time is that of the longest.
    fn add(&mut self, side: &Direction) {
        self.bytes = self.bytes.saturating_add(side.io_bytes);
        self.operations = self.operations.saturating_add(side.total_ios);
        self.milliseconds = self.milliseconds.max(side.runtime.max(1));
    }
}

fn record(into: &mut Merged, latency: &Latency) {
    let counts = latency.bins.iter().filter_map(|(ns, count)| Some((ns.parse().ok()?, *count)));
    into.add_counts(counts, (latency.min, latency.max), latency.mean);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two copies of a job without `group_reporting`, and another job, as printed by fio 3.33, shortened.
    const REPORT: &str = r#"note: both iodepth >= 1 and synchronous I/O engine are selected
{"fio version": "fio-3.33", "jobs": [
  {"jobname": "db", "groupid": 0, "error": 0,
   "read": {"io_bytes": 8192, "total_ios": 2, "runtime": 10, "bw_bytes": 819200, "iops": 200.0,
            "lat_ns": {"min": 900, "max": 5000, "mean": 2950.0, "N": 2},
            "clat_ns": {"min": 900, "max": 5000, "mean": 2950.0, "N": 2, "bins": {"900": 1, "4992": 1}}},
   "write": {"io_bytes": 0, "total_ios": 0, "runtime": 0}},
  {"jobname": "db", "groupid": 0, "read": {"io_bytes": 4096, "total_ios": 1, "runtime": 12,
            "clat_ns": {"min": 700, "max": 700, "mean": 700.0, "bins": {"700": 1}}}},
  {"jobname": "log", "groupid": 1, "write": {"io_bytes": 4096, "total_ios": 1, "runtime": 3,
            "clat_ns": {"min": 100, "max": 100, "mean": 100.0, "bins": {"100": 1}}},
   "sync": {"total_ios": 1, "lat_ns": {"min": 40000, "max": 40000, "mean": 40000.0, "bins": {"40000": 1}}}},
  {}]}
after the report
"#;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn clones_of_a_job_are_added_up_with_all_their_latencies() {
        let parts = parts(&names(&["db read", "log write", "group 1 write"]), REPORT).expect("read");
        let read = &parts[0];
        assert_eq!((read.items, read.bytes_read, read.bytes_written, read.returned_ns), (3, 12288, 0, 12_000_000));
        let item = &read.latency["item"];
        assert_eq!((item.count, item.min_ns, item.max_ns), (3, 700, 5000));
        assert!((item.mean_ns - 2200.0).abs() < 1.0, "{}", item.mean_ns);
        assert_eq!(parts[1].latency["fsync"].count, 1);
        assert_eq!((&parts[2].name[..], parts[2].items), ("group 1 write", 1));
    }

    #[test]
    fn errors_are_found_before_a_long_report() {
        let line =
            "fio: pid=1610, err=1/file:engines/io_uring.c:998, func=io_queue_init, error=Operation not permitted";
        let found = errors(&format!("{line}\n{REPORT}{}", "3;fio-3.33;u;0;1;0\n".repeat(1000))).expect("errors");
        assert!(found.starts_with(line) && found.contains("io_uring is disabled"), "{found}");
        let full = "fio: pid=7, err=28/file:filesetup.c:241, func=write, error=No space left on device";
        assert_eq!(errors(&format!("{full}\n{{}}")).as_deref(), Some(full));
        assert_eq!(errors(REPORT), None);
    }

    #[test]
    fn a_missing_report_is_an_error() {
        for (name, output) in
            [("db write", REPORT), ("other read", REPORT), ("db read", "fio: failed"), ("db read", "{")]
        {
            parts(&names(&[name]), output).expect_err(name);
        }
    }
}
