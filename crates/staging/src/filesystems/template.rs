//! Commands as templates: words with placeholders that are filled in later.
//! In: the words of a filesystem's file, and [`Placeholders`]. Out: the words of a command.
//! `{options}`, `{devices}` and `{members}` become as many words as there are; other placeholders stay within their word, `{list}` with commas.

use crate::filesystems::description::Filesystem;
use records::Contender;
use std::path::{Path, PathBuf};

/// Values of the placeholders of a command.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Placeholders {
    /// `{device}`: device node.
    pub device: PathBuf,
    /// `{name}`: the device's name in sysfs and /proc.
    pub name: String,
    /// `{mountpoint}`.
    pub mountpoint: PathBuf,
    /// `{label}`: volume label or pool name, at most 12 letters, with the id of our cleanup record.
    pub label: String,
    /// `{nodes}`: a folder that contains only a link to the device node.
    pub nodes: PathBuf,
    /// `{servers}`: an empty folder for the files of a shared filesystem's servers.
    pub servers: PathBuf,
    /// `{devices}`: options that name the contender's own devices to a check.
    pub devices: Vec<String>,
    /// `{members}`: nodes of all present devices of a volume on several; `{joined}`: the same with colons.
    pub members: Vec<PathBuf>,
    /// `{pid}`: process that serves the filesystem, if there is one.
    pub pid: Option<u32>,
}

impl Placeholders {
    /// Fills in a template.
    pub fn fill(&self, template: &[String], options: &[String]) -> Vec<String> {
        template
            .iter()
            .flat_map(|word| match word.as_str() {
                "{options}" => options.to_vec(),
                "{devices}" => self.devices.clone(),
                "{members}" => self.member_words(),
                _ => vec![self.fill_word(word, options)],
            })
            .collect()
    }

    fn member_words(&self) -> Vec<String> {
        self.members.iter().map(|path| path.display().to_string()).collect()
    }

    fn fill_word(&self, word: &str, options: &[String]) -> String {
        let path = |path: &Path| path.display().to_string();
        let pid = self.pid.map_or("PID".to_string(), |pid| pid.to_string());
        word.replace("{device}", &path(&self.device))
            .replace("{name}", &self.name)
            .replace("{mountpoint}", &path(&self.mountpoint))
            .replace("{label}", &self.label)
            .replace("{joined}", &self.member_words().join(":"))
            .replace("{nodes}", &path(&self.nodes))
            .replace("{servers}", &path(&self.servers))
            .replace("{pid}", &pid)
            .replace("{list}", &options.join(","))
    }
}

/// The mkfs words that a contender requests: its own, and its named settings in the form that the filesystem's file gives.
pub(crate) fn asked_words(filesystem: &Filesystem, contender: &Contender) -> Vec<String> {
    let mut words = contender.mkfs.clone();
    for (name, value) in &contender.mkfs_settings {
        // An unknown one was refused before anything was made.
        if let Some(setting) = filesystem.settings.get(name) {
            setting.write_into(&mut words, value);
        }
    }
    words
}

/// The words for mkfs: the contender's, with the filesystem's defaults for everything that the contender does not set.
pub(crate) fn make_options(filesystem: &Filesystem, contender: &Contender) -> Vec<String> {
    let mut words = asked_words(filesystem, contender);
    for default in &filesystem.make.defaults {
        // Programs such as mke2fs keep only the last of two equal flags, so the items are appended to the contender's.
        match words.iter().position(|word| *word == default.flag) {
            Some(at) if at + 1 < words.len() => {
                let given = words[at + 1].clone();
                let missing = default.items.iter().filter(|item| !has_key(given.split(','), item));
                words[at + 1] = std::iter::once(given.clone()).chain(missing.cloned()).collect::<Vec<_>>().join(",");
            }
            _ => {
                words.push(default.flag.clone());
                words.push(default.items.join(","));
            }
        }
    }
    if let Some(flag) = &filesystem.mount.option_flag {
        for option in mount_options(filesystem, contender) {
            words.push(flag.clone());
            words.push(option);
        }
    }
    words
}

/// The mount options for the kernel: aliases resolved, defaults added.
pub(crate) fn mount_options(filesystem: &Filesystem, contender: &Contender) -> Vec<String> {
    let mut options: Vec<String> = contender
        .mount_options()
        .into_iter()
        .map(|option| filesystem.mount.aliases.get(&option).cloned().unwrap_or(option))
        .collect();
    for default in &filesystem.mount.defaults {
        if !has_key(options.iter().map(String::as_str), default) {
            options.push(default.clone());
        }
    }
    options
}

fn has_key<'a>(given: impl IntoIterator<Item = &'a str>, item: &str) -> bool {
    let key = |text: &str| text.split('=').next().unwrap_or_default().to_string();
    given.into_iter().any(|one| key(one) == key(item))
}

/// Placeholders of commands, and what each becomes.
pub const PLACES: [(&str, &str); 12] = [
    ("device", "the device's node"),
    ("devices", "options that give a check the contender's own devices"),
    ("members", "the nodes of all present devices of a volume on several devices, each a word"),
    ("joined", "the same in one word, with colons"),
    ("name", "the device's name in sysfs and /proc"),
    ("options", "the options, each a word"),
    ("list", "the options in one word, with commas"),
    ("mountpoint", "the mount point"),
    ("label", "volume label or pool name, at most 12 letters; contains the run's id"),
    ("nodes", "a folder with only a link to the device's node"),
    ("servers", "an empty folder for the servers of a shared filesystem"),
    ("pid", "the process that serves the filesystem, if there is one"),
];

/// A word in braces that is not a placeholder; `${...}` belongs to the shell.
pub(crate) fn unknown_place(word: &str) -> Option<&str> {
    word.match_indices('{').find_map(|(at, _)| {
        let name = &word[at + 1..at + 1 + word[at + 1..].find('}')?];
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase());
        let is_shell = word[..at].ends_with('$');
        (is_word && !is_shell && !PLACES.iter().any(|(known, _)| *known == name)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::registry::Registry;

    #[test]
    fn options_become_words_and_places_are_filled() {
        let places = Placeholders {
            device: "/dev/loop9".into(),
            name: "loop9".into(),
            mountpoint: "/run/m".into(),
            label: "bo-1".into(),
            nodes: "/run/n".into(),
            servers: "/run/s".into(),
            devices: Vec::new(),
            members: Vec::new(),
            pid: None,
        };
        let template: Vec<String> = ["mkfs.x", "-L", "{label}", "{options}", "{device}"].map(String::from).into();
        let words = places.fill(&template, &["-m".into(), "1".into()]);
        assert_eq!(words, ["mkfs.x", "-L", "bo-1", "-m", "1", "/dev/loop9"]);
    }

    #[test]
    fn a_default_joins_the_contenders_own_flag_and_gives_way_to_its_key() {
        let registry = Registry::embedded().expect("good");
        let ext4 = registry.get("ext4").expect("known");
        let mut contender = Contender::plain("ext4");
        contender.mkfs = vec!["-E".into(), "stride=4,lazy_itable_init=1".into()];
        let words = make_options(ext4, &contender);
        assert_eq!(words, ["-E", "stride=4,lazy_itable_init=1,lazy_journal_init=0"]);
    }
}
