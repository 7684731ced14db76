//! A program: what the engine is asked to do, flat and checked, with nothing left to look up.
//! In: made by `workload` from a workload file. Out: read by the engine, over the agent seam.
//! Everything the engine does follows from these values and the seed; two equal programs do equal work.

mod client;
mod command;
mod fileset;
mod needs;
mod replay;
mod step;

pub use client::Client;
pub use command::{
    ALL_INSTRUCTIONS, COUNTS_VARIABLE, Command, DEVICE_WRITTEN, INSTRUCTIONS, OwnFigure, PEAK_MEMORY, Reports,
    USABLE_SHARE,
};
pub use fileset::{Content, Fileset, Layout, Names, Pattern, Size};
pub use needs::{Need, VolumeTool};
pub use replay::Replay;
pub use step::{Step, any, has};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use strum::IntoStaticStr;

/// One workload, ready to be performed in one directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name of the workload that this was compiled from.
    pub workload: String,
    /// Seed of every choice that the engine makes (names, sizes, orders, content).
    pub seed: u64,
    /// Directory in which to work; it exists, and nothing outside it is touched.
    pub root: PathBuf,
    /// Its inode, where others than root could put another folder in its place; the work is done in no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_inode: Option<Inode>,
    /// Block device that phases over [`Over::Device`] read. Never written.
    pub device: Option<PathBuf>,
    /// What makes written data safe after a phase.
    pub durable: Durable,
    /// Commands of the filesystem's own tools for work over [`Over::Volume`], `{snapshot}` still standing in them; those that it has not are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<VolumeTool, Vec<Vec<String>>>,
    /// Filesets that phases refer to by index.
    pub filesets: Vec<Fileset>,
    /// Phases, performed one at a time when asked for.
    pub phases: Vec<Phase>,
    /// A phase fails when more operations than this have failed.
    pub error_limit: u64,
    /// A phase that has no limit of its own fails when it takes longer than this, in seconds.
    pub time_limit: u64,
    /// Which of several clients this is, where several carry it out side by side; groups have the workers of all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
}

/// What a folder is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inode {
    /// Number of the device that its filesystem shows.
    pub device: u64,
    /// Number of the inode there.
    pub number: u64,
}

/// How data is made safe: done in this order after the last call of a phase has returned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Durable {
    /// Call syncfs(2) on the root.
    pub syncfs: bool,
    /// Then run this command (for filesystems on which syncfs does nothing), empty for none.
    pub command: Vec<String>,
    /// Then fsync(2) these files: the block device, so that its cache is flushed.
    pub flush: Vec<PathBuf>,
}

/// One timed step of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Unique within the workload: the operation, and the cache state where two phases share an operation.
    pub name: String,
    /// The operation that is measured, by the name that claims and published figures use.
    pub operation: String,
    /// Cache state that the runner must bring about before the first pass.
    pub cache: Cache,
    /// What of this phase is shown first.
    pub figure: Figure,
    /// Whether the phase writes, so that durable time is measured.
    pub writes: bool,
    /// How often the phase is performed in a row.
    pub passes: u32,
    /// Pause before each pass but the first, in nanoseconds.
    pub pause_ns: u64,
    /// When the phase ends.
    pub end: End,
    /// Parties that work side by side; most phases have one.
    pub groups: Vec<Group>,
    /// Laid out for later phases, not shown as a result.
    pub preparation: bool,
    /// What must be done after the phase, outside its clock.
    pub after: After,
    /// A pass that takes longer than this fails, in seconds; 0: the program's limit.
    pub time_limit: u64,
    /// What the filesystem must be able to do, or the phase is left out: beside what its steps need, that of phases on whose files it works.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
}

impl Program {
    /// Seconds that a pass of a phase may take.
    pub fn limit_of(&self, phase: usize) -> u64 {
        self.phases.get(phase).map(|phase| phase.time_limit).filter(|limit| *limit > 0).unwrap_or(self.time_limit)
    }
}

/// Cache state before a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Cache {
    /// Everything written back and all caches dropped, with proof.
    Cold,
    /// The phase's files were read once beforehand.
    Warm,
    /// Whatever the phases before left.
    AsFound,
}

impl Cache {
    /// Name in results.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What the runner does after a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Sync the filesystem.
    pub sync: bool,
    /// Drop the page cache, dentries and inodes.
    pub drop_caches: bool,
}

