//! fio's JSON, with histograms (json+) or without (json), of one process or of several clients.
//! In: text that begins with the first object. Out: a round for each run of fio, and for each of its clients; each job and direction is a
//! phase, with the clones of a job combined. Of several reports of one run (--status-interval) the last counts.
//! The bins of json+ become HDR histograms; percentiles alone are no histogram, so plain json has no latencies.

use super::records::{Pass, Round, Source, imported};
use super::{COUNT_LIMIT, Imported, error_text, shortened, stem};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use records::outcome::Histogram;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// fio's name for the sum over all clients of a server.
const ALL_CLIENTS: &str = "All clients";

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "fio version")]
    version: String,
    /// Seconds.
    timestamp: Option<i64>,
    timestamp_ms: Option<i64>,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, Value>,
    #[serde(default)]
    jobs: Vec<Job>,
    /// The same for clients of a server.
    #[serde(default)]
    client_stats: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    /// Seconds since fio began.
    #[serde(default)]
    elapsed: i64,
    /// Name of the client.
    hostname: Option<String>,
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, Value>,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    /// All directions together, with unified_rw_reporting.
    mixed: Option<Direction>,
    job_runtime: Option<f64>,
    usr_cpu: Option<f64>,
    sys_cpu: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Direction {
    io_bytes: u64,
    /// Absent before fio 2.99, where `io_bytes` counts KiB.
    io_kbytes: Option<u64>,
    /// Milliseconds.
    runtime: f64,
    iops: f64,
    /// Absent in old versions.
    total_ios: Option<u64>,
    lat_ns: Option<Latency>,
    clat_ns: Option<Latency>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Latency {
    min: f64,
    max: f64,
    mean: f64,
    bins: Option<BTreeMap<String, u64>>,
}

impl Direction {
    fn operations(&self) -> u64 {
        // The cast saturates.
        self.total_ios.unwrap_or_else(|| (self.iops * self.runtime / 1e3).round() as u64)
    }

    fn bytes(&self, version: &str) -> u64 {
        if self.io_kbytes.is_none() && counts_kib(version) { self.io_bytes.saturating_mul(1024) } else { self.io_bytes }
    }
}

/// Whether a version, such as `fio-2.16`, counts `io_bytes` in KiB.
fn counts_kib(version: &str) -> bool {
    let mut numbers = version.trim_start_matches("fio-").split(['.', '-']).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (2, 99))
}

impl Output {
    /// The jobs of all clients, or of the one process; without the sum that a server adds.
    fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().chain(self.client_stats.iter().filter(|job| job.jobname != ALL_CLIENTS))
    }

    /// Time of writing, in milliseconds; only recent versions have it, and it must agree with the seconds.
    fn written_ms(&self) -> Option<i64> {
        let agrees = |ms: &i64| self.timestamp.is_none_or(|seconds| ms / 1000 == seconds);
        self.timestamp_ms.filter(agrees).or(self.timestamp.map(|seconds| seconds.saturating_mul(1000)))
    }

    fn elapsed(&self) -> i64 {
        self.jobs().map(|job| job.elapsed).max().unwrap_or(0)
    }

    /// Whether this is a later report of the same run of fio: clock and elapsed time grew by the same amount, and the run began before the
    /// other report was written.
    fn continues(&self, other: &Output) -> bool {
        let jobs = |output: &Output| {
            output.jobs().map(|job| (job.jobname.clone(), job.groupid, job.hostname.clone())).collect::<Vec<_>>()
        };
        let (Some(now), Some(then)) = (self.written_ms(), other.written_ms()) else { return false };
        let between = now.saturating_sub(then) / 1000;
        let grown = self.elapsed().saturating_sub(other.elapsed());
        // fio rounds the elapsed seconds up.
        let began_before = between < if grown > 0 { self.elapsed() } else { (self.elapsed() - 1).max(1) };
        between >= 0 && grown >= 0 && (between - grown).abs() <= 1 && began_before && jobs(self) == jobs(other)
    }
}

