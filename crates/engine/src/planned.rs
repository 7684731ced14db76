//! What a fileset lays out, computed without laying it out, by the same code.
//! In: a fileset and the program's seed. Out: level, directory, name's length and size of each file; the level of each directory.

use crate::names::{Files, Name};
use workload::program::Fileset;

/// The files and directories that one owner's part of a fileset will have.
pub struct Planned(Files);

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedFile {
    /// Number of its directory, as in [`Planned::level`].
    pub directory: u64,
    /// Length of its name in bytes.
    pub name_bytes: u64,
    /// Its size in bytes when it is created.
    pub bytes: u64,
}

impl Planned {
    /// The plan of the fileset at this index of a program with this seed.
    pub fn new(seed: u64, index: usize, fileset: &Fileset) -> Planned {
        Planned(Files::new(seed, index, fileset, 0, 1))
    }

    /// Number of directories that may hold files; in a tree all of them.
    pub fn directories(&self) -> u64 {
        self.0.directories()
    }

    /// Levels between the fileset's own directory and another.
    pub fn level(&self, directory: u64) -> usize {
        self.0.level_of(directory)
    }

    /// Every file, by index.
    pub fn files(&self) -> impl Iterator<Item = PlannedFile> {
        let mut name = Name::new();
        (0..self.0.count).map(move |index| {
            self.0.name(index, &mut name);
            let directory = self.0.directory_of(index, &name);
            PlannedFile { directory, name_bytes: name.bytes().len() as u64, bytes: self.0.size(index, 0) }
        })
    }
}