impl Phase {
    /// Whether it does what only a program, or a trace of one, knows.
    pub fn is_opaque(&self) -> bool {
        self.groups.iter().any(|group| group.over.is_opaque())
    }

    /// The number of the device that this tool is used on in it; None where it is not used.
    pub fn device_of(&self, tool: VolumeTool) -> Option<u64> {
        let uses = |step: &Step| matches!(step, Step::Volume(used, _) if *used == tool);
        self.groups.iter().find(|group| group.steps.iter().any(uses)).map(|group| group.first)
    }

    /// Whether it can be cut into slices between which others have their turn: one group works on one item after the other, as fast as it can.
    pub fn can_be_cut(&self) -> bool {
        let [group] = self.groups.as_slice() else { return false };
        let has_items = matches!(group.over, Over::Files { .. } | Over::Blocks { .. } | Over::Device { .. });
        let is_once = self.end == End::Work && self.passes <= 1 && !self.is_unmounted();
        has_items && is_once && group.rate.is_none() && group.order != Order::Follow && !group.io.stdio
    }

    /// Whether the filesystem must not be mounted meanwhile.
    pub fn is_unmounted(&self) -> bool {
        let offline = |step: &Step| matches!(step, Step::Volume(VolumeTool::Check, _));
        self.groups.iter().any(|group| group.steps.iter().any(offline))
    }
}

/// The figure of a phase that tables show first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Bytes a second; higher is better.
    #[default]
    BytesPerSecond,
    /// Items (files, entries or blocks) a second; higher is better.
    ItemsPerSecond,
    /// Elapsed seconds; lower is better.
    Seconds,
    /// What the phase's program prints of itself, in its own unit.
    Printed,
}

impl Figure {
    /// The unit of its values in files; empty where a program has its own.
    pub fn base_unit(self) -> &'static str {
        match self {
            Figure::BytesPerSecond => "B/s",
            Figure::ItemsPerSecond => "/s",
            Figure::Seconds => "s",
            Figure::Printed => "",
        }
    }
}

/// When a phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum End {
    /// When the work is done.
    Work,
    /// After a time; the work is begun again as often as needed. What happens in the ramp is not counted, nor is what
    /// returns after the end; its latencies are kept.
    Time {
        /// Nanoseconds that count.
        measure_ns: u64,
        /// Nanoseconds before them that do not.
        ramp_ns: u64,
    },
}

/// Workers that do the same thing within a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name shown beside its figures.
    pub name: String,
    /// Number of workers.
    pub workers: u32,
    /// Workers are processes (true) or threads with descriptor tables of their own (false).
    pub processes: bool,
    /// What the steps are carried out on.
    pub over: Over,
    /// Order in which items are taken.
    pub order: Order,
    /// Items in all of the group's workers together (for a fileset per worker: each); None: every item once.
    pub count: Option<u64>,
    /// First item of a range, for phases that touch only some.
    pub first: u64,
    /// Steps on each item, in order.
    pub steps: Vec<Step>,
    /// How blocks are read and written.
    pub io: Io,
    /// Operations to start a second, over the whole group; None: as fast as possible.
    pub rate: Option<Rate>,
    /// Each worker takes the share of another: of the next worker, or of the same worker of another client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shifted: bool,
}

/// What the steps of a group are carried out on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Over {
    /// The files of a fileset: one item a file.
    Files {
        /// Index into [`Program::filesets`].
        fileset: usize,
    },
    /// The blocks of a fileset's files, end to end: one item a block. Files are opened once a worker.
    Blocks {
        /// Index into [`Program::filesets`].
        fileset: usize,
        /// Bytes of a block.
        block: u64,
        /// Only the first so many bytes; None: all.
        length: Option<u64>,
    },
    /// The directories of a fileset: one item a directory, its own first, then those between, then those that hold files;
    /// rmdir takes them the other way round.
    Directories {
        /// Index into [`Program::filesets`].
        fileset: usize,
    },
    /// The files that ageing left in `../aged`, read only: directory after directory as readdir lists them.
    Aged,
    /// Blocks of the raw device, read only.
    Device {
        /// Bytes of a block.
        block: u64,
        /// Only the first so many bytes.
        length: u64,
    },
    /// Programs of the user's own, run in the root; its one step says which: one item a run.
    Command,
    /// The filesystem's free space; its one step fills it with the files of a fileset, or waits until some is free.
    Space {
        /// Index into [`Program::filesets`] of what it is filled with.
        fileset: Option<usize>,
    },
    /// The filesystem as a whole, by its own tools; its one step says what is done: one item each, a snapshot or a check.
    Volume,
    /// A recorded run of a program; its one step says whether its files are laid out or its calls are made: one item a call.
    Trace,
}

