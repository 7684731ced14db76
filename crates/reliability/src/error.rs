//! Errors of tests with a faulty disk or power cuts.

use disk::DiskError;
use staging::StagingError;

/// An error that ends one contender's part.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReliabilityError {
    /// It could not be set up or torn down.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The served disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A step of the work failed on the intact disk.
    #[error("the work failed on the intact disk: {doing}: {why}")]
    Work {
        /// The action.
        doing: String,
        /// The system's error.
        why: String,
    },
    /// The watcher stopped the run.
    #[error("stopped")]
    Stopped,
    /// The process in the virtual machine does not follow the protocol.
    #[error("the inspecting process in the virtual machine {0}")]
    Witness(String),
    /// Virtual machines crash again and again.
    #[error("the kernel of its virtual machine was lost {times} times; the last time: {why}")]
    KernelLost {
        /// How often.
        times: u32,
        /// Cause of the last loss.
        why: String,
    },
    /// It has no image on the served disk.
    #[error("it is not on an image of the served disk")]
    NoImage,
}

/// Adds the action to an error of the system.
pub(crate) fn doing(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> ReliabilityError {
    let what = what.into();
    move |error| ReliabilityError::Work { doing: what, why: error.to_string() }
}
