//! `disk`: a disk that this machine does not have, modelled by a description: `hdd-7200`, or a file of the user's own.
//! In: its name. Out: the word "modelled" in every label, and the kernel's `rotational` setting. The stage serves the disk.

use crate::axis::{About, Applied, Axis, Ground, Moment, Seen};
use crate::queue::Setting;
use disk_model::Model;
use records::OptionFound;
use std::path::Path;

/// Prefix of such a disk's label, so that its figures are not taken for those of a real disk.
const MODELLED: &str = "modelled ";

pub(crate) struct ModelledDisk;

/// The name of a description: its compiled-in name, or the file's.
pub fn disk_name(value: &str) -> &str {
    let file = value.rsplit('/').next().unwrap_or(value);
    file.strip_suffix(".toml").unwrap_or(file)
}

fn is_file(value: &str) -> bool {
    value.ends_with(".toml")
}

/// The description of this name, or in this file.
///
/// # Errors
/// There is none, or it cannot be understood.
pub fn described(value: &str, read: impl FnOnce(&Path) -> Result<String, String>) -> Result<Model, String> {
    if !is_file(value) {
        return disk_model::named(value).cloned().ok_or_else(|| unknown(value));
    }
    let text = read(Path::new(value)).map_err(|why| format!("reading the disk's description {value}: {why}"))?;
    Model::parse(disk_name(value), &text).map_err(|error| format!("{value} is not a disk description: {error}"))
}

/// Name and title of each disk that is shipped.
pub fn disks() -> impl Iterator<Item = (&'static str, &'static str)> {
    disk_model::shipped().iter().map(|model| (model.name(), model.title()))
}

fn unknown(value: &str) -> String {
    let names: Vec<&str> = disks().map(|(name, _)| name).collect();
    format!("there is no disk `{value}`; known: {}, and your own files (PATH.toml)", names.join(", "))
}

fn unread() -> String {
    "it can no longer be read".into()
}

/// The kernel's setting for such a disk: whether it is rotational.
fn turns(model: &Model) -> Result<Setting, String> {
    Setting::of("rotational", if model.is_rotational() { "1" } else { "0" })
}

impl Axis for ModelledDisk {
    fn about(&self) -> About {
        About { moment: Moment::Queue, ..About::named("disk") }
    }

    fn check(&self, _: &str, value: &str) -> Result<(), String> {
        if is_file(value) || disk_model::named(value).is_some() { Ok(()) } else { Err(unknown(value)) }
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" {MODELLED}{}", disk_name(value))
    }

    fn apply(&self, _: &str, value: &str, ground: &mut dyn Ground) -> Result<Applied, String> {
        let model = described(value, |path| ground.read(path).ok_or_else(unread))?;
        ground.disk().ok_or("this kernel shows the modelled disk")?;
        let mut applied = turns(&model)?.apply(ground)?;
        let remark =
            format!("{} is modelled: {}; its figures are not those of a real disk", model.name(), model.title());
        applied.remarks.push(remark);
        Ok(applied)
    }

    fn read_back(&self, seen: &Seen) -> Result<Vec<OptionFound>, String> {
        let model = described(seen.value, |path| seen.machine.read(path).ok_or_else(unread))?;
        let found = turns(&model)?.read_back(seen)?.into_iter();
        let of_disk = |one: OptionFound| OptionFound {
            asked: format!("disk {}", seen.value),
            found: one.found.map(|shows| format!("rotational {shows}")),
            ..one
        };
        Ok(found.map(of_disk).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_names_the_modelled_disk() {
        assert_eq!(ModelledDisk.label("", "hdd-7200"), " modelled hdd-7200");
        assert_eq!(ModelledDisk.label("", "/srv/disks/mine.toml"), " modelled mine");
    }

    #[test]
    fn an_unknown_disk_is_refused_and_known_disks_are_listed() {
        assert_eq!(ModelledDisk.check("", "hdd-7200"), Ok(()));
        let error = ModelledDisk.check("", "hdd").expect_err("refused");
        assert!(error.contains("`hdd`") && error.contains("hdd-7200, nvme-qlc"), "{error}");
        let missing = described("mine.toml", |_| Err("no such file".into())).expect_err("refused");
        assert_eq!(missing, "reading the disk's description mine.toml: no such file");
        let garbage = described("mine.toml", |_| Ok("garbage".into())).expect_err("refused");
        assert!(garbage.starts_with("mine.toml is not a disk description: "), "{garbage}");
    }
}
