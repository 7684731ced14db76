//! Simple jobs in our own words: what fio would do, done by Bakeoff's engine, with its proof of caches and its figures until durable.
//! In: a job file. Out: a workload, and what of the file has no word here, so that nobody takes it for the same.

use crate::job_file::{Job, JobFile, Setting};
use crate::meaning;
use crate::run::{identifier, unused};
use std::collections::BTreeSet;
use workload::written::{Also, Figure, File, Fileset, Phase, Work};

/// A call's size where the job does not say (fio(1)).
const BLOCK: u64 = 4096;
/// Bytes of a call by which files are laid out.
const LAY_OUT: u64 = 1 << 20;
/// Options that change nothing of what is measured here: how fio reports, and how it makes its files.
const WITHOUT_MEANING: [&str; 24] = [
    "description",
    "group_reporting",
    "new_group",
    "stonewall",
    "name",
    "directory",
    "filename_format",
    "fallocate",
    "create_serialize",
    "create_fsync",
    "create_on_open",
    "create_only",
    "fadvise_hint",
    "invalidate",
    "end_fsync",
    "overwrite",
    "randrepeat",
    "randseed",
    "allrandrepeat",
    "disk_util",
    "unit_base",
    "kb_base",
    "clat_percentiles",
    "percentile_list",
];
/// Options that are translated.
const TRANSLATED: [&str; 26] = [
    "rw",
    "bs",
    "size",
    "filesize",
    "nrfiles",
    "filename",
    "numjobs",
    "thread",
    "direct",
    "buffered",
    "sync",
    "fsync",
    "fdatasync",
    "fsync_on_close",
    "ioengine",
    "iodepth",
    "time_based",
    "runtime",
    "ramp_time",
    "rwmixread",
    "rwmixwrite",
    "norandommap",
    "io_size",
    "rate_iops",
    "gtod_reduce",
    "openfiles",
];

/// A translated job file.
#[derive(Debug, Clone)]
pub struct Translation {
    /// As a workload.
    pub workload: File,
    /// Lines that have no word here, with what becomes of them.
    pub left_out: Vec<String>,
}

