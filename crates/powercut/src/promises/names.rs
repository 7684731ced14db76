//! Names: made, changed and taken away, and their folder synced.

use super::{Finding, Place, Promise, whole};
use crate::result::Strength;
use crate::stamps::{self, sync_folder};
use std::fs::File;
use std::io;

/// Sectors of each file.
const SECTORS: u32 = 24;

fn is_there(place: &Place, name: &str) -> io::Result<bool> {
    place.path(name).try_exists()
}

/// A new file that is synced; with its folder, or by itself.
pub(super) struct NewFile {
    pub folder: bool,
}

impl Promise for NewFile {
    fn name(&self) -> &'static str {
        if self.folder { "new-file" } else { "new-file-alone" }
    }
    fn title(&self) -> &'static str {
        if self.folder {
            "a new file is there, whole, after fsync of it and of its folder"
        } else {
            "a new file is there, whole, after fsync of it alone"
        }
    }
    fn strength(&self) -> Strength {
        if self.folder { Strength::Promised } else { Strength::Hoped }
    }
    fn set_up(&self, _: &Place) -> io::Result<()> {
        Ok(())
    }
    fn steps(&self) -> u32 {
        if self.folder { 3 } else { 2 }
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match step {
            0 => stamps::write(&place.path("new"), place.file, 0, 0..SECTORS, 0).map(drop),
            1 => File::open(place.path("new"))?.sync_all(),
            _ => sync_folder(&place.folder),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        if done < self.steps() {
            return Ok(Finding::default());
        }
        whole(&place.path("new"), place.file, SECTORS, 0..=0)
    }
}

/// A file that is renamed.
pub(super) struct Rename;

impl Promise for Rename {
    fn name(&self) -> &'static str {
        "rename"
    }
    fn title(&self) -> &'static str {
        "a file that was renamed has one of its names at any time, and the new one after fsync of its folder"
    }
    fn strength(&self) -> Strength {
        Strength::Promised
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        stamps::write(&place.path("old"), place.file, 0, 0..SECTORS, 0)?.sync_all()
    }
    fn steps(&self) -> u32 {
        2
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        if step == 0 { std::fs::rename(place.path("old"), place.path("new")) } else { sync_folder(&place.folder) }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let (old, new) = (is_there(place, "old")?, is_there(place, "new")?);
        let named = match (old, new) {
            (false, false) => Finding::broken("it has neither its old name nor its new one"),
            (true, true) => Finding::broken("it has both its old name and its new one"),
            (true, false) if done == 2 => Finding::broken("it has its old name after fsync of its folder"),
            _ => Finding::default(),
        };
        if !old && !new {
            return Ok(named);
        }
        Ok(named.and(whole(&place.path(if new { "new" } else { "old" }), place.file, SECTORS, 0..=0)?))
    }
}

/// A file that is removed.
pub(super) struct Unlink;

impl Promise for Unlink {
    fn name(&self) -> &'static str {
        "unlink"
    }
    fn title(&self) -> &'static str {
        "a file that was removed is gone after fsync of its folder, and whole as long as it is not"
    }
    fn strength(&self) -> Strength {
        Strength::Promised
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        stamps::write(&place.path("old"), place.file, 0, 0..SECTORS, 0)?.sync_all()
    }
    fn steps(&self) -> u32 {
        2
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        if step == 0 { std::fs::remove_file(place.path("old")) } else { sync_folder(&place.folder) }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        match (is_there(place, "old")?, done) {
            (true, 2) => Ok(Finding::broken("it is there after fsync of its folder")),
            (true, _) => whole(&place.path("old"), place.file, SECTORS, 0..=0),
            (false, 0) | (false, 1) => Ok(Finding::default()),
            (false, _) => Ok(Finding::default()),
        }
    }
}

/// A file that gets a second name.
pub(super) struct Link;

impl Promise for Link {
    fn name(&self) -> &'static str {
        "link"
    }
    fn title(&self) -> &'static str {
        "a hard link is there after fsync of its folder, and the first name at any time"
    }
    fn strength(&self) -> Strength {
        Strength::Promised
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        stamps::write(&place.path("first"), place.file, 0, 0..SECTORS, 0)?.sync_all()
    }
    fn steps(&self) -> u32 {
        2
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        if step == 0 {
            std::fs::hard_link(place.path("first"), place.path("second"))
        } else {
            sync_folder(&place.folder)
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let first = whole(&place.path("first"), place.file, SECTORS, 0..=0)?;
        if done < 2 && !is_there(place, "second")? {
            return Ok(first);
        }
        Ok(first.and(whole(&place.path("second"), place.file, SECTORS, 0..=0)?))
    }
}
