//! Leftovers of interrupted runs: found by their cleanup records, and by the records beside images in scratch folders.
//! In: folders in which images may be. Out: a [`Survey`]: what may be removed, and what belongs to no run of this machine.
//! What belongs to a live run is in neither. Nothing is changed here.

use crate::cleanup::removal;
use crate::devices::loops;
use crate::error::StagingError;
use crate::ownership::cleanup_journal::{self, Content, Made, Written};
use crate::ownership::life::Life;
use crate::ownership::owned::{self, Claim, Identity};
use crate::ownership::state;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use system::create::Folder;
use system::mounts;

/// What one interrupted run left.
#[derive(Debug, Clone, PartialEq)]
pub struct Leftover {
    /// Id of the run's mark.
    pub id: String,
    /// Process that made it, which has ended; absent if the record cannot be read.
    pub pid: Option<u32>,
    /// What is there, in words.
    pub what: Vec<String>,
    /// Why the last attempt to remove it failed.
    pub problems: Vec<String>,
    pub(crate) source: Source,
}

/// Where the run recorded what it made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    Mark,
    /// A mark that cannot be read, and why.
    Unreadable(String),
    /// Only the record beside an image.
    Image(PathBuf),
}

/// Something that looks like a run's leftover, but is not removed, since nothing proves that an ended run created it here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stranger {
    /// The file.
    pub path: PathBuf,
    /// Why it is left alone.
    pub why: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Survey {
    /// Of runs that have ended.
    pub leftovers: Vec<Leftover>,
    /// Of no run that is known here.
    pub strangers: Vec<Stranger>,
}

/// Finds what ended runs have left. Folders are those in which images may be.
///
/// # Errors
/// The folder of cleanup records cannot be trusted or read.
pub fn survey(folders: &[PathBuf]) -> Result<Survey, StagingError> {
    let mut found = Survey::default();
    let marks = cleanup_journal::all()?;
    let marks_folder = state::part_if_there(cleanup_journal::MARKS)?;
    for written in &marks {
        match (&written.content, &marks_folder) {
            (Ok(content), Some(folder)) => add_mark(&mut found, folder, content),
            (Ok(_), None) => {}
            (Err(why), _) => found.leftovers.push(unreadable(written, why)),
        }
    }
    let known = known_images(&marks);
    let folders: BTreeSet<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    for folder in folders {
        scan(&mut found, &folder, &known);
    }
    Ok(found)
}

fn add_mark(found: &mut Survey, folder: &Folder, content: &Content) {
    let life = cleanup_journal::life(folder, content);
    // A run that has just ended removes its record first, and then releases its lock.
    if life != Life::Lives && cleanup_journal::read(folder, &content.id).is_none() {
        return;
    }
    match life {
        Life::Lives => {}
        Life::Gone => found.leftovers.push(Leftover {
            id: content.id.clone(),
            pid: Some(content.maker.owner.pid),
            what: content.made.iter().filter_map(in_words).collect(),
            problems: content.problems.clone(),
            source: Source::Mark,
        }),
        Life::Unknown(why) => found.strangers.push(Stranger {
            path: folder.path().join(format!("{}.json", content.id)),
            why: format!("{why} (`bakeoff clean --forget {}` removes only this record)", content.id),
        }),
    }
}

fn unreadable(written: &Written, why: &str) -> Leftover {
    Leftover {
        id: written.id.clone(),
        pid: None,
        what: vec![format!("a cleanup record that cannot be read: {why}")],
        problems: Vec::new(),
        source: Source::Unreadable(why.into()),
    }
}

fn known_images(marks: &[Written]) -> BTreeSet<PathBuf> {
    let made = marks.iter().filter_map(|written| written.content.as_ref().ok()).flat_map(|content| &content.made);
    let image = |made: &Made| match made {
        Made::Image { path, .. } => Some(path.clone()),
        _ => None,
    };
    made.filter_map(image).collect()
}

/// Images of a folder that no cleanup record of this state folder knows: a container may have another state folder.
fn scan(found: &mut Survey, folder: &Path, known: &BTreeSet<PathBuf>) {
    // A folder that cannot be listed has nothing to remove.
    let Ok(open) = Folder::open(folder) else { return };
    let names: BTreeSet<String> = open
        .names()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .filter_map(|name| owned::image_of_record(&name).or_else(|| owned::id_of_image(&name).map(|_| name.clone())))
        .collect();
    for name in names.iter().filter(|name| !known.contains(&folder.join(name))) {
        let path = folder.join(name);
        let Ok(Some((claim, facts))) = owned::look(&open, name) else { continue };
        match claim {
            Claim::Living => {}
            Claim::Left(record, _) => {
                let this_boot = record.maker.is_of_this_boot();
                let moved = facts.filter(|facts| !owned::is_the_one(facts, record.identity, this_boot));
                let attached =
                    if this_boot && moved.is_some() { devices_on(&path, record.identity) } else { Vec::new() };
                match moved {
                    Some(_) if !attached.is_empty() => found.leftovers.push(Leftover {
                        id: record.id,
                        pid: Some(record.maker.owner.pid),
                        what: vec![format!("{} on the image that was at {}", attached.join(", "), path.display())],
                        problems: Vec::new(),
                        source: Source::Image(path),
                    }),
                    Some(_) => found
                        .strangers
                        .push(Stranger { path, why: "it is not the file that the record next to it describes".into() }),
                    None => found.leftovers.push(Leftover {
                        id: record.id,
                        pid: Some(record.maker.owner.pid),
                        what: vec![format!("image {}", path.display())],
                        problems: Vec::new(),
                        source: Source::Image(path),
                    }),
                }
            }
            Claim::Foreign(why) if facts.is_some() => found.strangers.push(Stranger { path, why }),
            Claim::Foreign(_) => {}
        }
    }
}

