//! The state folder: what outlives a run and a reboot, kept where only its user and root can write.
//! In: the name of a part of it. Out: that part as an open folder, or one sentence on why it cannot be used.
//! /var/lib/bakeoff for root; else `bakeoff` in the user's state folder (XDG base directories).

use crate::error::{Answer, StagingError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use system::create::Folder;

/// The state folder of whoever calls.
pub(crate) fn folder() -> PathBuf {
    if system::process::is_root() {
        return PathBuf::from("/var/lib/bakeoff");
    }
    system::folders::state().unwrap_or_else(of_nobody)
}

/// For a user without a home, such as a service's.
fn of_nobody() -> PathBuf {
    std::env::temp_dir().join(format!("bakeoff-{}", rustix::process::geteuid().as_raw()))
}

/// A part of the state folder, made where it is missing.
pub(crate) fn part(name: &str) -> Result<Folder, StagingError> {
    let path = folder().join(name);
    let made = Folder::make(&path).map_err(|error| unusable("make", &path, error))?;
    trusted(&path)?;
    Ok(made)
}

/// A part of the state folder; None where it is missing.
pub(crate) fn part_if_there(name: &str) -> Result<Option<Folder>, StagingError> {
    let path = folder().join(name);
    match Folder::open(&path) {
        Ok(open) => trusted(&path).map(|()| Some(open)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // Where this user cannot look, this user has written nothing; whoever has something to write is told.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && !system::process::is_root() => Ok(None),
        Err(error) => Err(unusable("open", &path, error)),
    }
}

/// Root acts on what stands in it, so nobody else may write there. A user's own is checked file by file, since many systems let the
/// user's own group write.
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
