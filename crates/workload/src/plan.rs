//! A plan: contenders x workloads x how to sample them, and where.
//! In: TOML in the language of `docs/workloads.md`. Out: [`Plan`], with axes multiplied out on demand.
//! Names of filesystems, schedulers and workloads are texts here; [`crate::names`] holds them against what is known.

use crate::axes::Axes;
use crate::contender::Contender;
pub use records::plan::Until;
use records::{ColdWay, Turns};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What is to be compared, by which work, how often and where.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Name by which the command line calls it.
    pub name: String,
    /// Heading of the report.
    pub title: String,
    /// What it is for.
    pub about: String,
    /// Where it runs; None: the command line or the default says.
    pub place: Option<Place>,
    /// Names to compare: filesystems, sets of `contenders`, either followed by `+scheduler`. Empty: every set in
    /// `contenders`, and if there is none, every filesystem that can compete.
    pub compete: Vec<String>,
    /// Option sets that this plan defines, by name.
    pub contenders: BTreeMap<String, Contender>,
    /// Axes that every contender is multiplied by.
    pub axes: Axes,
    /// The work, in order.
    pub workloads: Vec<PlannedWork>,
    /// How often, how exactly, how long.
    pub sampling: Sampling,
    /// Seed of orders and of every workload; None: drawn at the start of a run and recorded.
    pub seed: Option<u64>,
    /// How cold phases are started; None: the command line or the default says.
    pub cold: Option<ColdWay>,
    /// What contenders take turns with; None: the command line or the default says.
    pub turns: Option<Turns>,
    /// Whether the device is split, into a part for each contender.
    pub split: bool,
}

/// Where a plan runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Loop-backed images of this many bytes.
    Image(u64),
    /// A block device or partition.
    Device(PathBuf),
    /// A directory on whatever is mounted there.
    Directory(PathBuf),
}

/// One workload of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWork {
    /// Name of the workload.
    pub name: String,
    /// Scale; `quick` where nothing is said.
    pub scale: String,
    /// Options by name.
    pub settings: BTreeMap<String, String>,
}

/// How samples are taken. What is None is left to the runner's defaults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sampling {
    /// Exactly so many trials of each contender.
    pub samples: Option<u32>,
    /// At least so many.
    pub least: Option<u32>,
    /// At most so many.
    pub most: Option<u32>,
    /// Stop when the 95 % half-width is below this share of the mean, as a share of 1.
    pub precision: Option<f64>,
    /// Stop after this long.
    pub budget: Option<Duration>,
    /// What is asked for.
    pub until: Until,
    /// Phases over blocks are repeated until they are steady, as SNIA asks for SSDs.
    #[serde(default)]
    pub steady: bool,
}
