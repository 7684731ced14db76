//! Unsynced work: small files, one after the other, of which a cut loses the last ones.
//! In: a folder. Out: which of the files are intact after a cut.

use crate::stamps::{self, Sector, Stamp};
use std::io;
use std::path::{Path, PathBuf};

/// First file number, above those of the promises.
const FILES: u32 = 1 << 24;
/// Entries per folder.
const FOLDER: u32 = 1000;

/// After this many intact ones in a row, all earlier ones count as intact: five seconds.
const ENOUGH: u32 = 100;

/// The diary of a work.
#[derive(Debug, Clone)]
pub(crate) struct Diary {
    folder: PathBuf,
}

impl Diary {
    /// The diary below `root`.
    pub fn of(root: &Path) -> Diary {
        Diary { folder: root.join("diary") }
    }

    /// Creates its folder below `root`.
    pub fn begin(root: &Path) -> io::Result<Diary> {
        let diary = Diary::of(root);
        std::fs::create_dir(&diary.folder)?;
        Ok(diary)
    }

    fn path(&self, entry: u32) -> PathBuf {
        self.folder.join((entry / FOLDER).to_string()).join(entry.to_string())
    }

    /// Writes an entry; entries are numbered from 0.
    pub fn write(&self, entry: u32) -> io::Result<()> {
        let path = self.path(entry);
        if entry.is_multiple_of(FOLDER) {
            std::fs::create_dir(path.parent().unwrap_or(&self.folder))?;
        }
        stamps::write(&path, FILES + entry, 0, 0..1, 0).map(drop)
    }

    /// The first of the written entries that is not intact, searched backwards until enough in a row are; None if all are intact.
    pub fn first_lost(&self, written: u32) -> Option<u32> {
        let (mut first, mut in_a_row) = (None, 0);
        for entry in (0..written).rev() {
            let whole = [Sector::Ours(Stamp { file: FILES + entry, version: 0, index: 0 })];
            match stamps::read(&self.path(entry)) {
                Ok(Some(found)) if found == whole => in_a_row += 1,
                _ => (first, in_a_row) = (Some(entry), 0),
            }
            if in_a_row == ENOUGH {
                break;
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_that_is_not_whole_is_the_first_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let diary = Diary::begin(folder.path()).expect("begun");
        (0..1002).for_each(|entry| diary.write(entry).expect("written"));
        assert_eq!(diary.first_lost(1002), None);
        std::fs::write(diary.path(1001), "").expect("emptied");
        assert_eq!(diary.first_lost(1002), Some(1001));
        std::fs::remove_file(diary.path(950)).expect("removed");
        assert_eq!(diary.first_lost(1002), Some(950));
        std::fs::remove_file(diary.path(7)).expect("removed");
        assert_eq!(diary.first_lost(100), Some(7));
    }
}
