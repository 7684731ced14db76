//! What the tests build on: scratch folders, loop devices that stand for real disks, and the word for a test that needs root.
//! In: nothing. Out: things that clean up after themselves.
//! Every test file uses its own part of it.
#![allow(dead_code)]

use host::{Command, Journal};
use lab::{Contender, Contenders, Ground, LabError, Registry, Where};
use std::path::{Path, PathBuf};

pub const MIB: u64 = 1 << 20;

/// Prints why a test does nothing, and says whether it may go on.
pub fn root() -> bool {
    let lack = prerequisites::lack_of("root");
    lack.iter().for_each(|why| prerequisites::leave_out("root", why));
    lack.is_none()
}

/// Runs a command, which must succeed.
pub fn run(words: &[&str]) -> String {
    Command::new(words.iter().copied()).run(&Journal::new()).unwrap_or_else(|error| panic!("{error}")).stdout
}

/// What a lab is used through.
pub struct Bench {
    pub registry: Registry,
    pub contenders: Contenders,
    pub journal: Journal,
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        let registry = Registry::embedded().expect("the embedded filesystems are good");
        Bench {
            contenders: Contenders::known(&registry).expect("so are the option sets"),
            registry,
            journal: Journal::new(),
            folder: tempfile::tempdir().expect("a scratch folder"),
        }
    }

    pub fn image(&self, mib: u64) -> Where {
        Where::Image { bytes: mib * MIB, folder: self.folder.path().into() }
    }

    pub fn open(&self, place: &Where) -> Result<Ground, LabError> {
        Ground::open(&self.registry, place, &self.journal)
    }

    pub fn contender(&self, name: &str) -> Contender {
        self.contenders.get(name).expect("it is known")
    }
}

/// A loop device that stands for a real disk; it has the by-id name `bakeoff-test-NAME`.
pub struct Disk {
    pub path: PathBuf,
    pub by_id: String,
    link: PathBuf,
    _file: tempfile::NamedTempFile,
}

impl Disk {
    pub fn new(name: &str, mib: u64) -> Disk {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(mib * MIB).expect("sparse");
        let shown = run(&["losetup", "--find", "--show", "--partscan", &file.path().display().to_string()]);
        let path = PathBuf::from(shown.trim());
        let by_id = format!("bakeoff-test-{name}-{}", std::process::id());
        let folder = Path::new("/dev/disk/by-id");
        std::fs::create_dir_all(folder).expect("root may");
        let link = folder.join(&by_id);
        std::os::unix::fs::symlink(&path, &link).expect("a name of its own");
        Disk { path, by_id, link, _file: file }
    }

    pub fn text(&self) -> String {
        self.path.display().to_string()
    }

    pub fn place(&self) -> Where {
        Where::Device { path: self.path.clone(), erase: None }
    }

    pub fn erased(&self) -> Where {
        Where::Device { path: self.path.clone(), erase: Some(self.by_id.clone()) }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.link);
        let _ = Command::new(["losetup", "--detach", &self.text()]).run(&Journal::new());
    }
}

/// A mount that ends with the test.
pub struct Mounted(pub PathBuf);

impl Mounted {
    pub fn new(words: &[&str], point: &Path) -> Mounted {
        std::fs::create_dir_all(point).expect("a mountpoint");
        let point_text = point.display().to_string();
        let all: Vec<&str> = ["mount"].iter().chain(words).copied().chain([point_text.as_str()]).collect();
        run(&all);
        Mounted(point.into())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new(["umount", &self.0.display().to_string()]).run(&Journal::new());
    }
}
