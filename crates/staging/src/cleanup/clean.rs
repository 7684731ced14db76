//! Cleaning: removes what an interrupted run left, and nothing else.
//! In: [`Leftover`]s. Out: the outcome for each ([`Cleaned`]).
//! What cannot be removed stays in its cleanup record with the reason. The next start tries again; no run is blocked by it.

use crate::busy::when_free;
use crate::cleanup::leftover::{Leftover, Source, in_words};
use crate::cleanup::removal::{self, Left};
use crate::devices::custody;
use crate::devices::loops;
use crate::devices::setting::write_setting;
use crate::devices::wipe::wipe;
use crate::error::StagingError;
use crate::ownership::cleanup_journal::{self, Content, Made, RUN_FOLDER, Taken};
use crate::ownership::life::{self, Life, Lock};
use crate::ownership::owned::remove_empty;
use crate::ownership::owned::{self, Claim};
use crate::ownership::state;
use crate::stage::around::{group_name, remove_group};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::create::Folder;
use system::process::Process;
use system::{BlockDevice, Command, Journal, Sysfs as _, mounts, own_mounts};

/// How long to wait for a busy mount before it is unmounted lazily.
const BUSY_LIMIT: Duration = Duration::from_secs(3);

/// How long to wait for a process to end.
const END_LIMIT: Duration = Duration::from_secs(10);

/// The outcome for one leftover.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cleaned {
    /// Id of the run's mark.
    pub id: String,
    /// What was removed, in words.
    pub removed: Vec<String>,
    /// What is left alone for good, since it is not what the run made, and why.
    pub left_alone: Vec<String>,
    /// What could not be removed, and why; tried again by the next start. Empty when all is clean.
    pub problems: Vec<String>,
}

/// Removes leftovers, each again checked to be of a run that is gone.
pub fn clean(leftovers: &[Leftover], journal: &Journal) -> Vec<Cleaned> {
    cleanup_journal::sweep();
    leftovers.iter().map(|leftover| clean_one(leftover, journal)).collect()
}

fn clean_one(leftover: &Leftover, journal: &Journal) -> Cleaned {
    let mut cleaned = Cleaned { id: leftover.id.clone(), ..Cleaned::default() };
    let done = match &leftover.source {
        Source::Mark => clean_mark(&leftover.id, &mut cleaned, journal),
        Source::Image(path) => clean_image(path, &mut cleaned, journal),
        Source::Unreadable(why) => Err(StagingError::LeftBehind(format!(
            "reading the cleanup record {}.json in {}: {why}; `bakeoff clean --forget {}` removes it",
            leftover.id,
            state::folder().join(cleanup_journal::MARKS).display(),
            leftover.id
        ))),
    };
    if let Err(error) = done {
        cleaned.problems.push(error.to_string());
    }
    cleaned
}

/// Removes what a cleanup record lists. Does nothing if another process is cleaning it, or if the run is alive.
fn clean_mark(id: &str, cleaned: &mut Cleaned, journal: &Journal) -> Result<(), StagingError> {
    let Some(taken) = Taken::take(id)? else { return Ok(()) };
    let mut content = match taken.content() {
        Some(Ok(content)) => content,
        // Another start has removed it meanwhile; only the lock is left.
        None => return taken.forget(),
        Some(Err(why)) => {
            return Err(StagingError::LeftBehind(format!("reading the cleanup record {id} again: {why}")));
        }
    };
    if taken.life(&content) != Life::Gone {
        return Ok(());
    }
    // Servers end first; then come mounts, then what they were mounted from.
    content.made.sort_by_key(order);
    if content.maker.shares_processes() {
        end_orphans(content.maker.owner, cleaned);
    }
    let mut remaining = Vec::new();
    for made in content.made.clone() {
        let words = in_words(&made);
        match remove(&made, &content, journal) {
            Ok(Left::Nothing) => cleaned.removed.extend(words),
            Ok(Left::Alone(why)) => cleaned.left_alone.push(why),
            Err(error) => {
                cleaned.problems.push(error.to_string());
                remaining.push(made);
            }
        }
    }
    if cleaned.problems.is_empty() {
        return taken.forget();
    }
    content.made = remaining;
    content.problems.clone_from(&cleaned.problems);
    taken.keep(&content)
}

