//! Mount options that a kernel no longer accepts, and the nearest form of a published option set that has them.
//! In: `[mount.gone]` of a filesystem's file, an option set, the kernel's release. Out: what to do instead, in words, or a contender that
//! this kernel accepts, with every difference listed. An option that the user gave is never changed.

use crate::filesystems::description::Filesystem;
use records::{Contender, Difference, Nearest};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Suffix of an option set's name if it runs in its nearest form.
const NEAREST: &str = " (nearest)";

/// A removed mount option, and the nearest replacement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gone {
    /// First release of Linux that rejects it: `4.19`. Absent: all that a contender can run on do.
    #[serde(default)]
    pub since: Option<String>,
    /// What became of it, as a clause.
    pub because: String,
    /// Mount options that come nearest to it; none: it is left out.
    #[serde(default)]
    pub instead: Vec<String>,
    /// Settings of the device that come nearest to it, as the axis `device.NAME` takes them; an option set gets them in its place.
    #[serde(default)]
    pub device: BTreeMap<String, String>,
    /// Which of its effects the replacement lacks, as a clause; absent for none.
    #[serde(default)]
    pub lost: Option<String>,
}

impl Gone {
    /// Whether a kernel of this release still accepts the option.
    fn is_taken_by(&self, release: &str) -> bool {
        let since = self.since.as_deref().and_then(version);
        matches!((since, version(release)), (Some(since), Some(release)) if release < since)
    }

    /// What a user who requested it can do.
    pub(crate) fn way(&self, option: &str, title: &str) -> String {
        let what = match self.instead.as_slice() {
            [] => format!("remove {option}"),
            instead => format!("write {} instead of {option}", instead.join(",")),
        };
        let near: Vec<String> = self.settings().map(|setting| format!("--axis {setting}")).collect();
        let near = if near.is_empty() { String::new() } else { format!("; the nearest is {}", near.join(" ")) };
        let why = match &self.since {
            Some(since) => format!(", which {title} dropped in Linux {since}: {}", self.because),
            None => format!(": {}", self.because),
        };
        format!("{what}{why}{near}")
    }

    /// The difference that it makes to an option set.
    fn difference(&self, option: &str, title: &str) -> Difference {
        let settings: Vec<String> = self.settings().collect();
        let with: Vec<&str> = self.instead.iter().chain(&settings).map(String::as_str).collect();
        let what = match with.as_slice() {
            [] => format!("without {option}"),
            with => format!("with {} instead of {option}", with.join(" and ")),
        };
        let lost = self.lost.as_ref().map_or_else(String::new, |lost| format!("; {lost}"));
        let left = self.since.as_ref().map(|since| format!("{title} dropped {} in Linux {since}: ", key(option)));
        Difference { what, why: format!("{}{}{lost}", left.unwrap_or_default(), self.because) }
    }

    fn settings(&self) -> impl Iterator<Item = String> {
        self.device.iter().map(|(name, value)| format!("device.{name}={value}"))
    }
}

/// The entry for an option in a filesystem's file, with or without its value.
pub(crate) fn gone<'a>(filesystem: &'a Filesystem, option: &str) -> Option<&'a Gone> {
    let list = &filesystem.mount.gone;
    list.get(option).or_else(|| list.get(key(option)))
}

/// The contender with every option of its set that this kernel release rejects replaced by its nearest form, under a name with a suffix.
/// None if the kernel accepts all of them. Options that the user added to the set stay unchanged.
pub fn nearest(filesystem: &Filesystem, set: &Contender, contender: &Contender, release: &str) -> Option<Contender> {
    let typed = |option: &str| contender.axes.contains_key(&format!("mount.{}", key(option)));
    let mut options = contender.mount_options();
    let mut near = contender.clone();
    let mut differs = Vec::new();
    for option in set.mount_options().into_iter().filter(|option| !typed(option)) {
        let Some(rule) = gone(filesystem, &option).filter(|rule| !rule.is_taken_by(release)) else { continue };
        let Some(at) = options.iter().position(|known| *known == option) else { continue };
        let there = |wanted: &&String| options.iter().any(|known| key(known) == key(wanted));
        let instead: Vec<String> = rule.instead.iter().filter(|wanted| !there(wanted)).cloned().collect();
        options.splice(at..=at, instead);
        for (name, value) in &rule.device {
            near.device.entry(name.clone()).or_insert_with(|| value.clone());
        }
        differs.push(rule.difference(&option, &filesystem.title));
    }
    if differs.is_empty() {
        return None;
    }
    near.mount = options.join(",");
    near.base = format!("{}{NEAREST}", contender.base);
    near.label = axes::label(&near);
    near.nearest = Some(Nearest { of: contender.base.clone(), differs });
    Some(near)
}

