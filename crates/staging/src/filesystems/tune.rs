//! Options worth trying by `bakeoff tune`, as a filesystem's file lists them; and a contender's options as a user types them.
//! In: `[[tune]]` entries. Out: [`TuneFacts`], checked against the rest of the file; [`Typed`] words of a contender.

use crate::filesystems::description::Filesystem;
use crate::filesystems::{mkfs_settings, template};
use records::Contender;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most values of one option: as many as the search takes.
const MOST_VALUES: usize = 8;

/// One option that `bakeoff tune` tries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneFacts {
    /// Its axis: `mkfs.log_size`, `mount.noatime`. What it excludes is under `excludes`.
    pub axis: String,
    /// Values worth trying beside the default. The first is screened, and the second if the budget allows; others are tried if the first makes a difference.
    pub values: Vec<String>,
    /// Values of other axes that it needs.
    #[serde(default)]
    pub needs: BTreeMap<String, String>,
    /// With it a crash may lose or damage more than with the defaults; it is tried only on request.
    #[serde(default)]
    pub less_safe: bool,
    /// Why it may matter, in one sentence.
    pub why: String,
}

impl TuneFacts {
    /// What is wrong with its entry in the file.
    pub(crate) fn problem(&self, filesystem: &Filesystem) -> Option<String> {
        let wrong = |problem: String| Some(format!("tune {}: {problem}", self.axis));
        if self.values.is_empty() || self.values.len() > MOST_VALUES {
            return wrong(format!("it has {} values; the range is 1 to {MOST_VALUES}", self.values.len()));
        }
        if self.why.is_empty() {
            return wrong("`why` is empty".into());
        }
        let own = self.values.iter().map(|value| (&self.axis, value));
        own.chain(&self.needs).find_map(|(axis, value)| wrong(unknown(filesystem, axis, value)?))
    }
}

/// Why a filesystem does not take a value of an axis.
fn unknown(filesystem: &Filesystem, axis: &str, value: &str) -> Option<String> {
    match axis.split_once('.') {
        Some(("mkfs", name)) => {
            mkfs_settings::problem(filesystem, &BTreeMap::from([(name.to_owned(), value.to_owned())]))
        }
        Some(("mount", name)) => {
            let is_known = filesystem.known_mount_options().is_none_or(|known| known.contains(name));
            (!is_known).then(|| format!("{} has no mount option {name}", filesystem.name))
        }
        _ => Some(format!("{axis} is neither a setting of mkfs nor a mount option")),
    }
}

/// A contender's options as a user types them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The program that makes it.
    pub program: String,
    /// Words for it, without the device.
    pub mkfs: Vec<String>,
    /// Words of mkfs that spread a volume over several devices: `-d raid1 -m raid1`; empty on one.
    pub several: Vec<String>,
    /// Mount options; empty: the defaults.
    pub mount: Vec<String>,
}

/// The requested options of a contender in the words of its tools, without what is added only for measuring.
pub fn typed(filesystem: &Filesystem, contender: &Contender) -> Typed {
    let usual = &filesystem.make.command;
    let several = filesystem.several.iter().filter(|_| axes::devices(contender) > 1).flat_map(|several| &several.make);
    let own = several.filter(|word| !usual.contains(word) && !word.contains('{'));
    Typed {
        several: own.cloned().collect(),
        program: filesystem.make.command.first().cloned().unwrap_or_default(),
        mkfs: template::asked_words(filesystem, contender),
        mount: template::mount_options(filesystem, contender),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::registry::Registry;

    fn with(entry: &str) -> String {
        let text = include_str!("../../../../filesystems/xfs.toml");
        let text = format!("{text}\n[[tune]]\n{entry}\n");
        Filesystem::parse("mine", "mine.toml", &text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn an_entry_that_the_filesystem_does_not_take_is_an_error() {
        for (entry, expected) in [
            ("axis = \"mkfs.nothing\"\nvalues = [\"1\"]\nwhy = \"x\"", "nothing"),
            ("axis = \"mount.commit\"\nvalues = [\"1\"]\nwhy = \"x\"", "no mount option commit"),
            ("axis = \"mkfs.reflink\"\nvalues = [\"many\"]\nwhy = \"x\"", "many"),
            ("axis = \"mkfs.reflink\"\nvalues = []\nwhy = \"x\"", "0 values"),
            ("axis = \"mkfs.reflink\"\nvalues = [\"on\"]\nwhy = \"x\"\nneeds = { \"mkfs.odd\" = \"on\" }", "odd"),
            ("axis = \"age\"\nvalues = [\"old\"]\nwhy = \"x\"", "neither"),
        ] {
            let error = with(entry);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn options_are_typed_in_the_words_of_the_tools_without_what_is_added_for_measuring() {
        let registry = Registry::embedded().expect("good");
        let ext4 = registry.get("ext4").expect("known");
        let mut contender = Contender::plain("ext4");
        axes::put(&mut contender, "mkfs.fast_commit", "on");
        axes::put(&mut contender, "mkfs.metadata_csum", "off");
        axes::put(&mut contender, "mount.noatime", "on");
        let typed = typed(ext4, &contender);
        assert_eq!((typed.program.as_str(), typed.mount), ("mkfs.ext4", vec!["noatime".to_owned()]));
        assert_eq!(typed.mkfs, ["-O", "fast_commit,^metadata_csum"]);
        let mut on_two = Contender::plain("btrfs");
        axes::put(&mut on_two, axes::DEVICES, "2");
        let two = super::typed(registry.get("btrfs").expect("known"), &on_two);
        assert_eq!((two.several.join(" ").as_str(), typed.several.len()), ("-d raid1 -m raid1", 0));
    }

    #[test]
    fn every_filesystem_that_is_tuned_has_safe_options_and_says_which_are_not() {
        let registry = Registry::embedded().expect("good");
        let tuned: Vec<&Filesystem> = registry.all().filter(|one| !one.tune.is_empty()).collect();
        assert!(["btrfs", "ext4", "xfs"].iter().all(|name| tuned.iter().any(|one| one.name == *name)));
        let gives_up = ["mount.nobarrier", "mkfs.has_journal", "mkfs.crc", "mount.nodatacow", "mount.nodatasum"];
        for one in tuned.iter().flat_map(|one| &one.tune) {
            let writeback = one.axis == "mount.data" && one.values.contains(&"writeback".to_owned());
            assert!(one.less_safe || !(writeback || gives_up.contains(&one.axis.as_str())), "{}", one.axis);
        }
    }
}
