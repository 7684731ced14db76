//! Simple jobs as steps of Bakeoff's own engine: the same calls at the same offsets, with its cache checks and its durable figures.
//! In: a job file. Out: a workload, and each line that differs or is dropped, so that the two are not mistaken for the same.

use crate::job_file::{Job, JobFile, Setting};
use crate::run::{identifier, unused};
use crate::{meaning, options};
use std::collections::{BTreeMap, BTreeSet};
use workload::written::{Also, Figure, File, Fileset, Phase, Work};

/// Block size of a job that sets none (fio(1)).
const BLOCK: u64 = 4096;
/// Block size for laying out files.
const LAY_OUT: u64 = 1 << 20;
/// Most copies of a job on one file.
const SHARING_LIMIT: u64 = 64;
/// Options that affect neither the calls nor the measurement: reports, and names and creation of files.
const WITHOUT_MEANING: [&str; 30] = [
    "group_reporting",
    "new_group",
    "stonewall",
    "directory",
    "filename_format",
    "unique_filename",
    "create_serialize",
    "create_fsync",
    "create_on_open",
    "create_only",
    "end_fsync",
    "randrepeat",
    "randseed",
    "allrandrepeat",
    "disk_util",
    "unit_base",
    "kb_base",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "significant_figures",
    "gtod_reduce",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw_measurement",
    "unified_rw_reporting",
    "stats",
    "io_submit_mode",
];
/// Options that are translated, or else reported by [`differences`].
const TRANSLATED: [&str; 28] = [
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
    "overwrite",
    "fallocate",
    "fadvise_hint",
    "invalidate",
];

/// A translated job file.
#[derive(Debug, Clone)]
pub struct Translation {
    /// As a workload.
    pub workload: File,
    /// Lines that are dropped or differ, with the effect.
    pub differences: Vec<String>,
}

