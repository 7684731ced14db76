//! Where contenders are staged one after the other, as the run loop sees it.
//! In: a contender. Out: a stage ([`staging::Staged`]), with errors sorted by what they stop.
//! Tests put a stand-in here, so that the order of things is tested without touching a device.

use crate::agent::AgentError;
use crate::watch::Watcher;
use records::Cause;
use staging::{Staged, StagingError};

/// A contender could not be staged, or something failed on its ground.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VenueError {
    /// Something that concerns this contender or this trial only: the others go on.
    #[error("{reason}")]
    Contender {
        /// What was being done, and what was answered.
        reason: String,
        /// Whether it may work the next time.
        cause: Cause,
    },
    /// The ground itself is lost (custody refused, device gone): the run ends.
    #[error("{0}")]
    Ground(String),
    /// The user asked to stop.
    #[error("stopped on request")]
    Stopped,
}

impl VenueError {
    /// An error that lasts: what was asked for cannot be.
    pub fn lasting(reason: impl Into<String>) -> Self {
        Self::Contender { reason: reason.into(), cause: Cause::Lasting }
    }

    /// An error that may be gone the next time.
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
    /// Trials of a workload (by its number in the plan) in a block come next. Where contenders have places of their own that differ, this is when they
    /// change them.
    fn begins(&mut self, _block: u32, _work: usize) {}
    /// Makes what staging a contender needs and what is kept from trial to trial, such as the image of an aged filesystem;
    /// it may take long, and none of it belongs to the trial.
    fn prepare(&mut self, _contender: usize, _watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        Ok(())
    }
    /// Formats and mounts contender number `contender` of the plan, reads back what was asked, and hands it over.
    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError>;
    /// A venue for each contender of the plan, in their order: these can be used at the same time. None where contenders share a place.
    fn apart(&mut self) -> Option<Vec<&mut dyn Venue>> {
        None
    }
    /// Commands that were run since the last call.
    fn commands(&mut self) -> Vec<records::CommandRecord>;
}
