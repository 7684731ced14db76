//! A job file run by fio itself, in each contender's folder.
//! In: a job file. Out: a workload whose phases run the job file's stages in order. Each has the requested cache state, and a job file of its
//! own, written from the checked options. fio lays out all files in a first phase, as it would before its first job. The figures of each job
//! are reported separately.

use crate::job_file::{Job, JobFile};
use crate::{meaning, options};
use std::collections::BTreeSet;
use workload::program::Reports;
use workload::written::{Also, Figure, File, Phase, Work};

/// Block size from which bytes per second are a better figure than calls per second.
const LARGE: u64 = 128 << 10;
/// Seconds that a stage may take in addition to its jobs' settings.
const BESIDE: f64 = 3600.0;
/// Characters of a name.
const NAME_LENGTH: usize = 40;

/// How a job file is run.
#[derive(Debug, Clone, Default)]
pub struct Way {
    /// Name of the workload.
    pub name: String,
    /// Title of the workload.
    pub title: String,
    /// `cold`, `warm` or `as-found`.
    pub start: &'static str,
    /// User that runs fio; None: the user of the engine.
    pub user: Option<String>,
    /// Time limit; None: the time set by the jobs, and an hour.
    pub time_limit: Option<String>,
}

/// A part of fio's report to show.
struct Part {
    group: String,
    operation: String,
    title: String,
    doing: String,
    figure: &'static str,
}

/// The workload that runs a job file.
#[must_use]
pub fn run_by_fio(file: &JobFile, way: &Way) -> File {
    let stages = if file.can_be_parted() { file.stages() } else { vec![&file.jobs[..]] };
    let mut phases = Vec::new();
    let folders = folders(&file.jobs);
    if !folders.is_empty() {
        let words = ["mkdir", "-p", "--"].into_iter().map(str::to_owned).chain(folders).collect();
        phases.push(preparation("folders", Work { command: words, user: way.user.clone(), ..Work::default() }));
    }
    let lay_out = ["--create_only=1", "--minimal"].map(str::to_owned).into();
    phases.push(preparation("lay-out", fio(JobFile::written(&file.jobs, 0), way, lay_out)));
    let mut names = BTreeSet::new();
    let mut earlier = 0;
    for stage in stages {
        phases.push(phase(way, stage, earlier, &mut names));
        earlier += stage.iter().map(Job::copies).sum::<u64>();
    }
    let about = file.jobs.iter().map(meaning::sentences).collect::<Vec<_>>().join(" ");
    File {
        name: way.name.clone(),
        title: way.title.clone(),
        about: if about.is_empty() { way.title.clone() } else { about },
        time_limit: way.time_limit.clone().or_else(|| time_limit(file)),
        scales: File::same_scales(),
        phases,
        ..File::default()
    }
}

fn preparation(name: &str, work: Work) -> Phase {
    Phase::preparation(name.into(), name.replace('-', " "), work)
}

/// fio, with a job file on its standard input.
fn fio(jobs: String, way: &Way, options: Vec<String>) -> Work {
    let command = std::iter::once("fio".to_owned()).chain(options).chain(std::iter::once("-".to_owned()));
    Work { command: command.collect(), user: way.user.clone(), input: Some(jobs), ..Work::default() }
}

/// The phase of a stage that follows this many earlier jobs and copies.
fn phase(way: &Way, stage: &[Job], earlier: u64, names: &mut BTreeSet<String>) -> Phase {
    let name = unused(&stage.iter().map(|job| &*job.name).collect::<Vec<_>>().join("+"), names);
    let mut parts = parts(stage, u32::from(earlier > 0));
    if let [only] = &mut parts[..] {
        only.operation.clone_from(&name);
    }
    let options = ["--output-format=json+", "--eta=never"].map(str::to_owned).into();
    let mut work = fio(JobFile::written(stage, earlier), way, options);
    let groups: Vec<String> = parts.iter().map(|part| part.group.clone()).collect();
    work.reports = (!groups.is_empty()).then_some(Reports::Fio(groups));
    let mut parts = parts.into_iter();
    let first = parts.next();
    let title = name.replace('-', " ");
    Phase {
        doing: first.as_ref().map_or_else(|| title.clone(), |part| part.doing.clone()),
        title: first.as_ref().map_or_else(|| title.clone(), |part| part.title.clone()),
        operation: first.as_ref().map(|part| part.operation.clone()),
        figure: first.as_ref().map(|part| Figure::Measured(part.figure)),
        figure_group: first.map(|part| part.group),
        also: parts.map(also).collect(),
        cache: way.start,
        work: vec![work],
        name,
        ..Phase::default()
    }
}

fn also(part: Part) -> Also {
    Also { group: part.group, figure: part.figure, operation: part.operation, title: part.title, doing: part.doing }
}

