//! A resolved plan: every name resolved, enough to carry it out, to resume it and to repeat it.
//! In: made by the command line from plans, workloads and catalogues. Out: kept complete in the ledger's run record.

use crate::ageing::Profile;
use crate::cold::ColdWay;
use crate::contender::{Contender, DEVICE};
use crate::custody::Terms;
use crate::facts::Compiled;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most rounds if only a precision or a budget ends a run.
pub const MOST_BLOCKS: u32 = 30;
/// Least rounds if a precision is requested: docs/method.md, three to screen.
pub const LEAST_BLOCKS: u32 = 3;

/// What to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolvedPlan {
    /// The question in one line.
    pub title: String,
    /// Where it runs.
    pub place: Place,
    /// The user's permissions for devices, and the devices that the run began on.
    pub terms: Terms,
    /// Contenders as requested; hidden twins come last.
    pub contenders: Vec<PlannedContender>,
    /// Workloads, compiled.
    pub works: Vec<Work>,
    /// Number of repetitions.
    pub sampling: Sampling,
    /// How cold phases are started.
    pub cold: ColdWay,
    /// What contenders alternate by; absent for whole trials, as in plans from before this was a choice.
    #[serde(default, skip_serializing_if = "Turns::is_trial")]
    pub turns: Turns,
    /// Whether to split a device into a part per contender; absent if not, as in plans from before this was a choice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub split: bool,
    /// Seed of orders and contents.
    pub seed: u64,
    /// Which part this is, if the plan is divided over several machines.
    pub shard: Option<Shard>,
    /// How contenders are aged; absent if all are fresh.
    pub ages: Option<Ages>,
    /// The user's files that describe filesystems of this plan.
    pub filesystems: Vec<PathBuf>,
    /// What was left out of the product of axes or not multiplied by one, a sentence each.
    pub notes: Vec<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What contenders alternate by within a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// Whole trials: a contender is measured from its first phase to its last, then the next one.
    #[default]
    Trial,
    /// Slices: all contenders are mounted at the same time. Phases over many items are divided into slices of a fraction of a second, each
    /// measured on all contenders before the next; an indivisible phase is one slice.
    Slice,
    /// As slices, but every second contender of the plan takes its slices of a phase in one piece, in the place of one of them: with the same
    /// contender under two names this shows what slices change.
    Mixed,
}

impl Turns {
    fn is_trial(&self) -> bool {
        *self == Turns::Trial
    }
}

/// One part of a plan that is divided by rounds: part `index` of `of` has every `of`-th round. Every round stays whole on one machine, so
/// that contenders are compared on the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

/// Most parts of a plan.
pub const MOST_SHARDS: u32 = 1000;

impl std::str::FromStr for Shard {
    type Err = String;

    /// Parses `2/4`, counted from 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Option<(u32, u32)> =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((index, of)) if 1 <= index && index <= of && of <= MOST_SHARDS => Ok(Shard { index: index - 1, of }),
            _ => {
                Err(format!("write it as I/N, such as 2/4: shard I of N, from 1/N to N/N, with N up to {MOST_SHARDS}"))
            }
        }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.index + 1, self.of)
    }
}

impl Shard {
    /// Whether a round belongs to this part.
    pub fn holds(self, block: u32) -> bool {
        block % self.of == self.index
    }
}

/// Where a plan runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Place {
    /// Loop-backed images of this many bytes, in a folder.
    Image {
        /// Size of each image.
        bytes: u64,
        /// Folder that holds them.
        scratch: PathBuf,
    },
    /// A block device or partition.
    Device {
        /// By any name.
        path: PathBuf,
    },
    /// Directories; contender `n` works in directory `n`.
    Directories(Vec<PathBuf>),
}

impl Place {
    /// Whether its images are in memory, in Linux's folder for that, so that no disk is involved.
    pub fn is_in_memory(&self) -> bool {
        matches!(self, Place::Image { scratch, .. } if scratch.starts_with("/dev/shm"))
    }
}

/// One contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedContender {
    /// As requested.
    pub asked: Contender,
    /// Index of the contender that this repeats, hidden from the user's table.
    pub twin_of: Option<usize>,
    /// Names of its workloads; empty: all.
    pub works: Vec<String>,
}

