//! Where contenders are staged, as the run loop sees it: two small traits, and the answer of `staging` to them.
//! In: a contender. Out: a directory to work in, with what can be done to it and what was found.
//! Tests put a stand-in here, so that the order of things is tested without touching a device.

use crate::agent::Line;
use crate::watch::Watcher;
use records::{Cause, Closing, ColdStart, Found};
use std::path::PathBuf;
use system::counters::{Evidence, Snapshot, Watch};
use workload::outcome::Ceiling;
use workload::program::Durable;

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
    #[error("stopped as asked")]
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

/// A place where contenders are staged one after the other.
pub trait Venue {
    /// Makes what staging a contender needs and what is kept from trial to trial, such as the image of an aged filesystem;
    /// it may take long, and none of it belongs to the trial.
    fn prepare(&mut self, _contender: usize, _watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        Ok(())
    }
    /// Formats and mounts contender number `contender` of the plan, reads back what was asked, and hands it over.
    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError>;
    /// Commands that were run since the last call.
    fn commands(&mut self) -> Vec<records::CommandRecord>;
}

/// What became of the caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied {
    /// Whether nothing is left that is known of; otherwise the start is warm, and is called so.
    pub complete: bool,
    /// How it was done, and what shows it.
    pub start: ColdStart,
}

/// A contender, staged.
pub trait Staged {
    /// Directory in which to work; the block device for the raw one.
    fn root(&self) -> PathBuf;
    /// Block device for phases over the raw device; `None` where there is none to read.
    fn device(&self) -> Option<PathBuf>;
    /// Words to put before the engine's command.
    fn enter(&self) -> Vec<String>;
    /// What makes data safe here.
    fn durable(&self) -> Durable;
    /// The line to an engine that was started elsewhere, in a guest; `None` where it is a process beside this one.
    fn engine(&mut self) -> Result<Option<Line>, VenueError> {
        Ok(None)
    }
    /// Where the ceiling of another machine than this one is kept, in a guest; `None` where this machine's applies.
    fn own_ceiling(&mut self) -> Option<&mut Option<Ceiling>> {
        None
    }
    /// Devices to count.
    fn watch(&self) -> Watch;
    /// Looks at the counters before a pass, wherever the work runs.
    fn look(&mut self) -> Result<Snapshot, VenueError> {
        Ok(Snapshot::take())
    }
    /// What they counted since.
    fn since(&mut self, before: &Snapshot) -> Result<Evidence, VenueError> {
        Ok(Snapshot::take().since(before, &self.watch()))
    }
    /// Free bytes and free inodes, where they can be told.
    fn room(&self) -> (Option<u64>, Option<u64>);
    /// Bytes and inodes that the filesystem has given away, where they can be told.
    fn used(&self) -> (Option<u64>, Option<u64>) {
        (None, None)
    }
    /// Options, durability class, sizes and times as found.
    fn found(&self) -> Found;
    /// Remarks that belong beside every figure.
    fn remarks(&self) -> Vec<String>;
    /// Syncs the filesystem.
    fn sync(&mut self) -> Result<(), VenueError>;
    /// Empties caches for a cold start, by the way that is asked for as far as it can be gone here.
    fn empty_caches(&mut self) -> Result<Emptied, VenueError>;
    /// Waits until the device is idle.
    fn settle(&mut self) -> Result<(), VenueError>;
    /// What lies beneath and explains a failure better than its consequence does: a device that is gone, a disk without room.
    fn beneath(&mut self, _during: &str) -> Option<VenueError> {
        None
    }
    /// Unmounts and checks; what was found.
    fn close(self: Box<Self>) -> Result<Closing, VenueError>;
}
