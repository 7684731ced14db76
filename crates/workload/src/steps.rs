//! Whether the steps of one group make sense: on which target they run, and which file is open when.
//! In: a [`Group`]. Out: nothing, or what is wrong with it, in one sentence.
//! A valid program never closes a file that is not open, and leaves no descriptor open.

use crate::compile::Outcome;
use crate::error::Problem;
use crate::kinds;
use crate::program::{Engine, Group, Order, Step};

/// What is open while steps follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Reading,
    Writing,
    Both,
}

pub(crate) fn check(group: &Group) -> Outcome<()> {
    if group.steps.is_empty() {
        return Err(Problem::new("work without steps"));
    }
    if group.count == Some(0) {
        return Err(Problem::new("`count` is 0, so the work is empty"));
    }
    kinds::of(group.over).check(group)
}

/// Whether a group that works on files leaves none of them open.
pub(crate) fn closes_what_it_opens(group: &Group) -> Outcome<()> {
    match follow(&group.steps, Open::Nothing)? {
        Open::Nothing => Ok(()),
        _ => Err(Problem::new("the file is still open after the last step").help("end with \"close\"")),
    }
}

/// Rejects flags that have no meaning if each item is a separate file.
pub(crate) fn without_block_settings(group: &Group) -> Outcome<()> {
    let io = &group.io;
    let wrong = [
        (io.create, "create"),
        (io.fsync_on_close, "fsync-on-close"),
        (io.stdio, "stdio"),
        (io.read_percent.is_some(), "read-share"),
        (io.engine != Engine::Calls, "engine"),
        (io.atomic, "atomic"),
        (io.uncached, "uncached"),
    ];
    match wrong.iter().find(|(set, _)| *set) {
        Some((_, key)) => {
            Err(Problem::new(format!("`{key}` does not apply to work over `files`"))
                .help("it is for work over `blocks`"))
        }
        None => Ok(()),
    }
}

/// Only files are listed in readdir order.
pub(crate) fn not_by_readdir(group: &Group, what: &str) -> Outcome<()> {
    match group.order {
        Order::Readdir | Order::Follow => Err(Problem::new(format!("{what} cannot be in readdir order"))
            .help("readdir lists files: use `files`, or another `order`")),
        _ => Ok(()),
    }
}

/// Whether a group has only steps that are allowed on a kind of work.
pub(crate) fn only(steps: &[Step], what: &str, allowed: &dyn Fn(&Step) -> bool) -> Outcome<()> {
    for step in steps {
        match step {
            Step::Share(_, inner) => only(inner, what, allowed)?,
            step if allowed(step) => {}
            step => return Err(Problem::new(format!("\"{}\" cannot be done on {what}", step.name()))),
        }
    }
    Ok(())
}

/// Tracks what is open; steps in a share must end in the state in which they began.
fn follow(steps: &[Step], mut open: Open) -> Outcome<Open> {
    for step in steps {
        open = match (step, open) {
            (Step::Share(_, inner), before) => {
                if follow(inner, before)? != before {
                    return Err(Problem::new(
                        "the steps of a share do not always run, so they cannot only open or only close the file",
                    )
                    .help("open and close both within the share, or both outside it"));
                }
                before
            }
            (Step::Open, Open::Nothing) => Open::Reading,
            (Step::Create | Step::OpenTruncate | Step::OpenTmpfile, Open::Nothing) => Open::Writing,
            (Step::OpenReadWrite, Open::Nothing) => Open::Both,
            (Step::Open | Step::Create | Step::OpenTruncate | Step::OpenReadWrite | Step::OpenTmpfile, _) => {
                return Err(Problem::new(format!("\"{}\" while the file is still open", step.name()))
                    .help("put \"close\" before it"));
            }
            (Step::Close, Open::Nothing) => return Err(not_open("close", "open")),
            (Step::Close, _) => Open::Nothing,
            (Step::Read, Open::Nothing | Open::Writing) => return Err(not_open("read", "open")),
            (Step::Write, Open::Nothing | Open::Reading) => return Err(not_open("write", "create")),
            (step, Open::Nothing | Open::Reading) if wants_writing(step) => {
                return Err(not_open(step.name(), "open-read-write"));
            }
            (step, Open::Nothing) if wants_open(step) => return Err(not_open(step.name(), "open")),
            (Step::Fsync | Step::Fdatasync, Open::Nothing) => return Err(not_open(step.name(), "create")),
            (Step::Modify, _) => {
                return Err(Problem::new("\"modify\" changes a block that was read").help("use it over `blocks`"));
            }
            (Step::List | Step::Rmdir, _) => {
                return Err(Problem::new(format!("\"{}\" cannot be done on a file", step.name()))
                    .help("use it over `directories`"));
            }
            (_, open) => open,
        };
    }
    Ok(open)
}

/// Steps on a file that is open for writing.
fn wants_writing(step: &Step) -> bool {
    matches!(step, Step::Fallocate | Step::PunchHole | Step::Truncate(_) | Step::LinkTmpfile)
}

/// Steps on a file that is open, for reading or writing.
fn wants_open(step: &Step) -> bool {
    let attributes = matches!(step, Step::SetXattr(_) | Step::GetXattr | Step::SetAcl | Step::GetAcl);
    attributes || matches!(step, Step::Readahead | Step::DropCached)
}

fn not_open(step: &str, opener: &str) -> Problem {
    Problem::new(format!("\"{step}\" needs a file that is open for it")).help(format!("put \"{opener}\" before it"))
}
