//! A filesystem as its file in `filesystems/` describes it: how to make, mount, check, inspect and unmount it.
//! In: TOML. Out: [`Filesystem`]; an unknown key is an error.
//! Commands contain placeholders such as `{device}`: see [`PLACES`].

use crate::error::StagingError;
use crate::filesystems::feature_tools::FeatureTools;
use crate::filesystems::mkfs_settings::{Exclusion, NamedSetting};
use crate::filesystems::several::SeveralFacts;
use crate::filesystems::shared::SharedFacts;
use crate::filesystems::snapshots::SnapshotFacts;
use crate::filesystems::space::SpaceFacts;
use crate::filesystems::template::{PLACES, unknown_place};
use crate::filesystems::tune::TuneFacts;
use records::{DataMode, Journaling};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// One filesystem.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filesystem {
    /// Name by which contenders refer to it: the file's name without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// Its name in titles.
    pub title: String,
    /// One sentence about it.
    pub about: String,
    /// A further remark on where it can compete; empty for none.
    #[serde(default)]
    pub note: String,
    /// Whether it takes part if no filesystem is named: it is a common choice today, for disks of any kind.
    #[serde(default)]
    pub by_default: bool,
    /// Name under which the kernel lists it in /proc/filesystems.
    pub kernel: String,
    /// Programs that it needs.
    #[serde(default)]
    pub tools: Vec<ToolNeed>,
    /// How it is made.
    pub make: Make,
    /// Its own devices that options may name, in addition to the formatted one.
    #[serde(default)]
    pub devices: Vec<DeviceRule>,
    /// How it is mounted and unmounted.
    pub mount: Mounting,
    /// How it is checked after work.
    pub check: Option<Check>,
    /// Commands that show what was made, by a name that read-backs refer to.
    #[serde(default)]
    pub inspect: BTreeMap<String, Vec<String>>,
    /// How mkfs options are read back.
    #[serde(default)]
    pub readback: Vec<ReadBack>,
    /// How it encrypts by itself.
    pub encryption: Option<EncryptionFacts>,
    /// How its free space is inspected.
    pub free_space: Option<FreeSpaceFacts>,
    /// mkfs settings by the names that axes use, and how each is written.
    #[serde(default)]
    pub settings: BTreeMap<String, NamedSetting>,
    /// Settings that exclude each other.
    #[serde(default)]
    pub excludes: Vec<Exclusion>,
    /// What it promises for data, unless options or features that were found change that.
    pub durability: DurabilityFacts,
    /// What makes written data safe.
    pub sync: SyncFacts,
    /// It has a cache that unmounting empties, but the kernel's drop_caches does not.
    #[serde(default)]
    pub remount_empties_cache: bool,
    /// Sizes.
    pub limits: Limits,
    /// How it uses space.
    #[serde(default)]
    pub space: SpaceFacts,
    /// How it takes snapshots.
    pub snapshots: Option<SnapshotFacts>,
    /// How it lies on several devices.
    pub several: Option<SeveralFacts>,
    /// How its tools show what it can do, for `bakeoff features`.
    #[serde(default)]
    pub features: FeatureTools,
    /// It is served over a network: a file in `shared/`.
    pub shared: Option<SharedFacts>,
    /// Options that `bakeoff tune` tries, the most promising first.
    #[serde(default)]
    pub tune: Vec<TuneFacts>,
    /// A separate process that serves it.
    pub daemon: Option<DaemonFacts>,
    /// What it needs in a guest.
    #[serde(default)]
    pub guest: GuestFacts,
    /// Its tools may be in a separate folder.
    pub unpacked: Option<UnpackedFacts>,
    /// The description as its file has it.
    #[serde(skip)]
    pub source: String,
    /// The file of a user that it was read from; None of one that is compiled in.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// It is only described: none of its commands is run, not even one that prints a version.
    #[serde(skip)]
    pub only_described: bool,
}

/// What a filesystem needs in a guest, in addition to its tools.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GuestFacts {
    /// Kernel that has it, for machines whose own kernel lacks it: `debian:6.1`.
    pub kernel: Option<String>,
    /// Modules that it needs, in addition to its own.
    pub modules: Vec<String>,
    /// Programs that its tools call.
    pub programs: Vec<String>,
    /// Files that its tools read.
    pub files: Vec<String>,
}

/// Tools that need not be installed: their package excludes another filesystem's.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnpackedFacts {
    /// Folder with `sbin/`, and `lib/` for libraries that only these programs use, below `~/.cache/bakeoff` or `/usr/lib/bakeoff`; `FOLDER-6.12` goes before it in guests of `debian:6.12`.
    pub folder: String,
    /// The command that builds it.
    pub made_by: String,
}

