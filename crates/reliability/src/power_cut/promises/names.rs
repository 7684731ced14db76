//! Names: created, changed and removed, and their folder synced.

use super::{About, Finding, Place, Promise, lay_out, whole};
use crate::stamps::{self, sync_folder};
use std::fs::File;
use std::io;

/// Sectors of each file.
const SECTORS: u32 = 24;

fn is_there(place: &Place, name: &str) -> io::Result<bool> {
    place.path(name).try_exists()
}

/// A new file that is synced, with its folder or without.
pub(super) struct NewFile {
    pub folder: bool,
}

impl Promise for NewFile {
    fn about(&self) -> About {
        match self.folder {
            true => {
                About::promised("new-file", "a new file exists and is complete after fsync of it and its folder", 3)
            }
            false => About::hoped("new-file-alone", "a new file exists and is complete after fsync of it alone", 2),
        }
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match step {
            0 => stamps::write(&place.path("new"), place.file, 0, 0..SECTORS, 0).map(drop),
            1 => File::open(place.path("new"))?.sync_all(),
            _ => sync_folder(&place.folder),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        if done < self.about().steps {
            return Ok(Finding::default());
        }
        whole(&place.path("new"), place.file, SECTORS, 0..=0)
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("new".into())
    }
}

/// A file that is renamed.
pub(super) struct Rename;

impl Promise for Rename {
    fn about(&self) -> About {
        About::promised(
            "rename",
            "a renamed file always has exactly one of its names, and the new one after fsync of its folder",
            2,
        )
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, "old", place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        if step == 0 { std::fs::rename(place.path("old"), place.path("new")) } else { sync_folder(&place.folder) }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let (old, new) = (is_there(place, "old")?, is_there(place, "new")?);
        let named = match (old, new) {
            (false, false) => Finding::broken("it has neither its old name nor its new one"),
            (true, true) => Finding::broken("it has both its old name and its new one"),
            (true, false) if done == 2 => Finding::broken("it still has its old name after fsync of its folder"),
            _ => Finding::default(),
        };
        if !old && !new {
            return Ok(named);
        }
        Ok(named.and(whole(&place.path(if new { "new" } else { "old" }), place.file, SECTORS, 0..=0)?))
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("new".into())
    }
}

/// A file that is removed.
pub(super) struct Unlink;

impl Promise for Unlink {
    fn about(&self) -> About {
        About::promised(
            "unlink",
            "a removed file is gone after fsync of its folder, and complete as long as it still exists",
            2,
        )
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, "old", place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        if step == 0 { std::fs::remove_file(place.path("old")) } else { sync_folder(&place.folder) }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        match (is_there(place, "old")?, done) {
            (true, 2) => Ok(Finding::broken("it still exists after fsync of its folder")),
            (true, _) => whole(&place.path("old"), place.file, SECTORS, 0..=0),
            (false, _) => Ok(Finding::default()),
        }
    }
    fn file(&self, _: u32) -> Option<String> {
        None
    }
}

/// A file that gets a second name.
pub(super) struct Link;

impl Promise for Link {
    fn about(&self) -> About {
        About::promised("link", "a hard link exists after fsync of its folder, and the first name always exists", 2)
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, "first", place.file, SECTORS)
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
    fn file(&self, _: u32) -> Option<String> {
        Some("second".into())
    }
}
