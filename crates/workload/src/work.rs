//! The work of a phase: which workers carry out which steps on what, in which order.
//! In: [`RawWork`] tables and variables. Out: [`Group`]s, each valid in itself.
//! Checks that need the whole workload (do the files exist?) are in [`crate::validate`].

use crate::command::command;
use crate::compile::{Context, Outcome, fileset_index, identifier, limited, optional};
use crate::error::Problem;
use crate::fileset::one_name;
use crate::program::{Engine, Group, Io, Order, Over, Rate, Replay, Reports, Step, SyncCall, SyncMode};
use crate::quantity::{QUANTITY_LIMIT, Scope, Unit, evaluate};
use crate::scope::{choice, truth};
use crate::steps;
use crate::syntax::{RawPhase, RawShare, RawStep, RawTrace, RawTraceStep, RawWork, Scalar};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::Spanned;

/// Most workers of one phase.
pub const WORKERS_LIMIT: u64 = 1024;
/// Most steps of one group, including those inside shares.
pub const STEPS_LIMIT: usize = 64;
/// Most operations in flight for each worker through io_uring.
pub const DEPTH_LIMIT: u64 = 4096;
/// Most bytes of one block or call.
pub const BLOCK_LIMIT: u64 = 64 << 20;
/// Highest rate in operations per second.
pub const RATE_LIMIT: u64 = 100_000_000;

const ORDERS: &[(&str, Order)] = &[
    ("in-order", Order::InOrder),
    ("strided", Order::Strided),
    ("shuffled", Order::Shuffled),
    ("random", Order::Random),
    ("readdir", Order::Readdir),
    ("follow", Order::Follow),
];

pub(crate) fn groups(context: &mut Context<'_>, phase: &RawPhase) -> Outcome<Vec<Group>> {
    let many = phase.work.0.len() > 1;
    if phase.work.0.is_empty() || phase.work.0.len() > WORKERS_LIMIT as usize {
        return Err(Problem::new(format!(
            "phase `{}` has no work, or more groups than {WORKERS_LIMIT}",
            phase.name.get_ref()
        )));
    }
    let groups: Vec<Group> = phase.work.0.iter().map(|work| group(context, work, many)).collect::<Outcome<_>>()?;
    for (index, group) in groups.iter().enumerate() {
        if groups[..index].iter().any(|earlier| earlier.name == group.name) {
            return Err(Problem::new(format!("two groups have the name `{}`", group.name)));
        }
    }
    let known: Vec<&str> = groups.iter().flat_map(reporting).collect();
    for name in phase.figure_group.iter().chain(phase.also.iter().map(|also| &also.group)) {
        if !known.contains(&name.get_ref().as_str()) {
            return Err(Problem::unknown("group", name.get_ref(), &known).at(name.span()));
        }
    }
    let workers: u64 = groups.iter().map(|group| u64::from(group.workers)).sum();
    if workers > WORKERS_LIMIT {
        return Err(Problem::new(format!("{workers} workers in one phase; the limit is {WORKERS_LIMIT}")));
    }
    Ok(groups)
}

/// Names of a group's figures: its own, and those of the parts that its programs report.
fn reporting(group: &Group) -> Vec<&str> {
    let reports = group.steps.iter().filter_map(|step| match step {
        Step::Run(command) => command.reports.as_ref(),
        _ => None,
    });
    let parts = reports.flat_map(|Reports::Fio(names)| names.iter().map(String::as_str));
    std::iter::once(group.name.as_str()).chain(parts).collect()
}

/// Whether a group writes, so that durable time is worth measuring.
pub(crate) fn writes(group: &Group) -> bool {
    fn writing(step: &Step) -> bool {
        match step {
            Step::Share(_, steps) => steps.iter().any(writing),
            Step::Open | Step::Read | Step::Close | Step::Stat | Step::LookUp | Step::List | Step::Modify => false,
            // Opening for both changes nothing.
            Step::OpenReadWrite | Step::GetXattr | Step::GetAcl | Step::Readahead | Step::DropCached => false,
            Step::AwaitSpace(_) => false,
            Step::Volume(tool, _) => tool.writes(),
            _ => true,
        }
    }
    group.io.create || group.steps.iter().any(writing)
}

