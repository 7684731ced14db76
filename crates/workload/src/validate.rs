//! Whether a whole program can run, and what it takes: its phases are simulated, files counted.
//! In: a compiled [`Program`]. Out: an [`Estimate`], or the first impossible phase, and why.
//! Counts are exact; bytes of random sizes count with their mean, and with their largest for the worst case.

use crate::compile::Outcome;
use crate::error::Problem;
use crate::facts::{Estimate, PhaseEstimate};
use crate::fileset;
use crate::kinds;
use crate::program::{Cache, End, Group, Layout, Order, Over, Phase, Program, Step, has};
use crate::quantity::QUANTITY_LIMIT;
use crate::simulate::{World, leaves_less};
use std::ops::Range;

/// Most items in one pass of a phase.
const ITEMS_LIMIT: u64 = 1 << 48;

pub(crate) fn check(program: &Program, spans: &[Range<usize>]) -> Outcome<Estimate> {
    let mut world = World::new(&program.filesets);
    let mut estimate = Estimate::default();
    if program.phases.iter().all(|phase| phase.preparation) {
        return Err(Problem::new("no phase is measured").help("a workload needs a phase without `preparation = true`"));
    }
    apart(program)?;
    same_owners(program).map_err(|(phase, problem)| problem.at(spans[phase].clone()))?;
    for (index, phase) in program.phases.iter().enumerate() {
        let in_place = |problem: Problem| Problem {
            problem: format!("phase `{}`: {}", phase.name, problem.problem),
            ..problem.at(spans[index].clone())
        };
        if program.phases[..index].iter().any(|earlier| earlier.name == phase.name) {
            return Err(in_place(Problem::new("another phase has the same name")));
        }
        let part = one_phase(program, phase, &mut world, &mut estimate).map_err(in_place)?;
        estimate.bytes_written = estimate.bytes_written.saturating_add(part.bytes_written);
        estimate.bytes_read = estimate.bytes_read.saturating_add(part.bytes_read);
        estimate.phases.push(part);
    }
    if let Some(gone) = world.lost {
        return Err(Problem::new(format!("device {gone} is still missing at the end, when the filesystem is checked"))
            .help("rebuild it in a last phase"));
    }
    let groups = || program.phases.iter().flat_map(|phase| &phase.groups);
    estimate.needs_direct = groups().any(|group| group.io.direct);
    estimate.needs_device = groups().any(|group| group.over.device_bytes().is_some());
    estimate.needs_aged = groups().any(|group| group.over.needs_ageing());
    estimate.needs_files = groups().any(|group| group.over.device_bytes().is_none());
    estimate.needs_cold = program.phases.iter().any(|phase| phase.cache == Cache::Cold || phase.after.drop_caches);
    estimate.directories = world.directories();
    Ok(estimate)
}

/// Two filesets in one directory would use each other's files.
fn apart(program: &Program) -> Outcome<()> {
    for (index, fileset) in program.filesets.iter().enumerate() {
        let same = program.filesets[..index].iter().find(|earlier| earlier.directory == fileset.directory);
        if let Some(earlier) = same {
            return Err(Problem::new(format!(
                "filesets `{}` and `{}` are in the same directory",
                earlier.name, fileset.name
            ))
            .help("give each its own `directory`"));
        }
    }
    Ok(())
}

/// A fileset per worker must have the same workers in every phase, or some would look for files that do not exist.
fn same_owners(program: &Program) -> std::result::Result<(), (usize, Problem)> {
    for (index, fileset) in program.filesets.iter().enumerate().filter(|(_, fileset)| fileset.per_worker) {
        let mut before: Option<(u32, &str)> = None;
        for (number, phase) in program.phases.iter().enumerate() {
            for group in phase.groups.iter().filter(|group| group.over.fileset() == Some(index)) {
                match before {
                    Some((workers, name)) if workers != group.workers => {
                        let problem = Problem::new(format!(
                            "fileset `{}` is per worker, but phase `{name}` has {workers} workers and `{}` has {}",
                            fileset.name, phase.name, group.workers
                        ));
                        return Err((number, problem.help("give both phases the same `workers`")));
                    }
                    _ => before = Some((group.workers, &phase.name)),
                }
            }
        }
    }
    Ok(())
}

