//! A plan: contenders x workloads x how to sample them, and where.
//! In: TOML in the language of `docs/workloads.md`. Out: [`Plan`], with axes multiplied out on demand.
//! Names of filesystems, schedulers and workloads are texts here; [`crate::names`] resolves them.

use crate::axes::Axes;
use crate::contender::Contender;
pub use records::plan::Until;
use records::{ColdWay, Turns};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What to compare, with which work, how often and where.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Name on the command line.
    pub name: String,
    /// Heading of the report.
    pub title: String,
    /// Its purpose.
    pub about: String,
    /// Where it runs; None: the command line or the default decides.
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
    /// Number of samples, precision, budget.
    pub sampling: Sampling,
    /// Seed of orders and of every workload; None: drawn at the start of a run and recorded.
    pub seed: Option<u64>,
    /// How the cold state is produced; None: the command line or the default decides.
    pub cold: Option<ColdWay>,
    /// What the contenders' turns consist of; None: the command line or the default decides.
    pub turns: Option<Turns>,
    /// Whether the device is divided into a part for each contender.
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
    /// A directory on an existing mount.
    Directory(PathBuf),
}

/// One workload of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWork {
    /// Name of the workload.
    pub name: String,
    /// Scale; None: the command line or the default decides.
    pub scale: Option<String>,
    /// Options by name.
    pub settings: BTreeMap<String, String>,
}

/// How samples are taken. None leaves a setting to the runner's default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sampling {
    /// Exact number of trials of each contender.
    pub samples: Option<u32>,
    /// Lowest number.
    pub least: Option<u32>,
    /// Highest number.
    pub most: Option<u32>,
    /// Stop when the 95 % half-width is below this share of the mean, as a share of 1.
    pub precision: Option<f64>,
    /// Stop after this long.
    pub budget: Option<Duration>,
    /// The goal of the sampling.
    pub until: Until,
    /// Phases over blocks are repeated until they reach steady state, as SNIA requires for SSDs.
    #[serde(default)]
    pub steady: bool,
}
