//! I/O schedulers by today's names and by those of the single-queue block layer.
//! In: a name. Out: the name that the kernel uses now.
//! Whether a device has it is asked of the device, when it is set.

use crate::error::StagingError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use system::BlockDevice;
use system::Sysfs as _;

/// Schedulers of the multi-queue block layer; each may or may not be built into a kernel.
const MODERN: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The schedulers that are understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedulers {
    aliases: BTreeMap<String, String>,
}

impl Schedulers {
    /// Today's, and the published aliases of old ones.
    pub fn embedded() -> Result<Schedulers, StagingError> {
        let text = include_str!("../../published/scheduler-aliases.toml");
        toml::from_str(text).map(|aliases| Schedulers { aliases }).map_err(|error| StagingError::Description {
            file: "published/scheduler-aliases.toml".into(),
            problem: error.to_string(),
        })
    }

    /// Today's name for any name.
    pub fn resolve(&self, name: &str) -> Result<String, StagingError> {
        let name = name.trim();
        if MODERN.contains(&name) {
            return Ok(name.into());
        }
        let known = MODERN.into_iter().chain(self.aliases.keys().map(String::as_str));
        self.aliases.get(name).cloned().ok_or_else(|| StagingError::unknown("I/O scheduler", name, known))
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

/// One scheduler, and whether it can be used here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulerFound {
    /// Today's name.
    pub name: String,
    /// Old names that mean it.
    pub aliases: Vec<String>,
    /// Devices that offer it.
    pub devices: Vec<String>,
    /// What would help where none does; empty where one does.
    pub help: String,
}

/// All schedulers, and which devices of this machine offer them.
pub fn schedulers_found(schedulers: &Schedulers) -> Vec<SchedulerFound> {
    let devices = BlockDevice::all();
    MODERN
        .iter()
        .map(|name| {
            let offers = |device: &&BlockDevice| device.queue.schedulers.iter().any(|one| one == name);
            let offering: Vec<String> = devices.iter().filter(offers).map(|device| device.name.clone()).collect();
            let help = format!("modprobe {name}, or a kernel that has it (CONFIG_MQ_IOSCHED_DEADLINE, CONFIG_MQ_IOSCHED_KYBER, CONFIG_IOSCHED_BFQ)");
            SchedulerFound {
                name: name.to_string(),
                aliases: schedulers.aliases.iter().filter(|(_, heir)| heir == name).map(|(old, _)| old.clone()).collect(),
                help: if offering.is_empty() { help } else { String::new() },
                devices: offering,
            }
        })
        .collect()
}
