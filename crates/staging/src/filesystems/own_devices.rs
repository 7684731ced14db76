//! A contender's own devices in the words of its commands: an external journal, a log.
//! In: the devices that were taken, and the requested words. Out: words for mkfs, mount and the check that name the devices by their nodes,
//! and the commands that prepare them.

use crate::filesystems::description::{DeviceRule, Filesystem};
use crate::filesystems::options::given;
use crate::filesystems::template::Placeholders;

/// A device of the staged contender, and its entry in the filesystem's file.
#[derive(Debug, Clone)]
pub(crate) struct Companion {
    pub rule: DeviceRule,
    pub device: system::BlockDevice,
}

/// The words for mkfs with the nodes of the taken devices instead of the given names, which could lead elsewhere by now.
pub(crate) fn with_devices(mut words: Vec<String>, own: &[Companion]) -> Vec<String> {
    for taken in own {
        let key = format!("{}=", taken.rule.key);
        let flag = &taken.rule.flag;
        let mut behind = false;
        for word in &mut words {
            let (start, items) = match word.strip_prefix(flag.as_str()) {
                Some(attached) if !attached.is_empty() => (flag.as_str(), attached),
                _ => ("", word.as_str()),
            };
            let is_value = behind || !start.is_empty();
            behind = word == flag;
            if is_value {
                let node = |item: &str| match item.starts_with(&key) {
                    true => format!("{key}{}", taken.device.path.display()),
                    false => item.to_string(),
                };
                *word = format!("{start}{}", items.split(',').map(node).collect::<Vec<_>>().join(","));
            }
        }
    }
    words
}

/// The mount options, including those that name the contender's own devices.
pub(crate) fn mounting(list: Vec<String>, own: &[Companion]) -> Vec<String> {
    let named = own.iter().filter_map(|taken| Some((taken.rule.mount.as_deref()?, &taken.device)));
    let mut list = list;
    for (key, device) in named {
        list.retain(|option| option.split('=').next() != Some(key));
        list.push(format!("{key}={}", device.path.display()));
    }
    list
}

/// The options that pass the filesystem's own devices to its check.
pub(crate) fn checking(places: &Placeholders, own: &[Companion]) -> Vec<String> {
    own.iter().flat_map(|taken| on(places, taken).fill(&taken.rule.check, &[])).collect()
}

/// The commands that prepare its own devices before mkfs.
pub(crate) fn making(
    filesystem: &Filesystem,
    places: &Placeholders,
    own: &[Companion],
    words: &[String],
) -> Vec<Vec<String>> {
    let options = given(filesystem, words).unwrap_or_default();
    let command = |taken: &Companion| {
        let follows = options.iter().filter(|one| taken.rule.follows.contains(&one.flag));
        let follows: Vec<String> = follows.flat_map(|one| [one.flag.clone(), one.value.clone()]).collect();
        on(places, taken).fill(&taken.rule.make, &follows)
    };
    own.iter().map(command).filter(|words| !words.is_empty()).collect()
}

fn on(places: &Placeholders, taken: &Companion) -> Placeholders {
    Placeholders { device: taken.device.path.clone(), name: taken.device.name.clone(), ..places.clone() }
}