/// A job file as steps of Bakeoff's own engine.
///
/// # Errors
/// A job without a counterpart: of unknown size, or that neither reads nor writes; a sentence each.
pub fn translated(file: &JobFile, name: &str, title: &str) -> Result<Translation, Vec<String>> {
    let mut differing: Vec<(usize, String)> = Vec::new();
    let mut problems = Vec::new();
    let mut files = Files::default();
    let mut stages: Vec<(&[Job], Vec<Translated>)> = Vec::new();
    for stage in file.stages() {
        let mut groups = Vec::new();
        for job in stage {
            differing.extend(differences(job, stage));
            match translate(job, stage.len() > 1, &mut files) {
                Ok(one) => groups.push(one),
                Err(why) => problems.push(format!("line {}: [{}] {why}", job.line, job.name)),
            }
        }
        stages.push((stage, groups));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut workload = File { name: name.into(), title: title.into(), scales: File::same_scales(), ..File::default() };
    workload.about = file.jobs.iter().map(meaning::sentences).collect::<Vec<_>>().join(" ");
    let mut names = BTreeSet::new();
    let (mut lay_out, mut phases) = (Vec::new(), Vec::new());
    for (stage, mut groups) in stages {
        let using =
            |name: &str| groups.iter().filter(|one| one.fileset.name == name).map(|one| one.works.len()).sum::<usize>();
        let alone: Vec<bool> = groups.iter().map(|one| using(&one.fileset.name) == 1).collect();
        for (one, alone) in groups.iter_mut().zip(alone) {
            if workload.filesets.iter().any(|known| known.name == one.fileset.name) {
                continue;
            }
            workload.filesets.push(one.fileset.clone());
            match &mut one.works[..] {
                [work] if alone && one.makes_files => work.create = Some(true),
                _ => lay_out.push(laying_out(one)),
            }
        }
        phases.extend(phase(stage, groups, &mut names));
    }
    workload.phases = lay_out.into_iter().chain(phases).collect();
    differing.sort();
    differing.dedup();
    Ok(Translation { workload, differences: differing.into_iter().map(|(_, text)| text).collect() })
}

/// A job as groups of workers: one, or one for each copy if copies go through one file in order.
struct Translated {
    fileset: Fileset,
    works: Vec<Work>,
    reads: bool,
    /// Whether it can create its files itself: it writes all of them, and does not need existing ones.
    makes_files: bool,
    time: Option<f64>,
    ramp: Option<f64>,
}

/// The names of filesets, and fio's files behind them.
#[derive(Default)]
struct Files {
    names: BTreeSet<String>,
    known: BTreeMap<String, Fileset>,
}

impl Files {
    /// The fileset for these files of fio.
    fn named(&mut self, files: &str, made: Fileset) -> Result<Fileset, String> {
        if let Some(known) = self.known.get(files) {
            let same = (known.files, known.size, known.per_worker) == (made.files, made.size, made.per_worker);
            return if same {
                Ok(known.clone())
            } else {
                Err("uses the files of another job, but with other sizes or copies".into())
            };
        }
        let name = unused(&made.name, &mut self.names);
        let fileset = Fileset { directory: name.clone(), name, ..made };
        self.known.insert(files.into(), fileset.clone());
        Ok(fileset)
    }
}

/// What is dropped or differs in a job, by line.
fn differences(job: &Job, stage: &[Job]) -> Vec<(usize, String)> {
    let mut texts: Vec<(usize, String)> = Vec::new();
    let mut differs = |key: &str, why: &str| {
        if let Some(Setting { value, line }) = job.get(key) {
            let colon = if why.is_empty() { "" } else { ": " };
            texts.push((*line, format!("line {line}: {key}={value}{colon}{why}")));
        }
    };
    let known = |key: &str| WITHOUT_MEANING.contains(&key) || TRANSLATED.contains(&key);
    job.settings().filter(|(key, _)| !known(key)).for_each(|(key, _)| differs(key, ""));
    // Values without a counterpart: lists for reads and writes, shares, ranges.
    for key in ["nrfiles", "iodepth", "fsync", "fdatasync", "rwmixread", "rwmixwrite", "rate_iops"] {
        if job.get(key).is_some() && job.number(key).is_none() {
            differs(key, "");
        }
    }
    for key in ["io_size", "filesize"] {
        if job.get(key).is_some() && job.bytes(key).is_none() {
            differs(key, "");
        }
    }
    for key in ["runtime", "ramp_time"] {
        if job.get(key).is_some() && job.seconds(key).is_none() {
            differs(key, "");
        }
    }
    let (reads, writes) = job.directions();
    let random = job.pattern().starts_with("rand");
    match job.text("rw").and_then(|text| text.split_once(':')) {
        Some((_, "1")) if random => {}
        Some((_, "0")) if !random => {}
        Some(_) if random => differs("rw", "each call has its own random offset"),
        Some(_) => differs("rw", "each call begins at the end of the previous one"),
        None => {}
    }
    if reads && writes && !random {
        differs("rw", "reads and writes share one offset; in fio each has its own");
    }
    for key in ["nrfiles", "filename"] {
        if several(job) > 1 {
            differs(key, "files are used one after the other; fio alternates between them");
        }
    }
    let engine = job.text("ioengine").unwrap_or(options::ENGINE);
    match engine {
        "sync" | "vsync" | "posixaio" | "libaio" => match matches!(self::engine(job), Ok("io-uring")) {
            true => differs("ioengine", "done by io_uring"),
            false => differs("ioengine", "done by pread and pwrite"),
        },
        "mmap" if job.is_direct() => differs("direct", "a mapping goes through the page cache"),
        _ => {}
    }
    if !options::is_asynchronous(engine) && job.number("iodepth").is_some_and(|depth| depth > 1) {
        differs("iodepth", &format!("no effect here and with fio: {engine} has depth 1"));
    }
    if !["none", "0"].contains(&job.text("fallocate").unwrap_or("none")) {
        differs("fallocate", "files are created only by writing");
    }
    if !["none", "0"].contains(&job.text("fadvise_hint").unwrap_or("none")) {
        differs("fadvise_hint", "the kernel is given no hint");
    }
    if job.text("invalidate") == Some("0") {
        differs("invalidate", "it starts with an empty cache");
    }
    if writes && job.number("fsync").is_some_and(|every| every > 0) {
        differs("fdatasync", "only fsync is called");
    }
    let block = job.bytes("bs").unwrap_or(BLOCK).max(1);
    let timed = time(job).is_some();
    if !timed {
        for key in ["runtime", "ramp_time", "time_based"] {
            if job.text(key) != Some("0") {
                differs(key, "ignored without both `time_based` and `runtime`: the job does all of the work");
            }
        }
    }
    let times: Vec<(Option<f64>, Option<f64>)> =
        stage.iter().map(|other| (time(other), other.seconds("ramp_time"))).collect();
    if times.iter().any(|other| *other != (time(job), job.seconds("ramp_time"))) {
        let longest = times.iter().filter_map(|(time, _)| *time).reduce(f64::max).unwrap_or(0.0);
        texts.push((
            job.line,
            format!("line {}: [{}]: runs for {longest} s, as long as the jobs that run with it", job.line, job.name),
        ));
    }
    let mut differs = |key: &str, why: &str| {
        if let Some(Setting { value, line }) = job.get(key) {
            texts.push((*line, format!("line {line}: {key}={value}: {why}")));
        }
    };
    if let Ok((files, size)) = sizes(job, block) {
        let all = files.saturating_mul(size);
        if job.bytes("size").is_some_and(|asked| asked != all) {
            differs("size", &format!("{all} bytes, in whole calls and files of equal size"));
        }
        let each = all / block;
        let repeats = random && job.truth("norandommap");
        if !timed && !repeats && job.bytes("io_size").is_some_and(|asked| asked / block > each) {
            differs("io_size", "the job uses the files once");
        }
    }
    texts
}

/// How long it runs, if it is limited by time.
fn time(job: &Job) -> Option<f64> {
    job.truth("time_based").then(|| job.seconds("runtime")).flatten()
}

fn translate(job: &Job, with_others: bool, files: &mut Files) -> Result<Translated, String> {
    let (reads, writes) = job.directions();
    if !reads && !writes {
        return Err(format!("`rw={}` neither reads nor writes", job.pattern()));
    }
    if job.truth("create_only") {
        return Err("only creates its files (`create_only`)".into());
    }
    let block = match job.text("bs") {
        None => BLOCK,
        Some(text) => job.bytes("bs").filter(|bytes| *bytes > 0).ok_or(format!("`bs={text}` is not a single size"))?,
    };
    let engine = engine(job)?;
    let copies = job.copies();
    let (fileset, shared) = fileset(job, block, files)?;
    let each = fileset.files * fileset.size / block;
    let time = time(job);
    // fio touches each block once, reads and writes together, unless `norandommap` is set; a job limited by time repeats that in its next pass.
    let order = match (job.pattern().starts_with("rand"), job.truth("norandommap")) {
        (false, _) => "in-order",
        (true, true) => "random",
        (true, false) => "shuffled",
    };
    let asked = job.bytes("io_size").map(|bytes| (bytes / block).max(1)).filter(|_| time.is_none());
    let count = asked.filter(|count| *count < each || order == "random");
    let share = (reads && writes).then(|| {
        job.number("rwmixread")
            .or_else(|| job.number("rwmixwrite").map(|writes| 100_u64.saturating_sub(writes)))
            .unwrap_or(50)
    });
    let every = |key: &str| job.number(key).filter(|every| *every > 0 && writes);
    let work = Work {
        name: with_others.then(|| identifier(&job.name)),
        blocks: Some(fileset.name.clone()),
        block: Some(block),
        steps: [reads.then_some("read"), writes.then_some("write")].into_iter().flatten().collect(),
        order: Some(order),
        workers: Some(copies),
        processes: Some(!job.truth("thread")),
        count,
        create: Some(false),
        direct: Some(job.is_direct() && engine != "mmap"),
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
        // In fio each copy has its own rate.
        rate: job.number("rate_iops").filter(|rate| *rate > 0).map(|rate| rate.saturating_mul(copies)),
        ..Work::default()
    };
    let works = match (shared && copies > 1, order) {
        (false, _) => vec![work],
        // Workers of one group divide its offsets among them; random ones draw from all of them.
        (true, "random") => vec![Work { count: Some(count.unwrap_or(each).saturating_mul(copies)), ..work }],
        // Every copy goes through the whole file, so each is a group of its own.
        (true, _) => apart(&work, job, copies)?,
    };
    let makes_files = !reads && order != "random" && !job.truth("overwrite") && count.is_none();
    let ramp = job.seconds("ramp_time").filter(|_| time.is_some());
    Ok(Translated { fileset, works, reads, makes_files, time, ramp })
}

/// One group for each copy of a job.
fn apart(work: &Work, job: &Job, copies: u64) -> Result<Vec<Work>, String> {
    if copies > SHARING_LIMIT {
        return Err(format!(
            "has {copies} copies on one file, and at most {SHARING_LIMIT} can be translated: lower numjobs"
        ));
    }
    let one = |number: u64| Work {
        name: Some(identifier(&format!("{number}-{}", job.name))),
        workers: Some(1),
        rate: work.rate.map(|rate| rate / copies),
        ..work.clone()
    };
    Ok((1..=copies).map(one).collect())
}

/// The counterpart of fio's engine: io_uring for several calls in flight, system calls for one.
fn engine(job: &Job) -> Result<&'static str, String> {
    let name = job.text("ioengine").unwrap_or(options::ENGINE);
    let deep = job.number("iodepth").is_some_and(|depth| depth > 1);
    match name {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => Ok("calls"),
        "io_uring" => Ok("io-uring"),
        "libaio" | "posixaio" => Ok(if deep { "io-uring" } else { "calls" }),
        "mmap" => Ok("mmap"),
        other => Err(format!("`ioengine={other}` has no counterpart")),
    }
}

