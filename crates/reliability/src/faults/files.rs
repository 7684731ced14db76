//! Files of known content, stamped sector by sector: written before the fault is injected and inspected afterwards.
//! In: a folder. Out: how many of them are right, unreadable, wrong, or gone.

use crate::stamps::{self, Sector, Stamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Files per folder.
const FOLDER: u32 = 50;
/// Kinds of files: number, and sectors of each. Small ones, which some filesystems store inline, middle ones and large ones. 30 MiB.
const SORTS: [(u32, u32); 3] = [(400, 4), (200, 128), (8, 2048)];

/// A file of known content.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    path: PathBuf,
    file: u32,
    sectors: u32,
}

/// Numbers of files by result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Read with the right content.
    pub right: u32,
    /// Could not be read, and the filesystem reported it.
    pub failed: u32,
    /// Read with wrong content, without an error.
    pub wrong: u32,
    /// Gone without an error.
    pub missing: u32,
    /// The first wrong one, in words.
    pub example: Option<String>,
}

impl Counts {
    /// Number of inspected files.
    pub fn all(&self) -> u32 {
        self.right + self.failed + self.wrong + self.missing
    }

    /// Files with damage that no call reported.
    pub fn silent(&self) -> u32 {
        self.wrong + self.missing
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.right += other.right;
        self.failed += other.failed;
        // Unreported damage is the better example.
        if self.example.is_none() || (self.silent() == 0 && other.silent() > 0) {
            self.example = other.example;
        }
        self.wrong += other.wrong;
        self.missing += other.missing;
    }
}

impl Known {
    pub fn new(path: PathBuf, file: u32, sectors: u32) -> Known {
        Known { path, file, sectors }
    }

    /// Writes the file, without a sync.
    pub fn write(&self) -> io::Result<std::fs::File> {
        stamps::write(&self.path, self.file, 0, 0..self.sectors, 0)
    }

    fn look(&self) -> Counts {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (mut counts, mut example) = (Counts::default(), None);
        match stamps::read(&self.path) {
            Err(error) => (counts.failed, example) = (1, Some(format!("{name} cannot be read: {error}"))),
            Ok(None) => (counts.missing, example) = (1, Some(format!("{name} is missing"))),
            Ok(Some(found)) => match self.amiss(&found) {
                None => counts.right = 1,
                Some(amiss) => (counts.wrong, example) = (1, Some(format!("{name} {amiss}"))),
            },
        }
        counts.example = example;
        counts
    }

    fn amiss(&self, found: &[Sector]) -> Option<String> {
        if found.len() != self.sectors as usize {
            return Some(format!("has {} sectors of 512 bytes instead of {}", found.len(), self.sectors));
        }
        let wanted = |index: u32| Sector::Ours(Stamp { file: self.file, version: 0, index });
        let (index, sector) = (0..).zip(found).find(|(index, sector)| **sector != wanted(*index))?;
        let holds = match sector {
            Sector::Zeros => "zeros",
            Sector::Ours(_) => "data of another file or another offset",
            Sector::Garbage => "data that was never written",
        };
        Some(format!("holds {holds} in sector {index}"))
    }
}

/// The original files below `root`.
pub(crate) fn all(root: &Path) -> Vec<Known> {
    let sizes = SORTS.iter().flat_map(|(count, sectors)| (0..*count).map(|_| *sectors));
    let known = |(file, sectors)| {
        let folder = root.join(format!("files-{}", file / FOLDER));
        Known::new(folder.join(format!("{file}-of-{sectors}")), file, sectors)
    };
    (0..).zip(sizes).map(known).collect()
}

/// Writes them all, without a sync.
///
/// # Errors
/// The system's error.
pub(crate) fn lay_out(root: &Path) -> io::Result<()> {
    for known in all(root) {
        if known.file.is_multiple_of(FOLDER) {
            known.path.parent().map_or(Ok(()), std::fs::create_dir)?;
        }
        known.write()?;
    }
    Ok(())
}

/// Inspects files.
pub(crate) fn look<'k>(of: impl IntoIterator<Item = &'k Known>) -> Counts {
    let mut all = Counts::default();
    of.into_iter().for_each(|known| all.add(known.look()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn files_are_counted_by_their_state() {
        let folder = tempfile::tempdir().expect("a folder");
        lay_out(folder.path()).expect("laid out");
        let known = all(folder.path());
        let all = known.len() as u32;
        assert_eq!(look(&known), Counts { right: all, ..Counts::default() });
        let changed = std::fs::File::options().read(true).write(true).open(&known[3].path).expect("opened");
        changed.write_all_at(&[0xff], 700).expect("changed");
        std::fs::remove_file(&known[4].path).expect("removed");
        std::fs::remove_file(&known[5].path).expect("removed");
        std::fs::create_dir(&known[5].path).expect("something that cannot be read");
        std::fs::File::options().write(true).open(&known[6].path).expect("opened").set_len(100).expect("cut");
        let found = look(&known);
        assert_eq!((found.right, found.failed, found.wrong, found.missing), (all - 4, 1, 2, 1));
        assert_eq!(found.example.as_deref(), Some("3-of-4 holds data that was never written in sector 1"));
        assert_eq!((found.all(), found.silent()), (all, 3));
    }

    #[test]
    fn the_example_is_of_silent_damage_rather_than_of_a_reported_error() {
        let mut all = Counts { failed: 1, example: Some("first".into()), ..Counts::default() };
        all.add(Counts { wrong: 1, example: Some("silent".into()), ..Counts::default() });
        all.add(Counts { failed: 1, example: Some("second".into()), ..Counts::default() });
        assert_eq!((all.example.as_deref(), all.failed, all.wrong), (Some("silent"), 2, 1));
    }
}