/// A program that a filesystem needs.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolNeed {
    /// The program.
    pub program: String,
    /// Debian package that has it.
    pub package: String,
    /// Command that prints its version.
    pub version: Vec<String>,
    /// What its version begins with, where another program has the same name; empty where none has.
    #[serde(default)]
    pub shows: String,
}

/// How a filesystem is made.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Make {
    /// The command.
    pub command: Vec<String>,
    /// Flags that a contender may give with a value, none of which names a device or a file by a word without a slash; those of
    /// `settings`, `readback`, `defaults` and `devices` are among them without being listed.
    #[serde(default)]
    pub values: Vec<String>,
    /// Flags that a contender may give and that take no value.
    #[serde(default)]
    pub switches: Vec<String>,
    /// Options that are given unless the contender gives the same ones.
    #[serde(default)]
    pub defaults: Vec<MakeDefault>,
}

/// Encryption by the filesystem itself (fscrypt). The feature alone encrypts nothing: a folder needs a key, and gets one where mkfs has the
/// feature among its options. The key is the same for all and no secret, so that kept images can be opened.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncryptionFacts {
    /// Name of the setting that asks for it, which has a `feature`.
    pub setting: String,
    /// The program that its commands need.
    pub tool: ToolNeed,
    /// The command that gives the mounted filesystem the key and encrypts the folder of the work with it, after each mount.
    pub command: Vec<String>,
    /// The command that shows how the folder is encrypted.
    pub shown: Vec<String>,
    /// Text in its output.
    pub holds: String,
}

/// A contender's own device: an mkfs option may name it, and it is checked like the device under test.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceRule {
    /// What it is, in a word: `journal`.
    pub role: String,
    /// The flag of mkfs.
    pub flag: String,
    /// The key within the flag's list whose value is the device.
    pub key: String,
    /// The mount option that also names it, which is added automatically; absent for none.
    #[serde(default)]
    pub mount: Option<String>,
    /// Prepares it before mkfs; `{device}` is this device, `{options}` what follows the contender's own options. Empty: mkfs does.
    #[serde(default)]
    pub make: Vec<String>,
    /// Flags of the contender's options that [`DeviceRule::make`] gets too.
    #[serde(default)]
    pub follows: Vec<String>,
    /// The type that blkid then shows for it, if it cannot carry our label.
    #[serde(default)]
    pub leaves: Option<String>,
    /// Words for `{devices}` in the command that checks the filesystem.
    #[serde(default)]
    pub check: Vec<String>,
}

/// An mkfs option that is given by default.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeDefault {
    /// The flag: `-E`.
    pub flag: String,
    /// `key=value` items; each is left out where the contender gives that key under the same flag.
    pub items: Vec<String>,
    /// Why.
    pub why: String,
}

/// How a filesystem is mounted.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mounting {
    /// The command; empty where making mounts it.
    #[serde(default)]
    pub command: Vec<String>,
    /// Mounts it again after an unmount, where that is another command.
    #[serde(default)]
    pub again: Vec<String>,
    /// Repairs the filesystem after a crash so that it can be mounted, if the kernel does not; status 1 means that something was repaired.
    #[serde(default)]
    pub recover: Vec<String>,
    /// The command that unmounts it.
    pub unmount: Vec<String>,
    /// Mount options are given to mkfs, one after the other behind this flag, instead of to mount.
    pub option_flag: Option<String>,
    /// Options that are given unless the contender gives the same key.
    #[serde(default)]
    pub defaults: Vec<String>,
    /// Keys of its own options, without those of the mount layer; an axis of another option does not apply to it. Empty: not listed.
    #[serde(default)]
    pub options: Vec<String>,
    /// Files that show options which mountinfo hides, one a line.
    #[serde(default)]
    pub shown: Vec<String>,
    /// Key of [`Filesystem::inspect`] whose output shows options as `key value` or `key=value` lines.
    pub shown_by: Option<String>,
    /// Options by another name: the accepted spelling, and what it becomes.
    #[serde(default)]
    pub aliases: BTreeMap<String, String>,
    /// Options that the kernel takes without showing them: each holds unless one of these is shown.
    #[serde(default)]
    pub silent: BTreeMap<String, Vec<String>>,
    /// Removed options, each with what became of it and the nearest replacement.
    #[serde(default)]
    pub gone: BTreeMap<String, crate::filesystems::gone::Gone>,
}

