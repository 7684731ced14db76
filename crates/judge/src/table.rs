//! The table that is judged: contenders, operations, and the samples of every cell.
//! In: made by the runner or the report from the ledger. Out: read by every function of this crate.
//! Missing is missing: a cell without samples is left out, and a value that was not measured is never zero.

use crate::work::Work;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use thiserror::Error;

/// Most contenders of one table.
pub const MAX_CONTENDERS: usize = 256;
/// Most operations of one table.
pub const MAX_OPERATIONS: usize = 1024;
/// Most samples of one cell.
pub const MAX_SAMPLES: usize = 10_000;

/// Default margin: differences up to this share do not matter.
pub const MARGIN: f64 = 0.03;

/// All that is judged together: statements about it are corrected as one family.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// The contenders, the hidden twin included.
    pub contenders: Vec<Contender>,
    /// What was measured; one row each.
    pub operations: Vec<Operation>,
    /// Samples, at most one cell for each operation and contender.
    pub cells: Vec<Cell>,
    /// Differences up to this share do not matter: 0.03 for 3 %; `None`: [`MARGIN`].
    pub margin: Option<f64>,
    /// First block of each session, a part of a run in one state of the machine, ascending. The first session may be left out; empty: one session.
    #[serde(default)]
    pub sessions: Vec<u32>,
}

/// One of the things that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Contender {
    /// Name in the table and in sentences; unique.
    pub name: String,
    /// Its durability, as read back after mounting.
    pub durability: Durability,
    /// Where its kernel ran. Contenders of different backends are never ranked together.
    pub backend: Backend,
    /// The age of its filesystem. Contenders of different ages are never ranked together.
    #[serde(default)]
    pub age: Age,
    /// Set on the second half of an A/A pair: the name of the contender that it repeats. A twin is used for the
    /// noise floor only and appears in no ranking.
    pub twin_of: Option<String>,
    /// Set on the alternatives of the named contender, which was picked by these same samples, such as another value of an axis. An
    /// alternative appears in no ranking; what is compared with the named contender is compared with the alternative, too.
    pub alternative_of: Option<String>,
    /// Why the contender cannot be measured at all.
    pub failed: Option<String>,
}

/// The age of a contender's filesystem before the work.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Age {
    /// In few words, such as `old 80%`; empty: fresh.
    pub name: String,
    /// Name of the contender without its age, which links its ages; empty: its own name.
    pub of: String,
}

/// Where a contender's kernel ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// On the kernel of the host.
    #[default]
    Host,
    /// In a virtual machine with hardware support.
    Kvm,
    /// In an emulated machine.
    Emulation,
}

impl Backend {
    /// In words; empty for the host's kernel.
    pub fn guest(self) -> &'static str {
        match self {
            Backend::Host => "",
            Backend::Kvm => "in a virtual machine",
            Backend::Emulation => "in an emulated machine",
        }
    }
}

/// Durability class: contenders that differ in one of these are not equal. `None`: not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Durability {
    /// Flushes (barriers) reach the device.
    pub flushes: Option<bool>,
    /// File data reaches the device before the metadata that refers to it.
    pub ordered: Option<bool>,
    /// File data is checksummed.
    pub checksums: Option<bool>,
    /// Data is never overwritten in place.
    pub copy_on_write: Option<bool>,
}

/// Which row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
pub struct OperationId {
    /// Name of the workload.
    pub workload: String,
    /// Name of the operation, as claims and published figures use it.
    pub operation: String,
    /// Cache state: `cold`, `warm`, `as-found`.
    pub cache: String,
    /// Which figure of the operation: empty for the one that is shown first, else `returned`, `durable`, `cpu` ...
    pub figure: String,
}

impl OperationId {
    /// `create` or, if the cache state is needed to distinguish two, `read:cold`.
    pub fn key(&self) -> String {
        if self.cache.is_empty() { self.operation.clone() } else { format!("{}:{}", self.operation, self.cache) }
    }
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Operation {
    /// Which row.
    pub id: OperationId,
    /// Name of the operation in a sentence: "creating many small files". Empty: the names of the id are used.
    pub phrase: String,
    /// Unit of the values, as shown.
    pub unit: String,
    /// Whether more or less is better.
    pub direction: Direction,
    /// The sum of other rows of its workload: statements about the workload as a whole refer to it.
    #[serde(default)]
    pub summary: bool,
    /// Shown next to another row, not a statement of its own: it needs no correction and does not prolong a run.
    pub secondary: bool,
    /// Shown without a rank, as its workload declares.
    #[serde(default)]
    pub unranked: bool,
}

impl Operation {
    /// What it does, in a few words.
    pub fn doing(&self) -> &str {
        if self.phrase.is_empty() { &self.id.operation } else { &self.phrase }
    }
}

/// Whether more or less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// A rate: more is better.
    HigherIsBetter,
    /// A time: less is better.
    #[default]
    LowerIsBetter,
}

