//! Results of a contender's power cuts.

use super::promises::{self, Later};
use disk::State;
use records::Durability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Whether a guarantee is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// POSIX or the manual pages of fsync(2), open(2), rename(2) promise it: a program may rely on it.
    Promised,
    /// No standard promises it, but many programs rely on it.
    Hoped,
}

/// A count of a total, with the 95 % interval of the share (Clopper and Pearson 1934).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// The count.
    pub count: u32,
    /// The total.
    pub of: u32,
    /// Lower end of the share's interval.
    pub low: f64,
    /// Upper end of the share's interval.
    pub high: f64,
}

/// A state in which a promise was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// What was found.
    pub found: String,
    /// After which of the disk's events the power went.
    pub cut: usize,
    /// Which of the writes that were not safe were left, in words.
    pub left: String,
    /// How many writes were not safe.
    pub pending: usize,
    /// The state, while its record lives.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) state: Option<State>,
}

/// Whether a promise was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Given {
    /// No state broke it.
    Kept,
    /// At least one state broke it.
    Broken,
    /// No state tested it.
    Untested,
}

/// A guarantee as it is, or with a later fsync.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantResult {
    /// What was synced after the guarantee's own steps; null for nothing.
    pub later: Option<Later>,
    /// Whether it was kept.
    pub given: Given,
    /// States in which it was broken, of those that tested it.
    pub broken: Rate,
    /// The same for states that a disk leaves if it keeps the order of writes.
    pub broken_in_order: Rate,
    /// A state that shows it, with the fewest writes that were not safe.
    pub example: Option<Example>,
}

/// One promise: its figures are those of the worst of its variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromiseResult {
    /// Its name, as in docs/power-cut.md.
    pub name: String,
    /// What is promised, in a sentence.
    pub title: String,
    /// Whether it is promised.
    pub strength: Strength,
    /// Whether it was kept.
    pub given: Given,
    /// States in which it was broken, of those that tested it.
    pub broken: Rate,
    /// The same for states that a disk leaves if it keeps the order of writes.
    pub broken_in_order: Rate,
    /// A state that shows it, with the fewest writes that were not safe.
    pub example: Option<Example>,
    /// The later fsync with the worst result; null if the guarantee without one is the worst.
    #[serde(default)]
    pub worst: Option<Later>,
    /// Its variants; none in results of older versions.
    #[serde(default)]
    pub variants: Vec<VariantResult>,
}

impl PromiseResult {
    /// Takes the figures of the variant that is broken in the largest share of its cuts.
    pub(crate) fn take_worst(&mut self) {
        let rank = |one: &VariantResult| match one.given {
            Given::Broken => 1.0 + f64::from(one.broken.count) / f64::from(one.broken.of.max(1)),
            // The variant tested least is the least certain.
            Given::Kept => one.broken.high.min(0.99),
            Given::Untested => -1.0,
        };
        // If equal, the first: the guarantee as it is.
        let worst = self.variants.iter().rev().max_by(|one, other| rank(one).total_cmp(&rank(other)));
        let Some(worst) = worst.cloned() else { return };
        (self.given, self.broken, self.broken_in_order) = (worst.given, worst.broken, worst.broken_in_order);
        self.example = worst.example;
        self.worst = worst.later.filter(|_| worst.given == Given::Broken);
    }
}

/// A tested program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramResult {
    /// Its words.
    pub command: String,
    /// Lines that it printed, each an acknowledgement.
    pub acknowledged: usize,
    /// Whether all acknowledged data was there after every cut.
    pub given: Given,
    /// States in which acknowledged data was gone.
    pub lost: Rate,
    /// The same for states that a disk leaves if it keeps the order of writes.
    pub lost_in_order: Rate,
    /// A state that shows it, with the fewest writes that were not safe.
    pub example: Option<Example>,
}

