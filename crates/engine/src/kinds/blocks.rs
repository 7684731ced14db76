//! Work on the blocks of files, laid end to end: one item a block.

use super::Kind;
use crate::blocks::{BlockWork, truncates_while_working};
use crate::cached::{Visit, visit_fileset};
use crate::check::{BLOCK, Check, fileset_exists};
use crate::movers;
use crate::prepare::{self, owners};
use crate::space::Space;
use crate::sys::Fd;
use crate::worker::Task;
use workload::program::{Engine, Group, Order, Program, Step, any};

/// Most operations in flight in one ring.
pub const DEPTH: u32 = 4096;

/// The blocks of a fileset's files, of all or of the first `length` bytes.
pub struct Blocks {
    pub fileset: usize,
    pub block: u64,
    pub length: Option<u64>,
}

impl Kind for Blocks {
    fn check(&self, program: &Program, group: &Group) -> Check {
        fileset_exists(program, self.fileset)?;
        check_blocks(group, self.block)
    }

    fn prepare(&self, program: &Program, group: &Group, root: Fd) -> Result<(), String> {
        let empties = group.io.create && !truncates_while_working(program, group);
        prepare::files(program, group, self.fileset, root, &|files| match empties {
            true => prepare::empty_files(files, root, group.io.engine == Engine::Mmap),
            false => Ok(()),
        })
    }

    fn expected(&self, program: &Program, group: &Group) -> Option<u64> {
        let owners = owners(program, group, self.fileset);
        let all = || Some(Space::of_files(owners.first()?, self.block, self.length).ok()?.blocks() - group.first);
        Some(prepare::expected(program, self.fileset, &owners, group.count.or_else(all)?))
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        move_blocks(task, BlockWork::of_files(task, self.fileset, self.block, self.length)?)
    }

    fn visit(&self, program: &Program, group: &Group, root: Fd, limit: u64, visit: &mut Visit) -> Result<u64, String> {
        visit_fileset(program, group, (self.fileset, true), root, limit, visit)
    }
}

/// One worker's blocks, moved by the engine that its group requests.
pub fn move_blocks(task: &Task, mut work: BlockWork) -> Result<(), String> {
    let mut pacer = task.pacer();
    let mut mover = movers::of(&work)?;
    task.wait_for_start();
    let mut tally = task.tally(&work.ops);
    tally.cut(work.course.len(), task.slices);
    mover.run(&mut work, &mut tally, &mut pacer)?;
    tally.finish();
    Ok(())
}

/// Whether steps and settings are valid for blocks of this size.
pub fn check_blocks(group: &Group, block: u64) -> Check {
    if block == 0 || block > BLOCK {
        return Err(format!("blocks of {block} bytes; the range is 1 to {BLOCK}"));
    }
    let places = |s: &Step| matches!(s, Step::Fallocate | Step::PunchHole);
    let fits =
        |s: &Step| matches!(s, Step::Read | Step::Write | Step::Modify | Step::Fsync | Step::Fdatasync) || places(s);
    if any(&group.steps, &|s| !fits(s)) {
        return Err("only read, write, modify, fsync, fdatasync, fallocate and punch-hole are steps over blocks".into());
    }
    if any(&group.steps, &places) && (group.io.engine != Engine::Calls || group.io.stdio) {
        return Err("fallocate and punch-hole are separate system calls".into());
    }
    if (group.io.atomic || group.io.uncached) && (group.io.stdio || group.io.engine == Engine::Mmap) {
        return Err("atomic and uncached are properties of a read or write call".into());
    }
    if matches!(group.order, Order::Readdir | Order::Follow) {
        return Err("blocks can only be accessed in order, shuffled or at random".into());
    }
    if group.io.direct && !block.is_multiple_of(512) {
        return Err(format!("direct I/O in blocks of {block} bytes; it needs a multiple of 512"));
    }
    if group.io.stdio {
        let one = matches!(group.steps.as_slice(), [Step::Read] | [Step::Write]);
        if block != 1 || !one || group.order != Order::InOrder || group.rate.is_some() {
            return Err("streams only read or write single bytes in order".into());
        }
    }
    match group.io.engine {
        Engine::IoUring(depth) if depth == 0 || depth > DEPTH => {
            Err(format!("a depth of {depth}; the range is 1 to {DEPTH}"))
        }
        Engine::IoUring(_) if group.steps.len() != 1 && group.io.read_percent.is_none() => {
            Err("with io_uring, give exactly one step, or a mix of reads and writes".into())
        }
        _ => Ok(()),
    }
}