/// Number of files of each copy of a job.
fn several(job: &Job) -> u64 {
    match job.text("filename") {
        Some(names) => names.split(':').count() as u64,
        None => job.number("nrfiles").unwrap_or(1).max(1),
    }
}

/// Number of files of each copy of a job, and the bytes of each.
fn sizes(job: &Job, block: u64) -> Result<(u64, u64), String> {
    let files = several(job);
    let size = match (job.bytes("filesize"), job.bytes("size")) {
        (Some(each), _) => each,
        (None, Some(all)) => all / files,
        (None, None) => return Err("has no `size` in bytes".into()),
    };
    match size / block * block {
        0 => Err(format!("has files smaller than its calls of {block} bytes")),
        size => Ok((files, size)),
    }
}

/// The job's files, and whether its copies share them: each copy has its own unless they are named.
fn fileset(job: &Job, block: u64, known: &mut Files) -> Result<(Fileset, bool), String> {
    let (files, size) = sizes(job, block)?;
    let named = job.text("filename");
    let format = job.text("filename_format").unwrap_or("$jobname.$jobnum.$filenum").to_ascii_lowercase();
    if named.is_none() && files > 1 && !format.contains("$filenum") {
        return Err("has several files of the same name (`filename_format` without `$filenum`)".into());
    }
    let shared = named.is_some() || !format.contains("$jobnum");
    let of_fio = named.map_or_else(|| format.replace("$jobname", &job.name), str::to_owned);
    let of_fio = format!("{}/{of_fio}", job.text("directory").unwrap_or_default());
    let name = identifier(named.unwrap_or(&job.name));
    let made = Fileset { directory: String::new(), name, per_worker: !shared && job.copies() > 1, files, size };
    Ok((known.named(&of_fio, made)?, shared))
}

