//! A program of the user's own as work: what is run, as whom, and in which environment.
//! In: made by `workload` from a workload file. Out: part of a [`super::Program`], run by the engine in the root.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of a program in the root.
///
/// Nothing of the caller's environment comes through: it is `environment`, and `HOME`, `PWD` and `TMPDIR`, which are the root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments; no shell reads them unless the first is one.
    pub words: Vec<String>,
    /// Environment; `PATH` and `LANG` are among it.
    pub environment: BTreeMap<String, String>,
    /// Name of the user as whom it runs; None: whoever runs the engine.
    pub user: Option<String>,
    /// What it finds on its standard input; empty: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// Folders that it finds empty and may write to, in memory and gone with it: `/tmp`, a folder for sockets in `/run`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<String>,
    /// It is not confined to the root: it keeps all rights of its user, and writes wherever that may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfined: bool,
    /// Exit statuses that count as success; empty: 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exit_statuses: Vec<u8>,
    /// What it says of itself that is to be judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<OwnFigure>,
    /// Parts of its work that it reports with their bytes, operations and latencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports: Option<Reports>,
}

impl Command {
    /// Whether a program that ended with this status succeeded.
    pub fn accepts(&self, status: i32) -> bool {
        let named = || self.exit_statuses.iter().any(|one| i32::from(*one) == status);
        if self.exit_statuses.is_empty() { status == 0 } else { named() }
    }
}

/// How a program reports parts of its work, and which of them are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Reports {
    /// As fio does with `--output-format=json+`: `JOB read`, `JOB write`, or `group NUMBER read` for jobs that it reports together.
    Fio(Vec<String>),
}

/// Stands for the most memory that any one of a command's processes held, in MiB.
pub const PEAK_MEMORY: &str = "peak-memory";

/// Stands for the share of the space that was said to be free that could be written, in percent.
pub const USABLE_SHARE: &str = "usable-share";

/// Stands for what was written to all devices of the volume during the phase, in MiB.
pub const DEVICE_WRITTEN: &str = "device-written";

/// Stands for the processor's instructions for each item, of the workers themselves: in their program and in the kernel on their behalf.
pub const INSTRUCTIONS: &str = "instructions";

/// The same of everything that ran until all was durable: the workers, servers of filesystems, threads of the kernel, this program's own
/// processes.
pub const ALL_INSTRUCTIONS: &str = "all-instructions";

/// Variable in the environment of an engine on whose machine each instruction takes a nanosecond.
pub const COUNTS_VARIABLE: &str = "BAKEOFF_COUNTS_INSTRUCTIONS";

/// A figure that a program prints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnFigure {
    /// Unique within its command.
    pub name: String,
    /// Where it stands in the output: a JSON pointer (RFC 6901), or else a regular expression whose first group, or whole match, is the
    /// number. Of several places the last counts. [`PEAK_MEMORY`] is none that it prints, but what it was seen to take; [`DEVICE_WRITTEN`] is what
    /// the kernel counted below it.
    pub from: String,
    /// Its unit; empty where it has none.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
}

impl OwnFigure {
    /// Its name with its unit, where that is not its name.
    pub fn titled(&self) -> String {
        if self.unit.is_empty() || self.unit == self.name {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.unit)
        }
    }

    /// The JSON pointer, where it is one.
    pub fn pointer(&self) -> Option<&str> {
        self.from.starts_with('/').then_some(&*self.from)
    }
}

impl Command {
    /// The words as a person would type them, for reports and errors.
    pub fn line(&self) -> String {
        let plain = |word: &str| {
            let simple = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%~".contains(c);
            !word.is_empty() && word.chars().all(simple)
        };
        let typed =
            |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) };
        self.words.iter().map(typed).collect::<Vec<_>>().join(" ")
    }
}
