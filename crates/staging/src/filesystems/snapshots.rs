//! How a filesystem takes snapshots: keys under `[snapshots]` of its file.
//! In: TOML. Out: [`SnapshotFacts`]; a filesystem without them has none.
//! Commands accept `{root}`, the work's folder, and `{snapshot}`, the snapshot's name, in addition to the placeholders of all commands.

use schemars::JsonSchema;
use serde::Deserialize;

/// Its own tools' commands for snapshots, each a list of commands that are run one after the other.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SnapshotFacts {
    /// Prepares the empty root for snapshots; empty if any folder can have them.
    #[serde(default)]
    pub prepare: Vec<Vec<String>>,
    /// Takes one.
    pub take: Vec<Vec<String>>,
    /// Deletes one.
    pub delete: Vec<Vec<String>>,
    /// Waits until deleted space is free again; absent if deleting waits for it, or nothing can.
    #[serde(default)]
    pub await_free_space: Vec<Vec<String>>,
    /// Rolls the root back to the snapshot; absent if it cannot.
    #[serde(default)]
    pub rollback: Vec<Vec<String>>,
    /// Makes it visible, if it is not from the start.
    #[serde(default)]
    pub show: Vec<Vec<String>>,
    /// Where the root appears in it, below the mountpoint.
    pub seen: String,
}

/// Placeholders that only these commands have.
pub(crate) const PLACES: [&str; 2] = ["root", "snapshot"];

impl SnapshotFacts {
    /// A word in braces that is not a placeholder.
    pub(crate) fn unknown_place(&self) -> Option<&str> {
        let SnapshotFacts { prepare, take, delete, await_free_space, rollback, show, seen } = self;
        let commands = [prepare, take, delete, await_free_space, rollback, show];
        let words = commands.into_iter().flatten().flatten().chain([seen]);
        words.filter_map(|word| crate::filesystems::template::unknown_place(word)).find(|place| !PLACES.contains(place))
    }
}
