//! What can go wrong with a contender whose disk is harmed.

use disk::DiskError;
use staging::StagingError;

/// An error that ends one contender's part.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReliabilityError {
    /// It could not be set up, or not be taken down.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The served disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A step of the work failed on the whole disk.
    #[error("the work failed on the intact disk: {doing}: {why}")]
    Work {
        /// What was being done.
        doing: String,
        /// What the system answered.
        why: String,
    },
    /// Whoever watched wanted no more.
    #[error("stopped")]
    Stopped,
    /// Whoever works in a virtual machine does not do what it is told.
    #[error("the inspecting process in the virtual machine {0}")]
    Witness(String),
    /// Virtual machines are lost again and again.
    #[error("the kernel of its virtual machine was lost {times} times; the last time: {why}")]
    KernelLost {
        /// How often.
        times: u32,
        /// What was said of the last.
        why: String,
    },
    /// It has no image on the served disk.
    #[error("it is not on an image of the served disk")]
    NoImage,
}

/// Puts what was being done before an error of the system.
pub(crate) fn doing(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> ReliabilityError {
    let what = what.into();
    move |error| ReliabilityError::Work { doing: what, why: error.to_string() }
}
