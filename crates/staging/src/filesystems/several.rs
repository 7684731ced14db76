//! A filesystem on several devices, each block on two of them: keys under `[several]` of its file.
//! In: TOML. Out: [`SeveralFacts`]; a filesystem without them uses one device.
//! Commands accept `{members}` and `{joined}`, the present devices; those of a rebuild also `{lost}`, the number of the blank one.

use crate::filesystems::description::Filesystem;
use schemars::JsonSchema;
use serde::Deserialize;

/// Its own tools' commands for a volume on several devices.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SeveralFacts {
    /// Its name for such a volume: `raid1`.
    pub called: String,
    /// Makes it, instead of `make.command`.
    pub make: Vec<String>,
    /// Mounts it, instead of `mount.command`; empty: that command does.
    #[serde(default)]
    pub mount: Vec<String>,
    /// Mounts it while one device is missing; empty: the usual mount.
    #[serde(default)]
    pub mount_degraded: Vec<String>,
    /// Checks it, instead of `check.command`; empty: that command does.
    #[serde(default)]
    pub check: Vec<String>,
    /// Run one after the other, until each block is on two devices again. The last may only return then.
    pub rebuild: Vec<Vec<String>>,
    /// Fails unless all devices are in their places; run after mounting. Empty: no check.
    #[serde(default)]
    pub whole: Vec<String>,
}

/// The placeholder that only the commands of a rebuild have.
pub(crate) const LOST: &str = "lost";

impl SeveralFacts {
    /// A word in braces that is not a placeholder.
    pub(crate) fn unknown_place(&self) -> Option<&str> {
        let SeveralFacts { called: _, make, mount, mount_degraded, check, rebuild, whole } = self;
        let of = crate::filesystems::template::unknown_place;
        let always = [make, mount, mount_degraded, check, whole].into_iter().flatten().find_map(|word| of(word));
        always.or_else(|| rebuild.iter().flatten().filter_map(|word| of(word)).find(|place| *place != LOST))
    }

    /// All commands, to find the programs in them.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        [&self.make, &self.mount, &self.mount_degraded, &self.check, &self.whole].into_iter().chain(&self.rebuild)
    }
}

/// The words of a filesystem's commands for a volume on this many devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread<'f> {
    pub filesystem: &'f Filesystem,
    several: Option<&'f SeveralFacts>,
}

impl<'f> Spread<'f> {
    /// For this many devices.
    pub fn over(filesystem: &'f Filesystem, devices: usize) -> Spread<'f> {
        Spread { filesystem, several: filesystem.several.as_ref().filter(|_| devices > 1) }
    }

    /// Makes it.
    pub fn make(self) -> &'f [String] {
        self.several.map_or(&self.filesystem.make.command, |several| &several.make)
    }

    /// Mounts it for the first time.
    pub fn mount(self) -> &'f [String] {
        self.own(|several| &several.mount).unwrap_or(&self.filesystem.mount.command)
    }

    /// Mounts it again, complete or with a device missing.
    pub fn mount_again(self, whole: bool) -> &'f [String] {
        let mount = &self.filesystem.mount;
        let usual = if mount.again.is_empty() { self.mount() } else { &mount.again };
        if whole { usual } else { self.own(|several| &several.mount_degraded).unwrap_or(usual) }
    }

    /// Checks it; None if there is no check.
    pub fn check(self) -> Option<&'f [String]> {
        let usual = self.filesystem.check.as_ref()?;
        Some(self.own(|several| &several.check).unwrap_or(&usual.command))
    }

    /// The facts of a volume on several devices.
    pub fn several(self) -> Option<&'f SeveralFacts> {
        self.several
    }

    fn own(self, which: impl FnOnce(&'f SeveralFacts) -> &'f Vec<String>) -> Option<&'f [String]> {
        self.several.map(which).filter(|words| !words.is_empty()).map(Vec::as_slice)
    }
}
