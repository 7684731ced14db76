//! A file that is replaced by renaming another over it, as editors and package managers do.

use super::{About, Finding, Place, Promise, lay_out, one_version};
use crate::stamps::{self, sync_folder};
use std::fs::File;
use std::io;

const SECTORS: u32 = 24;
const ROUNDS: u32 = 3;

/// Replaced correctly, with fsync of the new file before and of the folder after, or without any sync.
pub(super) struct Replace {
    pub synced: bool,
}

impl Replace {
    fn steps_of_round(&self) -> u32 {
        if self.synced { 4 } else { 2 }
    }
}

impl Promise for Replace {
    fn about(&self) -> About {
        let steps = ROUNDS * self.steps_of_round();
        match self.synced {
            true => About::promised(
                "replace",
                "a file replaced with fsync and rename is always the complete old or the complete new one",
                steps,
            ),
            false => About::hoped(
                "replace-unsynced",
                "a file replaced by rename without fsync is the old or the new one, never empty",
                steps,
            ),
        }
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, "file", place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let (version, within) = (step / self.steps_of_round() + 1, step % self.steps_of_round());
        let rename = || std::fs::rename(place.path("file.new"), place.path("file"));
        match within {
            0 => stamps::write(&place.path("file.new"), place.file, version, 0..SECTORS, 0).map(drop),
            1 if self.synced => File::open(place.path("file.new"))?.sync_all(),
            1 | 2 => rename(),
            _ => sync_folder(&place.folder),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let finished = done / self.steps_of_round();
        let least = if self.synced { finished } else { 0 };
        Ok(match one_version(&place.path("file"), place.file, SECTORS)? {
            Ok(version) => Finding::unless((least..=finished + 1).contains(&version), || {
                format!("file is of version {version} instead of {finished}")
            }),
            Err(finding) => finding,
        })
    }
    fn round(&self) -> u32 {
        self.steps_of_round()
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("file".into())
    }
}