/// What others than the engine and the language need to know of a kind of work.
impl Over {
    /// Index of the fileset that it is about.
    pub fn fileset(&self) -> Option<usize> {
        match *self {
            Over::Files { fileset } | Over::Blocks { fileset, .. } | Over::Directories { fileset } => Some(fileset),
            Over::Space { fileset } => fileset,
            Over::Aged | Over::Device { .. } | Over::Command | Over::Trace | Over::Volume => None,
        }
    }

    /// Index of the fileset whose content it may write or read.
    pub fn content(&self) -> Option<usize> {
        if matches!(self, Over::Directories { .. }) { None } else { self.fileset() }
    }

    /// Its items are blocks of what is there, so that it can be done again and again.
    pub fn is_of_blocks(&self) -> bool {
        matches!(self, Over::Blocks { .. } | Over::Device { .. })
    }

    /// Bytes of the raw device that it reads; None where it does not touch the device.
    pub fn device_bytes(&self) -> Option<u64> {
        match *self {
            Over::Device { length, .. } => Some(length),
            _ => None,
        }
    }

    /// It needs a filesystem that was aged.
    pub fn needs_ageing(&self) -> bool {
        *self == Over::Aged
    }

    /// What it does, how much of it and where in the root, only the program that it runs knows, or the trace of one.
    pub fn is_opaque(&self) -> bool {
        matches!(self, Over::Command | Over::Trace)
    }
}

/// Order in which a group takes its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By index; of several workers each has a range.
    InOrder,
    /// By index; of several workers each takes every so many-th, as records of one file that all write side by side.
    Strided,
    /// Every item once, by a permutation that needs no memory.
    Shuffled,
    /// Drawn with replacement.
    Random,
    /// Files as readdir lists them, directory after directory (opendir, readdir, the steps, closedir).
    Readdir,
    /// As readdir lists them in the fileset's own directory, again and again until the groups that do not follow are done
    /// and nothing is left. The steps must take each file out of that directory (rename or unlink it). A file that is gone
    /// before its first step is no error. Of several followers each takes the names that hash to it.
    Follow,
}

/// How blocks are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC, O_DSYNC or neither.
    pub sync: SyncMode,
    /// System calls, io_uring or mmap.
    pub engine: Engine,
    /// Files are created and truncated when opened. Directories that are missing are made before the clock starts, as they
    /// are for steps that create files where no mkdir is among them.
    pub create: bool,
    /// fsync on close, within the phase (Bonnie++ 2.00).
    pub fsync_on_close: bool,
    /// Sync after every so many operations of a worker.
    pub sync_every: Option<(SyncCall, u64)>,
    /// Calls through the C library's buffered streams (putc, getc), for one-byte blocks.
    pub stdio: bool,
    /// Share of reads in percent where steps hold both read and write as alternatives (a mix); None: all steps in turn.
    pub read_percent: Option<u8>,
    /// Bytes of one read or write call over files; 0: 128 KiB at most.
    pub call_bytes: u64,
    /// Each block is written whole or not at all, also by a power cut (RWF_ATOMIC).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
    /// Through the page cache, of which nothing is kept (RWF_DONTCACHE).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncached: bool,
}

/// Synchronous writing by open flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMode {
    /// Neither flag.
    #[default]
    None,
    /// O_SYNC.
    Sync,
    /// O_DSYNC.
    Dsync,
}

/// The call that makes data safe between operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncCall {
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
    /// syncfs(2).
    Syncfs,
}

/// Interface to the kernel for block work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// pread, pwrite.
    #[default]
    Calls,
    /// io_uring with this many operations under way for each worker.
    IoUring(u32),
    /// Loads and stores through a mapping; msync where fsync is asked for.
    Mmap,
}

/// An open loop: operations start when they are due, not when the one before is done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Operations a second over all workers of the group.
    pub per_second: f64,
    /// Poisson arrivals (true) or even ones.
    pub poisson: bool,
}
