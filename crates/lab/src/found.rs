//! What was found on a stage, as opposed to what was asked for; kept with every trial.
//! In: the system's own word. Out: values for the ledger.
//! What cannot be told is absent, never zero.

use crate::durability::Durability;
use host::BlockDevice;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What was found after mounting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub options: Vec<OptionFound>,
    /// I/O scheduler of the device.
    pub scheduler: Option<String>,
    /// The device under test, with its queue as it was during the trial.
    pub device: Option<BlockDevice>,
    /// The devices beneath it.
    pub beneath: Vec<BlockDevice>,
    /// What it promises for data.
    pub durability: Durability,
    /// What must be said beside the results: what could not be done, read back or controlled.
    pub remarks: Vec<String>,
    /// Whether caches can be emptied here, so that a cold start is one.
    pub cold_possible: bool,
    /// Bytes and inodes right after mkfs.
    pub empty: Usage,
    /// What is known of its age; absent where it is fresh.
    #[serde(default)]
    pub aged: Option<crate::aged::Aged>,
    /// Seconds that making took; absent where nothing was made.
    pub mkfs_seconds: Option<f64>,
    /// Seconds that mounting took; absent where nothing was mounted, or where making includes it.
    pub mount_seconds: Option<f64>,
    /// What ran it, where that is a guest: `kvm` or `emulation`; absent on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Release of the guest's kernel; absent on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Seconds that the guest took to boot; absent on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_seconds: Option<f64>,
}

/// An option that was asked for, and what the system shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// What makes written data safe on a stage. The same three steps, in the same order, as the engine carries out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Durable {
    /// Call syncfs(2) on the root.
    pub syncfs: bool,
    /// Then run this command, empty for none.
    pub command: Vec<String>,
    /// Then fsync(2) these: the device, so that its cache is flushed.
    pub flush: Vec<PathBuf>,
}

/// How the wait for an idle device ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Seconds waited.
    pub seconds: f64,
    /// Whether it was idle in the end, rather than the patience over.
    pub idle: bool,
}

/// What closing a stage showed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Closing {
    /// Space and inodes at the end of the work; absent where it could not be asked.
    pub used: Option<Usage>,
    /// Bytes that the device took from mounting until unmounted, journals and metadata included; absent where others write to it too.
    #[serde(default)]
    pub written_bytes: Option<u64>,
    /// Bytes that it delivered meanwhile.
    #[serde(default)]
    pub read_bytes: Option<u64>,
    /// Seconds that unmounting took; absent where nothing was unmounted.
    pub unmount_seconds: Option<f64>,
    /// Seconds that the check took; absent where there is none.
    pub check_seconds: Option<f64>,
    /// Whether the check found the filesystem whole; absent where there is none.
    pub whole: Option<bool>,
    /// The end of what the check said.
    pub check_answer: String,
    /// What must be said.
    pub remarks: Vec<String>,
}
