//! Work by a user's own program: one item a run.

use super::Kind;
use crate::cached::Visit;
use crate::check::Check;
use crate::command::{identity, work};
use crate::sys::{self, Errno, Fd};
use crate::worker::Task;
use std::path::PathBuf;
use workload::program::{Group, Io, Order, Program, Step};

/// A program that runs in the root.
pub struct Command;

/// Most files in the root that are considered when cached pages are read or counted.
const FILES: usize = 100_000;

impl Command {
    fn of(group: &Group) -> Result<&workload::program::Command, String> {
        match group.steps.as_slice() {
            [Step::Run(command)] => Ok(command),
            _ => Err("work of a command has one step, which runs it".into()),
        }
    }
}

impl Kind for Command {
    fn check(&self, _program: &Program, group: &Group) -> Check {
        let command = Command::of(group)?;
        let texts = command.words.iter().chain(command.environment.keys()).chain(command.environment.values());
        if command.words.first().is_none_or(String::is_empty) || texts.into_iter().any(|text| text.contains('\0')) {
            return Err("a command has no program, or contains a NUL character".into());
        }
        if group.io != Io::default() || group.order != Order::InOrder || group.rate.is_some() {
            return Err("a command controls its own reads and writes, and has no order or rate".into());
        }
        if group.workers > 1 && !group.processes {
            return Err("each of several commands at once needs its own process".into());
        }
        Ok(())
    }

    /// Makes the command's user the owner of the root. The root is given by descriptor, so that no other folder is affected.
    fn prepare(&self, _program: &Program, group: &Group, root: Fd) -> Result<(), String> {
        let Some(ids) = identity(Command::of(group)?)? else { return Ok(()) };
        sys::chown(root, c".", ids).map_err(|e| format!("making user {} the owner of the work folder: {e}", ids.0))
    }

    fn expected(&self, _program: &Program, group: &Group) -> Option<u64> {
        Some(u64::from(group.workers))
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        work(task, &[vec![Command::of(task.group())?.clone()]])
    }

    /// The command may read any file in the root.
    fn visit(&self, program: &Program, _: &Group, _: Fd, limit: u64, visit: &mut Visit) -> Result<u64, String> {
        visit_all(program, limit, visit)
    }
}

/// Visits at most `limit` files in the root, evenly spread.
pub fn visit_all(program: &Program, limit: u64, visit: &mut Visit) -> Result<u64, String> {
    let files = files_below(&program.root);
    let looked_at = (files.len() as u64).min(limit);
    for number in 0..looked_at {
        let file = &files[(number * files.len() as u64 / looked_at) as usize];
        let opened = sys::open(
            libc::AT_FDCWD,
            &crate::dirs::path(&file.to_string_lossy()),
            libc::O_RDONLY | libc::O_NOFOLLOW,
            0,
        );
        let fd = match opened {
            // Other processes may remove files meanwhile, or deny access.
            Err(Errno::NOENT | Errno::ACCESS | Errno::LOOP) => continue,
            other => other.map_err(|e| format!("opening {}: {e}", file.display()))?,
        };
        let answer = visit(fd);
        let _ = sys::close(fd);
        answer.map_err(|e| format!("reading {}: {e}", file.display()))?;
    }
    Ok(looked_at)
}

/// Regular files of a tree, [`FILES`] at most; links are not followed.
fn files_below(root: &std::path::Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
            if files.len() >= FILES {
                return files;
            }
        }
    }
    files
}
