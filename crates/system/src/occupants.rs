//! Processes that keep a filesystem from being unmounted: by open files, or by their current folder.
//! In: the device number of its mounts. Out: [`Occupant`]s, from /proc/PID.
//! Files are not inspected, only links and descriptor information: a filesystem whose server is dead would never respond.

use crate::mounts::{self, Mount};
use crate::process;
use records::Number;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A process, and the path by which it keeps the filesystem busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// The process.
    pub pid: u32,
    /// Its program's name.
    pub program: String,
    /// The file that it has open, or the folder that it is in, as that process sees it.
    pub path: PathBuf,
}

impl fmt::Display for Occupant {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} ({}) by {}", self.program, self.pid, self.path.display())
    }
}

/// Every process that uses a filesystem, this one included; one reason for each.
pub fn of(number: Number) -> Vec<Occupant> {
    let ids: BTreeSet<u32> =
        mounts::everywhere().into_iter().filter(|mount| mount.number == number).map(|mount| mount.id).collect();
    let occupant = |pid: u32| {
        let at = PathBuf::from(format!("/proc/{pid}"));
        let path = open_on(&at, &ids).or_else(|| folder_on(&at, &mounts::of_process(pid), number))?;
        Some(Occupant { pid, program: crate::text(at.join("comm")).unwrap_or_default(), path })
    };
    process::ids().into_iter().filter_map(occupant).collect()
}

/// A file that a process has open on one of these mounts.
fn open_on(process: &Path, ids: &BTreeSet<u32>) -> Option<PathBuf> {
    let descriptors = std::fs::read_dir(process.join("fdinfo")).ok()?.flatten();
    descriptors
        .filter(|entry| mount_of(&entry.path()).is_some_and(|id| ids.contains(&id)))
        .find_map(|entry| std::fs::read_link(process.join("fd").join(entry.file_name())).ok())
}

fn mount_of(descriptor: &Path) -> Option<u32> {
    crate::text(descriptor)?.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// The folder that a process is in, if it is on the filesystem.
fn folder_on(process: &Path, seen: &[Mount], number: Number) -> Option<PathBuf> {
    let lies_there = |path: &PathBuf| {
        let below = seen.iter().filter(|mount| path.starts_with(&mount.point));
        below.max_by_key(|mount| mount.point.as_os_str().len()).is_some_and(|mount| mount.number == number)
    };
    ["cwd", "root", "exe"].iter().filter_map(|link| std::fs::read_link(process.join(link)).ok()).find(lies_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    /// The occupant found for a child, once it matches.
    fn found(child: &mut Child, number: Number, wanted: impl Fn(&Occupant) -> bool) -> Option<Occupant> {
        let found = (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            of(number).into_iter().find(|one| one.pid == child.id() && wanted(one))
        });
        child.kill().expect("ours");
        child.wait().expect("gone");
        found
    }

    #[test]
    fn processes_with_an_open_file_or_a_working_folder_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let number = mounts::of_path(folder.path()).expect("it lies on something").number;
        let quiet = |words: &[&str], place: &Path| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).current_dir(place);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
        };
        let file = folder.path().canonicalize().expect("it is there").join("a");
        let mut child = quiet(&["sh", "-c", &format!("exec sleep 60 3>{}", file.display())], Path::new("/proc"));
        assert_eq!(found(&mut child, number, |one| one.path == file).map(|one| one.path), Some(file.clone()));
        let mut child = quiet(&["sleep", "60"], folder.path());
        let inside = found(&mut child, number, |one| one.path == file.parent().expect("a folder"));
        assert!(inside.is_some_and(|one| one.to_string().starts_with("sleep (")));
    }
}