/// How mounting went after the cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mounts {
    /// States that could not be mounted.
    pub refused: Rate,
    /// The same for states with a partly written block of 4,096 bytes, as on disks with sectors of 512 bytes, but not of 4,096.
    pub refused_torn: Rate,
    /// The system's error, and the kernel's last messages about the device, in the state with the fewest writes that were not safe.
    pub refusal: Option<Example>,
    /// States that crashed or hung the kernel of a virtual machine; none of those mounted by this machine's own kernel.
    pub kernel_lost: Rate,
    /// Its last messages, in the state with the fewest writes that were not safe.
    pub kernel_loss: Option<Example>,
    /// Seconds that mounting took.
    pub seconds: Figures,
    /// States in which the filesystem's own check found damage after a mount and unmount, of those that were checked.
    pub damaged: Rate,
    /// Output of the check, the first time.
    pub damage: Option<String>,
}

/// How many of the unmountable states had a torn block, as a suffix; empty for none.
pub fn torn_in_words(count: u32, torn: u32) -> String {
    let written = "with a partly written 4 KiB block, as on disks with smaller sectors";
    match torn {
        0 => String::new(),
        1 if count == 1 => format!(", {written}"),
        _ if torn == count => format!(", each {written}"),
        _ => format!(", {torn} of them {written}"),
    }
}

/// The middle and the worst of some figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The median; absent where there are none.
    pub median: Option<f64>,
    /// The largest.
    pub worst: Option<f64>,
}

/// Results of a contender's power cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survived {
    /// Its label.
    pub contender: String,
    /// Its filesystem, by the name of its description.
    pub filesystem: String,
    /// The driver that mounted it, if it is another filesystem's (ext4's for ext2 and ext3); null if it is its own.
    #[serde(default)]
    pub driver: Option<String>,
    /// Its durability by that description, as it was mounted.
    pub class: Durability,
    /// Kernel that mounted it.
    pub kernel: String,
    /// Whether that kernel ran in a virtual machine.
    pub guest: bool,
    /// Options with which it was mounted, as the kernel shows them.
    pub mount_options: Vec<String>,
    /// Inspected states.
    pub states: u32,
    /// States among them as left by a disk that keeps the order of writes.
    pub in_order: u32,
    /// Events of the disk while the work was done: writes, completions, flushes, marks.
    pub events: usize,
    /// Writes among them.
    pub writes: usize,
    /// Flushes that the filesystem sent.
    pub flushes: usize,
    /// The promises; none if a program was tested.
    pub promises: Vec<PromiseResult>,
    /// The program, if one was tested.
    pub program: Option<ProgramResult>,
    /// Lost seconds of unsynced work whose calls had returned.
    pub lost_seconds: Figures,
    /// Bytes of old or other files' content in a file that never contained them; the most in any state.
    pub foreign_bytes: u64,
    /// How mounting went.
    pub mounts: Mounts,
    /// Contradictions between this and the durability in the filesystem's description: one of them is wrong.
    pub contradictions: Vec<String>,
    /// Descriptions of saved states, each of which `powercut --again` inspects again.
    pub kept: Vec<PathBuf>,
    /// Seed of the work and of the states.
    pub seed: u64,
    /// Whether the disk ignored flushes.
    pub lying: bool,
    /// Whether every state had a write torn within a block, so that shares do not apply to cuts in general.
    pub torn: bool,
    /// Total duration in seconds.
    pub seconds: f64,
}

impl Survived {
    /// Its label for output, with the driver if it is another filesystem's.
    pub fn shown(&self) -> String {
        crate::description::with_driver(&self.contender, self.driver.as_ref())
    }

    /// Whether every guarantee that programs may rely on was tested.
    pub fn tested_all(&self) -> bool {
        let is_tested = |name| self.promises.iter().any(|one| one.name == name && one.given != Given::Untested);
        promises::promised().all(is_tested)
    }

    /// The broken promises of this strength.
    pub fn broken(&self, strength: Strength) -> impl Iterator<Item = &PromiseResult> {
        self.promises.iter().filter(move |one| one.strength == strength && one.given == Given::Broken)
    }
}