/// Removes an image whose run has no cleanup record here.
fn clean_image(path: &Path, cleaned: &mut Cleaned, journal: &Journal) -> Result<(), StagingError> {
    let (folder, name) = removal::place_of(path)?;
    let Claim::Left(record, file) = owned::claim(&folder, &name) else { return Ok(()) };
    if life::take(&file) == Lock::Held {
        return Ok(());
    }
    if record.maker.shares_processes() {
        end_orphans(record.maker.owner, cleaned);
    }
    let proof = removal::Proof::Made(record.identity, record.maker.is_of_this_boot());
    match removal::remove_image(path, &record.id, &proof, journal)? {
        Left::Nothing => cleaned.removed.push(format!("image {}", path.display())),
        Left::Alone(why) => cleaned.left_alone.push(why),
    }
    Ok(())
}

/// An mkfs outlives the run that started it, and would continue writing while its device is being cleaned.
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
        Made::Group { .. } => 1,
        Made::Setting { .. } => 2,
        Made::Folder { .. } => 3,
        Made::Formatted { .. } => 4,
        Made::Part { .. } => 5,
        Made::Image { .. } => 6,
        Made::Work { .. } => 7,
    }
}

fn remove(made: &Made, content: &Content, journal: &Journal) -> Result<Left, StagingError> {
    if !is_of(made, &content.id) {
        return Ok(Left::Alone(format!(
            "the cleanup record of run {} names something that no run creates: {made:?}",
            content.id
        )));
    }
    let this_boot = content.maker.is_of_this_boot();
    match made {
        Made::Daemon { process } => end_daemon(process, content)?,
        Made::Group { path } => remove_group(path, journal)?,
        // A reboot has reset the setting.
        Made::Setting { path, was } => {
            if this_boot && path.exists() {
                write_setting(path, was, journal)?;
            }
        }
        Made::Folder { path } => {
            unmount_below(path, journal)?;
            if !remove_empty(path) {
                return Err(StagingError::LeftBehind(format!("{} is not empty", path.display())));
            }
        }
        Made::Image { path, identity } => {
            let proof = match content.is_of_first_version() {
                true => removal::Proof::NamedByMark,
                false => removal::Proof::Made(*identity, this_boot),
            };
            return removal::remove_image(path, &content.id, &proof, journal);
        }
        Made::Work { path } => return removal::remove_work(path),
        // A reboot has removed the partition.
        Made::Part { disk, number, sequence, part } => {
            if this_boot {
                return removal::remove_part((disk, *number, *sequence), part, journal);
            }
        }
        Made::Formatted { path, sequence, label, .. } => {
            empty_device(path, *sequence, (label, &content.id), this_boot, journal)?;
        }
    }
    Ok(Left::Nothing)
}

/// Whether a run with this id creates such a thing: a record with anything else was not written by a run.
fn is_of(made: &Made, id: &str) -> bool {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match made {
        Made::Daemon { .. } => true,
        Made::Setting { path, .. } => {
            path.starts_with("/sys") && !path.components().any(|part| part == std::path::Component::ParentDir)
        }
        Made::Group { path } => name(path) == group_name(id),
        Made::Folder { path } => *path == Path::new(RUN_FOLDER).join(id),
        Made::Image { path, .. } => owned::id_of_image(&name(path)) == Some(id),
        Made::Work { path } => name(path) == format!("bakeoff-{id}-work"),
        Made::Part { disk, .. } => disk.starts_with("/dev"),
        Made::Formatted { path, label, .. } => path.starts_with("/dev") && label.starts_with("bo-"),
    }
}

/// Ends a server that the run started; a process that merely has its id now is left alone.
fn end_daemon(process: &Process, content: &Content) -> Result<(), StagingError> {
    let ours = content.maker.shares_processes() && process.was_started_by(content.maker.owner);
    if ours && !process.end(END_LIMIT) {
        return Err(StagingError::LeftBehind(format!("process {} does not end", process.pid)));
    }
    Ok(())
}

/// Unmounts everything below the run's own folder, the topmost first.
fn unmount_below(folder: &Path, journal: &Journal) -> Result<(), StagingError> {
    for mount in mounts::here().into_iter().rev().filter(|mount| mount.point.starts_with(folder)) {
        let point = mount.point.display().to_string();
        // A filesystem whose run was killed during a checkpoint may still be frozen; on any other one this fails and does no harm.
        let _ = Command::new(["fsfreeze", "--unfreeze", &point]).run(journal);
        if let Some(origin) = own_mounts::in_origin() {
            // This process has a copy of its origin's mounts. What remains mounted there keeps the device busy.
            let look = Command::new(["findmnt", "--mountpoint", &point]).prefixed(&origin);
            if look.run(&Journal::new()).is_ok() {
                unmount(&point, &origin, journal)?;
            }
        }
        // With shared mounts, unmounting there has unmounted it here.
        if mounts::at(&mount.point).is_some_and(|still| still.id == mount.id) {
            unmount(&point, &[], journal)?;
        }
    }
    Ok(())
}

