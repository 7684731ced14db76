//! A contender as it is asked for: a filesystem with options, scheduler, kernel, age and fill.
//! In: tables of a plan or of a file in the form of `published/contenders.toml`. Out: [`Contender`].
//! What was asked is kept as text; whether it took is read back by others.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One thing that is compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Contender {
    /// Unique label, shown everywhere.
    pub label: String,
    /// Name of the filesystem.
    pub filesystem: String,
    /// Words added to the mkfs command, in order.
    pub mkfs: Vec<String>,
    /// Mount options, separated by commas; empty: the filesystem's defaults.
    pub mount: String,
    /// mkfs settings by name, from axes (`rmapbt` = `0`); the filesystem's own file says how each is written.
    pub mkfs_settings: BTreeMap<String, String>,
    /// I/O scheduler; None: the one in force.
    pub scheduler: Option<String>,
    /// Settings of the device's queue (`read_ahead_kb` = `128`, `write_cache` = `write through`).
    pub device: BTreeMap<String, String>,
    /// Kernel: None or `host`, a path, or `debian:6.12`.
    pub kernel: Option<String>,
    /// Age: None or `fresh`, `used`, `old`.
    pub age: Option<String>,
    /// Share of the volume that is filled before work begins, between 0 and 1.
    pub fill: Option<f64>,
    /// Where it stands on each axis of the plan, for pivoting (`mkfs.rmapbt` = `0`).
    pub axes: BTreeMap<String, String>,
}
