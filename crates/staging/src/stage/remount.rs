//! A stage whose disk is put into other states while it is unmounted, such as those after a power cut.
//! In: a stage on an image. Out: unmounted, mounted again, and checked, as its filesystem's description defines.

use super::Stage;
use super::daemon::Daemon;
use crate::error::StagingError;
use crate::staged::Staged;
use records::{Cause, Closing};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::Command;
use system::process::Process;

/// Status of a check that found something and repaired it, besides 0.
const MENDED: i32 = 1;

impl Stage<'_> {
    /// The image below it; absent on a real device.
    pub fn image(&self) -> Option<&Path> {
        self.state.image.as_ref().map(|image| image.file.as_path())
    }

    /// The root as this process reaches it, if it is in the mount namespace of the filesystem's own server.
    pub fn seen(&self) -> PathBuf {
        self.state.seen(&self.state.root)
    }

    /// The process that serves the filesystem, if there is one.
    pub fn server(&self) -> Option<Process> {
        self.state.daemon.as_ref().map(Daemon::process)
    }

    /// Runs the recovery that is needed after a crash, before mounting. Returns the time taken.
    pub(crate) fn recover(&self) -> Result<Duration, StagingError> {
        let began = Instant::now();
        if let Some(filesystem) = self.state.filesystem.as_ref().filter(|known| !known.mount.recover.is_empty()) {
            Command::new(self.fill(&filesystem.mount.recover))
                .prefixed(self.enter())
                .limit(self.limits().check())
                .accept(&[0, MENDED])
                .run(&self.target.journal)
                .map_err(StagingError::command(format!("recovering {}", self.state.label)))?;
        }
        Ok(began.elapsed())
    }

    /// Makes the kernel drop what it caches of the devices, which nothing else may have in use.
    pub(crate) fn forget(&self) -> Result<(), StagingError> {
        let way = "power cuts need exclusive mounts: stop the processes that have a copy of them, and try again";
        let held = |held: String| StagingError::failed(&self.state.label, held, way, Cause::Passing);
        self.forget_devices().map(drop).map_err(held)
    }
}

/// A stage whose disk is put into another state while it is unmounted.
pub trait Remountable: Staged {
    /// The result of the filesystem's own check while it is unmounted.
    ///
    /// # Errors
    /// The other end of a remote stage does not answer.
    fn check_unmounted(&mut self) -> Result<Closing, StagingError>;

    /// Closes the layers below the unmounted filesystem, before the state of its disk is changed. [`Staged::mount_state`] opens them again.
    ///
    /// # Errors
    /// One cannot be closed, or the other end of a remote stage does not answer.
    fn close_layers(&mut self) -> Result<(), StagingError>;
}

impl Remountable for Stage<'_> {
    fn check_unmounted(&mut self) -> Result<Closing, StagingError> {
        let mut closing = Closing::default();
        self.check(&mut closing);
        Ok(closing)
    }

    fn close_layers(&mut self) -> Result<(), StagingError> {
        Stage::close_layers(self)
    }
}
