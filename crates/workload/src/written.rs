//! A workload as it is written into a file, for programs that write one: from a command line, from another program's jobs.
//! In: phases. Out: TOML, which is read and checked as any other workload is.

use crate::program::Reports;
use serde::Serialize;
use std::collections::BTreeMap;

/// A workload file; every key as docs/workloads.md has it.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct File {
    /// Name of the workload.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it does, in a sentence or some.
    pub about: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// How long it may take.
    pub time_limit: Option<String>,
    /// Scales, which set no variables.
    pub scales: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// Files to work on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filesets: Vec<Fileset>,
    /// What is done, in order.
    pub phases: Vec<Phase>,
}

/// Files to work on.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fileset {
    /// How phases call it.
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

/// One thing after another.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Phase {
    /// Unique in the workload.
    pub name: String,
    /// Label of tables.
    pub title: String,
    /// Gerund for the verdict.
    pub doing: String,
    /// The operation as claims name it; the name, if left out.
    pub operation: Option<String>,
    /// `cold`, `warm` or `as-found`.
    pub cache: &'static str,
    /// Done, and no result.
    pub preparation: bool,
    /// What tables show first.
    pub figure: Option<Figure>,
    /// The group whose figure that is.
    pub figure_group: Option<String>,
    /// It ends after a time.
    pub time: Option<String>,
    /// What is not counted before.
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
    /// What it is called.
    pub name: String,
    /// Where it stands in the output.
    pub from: String,
    /// `more` or `less`.
    pub better: &'static str,
}

/// One more group's figure.
#[derive(Debug, Clone, Serialize)]
pub struct Also {
    /// Which group.
    pub group: String,
    /// What of it.
    pub figure: &'static str,
    /// The operation as claims name it.
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
    /// Whether the program's own time passes.
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
    /// A program of one's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// As whom it runs.
    pub user: Option<String>,
    /// Folders that it has for itself.
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
    /// How many work at once.
    pub workers: Option<u64>,
    /// Whether they are processes.
    pub processes: Option<bool>,
    /// Operations that each has at most.
    pub count: Option<u64>,
    /// Whether files are made anew.
    pub create: Option<bool>,
    /// Past the page cache.
    pub direct: Option<bool>,
    /// `sync` or `dsync`.
    pub sync: Option<&'static str>,
    /// `calls`, `io-uring` or `mmap`.
    pub engine: Option<&'static str>,
    /// Operations under way at once.
    pub depth: Option<u64>,
    /// Operations after each of which it syncs.
    pub sync_every: Option<u64>,
    /// By which call.
    pub sync_call: Option<&'static str>,
    /// Whether it syncs before it closes.
    pub fsync_on_close: Option<bool>,
    /// Percent of the operations that read.
    pub read_share: Option<u64>,
    /// Operations a second.
    pub rate: Option<u64>,
}

impl Phase {
    /// A phase that is no result.
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

    /// Scales that differ in nothing.
    pub fn same_scales() -> BTreeMap<&'static str, BTreeMap<String, String>> {
        ["quick", "full"].map(|scale| (scale, BTreeMap::new())).into()
    }
}
