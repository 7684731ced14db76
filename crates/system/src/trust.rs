//! Whether a file is safe to act on: who owns it and every folder above it, and which other users could change them.
//! In: a path. Out: nothing, or [`Untrusted`], which names the component at fault.
//! A trusted path cannot be replaced by another user between this check and its use.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Most symbolic links that are followed: the kernel's own limit (path_resolution(7)).
const LINKS_LIMIT: usize = 40;

/// Mode bits that let the group or others write. With a POSIX ACL the group bits are its mask, so that named users show here too.
const OTHERS_WRITE: u32 = 0o022;

/// Mode bit by which only the owner of an entry, the owner of the folder and root can rename or remove it.
const STICKY: u32 = 0o1000;

/// A path that another user could have written, or could replace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {why}", .path.display())]
pub struct Untrusted {
    /// The file, folder or symbolic link at fault: the path itself, or a component of it.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: Distrust,
}

/// Why a path is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// Neither the caller nor root owns it.
    #[error("belongs to user {0}, who is neither you nor root")]
    Foreign(u32),
    /// Its group can write it.
    #[error("can be written by its group (`chmod go-w` prevents that)")]
    GroupWrites,
    /// All users can write it.
    #[error("can be written by everybody (`chmod go-w` prevents that)")]
    EverybodyWrites,
    /// More symbolic links than the kernel follows.
    #[error("leads through more than {LINKS_LIMIT} symbolic links")]
    Links,
    /// It is missing, or cannot be inspected.
    #[error("cannot be inspected: {0}")]
    Unseen(String),
}

/// Checks that a path, and every folder and symbolic link that leads to it, belongs to the caller or to root and that no other user can write there.
///
/// In a sticky folder such as /tmp others can create entries but cannot replace those of other owners; so one may be part of the path, but
/// does not pass as its end.
pub fn owned_path(path: &Path) -> Result<(), Untrusted> {
    owned_by(path, &[rustix::process::geteuid().as_raw(), 0])
}

/// As [`owned_path`], but also trusts the user who called sudo: the working folder is usually theirs.
pub fn callers_path(path: &Path) -> Result<(), Untrusted> {
    owned_by(path, &callers())
}

/// Checks that every open file of this process whose path has this prefix belongs to the caller as in [`callers_path`] and cannot be written
/// by others. It detects a file that another user put in place between a check of its name and its opening.
pub fn callers_open_files(beginning: &Path) -> Result<(), Untrusted> {
    open_files_owned_by(beginning, &callers())
}

/// The caller, root, and the user who called sudo.
fn callers() -> Vec<u32> {
    [rustix::process::geteuid().as_raw(), 0].into_iter().chain(crate::way::behind_sudo()).collect()
}

fn open_files_owned_by(beginning: &Path, owners: &[u32]) -> Result<(), Untrusted> {
    const OPEN: &str = "/proc/self/fd";
    let failed = |error: std::io::Error| unseen(Path::new(OPEN), &error);
    for entry in std::fs::read_dir(OPEN).map_err(failed)? {
        let link = entry.map_err(failed)?.path();
        // The descriptor of this listing is closed by the time it is inspected.
        let Ok(path) = std::fs::read_link(&link) else { continue };
        if path.as_os_str().as_bytes().starts_with(beginning.as_os_str().as_bytes()) {
            let facts = link.metadata().map_err(|error| unseen(&path, &error))?;
            of_owner(&path, &facts, owners)?;
            only_owner_writes(&path, &facts)?;
        }
    }
    Ok(())
}

fn owned_by(path: &Path, owners: &[u32]) -> Result<(), Untrusted> {
    let absolute = std::path::absolute(path).map_err(|error| unseen(path, &error))?;
    let mut at = PathBuf::from("/");
    let mut last = checked(&at, owners)?;
    let mut waiting = names(&absolute);
    let mut links = 0;
    while let Some(name) = waiting.pop_front() {
        if name == ".." {
            at.pop();
            last = checked(&at, owners)?;
            continue;
        }
        at.push(name);
        last = checked(&at, owners)?;
        if !last.is_symlink() {
            continue;
        }
        links += 1;
        if links > LINKS_LIMIT {
            return Err(Untrusted { path: path.into(), why: Distrust::Links });
        }
        let target = std::fs::read_link(&at).map_err(|error| unseen(&at, &error))?;
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for name in names(&target).into_iter().rev() {
            waiting.push_front(name);
        }
    }
    // The sticky bit helps only along the path: the end of the path in such a folder must be safe by itself.
    only_owner_writes(&at, &last)
}

/// The components of a path that lead somewhere, `..` included.
fn names(path: &Path) -> VecDeque<OsString> {
    let leads = |component: &Component<'_>| matches!(component, Component::Normal(_) | Component::ParentDir);
    path.components().filter(leads).map(|component| component.as_os_str().to_owned()).collect()
}

fn checked(path: &Path, owners: &[u32]) -> Result<Metadata, Untrusted> {
    let facts = path.symlink_metadata().map_err(|error| unseen(path, &error))?;
    of_owner(path, &facts, owners)?;
    if !(facts.is_dir() && facts.mode() & STICKY != 0) {
        only_owner_writes(path, &facts)?;
    }
    Ok(facts)
}

