//! Work on the blocks of files, laid end to end: one item a block.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::fileset;
use crate::program::{Engine, Fileset, Group, Order, Step, any, has};
use crate::simulate::{Work, World, beyond, times};
use crate::steps::{not_by_readdir, only};
use crate::validate::end_to_end;

/// The blocks of a fileset's files, of all or of the first `length` bytes.
pub(crate) struct Blocks {
    pub fileset: usize,
    pub block: u64,
    pub length: Option<u64>,
}

impl Kind for Blocks {
    fn check(&self, group: &Group) -> Outcome<()> {
        sound(group, self.block)
    }

    fn simulate(&self, world: &mut World, group: &Group) -> Outcome<Work> {
        world.over_blocks(group, self)
    }
}

fn sound(group: &Group, block: u64) -> Outcome<()> {
    not_by_readdir(group, "blocks")?;
    only(&group.steps, "blocks, whose files each worker opens once", &|step| {
        let places = matches!(step, Step::Fallocate | Step::PunchHole);
        places || matches!(step, Step::Read | Step::Write | Step::Modify | Step::Fsync | Step::Fdatasync)
    })?;
    let io = &group.io;
    called(group, block)?;
    if io.direct && !block.is_multiple_of(512) {
        return Err(
            Problem::new(format!("direct I/O in blocks of {block} bytes")).help("O_DIRECT needs a multiple of 512")
        );
    }
    let single = matches!(group.steps.as_slice(), [Step::Read] | [Step::Write]);
    if io.stdio && (!single || group.order != Order::InOrder || group.rate.is_some()) {
        return Err(
            Problem::new("`stdio` only reads or writes bytes in order").help("use one step, \"read\" or \"write\"")
        );
    }
    if matches!(io.engine, Engine::IoUring(_)) && group.steps.len() != 1 && io.read_percent.is_none() {
        return Err(
            Problem::new("io_uring either reads or writes a block").help("use one step, or both with `read-share`")
        );
    }
    if io.stdio && (block != 1 || io.engine != Engine::Calls || io.direct) {
        return Err(Problem::new("`stdio` is for blocks of one byte through the page cache").help("set `block = 1`"));
    }
    if io.engine == Engine::Mmap && io.direct {
        return Err(Problem::new("a mapping excludes `direct`"));
    }
    let (reads, writes) = (has(&group.steps, &Step::Read), has(&group.steps, &Step::Write));
    if io.read_percent.is_some() && !(reads && writes) {
        return Err(Problem::new("`read-share` needs both \"read\" and \"write\" among the steps"));
    }
    if io.create && group.order == Order::Random {
        return Err(Problem::new("blocks drawn with replacement do not create a whole file")
            .help("create in order or shuffled, or leave out `create`"));
    }
    Ok(())
}

/// Conditions for settings and steps that are separate system calls.
fn called(group: &Group, block: u64) -> Outcome<()> {
    let io = &group.io;
    let places = any(&group.steps, &|step| matches!(step, Step::Fallocate | Step::PunchHole));
    if places && (io.engine != Engine::Calls || io.stdio) {
        return Err(
            Problem::new("\"fallocate\" and \"punch-hole\" are separate system calls").help("leave out `engine`")
        );
    }
    if io.atomic && !(io.direct && block.is_power_of_two() && has(&group.steps, &Step::Write)) {
        return Err(Problem::new("`atomic` is for direct writes whose block is a power of two")
            .help("write `direct = true`, and `block = \"16 KiB\"`, for example"));
    }
    if io.uncached && io.direct {
        return Err(Problem::new("`uncached` goes through the page cache, and `direct` past it").help("leave out one"));
    }
    if (io.atomic || io.uncached) && (io.stdio || io.engine == Engine::Mmap) {
        return Err(Problem::new("`atomic` and `uncached` are properties of a read or write call"));
    }
    Ok(())
}

impl World<'_> {
    fn over_blocks(&mut self, group: &Group, kind: &Blocks) -> Outcome<Work> {
        let Blocks { fileset: index, block, length } = *kind;
        let fileset = &self.filesets[index];
        blocks_fit(fileset, group, block)?;
        let owners = self.owners(group, index);
        let whole = end_to_end(fileset);
        let length = length.map_or(whole, |length| length.min(whole));
        let blocks = length.div_ceil(block);
        let items = match group.order {
            Order::Random if group.first < blocks => group.count.unwrap_or(blocks),
            Order::InOrder | Order::Strided | Order::Shuffled
                if group.first.saturating_add(group.count.unwrap_or(1)) <= blocks =>
            {
                group.count.unwrap_or(blocks - group.first)
            }
            _ => return Err(beyond(group, blocks, "blocks", &fileset.name)),
        };
        let state = &mut self.states[index];
        if group.io.create {
            state.directories = true;
            state.bytes = Some((group.first + items).saturating_mul(block).min(length));
            state.files = fileset.files;
        } else {
            let present = if state.files < fileset.files { 0 } else { state.bytes.unwrap_or(whole) };
            if present < length {
                return Err(Problem::new(format!(
                    "it needs {length} bytes of fileset `{}`, but at that point only {present} exist",
                    fileset.name
                ))
                .help(
                    "write them in an earlier phase, with `create = true` over `blocks` or \"create\" over `files`",
                ));
            }
        }
        let bytes = |share: f64| (items as f64 * block as f64 * share).min((items.saturating_mul(block)) as f64);
        let (read, write) = match group.io.read_percent {
            Some(percent) => (f64::from(percent) / 100.0, 1.0 - f64::from(percent) / 100.0),
            None => (times(&group.steps, &Step::Read), times(&group.steps, &Step::Write)),
        };
        Ok(Work {
            items: items.saturating_mul(owners),
            bytes_written: (bytes(write) as u64).saturating_mul(owners),
            bytes_read: (bytes(read) as u64).saturating_mul(owners),
        })
    }
}

/// Blocks must not span two files, and direct ones must not end within a sector.
fn blocks_fit(fileset: &Fileset, group: &Group, block: u64) -> Outcome<()> {
    let (smallest, largest) = (fileset::smallest_bytes(fileset), fileset::largest_bytes(fileset));
    let whole = end_to_end(fileset);
    if smallest != largest || (fileset.files > 1 && !largest.is_multiple_of(block)) {
        return Err(Problem::new(format!(
            "blocks of {block} bytes do not divide the files of fileset `{}` evenly",
            fileset.name
        ))
        .help("use files of one size that is a multiple of the block, or work over `files`"));
    }
    if group.io.direct && !(whole.is_multiple_of(512) && largest.is_multiple_of(512)) {
        return Err(Problem::new(format!(
            "direct work on fileset `{}`, whose size is no multiple of 512",
            fileset.name
        )));
    }
    Ok(())
}