fn key(option: &str) -> &str {
    option.split('=').next().unwrap_or(option)
}

/// The first two numbers of a release: `6.12.9-amd64` is 6 and 12.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::registry::Registry;

    fn filesystem(name: &str) -> Filesystem {
        Registry::embedded().expect("good").get(name).expect("known").clone()
    }

    fn set(mount: &str) -> Contender {
        Contender { mount: mount.into(), ..Contender::named("old-set", "xfs") }
    }

    #[test]
    fn a_removed_option_becomes_the_nearest_one_of_the_file_under_another_name() {
        let (xfs, set) = (filesystem("xfs"), set("logbsize=256k,nobarrier"));
        let near = nearest(&xfs, &set, &set, "6.18.5").expect("nobarrier left in 4.19");
        assert_eq!((near.label.as_str(), near.mount.as_str()), ("old-set (nearest)", "logbsize=256k"));
        assert_eq!(near.device.get("flushes").map(String::as_str), Some("off"));
        let note = near.nearest.expect("it is named");
        assert_eq!(note.of, "old-set");
        assert_eq!(note.in_short(), "old-set with device.flushes=off instead of nobarrier");
        assert!(note.differs[0].why.starts_with("XFS dropped nobarrier in Linux 4.19: "), "{note:?}");
    }

    #[test]
    fn a_kernel_that_takes_the_set_gets_it_as_it_was() {
        let (xfs, set) = (filesystem("xfs"), set("logbsize=256k,nobarrier"));
        assert_eq!(nearest(&xfs, &set, &set, "4.18.0-25-generic"), None);
        assert!(nearest(&xfs, &set, &set, "4.19").is_some());
        // Both numbers count: 4.9 is older than 4.19.
        assert_eq!(nearest(&xfs, &set, &set, "4.9.1"), None);
    }

    #[test]
    fn options_typed_beside_a_set_stay_and_are_left_to_the_kernel() {
        let (xfs, set) = (filesystem("xfs"), set("logbsize=256k"));
        let typed = Contender { mount: "logbsize=256k,nobarrier".into(), ..set.clone() };
        assert_eq!(nearest(&xfs, &set, &typed, "6.18"), None);
        let mut asked = Contender { mount: "nobarrier".into(), ..set.clone() };
        asked.axes.insert("mount.nobarrier".into(), "on".into());
        assert_eq!(nearest(&xfs, &asked.clone(), &asked, "6.18"), None);
    }

    #[test]
    fn an_option_that_has_another_name_now_is_written_by_it() {
        let btrfs = filesystem("btrfs");
        let set = Contender { mount: "noatime,recovery,inode_cache".into(), ..Contender::named("old", "btrfs") };
        let near = nearest(&btrfs, &set, &set, "6.18").expect("both are gone");
        assert_eq!(near.mount, "noatime,rescue=usebackuproot");
        assert_eq!(near.nearest.expect("it is named").differs.len(), 2);
    }

    #[test]
    fn the_way_out_names_the_option_and_what_takes_its_place() {
        let rule = |name: &str, option: &str| {
            let filesystem = filesystem(name);
            gone(&filesystem, option).expect("it is gone").way(option, &filesystem.title)
        };
        let way = rule("xfs", "nobarrier");
        assert!(way.starts_with("remove nobarrier, which XFS dropped in Linux 4.19: "), "{way}");
        assert!(way.contains("--axis device.flushes=off"), "{way}");
        assert!(
            rule("btrfs", "recovery")
                .starts_with("write rescue=usebackuproot instead of recovery, which btrfs dropped in Linux 6.8: ")
        );
        assert!(rule("xfs", "ihashsize=9").starts_with("remove ihashsize=9, which XFS dropped in Linux 4.0: "));
    }
}
