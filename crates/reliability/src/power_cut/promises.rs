//! The promises, as a table: their steps, and what must be found after a cut.
//! In: a folder, and how many steps had returned. Out: whether the promise was kept.
//!
//! Each is a guarantee with variants: as it is, and with a later fsync of the file, of its folder or of another file ([`Later`]). Each is
//! executed several times, in its own folder, which is created and synced before the disk is recorded. A step whose call had not returned
//! when the power failed may have happened or not, or in part.

mod atomic;
mod later;
mod moved;
mod names;
mod ordered;
mod replaced;
mod synced;

pub use later::Later;
pub(crate) use later::Tested;

use crate::power_cut::kept::KeptPlace;
use crate::power_cut::result::Strength;
use crate::stamps::{self, Sector, Stamp};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Where one execution of a promise works.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub folder: PathBuf,
    /// The first of sixteen file numbers.
    pub file: u32,
}

impl Place {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Finding about a promise.
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

    /// The first broken one, and the sum of foreign bytes.
    pub fn and(self, other: Finding) -> Finding {
        Finding { broken: self.broken.or(other.broken), foreign: self.foreign + other.foreign }
    }
}

/// Description of a promise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    /// Words with hyphens.
    pub name: &'static str,
    /// The promise, as a sentence without an end.
    pub title: &'static str,
    pub strength: Strength,
    /// Number of steps.
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
    /// Writes the initial files.
    fn set_up(&self, _place: &Place) -> io::Result<()> {
        Ok(())
    }
    /// Executes a step, counted from 0.
    fn step(&self, place: &Place, step: u32) -> io::Result<()>;
    /// The finding if `done` steps had returned.
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding>;
    /// Steps after each of which a variant syncs something; divides the number of steps.
    fn round(&self) -> u32 {
        self.about().steps
    }
    /// The file after a step, relative to the place, for the variant that syncs it later. None: there is no file any more.
    fn file(&self, step: u32) -> Option<String>;
}

/// All promises, in the order of tables.
const PROMISES: [&dyn Promise; 27] = [
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
    &moved::OverSynced,
    &moved::MovedFolder,
    &moved::NewFolder,
    &moved::LinkAfterSync,
    &moved::Beyond { zeroed: true },
    &names::NewFile { folder: false },
    &moved::LinkAlone { names: 1 },
    &moved::LinkAlone { names: 2 },
    &moved::RenamedFolder,
    &moved::Beyond { zeroed: false },
    &replaced::Replace { synced: false },
    &synced::Grown,
    &ordered::TwoFiles,
    &ordered::Names,
    &atomic::Block { sectors: 8 },
    &atomic::Block { sectors: 32 },
];

/// All guarantees with their variants: each as it is, then those with a later fsync.
pub(crate) static TESTED: LazyLock<Vec<Tested>> = LazyLock::new(|| {
    let variants = |promise: &'static dyn Promise| {
        let fits = move |later: &Later| *later != Later::File || promise.file(promise.round() - 1).is_some();
        let later = Later::ALL.into_iter().filter(fits).map(Some);
        std::iter::once(None).chain(later).map(move |later| Tested { promise, later })
    };
    PROMISES.into_iter().flat_map(variants).collect()
});

/// Names of the guarantees that programs may rely on.
pub(crate) fn promised() -> impl Iterator<Item = &'static str> {
    let all = PROMISES.into_iter().map(Promise::about);
    all.filter(|about| about.strength == Strength::Promised).map(|about| about.name)
}

/// A guarantee as it is, and its variants.
#[cfg(test)]
fn tests_of(name: &str) -> impl Iterator<Item = &'static Tested> {
    TESTED.iter().filter(move |one| one.about().name == name)
}

/// What is tested: indexes in the table of all guarantees and variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen(pub(crate) Vec<usize>);

impl Chosen {
    /// The named guarantees, or all if none is named, each as it is and with these later syncs. A variant's own name
    /// (`replace-unsynced+folder`) selects it alone.
    ///
    /// # Errors
    /// An unknown name; lists the known ones.
    pub fn of(only: &[String], later: &[Later]) -> Result<Chosen, String> {
        let names = |one: &Tested| [one.about().name.to_string(), one.name()];
        if let Some(unknown) = only.iter().find(|name| !TESTED.iter().any(|one| names(one).contains(name))) {
            let known: Vec<&str> = PROMISES.iter().map(|promise| promise.about().name).collect();
            return Err(format!("unknown guarantee '{unknown}'; known: {}", judge::list(&known)));
        }
        let is_chosen = |one: &Tested| {
            let is_wanted = one.later.is_none_or(|with| later.contains(&with));
            let of_guarantee = only.is_empty() || only.iter().any(|name| name == one.about().name);
            (is_wanted && of_guarantee) || only.contains(&one.name())
        };
        Ok(Chosen((0..TESTED.len()).filter(|place| is_chosen(&TESTED[*place])).collect()))
    }
}

