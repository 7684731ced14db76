//! A plain directory as target: the filesystem mounted there, as it is, also without root.
//! In: a directory that exists. Out: a stage in a folder of its own within it, which is removed at the end.
//! What is not possible there is noted with the results.

use crate::error::StagingError;
use crate::filesystems::template::Placeholders;
use crate::ownership::cleanup_journal::Made;
use crate::stage::prepared::{Prepared, Request};
use crate::stage::recipe::Source;
use crate::stage::target::{Target, Where};
use crate::stage::{Stage, State, usage};
use records::Contender;
use records::Durability;
use records::program::{Durable, Inode};
use rustix::fd::OwnedFd;
use rustix::fs::{self, Mode, OFlags};
use std::path::{Path, PathBuf};
use system::{BlockDevice, Sysfs as _, mounts};

/// Refuses a path that is no directory, or cannot be written to.
pub(crate) fn writable(path: &Path) -> Result<(), StagingError> {
    let facts = std::fs::metadata(path).map_err(|error| StagingError::file("look at", path, error))?;
    if !facts.is_dir() {
        return Err(StagingError::file("work in", path, "it is not a directory (for a device use --on)"));
    }
    let allowed = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(path, allowed).map_err(|error| StagingError::File {
        doing: "write to",
        path: path.into(),
        error: error.to_string(),
        way_out: "name a directory that you can write to, or run with sudo".into(),
        cause: system::cause::of_errno(error),
    })
}

/// In a directory only the directory itself can compete.
pub(crate) fn fits(contender: &Contender, path: &Path) -> Result<(), StagingError> {
    writable(path)?;
    if contender.filesystem == crate::DIRECTORY {
        return Ok(());
    }
    let problem = format!("{} cannot be set up in the directory {}", contender.filesystem, path.display());
    Err(StagingError::contender(&contender.label, problem, "name a device with --on, or an image with --image"))
}

impl Target {
    pub(crate) fn stage_directory(&mut self, contender: &Contender) -> Result<Stage<'_>, StagingError> {
        let Where::Directory(directory) = self.place.clone() else {
            return Err(StagingError::contender(&contender.label, "this target is not a directory", ""));
        };
        fits(contender, &directory)?;
        let directory = directory.canonicalize().map_err(|error| StagingError::file("look at", &directory, error))?;
        let root = directory.join(format!("bakeoff-{}-work", self.mark.id()));
        self.mark.will_make(Made::Work { path: root.clone() })?;
        let folder = made(&directory, &root)?;
        let device = BlockDevice::under(&root);
        let state = directory_state(contender, &directory, root, device, self.mark.label());
        let mut stage = Stage { target: self, state };
        stage.state.work_folder = Some(folder);
        stage.describe_directory(contender, &directory)?;
        let asked = Request { contender, filesystem: None, kept: None };
        Prepared::begun(stage).follow(Source::Directory, asked)
    }
}

/// Makes the work folder and keeps it open. What another user may have put in its place is refused, unless it is an empty folder.
fn made(directory: &Path, root: &Path) -> Result<OwnedFd, StagingError> {
    let failed = |error: rustix::io::Errno| StagingError::file("make", root, error);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = root.file_name().unwrap_or_default();
    let parent = fs::open(directory, flags, Mode::empty()).map_err(failed)?;
    fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)).map_err(failed)?;
    let folder = fs::openat(&parent, name, flags, Mode::empty()).map_err(failed)?;
    let entries = fs::Dir::read_from(&folder).map_err(failed)?;
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if ![&b"."[..], b".."].contains(&entry.file_name().to_bytes()) {
            let problem = "it is not empty: another process has replaced the folder";
            return Err(StagingError::file("work in", root, problem));
        }
    }
    Ok(folder)
}

/// Device and number of an open folder.
pub(crate) fn inode(folder: &OwnedFd) -> Result<Inode, rustix::io::Errno> {
    fs::fstat(folder).map(|facts| Inode { device: facts.st_dev, number: facts.st_ino })
}

fn directory_state(
    contender: &Contender,
    directory: &Path,
    root: PathBuf,
    device: Option<BlockDevice>,
    label: String,
) -> State {
    let node = device.as_ref().map(|device| device.path.clone()).unwrap_or_default();
    // Without root, and in some containers with it, the device cannot be opened.
    let can_flush = !node.as_os_str().is_empty() && std::fs::File::open(&node).is_ok();
    let places = Placeholders {
        device: node.clone(),
        name: device.as_ref().map(|device| device.name.clone()).unwrap_or_default(),
        mountpoint: directory.into(),
        label,
        ..Placeholders::default()
    };
    let mut state = State::begun(&contender.label, root, device, places);
    let flush = if can_flush { vec![node] } else { Vec::new() };
    state.durable = Durable { syncfs: true, command: Vec::new(), flush };
    state
}

impl Stage<'_> {
    fn describe_directory(&mut self, contender: &Contender, directory: &Path) -> Result<(), StagingError> {
        self.state.work = Some(self.state.root.clone());
        let root = system::process::is_root();
        if let Some(mount) = mounts::of_path(directory) {
            self.state.found.filesystem = mount.kind.clone();
            self.state.found.mount_options = mount.options;
            self.state.found.super_options = mount.super_options;
        }
        self.state.found.empty = usage(&self.state.root)?;
        self.state.found.durability = self.directory_durability();
        let mut remarks = vec![
            "measured in a directory of an existing filesystem: its age, fill and other users affect the figures"
                .to_string(),
        ];
        if !contender.mkfs.is_empty() || !contender.mount.is_empty() || contender.scheduler.is_some() {
            remarks.push("in a directory, mkfs options, mount options and the scheduler stay unchanged".into());
        }
        if !root {
            remarks.push("without root, caches cannot be dropped: cold phases start warm".into());
            remarks.push(
                "without root, the device's cache cannot be flushed on its own; durable means after syncfs".into(),
            );
        }
        if self.state.device.is_none() {
            remarks.push("the device's I/O is unknown: the directory is on no device of this kernel".into());
        }
        self.state.found.cold_possible = root;
        self.state.found.remarks.extend(remarks);
        Ok(())
    }

    /// From the facts of a known filesystem; unknown if its tools cannot inspect it, since a partial answer would mislead.
    fn directory_durability(&mut self) -> Durability {
        let kind = self.state.found.filesystem.clone();
        let Some(filesystem) = self.target.registry.get(&kind).ok().cloned() else {
            return Durability::unknown();
        };
        if !system::process::is_root() || self.state.device.is_none() {
            return Durability::unknown();
        }
        // The mount belongs to others: it is only inspected, and a tool that fails does no harm.
        for (name, command) in self.state.commands_of(&filesystem).inspect() {
            match command.run(&self.target.journal) {
                Ok(answer) => self.state.found.inspected.insert(name, answer.stdout),
                Err(_) => return Durability::unknown(),
            };
        }
        for path in self.state.places.fill(&filesystem.mount.shown, &[]) {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            self.state.found.more_options.extend(text.lines().map(|line| line.trim().to_string()));
        }
        self.durability(&filesystem)
    }
}
