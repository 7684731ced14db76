//! Lower layers of a stage that may explain a failure on it: a device or a server that is gone, an axis that leaves too little, a disk
//! without room for its image.
//! In: a stage on which something failed. Out: the error with the cause instead of its consequence.
//! Decided by the state of device and disk, never by a program's output.

use crate::devices::image::Image;
use crate::error::StagingError;
use crate::stage::Stage;
use crate::stage::target::Where;
use records::Cause;
use rustix::fs::{Mode, OFlags};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use system::{BlockDevice, Journal, presence};

/// How long a killed server may take to disappear.
const DYING: Duration = Duration::from_millis(300);

impl Stage<'_> {
    /// The error of a lower layer; None if nothing is wrong there. `during`: the operation that failed.
    pub fn failed_below(&self, during: &str) -> Option<StagingError> {
        let label = &self.state.label;
        if let Some((device, how)) = self.state.devices().find_map(|device| Some((device, presence::lost(device)?))) {
            return Some(StagingError::Gone {
                device: device.path.clone(),
                during: during.into(),
                how,
                for_good: self.state.image.is_none(),
            });
        }
        if self.server_is_gone() {
            let problem = format!("{during} failed because the process that serves it has ended");
            return Some(StagingError::failed(label, problem, "", Cause::Passing));
        }
        if let Some(lost) = self.lost_servers(&Journal::new()) {
            let problem = format!("{during} failed because a server is lost: {lost}");
            return Some(StagingError::failed(label, problem, "", Cause::Passing));
        }
        if self.is_unmounted() {
            let problem = format!("{during} failed because the filesystem is no longer mounted");
            return Some(StagingError::failed(label, problem, "", Cause::Passing));
        }
        if let Some(why) = self.axes_explain() {
            return Some(StagingError::failed(label, why, "", Cause::Lasting));
        }
        let full = self.state.images().find_map(lacks_room)?;
        Some(StagingError::failed(label, format!("{during} failed while {full}"), "free some space", Cause::Passing))
    }

    /// An error of this stage, with its cause if a lower layer shows it.
    pub(crate) fn explained(&self, error: StagingError, during: &str) -> StagingError {
        match (error.cause(), self.failed_below(during)) {
            (_, Some(gone @ StagingError::Gone { .. })) => gone,
            // If the server is gone, the system's answer proves nothing about the request.
            (cause, Some(below)) if cause == Cause::Unclear || self.server_is_gone() => {
                error.passing(&format!("; {below}"))
            }
            (Cause::Unclear, None) if self.is_held() => error.passing("; something else has the device open"),
            _ => error,
        }
    }

    /// Whether the process that serves the filesystem is gone. Called after a failure: a killed process with many threads may take a moment
    /// to disappear, and its mounts disappear first.
    pub(crate) fn server_is_gone(&self) -> bool {
        let Some(daemon) = &self.state.daemon else { return false };
        let end = Instant::now() + DYING;
        while daemon.lives() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Whether the work folder is gone with the mount that it was on: tools have helpers that mount for them, and some do not report that
    /// such a helper was killed.
    fn is_unmounted(&self) -> bool {
        let state = &self.state;
        let gone = || !state.seen(&state.root).exists() && is_plain_folder(&state.seen(&state.places.mountpoint));
        state.mounted && state.work.is_none() && gone()
    }

    /// Whether another process holds the device; none of our commands does so between two steps.
    pub(crate) fn is_held(&self) -> bool {
        let alone = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        let ours =
            self.state.mounted || self.state.daemon.is_some() || matches!(self.target.place, Where::Directory(_));
        let busy = |device: &BlockDevice| {
            matches!(rustix::fs::open(&device.path, alone, Mode::empty()), Err(rustix::io::Errno::BUSY))
        };
        !ours && self.state.devices().any(busy)
    }
}

/// Whether nothing is mounted on a folder: a tool that removes the work folder to make it anew is another case.
fn is_plain_folder(folder: &Path) -> bool {
    let device = |path: Option<&Path>| path?.metadata().ok().map(|facts| facts.dev());
    device(Some(folder)) == device(folder.parent())
}

/// A sparse image takes up room as it is written; the rest of it may no longer fit.
fn lacks_room(image: &Image) -> Option<String> {
    let folder = image.file.parent()?;
    let facts = image.file.metadata().ok()?;
    let found = rustix::fs::statvfs(folder).ok()?;
    let (free, needed) =
        (found.f_bavail * found.f_frsize, image.device.size_bytes.saturating_sub(facts.blocks() * 512));
    (free < needed).then(|| {
        let (free, needed) = (records::show_bytes(free), records::show_bytes(needed));
        format!("{} had {free} free, and the image may still grow by {needed}", folder.display())
    })
}
