//! What an axis is, and which changes it may make to the machine around a trial.
//! In: a contender, a value, the [`Ground`] that a stage offers. Out: changed options, labels, settings applied and read back.
//! The ground reverts every change: it records each one before making it.

use records::{Contender, OptionFound};
use std::path::{Path, PathBuf};

/// The value that leaves a setting unchanged.
pub const DEFAULT: &str = "default";

/// Type of an axis' values. The plan language parses them by it, and stores each in one notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Words, as they are.
    Words,
    /// Bytes, kept as [`crate::exact_size`] writes them, or [`DEFAULT`].
    Sizes,
    /// Shares of a volume to fill, kept as `40%`.
    Fills,
}

/// When an axis changes the machine, in the order of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// On the device, before its filesystem is made: the scheduler first, since setting one resets the queue.
    Scheduler,
    /// On the device, after that.
    Queue,
    /// On the mounted filesystem, before the engine starts.
    Mounted,
}

/// Properties of an axis, whatever its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Name, as written in plans and on command lines; for a family the prefix with the dot (`mkfs.`).
    pub name: &'static str,
    /// What its values are.
    pub takes: Takes,
    /// Value of a contender that requests none.
    pub usual: &'static str,
    /// When it acts.
    pub moment: Moment,
    /// Whether values are ordered even if there are only a few.
    pub is_ordered: bool,
    /// Whether ranks are positions on a scale that a chart shows.
    pub is_scale: bool,
}

impl About {
    /// An axis of unordered words that acts on the mounted filesystem.
    pub const fn named(name: &'static str) -> About {
        let (takes, usual, moment) = (Takes::Words, DEFAULT, Moment::Mounted);
        About { name, takes, usual, moment, is_ordered: false, is_scale: false }
    }
}

/// One entry of the table.
pub trait Axis: Sync {
    /// Its properties.
    fn about(&self) -> About;

    /// Whether a value is valid; the error gives the reason.
    fn check(&self, _setting: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }

    /// Changes the contender's options, for an axis whose value is also an option.
    fn put(&self, _contender: &mut Contender, _setting: &str, _value: &str) {}

    /// Removes those options.
    fn clear(&self, _contender: &mut Contender, _setting: &str) {}

    /// The value among those options, whatever set it; None if there is none or the axis has no option.
    fn asked(&self, _contender: &Contender, _setting: &str) -> Option<String> {
        None
    }

    /// Settings and values that it applies to a contender's trials, whatever set them.
    fn applies(&self, contender: &Contender) -> Vec<(String, String)> {
        let value = contender.axes.get(self.about().name).filter(|value| *value != DEFAULT);
        value.map(|value| (String::new(), value.clone())).into_iter().collect()
    }

    /// What a value adds to a label.
    fn label(&self, setting: &str, value: &str) -> String {
        format!(" {setting}={value}")
    }

    /// Rank of a value, for values that have an order: numbers by default, overridden where the axis has a better order.
    fn rank(&self, value: &str) -> Option<f64> {
        value.trim_end_matches('%').parse::<f64>().ok().filter(|value| value.is_finite())
    }

    /// Whether it can be applied on this machine; the error gives the reason and a remedy.
    fn works_here(&self, _machine: &dyn Look) -> Result<(), String> {
        Ok(())
    }

    /// Applies a value around a trial at its moment. Axes that define the contender's storage (mkfs, mount, age, fill, kernel) do nothing
    /// here: their values are the stage's own input.
    fn apply(&self, _setting: &str, _value: &str, _ground: &mut dyn Ground) -> Result<Applied, String> {
        Ok(Applied::default())
    }

    /// What the system shows of it; an error if it did not take effect.
    fn read_back(&self, _seen: &Seen) -> Result<Vec<OptionFound>, String> {
        Ok(Vec::new())
    }

    /// What the system shows after the work.
    fn after(&self, _seen: &Seen) -> Vec<OptionFound> {
        Vec::new()
    }

    /// Why the work failed, if this axis caused it.
    fn explains(&self, _seen: &Seen) -> Option<String> {
        None
    }
}

/// What applying a value produced for the trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Words to put before the engine's command.
    pub enter: Vec<String>,
    /// The kernel's file that shows it; empty if there is none.
    pub shown: PathBuf,
    /// Remarks to store with the results.
    pub remarks: Vec<String>,
    /// The kernel no longer sends flushes to the device.
    pub flushes_off: bool,
}

/// A value that was applied, and the machine that may show it.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The setting within a family; empty for an axis outside a family.
    pub setting: &'a str,
    /// The value.
    pub value: &'a str,
    /// What applying it produced.
    pub applied: &'a Applied,
    /// The machine that shows it.
    pub machine: &'a dyn Look,
}

/// Read access of axes to the machine.
pub trait Look {
    /// Text of one of the kernel's files; None if it does not exist.
    fn read(&self, path: &Path) -> Option<String>;
    /// Names in one of the kernel's folders; none if it does not exist.
    fn names(&self, folder: &Path) -> Vec<String>;
}

/// The disk under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Its name below /sys/block; a name may contain slashes: `nvme0n1`.
    pub name: String,
    /// Whether it is an image created by Bakeoff, on a disk of its own.
    pub on_image: bool,
}

/// Changes to the machine that a stage offers to axes. Each is a command that a user could type; all are reverted at the end, last first.
pub trait Ground: Look {
    /// Name for what is created, unique to the run: `bakeoff-0a1b2c3d`.
    fn name(&self) -> String;
    /// The disk under test; None if the filesystem is on no disk that this kernel shows.
    fn disk(&self) -> Option<Disk>;
    /// Whether the filesystem has a cache of its own in addition to the kernel's.
    fn has_own_cache(&self) -> bool;
    /// Sets one of the kernel's files, which is set to `back` at the end.
    fn set(&mut self, path: &Path, value: &str, back: &str) -> Result<(), String>;
    /// Creates a control group, which is removed at the end.
    fn make_group(&mut self, group: &Path) -> Result<(), String>;
    /// Writes to a file of a group that was created here; removing the group reverts it.
    fn write(&mut self, path: &Path, value: &str) -> Result<(), String>;
}
