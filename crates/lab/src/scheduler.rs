//! I/O schedulers by today's names and by those of the single-queue block layer.
//! In: a name. Out: the name that the kernel uses now.
//! Whether a device has it is asked of the device, when it is set.

use crate::error::LabError;
use std::collections::BTreeMap;

/// Schedulers of the multi-queue block layer; each may or may not be built into a kernel.
const MODERN: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The schedulers that are understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedulers {
    aliases: BTreeMap<String, String>,
}

impl Schedulers {
    /// Today's, and the published aliases of old ones.
    pub fn embedded() -> Result<Schedulers, LabError> {
        let text = include_str!("../../../published/scheduler-aliases.toml");
        toml::from_str(text).map(|aliases| Schedulers { aliases }).map_err(|error| LabError::Description {
            file: "published/scheduler-aliases.toml".into(),
            problem: error.to_string(),
        })
    }

    /// Today's name for any name.
    pub fn resolve(&self, name: &str) -> Result<String, LabError> {
        let name = name.trim();
        if MODERN.contains(&name) {
            return Ok(name.into());
        }
        let known = MODERN.into_iter().chain(self.aliases.keys().map(String::as_str));
        self.aliases.get(name).cloned().ok_or_else(|| LabError::unknown("I/O scheduler", name, known))
    }

    /// Today's names.
    pub fn modern(&self) -> [&'static str; 4] {
        MODERN
    }

    /// Old names and their heirs.
    pub fn aliases(&self) -> &BTreeMap<String, String> {
        &self.aliases
    }
}
