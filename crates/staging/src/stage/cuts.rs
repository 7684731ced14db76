//! A stage whose disk is put into other states while it is unmounted, as a power cut leaves it.
//! In: a stage on an image. Out: unmounted, mounted again, and checked, by what its filesystem's file says.

use super::{BUSY_LIMIT, LOOK, Stage};
use crate::error::StagingError;
use records::{Cause, Closing};
use std::path::Path;
use std::time::{Duration, Instant};

impl Stage<'_> {
    /// The image below it; absent on a real device.
    pub fn image(&self) -> Option<&Path> {
        self.state.image.as_ref().map(|image| image.file.as_path())
    }

    /// Unmounts, and leaves everything else as it is. A process that copied this mount namespace keeps the filesystem, and mounting again would show
    /// what the kernel remembers of it: so it is waited for.
    ///
    /// # Errors
    /// What unmounting answered, or who keeps it.
    pub fn unmount_only(&mut self) -> Result<(), StagingError> {
        self.take_off()?;
        let began = Instant::now();
        while self.is_held() {
            if began.elapsed() > BUSY_LIMIT {
                let holder = self.holder_after_unmount().unwrap_or_else(|| "somebody held it too long".into());
                let way =
                    "power cuts need this machine's mounts for themselves: end what has copied them, and try again";
                return Err(StagingError::failed(&self.state.label, holder, way, Cause::Passing));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Mounts what [`Stage::unmount_only`] unmounted, whatever stands on the device by now. How long it took.
    ///
    /// # Errors
    /// What mounting answered.
    pub fn mount_state(&mut self) -> Result<Duration, StagingError> {
        if let Some(device) = &self.state.device {
            let doing = |error: std::io::Error| StagingError::file("forget the pages of", &device.path, error);
            let open = std::fs::File::open(&device.path).map_err(doing)?;
            system::calls::flush_buffers(&open).map_err(doing)?;
        }
        self.put_back()
    }

    /// What the filesystem's own check says of it, unmounted.
    pub fn check_unmounted(&self) -> Closing {
        let mut closing = Closing::default();
        self.check(&mut closing);
        closing
    }
}