/// The finding about a promise below a root, at places where it was executed so far.
pub(crate) fn look(name: &str, root: &Path, places: &[KeptPlace]) -> Finding {
    let Some(promise) = TESTED.iter().find(|one| one.name() == name) else {
        return Finding::broken(format!("this version has no guarantee {name}"));
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

/// Writes and syncs a file of this many sectors, first version.
fn lay_out(place: &Place, name: &str, file: u32, sectors: u32) -> io::Result<()> {
    stamps::write(&place.path(name), file, 0, 0..sectors, 0)?.sync_all()
}

/// A file that must exist, with this many sectors of these versions and nothing else.
fn whole(path: &Path, file: u32, sectors: u32, versions: RangeInclusive<u32>) -> io::Result<Finding> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(found) = stamps::read(path)? else { return Ok(Finding::broken(format!("{name} is missing"))) };
    let sized = Finding::unless(found.len() == sectors as usize, || {
        format!("{name} has {} sectors of 512 bytes instead of {sectors}", found.len())
    });
    Ok(sized.and(content(&name, file, &found, 0, versions)))
}

/// Whether all sectors, from index `first` of the file on, have these versions.
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
                broken: Some(format!("sector {index} of {name} contains data that was never written there")),
                foreign: stamps::SECTOR as u64,
            },
        };
        finding = finding.and(next);
    }
    finding
}

/// The version of an intact file with the expected number of sectors; otherwise the problem.
fn one_version(path: &Path, file: u32, sectors: u32) -> io::Result<Result<u32, Finding>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(found) = stamps::read(path)? else { return Ok(Err(Finding::broken(format!("{name} is missing")))) };
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

    /// Every promise holds after each of its own steps, so a finding of broken is never false.
    #[test]
    fn the_state_after_each_step_keeps_every_promise() {
        let folder = tempfile::tempdir().expect("a folder");
        for (number, promise) in TESTED.iter().enumerate() {
            let place = Place { folder: folder.path().join(promise.name()), file: number as u32 * 16 };
            std::fs::create_dir(&place.folder).expect("made");
            promise.set_up(&place).expect("set up");
            let held = |done| promise.look(&place, done).expect("looked at");
            assert_eq!(held(0), Finding::default(), "{} before its steps", promise.name());
            for step in 0..promise.steps() {
                match promise.step(&place, step) {
                    // Some filesystems on which tests run cannot zero a range.
                    Err(error) if step == 0 && error.kind() == io::ErrorKind::Unsupported => break,
                    done => done.expect("a step"),
                }
                assert_eq!(held(step + 1), Finding::default(), "{} after step {step}", promise.name());
                assert_eq!(
                    held(step),
                    Finding::default(),
                    "{} in step {step}, which may have happened",
                    promise.name()
                );
            }
        }
    }

    /// Each counts as broken if what it promises is removed at the end.
    #[test]
    fn a_loss_after_the_last_step_breaks_the_promise() {
        let folder = tempfile::tempdir().expect("a folder");
        // Guarantees that the old state also satisfies; `moved` tests states that break them.
        let of_old = ["rename-over-synced", "moved-folder", "length-after-zeroing"];
        let promised =
            |one: &&Tested| one.about().strength == Strength::Promised && !of_old.contains(&one.about().name);
        for (number, promise) in TESTED.iter().filter(promised).enumerate() {
            let place = Place { folder: folder.path().join(promise.name()), file: number as u32 * 16 };
            std::fs::create_dir(&place.folder).expect("made");
            promise.set_up(&place).expect("set up");
            // As if nothing of the steps had reached the disk.
            let found = promise.look(&place, promise.steps()).expect("looked at");
            assert!(found.broken.is_some(), "{}", promise.name());
        }
    }

    #[test]
    fn every_promise_is_in_the_document_with_its_title() {
        let document = include_str!("../../../../docs/power-cut.md");
        for promise in PROMISES {
            let line = format!("| `{}` | {} |", promise.about().name, promise.about().title);
            assert!(document.contains(&line), "docs/power-cut.md lacks: {line}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<String> = TESTED.iter().map(Tested::name).collect();
        assert_eq!(names.len(), TESTED.len());
    }

    #[test]
    fn guarantees_are_chosen_by_name_with_the_variants_that_are_wanted() {
        let names = |only: &[&str], later: &[Later]| {
            let only: Vec<String> = only.iter().map(|name| name.to_string()).collect();
            Chosen::of(&only, later).map(|chosen| chosen.0.iter().map(|at| TESTED[*at].name()).collect::<Vec<_>>())
        };
        assert_eq!(names(&[], &[]).expect("known").len(), PROMISES.len());
        assert_eq!(names(&[], &Later::ALL).expect("known").len(), TESTED.len());
        let with_folder = names(&["replace-unsynced"], &[Later::Folder]).expect("known");
        assert_eq!(with_folder, ["replace-unsynced", "replace-unsynced+folder"]);
        assert_eq!(names(&["fsync+other"], &[]).expect("known"), ["fsync+other"]);
        assert!(names(&["fsink"], &[]).expect_err("unknown").contains("unknown guarantee 'fsink'"));
    }

    /// The file of a removed name cannot be synced later; everything else has all variants.
    #[test]
    fn every_guarantee_has_its_variants() {
        for promise in PROMISES {
            let name = promise.about().name;
            let later: Vec<Option<Later>> = tests_of(name).map(|one| one.later).collect();
            assert_eq!(later.len(), if name == "unlink" { 3 } else { 4 }, "{name}");
            assert_eq!(promise.about().steps % promise.round(), 0, "{name}");
        }
    }
}