/// What still exists of something that was made; None if it is gone.
pub(crate) fn in_words(made: &Made) -> Option<String> {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    match made {
        Made::Folder { path } => is_there(path).then(|| {
            let count = mounts::here().iter().filter(|mount| mount.point.starts_with(path)).count();
            format!("folder {} with {count} mounts", path.display())
        }),
        Made::Work { path } => is_there(path).then(|| format!("folder {}", path.display())),
        Made::Image { path, identity } => {
            let attached = devices_on(path, *identity);
            let on = if attached.is_empty() { String::new() } else { format!(" on {}", attached.join(", ")) };
            (is_there(path) || !attached.is_empty()).then(|| format!("image {}{on}", path.display()))
        }
        Made::Formatted { path, .. } => Some(format!("a filesystem on {}", path.display())),
        Made::Part { disk, number, sequence, part } => {
            let there = removal::part(disk, *number, *sequence, part);
            there.map(|(_, device)| format!("partition {}, which only the kernel shows", device.path.display()))
        }
        Made::Daemon { process } => process.lives().then(|| format!("process {}", process.pid)),
        Made::Group { path } => is_there(path).then(|| format!("control group {}", path.display())),
        Made::Setting { path, was } => Some(format!("{} was {was}", path.display())),
    }
}

/// Names of the loop devices on an image.
fn devices_on(path: &Path, identity: Option<Identity>) -> Vec<String> {
    loops::on(path, identity).into_iter().map(|device| device.name).collect()
}

/// Name of the file, beside the cleanup records, that remembers which strangers were reported: one line of JSON each.
const REPORTED: &str = "reported";

/// Strangers that are remembered at most; beyond that, the first ones are reported again.
const REPORTED_LIMIT: usize = 1000;

/// The strangers that were not reported before; they now count as reported. What no longer exists is forgotten.
pub fn first_seen(strangers: Vec<Stranger>) -> Vec<Stranger> {
    let folder = match strangers.is_empty() {
        true => state::part_if_there(cleanup_journal::MARKS).ok().flatten(),
        false => state::part(cleanup_journal::MARKS).ok(),
    };
    // Without a place to remember them, all are reported again.
    let Some(folder) = folder else { return strangers };
    let text = std::fs::read_to_string(folder.path().join(REPORTED)).unwrap_or_default();
    let (fresh, now) = remembered(&text, strangers);
    if now.is_empty() {
        let _ = folder.remove(REPORTED);
    } else if now != text {
        let _ = folder.replace(REPORTED, now.as_bytes());
    }
    fresh
}

/// The strangers that are not in the file's text, and the new text with them, without what has vanished.
fn remembered(text: &str, strangers: Vec<Stranger>) -> (Vec<Stranger>, String) {
    let mut kept: Vec<Stranger> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    kept.retain(Stranger::may_be_there);
    let fresh: Vec<Stranger> = strangers.into_iter().filter(|one| !kept.contains(one)).collect();
    kept.extend(fresh.iter().cloned());
    let lines = kept.iter().skip(kept.len().saturating_sub(REPORTED_LIMIT)).map(Stranger::as_line);
    (fresh, lines.collect())
}

impl Stranger {
    /// A line of JSON; empty if JSON cannot hold the path.
    fn as_line(&self) -> String {
        serde_json::to_string(self).map(|line| format!("{line}\n")).unwrap_or_default()
    }

    fn may_be_there(&self) -> bool {
        !matches!(self.path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_file_is_reported_once_and_forgotten_when_it_has_vanished() {
        let folder = tempfile::tempdir().expect("a folder");
        let stranger = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "another's").expect("written");
            Stranger { path, why: "no record\nsays whose it is".into() }
        };
        let both = vec![stranger("a.img"), stranger("b.img")];
        let (fresh, text) = remembered("\"/of/an/earlier/version\": no record\n", both.clone());
        assert_eq!((&fresh, text.lines().count()), (&both, 2));
        assert_eq!(remembered(&text, both.clone()), (Vec::new(), text.clone()));
        std::fs::remove_file(&both[0].path).expect("removed");
        assert_eq!(remembered(&text, Vec::new()), (Vec::new(), both[1].as_line()));
        std::fs::remove_file(&both[1].path).expect("removed");
        assert_eq!(remembered(&text, Vec::new()), (Vec::new(), String::new()));
    }
}
