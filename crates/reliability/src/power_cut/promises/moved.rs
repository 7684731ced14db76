//! Renames, links and preallocation around files that were synced: what CrashMonkey found broken in btrfs and F2FS
//! (Mohan et al., OSDI 2018, its list of new bugs), each as a guarantee.

use super::{About, Finding, Place, Promise, lay_out, one_version, whole};
use crate::stamps::{self, SECTOR, sync_folder};
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Sectors of each file.
const SECTORS: u32 = 24;

/// Creates the folders a and b and syncs their names.
fn two_folders(place: &Place) -> io::Result<()> {
    std::fs::create_dir(place.path("a"))?;
    std::fs::create_dir(place.path("b"))?;
    sync_folder(&place.folder)
}

/// Writes a new file.
fn write(place: &Place, name: &str, number: u32) -> io::Result<()> {
    stamps::write(&place.path(name), place.file + number, 0, 0..SECTORS, 0).map(drop)
}

fn sync(place: &Place, name: &str) -> io::Result<()> {
    File::open(place.path(name))?.sync_all()
}

fn is_whole(place: &Place, name: &str, number: u32) -> io::Result<Finding> {
    whole(&place.path(name), place.file + number, SECTORS, 0..=0)
}

/// A file of another folder is renamed over a synced name; then a new file beside it is synced.
pub(super) struct OverSynced;

impl Promise for OverSynced {
    fn about(&self) -> About {
        About::promised(
            "rename-over-synced",
            "a synced file replaced by a rename from another folder is the old or the new one, even if only a third file is synced",
            3,
        )
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        two_folders(place)?;
        lay_out(place, "a/file", place.file, SECTORS)?;
        stamps::write(&place.path("b/file"), place.file, 1, 0..SECTORS, 0)?.sync_all()
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match step {
            0 => std::fs::rename(place.path("b/file"), place.path("a/file")),
            1 => write(place, "a/third", 1),
            _ => sync(place, "a/third"),
        }
    }
    fn look(&self, place: &Place, _: u32) -> io::Result<Finding> {
        Ok(match one_version(&place.path("a/file"), place.file, SECTORS)? {
            Ok(_) => Finding::default(),
            Err(finding) => finding,
        })
    }
    fn file(&self, step: u32) -> Option<String> {
        (step > 0).then(|| "a/file".into())
    }
}

/// A folder is moved into another one, in which a new file is then synced.
pub(super) struct MovedFolder;

