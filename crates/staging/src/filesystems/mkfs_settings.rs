//! Named mkfs settings: an axis name such as `mkfs.rmapbt`, and how this filesystem's mkfs takes it.
//! In: a value by name. Out: mkfs words, in which the setting replaces the same one among the contender's own options.
//! How a setting is read back follows from its flag and key, by the filesystem's `readback` rules.

use crate::filesystems::description::{Filesystem, Form};
use crate::filesystems::options::Given;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One setting: a flag with a value (`-b 4096`), an item in a flag's list (`-m rmapbt=1`), a feature (`-O ^has_journal`), or a flag without a
/// value (`--encrypted`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedSetting {
    /// The flag.
    pub flag: String,
    /// Key of the item within the flag's list; absent where the flag has one value.
    pub key: Option<String>,
    /// Word in the flag's list when the setting is on, and with `^` before it when it is off.
    pub feature: Option<String>,
    /// mkfs knows no `^` before the feature: off leaves it out.
    #[serde(default)]
    pub left_out: bool,
    /// mkfs takes one item after each flag, not a list, and the flag more than once.
    #[serde(default)]
    pub repeated: bool,
    /// On or off, written `1` or `0`; without a key, the flag has no value and is given or left out.
    #[serde(default)]
    pub switch: bool,
    /// Flags without a value that are given with that flag.
    #[serde(default)]
    pub with: Vec<String>,
    /// The only values that it takes; empty: mkfs decides.
    #[serde(default)]
    pub values: Vec<String>,
}

/// Settings that exclude each other.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// Values by axis: `{ "mkfs.crc" = "off", "mkfs.rmapbt" = "on" }`; `*` means any value but off.
    pub when: BTreeMap<String, String>,
    /// Why.
    pub because: String,
}

impl NamedSetting {
    /// Whether its values are on and off.
    pub fn is_switch(&self) -> bool {
        self.switch || self.feature.is_some()
    }

    /// Whether it is a flag without a value.
    fn is_bare(&self) -> bool {
        self.switch && self.key.is_none()
    }

    /// The flag, and those that are given with it.
    fn flags(&self) -> impl Iterator<Item = &String> {
        [&self.flag].into_iter().chain(&self.with)
    }

    /// Adds it to the words for mkfs. Equal flags are joined, since some programs keep only the last of two.
    pub(crate) fn write_into(&self, words: &mut Vec<String>, value: &str) {
        if self.is_bare() {
            words.retain(|word| self.flags().all(|flag| flag != word));
            words.extend(self.flags().filter(|_| is_on(value) != Some(false)).cloned());
            return;
        }
        let is_left_out = self.left_out && is_on(value) == Some(false);
        let item = Some(self.item(value)).filter(|_| !is_left_out);
        if self.repeated {
            while let Some(at) = words.windows(2).position(|pair| pair[0] == self.flag && self.is_same(&pair[1])) {
                words.drain(at..at + 2);
            }
        }
        let Some(at) = position(words, &self.flag).filter(|_| !self.repeated) else {
            words.extend(item.into_iter().flat_map(|item| [self.flag.clone(), item]));
            return;
        };
        // One value takes the place of another; a list keeps its other items.
        let is_list = self.key.is_some() || self.feature.is_some();
        let kept = words[at].split(',').filter(|one| is_list && !self.is_same(one)).map(str::to_string);
        let items: Vec<String> = kept.chain(item).collect();
        if items.is_empty() {
            words.drain(at - 1..=at);
        } else {
            words[at] = items.join(",");
        }
    }

    /// The text after the flag: `rmapbt=1`, `^has_journal`, `4096`.
    fn item(&self, value: &str) -> String {
        let on = is_on(value);
        match (&self.feature, &self.key) {
            (Some(feature), _) => format!("{}{feature}", if on == Some(false) { "^" } else { "" }),
            (None, Some(key)) if self.switch => format!("{key}={}", u8::from(on != Some(false))),
            (None, Some(key)) => format!("{key}={value}"),
            (None, None) => value.to_string(),
        }
    }

    /// Whether an item of the flag's list is this setting with another value.
    fn is_same(&self, item: &str) -> bool {
        match (&self.feature, &self.key) {
            (Some(feature), _) => item.trim_start_matches('^') == feature,
            (None, Some(key)) => item.split('=').next() == Some(key),
            (None, None) => false,
        }
    }

