//! A disk that a run has divided into parts, one for each contender.
//! In: a disk that was taken, and its parts. Out: [`Divided`]; every part is checked against it right before it is formatted.
//! The disk stays locked for as long as one of its parts is kept.

use super::{Erasable, same_device};
use crate::devices::parts::{Part, partitions};
use crate::error::StagingError;
use system::block::Number;
use system::{BlockDevice, Loop};

/// A disk in the custody of a run, and the parts that it is divided into.
#[derive(Debug)]
pub(crate) struct Divided {
    pub(super) whole: Erasable,
    parts: Vec<Part>,
}

/// The surroundings of a part.
pub(super) struct Around {
    /// Number of the disk.
    pub number: Number,
    /// The other parts that exist.
    pub others: Vec<BlockDevice>,
}

impl Divided {
    /// A disk whose signatures were removed, and which is no longer held itself: its parts will be.
    ///
    /// # Errors
    /// The kernel shows partitions of it.
    pub fn new(whole: Erasable, parts: Vec<Part>) -> Result<Divided, StagingError> {
        if let Some(old) = partitions(whole.device()).first() {
            return Err(refused(whole.device(), old));
        }
        Ok(Divided { whole, parts })
    }

    /// Checks that the disk is the one that was taken, that it has only the run's partitions, and that this device is the part.
    pub(super) fn around(&self, part: &Part, device: &BlockDevice, loops: &[Loop]) -> Result<Around, StagingError> {
        let disk = same_device(&self.whole.device, &self.whole.identity, loops)?;
        let mut there = partitions(&disk);
        if let Some(other) = there.iter().find(|other| !self.parts.iter().any(|part| part.is(other))) {
            return Err(refused(&disk, other));
        }
        let Some(at) = there.iter().position(|one| one.number == device.number && part.is(one)) else {
            let reason = format!("it is no longer part {} of {}", part.number, disk.path.display());
            return Err(StagingError::refused(
                &device.path,
                reason,
                "another program removed or replaced the partition",
            ));
        };
        there.remove(at);
        Ok(Around { number: disk.number, others: there })
    }
}

fn refused(disk: &BlockDevice, partition: &BlockDevice) -> StagingError {
    let reason = format!("the kernel shows a partition {} that this run did not make", partition.name);
    let way = format!("`partx --delete {}` removes partitions whose table is gone", disk.path.display());
    StagingError::refused(&disk.path, reason, way)
}
