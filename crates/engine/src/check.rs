//! Checks a program before anything is done: the engine trusts no request.
//! In: a program. Out: nothing, or the reason for refusing it, in one sentence.
//! No check touches more than the root directory.

use crate::kinds;
use std::path::{Component, Path};
use workload::program::{
    Class, Fileset, Group, Layout, Names, Order, Phase, Program, Size, Step, level_counts, tree_problem,
};

/// Most workers of a phase.
pub const WORKERS: u64 = 1024;

/// Most parallel clients.
pub const CLIENTS: u32 = 1 << 20;

/// Most directories of a fileset.
pub const DIRECTORIES: u64 = 16 << 20;

/// Largest block, in bytes.
pub const BLOCK: u64 = 1 << 30;

/// Result of a check: nothing, or the reason for refusal.
pub type Check = Result<(), String>;

/// Checks a whole program.
pub fn program(program: &Program) -> Check {
    if !program.root.is_dir() {
        return Err(format!("{} is not a directory", program.root.display()));
    }
    if program.time_limit == 0 {
        return Err("the time limit is 0 seconds".into());
    }
    if let Some(client) = program.client
        && (client.number >= client.of || client.of > CLIENTS)
    {
        return Err(format!("client {} of {}; the limit is {CLIENTS}", client.number, client.of));
    }
    program.filesets.iter().try_for_each(fileset)?;
    program.phases.iter().try_for_each(|p| phase(program, p).map_err(|e| format!("phase {}: {e}", p.name)))
}

fn fileset(set: &Fileset) -> Check {
    let name = &set.name;
    inside(&set.directory).map_err(|e| format!("fileset {name}: {e}"))?;
    match &set.size {
        Size::Uniform(least, most) if least > most => {
            return Err(format!("fileset {name}: the smallest size, {least}, is larger than the largest, {most}"));
        }
        Size::Total { largest: 0, .. } => {
            return Err(format!("fileset {name}: files of 0 bytes never make up a total"));
        }
        Size::Classes(of) => classes(of).map_err(|e| format!("fileset {name}: its sizes: {e}"))?,
        _ => {}
    }
    if let Names::Lengths(of) = &set.names {
        classes(of).map_err(|e| format!("fileset {name}: its names: {e}"))?;
    }
    if let Layout::Tree(levels) = &set.layout
        && let Some(problem) = tree_problem(levels, set.files)
    {
        return Err(format!("fileset {name}: {problem}"));
    }
    let directories = match set.layout {
        Layout::Flat => Some(1),
        Layout::PerDirectory(0) | Layout::Directories(0) | Layout::Hashed(0, _) | Layout::Hashed(_, 0) => Some(0),
        Layout::PerDirectory(n) => Some(set.files.div_ceil(n)),
        Layout::Directories(n) => Some(n),
        Layout::Hashed(a, b) => a.checked_mul(b),
        Layout::Tree(ref levels) => level_counts(levels).into_iter().try_fold(0, u64::checked_add),
    };
    match directories {
        Some(0) if set.files > 0 => Err(format!("fileset {name}: its layout has no directory to put files in")),
        Some(n) if n <= DIRECTORIES => Ok(()),
        _ => Err(format!("fileset {name}: more than {DIRECTORIES} directories")),
    }
}

/// Classes have values in ascending order, and weights whose sum does not overflow.
fn classes(of: &[Class]) -> Check {
    let ordered = of.iter().all(|class| class.least <= class.most && class.weight > 0);
    let weights = of.iter().try_fold(0, |sum: u64, class| sum.checked_add(class.weight));
    match weights {
        Some(1..) if ordered && of.windows(2).all(|pair| pair[0].most < pair[1].least) => Ok(()),
        _ => Err("classes must ascend and have weights".into()),
    }
}

fn inside(directory: &str) -> Check {
    let plain = Path::new(directory).components().all(|c| matches!(c, Component::Normal(_)));
    if plain && !directory.contains('\0') && !directory.contains("//") && !directory.ends_with('/') {
        Ok(())
    } else {
        Err(format!(
            "directory {directory:?} must lie below the root and be written without `.`, `..` or a slash at its ends"
        ))
    }
}

fn phase(program: &Program, phase: &Phase) -> Check {
    if phase.groups.is_empty() {
        return Err("it has no group, so it has no work".into());
    }
    let workers: u64 = phase.groups.iter().map(|g| program.own_workers(g).len() as u64).sum();
    let idle = |group: &Group| group.workers == 0 || !group.workers.is_multiple_of(program.clients());
    if workers == 0 || phase.groups.iter().any(idle) || workers > WORKERS {
        return Err(format!("{workers} workers; each group needs at least one, and the limit for all is {WORKERS}"));
    }
    if phase.groups.iter().all(|g| g.order == Order::Follow) {
        return Err("all groups follow other groups; at least one must create files for them".into());
    }
    phase.groups.iter().try_for_each(|g| group(program, g).map_err(|e| format!("group {}: {e}", g.name)))
}

fn group(program: &Program, group: &Group) -> Check {
    if group.steps.is_empty() {
        return Err("it has no steps".into());
    }
    if let Some(rate) = group.rate
        && !(rate.per_second.is_finite() && rate.per_second > 0.0)
    {
        return Err(format!("a rate of {} operations a second", rate.per_second));
    }
    names_of_steps(&group.steps)?;
    kinds::of(group.over).check(program, group)
}

/// Whether the fileset that a group names exists.
pub fn fileset_exists(program: &Program, fileset: usize) -> Check {
    match program.filesets.len() {
        count if fileset < count => Ok(()),
        count => Err(format!("fileset {fileset}, but the program has {count}, numbered from 0")),
    }
}

/// Names in steps must be single path components.
fn names_of_steps(steps: &[Step]) -> Check {
    for step in steps {
        match step {
            Step::Rename(name) | Step::Link(name) | Step::Reflink(name) | Step::CopyRange(name) => {
                let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
                if !plain || name.len() > 64 {
                    return Err(format!("{name:?} cannot be a name within a directory"));
                }
            }
            Step::Share(percent, _) if *percent > 100 => return Err(format!("a share of {percent} percent")),
            Step::Share(_, inner) => names_of_steps(inner)?,
            _ => {}
        }
    }
    Ok(())
}