/// A job file in our own words.
///
/// # Errors
/// A job that has no counterpart: of no known size, or that neither reads nor writes; in a sentence each.
pub fn translated(file: &JobFile, name: &str, title: &str) -> Result<Translation, Vec<String>> {
    let mut left_out: Vec<(usize, String)> = Vec::new();
    let mut problems = Vec::new();
    let mut workload = File { name: name.into(), title: title.into(), scales: File::same_scales(), ..File::default() };
    workload.about = file.jobs.iter().map(meaning::sentences).collect::<Vec<_>>().join(" ");
    let mut names = BTreeSet::new();
    let (mut lay_out, mut phases) = (Vec::new(), Vec::new());
    for stage in file.stages() {
        let mut groups = Vec::new();
        for job in stage {
            left_out.extend(without_word(job));
            match translate(job, stage.len() > 1) {
                Ok(one) => groups.push((job, one)),
                Err(why) => problems.push(format!("line {}: [{}] {why}", job.line, job.name)),
            }
        }
        for (_, one) in &groups {
            if workload.filesets.iter().all(|known| known.name != one.fileset.name) {
                workload.filesets.push(one.fileset.clone());
                lay_out.extend(one.reads.then(|| laying_out(one)));
            }
        }
        phases.extend(phase(stage, groups, &mut names));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    workload.phases = lay_out.into_iter().chain(phases).collect();
    left_out.sort();
    left_out.dedup();
    Ok(Translation { workload, left_out: left_out.into_iter().map(|(_, text)| text).collect() })
}

/// A job as a group of workers.
struct Translated {
    fileset: Fileset,
    work: Work,
    reads: bool,
    time: Option<f64>,
    ramp: Option<f64>,
}

fn without_word(job: &Job) -> Vec<(usize, String)> {
    let word = |key: &str| WITHOUT_MEANING.contains(&key) || TRANSLATED.contains(&key);
    let text = |key: &str, Setting { value, line }: &Setting| (*line, format!("line {line}: {key}={value}"));
    let mut texts: Vec<(usize, String)> =
        job.settings.iter().filter(|(key, _)| !word(key)).map(|(key, setting)| text(key, setting)).collect();
    if let Some(runtime) = job.get("runtime").filter(|_| !job.truth("time_based")) {
        texts.push((
            runtime.line,
            format!("line {}: runtime={} without time_based: all of the work is done", runtime.line, runtime.value),
        ));
    }
    texts
}

fn translate(job: &Job, beside_others: bool) -> Result<Translated, String> {
    let (reads, writes) = job.directions();
    if !reads && !writes {
        return Err(format!("`rw={}` neither reads nor writes", job.pattern()));
    }
    let block = match job.text("bs") {
        None => BLOCK,
        Some(text) => job.bytes("bs").filter(|bytes| *bytes > 0).ok_or(format!("`bs={text}` is no one size"))?,
    };
    let engine = engine(job)?;
    let clones = job.number("numjobs").unwrap_or(1).max(1);
    let fileset = fileset(job, block, clones)?;
    let each = fileset.files * fileset.size / block;
    let time = job.truth("time_based").then(|| job.seconds("runtime")).flatten();
    let random = job.pattern().starts_with("rand");
    let count =
        job.bytes("io_size").map(|bytes| (bytes / block).max(1)).filter(|count| time.is_none() && *count < each);
    // fio touches each block once unless it is told not to keep a map of them.
    let order = match (random, job.truth("norandommap") || time.is_some() || reads && writes) {
        (false, _) => "in-order",
        (true, true) => "random",
        (true, false) => "shuffled",
    };
    let share = (reads && writes).then(|| {
        job.number("rwmixread")
            .or_else(|| job.number("rwmixwrite").map(|writes| 100_u64.saturating_sub(writes)))
            .unwrap_or(50)
    });
    let every = |key: &str| job.number(key).filter(|every| *every > 0 && writes);
    let work = Work {
        name: beside_others.then(|| identifier(&job.name)),
        blocks: Some(fileset.name.clone()),
        block: Some(block),
        steps: [reads.then_some("read"), writes.then_some("write")].into_iter().flatten().collect(),
        order: Some(order),
        workers: Some(clones),
        processes: Some(!job.truth("thread")),
        count,
        create: Some(!reads),
        direct: Some(job.is_direct()),
        sync: match job.text("sync") {
            None | Some("0" | "none") => None,
            Some("dsync") => Some("dsync"),
            Some(_) => Some("sync"),
        },
        engine: Some(engine),
        depth: job.number("iodepth").filter(|depth| *depth > 1 && engine == "io-uring"),
        sync_every: every("fsync").or_else(|| every("fdatasync")),
        sync_call: every("fsync").map(|_| "fsync").or_else(|| every("fdatasync").map(|_| "fdatasync")),
        fsync_on_close: (writes && job.truth("fsync_on_close")).then_some(true),
        read_share: share,
        rate: job.number("rate_iops"),
        ..Work::default()
    };
    Ok(Translated { fileset, work, reads, time, ramp: job.seconds("ramp_time").filter(|_| time.is_some()) })
}

/// Which of our engines does what one of fio's does: several under way at once by io_uring, one by calls.
fn engine(job: &Job) -> Result<&'static str, String> {
    let name = job.text("ioengine").unwrap_or("psync");
    let deep = job.number("iodepth").is_some_and(|depth| depth > 1);
    match name {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => Ok("calls"),
        "libaio" | "io_uring" | "posixaio" => Ok(if deep { "io-uring" } else { "calls" }),
        "mmap" => Ok("mmap"),
        other => Err(format!("`ioengine={other}` has no counterpart")),
    }
}

/// The job's files: of each clone its own, unless they are named.
fn fileset(job: &Job, block: u64, clones: u64) -> Result<Fileset, String> {
    let files = job.number("nrfiles").unwrap_or(1).max(1);
    let size = match (job.bytes("filesize"), job.bytes("size")) {
        (Some(each), _) => each,
        (None, Some(all)) => all / files,
        (None, None) => return Err("has no `size` in bytes".into()),
    };
    let size = size / block * block;
    if size == 0 {
        return Err(format!("has files smaller than its calls of {block} bytes"));
    }
    let shared = job.text("filename");
    let name = identifier(shared.unwrap_or(&job.name));
    Ok(Fileset { directory: name.clone(), name, per_worker: shared.is_none() && clones > 1, files, size })
}

/// What is read is written before.
fn laying_out(one: &Translated) -> Phase {
    let name = format!("lay-out-{}", one.fileset.name);
    let work = Work {
        blocks: Some(one.fileset.name.clone()),
        block: Some(LAY_OUT.min(one.fileset.size)),
        steps: vec!["write"],
        create: Some(true),
        workers: one.work.workers.filter(|_| one.fileset.per_worker),
        ..Work::default()
    };
    let title = name.replace('-', " ");
    Phase::preparation(name, title, work)
}