fn group(context: &mut Context<'_>, work: &RawWork, many: bool) -> Outcome<Group> {
    let over = over(context, work)?;
    let scope = context.scope;
    let name = match &work.name {
        Some(name) => {
            identifier("group", name.get_ref()).map_err(|problem| problem.at(name.span()))?;
            name.get_ref().clone()
        }
        None if many => return Err(Problem::new("each of several groups needs a `name`")),
        None => "all".to_owned(),
    };
    let mut count = 0;
    let command = command(work, scope)?;
    let runs = command.is_some();
    let steps = match (command, &work.trace, &work.volume) {
        (Some(command), ..) => vec![Step::Run(Box::new(command))],
        (None, Some(trace), _) => vec![recorded(trace, work)?],
        _ if work.fill.is_some() || work.await_space.is_some() => vec![space_step(work, scope)?],
        (None, None, Some(tool)) => vec![Step::Volume(*tool.get_ref(), Vec::new())],
        (None, None, None) => work.steps.iter().map(|raw| step(raw, scope, &mut count)).collect::<Outcome<Vec<_>>>()?,
    };
    let group = Group {
        name,
        workers: limited(work.workers.as_ref(), ("workers", Unit::Plain), (1, 1, WORKERS_LIMIT), scope)? as u32,
        // A thread cannot contain a user's program.
        processes: runs || work.trace.is_some() || truth(work.processes.as_ref(), scope)?,
        order: work.order.as_ref().map_or(Ok(Order::InOrder), |field| choice(field, "order", ORDERS, scope))?,
        count: optional(work.count.as_ref(), Unit::Plain, scope)?,
        first: optional(work.first.as_ref(), Unit::Plain, scope)?.unwrap_or(0),
        steps,
        io: io(work, scope)?,
        rate: rate(work, scope)?,
        shifted: work.shifted,
        over,
    };
    let place = work.steps.first().map(Spanned::span);
    steps::check(&group).map_err(|problem| match place {
        Some(place) => problem.at(place),
        None => problem,
    })?;
    Ok(group)
}

fn over(context: &mut Context<'_>, work: &RawWork) -> Outcome<Over> {
    let scope = context.scope;
    let block = match &work.block {
        Some(_) => Some(limited(work.block.as_ref(), ("block", Unit::Bytes), (0, 1, BLOCK_LIMIT), scope)?),
        None => None,
    };
    let length = optional(work.length.as_ref(), Unit::Bytes, scope)?;
    let no_blocks = |over: Over| match work.block.as_ref().or(work.length.as_ref()) {
        Some(field) => Err(Problem::new("`block` and `length` are for `blocks` and `device`").at(field.span())),
        None => Ok(over),
    };
    let lacks_block = || Problem::new("work over blocks has no block size").help("give `block = \"1 MiB\"`");
    match (&work.files, &work.blocks, &work.directories, work.device) {
        (None, None, None, false) if work.aged => no_blocks(Over::Aged),
        (None, None, None, false) if work.command.is_some() || work.shell.is_some() => no_blocks(Over::Command),
        (None, None, None, false) if work.trace.is_some() => no_blocks(Over::Trace),
        (None, None, None, false) if work.volume.is_some() => volume(work).and_then(no_blocks),
        _ if work.volume.is_some() => Err(Problem::new("`volume` excludes other targets of the work")),
        _ if work.trace.is_some() => Err(Problem::new("`trace` excludes other targets of the work")),
        _ if work.aged => Err(Problem::new("`aged` excludes other targets of the work")),
        (Some(name), None, None, false) if work.fill.is_some() => {
            no_blocks(Over::Space { fileset: Some(fileset_index(context, name)?) })
        }
        (None, None, None, false) if work.await_space.is_some() => no_blocks(Over::Space { fileset: None }),
        _ if work.await_space.is_some() || work.fill.is_some() => {
            Err(Problem::new("`fill` needs `files` and no other target; `await-space` has no target"))
        }
        (Some(name), None, None, false) => no_blocks(Over::Files { fileset: fileset_index(context, name)? }),
        (None, None, Some(name), false) => no_blocks(Over::Directories { fileset: fileset_index(context, name)? }),
        (None, Some(name), None, false) => {
            let fileset = fileset_index(context, name)?;
            let whole = crate::validate::end_to_end(&context.filesets[fileset]);
            // A length beyond the end of the files means all of them: `char-limit` may exceed a small `size`.
            let length = length.filter(|length| *length < whole);
            Ok(Over::Blocks { fileset, block: block.ok_or_else(lacks_block)?, length })
        }
        (None, None, None, true) => Ok(Over::Device {
            block: block.ok_or_else(lacks_block)?,
            length: length.filter(|length| *length > 0).unwrap_or(QUANTITY_LIMIT),
        }),
        _ => Err(Problem::new(
            "work must be over one of `files`, `blocks`, `directories`, `device`, `aged` and `volume`, or a `command`",
        )
        .help("for example `files = \"name of a fileset\"`")),
    }
}