/// The parts of fio's report for a stage: each job, or jobs reported together (`group_reporting`) with the
/// number of their group, counted from `first`.
fn parts(stage: &[Job], first: u32) -> Vec<Part> {
    let mut groups: Vec<Vec<&Job>> = Vec::new();
    for job in stage {
        match groups.last_mut().filter(|_| !job.truth("new_group") && !job.truth("stonewall")) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    let mut parts = Vec::new();
    for (number, group) in (first..).zip(&groups) {
        if group.len() > 1 && group.iter().any(|job| job.truth("group_reporting")) {
            let names = group.iter().map(|job| &*job.name).collect::<Vec<_>>().join("+");
            parts.extend(directions(group, &format!("group {number}"), &names));
        } else {
            // fio's report does not distinguish jobs of the same name: they are one part.
            for part in group.iter().flat_map(|job| directions(&[job], &job.name, &job.name)) {
                if parts.iter().all(|known: &Part| known.group != part.group) {
                    parts.push(part);
                }
            }
        }
    }
    parts
}

fn directions(jobs: &[&Job], reported: &str, name: &str) -> Vec<Part> {
    let any = |pick: fn((bool, bool)) -> bool| jobs.iter().copied().find(|job| pick(job.directions()));
    let each = [("read", any(|(reads, _)| reads)), ("write", any(|(_, writes)| writes))];
    let parts = each.into_iter().filter_map(|(direction, job)| {
        let job = job?;
        let does = meaning::title(job, direction == "read");
        let large = job.text("bs").is_some_and(|_| job.bytes("bs").is_none_or(|bytes| bytes >= LARGE));
        Some(Part {
            group: format!("{reported} {direction}"),
            operation: identifier(&format!("{name}-{direction}")),
            title: format!("{name}: {does}"),
            doing: format!("{does} of fio's job {name}"),
            figure: if large { "bytes/s" } else { "items/s" },
        })
    });
    parts.collect()
}

/// Folders below the contender's folder that jobs name, including those of single files.
fn folders(jobs: &[Job]) -> BTreeSet<String> {
    let list = |job: &Job, key: &str| -> Vec<String> {
        job.text(key).map(|value| value.split(':').map(str::to_owned).collect()).unwrap_or_default()
    };
    let mut folders = BTreeSet::new();
    for job in jobs {
        let named = list(job, "directory");
        for file in list(job, "filename") {
            let Some((folder, _)) = file.rsplit_once('/') else { continue };
            folders.extend(named.iter().map(|above| format!("{above}/{folder}")));
            folders.extend(named.is_empty().then(|| folder.to_owned()));
        }
        folders.extend(named);
    }
    folders
}

/// Settings of a job file that fio accepts without effect, a sentence each.
#[must_use]
pub fn remarks(file: &JobFile) -> Vec<String> {
    let remark = |job: &Job| {
        let depth = job.get("iodepth").filter(|depth| depth.value != "1")?;
        let engine = job.text("ioengine").unwrap_or(options::ENGINE);
        (options::transfers(engine) && !options::is_asynchronous(engine)).then(|| {
            format!(
                "line {}: [{}] iodepth={} has no effect: {engine} has one call in flight, so the depth is 1",
                depth.line, job.name, depth.value
            )
        })
    };
    file.jobs.iter().filter_map(remark).collect()
}

/// The sum of the times set by all jobs, and an hour; None if no job sets a time.
fn time_limit(file: &JobFile) -> Option<String> {
    let seconds = |job: &Job, key: &str| job.seconds(key).unwrap_or(0.0);
    let loops = |job: &Job| job.number("loops").unwrap_or(1) as f64;
    let asked = |job: &Job| {
        (seconds(job, "startdelay") + seconds(job, "ramp_time") + seconds(job, "runtime")) * loops(job).max(1.0)
    };
    let all: f64 = file.jobs.iter().map(asked).sum();
    (all > 0.0).then(|| format!("{} s", (all + BESIDE).ceil()))
}

/// A name reduced to the characters that names may have.
#[must_use]
pub fn identifier(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = text.chars().map(letter).collect();
    let name: String = name.trim_start_matches(['-', '_', '.']).chars().take(NAME_LENGTH).collect();
    if name.is_empty() { "job".into() } else { name }
}

pub(crate) fn unused(text: &str, names: &mut BTreeSet<String>) -> String {
    let name = identifier(text);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name)).unwrap_or(name);
    names.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> File {
        let way = Way { name: "mine".into(), title: "Mine".into(), start: "cold", ..Way::default() };
        run_by_fio(&JobFile::read(text, &|_| None).expect("read"), &way)
    }

    #[test]
    fn stages_become_phases_and_jobs_their_figures() {
        let file = made(
            "[global]\nsize=8m\nbs=4k\n[a]\nrw=randread\n[b]\nstonewall\nrw=write\nbs=1m\n[c]\nrw=randrw\nnumjobs=2\n",
        );
        let names: Vec<&str> = file.phases.iter().map(|phase| &*phase.name).collect();
        assert_eq!(names, ["lay-out", "a", "b-c"]);
        let (a, bc) = (&file.phases[1], &file.phases[2]);
        assert_eq!((a.figure_group.as_deref(), a.operation.as_deref(), a.also.len()), (Some("a read"), Some("a"), 0));
        assert_eq!(a.work[0].input.as_deref(), Some("[a]\nsize=8m\nbs=4k\nrw=randread\n"));
        assert_eq!(bc.figure_group.as_deref(), Some("b write"));
        let also: Vec<(&str, &str)> = bc.also.iter().map(|also| (&*also.group, also.figure)).collect();
        assert_eq!(also, [("c read", "items/s"), ("c write", "items/s")]);
        let input = bc.work[0].input.as_deref().expect("an input");
        assert!(input.contains("[b]\n") && input.contains("[c]\n") && !input.contains("[a]\n"), "{input}");
        assert!(file.text().expect("written").contains("numjobs=2"));
    }

    #[test]
    fn jobs_that_are_reported_together_are_one_figure() {
        let file = made("[global]\nsize=1m\nrw=write\nbs=1m\ngroup_reporting\n[a]\n[b]\n[c]\nnew_group\nrw=read\n");
        let phase = &file.phases[1];
        assert_eq!(phase.figure_group.as_deref(), Some("group 0 write"));
        assert_eq!(phase.also[0].group, "c read", "alone in its group, it has its own name");
        assert_eq!(phase.title, "a+b: writes");
    }

    #[test]
    fn jobs_that_wait_for_another_by_name_run_as_a_whole() {
        let file = made("[a]\nsize=1m\nrw=write\n[b]\nstonewall\nwait_for=a\nsize=1m\nrw=read\n");
        assert_eq!(file.phases.len(), 2);
        assert!(
            file.phases[1].work[0].input.as_deref().is_some_and(|input| input.contains("[a]") && input.contains("[b]"))
        );
    }

    #[test]
    fn groups_are_numbered_after_what_takes_the_place_of_earlier_jobs() {
        let file = made("[global]\nsize=1m\nrw=read\ngroup_reporting\n[a]\nnumjobs=2\n[b]\nstonewall\n[c]\n");
        assert_eq!(file.phases[2].figure_group.as_deref(), Some("group 1 read"));
        assert!(file.phases[2].work[0].input.as_deref().is_some_and(|input| input.contains("numjobs=2\n[b]")));
    }

    #[test]
    fn jobs_of_one_name_are_one_part() {
        let file = made("[global]\nsize=1m\nrw=randrw\n[a]\n[a]\n[a]\nstonewall\n");
        let figures = |at: usize| 1 + file.phases[at].also.len();
        assert_eq!((file.phases.len(), figures(1), figures(2)), (3, 2, 2));
    }

    #[test]
    fn folders_of_files_are_made() {
        let file = made("[a]\nsize=1m\nrw=write\ndirectory=x:y\nfilename=a/b:c\n[b]\nsize=1m\nfilename=d/e/f\n");
        assert_eq!(file.phases[0].work[0].command[3..], ["d/e", "x", "x/a", "y", "y/a"]);
    }

    #[test]
    fn a_depth_without_effect_is_remarked() {
        let remarks = |text: &str| remarks(&JobFile::read(text, &|_| None).expect("read"));
        for engine in ["", "ioengine=psync\n", "ioengine=mmap\n"] {
            let remarks = remarks(&format!("[deep]\n{engine}iodepth=32\nrw=randread\nsize=16m\n"));
            assert!(
                remarks[0].contains("[deep] iodepth=32 has no effect") && remarks[0].contains("depth is 1"),
                "{remarks:?}"
            );
        }
        for engine in ["libaio", "io_uring", "posixaio"] {
            assert!(remarks(&format!("[a]\nioengine={engine}\niodepth=32\nrw=read\n")).is_empty());
        }
        assert!(remarks("[a]\niodepth=1\nrw=read\n").is_empty());
    }

    #[test]
    fn long_jobs_get_the_time_that_they_ask_for() {
        let file = made("[a]\nsize=1m\nrw=read\nruntime=2h\ntime_based\nramp_time=60\ndirectory=sub\n");
        assert_eq!(file.time_limit.as_deref(), Some("10860 s"));
        assert_eq!(file.phases[0].work[0].command, ["mkdir", "-p", "--", "sub"]);
    }
}
