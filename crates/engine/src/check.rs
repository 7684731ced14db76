//! What a program must hold to before anything is done: the engine trusts nothing that comes over the seam.
//! In: a program. Out: nothing, or the reason for refusing it, in one sentence.
//! No check touches more than the root directory.

use crate::ops;
use std::path::{Component, Path};
use workload::program::{Engine, Fileset, Group, Layout, Order, Over, Phase, Program, Size, Step};

/// Most workers of a phase.
pub const WORKERS: u64 = 1024;

/// Most directories of a fileset.
pub const DIRECTORIES: u64 = 16 << 20;

/// Largest block, in bytes.
pub const BLOCK: u64 = 1 << 30;

/// Most operations under way in one ring.
pub const DEPTH: u32 = 4096;

type Check = Result<(), String>;

/// Check a whole program.
pub fn program(program: &Program) -> Check {
    if !program.root.is_dir() {
        return Err(format!("{} is no directory to work in", program.root.display()));
    }
    if program.time_limit == 0 {
        return Err("the time limit is 0 seconds; nothing could be done in it".into());
    }
    program.filesets.iter().try_for_each(fileset)?;
    program.phases.iter().try_for_each(|p| phase(program, p).map_err(|e| format!("phase {}: {e}", p.name)))
}

fn fileset(set: &Fileset) -> Check {
    let name = &set.name;
    inside(&set.directory).map_err(|e| format!("fileset {name}: {e}"))?;
    match set.size {
        Size::Uniform(least, most) if least > most => {
            return Err(format!("fileset {name}: the smallest size, {least}, is larger than the largest, {most}"));
        }
        Size::Total { largest: 0, .. } => {
            return Err(format!("fileset {name}: files of 0 bytes never make up a total"));
        }
        _ => {}
    }
    let directories = match set.layout {
        Layout::Flat => Some(1),
        Layout::PerDirectory(0) | Layout::Directories(0) | Layout::Hashed(0, _) | Layout::Hashed(_, 0) => Some(0),
        Layout::PerDirectory(n) => Some(set.files.div_ceil(n)),
        Layout::Directories(n) => Some(n),
        Layout::Hashed(a, b) => a.checked_mul(b),
    };
    match directories {
        Some(0) if set.files > 0 => Err(format!("fileset {name}: its layout has no directory to put files in")),
        Some(n) if n <= DIRECTORIES => Ok(()),
        _ => Err(format!("fileset {name}: more than {DIRECTORIES} directories")),
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
        return Err("it has no group, so nothing would be done".into());
    }
    let workers: u64 = phase.groups.iter().map(|g| u64::from(g.workers)).sum();
    if workers == 0 || phase.groups.iter().any(|g| g.workers == 0) || workers > WORKERS {
        return Err(format!("{workers} workers; each group needs one, and all together may have {WORKERS}"));
    }
    if phase.groups.iter().all(|g| g.order == Order::Follow) {
        return Err("all groups follow, and nobody goes before them".into());
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
    match group.over {
        Over::Files { fileset } => {
            fileset_exists(program, fileset)?;
            on_files(group)
        }
        Over::Directories { fileset } => {
            fileset_exists(program, fileset)?;
            on_directories(group)
        }
        Over::Blocks { fileset, block, .. } => {
            fileset_exists(program, fileset)?;
            on_blocks(group, block)
        }
        Over::Aged => on_aged(group),
        Over::Device { block, length } => {
            on_blocks(group, block)?;
            if program.device.is_none() {
                return Err("it works on a device, but the program names none".into());
            }
            if group.io.create || ops::any(&group.steps, &|s| !matches!(s, Step::Read)) {
                return Err("a raw device is only ever read".into());
            }
            if length < block { Err(format!("no block of {block} bytes lies within {length}")) } else { Ok(()) }
        }
    }
}

fn fileset_exists(program: &Program, fileset: usize) -> Check {
    match program.filesets.len() {
        count if fileset < count => Ok(()),
        count => Err(format!("fileset {fileset}, but the program has {count}, numbered from 0")),
    }
}

/// Names that steps carry must be single components.
fn names_of_steps(steps: &[Step]) -> Check {
    for step in steps {
        match step {
            Step::Rename(name) | Step::Link(name) => {
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

fn on_files(group: &Group) -> Check {
    if ops::any(&group.steps, &|s| matches!(s, Step::List | Step::Rmdir)) {
        return Err("list and rmdir are steps over directories".into());
    }
    if group.io.engine != Engine::Calls || group.io.stdio || group.io.read_percent.is_some() {
        return Err("io_uring, mappings, streams and mixes are for work on blocks".into());
    }
    if group.io.call_bytes > BLOCK {
        return Err(format!("calls of {} bytes; at most {BLOCK}", group.io.call_bytes));
    }
    Ok(())
}

fn on_aged(group: &Group) -> Check {
    on_files(group)?;
    let fits = |s: &Step| matches!(s, Step::Open | Step::Read | Step::Close | Step::Stat);
    if !group.steps.iter().all(fits) || group.order != Order::Readdir || group.workers != 1 {
        return Err("aged files are opened, read, closed and looked at by one worker, as readdir lists them".into());
    }
    Ok(())
}

fn on_directories(group: &Group) -> Check {
    let fits = |s: &Step| {
        let always = matches!(s, Step::Mkdir | Step::Rmdir | Step::List | Step::Stat | Step::LookUp);
        always || matches!(s, Step::Chmod | Step::Chown | Step::FsyncDirectory | Step::Fsync)
    };
    if !group.steps.iter().all(fits) {
        return Err("only mkdir, rmdir, list, stat, look-up, chmod, chown and fsync are steps over directories".into());
    }
    if matches!(group.order, Order::Readdir | Order::Follow) {
        return Err("directories are taken in order, shuffled or at random".into());
    }
    Ok(())
}

fn on_blocks(group: &Group, block: u64) -> Check {
    if block == 0 || block > BLOCK {
        return Err(format!("blocks of {block} bytes; 1 to {BLOCK} are possible"));
    }
    let fits = |s: &Step| matches!(s, Step::Read | Step::Write | Step::Modify | Step::Fsync | Step::Fdatasync);
    if ops::any(&group.steps, &|s| !fits(s)) {
        return Err("only read, write, modify, fsync and fdatasync are steps over blocks".into());
    }
    if matches!(group.order, Order::Readdir | Order::Follow) {
        return Err("blocks are taken in order, shuffled or at random".into());
    }
    if group.io.direct && !block.is_multiple_of(512) {
        return Err(format!("direct I/O in blocks of {block} bytes; it needs a multiple of 512"));
    }
    if group.io.stdio {
        let one = matches!(group.steps.as_slice(), [Step::Read] | [Step::Write]);
        if block != 1 || !one || group.order != Order::InOrder || group.rate.is_some() {
            return Err("streams put or get single bytes, in order, and nothing else".into());
        }
    }
    match group.io.engine {
        Engine::IoUring(depth) if depth == 0 || depth > DEPTH => {
            Err(format!("a depth of {depth}; 1 to {DEPTH} are possible"))
        }
        Engine::IoUring(_) if group.steps.len() != 1 && group.io.read_percent.is_none() => {
            Err("through io_uring each block is read or written, or one of both in a mix".into())
        }
        _ => Ok(()),
    }
}
