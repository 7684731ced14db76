//! Where a contender runs while its power is cut: on this machine, or in a virtual machine with another kernel.
//! In: a stage on a served disk. Out: work done there, and what is found in the states after a cut.

use super::campaign::Work;
use super::hands::{self, Hands, Marker, Question, Seen};
use super::in_guest::InGuest;
use crate::error::ReliabilityError;
use crate::kernel_log;
use records::Closing;
use staging::{Remote, Remountable, Serial, Stage, Staged, StagingError};
use std::path::PathBuf;
use std::time::Duration;

/// Lines of the kernel's log kept for a state that could not be mounted.
const KERNEL_LINES: usize = 6;

/// The place of a contender during power cuts.
pub struct Ground<'g>(Box<dyn Place + 'g>);

impl<'g> Ground<'g> {
    /// On this machine.
    pub fn here(stage: &'g mut Stage<'_>) -> Ground<'g> {
        Ground(Box::new(Here { stage, hands: None }))
    }

    /// In a virtual machine: a state that crashes its kernel costs a boot.
    pub fn in_guest(remote: Remote<Serial<'g>>) -> Ground<'g> {
        Ground(Box::new(InGuest::of(remote)))
    }

    pub(crate) fn place(&mut self) -> &mut dyn Place {
        self.0.as_mut()
    }
}

/// Outcome of a state.
#[derive(Debug)]
pub(crate) enum AfterCut {
    /// It was mounted: duration of the mount, findings, and the check's result, if it ran.
    Mounted { took: Duration, seen: Seen, check: Option<Box<Closing>> },
    /// Mounting failed, with this error.
    Refused(String),
    /// The kernel crashed or hangs.
    Lost(String),
}

/// Operations of a place.
pub(crate) trait Place {
    /// The stage, for mounting and unmounting.
    fn stage(&mut self) -> &mut dyn Remountable;
    /// Its image, as a file of this machine.
    fn image(&self) -> Option<PathBuf>;
    /// Writes and syncs the initial files, before the power may fail.
    fn set_up(&mut self, work: &Work, seed: u64) -> Result<(), ReliabilityError>;
    /// Does the work; returns a program's lines.
    fn work(&mut self, marker: &mut dyn Marker) -> Result<Vec<String>, ReliabilityError>;
    /// Mounts the disk's present state, inspects it, unmounts, and runs the check.
    fn state(&mut self, question: &Question, check: bool) -> Result<AfterCut, ReliabilityError>;
    /// Continues after the kernel was lost.
    fn begin_again(&mut self) -> Result<(), ReliabilityError>;

    /// The kernel that mounts it.
    fn kernel(&mut self) -> String {
        self.stage().machine().unwrap_or_else(crate::kernel)
    }

    fn unmount(&mut self) -> Result<(), ReliabilityError> {
        self.stage().unmount_only()?;
        Ok(self.stage().close_layers()?)
    }
}

/// On this machine, in this process.
struct Here<'g, 's> {
    stage: &'g mut Stage<'s>,
    hands: Option<Hands>,
}

impl Here<'_, '_> {
    /// An error of mounting, with the kernel's messages about the device.
    fn refused(&self, error: &StagingError, since: f64) -> String {
        let name = self.stage.device().map(|device| device.name.clone()).unwrap_or_default();
        kernel_log::explaining(&kernel_log::words_of(&name, since, KERNEL_LINES), error)
    }
}

impl Place for Here<'_, '_> {
    fn stage(&mut self) -> &mut dyn Remountable {
        self.stage
    }

    fn image(&self) -> Option<PathBuf> {
        self.stage.image().map(PathBuf::from)
    }

    fn set_up(&mut self, work: &Work, seed: u64) -> Result<(), ReliabilityError> {
        self.hands = Some(Hands::set_up(work, &self.stage.seen(), seed)?);
        Ok(self.stage.sync()?)
    }

    fn work(&mut self, marker: &mut dyn Marker) -> Result<Vec<String>, ReliabilityError> {
        self.hands.as_mut().map_or_else(|| Ok(Vec::new()), |hands| hands.work(marker))
    }

    fn state(&mut self, question: &Question, check: bool) -> Result<AfterCut, ReliabilityError> {
        let since = kernel_log::now();
        let took = match self.stage.mount_state() {
            Ok(took) => took,
            Err(error) => return Ok(AfterCut::Refused(self.refused(&error, since))),
        };
        let seen = hands::look(&self.stage.seen(), question);
        self.stage.unmount_only()?;
        let check = check.then(|| self.stage.check_unmounted()).transpose()?.map(Box::new);
        Ok(AfterCut::Mounted { took, seen, check })
    }

    fn begin_again(&mut self) -> Result<(), ReliabilityError> {
        Ok(())
    }
}