/// The samples of one contender in one operation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cell {
    /// Index into [`Table::operations`].
    pub operation: usize,
    /// Index into [`Table::contenders`].
    pub contender: usize,
    /// The samples, in order of time.
    pub samples: Vec<Sample>,
    /// Other facts about this cell.
    pub facts: Facts,
}

/// One measured value.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// The trial in the ledger that this came from: every statement can be traced to these.
    pub trial: i64,
    /// Block, from 0.
    pub block: u32,
    /// Which mkfs within the block, from 0.
    pub format: u32,
    /// Which mount of that format, from 0.
    pub mount: u32,
    /// Which pass on that mount, from 0.
    pub pass: u32,
    /// The value in the operation's unit. Not positive or not finite: missing.
    pub value: f64,
    /// Something else used the machine (steal, foreign I/O, clock changes), and the trial could not be repeated.
    pub disturbed: bool,
    /// Share of processor time that the hypervisor took away meanwhile, 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stolen: f64,
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// Facts about a cell in addition to its samples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Share of the bytes that a cache served although the start was to be cold, 0 to 1.
    pub cache_served: Option<f64>,
    /// Share of the bytes that the device delivered although the start was to be warm, 0 to 1.
    #[serde(default)]
    pub device_served: Option<f64>,
    /// The value as a share of the data generator's ceiling, 0 to 1.
    pub ceiling: Option<f64>,
    /// The first cold pass was far slower than the next: there is a cache outside the control of this machine.
    pub cache_below: bool,
    /// Caches could not be dropped: cold starts were warm.
    pub not_cold: bool,
    /// Duration in seconds of a phase that does one item once in a trial, median over trials; absent for phases that do several, for sums of
    /// phases, and for programs.
    #[serde(default)]
    pub one_item_seconds: Option<f64>,
    /// CPU seconds of the whole system that the operation took, median over trials.
    pub cpu_seconds: Option<f64>,
    /// Mean seconds that one trial takes, staging included. Used to plan a budget.
    pub trial_seconds: Option<f64>,
    /// Trials that failed, and why the first of them did.
    pub failures: u32,
    /// Why the first failed trial did.
    pub failure: Option<String>,
    /// Trials in which the operation could not be done, though they continued (a file that no longer fits, a snapshot that is not supported).
    #[serde(default)]
    pub undone: u32,
    /// The system's error in the first of them.
    #[serde(default)]
    pub why_undone: Option<String>,
    /// Other remarks, in few words (an option that had no effect, an O_DIRECT that was refused).
    pub remarks: Vec<String>,
    /// The counts of work of each of its phases.
    #[serde(default)]
    pub work: Vec<Work>,
}

/// Why a table is invalid.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TableError {
    /// A limit was passed.
    #[error("cannot judge a table of {found} {what}: the limit is {limit}; split it by workload")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A cell points outside the table.
    #[error("cannot judge cell {cell}: it names {what} {index}, and the table has {count}")]
    NoSuch {
        /// Which cell.
        cell: usize,
        /// Operation or contender.
        what: &'static str,
        /// The index that it names.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// Two cells, contenders or operations are the same.
    #[error("cannot judge a table with {what} \"{name}\" twice")]
    Twice {
        /// Cell, contender or operation.
        what: &'static str,
        /// Which.
        name: String,
    },
    /// A twin repeats a contender that is not there.
    #[error("cannot judge \"{twin}\", the control of \"{of}\": no contender has that name")]
    NoTwin {
        /// The twin.
        twin: String,
        /// The contender that it is meant to repeat.
        of: String,
    },
}

/// What a value is in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seconds {
    /// A time: the value times this.
    Times(f64),
    /// A rate: one divided by the value.
    PerSecond,
}

