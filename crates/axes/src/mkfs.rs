//! `mkfs.NAME`: a setting of mkfs, by its name in the filesystem's file.
//! In: its value. Out: a setting of the contender, which staging writes as that file defines.
//! Values are checked against the filesystem's file when contenders are multiplied.

use crate::axis::{About, Axis, DEFAULT};
use records::Contender;

pub(crate) struct Mkfs;

impl Axis for Mkfs {
    fn about(&self) -> About {
        About::named("mkfs.")
    }

    fn put(&self, contender: &mut Contender, setting: &str, value: &str) {
        if value != DEFAULT {
            contender.mkfs_settings.insert(setting.to_owned(), value.to_owned());
        }
    }

    fn clear(&self, contender: &mut Contender, setting: &str) {
        contender.mkfs_settings.remove(setting);
    }

    fn asked(&self, contender: &Contender, setting: &str) -> Option<String> {
        contender.mkfs_settings.get(setting).cloned()
    }
}
