//! A program: the engine's instructions, flat and checked, with nothing left to look up.
//! In: made by `workload` from a workload file. Out: read by the engine, through the agent interface.
//! The engine's work depends only on these values and the seed; equal programs do equal work.

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
pub use fileset::{
    Class, Content, Directories, Fileset, LEVELS_LIMIT, Layout, Names, Pattern, Size, files_of_levels, level_counts,
    tree_problem, values_in_classes,
};
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
    /// Seed of all the engine's choices (names, sizes, orders, content).
    pub seed: u64,
    /// Working directory; it exists, and nothing outside it is touched.
    pub root: PathBuf,
    /// Its inode, if other users could replace the folder; the engine works in no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_inode: Option<Inode>,
    /// Block device that phases over [`Over::Device`] read. Never written.
    pub device: Option<PathBuf>,
    /// What makes written data safe after a phase.
    pub durable: Durable,
    /// Commands of the filesystem's own tools for work over [`Over::Volume`], with `{snapshot}` not yet replaced; tools that it lacks are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<VolumeTool, Vec<Vec<String>>>,
    /// Filesets that phases refer to by index.
    pub filesets: Vec<Fileset>,
    /// Phases, performed one at a time on request.
    pub phases: Vec<Phase>,
    /// A phase fails if more operations than this have failed.
    pub error_limit: u64,
    /// Time limit in seconds of a pass of a phase without its own limit.
    pub time_limit: u64,
    /// Which of several clients this is, if several run it in parallel; groups count the workers of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
}

/// Identity of a folder, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inode {
    /// Device number of its filesystem.
    pub device: u64,
    /// Inode number on it.
    pub number: u64,
}

/// How data is made durable: in this order after the last call of a phase has returned.
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
    /// The measured operation, as claims and published figures name it.
    pub operation: String,
    /// Cache state that the runner prepares before the first pass.
    pub cache: Cache,
    /// The figure of this phase that is shown first.
    pub figure: Figure,
    /// Whether the phase writes, so that durable time is measured.
    pub writes: bool,
    /// How often the phase is performed in a row.
    pub passes: u32,
    /// Pause before each pass but the first, in nanoseconds.
    pub pause_ns: u64,
    /// When the phase ends.
    pub end: End,
    /// Groups that work in parallel; most phases have one.
    pub groups: Vec<Group>,
    /// Prepares later phases, not shown as a result.
    pub preparation: bool,
    /// What to do after the phase, outside its clock.
    pub after: After,
    /// Time limit of a pass, in seconds; 0: the program's limit.
    pub time_limit: u64,
    /// Features that the filesystem needs for this phase, else it is left out: besides those of its steps, those of phases whose files it uses.
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
    /// Everything is written back and all caches are dropped, with proof.
    Cold,
    /// The phase's files were read once beforehand.
    Warm,
    /// Whatever earlier phases left.
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
    /// Whether its work is known only to a program, or a trace of one.
    pub fn is_opaque(&self) -> bool {
        self.groups.iter().any(|group| group.over.is_opaque())
    }

    /// The number of the device that it uses this tool on; None if it does not use it.
    pub fn device_of(&self, tool: VolumeTool) -> Option<u64> {
        let uses = |step: &Step| matches!(step, Step::Volume(used, _) if *used == tool);
        self.groups.iter().find(|group| group.steps.iter().any(uses)).map(|group| group.first)
    }

    /// Whether it can be divided into slices alternating with other contenders: one group works on one item after another, as fast as it can.
    pub fn can_be_cut(&self) -> bool {
        let [group] = self.groups.as_slice() else { return false };
        let has_items = matches!(group.over, Over::Files { .. } | Over::Blocks { .. } | Over::Device { .. });
        let is_once = self.end == End::Work && self.passes <= 1 && !self.is_unmounted();
        has_items && is_once && group.rate.is_none() && group.order != Order::Follow && !group.io.stdio
    }

    /// Whether the filesystem's own tools do part of it: snapshots, scrubs, checks.
    pub fn uses_tools(&self) -> bool {
        self.groups.iter().any(|group| group.over == Over::Volume)
    }

    /// Whether the filesystem must be unmounted meanwhile.
    pub fn is_unmounted(&self) -> bool {
        let offline = |step: &Step| matches!(step, Step::Volume(VolumeTool::Check, _));
        self.groups.iter().any(|group| group.steps.iter().any(offline))
    }
}

/// The figure of a phase that tables show first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Bytes per second; higher is better.
    #[default]
    BytesPerSecond,
    /// Items (files, entries or blocks) per second; higher is better.
    ItemsPerSecond,
    /// Elapsed seconds; lower is better.
    Seconds,
    /// A figure that the phase's program prints, in its own unit.
    Printed,
}

impl Figure {
    /// The unit of its values in files; empty for a program's own.
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
    /// After a time; the work restarts as often as needed. What happens in the ramp is not counted, nor what returns after the end; its
    /// latencies are kept.
    Time {
        /// Counted nanoseconds.
        measure_ns: u64,
        /// Uncounted nanoseconds before them.
        ramp_ns: u64,
    },
}

