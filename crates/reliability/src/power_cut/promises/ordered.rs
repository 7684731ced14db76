//! Actions in sequence without a sync: the later one does not survive without the earlier.

use super::{About, Finding, Place, Promise, lay_out};
use crate::stamps::{self, Sector};
use std::io;

const SECTORS: u32 = 8;
const ROUNDS: u32 = 4;

/// Two files, written one after the other.
pub(super) struct TwoFiles;

fn versions(place: &Place, name: &str, file: u32) -> io::Result<Vec<u32>> {
    let found = stamps::read(&place.path(name))?.unwrap_or_default();
    Ok(found
        .into_iter()
        .filter_map(|sector| match sector {
            Sector::Ours(stamp) if stamp.file == file => Some(stamp.version),
            _ => None,
        })
        .collect())
}

impl Promise for TwoFiles {
    fn about(&self) -> About {
        About::hoped("two-writes", "of two unsynced writes, the second does not survive without the first", 2 * ROUNDS)
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, "first", place.file, SECTORS)?;
        lay_out(place, "second", place.file + 1, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let (name, file) = if step.is_multiple_of(2) { ("first", place.file) } else { ("second", place.file + 1) };
        stamps::write(&place.path(name), file, step / 2 + 1, 0..SECTORS, 0).map(drop)
    }
    fn look(&self, place: &Place, _: u32) -> io::Result<Finding> {
        let oldest = versions(place, "first", place.file)?.into_iter().min().unwrap_or(0);
        let newest = versions(place, "second", place.file + 1)?.into_iter().max().unwrap_or(0);
        Ok(Finding::unless(newest <= oldest, || format!("second is of version {newest}, and first of {oldest}")))
    }
    fn round(&self) -> u32 {
        2
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("second".into())
    }
}

/// Folders, created one after the other.
pub(super) struct Names;

/// Number of folders.
const FOLDERS: u32 = 8;

impl Promise for Names {
    fn about(&self) -> About {
        About::hoped(
            "names-in-order",
            "of names created in sequence without a sync, none survives without the earlier ones",
            FOLDERS,
        )
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let path = place.path(&step.to_string());
        if step.is_multiple_of(2) { std::fs::create_dir(path) } else { std::fs::File::create_new(path).map(drop) }
    }
    fn look(&self, place: &Place, _: u32) -> io::Result<Finding> {
        let there = (0..FOLDERS).map(|step| place.path(&step.to_string()).try_exists());
        let there: Vec<bool> = there.collect::<io::Result<_>>()?;
        let first = there.iter().position(|known| !known).unwrap_or(there.len());
        let later = there[first..].iter().position(|known| *known).map(|more| first + more);
        Ok(later
            .map_or_else(Finding::default, |later| Finding::broken(format!("{later} exists, and {first} does not"))))
    }
    fn round(&self) -> u32 {
        2
    }
    fn file(&self, step: u32) -> Option<String> {
        Some(step.to_string())
    }
}
