//! Removing what an ended run made: an image with its loop devices, a folder of work; each only if its identity is proven.
//! In: a path and its proof. Out: nothing is left, or the reason why it is left alone.
//! Anything else at the path stays.

use crate::devices::custody;
use crate::devices::loops::{self, PATIENCE};
use crate::devices::parts::Part;
use crate::error::StagingError;
use crate::ownership::owned::{self, Identity};
use rustix::fs::{FileType, RawMode, Stat};
use std::io::ErrorKind;
use std::path::Path;
use system::block::Number;
use system::create::{self, Folder};
use system::{BlockDevice, Journal, Sysfs as _, mounts};

/// What proves that a file is the image that a run made.
#[derive(Debug)]
pub(crate) enum Proof {
    /// Identity of the file (None: the run was killed while making it), and whether it was made since this boot.
    Made(Option<Identity>, bool),
    /// Only its path in a cleanup record of version 0.1, in a folder where only root can write.
    NamedByMark,
}

/// What is left of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// It is not ours to remove; what it is, and why.
    Alone(String),
}

/// The folder of a file, and its name there.
pub(crate) fn place_of(path: &Path) -> Result<(Folder, String), StagingError> {
    let failed = |error: std::io::Error| StagingError::file("open the folder of", path, error);
    let (folder, name) = create::split(path).map_err(failed)?;
    Ok((Folder::open(&folder).map_err(failed)?, name.to_string_lossy().into_owned()))
}

/// Detaches the loop devices of an image, and removes it with its record.
pub(crate) fn remove_image(path: &Path, id: &str, proof: &Proof, journal: &Journal) -> Result<Left, StagingError> {
    let failed = |error: std::io::Error| StagingError::file("remove the image", path, error);
    let (parent, name) = create::split(path).map_err(failed)?;
    let name = name.to_string_lossy().into_owned();
    let folder = match Folder::open(&parent) {
        Ok(folder) => folder,
        // A scratch folder that is gone, or never was one, holds no image; a loop device may still use a former one.
        Err(error) if is_nowhere(&error) => {
            let identity = if let Proof::Made(identity, true) = proof { *identity } else { None };
            return let_go(path, id, identity, journal).map(|()| Left::Nothing);
        }
        Err(error) => return Err(failed(error)),
    };
    let recorded = || owned::read(&folder, &name).ok().flatten().and_then(|(record, _)| record.identity);
    let facts = served(owned::stat(&folder, &name)).map_err(failed)?;
    let (ours, identity) = match proof {
        Proof::Made(identity, this_boot) => {
            let identity = identity.or_else(recorded);
            let is_ours = |facts: &Stat| owned::is_the_one(facts, identity, *this_boot);
            (facts.as_ref().is_none_or(is_ours), identity)
        }
        Proof::NamedByMark => (facts.as_ref().is_none_or(is_plain_and_mine), None),
    };
    if !ours {
        // The image was renamed or removed, but its loop devices are still ours to detach.
        if let Proof::Made(Some(_), true) = proof {
            let_go(path, id, identity, journal)?;
        }
        return Ok(Left::Alone(format!("{} is not the image that run {id} created there", path.display())));
    }
    let identity = facts.as_ref().map(owned::identity).or(identity);
    let_go(path, id, identity, journal)?;
    // Checked again: waiting for the loop device takes time.
    let again = served(owned::stat(&folder, &name)).map_err(failed)?;
    if again.is_some_and(|now| Some(owned::identity(&now)) == identity) {
        served(owned::gone_is_fine(folder.remove(&name))).map_err(failed)?;
    }
    served(owned::remove_record(&folder, &name)).map_err(failed)?;
    Ok(Left::Nothing)
}

/// Whether a scratch folder is gone, never was one, or is a mount whose server has ended.
fn is_nowhere(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::NotConnected)
}

/// A result from a folder; if the folder's server, killed with its run, ends just now, the folder is empty.
fn served<T: Default>(answer: std::io::Result<T>) -> std::io::Result<T> {
    answer.or_else(|error| if error.kind() == ErrorKind::NotConnected { Ok(T::default()) } else { Err(error) })
}

fn is_plain_and_mine(facts: &Stat) -> bool {
    let plain = FileType::from_raw_mode(facts.st_mode as RawMode) == FileType::RegularFile;
    plain && owned::is_mine(facts) && facts.st_nlink == 1
}

/// Detaches the loop devices of an image, if they have no other user.
fn let_go(path: &Path, id: &str, identity: Option<Identity>, journal: &Journal) -> Result<(), StagingError> {
    for device in loops::on(path, identity) {
        if let Some(user) = loops::foreign_user(&device, id) {
            return Err(StagingError::LeftBehind(format!("the image {} is in use: {user}", path.display())));
        }
    }
    loops::detach(journal, path, identity)?;
    loops::await_detached(path, identity, PATIENCE).or_else(|in_use| {
        loops::on(path, identity).iter().for_each(|device| loops::thaw(journal, device, id));
        loops::await_detached(path, identity, PATIENCE).map_err(|_| in_use)
    })
}

/// A partition that a run made, with its disk, if both are unchanged.
pub(crate) fn part(
    disk: &Path,
    number: Number,
    sequence: Option<u64>,
    part: &Part,
) -> Option<(BlockDevice, BlockDevice)> {
    let disk = BlockDevice::find(disk).ok().filter(|disk| disk.number == number && disk.sequence == sequence)?;
    let device = part.find(&disk)?;
    Some((disk, device))
}

/// Removes a partition that only the kernel knows. The run's own filesystem was removed before; anything else on it stays.
pub(crate) fn remove_part(
    (disk, number, sequence): (&Path, Number, Option<u64>),
    wanted: &Part,
    journal: &Journal,
) -> Result<Left, StagingError> {
    let Some((disk, device)) = part(disk, number, sequence, wanted) else { return Ok(Left::Nothing) };
    // A table written since then may have the same partition.
    if let Some(found) = custody::signature(&disk.path, "", None)? {
        return Ok(Left::Alone(format!("{} is not removed: {} carries {found} now", device.name, disk.name)));
    }
    let is_clear = custody::signature(&device.path, "", None)?.is_none();
    wanted.leave(&disk, is_clear, journal)?;
    Ok(Left::Nothing)
}

/// Removes a folder of work with its content; never through a link, and never what is mounted there.
pub(crate) fn remove_work(path: &Path) -> Result<Left, StagingError> {
    let Ok((parent, name)) = place_of(path) else {
        return Ok(Left::Nothing);
    };
    let failed = |error: std::io::Error| StagingError::file("remove", path, error);
    let Some(facts) = owned::stat(&parent, &name).map_err(failed)? else { return Ok(Left::Nothing) };
    if FileType::from_raw_mode(facts.st_mode as RawMode) != FileType::Directory || !owned::is_mine(&facts) {
        return Ok(Left::Alone(format!("{} is not the folder that the run created there", path.display())));
    }
    if let Some(mount) = mounts::everywhere().into_iter().find(|mount| mount.point.starts_with(path)) {
        return Err(StagingError::LeftBehind(format!(
            "{} contains a mount, {}",
            path.display(),
            mount.point.display()
        )));
    }
    owned::gone_is_fine(std::fs::remove_dir_all(path)).map_err(failed)?;
    Ok(Left::Nothing)
}
