//! What an axis is, and what it may do to the machine around a trial.
//! In: a contender, a value, the [`Ground`] that a stage offers. Out: changed options, labels, settings made and read back.
//! Undoing is the ground's: it writes down every effect before it is made, and takes it back whatever happens.

use records::{Contender, OptionFound};
use std::path::{Path, PathBuf};

/// The value that leaves a setting as it is without the axis.
pub const DEFAULT: &str = "default";

/// What the values of an axis are; the plan language reads them so, and keeps them in one way of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Words, as they are.
    Words,
    /// Bytes, kept as [`crate::exact_size`] writes them, or [`DEFAULT`].
    Sizes,
    /// Shares of a volume that can be filled, kept as `40%`.
    Fills,
}

/// When an axis acts on the machine, in the order of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// On the device, before its filesystem is made: the scheduler first, since setting one resets the queue.
    Scheduler,
    /// On the device, after that.
    Queue,
    /// On the mounted filesystem, before the engine starts.
    Mounted,
}

/// What is to be known of an axis, whatever its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Name, as plans and command lines write it; of a family its beginning with the dot (`mkfs.`).
    pub name: &'static str,
    /// What its values are.
    pub takes: Takes,
    /// Value of a contender that was asked for nothing.
    pub usual: &'static str,
    /// When it acts.
    pub moment: Moment,
    /// Whether values have an order of their own however few they are.
    pub is_ordered: bool,
    /// Whether ranks are positions on a scale that a chart shows.
    pub is_scale: bool,
}

impl About {
    /// Of words without an order, and on the mounted filesystem.
    pub const fn named(name: &'static str) -> About {
        let (takes, usual, moment) = (Takes::Words, DEFAULT, Moment::Mounted);
        About { name, takes, usual, moment, is_ordered: false, is_scale: false }
    }
}

/// One entry of the table.
pub trait Axis: Sync {
    /// What is to be known of it.
    fn about(&self) -> About;

    /// Whether a value can be meant; why not.
    fn check(&self, _setting: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }

    /// Changes the options that a contender is asked for, where the axis has any beside its own place.
    fn put(&self, _contender: &mut Contender, _setting: &str, _value: &str) {}

    /// Takes them off.
    fn clear(&self, _contender: &mut Contender, _setting: &str) {}

    /// The value among those options, wherever it came from; None where there is none or the axis keeps none.
    fn asked(&self, _contender: &Contender, _setting: &str) -> Option<String> {
        None
    }

    /// Settings and values that it applies to a contender's trials, wherever they came from.
    fn applies(&self, contender: &Contender) -> Vec<(String, String)> {
        let value = contender.axes.get(self.about().name).filter(|value| *value != DEFAULT);
        value.map(|value| (String::new(), value.clone())).into_iter().collect()
    }

    /// What a value adds to a label.
    fn label(&self, setting: &str, value: &str) -> String {
        format!(" {setting}={value}")
    }

    /// Where a value stands among the others, for those that have an order: numbers, and whatever the axis knows better.
    fn rank(&self, value: &str) -> Option<f64> {
        value.trim_end_matches('%').parse::<f64>().ok().filter(|value| value.is_finite())
    }

    /// Whether it can be applied on this ground; why not, and what would help.
    fn works_here(&self, _machine: &dyn Look) -> Result<(), String> {
        Ok(())
    }

    /// Applies a value around a trial at its moment. Axes that say what a trial stands on (mkfs, mount, age, fill, kernel) have
    /// nothing left to do here: their values are the stage's own input.
    fn apply(&self, _setting: &str, _value: &str, _ground: &mut dyn Ground) -> Result<Applied, String> {
        Ok(Applied::default())
    }

    /// What the system shows of it; an error where it did not take.
    fn read_back(&self, _seen: &Seen) -> Result<Vec<OptionFound>, String> {
        Ok(Vec::new())
    }

    /// What the system shows after the work.
    fn after(&self, _seen: &Seen) -> Vec<OptionFound> {
        Vec::new()
    }

    /// Why the work failed, where that was this axis' doing.
    fn explains(&self, _seen: &Seen) -> Option<String> {
        None
    }
}

/// What applying a value left behind for the trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Words before the engine's command.
    pub enter: Vec<String>,
    /// Where in the kernel's files it shows; empty where nowhere.
    pub shown: PathBuf,
    /// What belongs beside the results.
    pub remarks: Vec<String>,
    /// The kernel sends the device no flushes any more.
    pub flushes_off: bool,
}

/// A value that was applied, and the machine that may show it.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The setting of a family; empty for an axis that stands alone.
    pub setting: &'a str,
    /// The value.
    pub value: &'a str,
    /// What applying it left.
    pub applied: &'a Applied,
    /// Where it shows.
    pub machine: &'a dyn Look,
}

/// How axes look at the machine.
pub trait Look {
    /// Text of one of the kernel's files; None where there is none.
    fn read(&self, path: &Path) -> Option<String>;
    /// Names in one of the kernel's folders; none where there is none.
    fn names(&self, folder: &Path) -> Vec<String>;
}

/// The disk under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Its name below /sys/block, with the slashes that a name may have: `nvme0n1`.
    pub name: String,
    /// Whether it is an image of ours, on a disk of its own.
    pub on_image: bool,
}

/// What a stage lets axes do to the machine. Each effect is a command that a person could type, and is undone in the end, last first.
pub trait Ground: Look {
    /// Name for what is made, unique to the run: `bakeoff-0a1b2c3d`.
    fn name(&self) -> String;
    /// The disk under test; None where the filesystem lies on none that this kernel shows.
    fn disk(&self) -> Option<Disk>;
    /// Whether the filesystem keeps a cache of its own beside the kernel's.
    fn has_own_cache(&self) -> bool;
    /// Sets one of the kernel's files, which gets `back` in the end.
    fn set(&mut self, path: &Path, value: &str, back: &str) -> Result<(), String>;
    /// Makes a control group, which is removed in the end.
    fn make_group(&mut self, group: &Path) -> Result<(), String>;
    /// Writes to a file of a group that was made here, and goes with it.
    fn write(&mut self, path: &Path, value: &str) -> Result<(), String>;
}