/// How a filesystem is checked.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The command, run after unmounting.
    pub command: Vec<String>,
    /// Exit statuses that mean that nothing is wrong.
    #[serde(default = "zero")]
    pub clean: Vec<i32>,
    /// Beginnings of lines that it also prints for an intact filesystem: they are never given as the reason of a failure.
    #[serde(default)]
    pub routine: Vec<String>,
    /// After it, the filesystem cannot be mounted again, so it only runs at the end.
    #[serde(default)]
    pub last: bool,
}

fn zero() -> Vec<i32> {
    vec![0]
}

/// How free space of an unmounted filesystem is inspected.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreeSpaceFacts {
    /// The command.
    pub command: Vec<String>,
    /// Text before the number of free extents in its output.
    pub extents: String,
}

/// How one mkfs option is read back.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The flag.
    pub flag: String,
    /// The key within the flag's `key=value` list; absent where the flag has one value or a list of features.
    pub key: Option<String>,
    /// Key of [`Filesystem::inspect`] whose output is searched.
    pub by: String,
    /// How.
    pub form: Form,
    /// Text before the value, for [`Form::Line`]; what appears, for [`Form::Present`].
    #[serde(default)]
    pub line: String,
    /// Follows the value there: a unit.
    #[serde(default)]
    pub suffix: String,
    /// Features that the tool shows by another name than mkfs takes, for [`Form::Features`].
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// Where this appears in the output, the value is that of several things together and cannot be read back; not for [`Form::Features`].
    pub hidden_with: Option<String>,
}

/// How a value is found in a tool's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `key=value` appears as a word anywhere.
    Pair,
    /// The value follows [`ReadBack::line`]; several to try are separated by `|`.
    Line,
    /// The value is a word of the line that holds [`ReadBack::line`], in any case and with or without punctuation.
    Word,
    /// A line begins with the key and the value, or with the pool's name before both.
    Property,
    /// Each item is a feature that appears on [`ReadBack::line`] (anywhere, if that is empty), or with `^` before it does not.
    Features,
    /// As [`Form::Line`], and the value is a device, shown by its path or by its number in hexadecimal digits.
    Device,
    /// The flag has no value, and [`ReadBack::line`] appears in the output.
    Present,
    /// Cannot be read back; [`ReadBack::line`] gives the reason.
    Hidden,
}

/// What a filesystem promises.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DurabilityFacts {
    /// fsync and commits flush the device's cache.
    pub flushes: Option<bool>,
    /// Order of data and metadata.
    pub data: DataMode,
    /// What is journaled.
    pub journal: Journaling,
    /// Data is checksummed.
    pub checksums_data: bool,
    /// Metadata is checksummed.
    pub checksums_metadata: bool,
    /// Nothing is overwritten in place.
    pub copy_on_write: bool,
    /// What changes that.
    #[serde(default)]
    pub when: Vec<DurabilityRule>,
}

/// Something found that changes what a filesystem promises.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DurabilityRule {
    /// Applies where one of these words is among the options or features found.
    pub found: Vec<String>,
    /// Applies where none of these is.
    pub missing: Vec<String>,
    /// New value.
    pub flushes: Option<bool>,
    /// New value.
    pub data: Option<DataMode>,
    /// New value.
    pub journal: Option<Journaling>,
    /// New value.
    pub checksums_data: Option<bool>,
    /// New value.
    pub checksums_metadata: Option<bool>,
    /// New value.
    pub copy_on_write: Option<bool>,
}

/// What makes written data safe.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncFacts {
    /// syncfs(2) writes everything back.
    pub syncfs: bool,
    /// Then this command; empty for none.
    #[serde(default)]
    pub command: Vec<String>,
    /// Checkpoints the journal, so that nothing dirty keeps metadata in memory; run before caches are dropped.
    #[serde(default)]
    pub checkpoint: Vec<String>,
}

/// Sizes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Smallest device in bytes on which it can be made and behaves as usual.
    pub smallest: u64,
    /// Why not less.
    pub because: String,
}

/// A separate process that serves a filesystem.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DaemonFacts {
    /// Starts it; it stays in the foreground.
    pub command: Vec<String>,
    /// Its command name once it has started (at most 15 letters, as in /proc/PID/comm).
    pub comm: String,
    /// Succeeds when it is ready.
    pub ready: Vec<String>,
    /// Precedes every command for the filesystem, and the work itself.
    pub prefix: Vec<String>,
    /// Releases what it serves, before it is stopped.
    pub give_up: Vec<String>,
}

