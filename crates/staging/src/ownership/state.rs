//! The state folder: what survives a run and a reboot, in a place where only its user and root can write.
//! In: the name of a part of it. Out: that part as an open folder, or one sentence on why it is unusable.
//! /var/lib/bakeoff for root; else `bakeoff` in the user's state folder (XDG base directories).

use crate::error::{Answer, StagingError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use system::create::Folder;

/// The state folder of the calling user.
pub(crate) fn folder() -> PathBuf {
    if system::process::is_root() {
        return PathBuf::from("/var/lib/bakeoff");
    }
    system::folders::state().unwrap_or_else(without_home)
}

/// For a user without a home, such as a service's.
fn without_home() -> PathBuf {
    std::env::temp_dir().join(format!("bakeoff-{}", rustix::process::geteuid().as_raw()))
}

/// A part of the state folder, created if missing.
pub(crate) fn part(name: &str) -> Result<Folder, StagingError> {
    let path = folder().join(name);
    let made = Folder::make(&path).map_err(|error| unusable("make", &path, error))?;
    trusted(&path)?;
    Ok(made)
}

/// A part of the state folder; None if missing.
pub(crate) fn part_if_there(name: &str) -> Result<Option<Folder>, StagingError> {
    let path = folder().join(name);
    match Folder::open(&path) {
        Ok(open) => trusted(&path).map(|()| Some(open)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // A folder that this user cannot read has no records of this user; a run that needs to write gets an error.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && !system::process::is_root() => Ok(None),
        Err(error) => Err(unusable("open", &path, error)),
    }
}

/// Root acts on its content, so that only root may write there. A user's own folder is checked file by file, since on many systems the
/// user's group may write.
fn trusted(path: &Path) -> Result<(), StagingError> {
    if !system::process::is_root() {
        return Ok(());
    }
    system::owned_path(path).map_err(|why| unusable("trust", path, why))
}

fn unusable(doing: &'static str, path: &Path, error: impl Answer) -> StagingError {
    let way_out = match system::process::is_root() {
        true => "it must be a folder that belongs to root and that only root can write",
        false => "make it a folder that you can write, or name another state folder in XDG_STATE_HOME",
    };
    StagingError::file(doing, path, error).with_way(way_out)
}
