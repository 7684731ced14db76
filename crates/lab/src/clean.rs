//! Cleaning: what an interrupted run left, found by its mark and removed; nothing else is.
//! In: mark files, and images in scratch folders. Out: [`Leftover`]s, and what became of them.
//! What belongs to a run that still lives is left alone.

use crate::error::LabError;
use crate::ground::{remove_empty, wipe};
use crate::mark::{self, Content, Made};
use crate::setting::write_setting;
use crate::{custody, image};
use host::process::Process;
use host::{BlockDevice, Command, Journal, Sysfs as _, mounts};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a process gets to end by itself.
const END_LIMIT: Duration = Duration::from_secs(10);

/// What one interrupted run left.
#[derive(Debug, Clone, PartialEq)]
pub struct Leftover {
    /// Id of the run's mark.
    pub id: String,
    /// Process that made it, which is gone; absent where only an image with a mark in its name was found.
    pub pid: Option<u32>,
    /// What is there, in words.
    pub what: Vec<String>,
    file: Option<PathBuf>,
    content: Option<Content>,
    images: Vec<PathBuf>,
}

/// What became of one leftover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    /// Id of the run's mark.
    pub id: String,
    /// What was removed, in words.
    pub removed: Vec<String>,
    /// What could not be removed, and why; empty when all is clean.
    pub problems: Vec<String>,
}

/// Finds what runs that are gone have left. Folders are those in which images may lie.
pub fn leftovers(folders: &[PathBuf]) -> Vec<Leftover> {
    let marks = mark::all();
    let mut found: Vec<Leftover> = marks
        .iter()
        .filter(|(_, content)| !content.owner_lives())
        .map(|(file, content)| Leftover {
            id: content.id.clone(),
            pid: Some(content.owner.pid),
            what: content.made.iter().filter_map(in_words).collect(),
            file: Some(file.clone()),
            content: Some(content.clone()),
            images: Vec::new(),
        })
        .collect();
    for path in folders.iter().flat_map(|folder| marked_images(folder)) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = mark::id_of_image(&name).unwrap_or_default();
        if marks.iter().all(|(_, content)| content.id != id) {
            found.push(Leftover {
                id: id.into(),
                pid: None,
                what: vec![format!("image {}", path.display())],
                file: None,
                content: None,
                images: vec![path],
            });
        }
    }
    found
}

fn marked_images(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| mark::id_of_image(&entry.file_name().to_string_lossy()).is_some())
        .map(|entry| entry.path())
        .collect()
}

/// What is still there of something that was made; None where it is gone.
fn in_words(made: &Made) -> Option<String> {
    match made {
        Made::Folder { path } => path.exists().then(|| {
            let count = mounts::here().iter().filter(|mount| mount.point.starts_with(path)).count();
            format!("folder {} with {count} mounts", path.display())
        }),
        Made::Work { path } => path.exists().then(|| format!("folder {}", path.display())),
        Made::Image { path } => {
            let attached = image::attached_to(path);
            let loops: Vec<String> = attached.iter().map(|device| device.name.clone()).collect();
            let on = if loops.is_empty() { String::new() } else { format!(" on {}", loops.join(", ")) };
            (path.exists() || !attached.is_empty()).then(|| format!("image {}{on}", path.display()))
        }
        Made::Formatted { path, .. } => Some(format!("a filesystem on {}", path.display())),
        Made::Daemon { process } => process.lives().then(|| format!("process {}", process.pid)),
        Made::Setting { path, was } => Some(format!("{} was {was}", path.display())),
    }
}

/// Removes leftovers, each again checked to be of a run that is gone.
pub fn clean(leftovers: &[Leftover], journal: &Journal) -> Vec<Cleaned> {
    mark::sweep();
    leftovers.iter().map(|leftover| clean_one(leftover, journal)).collect()
}

