//! What the filesystem's own tools do to a whole stage: snapshots, a scrub, a check.
//! In: a stage or a planned one, and its filesystem's description. Out: commands, with every placeholder but the snapshot's name filled in.

use super::Stage;
use super::dry_run::{in_guest, places};
use super::recipe::{Commands, Options};
use super::target::Where;
use crate::error::StagingError;
use crate::filesystems::registry::Registry;
use crate::filesystems::several::Spread;
use crate::filesystems::snapshots::SnapshotFacts;
use crate::filesystems::tools::{prefix, prefix_in_guest};
use crate::guests;
use crate::ownership::cleanup_journal::Mark;
use records::Contender;
use records::program::VolumeTool;
use std::collections::BTreeMap;
use std::path::Path;

/// Commands for each tool that the filesystem has.
pub type Tools = BTreeMap<VolumeTool, Vec<Vec<String>>>;

type Fill<'a> = &'a dyn Fn(&[String]) -> Vec<String>;

impl Stage<'_> {
    /// The tools of the mounted filesystem. A directory's filesystem belongs to others, and one that is only described runs nothing.
    pub fn tools(&self) -> Tools {
        match &self.state.filesystem {
            Some(filesystem) if self.state.work.is_none() && !filesystem.only_described => {
                // The engine, which runs them, is already in the server's namespaces, and its commands do not see the server's process.
                let prefix = &self.state.tools;
                tools(self.state.spread(filesystem), self.root(), &|words| {
                    [prefix.as_slice(), &self.fill(words)].concat()
                })
            }
            _ => Tools::new(),
        }
    }

    /// Commands with the work folder and all other placeholders filled in, as seen by a process that works on the stage.
    pub(crate) fn filled(&self, commands: &[Vec<String>]) -> Vec<Vec<String>> {
        filled(commands, self.root(), &|words| self.fill(words))
    }
}

/// The tools that a contender would have on this place, for a plan.
///
/// # Errors
/// The filesystem is unknown.
pub fn tools_for(registry: &Registry, contender: &Contender, place: &Where) -> Result<Tools, StagingError> {
    if matches!(place, Where::Directory(_)) || contender.filesystem == crate::DEVICE {
        return Ok(Tools::new());
    }
    let filesystem = registry.get(&contender.filesystem)?;
    let devices = axes::devices(contender) as usize;
    let mut places = places(place, &Mark::new(true)?, devices);
    let mut tools_at = prefix(filesystem);
    if guests::is_guest(contender.kernel.as_deref()) {
        (places, tools_at) = (in_guest(&places, devices), prefix_in_guest(filesystem));
    }
    let options = Options::of(filesystem, contender, &[]);
    let prefix = filesystem.daemon.as_ref().map_or(tools_at, |daemon| places.fill(&daemon.prefix, &[]));
    let fill = |words: &[String]| [prefix.clone(), places.fill(words, &options.mount)].concat();
    let spread = Spread::over(filesystem, devices);
    let commands = Commands { spread, places: &places, options: &options, own: &[], prefix: &prefix };
    let mut tools = tools(spread, &places.mountpoint.join("work"), &fill);
    if let Some(losing) = tools.get_mut(&VolumeTool::LoseDevice) {
        let emptying =
            |words: &[&str]| [words, &["DEVICE-{lost}"]].concat().iter().map(|word| word.to_string()).collect();
        let emptied = [emptying(&["wipefs", "--all", "--quiet"]), emptying(&["blkdiscard", "--force"])];
        losing.extend(
            [commands.unmount().into_words()]
                .into_iter()
                .chain(emptied)
                .chain([commands.mount_again(false).into_words()]),
        );
    }
    Ok(tools)
}

fn tools(spread: Spread<'_>, root: &Path, fill: Fill) -> Tools {
    let (mut tools, filesystem) = (Tools::new(), spread.filesystem);
    if let Some(facts) = &filesystem.snapshots {
        let SnapshotFacts { prepare, take, delete, await_free_space, rollback, .. } = facts;
        tools.insert(VolumeTool::PrepareSnapshots, filled(prepare, root, fill));
        tools.insert(VolumeTool::Snapshot, filled(take, root, fill));
        tools.insert(VolumeTool::DeleteSnapshot, filled(delete, root, fill));
        // Without anything to wait for, waiting takes no time.
        tools.insert(VolumeTool::AwaitFreeSpace, filled(await_free_space, root, fill));
        if !rollback.is_empty() {
            tools.insert(VolumeTool::Rollback, filled(rollback, root, fill));
        }
    }
    if !filesystem.features.scrub.is_empty() {
        tools.insert(VolumeTool::Scrub, vec![fill(&filesystem.features.scrub)]);
    }
    if let Some(check) = filesystem.check.as_ref().filter(|check| !check.last) {
        tools.insert(VolumeTool::Check, vec![fill(spread.check().unwrap_or(&check.command))]);
    }
    if let Some(several) = spread.several() {
        // The stage does this itself: only the code that has a device in custody erases it.
        tools.insert(VolumeTool::LoseDevice, Vec::new());
        tools.insert(VolumeTool::Rebuild, filled(&several.rebuild, root, fill));
    }
    tools
}

fn filled(commands: &[Vec<String>], root: &Path, fill: Fill) -> Vec<Vec<String>> {
    let root = root.display().to_string();
    let in_root = |words: Vec<String>| words.into_iter().map(|word| word.replace("{root}", &root)).collect();
    commands.iter().map(|command| in_root(fill(command))).collect()
}