fn one_phase(program: &Program, phase: &Phase, world: &mut World, whole: &mut Estimate) -> Outcome<PhaseEstimate> {
    let passes = u64::from(phase.passes);
    let mut part = PhaseEstimate { name: phase.name.clone(), ..PhaseEstimate::default() };
    begun_again(phase)?;
    // Followers come last, since they find what the others leave.
    let (followers, others): (Vec<&Group>, Vec<&Group>) =
        phase.groups.iter().partition(|group| group.order == Order::Follow);
    for group in &followers {
        fed(program, group, &others)?;
    }
    for group in others.into_iter().chain(followers) {
        let work = kinds::of(group.over).simulate(&mut *world, group)?;
        if work.items > ITEMS_LIMIT {
            return Err(Problem::new(format!("{} items; the limit is 2^48", work.items)));
        }
        part.items = part.items.saturating_add(work.items.saturating_mul(passes));
        part.bytes_written = part.bytes_written.saturating_add(work.bytes_written.saturating_mul(passes));
        part.bytes_read = part.bytes_read.saturating_add(work.bytes_read.saturating_mul(passes));
        if group.over.device_bytes().is_some() {
            let bytes = work.bytes_read.saturating_mul(passes);
            whole.device_bytes_read = whole.device_bytes_read.saturating_add(bytes);
        }
        paced(group, work.items, program.time_limit)?;
        let (files, bytes, worst) = world.present();
        whole.files_at_most = whole.files_at_most.max(files);
        whole.bytes_at_most = whole.bytes_at_most.max(bytes);
        whole.bytes_at_worst = whole.bytes_at_worst.max(worst);
        if worst > QUANTITY_LIMIT {
            return Err(Problem::new("the workload has more than 2^60 bytes at once"));
        }
    }
    let workers = phase.groups.iter().map(|group| u64::from(group.workers)).sum();
    whole.workers_at_most = whole.workers_at_most.max(workers);
    part.fixed_ns = fixed(phase, program.time_limit)?;
    let (files, bytes, _) = world.present();
    (part.present_files, part.present_bytes) = (files, bytes);
    Ok(part)
}

/// A repeated phase must leave the files in place.
fn begun_again(phase: &Phase) -> Outcome<()> {
    let by_time = matches!(phase.end, End::Time { .. });
    let again = if by_time {
        "ends by time, so its work repeats"
    } else if phase.passes > 1 {
        "has several passes"
    } else {
        return Ok(());
    };
    for group in &phase.groups {
        if by_time && group.order == Order::Follow {
            return Err(Problem::new("a phase with `time` cannot have groups with `order = \"follow\"`"));
        }
        if matches!(group.over, Over::Volume | Over::Space { .. }) {
            return Err(Problem::new(format!("it {again}, and this work runs only once")));
        }
        if by_time && group.over.is_opaque() {
            return Err(Problem::new("a command and a replay end by themselves").help("leave out `time`"));
        }
        if leaves_less(&group.steps) {
            return Err(Problem::new(format!("it {again}, but its steps remove the files"))
                .help("create them again in the steps, or run it once"));
        }
    }
    Ok(())
}

/// A follower without a group that supplies files, or that removes none, would never end.
fn fed(program: &Program, group: &Group, others: &[&Group]) -> Outcome<()> {
    let Some(index) = group.over.fileset() else { return Ok(()) };
    let fileset = &program.filesets[index];
    let feeds = |other: &&&Group| {
        let Some(from) = other.over.fileset() else { return false };
        let renames = |step: &Step| matches!(step, Step::Rename(to) if target(&program.filesets[from].directory, to) == fileset.directory);
        (from == index && has(&other.steps, &Step::Create)) || other.steps.iter().any(renames)
    };
    if !others.iter().any(|other| feeds(&other)) {
        return Err(Problem::new(format!(
            "group `{}` follows fileset `{}`, but no other group of the phase creates files there",
            group.name, fileset.name
        ))
        .help("use `order = \"readdir\"` for existing files"));
    }
    if fileset.layout != Layout::Flat {
        return Err(Problem::new(format!(
            "group `{}` follows fileset `{}`, whose files are in several directories",
            group.name, fileset.name
        ))
        .help("a follower reads one directory: use `layout = \"flat\"`"));
    }
    let takes_away = |step: &Step| matches!(step, Step::Unlink | Step::Rename(_));
    if !group.steps.iter().any(takes_away) {
        return Err(Problem::new(format!(
            "group `{}` would never end: it follows files and does not remove them",
            group.name
        ))
        .help("rename or unlink each file"));
    }
    Ok(())
}

/// Target directory of a rename.
pub(crate) fn target(directory: &str, to: &str) -> String {
    match directory.rsplit_once('/') {
        Some((parent, _)) => format!("{parent}/{to}"),
        None => to.to_owned(),
    }
}

/// A rate that makes a phase exceed its limit is an error in advance.
fn paced(group: &Group, items: u64, time_limit: u64) -> Outcome<()> {
    let Some(rate) = group.rate else { return Ok(()) };
    let seconds = items as f64 / rate.per_second;
    if seconds > time_limit as f64 {
        return Err(Problem::new(format!(
            "{items} operations at {} a second take {seconds:.0} s, longer than the limit of {time_limit} s",
            rate.per_second
        ))
        .help("raise `rate` or `time-limit`, or lower `count`"));
    }
    Ok(())
}

fn fixed(phase: &Phase, time_limit: u64) -> Outcome<u64> {
    let passes = u64::from(phase.passes);
    let timed = match phase.end {
        End::Work => 0,
        End::Time { measure_ns, ramp_ns } => measure_ns.saturating_add(ramp_ns),
    };
    if timed > time_limit.saturating_mul(1_000_000_000) {
        return Err(Problem::new(format!("its time and ramp are longer than the limit of {time_limit} s"))
            .help("raise `time-limit`"));
    }
    Ok(timed.saturating_mul(passes).saturating_add(phase.pause_ns.saturating_mul(passes - 1)))
}

/// Bytes of a fileset's files, end to end, for one owner.
pub(crate) fn end_to_end(fileset: &crate::program::Fileset) -> u64 {
    fileset::mean_bytes(fileset, fileset.files)
}