    /// Whether a list of features has this one, not with `^` before it.
    pub(crate) fn is_on_in(&self, list: &str) -> bool {
        list.split(',').any(|item| Some(item) == self.feature.as_deref())
    }

    /// Its value among options of mkfs; None if they lack it. A feature has none.
    pub(crate) fn value_in<'a>(&self, options: &'a [Given]) -> Option<&'a str> {
        let mut values = options.iter().filter(|one| one.flag == self.flag).map(|one| one.value.as_str());
        match &self.key {
            None if self.switch => values.next().map(|_| "on"),
            None if self.feature.is_none() => values.next_back(),
            None => None,
            Some(key) => {
                let items = values.flat_map(|value| value.split(',')).filter_map(|item| item.split_once('='));
                items.rev().find(|(name, _)| name == key).map(|(_, value)| value)
            }
        }
    }

    /// What is wrong with its entry in the file.
    pub(crate) fn problem(&self, name: &str, filesystem: &Filesystem) -> Option<String> {
        if !self.flag.starts_with('-') {
            return Some(format!("the flag of {name} is \"{}\", which has no dash", self.flag));
        }
        if let Some(flag) = self.flags().find(|flag| self.is_bare() != filesystem.make.switches.contains(*flag)) {
            let which = if self.is_bare() { "not" } else { "also" };
            return Some(format!("the flag {flag} of {name} is {which} among the switches of mkfs"));
        }
        let reads_back = |rule: &&crate::filesystems::description::ReadBack| {
            let keyed = rule.key.is_none() || rule.key == self.key;
            let fits = (rule.form == Form::Features) == self.feature.is_some()
                && (rule.form == Form::Present) == self.is_bare()
                || rule.form == Form::Hidden;
            rule.flag == self.flag && keyed && fits
        };
        match filesystem.readback.iter().find(reads_back) {
            Some(_) => None,
            None => Some(format!(
                "no readback rule shows whether {} took effect (if nothing can, add one with form = \"hidden\" and the reason)",
                self.flag
            )),
        }
    }
}

/// The value of a switch; None for any other text.
fn is_on(value: &str) -> Option<bool> {
    match value {
        "on" | "1" | "true" => Some(true),
        "off" | "0" | "false" => Some(false),
        _ => None,
    }
}

/// Position of a flag's value, after the words were brought to the form `FLAG VALUE`.
fn position(words: &mut Vec<String>, flag: &str) -> Option<usize> {
    let long = format!("{flag}=");
    let attached = |word: &String| match flag.starts_with("--") {
        true => word.strip_prefix(long.as_str()).map(str::to_string),
        false if flag.len() == 2 && !word.starts_with("--") => {
            word.strip_prefix(flag).filter(|rest| !rest.is_empty()).map(str::to_string)
        }
        false => None,
    };
    if let Some((at, value)) = words.iter().enumerate().find_map(|(at, word)| Some((at, attached(word)?))) {
        words.splice(at..=at, [flag.to_string(), value]);
    }
    let at = words.iter().position(|word| word == flag)? + 1;
    words.get(at).filter(|value| !value.starts_with('-'))?;
    Some(at)
}

