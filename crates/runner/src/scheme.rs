//! A scheme: a plan with every name resolved, enough to carry it out, to resume it and to repeat it.
//! In: made by the command line from plans, workloads and catalogues. Out: kept whole in the ledger's run record.

use ledger::{ContenderRecord, WorkRecord};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use workload::facts::Compiled;
use workload::plan::Until;

/// Name of the pseudo contender that is the raw device.
pub const DEVICE: &str = "device";
/// What is added to the label of a contender's hidden second entry.
pub const TWIN: &str = " (again)";
/// Blocks at most where only a precision or a budget ends a run.
pub const MOST_BLOCKS: u32 = 30;
/// Blocks at least where a precision is asked for: docs/method.md, three to screen.
pub const LEAST_BLOCKS: u32 = 3;

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scheme {
    /// The question in a line.
    pub title: String,
    /// Where it runs.
    pub place: Place,
    /// Contenders as asked for; a hidden twin stands at the end.
    pub contenders: Vec<Entry>,
    /// Workloads, compiled.
    pub works: Vec<Work>,
    /// How often.
    pub sampling: Sampling,
    /// Seed of orders and contents.
    pub seed: u64,
}

/// Where a scheme runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Loop-backed images of this many bytes, in a folder.
    Image {
        /// Size of each image.
        bytes: u64,
        /// Folder that holds them.
        scratch: PathBuf,
    },
    /// A block device or partition.
    Device {
        /// By any name.
        path: PathBuf,
        /// Serial number or by-id name that the user spelled out.
        erase: Option<String>,
    },
    /// Directories; contender `n` works in directory `n`.
    Directories(Vec<PathBuf>),
}

/// One contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// As asked for.
    pub asked: workload::Contender,
    /// Index of the contender that this repeats, unseen by the user's table.
    pub twin_of: Option<usize>,
    /// Names of the workloads that it is put through; empty: all.
    #[serde(default)]
    pub works: Vec<String>,
}

/// One workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Name.
    pub name: String,
    /// Heading.
    pub title: String,
    /// Compiled for its scale and settings.
    pub compiled: Compiled,
}

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Exactly so many blocks; absent: until precise, or the budget is spent.
    pub samples: Option<u32>,
    /// Half-width of the 95 % interval that is precise enough, as a share of 1.
    pub precision: f64,
    /// Seconds to spend.
    pub budget_seconds: Option<f64>,
    /// What is asked for.
    pub until: Until,
    /// Blocks at least and at most.
    pub blocks: (u32, u32),
    /// Whether a trial that was disturbed from outside is repeated (a tenth of all trials at most).
    pub repeat_disturbed: bool,
    /// Whether phases over blocks are repeated until they are steady, as for SSDs.
    #[serde(default)]
    pub steady: bool,
}

impl Sampling {
    /// The judge's policy, `gone` seconds into the run.
    pub fn policy(&self, gone: f64) -> judge::Policy {
        judge::Policy {
            min_blocks: self.samples.unwrap_or(self.blocks.0),
            max_blocks: self.samples.unwrap_or(self.blocks.1),
            precision: self.precision,
            until: match (self.samples, self.until) {
                (Some(_), Until::Precision) => judge::Until::Blocks,
                (_, Until::Winner) => judge::Until::Winner,
                (None, Until::Precision) => judge::Until::Precision,
            },
            seconds_left: self.budget_seconds.map(|budget| (budget - gone).max(0.0)),
        }
    }
}

impl Scheme {
    /// Whether this contender is put through this workload: the raw device through what reads it, all others through
    /// the rest, or through those that were chosen for them.
    pub fn meets(&self, contender: usize, work: usize) -> bool {
        let entry = &self.contenders[contender];
        let raw = entry.asked.filesystem == DEVICE;
        let estimate = &self.works[work].compiled.estimate;
        let chosen = entry.works.is_empty() || entry.works.contains(&self.works[work].name);
        chosen && raw == (estimate.needs_device && !estimate.needs_files)
    }

    /// Contenders that meet a workload.
    pub fn field(&self, work: usize) -> Vec<usize> {
        (0..self.contenders.len()).filter(|contender| self.meets(*contender, work)).collect()
    }

    /// Trials of one block.
    pub fn trials_per_block(&self) -> usize {
        (0..self.works.len()).map(|work| self.field(work).len()).sum()
    }

    /// The contenders as the ledger keeps them.
    pub fn contender_records(&self) -> Vec<ContenderRecord> {
        self.contenders
            .iter()
            .enumerate()
            .map(|(index, entry)| ContenderRecord {
                index: index as u32,
                label: entry.asked.label.clone(),
                asked: serde_json::to_value(&entry.asked).unwrap_or_default(),
                twin_of: entry.twin_of.map(|of| of as u32),
                error: None,
            })
            .collect()
    }

    /// The workloads as the ledger keeps them.
    pub fn work_records(&self) -> Vec<WorkRecord> {
        self.works
            .iter()
            .map(|work| WorkRecord {
                name: work.name.clone(),
                scale: work.compiled.scale.clone(),
                title: work.title.clone(),
                settings: work.compiled.settings.clone(),
                phases: work.compiled.phases.clone(),
                totals: work.compiled.totals.clone(),
            })
            .collect()
    }
}
