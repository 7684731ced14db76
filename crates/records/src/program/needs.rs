//! Optional filesystem features that a phase needs, and actions of the filesystem's own tools.
//! In: steps and settings of a program. Out: [`Need`]s, each probed in the working directory before the work begins.

use super::{Group, Io, Over, Phase, Step};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use strum::IntoStaticStr;

/// An optional feature of a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// FICLONE.
    Reflink,
    /// fallocate(2).
    Fallocate,
    /// fallocate(FALLOC_FL_PUNCH_HOLE).
    PunchHole,
    /// Extended attributes of users.
    Xattr,
    /// Access control lists.
    Acl,
    /// O_TMPFILE.
    Tmpfile,
    /// A second name for a file: link(2).
    HardLink,
    /// RWF_ATOMIC, for blocks of this size in bytes.
    AtomicWrites(u64),
    /// RWF_DONTCACHE.
    Uncached,
    /// A tool of the filesystem.
    Tool(VolumeTool),
}

/// Actions of a filesystem's own tools on the whole filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum VolumeTool {
    /// Prepare the root for snapshots.
    PrepareSnapshots,
    /// Take a snapshot of the root.
    Snapshot,
    /// Delete a snapshot.
    DeleteSnapshot,
    /// Wait until deleted space is free again.
    AwaitFreeSpace,
    /// Restore the root to a snapshot.
    Rollback,
    /// Verify all checksums while it is mounted.
    Scrub,
    /// Check it while it is unmounted.
    Check,
    /// Remove one of its devices with its content, leaving a blank device in its place.
    LoseDevice,
    /// Rebuild that blank device's content.
    Rebuild,
}

impl VolumeTool {
    /// Name in the workload language, in errors and in histograms.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it acts on a snapshot, given by its number.
    pub fn is_about_a_snapshot(self) -> bool {
        matches!(self, VolumeTool::Snapshot | VolumeTool::DeleteSnapshot | VolumeTool::Rollback)
    }

    /// Whether it acts on a device of the volume, given by its number, from 1 on.
    pub fn is_about_a_device(self) -> bool {
        matches!(self, VolumeTool::LoseDevice | VolumeTool::Rebuild)
    }

    /// Whether it changes data on the device.
    pub fn writes(self) -> bool {
        !matches!(self, VolumeTool::Scrub | VolumeTool::Check | VolumeTool::AwaitFreeSpace)
    }
}

impl Need {
    /// Its name as the subject of an error text: `reflinks`.
    pub fn title(self) -> String {
        match self {
            Need::Reflink => "reflinks".into(),
            Need::Fallocate => "preallocation".into(),
            Need::PunchHole => "hole punching".into(),
            Need::Xattr => "extended attributes".into(),
            Need::Acl => "ACLs".into(),
            Need::Tmpfile => "O_TMPFILE".into(),
            Need::HardLink => "hard links".into(),
            Need::AtomicWrites(bytes) => format!("atomic writes of {}", crate::show_bytes(bytes)),
            Need::Uncached => "RWF_DONTCACHE".into(),
            Need::Tool(VolumeTool::Scrub) => "scrub".into(),
            Need::Tool(VolumeTool::Check) => "check".into(),
            Need::Tool(VolumeTool::Rollback) => "rollback to a snapshot".into(),
            Need::Tool(VolumeTool::AwaitFreeSpace) => "a way to wait for free space".into(),
            Need::Tool(VolumeTool::LoseDevice | VolumeTool::Rebuild) => "second device".into(),
            Need::Tool(_) => "snapshots".into(),
        }
    }
}

impl Phase {
    /// All features that the filesystem needs for it.
    pub fn all_needs(&self) -> BTreeSet<Need> {
        let mut needs: BTreeSet<Need> = self.needs.iter().copied().collect();
        for group in &self.groups {
            steps_need(&group.steps, &mut needs);
            settings_need(group, &mut needs);
        }
        needs
    }
}

fn steps_need(steps: &[Step], needs: &mut BTreeSet<Need>) {
    for step in steps {
        if let Step::Share(_, inner) = step {
            steps_need(inner, needs);
        }
        needs.extend(match step {
            Step::Reflink(_) => Some(Need::Reflink),
            Step::Fallocate => Some(Need::Fallocate),
            Step::PunchHole => Some(Need::PunchHole),
            Step::SetXattr(_) | Step::GetXattr => Some(Need::Xattr),
            Step::SetAcl | Step::GetAcl => Some(Need::Acl),
            Step::OpenTmpfile | Step::LinkTmpfile => Some(Need::Tmpfile),
            Step::Link(_) => Some(Need::HardLink),
            Step::Volume(tool, _) => Some(Need::Tool(*tool)),
            _ => None,
        });
    }
}

fn settings_need(group: &Group, needs: &mut BTreeSet<Need>) {
    let Io { atomic, uncached, .. } = group.io;
    if let (true, Over::Blocks { block, .. }) = (atomic, group.over) {
        needs.insert(Need::AtomicWrites(block));
    }
    if uncached {
        needs.insert(Need::Uncached);
    }
}