impl Filesystem {
    /// Reads a description.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Filesystem, StagingError> {
        let mut read: Filesystem = toml::from_str(text).map_err(|error| StagingError::Description {
            file: file.into(),
            problem: error.to_string().trim().to_string(),
        })?;
        read.name = name.into();
        read.source = text.into();
        let wrong = |problem: String| StagingError::Description { file: file.into(), problem };
        for back in &read.readback {
            if back.form != Form::Hidden && !read.inspect.contains_key(&back.by) {
                let problem =
                    format!("readback of {} refers to inspect \"{}\", which does not exist", back.flag, back.by);
                return Err(wrong(problem));
            }
        }
        if let Some((name, problem)) =
            read.settings.iter().find_map(|(name, one)| Some((name, one.problem(name, &read)?)))
        {
            return Err(wrong(format!("settings.{name}: {problem}")));
        }
        if let Some(facts) = &read.encryption
            && read.settings.get(&facts.setting).is_none_or(|setting| setting.feature.is_none())
        {
            return Err(wrong(format!("encryption: there is no setting {} with a feature", facts.setting)));
        }
        if let Some(problem) = read.tune.iter().find_map(|one| one.problem(&read)) {
            return Err(wrong(problem));
        }
        if let Some(problem) = read.shared.as_ref().and_then(SharedFacts::problem) {
            return Err(wrong(problem));
        }
        let commands = read.templates();
        let odd = commands.into_iter().flatten().find_map(|word| unknown_place(word));
        if let Some(place) = odd
            .or_else(|| read.features.unknown_place())
            .or_else(|| read.snapshots.as_ref()?.unknown_place())
            .or_else(|| read.several.as_ref()?.unknown_place())
            .or_else(|| read.shared.as_ref()?.unknown_place())
        {
            return Err(wrong(format!(
                "a command contains the unknown {{{place}}}; known: {}",
                PLACES.map(|(name, _)| name).join(", ")
            )));
        }
        Ok(read)
    }

    /// How it encrypts, if these options of mkfs ask for it.
    pub(crate) fn encrypting(&self, options: &[String]) -> Option<&EncryptionFacts> {
        let facts = self.encryption.as_ref()?;
        let setting = self.settings.get(&facts.setting)?;
        options.windows(2).any(|pair| pair[0] == setting.flag && setting.is_on_in(&pair[1])).then_some(facts)
    }

    /// Keys of all mount options that it accepts, including those of the mount layer; None if its file lists none.
    pub fn known_mount_options(&self) -> Option<BTreeSet<String>> {
        let general = crate::filesystems::readback::general_options();
        let own = self.mount.options.iter().map(String::as_str).chain(self.mount.aliases.keys().map(String::as_str));
        let own = own.map(str::to_string);
        (!self.mount.options.is_empty()).then(|| own.chain(general.map(str::to_string)).collect())
    }

    /// Programs that its commands begin with, each once.
    pub fn programs(&self) -> BTreeSet<&str> {
        let versions = self.tools.iter().map(|tool| &tool.version);
        // `mount.shown` lists files, not commands.
        let commands = self.templates().into_iter().filter(|words| !std::ptr::eq(*words, &self.mount.shown));
        let several = self.several.iter().flat_map(SeveralFacts::commands);
        commands.chain(versions).chain(several).filter_map(|words| words.first()).map(String::as_str).collect()
    }

    /// Every command with placeholders.
    fn templates(&self) -> Vec<&Vec<String>> {
        let daemon = self.daemon.iter().flat_map(|facts| [&facts.command, &facts.ready, &facts.prefix, &facts.give_up]);
        [
            &self.make.command,
            &self.mount.command,
            &self.mount.again,
            &self.mount.recover,
            &self.mount.unmount,
            &self.mount.shown,
        ]
        .into_iter()
        .chain([&self.sync.command, &self.sync.checkpoint])
        .chain(self.check.iter().map(|check| &check.command))
        .chain(self.free_space.iter().map(|facts| &facts.command))
        .chain(self.encryption.iter().flat_map(|facts| [&facts.command, &facts.shown, &facts.tool.version]))
        .chain(self.devices.iter().flat_map(|rule| [&rule.make, &rule.check]))
        .chain(self.inspect.values())
        .chain(self.shared.iter().map(|facts| &facts.intact))
        .chain(daemon)
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(from: &str, to: &str) -> String {
        let text = include_str!("../../../../filesystems/xfs.toml");
        assert!(text.contains(from));
        Filesystem::parse("mine", "mine.toml", &text.replace(from, to)).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_place_that_is_not_known_is_named_with_those_that_are() {
        let error = changed("{device}", "{disk}");
        assert!(error.contains("mine.toml") && error.contains("{disk}") && error.contains("device"), "{error}");
    }

    #[test]
    fn a_readback_without_its_inspection_is_an_error() {
        let error = changed("xfs_info = [", "other = [");
        assert!(error.contains("xfs_info"), "{error}");
    }
}