impl Promise for MovedFolder {
    fn about(&self) -> About {
        About::promised("moved-folder", "a moved folder is, with its files, in either its old or its new place", 3)
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        two_folders(place)?;
        std::fs::create_dir(place.path("a/moved"))?;
        lay_out(place, "a/moved/file", place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match step {
            0 => std::fs::rename(place.path("a/moved"), place.path("b/moved")),
            1 => write(place, "b/new", 1),
            _ => sync(place, "b/new"),
        }
    }
    fn look(&self, place: &Place, _: u32) -> io::Result<Finding> {
        match (place.path("a/moved").try_exists()?, place.path("b/moved").try_exists()?) {
            (true, true) => Ok(Finding::broken("the folder is in its old and in its new place")),
            (false, false) => Ok(Finding::broken("the folder is neither in its old nor in its new place")),
            (true, false) => is_whole(place, "a/moved/file", 0),
            (false, true) => is_whole(place, "b/moved/file", 0),
        }
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("b/moved/file".into())
    }
}

/// A new folder with a file in it, both synced, and the parent folder.
pub(super) struct NewFolder;

impl Promise for NewFolder {
    fn about(&self) -> About {
        About::promised(
            "new-folder",
            "a new folder and its file exist after fsync of the file, the folder and its parent",
            5,
        )
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match step {
            0 => std::fs::create_dir(place.path("new")),
            1 => write(place, "new/file", 0),
            2 => sync(place, "new/file"),
            3 => sync_folder(&place.path("new")),
            _ => sync_folder(&place.folder),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        if done < 5 { Ok(Finding::default()) } else { is_whole(place, "new/file", 0) }
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("new/file".into())
    }
}

/// A folder is renamed; then a new file in it and the folder itself are synced, but not the parent folder.
pub(super) struct RenamedFolder;

impl Promise for RenamedFolder {
    fn about(&self) -> About {
        About::hoped(
            "renamed-folder-alone",
            "a renamed folder has its new name after fsync of a new file in it and of the folder",
            4,
        )
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        two_folders(place)?;
        std::fs::remove_dir(place.path("b"))?;
        lay_out(place, "a/file", place.file, SECTORS)?;
        sync_folder(&place.folder)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match step {
            0 => std::fs::rename(place.path("a"), place.path("b")),
            1 => write(place, "b/new", 1),
            2 => sync(place, "b/new"),
            _ => sync_folder(&place.path("b")),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        if done < 4 {
            return Ok(Finding::default());
        }
        Ok(is_whole(place, "b/file", 0)?.and(is_whole(place, "b/new", 1)?))
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("b/new".into())
    }
}

/// A file gets names in other folders, and only the file is synced.
pub(super) struct LinkAlone {
    /// Number of names: one or two.
    pub names: usize,
}

/// The names, with their folders.
const LINKS: [&str; 2] = ["a/link", "b/link"];

impl Promise for LinkAlone {
    fn about(&self) -> About {
        match self.names {
            1 => About::hoped("link-alone", "a hard link in another folder exists after fsync of the file alone", 2),
            _ => {
                About::hoped("every-name", "all names of a file, in several folders, exist after fsync of the file", 3)
            }
        }
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        two_folders(place)?;
        lay_out(place, "first", place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match LINKS[..self.names].get(step as usize) {
            Some(link) => std::fs::hard_link(place.path("first"), place.path(link)),
            None => sync(place, "first"),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let mut found = is_whole(place, "first", 0)?;
        if done == self.about().steps {
            for link in &LINKS[..self.names] {
                found = found.and(is_whole(place, link, 0)?);
            }
        }
        Ok(found)
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("first".into())
    }
}

/// A file is synced, then gets a second name, and then its folder is synced.
pub(super) struct LinkAfterSync;

impl Promise for LinkAfterSync {
    fn about(&self) -> About {
        About::promised(
            "link-after-fsync",
            "a new file that was synced and then linked has both names after fsync of the folder",
            4,
        )
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        // The link comes late, so a filesystem without hard links is detected here.
        let (name, link) = (place.path("name"), place.path("link"));
        File::create_new(&name)?;
        std::fs::hard_link(&name, &link)?;
        std::fs::remove_file(&link)?;
        std::fs::remove_file(&name)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        match step {
            0 => write(place, "first", 0),
            1 => sync(place, "first"),
            2 => std::fs::hard_link(place.path("first"), place.path("second")),
            _ => sync_folder(&place.folder),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        if done < 4 {
            return Ok(Finding::default());
        }
        Ok(is_whole(place, "first", 0)?.and(is_whole(place, "second", 0)?))
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("second".into())
    }
}

/// Bytes allocated or zeroed past a file's end.
const BEYOND: u64 = 64 << 10;
const END: u64 = SECTORS as u64 * SECTOR as u64;

/// Blocks past the end of a file, whose length does not change.
pub(super) struct Beyond {
    /// Zeroed and synced by fdatasync, or allocated and synced by fsync.
    pub zeroed: bool,
}

impl Promise for Beyond {
    fn about(&self) -> About {
        match self.zeroed {
            true => About::promised(
                "length-after-zeroing",
                "a file keeps its length and data if a range beyond its end is zeroed without changing the length",
                2,
            ),
            false => About::hoped(
                "blocks-beyond-end",
                "blocks allocated beyond a file's end stay allocated after fsync, and its length is unchanged",
                2,
            ),
        }
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, "data", place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let file = File::options().write(true).open(place.path("data"))?;
        let way = if self.zeroed { FallocateFlags::ZERO_RANGE } else { FallocateFlags::empty() };
        match step {
            0 => Ok(rustix::fs::fallocate(&file, way | FallocateFlags::KEEP_SIZE, END, BEYOND)?),
            _ if self.zeroed => file.sync_data(),
            _ => file.sync_all(),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let found = is_whole(place, "data", 0)?;
        if self.zeroed || done < 2 || found.broken.is_some() {
            return Ok(found);
        }
        let allocated = std::fs::metadata(place.path("data"))?.blocks() * 512;
        Ok(Finding::unless(allocated >= BEYOND, || {
            format!("data has {allocated} bytes allocated instead of at least {BEYOND}")
        }))
    }
    fn file(&self, _: u32) -> Option<String> {
        Some("data".into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_of;
    use super::*;
    use std::fs;

    /// Executes a guarantee, imitates the state after a cut, and returns the finding.
    fn after(name: &str, made_up: impl Fn(&Place) -> io::Result<()>) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place { folder: folder.path().to_owned(), file: 0 };
        let tested = tests_of(name).next().expect("a guarantee");
        tested.set_up(&place).expect("set up");
        for step in 0..tested.steps() {
            match tested.step(&place, step) {
                Err(error) if step == 0 && error.kind() == io::ErrorKind::Unsupported => return None,
                done => done.expect("a step"),
            }
        }
        assert_eq!(tested.look(&place, tested.steps()).expect("looked at").broken, None, "{name}");
        made_up(&place).expect("made up");
        tested.look(&place, tested.steps()).expect("looked at").broken
    }

    #[test]
    fn each_of_the_nine_is_broken_by_the_state_that_crashmonkey_found() {
        let gone = |path: &'static str| move |place: &Place| fs::remove_file(place.path(path));
        assert_eq!(after("rename-over-synced", gone("a/file")).as_deref(), Some("file is missing"));
        let both = |place: &Place| fs::create_dir(place.path("a/moved"));
        assert!(after("moved-folder", both).is_some_and(|found| found.contains("old and in its new place")));
        let neither = |place: &Place| fs::rename(place.path("b/moved"), place.path("lost"));
        assert!(after("moved-folder", neither).is_some_and(|found| found.contains("neither")));
        assert!(after("new-folder", |place| fs::remove_dir_all(place.path("new"))).is_some());
        assert!(after("renamed-folder-alone", |place| fs::rename(place.path("b"), place.path("a"))).is_some());
        assert!(after("link-alone", gone("a/link")).is_some());
        assert!(after("link-after-fsync", gone("second")).is_some());
        assert!(after("every-name", gone("b/link")).is_some());
        let cut_off = |place: &Place| {
            let data = fs::read(place.path("data"))?;
            fs::remove_file(place.path("data"))?;
            fs::write(place.path("data"), data)
        };
        assert!(after("blocks-beyond-end", cut_off).is_some_and(|found| found.contains("allocated")));
        let longer = |place: &Place| File::options().write(true).open(place.path("data"))?.set_len(END + BEYOND);
        // None if the tests' filesystem cannot zero a range.
        assert!(after("length-after-zeroing", longer).is_none_or(|found| found.contains("sectors")));
    }
}