/// The only step of work on free space.
fn space_step(work: &RawWork, scope: &Scope) -> Outcome<Step> {
    if let Some(step) = work.steps.first() {
        return Err(Problem::new("work on free space has no `steps`: it fills or waits")
            .help("leave out `steps`")
            .at(step.span()));
    }
    match (&work.fill, &work.await_space) {
        (Some(field), None) => percent(field.get_ref(), "filling to", scope).map(Step::Fill),
        (None, Some(field)) => percent(field.get_ref(), "waiting for", scope).map(Step::AwaitSpace),
        _ => Err(Problem::new("`fill` and `await-space` exclude each other")),
    }
}

/// The filesystem as a whole, with a tool as the only step.
fn volume(work: &RawWork) -> Outcome<Over> {
    match work.steps.first() {
        None => Ok(Over::Volume),
        Some(step) => {
            Err(Problem::new("a tool of the filesystem has no steps").help("leave out `steps`").at(step.span()))
        }
    }
}

/// The step of a recorded run.
fn recorded(trace: &Spanned<RawTrace>, work: &RawWork) -> Outcome<Step> {
    if let Some(step) = work.steps.first() {
        return Err(Problem::new("a replay has only the steps of its trace").help("leave out `steps`").at(step.span()));
    }
    let RawTrace { file, step, think, checksum } = trace.get_ref().clone();
    let whole = std::path::absolute(&file).map_err(|_| Problem::new("a trace has no file name").at(trace.span()))?;
    let replay = Box::new(Replay { trace: whole, checksum, think });
    Ok(match step {
        RawTraceStep::LayOut => Step::LayOut(replay),
        RawTraceStep::Replay => Step::Replay(replay),
    })
}

fn step(raw: &Spanned<RawStep>, scope: &Scope, count: &mut usize) -> Outcome<Step> {
    convert(raw.get_ref(), scope, count, 0).map_err(|problem| problem.at(raw.span()))
}

fn convert(raw: &RawStep, scope: &Scope, count: &mut usize, depth: usize) -> Outcome<Step> {
    *count += 1;
    if *count > STEPS_LIMIT || depth > 4 {
        return Err(Problem::new(format!("more than {STEPS_LIMIT} steps, or shares more than 4 deep")));
    }
    Ok(match raw {
        RawStep::Truncate(share) => Step::Truncate(percent(share, "cutting a file to", scope)?),
        RawStep::SetXattr(bytes) => Step::SetXattr(attribute_bytes(bytes, scope)?),
        RawStep::Reflink(directory) => {
            one_name(directory)?;
            Step::Reflink(directory.clone())
        }
        RawStep::CopyRange(directory) => {
            one_name(directory)?;
            Step::CopyRange(directory.clone())
        }
        RawStep::Rename(directory) => {
            one_name(directory)?;
            Step::Rename(directory.clone())
        }
        RawStep::Link(suffix) => {
            one_name(&format!("x{suffix}"))?;
            if suffix.is_empty() {
                return Err(Problem::new("a link needs a suffix, to differ from the name of its file"));
            }
            Step::Link(suffix.clone())
        }
        RawStep::Share(share) => share_of(share, scope, count, depth)?,
        // A bare word has the same form in a program.
        word => Step::deserialize(<&str>::from(word).into_deserializer())
            .map_err(|error: serde::de::value::Error| Problem::new(error.to_string()))?,
    })
}

fn percent(share: &Scalar, doing: &str, scope: &Scope) -> Outcome<u8> {
    match evaluate(&share.0, Unit::Percent, scope)? {
        percent @ 0..=100 => Ok(percent as u8),
        percent => Err(Problem::new(format!("{doing} {percent} % is more than 100 %"))),
    }
}

/// Bytes of an attribute's value, up to the kernel's limit (XATTR_SIZE_MAX).
fn attribute_bytes(bytes: &Scalar, scope: &Scope) -> Outcome<u32> {
    const MOST: u64 = 64 << 10;
    match evaluate(&bytes.0, Unit::Bytes, scope)? {
        bytes @ 1..=MOST => Ok(bytes as u32),
        bytes => Err(Problem::new(format!("an attribute of {bytes} bytes")).help("the range is 1 B to 64 KiB")),
    }
}

