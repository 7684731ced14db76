//! A stage whose disk is put into other states while it is unmounted, as a power cut leaves it.
//! In: a stage on an image. Out: unmounted, mounted again, and checked, by what its filesystem's file says.

use super::Stage;
use super::daemon::Daemon;
use crate::error::StagingError;
use records::{Cause, Closing};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::process::Process;

impl Stage<'_> {
    /// The image below it; absent on a real device.
    pub fn image(&self) -> Option<&Path> {
        self.state.image.as_ref().map(|image| image.file.as_path())
    }

    /// The root as this process reaches it, where it lies in the mount namespace of a filesystem's own server.
    pub fn seen(&self) -> PathBuf {
        self.state.seen(&self.state.root)
    }

    /// The process that serves the filesystem, where it has one of its own.
    pub fn server(&self) -> Option<Process> {
        self.state.daemon.as_ref().map(Daemon::process)
    }

    /// Unmounts, and leaves everything else as it is. A process that copied this mount namespace keeps the filesystem, and mounting again would show
    /// what the kernel remembers of it: so it is waited for.
    ///
    /// # Errors
    /// What unmounting answered, or that somebody keeps it.
    pub fn unmount_only(&mut self) -> Result<(), StagingError> {
        self.take_off()?;
        self.forget()
    }

    /// Mounts what [`Stage::unmount_only`] unmounted, whatever stands on the device by now. How long it took.
    ///
    /// # Errors
    /// What mounting answered, or that somebody keeps it.
    pub fn mount_state(&mut self) -> Result<Duration, StagingError> {
        self.forget()?;
        self.put_back()
    }

    /// Has the kernel forget what it remembers of the devices, which nobody else may have in use.
    fn forget(&self) -> Result<(), StagingError> {
        let way = "power cuts need this machine's mounts for themselves: end what has copied them, and try again";
        let held = |held: String| StagingError::failed(&self.state.label, held, way, Cause::Passing);
        self.forget_devices().map(drop).map_err(held)
    }

    /// What the filesystem's own check says of it, unmounted.
    pub fn check_unmounted(&self) -> Closing {
        let mut closing = Closing::default();
        self.check(&mut closing);
        closing
    }
}