impl Seconds {
    /// By the unit of an operation; `None` if it is neither a time nor a rate.
    pub fn of(unit: &str) -> Option<Self> {
        match unit.trim() {
            "s" | "second" | "seconds" => Some(Self::Times(1.0)),
            "ms" => Some(Self::Times(1e-3)),
            "us" | "µs" => Some(Self::Times(1e-6)),
            "ns" => Some(Self::Times(1e-9)),
            rate if rate.ends_with("/s") || rate.ends_with(" per second") => Some(Self::PerSecond),
            _ => None,
        }
    }
}

impl OperationId {
    /// An id without a figure of its own.
    pub fn new(workload: &str, operation: &str, cache: &str) -> Self {
        OperationId {
            workload: workload.into(),
            operation: operation.into(),
            cache: cache.into(),
            figure: String::new(),
        }
    }
}

impl Contender {
    /// Its name without its age.
    pub fn without_age(&self) -> &str {
        if self.age.of.is_empty() { &self.name } else { &self.age.of }
    }

    /// Its age in words: `fresh`, `old 80%`.
    pub fn age_words(&self) -> &str {
        if self.age.name.is_empty() { "fresh" } else { &self.age.name }
    }
}

impl Sample {
    /// Whether there is a value.
    pub fn is_measured(&self) -> bool {
        self.value.is_finite() && self.value > 0.0
    }
}

impl Cell {
    /// How many of its samples were disturbed.
    pub fn disturbed(&self) -> usize {
        self.samples.iter().filter(|sample| sample.disturbed).count()
    }
}

impl Table {
    /// Differences up to this share do not matter.
    pub fn margin(&self) -> f64 {
        self.margin.filter(|margin| margin.is_finite() && *margin >= 0.0).unwrap_or(MARGIN)
    }

    /// The cell of an operation and a contender.
    pub fn cell(&self, operation: usize, contender: usize) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.operation == operation && cell.contender == contender)
    }

    /// Index of a contender by name.
    pub fn contender(&self, name: &str) -> Option<usize> {
        self.contenders.iter().position(|contender| contender.name == name)
    }

    /// The contender that another one represents: the first entry of a twin, or the one picked instead of an alternative.
    pub fn stands_for(&self, contender: usize) -> usize {
        let found = &self.contenders[contender];
        let of = found.twin_of.as_deref().or(found.alternative_of.as_deref());
        of.and_then(|of| self.contender(of)).unwrap_or(contender)
    }

    /// Checks limits, indices and names.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), TableError> {
        within("contenders", self.contenders.len(), MAX_CONTENDERS)?;
        within("operations", self.operations.len(), MAX_OPERATIONS)?;
        let mut names = HashSet::new();
        for contender in &self.contenders {
            if !names.insert(contender.name.as_str()) {
                return Err(TableError::Twice { what: "the contender", name: contender.name.clone() });
            }
        }
        for twin in &self.contenders {
            let of = twin.twin_of.as_ref().or(twin.alternative_of.as_ref());
            if let Some(of) = of.filter(|of| !names.contains(of.as_str())) {
                return Err(TableError::NoTwin { twin: twin.name.clone(), of: of.clone() });
            }
        }
        let mut ids = HashSet::new();
        for operation in &self.operations {
            if !ids.insert(&operation.id) {
                let id = &operation.id;
                let name = format!("{} {} {} {}", id.workload, id.operation, id.cache, id.figure);
                return Err(TableError::Twice { what: "the operation", name: name.trim().into() });
            }
        }
        self.check_cells()
    }

    fn check_cells(&self) -> Result<(), TableError> {
        let mut seen = HashSet::new();
        for (cell, found) in self.cells.iter().enumerate() {
            within("samples in one cell", found.samples.len(), MAX_SAMPLES)?;
            let operations = self.operations.len();
            if found.operation >= operations {
                let index = found.operation;
                return Err(TableError::NoSuch { cell, what: "operation", index, count: operations });
            }
            let contenders = self.contenders.len();
            if found.contender >= contenders {
                let index = found.contender;
                return Err(TableError::NoSuch { cell, what: "contender", index, count: contenders });
            }
            if !seen.insert((found.operation, found.contender)) {
                let operation = &self.operations[found.operation].id.operation;
                let name = format!("{operation} of {}", self.contenders[found.contender].name);
                return Err(TableError::Twice { what: "the cell", name });
            }
        }
        Ok(())
    }
}

fn within(what: &'static str, found: usize, limit: usize) -> Result<(), TableError> {
    if found > limit {
        return Err(TableError::TooLarge { what, found, limit });
    }
    Ok(())
}
