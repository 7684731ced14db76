//! A folder whose files are disks that Bakeoff serves itself, as a place for images: requests to a disk can be recorded, and the state that
//! a power cut leaves can be served in its place.
//! In: the capacity, and the disk to imitate. Out: [`ServedFolder`], a scratch folder like any other while it exists.

use crate::error::StagingError;
use crate::ownership::cleanup_journal::{Made, Mark};
use crate::ownership::owned::remove_empty;
use disk::{Disk, DiskError, Lateness, PathCost};
use records::Cause;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use system::process::Process;
use system::{Command, Journal};

/// The running program, even if its file was replaced or removed; and its verb that calls [`disk::serve`].
const PROGRAM: &str = "/proc/self/exe";
const VERB: &str = "serve-disk";
/// Mount point, in the folder of the mark.
const POINT: &str = "disk";

/// How the disks of a served folder answer.
#[derive(Debug, Clone, Copy, Default)]
pub enum Serving<'a> {
    /// As fast as possible.
    #[default]
    Plain,
    /// As fast as possible, on the same path through the server as a modelled disk: for measuring that path.
    OnModelsWay,
    /// Like the disk of this name or description file; each request is answered earlier by the cost of its round trip.
    Modelled(&'a str, PathCost),
}

impl Serving<'_> {
    /// Arguments of the serving command.
    fn words(self) -> Result<Vec<String>, StagingError> {
        Ok(match self {
            Serving::Plain => Vec::new(),
            Serving::OnModelsWay => vec!["--on-models-way".into()],
            Serving::Modelled(model, path) => {
                let cost = serde_json::to_string(&path).map_err(|error| failed(&DiskError::Lost(error.to_string())))?;
                vec!["--model".into(), model.into(), "--path-cost".into(), cost]
            }
        })
    }
}

/// A served folder. Its server and its content end with it.
#[derive(Debug)]
pub struct ServedFolder {
    disk: Option<Disk>,
    mark: Mark,
    journal: Journal,
    point: PathBuf,
}

impl ServedFolder {
    /// Starts a process that serves a folder of `room` bytes from memory.
    ///
    /// # Errors
    /// No root, no FUSE in this kernel, or an error of the serving process.
    pub fn open(room: u64, serving: Serving<'_>, journal: &Journal) -> Result<ServedFolder, StagingError> {
        if !system::process::is_root() {
            return Err(StagingError::NeedsRoot("serving a disk".into()));
        }
        let mut mark = Mark::new(false)?;
        let folder = mark.folder();
        let point = folder.join(POINT);
        mark.will_make(Made::Folder { path: folder })?;
        std::fs::create_dir_all(&point).map_err(|error| StagingError::file("make", &point, error))?;
        let mut served = ServedFolder { disk: None, mark, journal: journal.clone(), point };
        let mut command = std::process::Command::new(PROGRAM);
        command.arg(VERB).arg(&served.point).arg(room.to_string());
        command.args(serving.words()?);
        if let Some(origin) = system::own_mounts::origin() {
            command.arg("--goes-on-in").arg(origin);
        }
        // `clean` finds a process that outlived its run by this variable. A process group of its own protects it from Ctrl-C.
        command.env(system::process::OWNER_VARIABLE, Process::current().to_string()).process_group(0);
        let disk = Disk::start(&mut command).map_err(|error| not_served(&error))?;
        let process = Process::of(disk.process());
        served.disk = Some(disk);
        if let Some(process) = process {
            served.mark.will_make(Made::Daemon { process })?;
        }
        Ok(served)
    }

    /// The folder for images.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// The disks in it.
    pub fn disk(&mut self) -> Option<&mut Disk> {
        self.disk.as_mut()
    }

    /// How late its modelled disk was over all requests so far.
    ///
    /// # Errors
    /// The process that serves is gone.
    pub fn lateness(&mut self) -> Result<Lateness, StagingError> {
        let disk = self.disk.as_mut().ok_or_else(|| failed(&DiskError::Lost("it has ended".into())))?;
        disk.lateness().map_err(|error| failed(&error))
    }

    /// Unmounts the folder and ends the process; everything in it is gone.
    ///
    /// # Errors
    /// Something in it is still in use.
    pub fn close(mut self) -> Result<(), StagingError> {
        let left = |why: String| StagingError::LeftBehind(format!("the served disk: {why}"));
        // The server has left this mount namespace, so its folder must be unmounted here.
        let unmounted = match system::own_mounts::origin() {
            Some(_) => Command::new(["umount", &self.point.display().to_string()]).run(&self.journal).map(drop),
            None => Ok(()),
        };
        let ended = self.disk.take().map_or(Ok(()), Disk::end);
        self.leave();
        unmounted.map_err(|error| left(error.to_string()))?;
        ended.map_err(|error| left(error.to_string()))
    }

    /// Removes what is left, whether or not the process still runs.
    fn leave(&mut self) {
        // The server ends once its input is closed.
        drop(self.disk.take());
        let ours = |mount: &system::mounts::Mount| mount.point == self.point;
        if system::mounts::here().iter().any(ours) {
            // A dead mount can only be detached lazily. What cannot be removed now is retried by the next start.
            let _ = Command::new(["umount", "--lazy", &self.point.display().to_string()]).run(&self.journal);
        }
        self.mark.removed(|made| matches!(made, Made::Daemon { .. }));
        if remove_empty(&self.mark.folder()) {
            self.mark.removed(|made| matches!(made, Made::Folder { .. }));
        }
    }
}

impl Drop for ServedFolder {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A served disk that was lost, or whose server sends invalid replies.
fn failed(error: &DiskError) -> StagingError {
    StagingError::failed("the served disk", error.to_string(), "", Cause::Unclear)
}

/// A disk whose server does not start. Only then can root or FUSE be missing.
fn not_served(error: &DiskError) -> StagingError {
    let way = "serving a disk needs root, FUSE in the kernel (`modprobe fuse`) and /dev/fuse";
    let way = if matches!(error, DiskError::Lost(_)) { way } else { "" };
    StagingError::failed("the served disk", error.to_string(), way, Cause::Unclear)
}