fn share_of(share: &RawShare, scope: &Scope, count: &mut usize, depth: usize) -> Outcome<Step> {
    let percent = percent(&share.percent, "a share of", scope)?;
    let steps = share.steps.iter().map(|raw| convert(raw, scope, count, depth + 1)).collect::<Outcome<Vec<_>>>()?;
    if steps.is_empty() {
        return Err(Problem::new("a share without steps"));
    }
    Ok(Step::Share(percent, steps))
}

fn io(work: &RawWork, scope: &Scope) -> Outcome<Io> {
    const SYNC: &[(&str, SyncMode)] = &[("none", SyncMode::None), ("sync", SyncMode::Sync), ("dsync", SyncMode::Dsync)];
    let sync = work.sync.as_ref().map_or(Ok(SyncMode::None), |field| choice(field, "sync mode", SYNC, scope))?;
    Ok(Io {
        direct: truth(work.direct.as_ref(), scope)?,
        sync,
        engine: engine(work, scope)?,
        create: work.create,
        fsync_on_close: truth(work.fsync_on_close.as_ref(), scope)?,
        sync_every: sync_every(work, scope)?,
        stdio: truth(work.stdio.as_ref(), scope)?,
        read_percent: match &work.read_share {
            Some(_) => {
                Some(limited(work.read_share.as_ref(), ("read-share", Unit::Percent), (0, 0, 100), scope)? as u8)
            }
            None => None,
        },
        call_bytes: limited(work.call.as_ref(), ("call", Unit::Bytes), (0, 1, BLOCK_LIMIT), scope)?,
        atomic: truth(work.atomic.as_ref(), scope)?,
        uncached: truth(work.uncached.as_ref(), scope)?,
    })
}

fn engine(work: &RawWork, scope: &Scope) -> Outcome<Engine> {
    let known = [("calls", 0), ("io-uring", 1), ("mmap", 2)];
    let engine = work.engine.as_ref().map_or(Ok(0), |field| choice(field, "engine", &known, scope))?;
    let depth = limited(work.depth.as_ref(), ("depth", Unit::Plain), (1, 1, DEPTH_LIMIT), scope)? as u32;
    match (engine, &work.depth) {
        (1, _) => Ok(Engine::IoUring(depth)),
        (_, Some(field)) if depth > 1 => {
            Err(Problem::new("`depth` needs `engine = \"io-uring\"`: the other engines wait for each operation")
                .at(field.span()))
        }
        (0, _) => Ok(Engine::Calls),
        _ => Ok(Engine::Mmap),
    }
}

fn sync_every(work: &RawWork, scope: &Scope) -> Outcome<Option<(SyncCall, u64)>> {
    const CALLS: &[(&str, SyncCall)] =
        &[("fsync", SyncCall::Fsync), ("fdatasync", SyncCall::Fdatasync), ("syncfs", SyncCall::Syncfs)];
    let call = work.sync_call.as_ref().map_or(Ok(SyncCall::Fsync), |field| choice(field, "sync call", CALLS, scope))?;
    match (&work.sync_every, &work.sync_call) {
        (Some(field), _) => {
            let every = limited(Some(field), ("sync-every", Unit::Plain), (1, 1, QUANTITY_LIMIT), scope)?;
            Ok(Some((call, every)))
        }
        (None, Some(field)) => Err(Problem::new("`sync-call` without `sync-every`").at(field.span())),
        (None, None) => Ok(None),
    }
}

fn rate(work: &RawWork, scope: &Scope) -> Outcome<Option<Rate>> {
    let poisson = work
        .arrivals
        .as_ref()
        .map_or(Ok(false), |field| choice(field, "kind of arrivals", &[("even", false), ("poisson", true)], scope))?;
    match (&work.rate, &work.arrivals) {
        (Some(field), _) => {
            let per_second = limited(Some(field), ("rate", Unit::Plain), (1, 1, RATE_LIMIT), scope)?;
            Ok(Some(Rate { per_second: per_second as f64, poisson }))
        }
        (None, Some(field)) => Err(Problem::new("`arrivals` without `rate`").at(field.span())),
        (None, None) => Ok(None),
    }
}