/// Whether a JSON text is fio's.
pub(super) fn looks_like(json: &str) -> bool {
    json.contains("\"fio version\"") && (json.contains("\"jobs\"") || json.contains("\"client_stats\""))
}

/// Reads all objects of a text.
pub(super) fn read(json: &str, file: &str) -> Result<Imported, String> {
    let mut outputs: Vec<(Output, usize)> = Vec::new();
    let mut rest = json;
    let (mut jobs, mut torn) = (0, None);
    // Between the objects fio may print messages about its options.
    while let Some(at) = rest.find('{') {
        let mut objects = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Output>();
        let output = match objects.next() {
            Some(Ok(output)) => output,
            Some(Err(error)) if outputs.is_empty() => return Err(error_text(&error)),
            Some(Err(error)) => {
                torn = Some(error_text(&error));
                break;
            }
            None => break,
        };
        rest = &rest[at + objects.byte_offset()..];
        jobs += output.jobs().count();
        if jobs > COUNT_LIMIT {
            return Err(format!("it holds more than {COUNT_LIMIT} jobs"));
        }
        match outputs.last_mut() {
            Some((last, reports)) if output.continues(last) => (*last, *reports) = (output, *reports + 1),
            _ => outputs.push((output, 1)),
        }
    }
    if let Some(why) = torn {
        return Err(format!("after {} complete results: {why}", outputs.len()));
    }
    let first = outputs.first().ok_or("it is empty")?;
    let source = Source {
        program: shortened(&first.0.version).replace("fio-", "fio "),
        file,
        workload: "fio",
        title: "What fio measured".into(),
    };
    let rounds: Vec<Round> = outputs.iter().flat_map(|(output, reports)| rounds(output, *reports, file)).collect();
    if rounds.iter().all(|round| round.passes.is_empty())
        && let Some(failed) = rounds.iter().flat_map(|round| &round.remarks).next()
    {
        return Err(failed.clone());
    }
    imported(&source, rounds)
}

/// A round per client, or one for the process.
fn rounds(output: &Output, reports: usize, file: &str) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    // Without the failed clone the sum over a job's clones is meaningless.
    let clones = |job: &Job| (job.jobname.clone(), job.groupid, job.hostname.clone());
    let failed: BTreeSet<_> = output.jobs().filter(|job| job.error != 0).map(clones).collect();
    for job in output.jobs() {
        let contender = job.hostname.as_deref().filter(|host| !host.is_empty()).map_or_else(|| stem(file), shortened);
        let at = rounds.iter().position(|round| round.contender == contender).unwrap_or_else(|| {
            rounds.push(Round { contender, began_ms: output.written_ms(), ..Round::default() });
            rounds.len() - 1
        });
        let round = &mut rounds[at];
        if failed.contains(&clones(job)) {
            // The work of a failed job is not the requested work.
            if job.error != 0 {
                let name = shortened(&job.jobname);
                round.remarks.push(format!("fio's job {name} ended with {}: it has no figure", errno(job.error)));
            }
            continue;
        }
        let directions = [("read", &job.read), ("write", &job.write), ("trim", &job.trim), ("mixed", &job.mixed)];
        let is_active = |part: &&Direction| part.operations() > 0 || part.io_bytes > 0;
        let active = directions.iter().filter(|(_, part)| part.as_ref().is_some_and(|part| is_active(&part))).count();
        for (name, part) in directions {
            if let Some(part) = part.as_ref().filter(is_active) {
                add(&mut round.passes, pass(output, job, name, part, active > 1));
            }
        }
    }
    if reports > 1 {
        let remark = format!("fio wrote {reports} reports (--status-interval); the last one counts");
        rounds.iter_mut().for_each(|round| round.remarks.push(remark.clone()));
    }
    rounds
}

