//! How a filesystem's own tools show its features: keys under `[features]` of its file.
//! In: TOML. Out: [`FeatureTools`]; a tool that is not named counts as missing.
//! Commands accept `{device}`, `{mountpoint}`, `{label}`, and `{second}` (another device), `{folder}` and `{mib}` where they apply.

use crate::filesystems::template::Placeholders;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

/// What a filesystem's tools can show.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FeatureTools {
    /// Formats a device of any size, preferably without writing: shows the largest volume.
    pub volume: Vec<String>,
    /// Options that bring quotas, and a command that shows that they work.
    pub quota: Option<Options>,
    /// Options that bring case folding, and a command that switches it on for `{folder}`.
    pub casefold: Option<Options>,
    /// Options that bring compression.
    pub compression: Option<Options>,
    /// Adds the device `{second}`.
    pub several_devices: Vec<String>,
    /// Grows to the size of the device.
    pub grow: Option<Resize>,
    /// Shrinks to `{mib}` MiB.
    pub shrink: Option<Resize>,
    /// Reads everything against its checksums; fails where something is wrong.
    pub scrub: Vec<String>,
}

/// Options that enable a feature.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// mkfs words.
    pub mkfs: Vec<String>,
    /// Mount options.
    pub mount: String,
    /// Then this command.
    pub command: Vec<String>,
}

/// How it grows or shrinks.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// The command.
    pub command: Vec<String>,
    /// Only while it is not mounted.
    #[serde(default)]
    pub offline: bool,
    /// Tried on the unmounted filesystem if the command is refused: growing a mounted one may need a privilege that even root lacks in a container.
    #[serde(default)]
    pub unmounted: Vec<String>,
}

/// Placeholders that only these commands have.
const MORE: [&str; 3] = ["second", "folder", "mib"];

impl FeatureTools {
    /// Programs that the commands begin with.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &String> {
        let options = [&self.quota, &self.casefold, &self.compression].into_iter().flatten();
        let resizes = [&self.grow, &self.shrink].into_iter().flatten();
        let resizes = resizes.flat_map(|resize| [&resize.command, &resize.unmounted]);
        let plain = [&self.volume, &self.several_devices, &self.scrub].into_iter();
        plain.chain(options.map(|options| &options.command)).chain(resizes).filter_map(|words| words.first())
    }

    /// A word in braces that is not a placeholder.
    pub(crate) fn unknown_place(&self) -> Option<&str> {
        let options = [&self.quota, &self.casefold, &self.compression];
        let options = options.into_iter().flatten().map(|options| &options.command);
        let resizes = [&self.grow, &self.shrink].into_iter().flatten();
        let resizes = resizes.flat_map(|resize| [&resize.command, &resize.unmounted]);
        let plain = [&self.volume, &self.several_devices, &self.scrub].into_iter();
        let words = plain.chain(options).chain(resizes).flatten();
        words.filter_map(|word| crate::filesystems::template::unknown_place(word)).find(|place| !MORE.contains(place))
    }
}

/// Values of the placeholders that only these commands have.
#[derive(Debug, Clone, Default)]
pub(crate) struct More<'a> {
    /// `{second}`.
    pub second: Option<&'a Path>,
    /// `{folder}`.
    pub folder: Option<&'a Path>,
    /// `{mib}`.
    pub mib: u64,
}

impl More<'_> {
    /// Fills in a command.
    pub(crate) fn fill(&self, places: &Placeholders, template: &[String]) -> Vec<String> {
        let path = |path: Option<&Path>| path.map(|path| path.display().to_string()).unwrap_or_default();
        let words = places.fill(template, &[]).into_iter();
        words
            .map(|word| {
                word.replace("{second}", &path(self.second))
                    .replace("{folder}", &path(self.folder))
                    .replace("{mib}", &self.mib.to_string())
            })
            .collect()
    }
}
