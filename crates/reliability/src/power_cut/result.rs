//! What a contender's power cuts came to.

use super::promises::{self, Later};
use disk::State;
use records::Durability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How much a promise weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// POSIX or the manual pages of fsync(2), open(2), rename(2) give it: a program may rely on it.
    Promised,
    /// Nobody gives it, and many programs live by it.
    Hoped,
}

/// So many of so many, with the 95 % interval of the share (Clopper and Pearson 1934).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// Of how many.
    pub of: u32,
    /// The share is at least this.
    pub low: f64,
    /// And at most this.
    pub high: f64,
}

/// A state in which a promise was seen broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// What was found.
    pub found: String,
    /// After which of the disk's events the power went.
    pub cut: usize,
    /// What of the writes that were not safe was left, in words.
    pub left: String,
    /// How many writes were not safe.
    pub pending: usize,
    /// The state, while its record lives.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) state: Option<State>,
}

/// How a promise stood the cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Given {
    /// It was never seen broken.
    Kept,
    /// It was.
    Broken,
    /// No state put it to the test.
    Untested,
}

/// A guarantee as it is, or with a later fsync.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantResult {
    /// What was synced after the guarantee's own steps; null: nothing.
    pub later: Option<Later>,
    /// How it stood the cuts.
    pub given: Given,
    /// States in which it was broken, of those in which it was put to the test.
    pub broken: Rate,
    /// The same of the states that a disk leaves which keeps the order of writes.
    pub broken_in_order: Rate,
    /// A state that shows it, with as few writes that were not safe as any.
    pub example: Option<Example>,
}

/// One promise: its figures are those of the worst of its variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromiseResult {
    /// Its name, as in docs/power-cut.md.
    pub name: String,
    /// What is promised, in a sentence.
    pub title: String,
    /// How much it weighs.
    pub strength: Strength,
    /// How it stood the cuts.
    pub given: Given,
    /// States in which it was broken, of those in which it was put to the test.
    pub broken: Rate,
    /// The same of the states that a disk leaves which keeps the order of writes.
    pub broken_in_order: Rate,
    /// A state that shows it, with as few writes that were not safe as any.
    pub example: Option<Example>,
    /// The later fsync with which it is worst; null where that is the guarantee as it is.
    #[serde(default)]
    pub worst: Option<Later>,
    /// Its variants; none in results of versions that had none.
    #[serde(default)]
    pub variants: Vec<VariantResult>,
}

impl PromiseResult {
    /// Takes the figures of the variant that is broken in the largest share of its cuts.
    pub(crate) fn take_worst(&mut self) {
        let rank = |one: &VariantResult| match one.given {
            Given::Broken => 1.0 + f64::from(one.broken.count) / f64::from(one.broken.of.max(1)),
            // The one that was put to the test least is known least.
            Given::Kept => one.broken.high.min(0.99),
            Given::Untested => -1.0,
        };
        // Of equals the first: the guarantee as it is.
        let worst = self.variants.iter().rev().max_by(|one, other| rank(one).total_cmp(&rank(other)));
        let Some(worst) = worst.cloned() else { return };
        (self.given, self.broken, self.broken_in_order) = (worst.given, worst.broken, worst.broken_in_order);
        self.example = worst.example;
        self.worst = worst.later.filter(|_| worst.given == Given::Broken);
    }
}

/// A program whose power was cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramResult {
    /// Its words.
    pub command: String,
    /// Lines that it printed, each of which acknowledges something.
    pub acknowledged: usize,
    /// Whether all that it had acknowledged was there after every cut.
    pub given: Given,
    /// States in which something that it had acknowledged was gone.
    pub lost: Rate,
    /// The same of the states that a disk leaves which keeps the order of writes.
    pub lost_in_order: Rate,
    /// A state that shows it, with as few writes that were not safe as any.
    pub example: Option<Example>,
}

/// How mounting went after the cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mounts {
    /// States that could not be mounted.
    pub refused: Rate,
    /// The same of the states in which a block of 4,096 bytes was written in part: a disk with sectors of 512 bytes leaves such, one with sectors of 4,096 does not.
    pub refused_torn: Rate,
    /// What the system answered, and the kernel's last words of the device, in the state with as few writes that were not safe as any.
    pub refusal: Option<Example>,
    /// States at which the kernel of a virtual machine ended, or hung: of those mounted on this machine's own none can be.
    pub kernel_lost: Rate,
    /// What it said last, in the state with as few writes that were not safe as any.
    pub kernel_loss: Option<Example>,
    /// Seconds that mounting took.
    pub seconds: Figures,
    /// States after which the filesystem's own check, once it was mounted and unmounted, found damage, of those that it was asked about.
    pub damaged: Rate,
    /// What the check said, the first time.
    pub damage: Option<String>,
}

/// How many of so many states that could not be mounted had a torn block, to be put behind that; empty for none.
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

/// How a contender stood the power cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survived {
    /// Its label.
    pub contender: String,
    /// Its filesystem, by the name of its description.
    pub filesystem: String,
    /// The driver that mounted it, where that is another filesystem's: ext4's for ext2 and ext3; null where it is its own.
    #[serde(default)]
    pub driver: Option<String>,
    /// What that description says of its durability, as it was mounted.
    pub class: Durability,
    /// Kernel on which it was cut.
    pub kernel: String,
    /// Whether that was a virtual machine's.
    pub guest: bool,
    /// Options with which it was mounted, as the kernel shows them.
    pub mount_options: Vec<String>,
    /// States that were looked at.
    pub states: u32,
    /// Of these, such as a disk leaves that keeps the order of writes.
    pub in_order: u32,
    /// Events of the disk while the work was done: writes, completions, flushes, marks.
    pub events: usize,
    /// Writes among them.
    pub writes: usize,
    /// Flushes that the filesystem sent.
    pub flushes: usize,
    /// The promises; none where a program was cut.
    pub promises: Vec<PromiseResult>,
    /// The program, where one was cut.
    pub program: Option<ProgramResult>,
    /// Seconds of work whose calls had returned and that was never synced, and that was gone.
    pub lost_seconds: Figures,
    /// Most bytes of old or other files' content that one state showed in a file that never held them.
    pub foreign_bytes: u64,
    /// How mounting went.
    pub mounts: Mounts,
    /// Where this contradicts what the filesystem's description says of its durability: one of them is wrong.
    pub contradictions: Vec<String>,
    /// Descriptions of the states that were kept, each of which `powercut --again` looks at anew.
    pub kept: Vec<PathBuf>,
    /// Seed of the work and of the states.
    pub seed: u64,
    /// Whether the disk lied about its flushes.
    pub lying: bool,
    /// Whether every state had a write that was torn within a block, so that shares say nothing of cuts at large.
    pub torn: bool,
    /// Seconds that all of it took.
    pub seconds: f64,
}

impl Survived {
    /// Its label for people, with the driver where that is another filesystem's.
    pub fn shown(&self) -> String {
        crate::description::with_driver(&self.contender, self.driver.as_ref())
    }

    /// Whether every guarantee that programs may rely on was put to the test.
    pub fn tested_all(&self) -> bool {
        let is_tested = |name| self.promises.iter().any(|one| one.name == name && one.given != Given::Untested);
        promises::promised().all(is_tested)
    }

    /// The promises of this weight that were broken.
    pub fn broken(&self, strength: Strength) -> impl Iterator<Item = &PromiseResult> {
        self.promises.iter().filter(move |one| one.strength == strength && one.given == Given::Broken)
    }
}