/// An error number of fio, as text.
fn errno(number: i64) -> String {
    let known = i32::try_from(number).map(|number| std::io::Error::from_raw_os_error(number).to_string());
    known.map_or_else(|_| format!("error {number}"), |text| format!("error {number} ({text})"))
}

fn pass(output: &Output, job: &Job, direction: &str, part: &Direction, several: bool) -> Pass {
    let option = |name: &str| {
        let value = job.options.get(name).or_else(|| output.global.get(name))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    // Some versions lack the options in their output.
    let mode = option("rw").or_else(|| option("readwrite"));
    let mode = mode.map(|mode| mode.split(':').next().unwrap_or_default().to_owned());
    let name = shortened(&job.jobname);
    let details: Vec<String> =
        [option("bs"), option("ioengine"), option("iodepth").map(|depth| format!("depth {depth}"))]
            .into_iter()
            .flatten()
            .collect();
    let details: Vec<String> = mode.iter().cloned().chain(details).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let title = format!("{name}: {direction}{details}");
    let mut remarks = Vec::new();
    if option("end_fsync").is_some_and(|value| value != "0") && direction == "write" {
        remarks.push("timed until fio's own fsync at the end".to_owned());
    }
    // CPU time is reported per job, not per direction.
    let cpu = job.job_runtime.filter(|_| !several).map(|runtime| {
        let seconds = |percent: Option<f64>| percent.unwrap_or(0.0) / 100.0 * runtime / 1e3;
        (seconds(job.usr_cpu), seconds(job.sys_cpu))
    });
    // Groups of the same name ran at different times.
    let group = if output.jobs().any(|other| other.jobname == job.jobname && other.groupid < job.groupid) {
        format!(" (group {})", job.groupid)
    } else {
        String::new()
    };
    Pass {
        name: format!("{name}-{direction}{group}"),
        title: shortened(&format!("{title}{group}")),
        operation: shortened(&format!("{name}-{direction}{group}")),
        items_lead: mode.is_some_and(|mode| mode.starts_with("rand")),
        writes: !["read", "mixed"].contains(&direction),
        items: part.operations(),
        bytes: part.bytes(&output.version),
        seconds: part.runtime / 1e3,
        cpu,
        latency: [&part.lat_ns, &part.clat_ns].into_iter().flatten().find_map(histogram),
        remarks,
    }
}

/// Clones of a job run in parallel: counts add up, and the last to end sets the time.
fn add(passes: &mut Vec<Pass>, pass: Pass) {
    let Some(known) = passes.iter_mut().find(|known| known.name == pass.name) else {
        passes.push(pass);
        return;
    };
    known.items = known.items.saturating_add(pass.items);
    known.bytes = known.bytes.saturating_add(pass.bytes);
    known.seconds = known.seconds.max(pass.seconds);
    known.cpu = known.cpu.zip(pass.cpu).map(|(known, more)| (known.0 + more.0, known.1 + more.1));
    // fio keeps a histogram per clone; a partial sum would not be the whole.
    known.latency = None;
}

/// An HDR histogram from the bins of json+: nanoseconds and counts.
fn histogram(latency: &Latency) -> Option<Histogram> {
    let bins = latency.bins.as_ref().filter(|bins| !bins.is_empty() && bins.len() <= COUNT_LIMIT)?;
    let mut recorded = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 45, 3).ok()?;
    for (nanoseconds, count) in bins {
        let nanoseconds: u64 = nanoseconds.parse().ok()?;
        recorded.record_n(nanoseconds.clamp(1, 1 << 45), *count).ok()?;
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&recorded, &mut bytes).ok()?;
    Some(Histogram {
        count: recorded.len(),
        min_ns: latency.min.max(0.0) as u64,
        max_ns: latency.max.max(0.0) as u64,
        mean_ns: if latency.mean.is_finite() { latency.mean } else { recorded.mean() },
        hdr: BASE64_STANDARD.encode(bytes),
    })
}
