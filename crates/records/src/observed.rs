//! What was found on a stage, as opposed to what was asked for; kept with every trial.
//! In: the system's own word. Out: values for the ledger.
//! What is not known is absent, never zero.

use crate::ageing::{Aged, Layout};
use crate::device::BlockDevice;
use crate::durability::Durability;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was found after mounting.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Filesystem type by the kernel's word.
    pub filesystem: String,
    /// Options of the mount, by the kernel's word.
    pub mount_options: Vec<String>,
    /// Options of the filesystem, by the kernel's word.
    pub super_options: Vec<String>,
    /// Further options that the filesystem shows elsewhere, defaults included.
    pub more_options: Vec<String>,
    /// What the filesystem's own tools say, by name of the command.
    pub inspected: BTreeMap<String, String>,
    /// Every option that was asked for, with what was read back.
    pub options: Vec<OptionFound>,
    /// I/O scheduler of the device.
    pub scheduler: Option<String>,
    /// The device under test, with its queue as it was during the trial.
    pub device: Option<BlockDevice>,
    /// The devices beneath it.
    pub beneath: Vec<BlockDevice>,
    /// What else uses a device that is only read, each in a few words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_use: Vec<String>,
    /// What it promises for data.
    pub durability: Durability,
    /// What must be said beside the results: what could not be done, read back or controlled.
    pub remarks: Vec<String>,
    /// Whether caches can be emptied here, so that a cold start is one.
    pub cold_possible: bool,
    /// Bytes and inodes right after mkfs.
    pub empty: Usage,
    /// What is known of its age; absent where it is fresh.
    pub aged: Option<Restored>,
    /// Seconds that making took; absent where nothing was made.
    pub mkfs_seconds: Option<f64>,
    /// Seconds that mounting took; absent where nothing was mounted, or where making includes it.
    pub mount_seconds: Option<f64>,
    /// What ran it, where that is a guest; absent on the host.
    pub backend: Option<Backend>,
    /// Release of the guest's kernel; absent on the host.
    pub kernel: Option<String>,
    /// Seconds that the guest took to boot; absent on the host.
    pub boot_seconds: Option<f64>,
    /// Phases that it cannot do, by their names, with what it lacks for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cannot: BTreeMap<String, String>,
}

impl Found {
    /// Before anything was looked at.
    pub fn nothing() -> Self {
        Self { cold_possible: true, ..Self::default() }
    }
}

/// What makes a guest's processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The kernel's virtual machines.
    Kvm,
    /// QEMU's emulation, an instruction at a time.
    Emulation,
}

/// What is known of an aged contender's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// What was found when its image was made.
    pub state: AgedState,
    /// Seconds that restoring and proving it took.
    pub restored_seconds: f64,
}

/// What was found on an aged volume when its image was made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgedState {
    /// Name of the profile.
    pub age: String,
    /// Share of the volume that was to be filled.
    pub fill: f64,
    /// Seed of the history.
    pub seed: u64,
    /// What the profile rests on.
    pub sources: Vec<String>,
    /// Bytes of the volume.
    pub volume: u64,
    /// What came of the history.
    pub history: Aged,
    /// Commits that were checked out after it.
    pub commits: u64,
    /// How files lie.
    pub layout: Layout,
    /// Space and inodes.
    pub used: Usage,
    /// Its free space; absent where no tool tells it.
    pub free_space: Option<FreeSpace>,
    /// Why there is none.
    pub no_free_space: Option<String>,
    /// All of it in a sentence.
    pub summary: String,
}

/// A filesystem's aged state right before it is kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Space and inodes.
    pub used: Usage,
    /// Its free space; absent where no tool tells it.
    pub free_space: Option<FreeSpace>,
    /// Why there is none.
    pub no_free_space: Option<String>,
}

/// Free space as the filesystem's own tool tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpace {
    /// Free extents; absent where the tool's answer could not be read.
    pub extents: Option<u64>,
    /// Mean bytes of one.
    pub mean_bytes: Option<u64>,
    /// What the tool said.
    pub answer: String,
}

/// An option that was asked for, and what the system shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionFound {
    /// As asked for: `mkfs -m rmapbt=1`, `mount logbsize=256k`, `scheduler bfq`.
    pub asked: String,
    /// What is shown; absent where it cannot be read back.
    pub found: Option<String>,
    /// What shows it, or why nothing does.
    pub by: String,
}

/// Space and inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Bytes that the filesystem says it has.
    pub total_bytes: u64,
    /// Bytes that it says are used: total less free, reserved ones not counted as used.
    pub used_bytes: u64,
    /// Bytes that a user may still fill.
    pub available_bytes: u64,
    /// Inodes in all; absent where it makes them as needed.
    pub inodes: Option<u64>,
    /// Inodes that are free; absent likewise.
    pub inodes_free: Option<u64>,
}

/// What closing a stage showed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// Space and inodes at the end of the work; absent where it could not be asked.
    pub used: Option<Usage>,
    /// Bytes that the device took from mounting until unmounted, journals and metadata included; absent where others write to it too.
    pub written_bytes: Option<u64>,
    /// Bytes that it delivered meanwhile.
    pub read_bytes: Option<u64>,
    /// Seconds that unmounting took; absent where nothing was unmounted.
    pub unmount_seconds: Option<f64>,
    /// Seconds that the check took; absent where there is none.
    pub check_seconds: Option<f64>,
    /// Whether the check found the filesystem whole; absent where there is none.
    pub whole: Option<bool>,
    /// The end of what the check said.
    pub check_answer: String,
    /// The line of it that tells most; absent where the filesystem is whole.
    pub damage: Option<String>,
    /// What axes that act around a trial showed after the work.
    pub axes: Vec<OptionFound>,
    /// What must be said.
    pub remarks: Vec<String>,
}

impl Closing {
    /// What the check found, in a line; absent where it found nothing.
    pub fn damage(&self) -> Option<&str> {
        // Ledgers from before the line was kept have the end of the whole answer.
        let last = || self.check_answer.lines().next_back().unwrap_or_default();
        (self.whole == Some(false)).then(|| self.damage.as_deref().unwrap_or_else(last))
    }
}
