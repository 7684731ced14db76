//! Work on files: one item a file.

use super::Kind;
use crate::cached::{Visit, visit_fileset};
use crate::check::{BLOCK, Check, fileset_exists};
use crate::files::FileWork;
use crate::prepare::{self, owners};
use crate::sys::Fd;
use crate::worker::Task;
use workload::program::{Engine, Group, Order, Program, Step, any};

/// The files of a fileset.
pub struct Files {
    pub fileset: usize,
}

impl Kind for Files {
    fn check(&self, program: &Program, group: &Group) -> Check {
        fileset_exists(program, self.fileset)?;
        check_steps(group)
    }

    fn prepare(&self, program: &Program, group: &Group, root: Fd) -> Result<(), String> {
        prepare::files(program, group, self.fileset, root, &|_| Ok(()))
    }

    fn expected(&self, program: &Program, group: &Group) -> Option<u64> {
        let owners = owners(program, group, self.fileset);
        let each = group.count.unwrap_or(owners.first()?.count.saturating_sub(group.first));
        Some(prepare::expected(program, self.fileset, &owners, each))
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        let group = task.group();
        let mut work = file_work(task, self.fileset)?;
        let mut pacer = task.pacer();
        task.wait_for_start();
        let mut tally = task.tally(&work.ops);
        match group.order {
            Order::Readdir => {
                let workers = task.share(self.fileset).workers;
                let limit = group.count.map_or(u64::MAX, |count| count.div_ceil(workers));
                tally.cut(limit.min(work.files.count / workers), task.slices);
                work.by_readdir(limit, &mut tally, &mut pacer);
            }
            Order::Follow => work.by_following(&mut tally, &mut pacer),
            _ => {
                let course = task.course(work.files.count, self.fileset);
                tally.cut(course.len(), task.slices);
                work.by_index(&course, &mut tally, &mut pacer);
            }
        }
        tally.finish();
        Ok(())
    }

    fn visit(&self, program: &Program, group: &Group, root: Fd, limit: u64, visit: &mut Visit) -> Result<u64, String> {
        let whole = matches!(group.order, Order::Random | Order::Readdir);
        visit_fileset(program, group, (self.fileset, whole), root, limit, visit)
    }
}

/// State for work on files or their directories, prepared before the clock starts.
pub fn file_work<'a>(task: &'a Task<'a>, fileset: usize) -> Result<FileWork<'a>, String> {
    FileWork::new(task, task.files(fileset)).map_err(|e| format!("no memory for the I/O buffer: {e}"))
}

/// Whether steps and settings are valid for items that are separate files.
pub fn check_steps(group: &Group) -> Check {
    let of_others = |s: &Step| {
        let whole = matches!(s, Step::Volume(..) | Step::Fill(_) | Step::AwaitSpace(_));
        whole || matches!(s, Step::List | Step::Rmdir | Step::Run(_) | Step::LayOut(_) | Step::Replay(_))
    };
    if any(&group.steps, &of_others) {
        return Err("list and rmdir are steps over directories; run is a step over commands".into());
    }
    if group.io.engine != Engine::Calls || group.io.stdio || group.io.read_percent.is_some() {
        return Err("io_uring, mappings, streams and mixes are for work on blocks".into());
    }
    if group.io.call_bytes > BLOCK {
        return Err(format!("calls of {} bytes; the limit is {BLOCK}", group.io.call_bytes));
    }
    Ok(())
}
