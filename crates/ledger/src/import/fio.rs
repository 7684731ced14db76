//! fio's JSON, with histograms (json+) or without (json).
//! In: text that begins with the object. Out: one round; each job and direction is a phase, clones of a job together.
//! The bins of json+ become HDR histograms; percentiles alone are no histogram, so plain json has no latencies.

use super::records::{Pass, Round, Source, imported};
use super::{COUNT_LIMIT, Imported, said, shortened, stem};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use records::outcome::Histogram;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "fio version")]
    version: String,
    timestamp_ms: Option<i64>,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, Value>,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, Value>,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    job_runtime: Option<f64>,
    usr_cpu: Option<f64>,
    sys_cpu: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Direction {
    io_bytes: u64,
    /// Milliseconds.
    runtime: f64,
    total_ios: u64,
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

/// Whether a JSON text is of fio.
pub(super) fn looks_like(json: &str) -> bool {
    json.contains("\"fio version\"") && json.contains("\"jobs\"")
}

/// Reads the first object of a text.
pub(super) fn read(json: &str, file: &str) -> Result<Imported, String> {
    let mut objects = serde_json::Deserializer::from_str(json).into_iter::<Output>();
    let output = objects.next().ok_or("it is empty")?.map_err(|error| said(&error))?;
    if output.jobs.len() > COUNT_LIMIT {
        return Err(format!("it holds more than {COUNT_LIMIT} jobs"));
    }
    let mut passes: Vec<Pass> = Vec::new();
    for job in &output.jobs {
        let directions = [("read", &job.read), ("write", &job.write), ("trim", &job.trim)];
        let active = directions.iter().filter(|(_, part)| part.as_ref().is_some_and(|part| part.total_ios > 0)).count();
        for (name, part) in directions {
            if let Some(part) = part.as_ref().filter(|part| part.total_ios > 0) {
                add(&mut passes, pass(&output, job, name, part, active > 1));
            }
        }
    }
    let source = Source {
        program: shortened(&output.version).replace("fio-", "fio "),
        file,
        workload: "fio",
        title: "What fio measured".into(),
    };
    imported(&source, vec![Round { contender: stem(file), began_ms: output.timestamp_ms, passes }])
}

fn pass(output: &Output, job: &Job, direction: &str, part: &Direction, several: bool) -> Pass {
    let option = |name: &str| {
        let value = job.options.get(name).or_else(|| output.global.get(name))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let mode = option("rw").or_else(|| option("readwrite")).unwrap_or_else(|| "read".into());
    let mode = mode.split(':').next().unwrap_or_default().to_owned();
    let name = shortened(&job.jobname);
    let details: Vec<String> =
        [option("bs"), option("ioengine"), option("iodepth").map(|depth| format!("depth {depth}"))]
            .into_iter()
            .flatten()
            .collect();
    let title = format!(
        "{name}: {direction} ({})",
        std::iter::once(mode.clone()).chain(details).collect::<Vec<_>>().join(", ")
    );
    let mut remarks = Vec::new();
    if option("end_fsync").is_some_and(|value| value != "0") && direction == "write" {
        remarks.push("timed until fio's own fsync at the end".to_owned());
    }
    // CPU is told for the job, not for a direction of it.
    let cpu = job.job_runtime.filter(|_| !several).map(|runtime| {
        let seconds = |percent: Option<f64>| percent.unwrap_or(0.0) / 100.0 * runtime / 1e3;
        (seconds(job.usr_cpu), seconds(job.sys_cpu))
    });
    // Several groups of one name are runs of it at different times.
    let group = if output.jobs.iter().any(|other| other.jobname == job.jobname && other.groupid < job.groupid) {
        format!(" (group {})", job.groupid)
    } else {
        String::new()
    };
    Pass {
        name: format!("{name}-{direction}{group}"),
        title: shortened(&format!("{title}{group}")),
        operation: shortened(&format!("{name}-{direction}{group}")),
        items_lead: mode.starts_with("rand"),
        writes: direction != "read",
        items: part.total_ios,
        bytes: part.io_bytes,
        seconds: part.runtime / 1e3,
        cpu,
        latency: [&part.lat_ns, &part.clat_ns].into_iter().flatten().find_map(histogram),
        errors: u64::from(job.error != 0),
        remarks,
    }
}

/// Clones of a job ran side by side: counts add up, and the last to end sets the time.
fn add(passes: &mut Vec<Pass>, pass: Pass) {
    let Some(known) = passes.iter_mut().find(|known| known.name == pass.name) else {
        passes.push(pass);
        return;
    };
    known.items = known.items.saturating_add(pass.items);
    known.bytes = known.bytes.saturating_add(pass.bytes);
    known.seconds = known.seconds.max(pass.seconds);
    known.errors += pass.errors;
    known.cpu = known.cpu.zip(pass.cpu).map(|(known, more)| (known.0 + more.0, known.1 + more.1));
    // Histograms of clones are kept by fio one by one; a sum of some would not be the whole.
    known.latency = None;
}

/// HDR from the bins of json+: nanoseconds and how often.
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
