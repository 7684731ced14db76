//! The promises, as a table: what is done, step by step, and what must be found of it after a cut.
//! In: a folder, and how many steps had returned. Out: whether the promise was kept.
//!
//! Each is carried out several times, each time in a folder of its own that is made and synced before the disk is recorded. A step whose call had not
//! returned when the power went may have happened or not, or in part.

mod atomic;
mod names;
mod ordered;
mod replaced;
mod synced;

use crate::power_cut::kept::KeptPlace;
use crate::power_cut::result::Strength;
use crate::stamps::{self, Sector, Stamp};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Where one carrying-out of a promise works.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub folder: PathBuf,
    /// The first of sixteen numbers for its files.
    pub file: u32,
}

impl Place {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// What was found of a promise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// What breaks it.
    pub broken: Option<String>,
    /// Bytes of content that the file never held.
    pub foreign: u64,
}

impl Finding {
    pub fn broken(what: impl Into<String>) -> Finding {
        Finding { broken: Some(what.into()), foreign: 0 }
    }

    pub fn unless(holds: bool, what: impl FnOnce() -> String) -> Finding {
        if holds { Finding::default() } else { Finding::broken(what()) }
    }

    /// The first that is broken, and all that is foreign.
    pub fn and(self, other: Finding) -> Finding {
        Finding { broken: self.broken.or(other.broken), foreign: self.foreign + other.foreign }
    }
}

/// What a promise is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    /// Words with hyphens.
    pub name: &'static str,
    /// What is promised, as a sentence without an end.
    pub title: &'static str,
    pub strength: Strength,
    /// How many steps it takes.
    pub steps: u32,
}

impl About {
    const fn promised(name: &'static str, title: &'static str, steps: u32) -> About {
        About { name, title, strength: Strength::Promised, steps }
    }

    const fn hoped(name: &'static str, title: &'static str, steps: u32) -> About {
        About { name, title, strength: Strength::Hoped, steps }
    }
}

/// One promise.
pub(crate) trait Promise: Sync {
    fn about(&self) -> About;
    /// Lays out what stands there before.
    fn set_up(&self, _place: &Place) -> io::Result<()> {
        Ok(())
    }
    /// Carries out a step, counted from 0.
    fn step(&self, place: &Place, step: u32) -> io::Result<()>;
    /// What is found where `done` steps had returned.
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding>;
}

/// All promises, in the order of tables.
pub(crate) const PROMISES: [&dyn Promise; 18] = [
    &synced::Overwrite { by: synced::By::Fsync },
    &synced::Overwrite { by: synced::By::Fdatasync },
    &synced::Overwrite { by: synced::By::Dsync },
    &synced::Overwrite { by: synced::By::Msync },
    &synced::Append,
    &names::NewFile { folder: true },
    &replaced::Replace { synced: true },
    &names::Rename,
    &names::Unlink,
    &names::Link,
    &synced::Truncate,
    &names::NewFile { folder: false },
    &replaced::Replace { synced: false },
    &synced::Grown,
    &ordered::TwoFiles,
    &ordered::Names,
    &atomic::Block { sectors: 8 },
    &atomic::Block { sectors: 32 },
];

/// What is found of a promise below a root, at places where it was carried out so far.
pub(crate) fn look(name: &str, root: &Path, places: &[KeptPlace]) -> Finding {
    let Some(promise) = PROMISES.iter().find(|promise| promise.about().name == name) else {
        return Finding::broken(format!("there is no promise {name} in this version"));
    };
    let look = |kept: &KeptPlace| {
        let place = Place { folder: root.join(&kept.folder), file: kept.file };
        promise.look(&place, kept.done).unwrap_or_else(unreadable)
    };
    places.iter().map(look).fold(Finding::default(), Finding::and)
}

fn unreadable(error: io::Error) -> Finding {
    Finding::broken(format!("it cannot be read: {error}"))
}

/// Lays out a file of so many sectors, first version, and has it safe.
fn lay_out(place: &Place, name: &str, file: u32, sectors: u32) -> io::Result<()> {
    stamps::write(&place.path(name), file, 0, 0..sectors, 0)?.sync_all()
}

