//! Where contenders are staged one after the other, as the run loop sees it.
//! In: a contender. Out: a stage ([`staging::Staged`]), with errors classified by what they stop.
//! Tests use a stand-in, so that the order of operations is tested without touching a device.

use crate::agent::AgentError;
use crate::watch::Watcher;
use records::Cause;
use staging::{Staged, StagingError};

/// A contender could not be staged, or something failed on its stage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VenueError {
    /// An error of this contender or this trial only: the others continue.
    #[error("{reason}")]
    Contender {
        /// The operation, and the error text.
        reason: String,
        /// Whether a retry may succeed.
        cause: Cause,
    },
    /// The device itself is lost (custody refused, device gone): the run ends.
    #[error("{0}")]
    Ground(String),
    /// The user asked to stop.
    #[error("stopped on request")]
    Stopped,
}

impl VenueError {
    /// A permanent error: the request cannot be met.
    pub fn lasting(reason: impl Into<String>) -> Self {
        Self::Contender { reason: reason.into(), cause: Cause::Lasting }
    }

    /// A temporary error.
    pub fn passing(reason: impl Into<String>) -> Self {
        Self::Contender { reason: reason.into(), cause: Cause::Passing }
    }
}

impl From<StagingError> for VenueError {
    fn from(error: StagingError) -> Self {
        let reason = error.to_string();
        if error.is_of_target() {
            return Self::Ground(reason);
        }
        Self::Contender { reason, cause: error.cause() }
    }
}

impl From<AgentError> for VenueError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Stopped => Self::Stopped,
            other => Self::Contender { reason: other.to_string(), cause: other.cause() },
        }
    }
}

/// A place where contenders are staged one after the other.
pub trait Venue {
    /// Announces the next trials: of a workload (by its number in the plan) in a round. Contenders with separate places swap them at this point.
    fn begins(&mut self, _block: u32, _work: usize) {}
    /// Makes what staging a contender needs and what is kept from trial to trial, such as the image of an aged filesystem; it may take long,
    /// and is not part of the trial.
    fn prepare(&mut self, _contender: usize, _watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        Ok(())
    }
    /// Formats and mounts contender number `contender` of the plan, reads its options back, and returns its stage.
    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError>;
    /// A venue for each contender of the plan, in their order, usable at the same time. None if contenders share a place.
    fn apart(&mut self) -> Option<Vec<&mut dyn Venue>> {
        None
    }
    /// Commands that were run since the last call.
    fn commands(&mut self) -> Vec<records::CommandRecord>;
}