/// Workers that do the same thing within a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name shown with its figures.
    pub name: String,
    /// Number of workers.
    pub workers: u32,
    /// Workers are processes (true) or threads with their own descriptor tables (false).
    pub processes: bool,
    /// What the steps are carried out on.
    pub over: Over,
    /// Order in which items are taken.
    pub order: Order,
    /// Items of all the group's workers together (with a fileset per worker: of each); None: every item once.
    pub count: Option<u64>,
    /// First item of a range, for phases that use only some.
    pub first: u64,
    /// Steps on each item, in order.
    pub steps: Vec<Step>,
    /// How blocks are read and written.
    pub io: Io,
    /// Operations to start per second, over the whole group; None: as fast as possible.
    pub rate: Option<Rate>,
    /// Each worker takes the share of another: of the next worker, or of the same worker of another client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shifted: bool,
}

/// What the steps of a group act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Over {
    /// The files of a fileset: one item per file.
    Files {
        /// Index into [`Program::filesets`].
        fileset: usize,
    },
    /// The blocks of a fileset's files, end to end: one item per block. Each worker opens every file once.
    Blocks {
        /// Index into [`Program::filesets`].
        fileset: usize,
        /// Bytes of a block.
        block: u64,
        /// Only the first so many bytes; None: all.
        length: Option<u64>,
    },
    /// The directories of a fileset: one item per directory, its own first, then those between, then those that hold files; rmdir takes them
    /// in reverse.
    Directories {
        /// Index into [`Program::filesets`].
        fileset: usize,
    },
    /// The files that ageing left in `../aged`, read only: directory after directory in readdir order.
    Aged,
    /// Blocks of the raw device, read only.
    Device {
        /// Bytes of a block.
        block: u64,
        /// Only the first so many bytes.
        length: u64,
    },
    /// The user's own programs, run in the root; its one step names the program: one item per run.
    Command,
    /// The filesystem's free space; its one step fills it with the files of a fileset, or waits until some is free.
    Space {
        /// Index into [`Program::filesets`] of what it is filled with.
        fileset: Option<usize>,
    },
    /// The filesystem as a whole, by its own tools; its one step names the action: one item each, a snapshot or a check.
    Volume,
    /// A recorded run of a program; its one step lays out its files or replays its calls: one item per call.
    Trace,
}

/// Facts about a kind of work, for use outside the engine and the language.
impl Over {
    /// Index of the fileset that it uses.
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

    /// Its items are blocks of existing data, so that it can be repeated.
    pub fn is_of_blocks(&self) -> bool {
        matches!(self, Over::Blocks { .. } | Over::Device { .. })
    }

    /// Bytes of the raw device that it reads; None if it does not touch the device.
    pub fn device_bytes(&self) -> Option<u64> {
        match *self {
            Over::Device { length, .. } => Some(length),
            _ => None,
        }
    }

    /// It needs an aged filesystem.
    pub fn needs_ageing(&self) -> bool {
        *self == Over::Aged
    }

    /// What it does, how much of it and where in the root, is known only to its program, or a trace of one.
    pub fn is_opaque(&self) -> bool {
        matches!(self, Over::Command | Over::Trace)
    }
}

/// Order in which a group takes its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By index; with several workers each has a range.
    InOrder,
    /// By index; with several workers each takes every n-th, like records of one file written in parallel.
    Strided,
    /// Every item once, by a permutation that needs no memory.
    Shuffled,
    /// Drawn with replacement.
    Random,
    /// Files in readdir order, directory after directory (opendir, readdir, the steps, closedir).
    Readdir,
    /// In readdir order in the fileset's own directory, repeated until the groups that do not follow are done and nothing is left. The steps
    /// must remove each file from that directory (rename or unlink it). A file that is gone before its first step is no error. With several
    /// followers each takes the names that hash to it.
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
    /// Files are created and truncated when opened. Missing directories are made before the clock starts, as for steps that create files
    /// without a mkdir.
    pub create: bool,
    /// fsync on close, within the phase (Bonnie++ 2.00).
    pub fsync_on_close: bool,
    /// Sync after every so many operations of a worker.
    pub sync_every: Option<(SyncCall, u64)>,
    /// Calls through the C library's buffered streams (putc, getc), for one-byte blocks.
    pub stdio: bool,
    /// Share of reads in percent, if steps hold both read and write as alternatives (a mix); None: all steps in turn.
    pub read_percent: Option<u8>,
    /// Bytes per read or write call over files; 0: 128 KiB at most.
    pub call_bytes: u64,
    /// Each block is written completely or not at all, even at a power cut (RWF_ATOMIC).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
    /// Through the page cache, without keeping pages (RWF_DONTCACHE).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncached: bool,
}

/// Synchronous writes by open flags.
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

/// The call that makes data durable between operations.
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
    /// io_uring with this many operations in flight per worker.
    IoUring(u32),
    /// Loads and stores through a mapping; msync for each fsync.
    Mmap,
}

/// An open loop: operations start when they are due, not when the previous one is done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Operations per second over all workers of the group.
    pub per_second: f64,
    /// Poisson arrivals (true) or even ones.
    pub poisson: bool,
}