fn of_owner(path: &Path, facts: &Metadata, owners: &[u32]) -> Result<(), Untrusted> {
    match facts.uid() {
        owner if owners.contains(&owner) => Ok(()),
        stranger => Err(Untrusted { path: path.into(), why: Distrust::Foreign(stranger) }),
    }
}

fn only_owner_writes(path: &Path, facts: &Metadata) -> Result<(), Untrusted> {
    // A symbolic link's mode means nothing: it cannot be written, only replaced, which its folder decides.
    let why = match facts.mode() & OTHERS_WRITE {
        _ if facts.is_symlink() => return Ok(()),
        0 => return Ok(()),
        0o020 => Distrust::GroupWrites,
        _ => Distrust::EverybodyWrites,
    };
    Err(Untrusted { path: path.into(), why })
}

fn unseen(path: &Path, error: &std::io::Error) -> Untrusted {
    Untrusted { path: path.into(), why: Distrust::Unseen(error.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mine to change");
    }

    /// A folder with a file in it, both the caller's alone.
    fn owned() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("written");
        mode(folder.path(), 0o755);
        mode(&file, 0o644);
        (folder, file)
    }

    #[test]
    fn a_file_that_only_its_owner_can_write_is_trusted_also_in_a_sticky_folder() {
        let (folder, file) = owned();
        assert_eq!(owned_path(&file), Ok(()));
        assert_eq!(owned_path(folder.path()), Ok(()));
        mode(folder.path(), 0o1777);
        assert_eq!(owned_path(&file), Ok(()));
    }

    #[test]
    fn a_sticky_folder_itself_is_not_for_anybody_can_put_something_there() {
        let (folder, _file) = owned();
        mode(folder.path(), 0o1777);
        let error = owned_path(folder.path()).expect_err("open to all");
        assert_eq!(error.why, Distrust::EverybodyWrites);
    }

    #[test]
    fn a_path_that_a_group_or_all_users_can_write_is_not_trusted() {
        let (folder, file) = owned();
        mode(&file, 0o664);
        assert_eq!(owned_path(&file), Err(Untrusted { path: file.clone(), why: Distrust::GroupWrites }));
        mode(&file, 0o644);
        mode(folder.path(), 0o777);
        let error = owned_path(&file).expect_err("its folder is open");
        assert_eq!((error.path.as_path(), error.why), (folder.path(), Distrust::EverybodyWrites));
    }

    #[test]
    fn links_are_judged_by_every_folder_that_they_lead_through() {
        let (folder, file) = owned();
        let (open, _) = owned();
        mode(open.path(), 0o777);
        let direct = folder.path().join("direct");
        symlink(&file, &direct).expect("linked");
        assert_eq!(owned_path(&direct), Ok(()));
        let around = folder.path().join("around");
        symlink(open.path().join("..").join(folder.path().file_name().expect("named")).join("file"), &around)
            .expect("linked");
        assert_eq!(owned_path(&around).expect_err("through the open one").path, open.path());
        let endless = folder.path().join("endless");
        symlink(&endless, &endless).expect("linked");
        assert_eq!(owned_path(&endless).expect_err("round and round").why, Distrust::Links);
    }

    #[test]
    fn a_file_or_link_of_another_user_is_not_trusted() {
        let (folder, file) = owned();
        let me = file.metadata().expect("there").uid();
        let error = owned_by(&file, &[me.wrapping_add(1)]).expect_err("of another");
        assert!(matches!(error.why, Distrust::Foreign(_)), "{error}");
        if !rustix::process::geteuid().is_root() {
            return;
        }
        mode(folder.path(), 0o1777);
        let link = folder.path().join("link");
        symlink(&file, &link).expect("linked");
        std::os::unix::fs::lchown(&link, Some(12345), None).expect("root may");
        let error = owned_path(&link).expect_err("planted");
        assert_eq!((error.path, error.why), (link, Distrust::Foreign(12345)));
        chown(&file, Some(12345), None).expect("root may");
        assert_eq!(owned_path(&file).expect_err("of another").why, Distrust::Foreign(12345));
    }

    #[test]
    fn an_open_file_of_another_user_is_found_by_the_beginning_of_its_name_also_after_it_was_removed() {
        let (folder, file) = owned();
        let beginning = folder.path().canonicalize().expect("there").join("fi");
        let me = file.metadata().expect("there").uid();
        let open = std::fs::File::open(&file).expect("opened");
        assert_eq!(open_files_owned_by(&beginning, &[me]), Ok(()));
        let error = open_files_owned_by(&beginning, &[me.wrapping_add(1)]).expect_err("of another");
        assert_eq!(error.why, Distrust::Foreign(me));
        open.set_permissions(std::fs::Permissions::from_mode(0o666)).expect("changed");
        std::fs::remove_file(&file).expect("removed");
        assert_eq!(open_files_owned_by(&beginning, &[me]).expect_err("open to all").why, Distrust::EverybodyWrites);
        drop(open);
        assert_eq!(open_files_owned_by(&beginning, &[me]), Ok(()));
    }

    #[test]
    fn a_missing_file_is_an_error_that_names_it() {
        let (folder, _file) = owned();
        let error = owned_path(&folder.path().join("nothing")).expect_err("not there");
        assert!(error.to_string().contains("nothing cannot be inspected: No such file"), "{error}");
    }
}
