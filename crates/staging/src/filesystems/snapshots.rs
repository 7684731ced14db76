//! How a filesystem takes snapshots: keys under `[snapshots]` of its file.
//! In: TOML. Out: [`SnapshotFacts`]; a filesystem without them has none.
//! Commands know `{root}`, the work's folder, and `{snapshot}`, the snapshot's name, beside the places of all commands.

use schemars::JsonSchema;
use serde::Deserialize;

/// Its own tools' commands for snapshots, each a list of commands that are run one after the other.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SnapshotFacts {
    /// Makes the empty root something of which snapshots can be taken; empty where any folder is.
    #[serde(default)]
    pub prepare: Vec<Vec<String>>,
    /// Takes one.
    pub take: Vec<Vec<String>>,
    /// Deletes one.
    pub delete: Vec<Vec<String>>,
    /// Waits until what was deleted is free again; absent where deleting waits for it, or nothing can.
    #[serde(default)]
    pub await_free_space: Vec<Vec<String>>,
    /// Puts the root back to where it was then; absent where it cannot.
    #[serde(default)]
    pub rollback: Vec<Vec<String>>,
    /// Makes it seen, where that is not so from the beginning.
    #[serde(default)]
    pub show: Vec<Vec<String>>,
    /// Where the root is seen in it, below the mountpoint.
    pub seen: String,
}

/// Places that only these commands have.
pub(crate) const PLACES: [&str; 2] = ["root", "snapshot"];

impl SnapshotFacts {
    /// A word in braces that is no place.
    pub(crate) fn unknown_place(&self) -> Option<&str> {
        let SnapshotFacts { prepare, take, delete, await_free_space, rollback, show, seen } = self;
        let commands = [prepare, take, delete, await_free_space, rollback, show];
        let words = commands.into_iter().flatten().flatten().chain([seen]);
        words.filter_map(|word| crate::filesystems::template::unknown_place(word)).find(|place| !PLACES.contains(place))
    }
}