fn clean_one(leftover: &Leftover, journal: &Journal) -> Cleaned {
    let mut cleaned = Cleaned { id: leftover.id.clone(), removed: Vec::new(), problems: Vec::new() };
    if leftover.content.as_ref().is_some_and(Content::owner_lives) {
        cleaned.problems.push("the run lives again".into());
        return cleaned;
    }
    let this_boot = leftover.content.as_ref().is_some_and(Content::is_of_this_boot);
    let mut made: Vec<Made> = leftover.content.as_ref().map(|content| content.made.clone()).unwrap_or_default();
    made.extend(leftover.images.iter().map(|path| Made::Image { path: path.clone() }));
    // Servers end first, then mounts, then what they were mounted from.
    made.sort_by_key(order);
    if let Some(owner) = leftover.content.as_ref().filter(|_| this_boot).map(|content| content.owner) {
        end_orphans(owner, &mut cleaned);
    }
    for one in &made {
        let words = in_words(one);
        match remove(one, this_boot, journal) {
            Ok(()) => cleaned.removed.extend(words),
            Err(error) => cleaned.problems.push(error.to_string()),
        }
    }
    if cleaned.problems.is_empty()
        && let Some(file) = &leftover.file
        && let Err(error) = std::fs::remove_file(file)
        // Another start may have cleaned up the same at the same time.
        && error.kind() != std::io::ErrorKind::NotFound
    {
        cleaned.problems.push(format!("cannot remove {}: {error}", file.display()));
    }
    cleaned
}

/// An mkfs outlives the run that started it, and would write on while its device is being cleaned.
fn end_orphans(owner: Process, cleaned: &mut Cleaned) {
    for orphan in owner.orphans() {
        if orphan.end(END_LIMIT) {
            cleaned.removed.push(format!("process {}", orphan.pid));
        } else {
            cleaned.problems.push(format!("process {} does not end", orphan.pid));
        }
    }
}

fn order(made: &Made) -> u8 {
    match made {
        Made::Daemon { .. } => 0,
        Made::Setting { .. } => 1,
        Made::Folder { .. } => 2,
        Made::Formatted { .. } => 3,
        Made::Image { .. } => 4,
        Made::Work { .. } => 5,
    }
}

fn remove(made: &Made, this_boot: bool, journal: &Journal) -> Result<(), LabError> {
    match made {
        Made::Daemon { process } if this_boot => {
            if process.end(END_LIMIT) {
                Ok(())
            } else {
                Err(LabError::LeftBehind(format!("process {} does not end", process.pid)))
            }
        }
        // A reboot ended the process and forgot the setting.
        Made::Daemon { .. } => Ok(()),
        Made::Setting { .. } if !this_boot => Ok(()),
        Made::Setting { path, was } => {
            if path.exists() {
                write_setting(path, was, journal)
            } else {
                Ok(())
            }
        }
        Made::Folder { path } => {
            unmount_below(path, journal)?;
            if remove_empty(path) {
                Ok(())
            } else {
                Err(LabError::LeftBehind(format!("{} is not empty", path.display())))
            }
        }
        Made::Image { path } => image::remove(journal, path),
        Made::Work { path } => remove_work(path),
        Made::Formatted { path, sequence, label, .. } => empty_device(path, *sequence, label, this_boot, journal),
    }
}

/// Mounts below our own folder, the topmost first.
fn unmount_below(folder: &Path, journal: &Journal) -> Result<(), LabError> {
    for mount in mounts::here().into_iter().rev().filter(|mount| mount.point.starts_with(folder)) {
        let point = mount.point.display().to_string();
        // Killed in the middle of a checkpoint, it may still be frozen; of one that is not, this is refused and does no harm.
        let _ = Command::new(["fsfreeze", "--unfreeze", &point]).run(journal);
        let end = std::time::Instant::now() + Duration::from_secs(3);
        // The killed run's agent may need a moment to notice and let go.
        while Command::new(["umount", &point]).run(journal).is_err() {
            if std::time::Instant::now() > end {
                Command::new(["umount", "--lazy", &point])
                    .run(journal)
                    .map_err(LabError::command(format!("unmounting {point}")))?;
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    Ok(())
}

/// Only a folder whose name carries the mark, whatever the mark file says.
fn remove_work(path: &Path) -> Result<(), LabError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ours =
        name.strip_prefix("bakeoff-").and_then(|rest| rest.strip_suffix("-work")).is_some_and(|id| id.len() == 8);
    if !ours || !path.exists() {
        return Ok(());
    }
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LabError::file("remove", path, error)),
        _ => Ok(()),
    }
}

/// A device is emptied only where it is still the one that we formatted, and still carries our label.
fn empty_device(
    path: &Path,
    sequence: Option<u64>,
    label: &str,
    this_boot: bool,
    journal: &Journal,
) -> Result<(), LabError> {
    let Ok(device) = BlockDevice::find(path) else {
        return Ok(());
    };
    // Disks are counted from boot, so that after one the label alone must tell.
    let same = !this_boot || device.sequence == sequence;
    if same && custody::carries_label(path, label)? {
        wipe(path, journal)?;
    }
    Ok(())
}