fn phase(stage: &[Job], groups: Vec<(&Job, Translated)>, names: &mut BTreeSet<String>) -> Option<Phase> {
    let name = unused(&stage.iter().map(|job| &*job.name).collect::<Vec<_>>().join("+"), names);
    let longest = |pick: fn(&Translated) -> Option<f64>| {
        let all = groups.iter().filter_map(|(_, one)| pick(one));
        all.reduce(f64::max).map(|seconds| format!("{} ms", (seconds * 1000.0).round()))
    };
    let (time, ramp) = (longest(|one| one.time), longest(|one| one.ramp));
    let shown: Vec<Also> = groups
        .iter()
        .map(|(job, one)| {
            let does = meaning::title(job, one.reads);
            let does = if one.work.read_share.is_some() { does.replace("reads", "reads and writes") } else { does };
            Also {
                group: identifier(&job.name),
                figure: if one.work.block.unwrap_or(0) >= 128 << 10 { "bytes/s" } else { "items/s" },
                operation: identifier(&job.name),
                title: format!("{}: {does}", job.name),
                doing: does,
            }
        })
        .collect();
    let several = shown.len() > 1;
    let mut shown = shown.into_iter();
    let first = shown.next()?;
    Some(Phase {
        name,
        title: first.title,
        doing: first.doing,
        operation: Some(first.operation),
        cache: "cold",
        figure: Some(Figure::Measured(first.figure)),
        figure_group: several.then_some(first.group),
        also: shown.collect(),
        time,
        ramp,
        work: groups.into_iter().map(|(_, one)| one.work).collect(),
        ..Phase::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translation(text: &str) -> Translation {
        translated(&JobFile::read(text).expect("read"), "mine", "Mine").expect("translated")
    }

    #[test]
    fn a_job_becomes_a_phase_and_what_it_reads_is_laid_out() {
        let made =
            translation("[db]\nrw=randread\nbs=4k\nsize=64m\ndirect=1\nioengine=libaio\niodepth=16\nnumjobs=2\n");
        let names: Vec<&str> = made.workload.phases.iter().map(|phase| &*phase.name).collect();
        assert_eq!(names, ["lay-out-db", "db"]);
        let work = &made.workload.phases[1].work[0];
        assert_eq!(
            (work.engine, work.depth, work.order, work.workers),
            (Some("io-uring"), Some(16), Some("shuffled"), Some(2))
        );
        assert!(made.workload.filesets[0].per_worker && made.left_out.is_empty(), "{:?}", made.left_out);
    }

    #[test]
    fn what_has_no_word_is_named_with_its_line() {
        let made = translation("[a]\nrw=write\nsize=1m\nthinktime=100\nrandom_distribution=zipf:1.2\nend_fsync=1\n");
        assert_eq!(made.left_out, ["line 4: thinktime=100", "line 5: random_distribution=zipf:1.2"]);
        let refused =
            |text: &str| translated(&JobFile::read(text).expect("read"), "x", "X").expect_err(text).join("\n");
        assert!(refused("[a]\nrw=read\n").contains("line 1: [a] has no `size`"));
        assert!(refused("[a]\nrw=read\nsize=1m\nbs=4k-64k\n").contains("no one size"));
        assert!(refused("[a]\nrw=read\nsize=1m\nioengine=splice\n").contains("no counterpart"));
    }

    #[test]
    fn every_translation_is_a_workload() {
        for job in [
            "rw=read\nbs=1m",
            "rw=write\nbs=1m\nfsync=8",
            "rw=randwrite\nbs=4k\nfdatasync=1",
            "rw=randrw\nrwmixread=70\nbs=8k\ntime_based\nruntime=2\nramp_time=1",
            "rw=randwrite\nbs=4k\nsync=dsync\nthread\nnumjobs=3",
            "rw=randread\nbs=4k\nnrfiles=4\nioengine=mmap",
            "rw=write\nbs=64k\nio_size=1m\nfsync_on_close=1\ndirect=1",
            "rw=randread\nbs=4k\nrate_iops=100\nnorandommap\nfilename=shared\nnumjobs=2",
        ] {
            let made = translation(&format!("[job]\nsize=4m\n{job}\n[next]\nstonewall\nrw=read\nsize=1m\n"));
            let text = made.workload.text().expect("written");
            let mut catalogue = workload::WorkCatalogue::default();
            catalogue
                .add_workload(std::path::Path::new("mine.toml"), &text)
                .unwrap_or_else(|why| panic!("{job}: {why}\n{text}"));
            catalogue.workloads["mine"]
                .compile("quick", &std::collections::BTreeMap::new(), 1)
                .unwrap_or_else(|why| panic!("{job}: {why}\n{text}"));
        }
    }
}
