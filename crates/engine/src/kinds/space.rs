//! Work on the filesystem's free space: filling it to a share, and waiting until some is free again. One item a file, or the wait.

use super::Kind;
use crate::check::{Check, fileset_exists};
use crate::clock::kernel_ns;
use crate::files::FileWork;
use crate::kinds::files::file_work;
use crate::ops::Ops;
use crate::shared::Note;
use crate::sys::{self, Answer, Errno, Space};
use crate::tally::Tally;
use crate::worker::Task;
use std::time::Duration;
use workload::program::{Group, Io, Order, Program, Step, USABLE_SHARE};

/// The free space of the root's filesystem.
pub struct FreeSpace {
    pub fileset: Option<usize>,
}

/// Between two checks of the free space.
const LOOK: Duration = Duration::from_millis(5);
/// Longest wait for space, in nanoseconds.
const PATIENCE_NS: u64 = 120_000_000_000;
/// How often a full filesystem may try to free space by writing back its data.
const CHANCES: u32 = 3;

impl Kind for FreeSpace {
    fn check(&self, program: &Program, group: &Group) -> Check {
        if let Some(fileset) = self.fileset {
            fileset_exists(program, fileset)?;
        }
        match (group.steps.as_slice(), self.fileset) {
            ([Step::Fill(percent)], Some(_)) if *percent <= 100 => {}
            ([Step::AwaitSpace(percent)], None) if *percent <= 100 => {}
            _ => return Err("work on free space fills it with a fileset, or waits for free space".into()),
        }
        if group.io != Io::default() || group.order != Order::InOrder || group.rate.is_some() || group.workers != 1 {
            return Err("work on free space needs one worker and has no order, rate or I/O settings".into());
        }
        Ok(())
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        match (task.group().steps.as_slice(), self.fileset) {
            ([Step::Fill(percent)], Some(fileset)) => fill(task, fileset, f64::from(*percent)),
            ([Step::AwaitSpace(percent)], None) => wait(task, f64::from(*percent)),
            _ => Ok(()),
        }
    }
}

fn space(task: &Task) -> Result<Space, String> {
    sys::space(task.root).map_err(|e| format!("reading the free space: {e}"))
}

fn wait(task: &Task, percent: f64) -> Result<(), String> {
    let ops = Ops::new(task.group());
    task.wait_for_start();
    let mut tally = task.tally(&ops);
    let begun = kernel_ns();
    loop {
        let full = space(task)?.full_percent();
        tally.lap(ops.list[0].histogram);
        if full <= percent {
            break;
        }
        if !tally.running() || kernel_ns() - begun > PATIENCE_NS {
            tally.remark(format!("it stayed {full:.0} % full"));
            break;
        }
        std::thread::sleep(LOOK);
    }
    tally.items(1);
    tally.finish();
    Ok(())
}

/// Result of writing a file.
enum Written {
    Whole,
    NoSpace,
    Failed,
}

fn fill(task: &Task, fileset: usize, percent: f64) -> Result<(), String> {
    let mut work = file_work(task, fileset)?;
    let mut next = first_missing(&mut work).map_err(|e| format!("listing files of {}: {e}", work.files.base))?;
    task.wait_for_start();
    let mut tally = task.tally(&work.ops);
    let begun = space(task)?;
    // Root may use reserved space.
    let promised = if sys::own_ids().0 == 0 { begun.free } else { begun.available };
    let (mut written, mut partly, mut refused) = (0, 0, 0);
    while next < work.files.count && refused <= CHANCES && tally.running() {
        if percent < 100.0 && space(task)?.full_percent() >= percent {
            break;
        }
        match write_one(&mut work, next, &mut tally) {
            (bytes, Written::Whole) => {
                written += bytes;
                (partly, refused) = (0, 0);
            }
            (_, Written::Failed) => break,
            (bytes, Written::NoSpace) => {
                partly = bytes.max(partly);
                refused += 1;
                // A partial file does not count, and without any free space some filesystems cannot even be synced.
                let _ = work.remove(next);
                // Space reserved for delayed allocation may become free.
                let _ = sys::syncfs(task.root);
                continue;
            }
        }
        next += 1;
    }
    tally.finish();
    if promised > 0 {
        let share = 100.0 * (written + partly) as f64 / promised as f64;
        task.shared.slot(task.slot).note(&Note::Told(USABLE_SHARE.into(), share));
    }
    Ok(())
}

/// Number of the first missing file; all before it exist.
fn first_missing(work: &mut FileWork) -> Answer<u64> {
    let (mut there, mut missing) = (0, work.files.count);
    while there < missing {
        let middle = there + (missing - there) / 2;
        match work.is_there(middle)? {
            true => there = middle + 1,
            false => missing = middle,
        }
    }
    Ok(there)
}

fn write_one(work: &mut FileWork, index: u64, tally: &mut Tally) -> (u64, Written) {
    let (bytes, answer) = work.write_new(index, tally);
    match answer {
        Ok(()) => {
            tally.lap(work.ops.list[0].histogram);
            tally.items(1);
            (bytes, Written::Whole)
        }
        Err(Errno::NOSPC) => (bytes, Written::NoSpace),
        Err(errno) => {
            tally.skip();
            tally.fail("fill", work.files.path(index), Some(bytes), errno);
            (bytes, Written::Failed)
        }
    }
}