/// The first setting that a filesystem does not know, or not with this value, in words.
pub(crate) fn problem(filesystem: &Filesystem, settings: &BTreeMap<String, String>) -> Option<String> {
    settings.iter().find_map(|(name, value)| {
        let Some(setting) = filesystem.settings.get(name) else {
            let known: Vec<&str> = filesystem.settings.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Some(format!("{} has no mkfs setting \"{name}\"; known: {known}", filesystem.name));
        };
        let takes = match setting.is_switch() {
            true => is_on(value).is_some(),
            false => setting.values.is_empty() || setting.values.contains(value),
        };
        let offered = if setting.is_switch() { "on or off".into() } else { setting.values.join(", ") };
        (!takes).then(|| format!("the mkfs setting {name} of {} takes {offered}, not {value}", filesystem.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::registry::Registry;
    use crate::filesystems::template;
    use records::Contender;

    fn words(filesystem: &str, own: &str, settings: &[(&str, &str)]) -> String {
        let registry = Registry::embedded().expect("good");
        let mut contender = Contender::plain(filesystem);
        contender.mkfs = own.split_whitespace().map(str::to_string).collect();
        contender.mkfs_settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        template::asked_words(registry.get(filesystem).expect("known"), &contender).join(" ")
    }

    #[test]
    fn a_setting_is_written_as_the_filesystems_mkfs_takes_it() {
        assert_eq!(words("xfs", "", &[("rmapbt", "1")]), "-m rmapbt=1");
        assert_eq!(words("xfs", "", &[("block_size", "1024")]), "-b size=1024");
        assert_eq!(words("ext4", "", &[("block_size", "1024")]), "-b 1024");
        assert_eq!(words("ext4", "", &[("has_journal", "off")]), "-O ^has_journal");
        assert_eq!(words("btrfs", "", &[("csum", "xxhash"), ("node_size", "4096")]), "--csum xxhash -n 4096");
    }

    #[test]
    fn a_setting_without_a_value_is_given_or_left_out_with_all_its_flags() {
        assert_eq!(words("bcachefs", "", &[("encrypt", "on")]), "--encrypted --no_passphrase");
        assert_eq!(words("bcachefs", "-v --encrypted --no_passphrase", &[("encrypt", "off")]), "-v");
        assert_eq!(
            words("bcachefs", "--encrypted --no_passphrase --replicas=2", &[("encrypt", "1")]),
            "--replicas=2 --encrypted --no_passphrase"
        );
        let text = include_str!("../../../../filesystems/bcachefs.toml");
        let odd = text.replace("\"--no_passphrase\", ", "");
        assert_ne!(odd, text);
        let error = Filesystem::parse("odd", "odd.toml", &odd).expect_err("not among the switches").to_string();
        assert!(error.contains("--no_passphrase of encrypt is not among the switches"), "{error}");
    }

    #[test]
    fn a_flag_for_one_item_is_given_again_for_another() {
        let own = "-O compression=off -O encryption=off -o ashift=9 -o autotrim=on";
        let both = words("openzfs", own, &[("encrypt", "on"), ("ashift", "12")]);
        assert_eq!(both, "-O compression=off -o autotrim=on -o ashift=12 -O encryption=on");
    }

    #[test]
    fn a_feature_that_mkfs_cannot_turn_off_is_left_out() {
        assert_eq!(words("f2fs", "", &[("encrypt", "off")]), "");
        assert_eq!(words("f2fs", "-O encrypt -s 2", &[("encrypt", "off")]), "-s 2");
        assert_eq!(words("f2fs", "-O encrypt,verity", &[("encrypt", "0")]), "-O verity");
        assert_eq!(words("f2fs", "-O verity", &[("encrypt", "on")]), "-O verity,encrypt");
    }

    #[test]
    fn a_setting_joins_the_contenders_own_flag_and_takes_the_place_of_its_own_value() {
        assert_eq!(words("xfs", "-m rmapbt=0,reflink=0", &[("rmapbt", "on")]), "-m reflink=0,rmapbt=1");
        assert_eq!(words("ext4", "-O none,has_journal,extent", &[("has_journal", "0")]), "-O none,extent,^has_journal");
        assert_eq!(
            words("ext4", "-Odir_index -b 4096", &[("bigalloc", "1"), ("block_size", "1024")]),
            "-O dir_index,bigalloc -b 1024"
        );
        assert_eq!(words("btrfs", "--csum=crc32c -f", &[("csum", "sha256")]), "--csum sha256 -f");
    }

    #[test]
    fn a_setting_that_is_not_known_names_those_that_are() {
        let registry = Registry::embedded().expect("good");
        let of = |name: &str, value: &str| {
            let settings = [(name.to_string(), value.to_string())].into();
            problem(registry.get("xfs").expect("known"), &settings)
        };
        assert!(of("has_journal", "1").is_some_and(|text| text.contains("rmapbt")));
        assert!(of("rmapbt", "maybe").is_some_and(|text| text.contains("on or off")));
        assert_eq!(of("rmapbt", "off"), None);
    }

    #[test]
    fn a_setting_without_a_way_to_read_it_back_is_an_error_of_its_file() {
        let text = include_str!("../../../../filesystems/xfs.toml");
        let odd = format!("{text}\n[settings.odd]\nflag = \"-Q\"\n");
        let error = Filesystem::parse("odd", "odd.toml", &odd).expect_err("-Q is not read back").to_string();
        assert!(error.contains("odd.toml") && error.contains("-Q"), "{error}");
    }
}
