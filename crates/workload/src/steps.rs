//! Whether the steps of one group make sense: on what they are carried out, and which file is open when.
//! In: a [`Group`]. Out: nothing, or what is wrong with it, in one sentence.
//! A program that passes never closes what is not open, nor leaves a descriptor behind.

use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Engine, Group, Order, Over, Step};

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
        return Err(Problem::new("`count` is 0, so there is nothing to do"));
    }
    match group.over {
        Over::Files { .. } => {
            files_only(group)?;
            let open = follow(&group.steps, Open::Nothing)?;
            if open != Open::Nothing {
                return Err(Problem::new("the file is still open after the last step").help("end with \"close\""));
            }
            Ok(())
        }
        Over::Blocks { block, .. } => blocks(group, block),
        Over::Directories { .. } => {
            not_by_readdir(group, "directories")?;
            only(&group.steps, "directories", &|step| {
                let looks = matches!(step, Step::List | Step::Stat | Step::LookUp | Step::FsyncDirectory);
                looks || matches!(step, Step::Mkdir | Step::Rmdir | Step::Chmod | Step::Chown)
            })
        }
        Over::Aged => {
            files_only(group)?;
            only(&group.steps, "aged files, which are only read", &|step| {
                matches!(step, Step::Open | Step::Read | Step::Close | Step::Stat)
            })?;
            if group.order != Order::Readdir || group.workers != 1 || group.first > 0 {
                return Err(Problem::new("aged files are taken by one worker, from the first, as readdir lists them")
                    .help("write `order = \"readdir\"`"));
            }
            match follow(&group.steps, Open::Nothing)? {
                Open::Nothing => Ok(()),
                _ => Err(Problem::new("the file is still open after the last step").help("end with \"close\"")),
            }
        }
        Over::Device { block, .. } => {
            not_by_readdir(group, "the raw device")?;
            only(&group.steps, "the raw device, which is never written", &|step| matches!(step, Step::Read))?;
            if !block.is_multiple_of(512) {
                return Err(Problem::new(format!("blocks of {block} bytes on a device"))
                    .help("use a multiple of 512 bytes, better of 4 KiB"));
            }
            Ok(())
        }
    }
}

/// Flags that have no meaning where each item is a file of its own.
fn files_only(group: &Group) -> Outcome<()> {
    let io = &group.io;
    let wrong = [
        (io.create, "create"),
        (io.fsync_on_close, "fsync-on-close"),
        (io.stdio, "stdio"),
        (io.read_percent.is_some(), "read-share"),
        (io.engine != Engine::Calls, "engine"),
    ];
    match wrong.iter().find(|(set, _)| *set) {
        Some((_, key)) => {
            Err(Problem::new(format!("`{key}` has no meaning over files")).help("it is for work over `blocks`"))
        }
        None => Ok(()),
    }
}

fn not_by_readdir(group: &Group, what: &str) -> Outcome<()> {
    match group.order {
        Order::Readdir | Order::Follow => Err(Problem::new(format!("{what} cannot be taken in readdir order"))
            .help("readdir lists files: use `files`, or another `order`")),
        _ => Ok(()),
    }
}

fn blocks(group: &Group, block: u64) -> Outcome<()> {
    not_by_readdir(group, "blocks")?;
    only(&group.steps, "blocks, whose files are opened once for each worker", &|step| {
        matches!(step, Step::Read | Step::Write | Step::Modify | Step::Fsync | Step::Fdatasync)
    })?;
    let io = &group.io;
    if io.direct && !block.is_multiple_of(512) {
        return Err(
            Problem::new(format!("direct work in blocks of {block} bytes")).help("O_DIRECT needs a multiple of 512")
        );
    }
    let single = matches!(group.steps.as_slice(), [Step::Read] | [Step::Write]);
    if io.stdio && (!single || group.order != Order::InOrder || group.rate.is_some()) {
        return Err(Problem::new("`stdio` puts or gets bytes in order and does nothing else")
            .help("use one step, \"read\" or \"write\""));
    }
    if matches!(io.engine, Engine::IoUring(_)) && group.steps.len() != 1 && io.read_percent.is_none() {
        return Err(Problem::new("through io_uring a block is either read or written")
            .help("use one step, or both with `read-share`"));
    }
    if io.stdio && (block != 1 || io.engine != Engine::Calls || io.direct) {
        return Err(Problem::new("`stdio` is for blocks of one byte through the page cache").help("set `block = 1`"));
    }
    if io.engine == Engine::Mmap && io.direct {
        return Err(Problem::new("a mapping cannot be direct"));
    }
    let (reads, writes) = (any(&group.steps, &Step::Read), any(&group.steps, &Step::Write));
    if io.read_percent.is_some() && !(reads && writes) {
        return Err(Problem::new("`read-share` needs both \"read\" and \"write\" among the steps"));
    }
    if io.create && group.order == Order::Random {
        return Err(Problem::new("blocks drawn with replacement do not make a whole file")
            .help("create in order or shuffled, or leave out `create`"));
    }
    Ok(())
}

pub(crate) fn any(steps: &[Step], wanted: &Step) -> bool {
    steps.iter().any(|step| match step {
        Step::Share(_, inner) => any(inner, wanted),
        step => step == wanted,
    })
}

fn only(steps: &[Step], what: &str, allowed: &dyn Fn(&Step) -> bool) -> Outcome<()> {
    for step in steps {
        match step {
            Step::Share(_, inner) => only(inner, what, allowed)?,
            step if allowed(step) => {}
            step => return Err(Problem::new(format!("\"{}\" cannot be done on {what}", step.name()))),
        }
    }
    Ok(())
}

/// Follows what is open; steps in a share must leave things as they found them.
fn follow(steps: &[Step], mut open: Open) -> Outcome<Open> {
    for step in steps {
        open = match (step, open) {
            (Step::Share(_, inner), before) => {
                if follow(inner, before)? != before {
                    return Err(Problem::new("a share opens or closes the file only sometimes")
                        .help("open and close within the share, or outside it"));
                }
                before
            }
            (Step::Open, Open::Nothing) => Open::Reading,
            (Step::Create | Step::OpenTruncate, Open::Nothing) => Open::Writing,
            (Step::OpenReadWrite, Open::Nothing) => Open::Both,
            (Step::Open | Step::Create | Step::OpenTruncate | Step::OpenReadWrite, _) => {
                return Err(Problem::new(format!("\"{}\" while the file is still open", step.name()))
                    .help("put \"close\" before it"));
            }
            (Step::Close, Open::Nothing) => return Err(not_open("close", "open")),
            (Step::Close, _) => Open::Nothing,
            (Step::Read, Open::Nothing | Open::Writing) => return Err(not_open("read", "open")),
            (Step::Write, Open::Nothing | Open::Reading) => return Err(not_open("write", "create")),
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

fn not_open(step: &str, opener: &str) -> Problem {
    Problem::new(format!("\"{step}\" on a file that is not open for it")).help(format!("put \"{opener}\" before it"))
}
