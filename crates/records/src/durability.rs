//! The durability class: what a contender guarantees for data, read from the mounted filesystem and not from the request.
//! In: a filesystem's facts, and the words found among its options and features. Out: [`Durability`].
//! Contenders of different classes are never ranked without showing it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a contender promises.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Durability {
    /// fsync and commits flush the device's cache; absent where it is not known (a plain directory).
    pub flushes: Option<bool>,
    /// Order of data and metadata.
    pub data: DataMode,
    /// What is journaled.
    pub journal: Journaling,
    /// Data is checksummed.
    pub checksums_data: Option<bool>,
    /// Metadata is checksummed.
    pub checksums_metadata: Option<bool>,
    /// Nothing is overwritten in place.
    pub copy_on_write: Option<bool>,
}

/// Order in which data and the metadata that leads to it reach the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataMode {
    /// Both are journaled, or both appear at once (copy on write).
    Atomic,
    /// Data before the metadata that makes it reachable.
    Ordered,
    /// In any order: after a crash, files may contain old data of the disk.
    Writeback,
    /// Not known.
    #[default]
    Unknown,
}

/// What a journal or log covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Journaling {
    /// Nothing: after a crash the whole filesystem must be checked.
    None,
    /// Metadata.
    Metadata,
    /// Metadata and data.
    Data,
    /// Not needed: one tree replaces another in one step.
    Trees,
    /// Not known.
    #[default]
    Unknown,
}

impl Durability {
    /// The class if nothing is known.
    pub fn unknown() -> Durability {
        Durability::default()
    }

    /// The badge shown with a contender: what it lacks or adds, in a few words.
    pub fn badge(&self) -> String {
        let mut words = Vec::new();
        match self.flushes {
            Some(true) => words.push("flushes"),
            Some(false) => words.push("no flushes"),
            None => words.push("flushes unknown"),
        }
        match self.data {
            DataMode::Atomic => words.push("data atomic"),
            DataMode::Ordered => words.push("data ordered"),
            DataMode::Writeback => words.push("data unordered"),
            DataMode::Unknown => words.push("order unknown"),
        }
        match self.journal {
            Journaling::None => words.push("no journal"),
            Journaling::Metadata => words.push("metadata journal"),
            Journaling::Data => words.push("data journal"),
            Journaling::Trees | Journaling::Unknown => {}
        }
        match (self.checksums_data, self.checksums_metadata) {
            (Some(true), _) => words.push("checksums"),
            (Some(false), Some(true)) => words.push("metadata checksums"),
            (Some(false), Some(false)) => words.push("no checksums"),
            _ => {}
        }
        if self.copy_on_write == Some(true) {
            words.push("copy on write");
        }
        words.join(", ")
    }
}