/// Lays out files that are read or overwritten.
fn laying_out(one: &Translated) -> Phase {
    let name = format!("lay-out-{}", one.fileset.name);
    let workers = one.works.first().and_then(|work| work.workers);
    let work = Work {
        blocks: Some(one.fileset.name.clone()),
        block: Some(LAY_OUT.min(one.fileset.size)),
        steps: vec!["write"],
        create: Some(true),
        workers: workers.filter(|_| one.fileset.per_worker),
        ..Work::default()
    };
    let title = name.replace('-', " ");
    Phase::preparation(name, title, work)
}

fn phase(stage: &[Job], groups: Vec<Translated>, names: &mut BTreeSet<String>) -> Option<Phase> {
    let name = unused(&stage.iter().map(|job| &*job.name).collect::<Vec<_>>().join("+"), names);
    let longest = |pick: fn(&Translated) -> Option<f64>| {
        let all = groups.iter().filter_map(pick);
        all.reduce(f64::max).map(|seconds| format!("{} ms", (seconds * 1000.0).round()))
    };
    let (time, ramp) = (longest(|one| one.time), longest(|one| one.ramp));
    let alone = groups.len() == 1;
    let mut shown = Vec::new();
    for (job, one) in stage.iter().zip(&groups) {
        let does = meaning::title(job, one.reads);
        let mixed = one.works.iter().any(|work| work.read_share.is_some());
        let does = if mixed { does.replace("reads", "reads and writes") } else { does };
        // The copies of a job that runs alone share one figure.
        for work in one.works.iter().take(if alone { 1 } else { one.works.len() }) {
            let group = work.name.clone().filter(|_| !alone).unwrap_or_else(|| identifier(&job.name));
            shown.push(Also {
                figure: if work.block.unwrap_or(0) >= 128 << 10 { "bytes/s" } else { "items/s" },
                operation: group.clone(),
                group,
                title: format!("{}: {does}", job.name),
                doing: does.clone(),
            });
        }
    }
    let mut shown = shown.into_iter();
    let first = shown.next()?;
    Some(Phase {
        name,
        title: first.title,
        doing: first.doing,
        operation: Some(first.operation),
        cache: "cold",
        figure: Some(Figure::Measured(first.figure)),
        figure_group: (!alone).then_some(first.group),
        also: shown.collect(),
        time,
        ramp,
        work: groups.into_iter().flat_map(|one| one.works).collect(),
        ..Phase::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translation(text: &str) -> Translation {
        translated(&JobFile::read(text, &|_| None).expect("read"), "mine", "Mine").expect("translated")
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
        assert!(made.workload.filesets[0].per_worker);
        assert_eq!(made.differences, ["line 6: ioengine=libaio: done by io_uring"]);
    }

    #[test]
    fn options_without_a_counterpart_are_named_with_their_lines() {
        let made = translation("[a]\nrw=write\nsize=1m\nthinktime=100\nrandom_distribution=zipf:1.2\nend_fsync=1\n");
        assert_eq!(made.differences, ["line 4: thinktime=100", "line 5: random_distribution=zipf:1.2"]);
        let refused = |text: &str| {
            translated(&JobFile::read(text, &|_| None).expect("read"), "x", "X").expect_err(text).join("\n")
        };
        assert!(refused("[a]\nrw=read\n").contains("line 1: [a] has no `size`"));
        assert!(refused("[a]\nrw=read\nsize=1m\nbs=4k-64k\n").contains("not a single size"));
        assert!(refused("[a]\nrw=read\nsize=1m\nioengine=splice\n").contains("no counterpart"));
    }

    #[test]
    fn calls_at_other_places_than_fios_are_named() {
        for (job, named) in [
            ("rw=read:-8k", "line 3: rw=read:-8k: each call begins at the end of the previous one"),
            ("rw=read:8k", "line 3: rw=read:8k: each call begins at the end of the previous one"),
            ("rw=randread:8", "line 3: rw=randread:8: each call has its own random offset"),
            ("rw=rw", "line 3: rw=rw: reads and writes share one offset"),
            ("rw=read\nnrfiles=2", "line 4: nrfiles=2: files are used one after the other"),
            ("rw=read\nfilename=a:b", "line 4: filename=a:b: files are used one after the other"),
            ("rw=read\niodepth=32", "line 4: iodepth=32: no effect here and with fio: psync has depth 1"),
            ("rw=read\nioengine=libaio", "line 4: ioengine=libaio: done by pread and pwrite"),
            ("rw=read\nrate_iops=100,50", "line 4: rate_iops=100,50"),
            ("rw=read\nio_size=16m", "line 4: io_size=16m: the job uses the files once"),
            ("rw=read\nio_size=50%", "line 4: io_size=50%"),
            ("rw=read\nruntime=5", "line 4: runtime=5: ignored without both"),
            ("rw=read\nramp_time=5", "line 4: ramp_time=5: ignored without both"),
            ("rw=read\ninvalidate=0", "line 4: invalidate=0: it starts with an empty cache"),
            ("rw=write\nfallocate=posix", "line 4: fallocate=posix: files are created only by writing"),
            ("rw=write\nfsync=2\nfdatasync=1", "line 5: fdatasync=1: only fsync"),
            ("rw=read\nfilesize=1m", "line 2: size=8m: 1048576 bytes"),
            ("rw=read\nloops=3", "line 4: loops=3"),
            ("rw=read\nopenfiles=1", "line 4: openfiles=1"),
            ("rw=read\n[b]\nrw=read\nsize=1m\ntime_based\nruntime=5", "line 1: [a]: runs for 5 s"),
        ] {
            let made = translation(&format!("[a]\nsize=8m\n{job}\n"));
            assert!(made.differences.iter().any(|line| line.starts_with(named)), "{job}: {:?}", made.differences);
        }
        for job in
            ["rw=randread:1", "rw=read:0", "rw=randrw", "rw=read\nruntime=5\ntime_based", "rw=write\nfallocate=none"]
        {
            let made = translation(&format!("[a]\nsize=8m\n{job}\n"));
            assert_eq!(made.differences, Vec::<String>::new(), "{job}");
        }
    }

    #[test]
    fn every_copy_goes_through_the_whole_of_a_file_that_they_share() {
        let work = |job: &str| {
            let made = translation(&format!("[c]\nbs=4k\nsize=8m\nfilename=shared\nnumjobs=2\n{job}\n"));
            assert_eq!(
                (made.differences.len(), made.workload.filesets[0].per_worker),
                (0, false),
                "{:?}",
                made.differences
            );
            let phase = made.workload.phases.last().expect("a phase");
            assert_eq!((phase.figure_group.as_deref(), phase.also.len()), (None, 0), "one figure of all copies");
            phase.work.iter().map(|work| (work.workers, work.order, work.count, work.create)).collect::<Vec<_>>()
        };
        assert_eq!(work("rw=read"), [(Some(1), Some("in-order"), None, Some(false)); 2]);
        assert_eq!(work("rw=randread"), [(Some(1), Some("shuffled"), None, Some(false)); 2]);
        assert_eq!(work("rw=write"), [(Some(1), Some("in-order"), None, Some(false)); 2]);
        assert_eq!(work("rw=randread\nio_size=4m"), [(Some(1), Some("shuffled"), Some(1024), Some(false)); 2]);
        assert_eq!(work("rw=randread\nnorandommap"), [(Some(2), Some("random"), Some(4096), Some(false))]);
        let made = translation("[c]\nrw=write\nsize=1m\nnumjobs=2\nfilename_format=$jobname.$filenum\n");
        assert_eq!(made.workload.phases.last().map(|phase| phase.work.len()), Some(2), "the format makes them share");
    }

    #[test]
    fn a_mix_at_random_touches_each_block_once_unless_the_job_keeps_no_map() {
        let order = |more: &str| {
            let made = translation(&format!("[a]\nrw=randrw\nsize=1m\nrwmixread=70\n{more}"));
            let work = &made.workload.phases[1].work[0];
            (work.order, work.read_share, work.count)
        };
        assert_eq!(order(""), (Some("shuffled"), Some(70), None));
        assert_eq!(order("time_based\nruntime=1\n"), (Some("shuffled"), Some(70), None));
        assert_eq!(order("norandommap\n"), (Some("random"), Some(70), None));
    }

    #[test]
    fn files_of_several_jobs_are_made_once() {
        let names =
            |text: &str| translation(text).workload.phases.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
        assert_eq!(names("[global]\nfilename=x\nsize=1m\n[w]\nrw=write\n[r]\nstonewall\nrw=read\n"), ["w", "r"]);
        assert_eq!(names("[global]\nfilename=x\nsize=1m\n[w]\nrw=write\n[r]\nrw=read\n"), ["lay-out-x", "w-r"]);
        assert_eq!(names("[w]\nrw=write\nsize=1m\noverwrite=1\n"), ["lay-out-w", "w"]);
        let made = translation("[global]\nsize=1m\nrw=read\n[a]\nfilename=x+y\n[b]\nfilename=x=y\n");
        assert_eq!(made.workload.filesets.len(), 2, "two files whose names look alike");
        let file =
            JobFile::read("[global]\nfilename=x\nrw=read\n[a]\nsize=1m\n[b]\nsize=2m\n", &|_| None).expect("read");
        assert!(translated(&file, "x", "X").expect_err("two sizes")[0].contains("other sizes"));
    }

    #[test]
    fn every_translation_is_a_workload() {
        for job in [
            "rw=read:-8k",
            "rw=randread:8",
            "rw=randrw\nnorandommap",
            "rw=randwrite\nnorandommap",
            "rw=write\nfilename=shared\nnumjobs=2",
            "rw=randrw\nfilename=shared\nnumjobs=3\nio_size=1m",
            "rw=randread\nfilename=shared\nnumjobs=2\nnorandommap",
            "rw=rw\nfilename=a:b\nnumjobs=2\nthread",
            "rw=randwrite\nio_size=1m",
            "rw=write\noverwrite=1\nrate_iops=100\nnumjobs=2",
            "rw=randread\nioengine=io_uring\niodepth=8\nfilename=x\nnumjobs=2",
            "rw=read\nioengine=mmap\ndirect=1",
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
