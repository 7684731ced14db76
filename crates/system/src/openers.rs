//! Processes that have a device or a file open, by whatever name.
//! In: device numbers and files. Out: [`Opener`]s, from /proc/PID/fd and /proc/PID/maps.
//! Files on network filesystems are skipped: inspecting one on a dead server could hang, and no local disk holds them.

use crate::block::Number;
use crate::loops::{FileId, Target};
use crate::{mounts, process};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Filesystems that query a server even for an open file.
const REMOTE: [&str; 12] =
    ["nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "coda", "lustre", "orangefs", "ocfs2", "gfs2"];

/// Flags of open(2) that allow writing: O_WRONLY and O_RDWR.
const WRITING: u32 = 0o3;

/// One open file of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    /// The process.
    pub pid: u32,
    /// Its program's name.
    pub program: String,
    /// What it has open.
    pub target: Target,
    /// Its name, as that process sees it.
    pub path: PathBuf,
    /// Whether it can write there.
    pub writes: bool,
}

/// Devices and files to search for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Block devices.
    pub devices: BTreeSet<Number>,
    /// Regular files.
    pub files: BTreeSet<FileId>,
}

impl Wanted {
    fn holds(&self, target: &Target) -> bool {
        match target {
            Target::Block(number) => self.devices.contains(number),
            Target::File(file) => self.files.contains(file),
            Target::Other => false,
        }
    }
}

/// Every other process that has one of these open, or mapped for writing.
pub fn openers(wanted: &Wanted) -> Vec<Opener> {
    process::ids()
        .into_iter()
        .filter(|pid| *pid != std::process::id())
        .flat_map(|pid| of_process(pid, wanted))
        .collect()
}

fn of_process(pid: u32, wanted: &Wanted) -> Vec<Opener> {
    let remote: BTreeMap<u32, (bool, Number)> = mounts::of_process(pid)
        .into_iter()
        .map(|mount| (mount.id, (REMOTE.contains(&mount.kind.as_str()), mount.number)))
        .collect();
    let root = PathBuf::from(format!("/proc/{pid}"));
    let mut found = opened(&root, pid, &remote, wanted);
    if found.is_empty() {
        // A thread may have its own descriptor table; and the first thread may have ended while others hold files.
        let shared = links(&root);
        let threads = entries(&root.join("task")).into_iter().filter(|thread| links(thread) != shared);
        found = threads.flat_map(|thread| opened(&thread, pid, &remote, wanted)).collect();
    }
    found.extend(mapped(&root, pid, &remote, wanted));
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// The open files of a process or thread, by name: equal for threads that share their descriptor table.
fn links(process: &Path) -> BTreeMap<PathBuf, PathBuf> {
    let link = |entry: PathBuf| Some((entry.file_name()?.into(), std::fs::read_link(&entry).ok()?));
    entries(&process.join("fd")).into_iter().filter_map(link).collect()
}

/// By descriptor. `process` is /proc/PID, or /proc/PID/task/TID.
fn opened(process: &Path, pid: u32, mounts: &BTreeMap<u32, (bool, Number)>, wanted: &Wanted) -> Vec<Opener> {
    let of = |link: PathBuf| {
        let path = std::fs::read_link(&link).ok().filter(|path| path.is_absolute())?;
        let info = crate::text(process.join("fdinfo").join(link.file_name()?))?;
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let mount: Option<u32> = field("mnt_id:").and_then(|id| id.parse().ok());
        if mount.and_then(|id| mounts.get(&id)).is_some_and(|(remote, _)| *remote) {
            return None;
        }
        let target = Target::of(&link).filter(|target| wanted.holds(target))?;
        let flags = field("flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok()).unwrap_or(WRITING);
        Some(Opener { pid, program: program(pid), target, path, writes: flags & WRITING != 0 })
    };
    entries(&process.join("fd")).into_iter().filter_map(of).collect()
}

/// By a shared writable mapping, which outlives its descriptor.
fn mapped(process: &Path, pid: u32, mounts: &BTreeMap<u32, (bool, Number)>, wanted: &Wanted) -> Vec<Opener> {
    let maps = crate::text(process.join("maps")).unwrap_or_default();
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (range, rights, device, path) = (words.first()?, words.get(1)?, words.get(3)?, words.get(5)?);
        if !(rights.contains('w') && rights.ends_with('s') && path.starts_with('/')) {
            return None;
        }
        let (major, minor) = device.split_once(':')?;
        let hex = |text: &str| u32::from_str_radix(text, 16).ok();
        let number = Number { major: hex(major)?, minor: hex(minor)? };
        if mounts.values().any(|(remote, known)| *remote && *known == number) {
            return None;
        }
        let target = Target::of(&process.join("map_files").join(range)).filter(|target| wanted.holds(target))?;
        Some(Opener { pid, program: program(pid), target, path: PathBuf::from(path), writes: true })
    };
    maps.lines().filter_map(of).collect()
}

fn program(pid: u32) -> String {
    crate::text(format!("/proc/{pid}/comm")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_process_has_open_is_found_by_its_identity() {
        let folder = tempfile::tempdir().expect("a folder");
        let (name, other) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&name, "x").expect("written");
        std::fs::hard_link(&name, &other).expect("linked");
        let Some(Target::File(file)) = Target::of(&other) else { panic!("it is a file") };
        let wanted = Wanted { files: [file].into(), ..Wanted::default() };
        assert_eq!(openers(&wanted), []);
        let script = format!("exec sleep 60 3<>{}", name.display());
        let mut child = std::process::Command::new("sh").args(["-c", &script]).spawn().expect("started");
        let found = (0..200).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            openers(&wanted).into_iter().next()
        });
        child.kill().expect("ours");
        child.wait().expect("gone");
        let found = found.expect("it was open");
        assert_eq!((found.pid, found.writes, found.path), (child.id(), true, name));
    }
}
