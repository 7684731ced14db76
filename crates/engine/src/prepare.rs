//! Preparation before the clock of a phase starts, since it is no part of the timed work.
//! In: a group of a phase. Out: directories in which files are created or to which they are moved; files that must be empty.
//! A phase whose steps create directories does so with the clock running; so does one over directories.

use crate::dirs::{self, Directories};
use crate::names::{Files, Name};
use crate::sys::{self, Answer, Fd};
use workload::program::{Group, Order, Program, Step, any, has};

/// Files of a group, one for each owner that this client works for.
pub fn owners(program: &Program, group: &Group, fileset: usize) -> Vec<Files> {
    let set = &program.filesets[fileset];
    let own = if set.per_worker { program.own_workers(group) } else { 0..1 };
    own.map(|worker| Files::new(program.seed, fileset, set, program.acts_as(group, worker), group.workers)).collect()
}

/// Items of this client, if each of these owners has `each`; of items shared by all clients only its part counts.
pub fn expected(program: &Program, fileset: usize, owners: &[Files], each: u64) -> u64 {
    let shared = if program.filesets[fileset].per_worker { 1 } else { u64::from(program.clients()) };
    each * owners.len() as u64 / shared
}

/// Prepares the files of a group; the caller may do more with each owner's files.
pub fn files(
    program: &Program,
    group: &Group,
    fileset: usize,
    root: Fd,
    more: &dyn Fn(&Files) -> Answer<()>,
) -> Result<(), String> {
    for files in owners(program, group, fileset) {
        let failed = |e: sys::Errno| format!("preparing {} below the root: {e}", files.base);
        targets(&group.steps, &files, root).map_err(failed)?;
        let makes = has(&group.steps, &Step::Mkdir);
        let creates = group.io.create || any(&group.steps, &|s| matches!(s, Step::Create | Step::OpenTmpfile));
        if creates && !makes {
            directories(&files, root).map_err(failed)?;
        }
        if group.order == Order::Follow {
            dirs::make_path(root, &files.base).map_err(failed)?;
        }
        more(&files).map_err(failed)?;
    }
    Ok(())
}

fn targets(steps: &[Step], files: &Files, root: Fd) -> Answer<()> {
    for step in steps {
        match step {
            Step::Rename(directory) | Step::Reflink(directory) | Step::CopyRange(directory) => {
                dirs::make_path(root, &files.sibling(directory))?;
            }
            Step::Share(_, inner) => targets(inner, files, root)?,
            _ => {}
        }
    }
    Ok(())
}

fn directories(files: &Files, root: Fd) -> Answer<()> {
    let mut handles = Directories::new(root, files);
    let used = if files.count == 0 { 1 } else { files.directories() };
    (0..used).try_for_each(|directory| handles.ensure(directory, files).map(|_| ()))
}

/// Creates files empty, or at full size for mappings, which cannot extend a file.
pub fn empty_files(files: &Files, root: Fd, full: bool) -> Answer<()> {
    let mut handles = Directories::new(root, files);
    let mut name = Name::new();
    for index in 0..files.count {
        files.name(index, &mut name);
        let directory = handles.get(files.directory_of(index, &name), files)?;
        let fd = sys::open(directory, name.c(), libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY, 0o600)?;
        let sized = if full { sys::truncate(fd, files.size(index, 0)) } else { Ok(()) };
        sys::close(fd)?;
        sized?;
    }
    Ok(())
}
