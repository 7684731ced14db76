//! Syncs after a guarantee's own steps: a later fsync may make a part of them durable, and that may be the wrong part.
//! In: a promise and a [`Later`]. Out: a [`Tested`], which has steps and a check like a promise.

use super::{About, Finding, Place, Promise};
use crate::stamps::{self, sync_folder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;

/// What a variant of a guarantee syncs after the guarantee's own steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Later {
    /// fsync of the file itself.
    File,
    /// fsync of its folder.
    Folder,
    /// fsync of another, new file in the same folder.
    Other,
}

impl Later {
    /// All of them, in the order of tables.
    pub const ALL: [Later; 3] = [Later::File, Later::Folder, Later::Other];

    /// Its name in options and in names of variants.
    pub fn name(self) -> &'static str {
        match self {
            Later::File => "file",
            Later::Folder => "folder",
            Later::Other => "other",
        }
    }

    /// The action, for tables.
    pub fn in_words(self) -> &'static str {
        match self {
            Later::File => "then fsync of the file",
            Later::Folder => "then fsync of the folder",
            Later::Other => "then fsync of another file",
        }
    }
}

/// Name of the other file, and its number among those of a place.
const OTHER: (&str, u32) = ("another", 15);
/// Its sectors.
const SECTORS: u32 = 8;

/// A guarantee, as it is or with a later fsync.
#[derive(Clone, Copy)]
pub(crate) struct Tested {
    pub promise: &'static dyn Promise,
    pub later: Option<Later>,
}

impl Tested {
    /// Its own name; the guarantee's if nothing is synced later.
    pub fn name(&self) -> String {
        let name = self.about().name;
        self.later.map_or_else(|| name.to_string(), |later| format!("{name}+{}", later.name()))
    }

    /// The guarantee.
    pub fn about(&self) -> About {
        self.promise.about()
    }

    pub fn steps(&self) -> u32 {
        let own = self.about().steps;
        if self.later.is_some() { own + own / self.promise.round() } else { own }
    }

    pub fn set_up(&self, place: &Place) -> io::Result<()> {
        self.promise.set_up(place)
    }

    /// Executes a step, counted from 0: one of the guarantee's own, or the later fsync after each of its rounds.
    pub fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let round = self.promise.round();
        match self.later {
            Some(later) if step % (round + 1) == round => self.sync(place, later, self.own(step) - 1),
            _ => self.promise.step(place, self.own(step)),
        }
    }

    /// The finding if `done` steps had returned.
    pub fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        self.promise.look(place, self.own(done))
    }

    /// How many of these steps are the guarantee's own.
    fn own(&self, steps: u32) -> u32 {
        let round = self.promise.round();
        if self.later.is_some() { steps / (round + 1) * round + steps % (round + 1) } else { steps }
    }

    /// The later fsync, after the guarantee's own step of this number.
    fn sync(&self, place: &Place, later: Later, step: u32) -> io::Result<()> {
        match (later, self.promise.file(step)) {
            (Later::File, Some(file)) => File::open(place.path(&file))?.sync_all(),
            (Later::File, None) => Ok(()),
            (Later::Folder, _) => sync_folder(&place.folder),
            (Later::Other, _) => {
                let (name, number) = OTHER;
                stamps::write(&place.path(name), place.file + number, step, 0..SECTORS, 0)?.sync_all()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{replaced, tests_of};
    use super::*;

    #[test]
    fn a_later_fsync_follows_each_round_and_is_no_step_of_the_guarantee() {
        let tested = Tested { promise: &replaced::Replace { synced: false }, later: Some(Later::Folder) };
        assert_eq!((tested.name().as_str(), tested.steps()), ("replace-unsynced+folder", 9));
        let own: Vec<u32> = (0..=9).map(|steps| tested.own(steps)).collect();
        assert_eq!(own, [0, 1, 2, 2, 3, 4, 4, 5, 6, 6]);
    }

    /// A rename that is durable before the file's data: what happens to programs that sync only the folder.
    #[test]
    fn zeros_or_nothing_in_a_replaced_file_break_the_variant_with_an_fsync_of_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place { folder: folder.path().to_owned(), file: 0 };
        let tested = tests_of("replace-unsynced").find(|one| one.later == Some(Later::Folder)).expect("a variant");
        tested.set_up(&place).expect("set up");
        for step in 0..3 {
            tested.step(&place, step).expect("a step");
        }
        assert_eq!(tested.look(&place, 3).expect("looked at"), Finding::default());
        for made_up in [vec![0; 24 * stamps::SECTOR], Vec::new()] {
            std::fs::write(place.path("file"), made_up).expect("written");
            assert!(tested.look(&place, 3).expect("looked at").broken.is_some());
        }
    }

    #[test]
    fn a_later_name_without_an_earlier_one_breaks_every_variant() {
        for tested in tests_of("names-in-order") {
            let folder = tempfile::tempdir().expect("a folder");
            let place = Place { folder: folder.path().to_owned(), file: 0 };
            for step in 0..tested.steps() {
                tested.step(&place, step).expect("a step");
            }
            std::fs::remove_dir(place.path("0")).expect("removed");
            let found = tested.look(&place, tested.steps()).expect("looked at");
            assert_eq!(found.broken.as_deref(), Some("1 exists, and 0 does not"), "{}", tested.name());
        }
    }
}