/// One workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Name.
    pub name: String,
    /// Heading.
    pub title: String,
    /// What it does, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Names of settings with which a crash may destroy data on filesystems that write in place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker_in_place: Vec<String>,
    /// Compiled for its scale and settings.
    pub compiled: Compiled,
}

/// Number of repetitions, and when to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Exact number of rounds; absent: until precise, or the budget is spent.
    pub samples: Option<u32>,
    /// Half-width of the 95 % interval that is precise enough, as a share of 1.
    pub precision: f64,
    /// Seconds to spend.
    pub budget_seconds: Option<f64>,
    /// Whether the least rounds are completed even if that takes up to twice the budget: without them there is no interval, and a default
    /// budget must not prevent an answer.
    pub screen_first: bool,
    /// What to establish.
    pub until: Until,
    /// Least and most rounds.
    pub blocks: (u32, u32),
    /// Whether a trial with outside disturbance is repeated (at most a tenth of all trials).
    pub repeat_disturbed: bool,
    /// Whether phases over blocks are repeated until they are steady, as for SSDs.
    pub steady: bool,
}

impl Sampling {
    /// Least and most rounds; both are the same if the number is fixed.
    pub fn range(&self) -> (u32, u32) {
        self.samples.map_or(self.blocks, |samples| (samples, samples))
    }
}

/// What sampling must establish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// Every figure to the requested precision.
    #[default]
    Precision,
    /// Only the winner: contenders that can no longer win are not run any more.
    Winner,
}

/// How contenders are aged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ages {
    /// Profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Folder of aged images.
    pub folder: PathBuf,
    /// Most bytes that they may take together.
    pub limit: u64,
}

impl Ages {
    /// Profile and fill share of a contender; None if it is fresh.
    pub fn of(&self, contender: &Contender) -> Option<(&Profile, f64)> {
        let (name, fill) = contender.ageing()?;
        let profile = self.profiles.get(name)?;
        Some((profile, fill.unwrap_or(profile.fill)))
    }
}

impl ResolvedPlan {
    /// Whether this contender runs this workload: the raw device runs those that read it, all others the rest, or those chosen for them;
    /// without ageing there are no aged files to read.
    pub fn meets(&self, contender: usize, work: usize) -> bool {
        let entry = &self.contenders[contender];
        let raw = entry.asked.filesystem == DEVICE;
        let estimate = &self.works[work].compiled.estimate;
        let chosen = entry.works.is_empty() || entry.works.contains(&self.works[work].name);
        let aged = !estimate.needs_aged || entry.asked.ageing().is_some();
        chosen && aged && raw == (estimate.needs_device && !estimate.needs_files)
    }

    /// Contenders that run a workload.
    pub fn contenders_of(&self, work: usize) -> Vec<usize> {
        (0..self.contenders.len()).filter(|contender| self.meets(*contender, work)).collect()
    }

    /// Whether its place is a device that is only read: no contender is a filesystem.
    pub fn only_reads_device(&self) -> bool {
        let is_raw = |entry: &PlannedContender| entry.asked.filesystem == DEVICE;
        matches!(self.place, Place::Device { .. }) && self.contenders.iter().all(is_raw)
    }

    /// Trials of one round.
    pub fn trials_per_block(&self) -> usize {
        (0..self.works.len()).map(|work| self.contenders_of(work).len()).sum()
    }

    /// Least rounds that are run here.
    pub fn least_blocks(&self) -> u32 {
        let (blocks, _) = self.sampling.range();
        self.shard.map_or(blocks, |shard| (0..blocks).filter(|block| shard.holds(*block)).count() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_out_every_block_once() {
        let shards: Vec<Shard> = (1..=4).map(|part| format!("{part}/4").parse().expect("a shard")).collect();
        for block in 0..40 {
            assert_eq!(shards.iter().filter(|shard| shard.holds(block)).count(), 1, "block {block}");
        }
        assert_eq!(shards[1].to_string(), "2/4");
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b", "1/1001", "-1/4", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
