//! What the filesystem's own tools do to a stage as a whole: snapshots, a scrub, a check.
//! In: a stage and its filesystem's file. Out: commands for whoever carries them out, each place filled in but the snapshot's name.

use super::Stage;
use crate::filesystems::snapshots::SnapshotFacts;
use records::program::VolumeTool;
use std::collections::BTreeMap;

/// Commands for each tool that the filesystem has.
pub type Tools = BTreeMap<VolumeTool, Vec<Vec<String>>>;

impl Stage<'_> {
    /// The tools of what is mounted. A directory's filesystem is not ours to be treated as a whole, and what is only described runs nothing.
    pub fn tools(&self) -> Tools {
        let mut tools = Tools::new();
        let Some(filesystem) = self.state.filesystem.as_ref().filter(|known| !known.only_described) else {
            return tools;
        };
        if self.state.work.is_some() {
            return tools;
        }
        if let Some(facts) = &filesystem.snapshots {
            let SnapshotFacts { prepare, take, delete, await_free_space, rollback, .. } = facts;
            tools.insert(VolumeTool::PrepareSnapshots, self.filled(prepare));
            tools.insert(VolumeTool::Snapshot, self.filled(take));
            tools.insert(VolumeTool::DeleteSnapshot, self.filled(delete));
            // Where there is nothing to wait for, waiting takes no time.
            tools.insert(VolumeTool::AwaitFreeSpace, self.filled(await_free_space));
            if !rollback.is_empty() {
                tools.insert(VolumeTool::Rollback, self.filled(rollback));
            }
        }
        if !filesystem.features.scrub.is_empty() {
            tools.insert(VolumeTool::Scrub, vec![self.fill(&filesystem.features.scrub)]);
        }
        if let Some(check) = filesystem.check.as_ref().filter(|check| !check.last) {
            tools.insert(VolumeTool::Check, vec![self.fill(&check.command)]);
        }
        tools
    }

    /// Commands with the work's folder and all other places, as whoever works on the stage sees them.
    pub(crate) fn filled(&self, commands: &[Vec<String>]) -> Vec<Vec<String>> {
        let root = self.root().display().to_string();
        let in_root = |words: Vec<String>| words.into_iter().map(|word| word.replace("{root}", &root)).collect();
        commands.iter().map(|command| in_root(self.fill(command))).collect()
    }
}
