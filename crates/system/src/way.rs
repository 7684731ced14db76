//! Walks a path part by part, because the kernel would follow all users' symbolic links.
//! In: a path. Out: the folder that it leads to, or a file's real location.
//! Links of root, of the caller and of the user who called sudo are followed, those of others never.

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Mode of created folders: no other user may write into them.
pub const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);

/// Symbolic links in one path; the kernel's own limit.
const LINKS_LIMIT: usize = 40;

/// The real location of a file, existing or not: all links are followed, the last one too, except other users' links.
///
/// # Errors
/// Another user's link, more links than the kernel follows, or the system's error for a folder of the path.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_LIMIT {
        let (above, name) = split(&path)?;
        let (folder, place) = (walk(&above, false)?, std::fs::canonicalize(&above)?);
        path = place.join(&name);
        let link = match fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode as RawMode) == FileType::Symlink => found,
            Ok(_) | Err(Errno::NOENT) => return Ok(path),
            Err(error) => return Err(error.into()),
        };
        if !may_lead(link.st_uid) {
            return Err(strangers(&path.display(), link.st_uid));
        }
        let target = fs::readlinkat(&folder, &name, Vec::new())?;
        path = place.join(OsString::from_vec(target.into_bytes()));
    }
    Err(Errno::LOOP.into())
}

/// Opens a folder part by part, because the kernel would follow all users' links.
pub(crate) fn walk(path: &Path, make: bool) -> io::Result<OwnedFd> {
    const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
    let start = if path.is_absolute() { "/" } else { "." };
    let mut here = fs::openat(fs::CWD, start, PLACE, Mode::empty())?;
    let mut ahead: VecDeque<OsString> = parts(path);
    let mut links = 0;
    while let Some(part) = ahead.pop_front() {
        let mut next = fs::openat(&here, &part, PLACE, Mode::empty());
        if make && matches!(next, Err(Errno::NOENT)) {
            match fs::mkdirat(&here, &part, FOLDER_MODE) {
                // Another process may have made it in between; it is checked all the same.
                Ok(()) | Err(Errno::EXIST) => next = fs::openat(&here, &part, PLACE, Mode::empty()),
                Err(error) => return Err(error.into()),
            }
        }
        let next = next?;
        let found = fs::fstat(&next)?;
        if FileType::from_raw_mode(found.st_mode as RawMode) != FileType::Symlink {
            here = next;
            continue;
        }
        links += 1;
        if links > LINKS_LIMIT {
            return Err(Errno::LOOP.into());
        }
        if !may_lead(found.st_uid) {
            return Err(strangers(&format!("{} on the way to {}", part.display(), path.display()), found.st_uid));
        }
        let target = PathBuf::from(OsString::from_vec(fs::readlinkat(&next, "", Vec::new())?.into_bytes()));
        if target.is_absolute() {
            here = fs::openat(fs::CWD, "/", PLACE, Mode::empty())?;
        }
        for part in parts(&target).into_iter().rev() {
            ahead.push_front(part);
        }
    }
    Ok(here)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = |part: Component| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(named).collect()
}

/// Users whose links are followed: root, the caller, and the user who called sudo.
fn may_lead(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw() || behind_sudo() == Some(user)
}

/// The user who called sudo, if this process became root by it.
pub(crate) fn behind_sudo() -> Option<u32> {
    rustix::process::geteuid().is_root().then(|| std::env::var("SUDO_UID").ok()?.parse().ok()).flatten()
}

fn strangers(what: &dyn Display, user: u32) -> io::Error {
    refused(format!("{what} is a symbolic link owned by user {user}, which is not followed"))
}

/// The folder above a path, `.` where none is named, and the last name.
///
/// # Errors
/// A path that does not end in a name (`/`, `..`).
pub fn split(path: &Path) -> io::Result<(PathBuf, OsString)> {
    let name = path.file_name().ok_or_else(|| refused(format!("{} does not end in a name", path.display())))?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((above.to_owned(), name.to_owned()))
}

/// An error that states what is refused, and why.
pub fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_found_behind_ones_own_links_also_where_it_is_not_yet_there() {
        let place = tempfile::tempdir().expect("a folder");
        let real = place.path().canonicalize().expect("there").join("real");
        std::fs::create_dir(&real).expect("made");
        symlink("real", place.path().join("folder")).expect("linked");
        symlink("folder/file", place.path().join("link")).expect("linked");
        assert_eq!(resolved(&place.path().join("link")).expect("found"), real.join("file"));
        symlink("round", place.path().join("round")).expect("linked");
        resolved(&place.path().join("round")).expect_err("round and round");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(place.path().join("link"), Some(54321), None).expect("given away");
            let error = resolved(&place.path().join("link")).expect_err("a stranger's").to_string();
            assert!(error.contains("link is a symbolic link owned by user 54321"), "{error}");
        }
    }
}