/// Unmounts in the namespace that a prefix enters; lazily if it stays busy.
fn unmount(point: &str, prefix: &[String], journal: &Journal) -> Result<(), StagingError> {
    let command = |words: &[&str]| Command::new(words.iter().copied()).prefixed(prefix);
    // The killed run's agent may need a moment to notice and end.
    if when_free(BUSY_LIMIT, || command(&["umount", point]).run(journal)).is_err() {
        command(&["umount", "--lazy", point])
            .run(journal)
            .map_err(StagingError::command(format!("unmounting {point}")))?;
    }
    Ok(())
}

/// Empties a device only if it is still the one that was formatted, and has our label. A filesystem that the run left frozen is thawed.
fn empty_device(
    path: &Path,
    sequence: Option<u64>,
    (label, id): (&str, &str),
    this_boot: bool,
    journal: &Journal,
) -> Result<(), StagingError> {
    let Ok(device) = BlockDevice::find(path) else {
        return Ok(());
    };
    // Disk sequence numbers count from boot, so that after a reboot only the label identifies the device.
    let same = !this_boot || device.sequence == sequence;
    if same && custody::carries_label(path, label)? {
        wipe(path, journal).or_else(|in_use| {
            loops::thaw(journal, &device, id);
            wipe(path, journal).map_err(|_| in_use)
        })?;
    }
    Ok(())
}

/// Removes the records of what a run left; the things themselves stay. Returns them in words. `folders` are those in which images may be.
///
/// # Errors
/// The run is alive, it has no record, or a record cannot be removed.
pub fn forget(id: &str, folders: &[PathBuf]) -> Result<Vec<String>, StagingError> {
    let marks = state::part(cleanup_journal::MARKS)?;
    let mut forgotten = Vec::new();
    if is_name(id) && cleanup_journal::read(&marks, id).is_some() {
        let busy = || StagingError::Busy { what: format!("the leftovers of run {id}"), holder: String::new() };
        let taken = Taken::take(id)?.ok_or_else(busy)?;
        match taken.content() {
            Some(Ok(content)) => {
                if taken.life(&content) == Life::Lives {
                    return Err(busy());
                }
                for made in &content.made {
                    forgotten.extend(in_words(made));
                    if let Made::Image { path, .. } = made {
                        forget_record(path)?;
                    }
                }
                forgotten.push(format!("the cleanup record of run {id}"));
            }
            Some(Err(why)) => forgotten.push(format!("the cleanup record {id}, which could not be read: {why}")),
            None => {}
        }
        taken.forget()?;
    }
    for path in folders.iter().flat_map(|folder| recorded(folder, id)) {
        forget_record(&path)?;
        forgotten.push(format!("image {}", path.display()));
    }
    if forgotten.is_empty() {
        let way_out = "`bakeoff clean --dry-run` lists the leftovers; images are in the folder of --scratch";
        return Err(
            StagingError::file("forget", Path::new(id), "this machine has no leftovers of that run").with_way(way_out)
        );
    }
    Ok(forgotten)
}

/// A name that stays within the folder of cleanup records.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Images of a run in a folder that have a record.
fn recorded(folder: &Path, id: &str) -> Vec<PathBuf> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let names = Folder::open(&folder).and_then(|open| open.names()).unwrap_or_default();
    let images = names.iter().filter_map(|name| owned::image_of_record(name.to_str()?));
    images.filter(|image| owned::id_of_image(image) == Some(id)).map(|image| folder.join(image)).collect()
}

/// Removes the record beside an image, unless its maker is alive.
fn forget_record(image: &Path) -> Result<(), StagingError> {
    // Without its folder there is no record either.
    let Ok((folder, name)) = removal::place_of(image) else { return Ok(()) };
    if matches!(owned::claim(&folder, &name), Claim::Living) {
        return Err(StagingError::Busy { what: image.display().to_string(), holder: String::new() });
    }
    owned::remove_record(&folder, &name).map_err(|error| StagingError::file("remove the record of", image, error))
}
