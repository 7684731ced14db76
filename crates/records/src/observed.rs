//! Findings about a stage, as opposed to requests; kept with every trial.
//! In: reports of the system. Out: values for the ledger.
//! Unknown values are absent, never zero.

use crate::ageing::{Aged, Layout};
use crate::device::BlockDevice;
use crate::durability::Durability;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Findings after mounting.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Filesystem type, as the kernel reports it.
    pub filesystem: String,
    /// Options of the mount, as the kernel reports them.
    pub mount_options: Vec<String>,
    /// Options of the filesystem, as the kernel reports them.
    pub super_options: Vec<String>,
    /// Further options that the filesystem shows elsewhere, defaults included.
    pub more_options: Vec<String>,
    /// Output of the filesystem's own tools, by name of the command.
    pub inspected: BTreeMap<String, String>,
    /// Every requested option, with its value read back.
    pub options: Vec<OptionFound>,
    /// I/O scheduler of the device.
    pub scheduler: Option<String>,
    /// The device under test, with its queue as it was during the trial.
    pub device: Option<BlockDevice>,
    /// The devices below it.
    #[serde(rename = "beneath")]
    pub below: Vec<BlockDevice>,
    /// Other users of a device that is only read, each in a few words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_use: Vec<String>,
    /// What it guarantees for data.
    pub durability: Durability,
    /// Remarks to show with the results: what could not be done, read back or controlled.
    pub remarks: Vec<String>,
    /// Whether caches can be emptied here, so that cold starts are possible.
    pub cold_possible: bool,
    /// Bytes and inodes right after mkfs.
    pub empty: Usage,
    /// Its aged state; absent if it is fresh.
    pub aged: Option<Restored>,
    /// Seconds that mkfs took; absent if nothing was made.
    pub mkfs_seconds: Option<f64>,
    /// Seconds that mounting took; absent if nothing was mounted, or if mkfs includes it.
    pub mount_seconds: Option<f64>,
    /// Backend of the guest that ran it; absent on the host.
    pub backend: Option<Backend>,
    /// Release of the guest's kernel; absent on the host.
    pub kernel: Option<String>,
    /// Seconds that the guest took to boot; absent on the host.
    pub boot_seconds: Option<f64>,
    /// Phases that it cannot run, by name, with the missing features.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cannot: BTreeMap<String, String>,
}

impl Found {
    /// Before any inspection.
    pub fn nothing() -> Self {
        Self { cold_possible: true, ..Self::default() }
    }
}

/// What provides a guest's processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// KVM.
    Kvm,
    /// QEMU's emulation (TCG).
    Emulation,
}

/// The state of an aged contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// Findings when its image was made.
    pub state: AgedState,
    /// Seconds that restoring and verifying it took.
    pub restored_seconds: f64,
}

/// Findings on an aged volume when its image was made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgedState {
    /// Name of the profile.
    pub age: String,
    /// Requested share of the volume to fill.
    pub fill: f64,
    /// Seed of the history.
    pub seed: u64,
    /// Sources of the profile.
    pub sources: Vec<String>,
    /// Bytes of the volume.
    pub volume: u64,
    /// Outcome of the history.
    pub history: Aged,
    /// Commits that were checked out after it.
    pub commits: u64,
    /// File layout.
    pub layout: Layout,
    /// Space and inodes.
    pub used: Usage,
    /// Its free space; absent if no tool reports it.
    pub free_space: Option<FreeSpace>,
    /// Why it is absent.
    pub no_free_space: Option<String>,
    /// All of it in a sentence.
    pub summary: String,
}

/// A filesystem's aged state right before it is stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Space and inodes.
    pub used: Usage,
    /// Its free space; absent if no tool reports it.
    pub free_space: Option<FreeSpace>,
    /// Why it is absent.
    pub no_free_space: Option<String>,
}

/// Free space as the filesystem's own tool reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpace {
    /// Free extents; absent if the tool's output could not be parsed.
    pub extents: Option<u64>,
    /// Mean size of one, in bytes.
    pub mean_bytes: Option<u64>,
    /// Output of the tool.
    pub answer: String,
}

/// A requested option, and its value in the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionFound {
    /// The request: `mkfs -m rmapbt=1`, `mount logbsize=256k`, `scheduler bfq`.
    pub asked: String,
    /// The value found; absent if it cannot be read back.
    pub found: Option<String>,
    /// The source of the value, or why there is none.
    pub by: String,
}

/// Space and inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Total bytes, as the filesystem reports them.
    pub total_bytes: u64,
    /// Used bytes, as it reports them: total less free, without reserved ones.
    pub used_bytes: u64,
    /// Bytes available to a user.
    pub available_bytes: u64,
    /// Total inodes; absent if the filesystem creates them as needed.
    pub inodes: Option<u64>,
    /// Free inodes; absent likewise.
    pub inodes_free: Option<u64>,
}

/// Findings when a stage was closed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// Space and inodes at the end of the work; absent if they could not be read.
    pub used: Option<Usage>,
    /// Bytes written to the device from mounting until unmounted, journals and metadata included; absent if others write to it too.
    pub written_bytes: Option<u64>,
    /// Bytes read from it meanwhile.
    pub read_bytes: Option<u64>,
    /// Seconds that unmounting took; absent if nothing was unmounted.
    pub unmount_seconds: Option<f64>,
    /// Seconds that the check took; absent if there is none.
    pub check_seconds: Option<f64>,
    /// Whether the check found the filesystem whole; absent if there is none.
    pub whole: Option<bool>,
    /// The end of the check's output.
    pub check_answer: String,
    /// Its most informative line; absent if the filesystem is whole.
    pub damage: Option<String>,
    /// Findings of axes that act around a trial, after the work.
    pub axes: Vec<OptionFound>,
    /// Remarks to show.
    pub remarks: Vec<String>,
}

impl Closing {
    /// The finding of the check, in a line; absent if it found nothing.
    pub fn damage(&self) -> Option<&str> {
        // Older ledgers did not keep the line, only the end of the whole output.
        let last = || self.check_answer.lines().next_back().unwrap_or_default();
        (self.whole == Some(false)).then(|| self.damage.as_deref().unwrap_or_else(last))
    }
}
