//! A user's own program as work: the command, its user, and its environment.
//! In: made by `workload` from a workload file. Out: part of a [`super::Program`], run by the engine in the root.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of a program in the root.
///
/// It does not inherit the caller's environment: it gets `environment`, and `HOME`, `PWD` and `TMPDIR`, which are the root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments; without a shell unless the first word is one.
    pub words: Vec<String>,
    /// Environment; includes `PATH` and `LANG`.
    pub environment: BTreeMap<String, String>,
    /// Name of the user that it runs as; None: the user of the engine.
    pub user: Option<String>,
    /// Content of its standard input; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// File in its folder that takes its standard output, emptied before; `null` drops the output, and empty leaves it to the engine, which reads it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Empty writable folders in memory that vanish with it: `/tmp`, a folder for sockets in `/run`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<String>,
    /// It is not confined to the root: it has all rights of its user, and may write wherever that user may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfined: bool,
    /// Exit statuses that count as success; empty: 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exit_statuses: Vec<u8>,
    /// Figures in its output that are judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<OwnFigure>,
    /// Parts of its work that it reports with bytes, operations and latencies.
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

/// How a program reports parts of its work, and which of them are used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Reports {
    /// As fio does with `--output-format=json+`: `JOB read`, `JOB write`, or `group NUMBER read` for jobs that it reports together.
    Fio(Vec<String>),
}

/// Name of the figure for the most memory that any one of a command's processes held, in MiB.
pub const PEAK_MEMORY: &str = "peak-memory";

/// Name of the figure for the share of the reported free space that could be written, in percent.
pub const USABLE_SHARE: &str = "usable-share";

/// Name of the figure for the data written to all devices of the volume during the phase, in MiB.
pub const DEVICE_WRITTEN: &str = "device-written";

/// Name of the figure for instructions per item of the workers: in their program and in the kernel on their behalf.
pub const INSTRUCTIONS: &str = "instructions";

/// The same for everything that ran until all data was durable: the workers, filesystem servers, kernel threads, this program's own processes.
pub const ALL_INSTRUCTIONS: &str = "all-instructions";

/// Environment variable of an engine on a machine whose clock advances a nanosecond per instruction.
pub const COUNTS_VARIABLE: &str = "BAKEOFF_COUNTS_INSTRUCTIONS";

/// A figure that a program prints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnFigure {
    /// Unique within its command.
    pub name: String,
    /// Its place in the output: a JSON pointer (RFC 6901), or else a regular expression whose first group, or whole match, is the number.
    /// With several matches the last counts. [`PEAK_MEMORY`] is not printed but measured; [`DEVICE_WRITTEN`] is counted by the kernel.
    pub from: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
}

impl OwnFigure {
    /// Its name with its unit, unless they are the same.
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
