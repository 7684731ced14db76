//! A device that is only read: it may hold data, be mounted, or be in use.
//! In: a device that was found, and the identity that a run recorded. Out: [`Readable`], which nothing can format, and its users in words.

use super::identity::identity;
use super::{find, same_device, users};
use crate::error::StagingError;
use records::custody::{Identity, Promise, Terms};
use std::path::{Path, PathBuf};
use system::{BlockDevice, loops};

/// A device that is only read.
#[derive(Debug)]
pub(crate) struct Readable {
    device: BlockDevice,
    identity: Identity,
    named: PathBuf,
}

impl Readable {
    /// Finds a device with a medium. A resumed run must find the device that it began on.
    pub fn find(path: &Path, terms: &Terms) -> Result<Readable, StagingError> {
        let device = find(path)?;
        if device.size_bytes == 0 {
            return Err(StagingError::refused(path, "it has no medium: its size is 0", ""));
        }
        let promised = terms.promised.iter().find(|promise| promise.named == path).map(|promise| &promise.identity);
        let identity = promised.cloned().unwrap_or_else(|| identity(&device, &loops::loops()));
        let readable = Readable { device, identity, named: path.into() };
        readable.verify()?;
        Ok(readable)
    }

    /// The device.
    pub fn device(&self) -> &BlockDevice {
        &self.device
    }

    /// The identity that a resumed run must find again.
    pub fn promise(&self) -> Promise {
        Promise { named: self.named.clone(), identity: self.identity.clone() }
    }

    /// Whether it is still the same device, and can be read.
    pub fn verify(&self) -> Result<(), StagingError> {
        let now = same_device(&self.device, &self.identity, &loops::loops())?;
        let opened = std::fs::File::open(&now.path);
        opened.map(|_| ()).map_err(|error| {
            let way = "a container or a virtual machine may forbid this: measure an image on this device instead (without --on)";
            StagingError::refused(&now.path, format!("opening it for reading failed: {error}"), way)
        })
    }

    /// What else uses the device, its disk or what is stacked on it, in words.
    pub fn users(&self) -> Vec<String> {
        users::of(&self.device, &loops::loops())
    }
}
