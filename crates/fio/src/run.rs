//! A job file run unchanged, by fio itself, in each contender's folder.
//! In: a job file. Out: a workload whose phases run the job file's stages, one after the other, each from the start that is asked for.
//! fio lays out its files in a phase before, as it does itself before its first job; what it reports of each job is a figure of its own.

use crate::job_file::{Job, JobFile};
use crate::meaning;
use std::collections::BTreeSet;
use workload::program::Reports;
use workload::written::{Also, Figure, File, Phase, Work};

/// Bytes of a call from which on bytes a second say more than calls a second.
const LARGE: u64 = 128 << 10;
/// Time that a stage may take beside what its jobs ask for, in seconds.
const BESIDE: f64 = 3600.0;
/// Letters of a name.
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
    /// As whom fio runs; None: whoever runs the engine.
    pub user: Option<String>,
    /// How long it may take; None: what it asks for, and an hour.
    pub time_limit: Option<String>,
    /// The variables that the file uses, with their values.
    pub variables: Vec<(String, String)>,
}

/// A part of fio's report that is shown.
struct Part {
    group: String,
    operation: String,
    title: String,
    doing: String,
    figure: &'static str,
}

/// The workload that runs a job file.
#[must_use]
pub fn unchanged(file: &JobFile, way: &Way) -> File {
    let stages = if file.can_be_parted() { file.stages() } else { vec![&file.jobs[..]] };
    let whole = stages.len() == 1;
    let mut phases = Vec::new();
    let folders = folders(&file.jobs);
    if !folders.is_empty() {
        let words = ["mkdir", "-p", "--"].into_iter().map(str::to_owned).chain(folders).collect();
        phases.push(preparation("folders", Work { command: words, user: way.user.clone(), ..Work::default() }));
    }
    let lay_out = ["--create_only=1", "--minimal"].map(str::to_owned).into();
    phases.push(preparation("lay-out", fio(file, way, lay_out)));
    let mut names = BTreeSet::new();
    for stage in stages {
        let sections =
            if whole { Vec::new() } else { stage.iter().map(|job| format!("--section={}", job.name)).collect() };
        phases.push(phase(file, way, stage, sections, &mut names));
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

/// fio, with its job file on its standard input.
fn fio(file: &JobFile, way: &Way, options: Vec<String>) -> Work {
    let command = std::iter::once("fio".to_owned()).chain(options).chain(std::iter::once("-".to_owned()));
    Work {
        command: command.collect(),
        user: way.user.clone(),
        input: Some(file.text.clone()),
        environment: way.variables.iter().cloned().collect(),
        ..Work::default()
    }
}

fn phase(file: &JobFile, way: &Way, stage: &[Job], sections: Vec<String>, names: &mut BTreeSet<String>) -> Phase {
    let name = unused(&stage.iter().map(|job| &*job.name).collect::<Vec<_>>().join("+"), names);
    let mut parts = parts(stage);
    if let [only] = &mut parts[..] {
        only.operation.clone_from(&name);
    }
    let options = ["--output-format=json+", "--eta=never"].map(str::to_owned).into_iter().chain(sections).collect();
    let mut work = fio(file, way, options);
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

/// What fio reports of a stage: each job, or jobs that it reports as a group (`group_reporting`) together.
fn parts(stage: &[Job]) -> Vec<Part> {
    let mut groups: Vec<Vec<&Job>> = Vec::new();
    for job in stage {
        match groups.last_mut().filter(|_| !job.truth("new_group")) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    let mut parts = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        if group.len() > 1 && group.iter().any(|job| job.truth("group_reporting")) {
            let names = group.iter().map(|job| &*job.name).collect::<Vec<_>>().join("+");
            parts.extend(directions(group, &format!("group {number}"), &names));
        } else {
            parts.extend(group.iter().flat_map(|job| directions(&[job], &job.name, &job.name)));
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

/// Folders below the contender's that jobs name.
fn folders(jobs: &[Job]) -> BTreeSet<String> {
    let values = jobs.iter().filter_map(|job| job.text("directory"));
    values.flat_map(|value| value.split(':')).map(str::to_owned).filter(|folder| !folder.is_empty()).collect()
}

/// What all jobs ask for one after the other, and an hour; None where none says how long it takes.
fn time_limit(file: &JobFile) -> Option<String> {
    let seconds = |job: &Job, key: &str| job.seconds(key).unwrap_or(0.0);
    let loops = |job: &Job| job.number("loops").unwrap_or(1) as f64;
    let asked = |job: &Job| {
        (seconds(job, "startdelay") + seconds(job, "ramp_time") + seconds(job, "runtime")) * loops(job).max(1.0)
    };
    let all: f64 = file.jobs.iter().map(asked).sum();
    (all > 0.0).then(|| format!("{} s", (all + BESIDE).ceil()))
}

/// A name of the letters that names may have.
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
        unchanged(&JobFile::read(text).expect("read"), &way)
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
        assert!(a.work[0].command.contains(&"--section=a".to_owned()), "{:?}", a.work[0].command);
        assert_eq!(bc.figure_group.as_deref(), Some("b write"));
        let also: Vec<(&str, &str)> = bc.also.iter().map(|also| (&*also.group, also.figure)).collect();
        assert_eq!(also, [("c read", "items/s"), ("c write", "items/s")]);
        assert!(file.text().expect("written").contains("--section=c"));
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
    fn what_waits_for_a_job_by_its_name_is_run_as_a_whole() {
        let file = made("[a]\nsize=1m\nrw=write\n[b]\nstonewall\nwait_for=a\nsize=1m\nrw=read\n");
        assert_eq!(file.phases.len(), 2);
        assert!(!file.phases[1].work[0].command.iter().any(|word| word.starts_with("--section")));
    }

    #[test]
    fn long_jobs_get_the_time_that_they_ask_for() {
        let file = made("[a]\nsize=1m\nrw=read\nruntime=2h\ntime_based\nramp_time=60\ndirectory=sub\n");
        assert_eq!(file.time_limit.as_deref(), Some("10860 s"));
        assert_eq!(file.phases[0].work[0].command, ["mkdir", "-p", "--", "sub"]);
    }
}