/// A file that must be there, with so many sectors of these versions and nothing else.
fn whole(path: &Path, file: u32, sectors: u32, versions: RangeInclusive<u32>) -> io::Result<Finding> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(found) = stamps::read(path)? else { return Ok(Finding::broken(format!("{name} is not there"))) };
    let sized = Finding::unless(found.len() == sectors as usize, || {
        format!("{name} has {} sectors of 512 bytes instead of {sectors}", found.len())
    });
    Ok(sized.and(content(&name, file, &found, 0, versions)))
}

/// Whether sectors, the first of which has this place in its file, are all of these versions.
fn content(name: &str, file: u32, found: &[Sector], first: u32, versions: RangeInclusive<u32>) -> Finding {
    let mut finding = Finding::default();
    for (index, sector) in (first..).zip(found) {
        let next = match sector {
            Sector::Ours(stamp) if stamp.file == file && stamp.index == index && versions.contains(&stamp.version) => {
                continue;
            }
            Sector::Ours(Stamp { file: known, version, index: at }) if *known == file && *at == index => {
                let wanted = versions.start();
                Finding::broken(format!("sector {index} of {name} is of version {version} instead of {wanted}"))
            }
            Sector::Zeros => Finding::broken(format!("sector {index} of {name} holds zeros")),
            Sector::Ours(_) | Sector::Garbage => Finding {
                broken: Some(format!("sector {index} of {name} holds what was never written there")),
                foreign: stamps::SECTOR as u64,
            },
        };
        finding = finding.and(next);
    }
    finding
}

/// The version of a file that is whole, as many sectors as it should have; what is amiss where it is not.
fn one_version(path: &Path, file: u32, sectors: u32) -> io::Result<Result<u32, Finding>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(found) = stamps::read(path)? else { return Ok(Err(Finding::broken(format!("{name} is not there")))) };
    if found.is_empty() {
        return Ok(Err(Finding::broken(format!("{name} is empty"))));
    }
    let version = found.iter().find_map(|sector| match sector {
        Sector::Ours(stamp) if stamp.file == file => Some(stamp.version),
        _ => None,
    });
    let wanted = version.unwrap_or(0);
    let finding = whole(path, file, sectors, wanted..=wanted)?;
    Ok(if finding.broken.is_none() { Ok(wanted) } else { Err(finding) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every promise holds of what its own steps leave, at each step; so nothing is called broken that nobody broke.
    #[test]
    fn what_the_steps_leave_keeps_every_promise() {
        let folder = tempfile::tempdir().expect("a folder");
        for (number, promise) in PROMISES.iter().enumerate() {
            let place = Place { folder: folder.path().join(promise.about().name), file: number as u32 * 16 };
            std::fs::create_dir(&place.folder).expect("made");
            promise.set_up(&place).expect("set up");
            let held = |done| promise.look(&place, done).expect("looked at");
            assert_eq!(held(0), Finding::default(), "{} before its steps", promise.about().name);
            for step in 0..promise.about().steps {
                promise.step(&place, step).expect("a step");
                assert_eq!(held(step + 1), Finding::default(), "{} after step {step}", promise.about().name);
                assert_eq!(
                    held(step),
                    Finding::default(),
                    "{} in step {step}, which may have happened",
                    promise.about().name
                );
            }
        }
    }

    /// And each is called broken where what it promises is taken away at the end.
    #[test]
    fn what_is_lost_after_the_last_step_breaks_what_was_promised() {
        let folder = tempfile::tempdir().expect("a folder");
        for (number, promise) in
            PROMISES.iter().enumerate().filter(|(_, one)| one.about().strength == Strength::Promised)
        {
            let place = Place { folder: folder.path().join(promise.about().name), file: number as u32 * 16 };
            std::fs::create_dir(&place.folder).expect("made");
            promise.set_up(&place).expect("set up");
            // As if nothing of the steps had reached the disk.
            let found = promise.look(&place, promise.about().steps).expect("looked at");
            assert!(found.broken.is_some(), "{}", promise.about().name);
        }
    }

    #[test]
    fn every_promise_stands_in_the_document_as_it_is() {
        let document = include_str!("../../../../docs/power-cut.md");
        for promise in PROMISES {
            let line = format!("| `{}` | {} |", promise.about().name, promise.about().title);
            assert!(document.contains(&line), "docs/power-cut.md lacks: {line}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = PROMISES.iter().map(|promise| promise.about().name).collect();
        assert_eq!(names.len(), PROMISES.len());
    }
}
