//! A workload in its written form, for code that generates one: from a command line, from another program's jobs.
//! In: phases. Out: TOML, which is read and checked as any other workload.

use crate::program::Reports;
use serde::Serialize;
use std::collections::BTreeMap;

/// A workload file; every key as in docs/workloads.md.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct File {
    /// Name of the workload.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it does, in one or more sentences.
    pub about: String,
    /// Its source.
    pub source: Option<String>,
    /// Its time limit.
    pub time_limit: Option<String>,
    /// Options by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Declared>,
    /// Scales, which set no variables.
    pub scales: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// Files to work on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filesets: Vec<Fileset>,
    /// What is done, in order.
    pub phases: Vec<Phase>,
}

/// An option.
#[derive(Debug, Clone, Serialize)]
pub struct Declared {
    /// What it sets.
    pub about: String,
    /// Its value unless another is requested.
    pub default: String,
}

/// Files to work on.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fileset {
    /// Its name in phases.
    pub name: String,
    /// The folder of its files.
    pub directory: String,
    /// Whether each worker has files of its own.
    pub per_worker: bool,
    /// How many.
    pub files: u64,
    /// Bytes of each.
    pub size: u64,
}

/// One phase.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Phase {
    /// Unique in the workload.
    pub name: String,
    /// Label of tables.
    pub title: String,
    /// Gerund for the verdict.
    pub doing: String,
    /// The operation's name in claims; by default the phase's name.
    pub operation: Option<String>,
    /// `cold`, `warm` or `as-found`.
    pub cache: &'static str,
    /// Whether it is preparation, without a result.
    pub preparation: bool,
    /// The figure shown first in tables.
    pub figure: Option<Figure>,
    /// The group with that figure.
    pub figure_group: Option<String>,
    /// Duration after which it ends.
    pub time: Option<String>,
    /// Duration at the start that is not counted.
    pub ramp: Option<String>,
    /// Other groups' figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// Groups that work side by side.
    pub work: Vec<Work>,
}

/// A figure.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// One that is measured: `bytes/s`, `items/s` or `seconds`.
    Measured(&'static str),
    /// Those that the phase's program prints.
    Printed(Vec<Printed>),
}

/// A figure that a program prints.
#[derive(Debug, Clone, Serialize)]
pub struct Printed {
    /// Its name.
    pub name: String,
    /// Its position in the output.
    pub from: String,
    /// `more` or `less`.
    pub better: &'static str,
}

/// One more group's figure.
#[derive(Debug, Clone, Serialize)]
pub struct Also {
    /// Which group.
    pub group: String,
    /// Its figure.
    pub figure: &'static str,
    /// The operation's name in claims.
    pub operation: String,
    /// Label of tables.
    pub title: String,
    /// Gerund for the verdict.
    pub doing: String,
}

/// A recorded run, or what it needs.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trace {
    /// The trace's file.
    pub file: String,
    /// `lay-out` or `replay`.
    pub step: &'static str,
    /// Whether the program's own pauses are kept.
    pub think: bool,
    /// The file's contents.
    pub checksum: String,
}

/// What one group does.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Work {
    /// Its name, where there are several.
    pub name: Option<String>,
    /// A user's own program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// User that runs it.
    pub user: Option<String>,
    /// Its private folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<String>,
    /// Whether it is not confined to the contender's folder.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unconfined: bool,
    /// Exit statuses that count as success; empty: 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exit_status: Vec<u8>,
    /// Its standard input.
    pub input: Option<String>,
    /// The file that takes its standard output, or `null`.
    pub output: Option<String>,
    /// Parts that it reports.
    pub reports: Option<Reports>,
    /// Variables of its environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// A recorded run.
    pub trace: Option<Trace>,
    /// The fileset whose blocks are worked on.
    pub blocks: Option<String>,
    /// Bytes of a block.
    pub block: Option<u64>,
    /// Steps on each block.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<&'static str>,
    /// `in-order`, `shuffled`, `random`.
    pub order: Option<&'static str>,
    /// Number of workers in parallel.
    pub workers: Option<u64>,
    /// Whether they are processes.
    pub processes: Option<bool>,
    /// Most operations of each.
    pub count: Option<u64>,
    /// Whether files are created anew.
    pub create: Option<bool>,
    /// Whether it bypasses the page cache.
    pub direct: Option<bool>,
    /// `sync` or `dsync`.
    pub sync: Option<&'static str>,
    /// `calls`, `io-uring` or `mmap`.
    pub engine: Option<&'static str>,
    /// Operations in flight.
    pub depth: Option<u64>,
    /// Number of operations between syncs.
    pub sync_every: Option<u64>,
    /// The call that syncs.
    pub sync_call: Option<&'static str>,
    /// Whether it syncs before it closes.
    pub fsync_on_close: Option<bool>,
    /// Percent of the operations that read.
    pub read_share: Option<u64>,
    /// Operations per second.
    pub rate: Option<u64>,
}

impl Phase {
    /// A phase without a result.
    pub fn preparation(name: String, title: String, work: Work) -> Phase {
        let doing = title.clone();
        Phase { name, title, doing, cache: "as-found", preparation: true, work: vec![work], ..Phase::default() }
    }
}

impl File {
    /// The file's text.
    ///
    /// # Errors
    /// Never in practice: all of it is text and numbers.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Scales without differences.
    pub fn same_scales() -> BTreeMap<&'static str, BTreeMap<String, String>> {
        ["quick", "full"].map(|scale| (scale, BTreeMap::new())).into()
    }
}
