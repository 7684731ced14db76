//! Power cuts of a contender in a virtual machine: the disk is served here; all work and inspection happens there.
//! In: a stage in a guest. Out: replies of its witness. A guest that crashes is booted again.

use super::campaign::Work;
use super::ground::{AfterCut, Place};
use super::hands::{Marker, Question};
use crate::error::ReliabilityError;
use crate::witness::{Guest, Order, Reply};
use staging::{Remote, Remountable, Serial, Staged, StagingError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for each mount, inspection, unmount or check of a state there: a kernel that takes longer hangs.
const STATE_LIMIT: Duration = Duration::from_secs(300);

/// Most attempts to boot another guest: a busy machine may not boot one in time.
const BOOTS: u32 = 3;

/// A guest.
pub(crate) struct InGuest<'g>(Guest<'g>);

impl<'g> InGuest<'g> {
    pub fn of(remote: Remote<Serial<'g>>) -> InGuest<'g> {
        InGuest(Guest::of(remote))
    }

    /// An error of mounting, with the messages of the kernel there; or the loss of that kernel.
    fn refused(&mut self, error: &StagingError, since: f64) -> AfterCut {
        if self.0.remote.is_lost() {
            return AfterCut::Lost(error.to_string());
        }
        let note = self.0.witness().and_then(|witness| witness.kernel_words(since)).unwrap_or_default();
        AfterCut::Refused(crate::kernel_log::explaining(&note, error))
    }

    /// Any error is the guest's: the disk was put into its state before.
    fn looked_at(&mut self, question: &Question, check: bool) -> Result<AfterCut, ReliabilityError> {
        let root = self.0.remote.setup().root;
        let since = self.0.witness()?.begin(&root)?;
        let took = match self.0.remote.mount_state() {
            Ok(took) => took,
            Err(error) => {
                let refused = self.refused(&error, since);
                if let AfterCut::Refused(_) = refused {
                    self.0.remote.close_layers()?;
                }
                return Ok(refused);
            }
        };
        let seen = self.0.witness()?.look(question)?;
        self.0.remote.unmount_only()?;
        let check = check.then(|| self.0.remote.check_unmounted()).transpose()?.map(Box::new);
        self.0.remote.close_layers()?;
        Ok(AfterCut::Mounted { took, seen, check })
    }
}

impl Place for InGuest<'_> {
    fn stage(&mut self) -> &mut dyn Remountable {
        &mut self.0.remote
    }

    fn image(&self) -> Option<PathBuf> {
        self.0.remote.image().map(Path::to_owned)
    }

    fn set_up(&mut self, work: &Work, seed: u64) -> Result<(), ReliabilityError> {
        let Work::Promises { unsynced, chosen } = work else {
            return Err(ReliabilityError::Witness("has no programs of this machine".into()));
        };
        let root = self.0.remote.setup().root;
        self.0.witness()?.ask(&Order::SetUp { root, chosen: chosen.clone(), unsynced: *unsynced, seed })?;
        self.0.remote.sync()?;
        self.0.remote.set_limit(STATE_LIMIT);
        Ok(())
    }

    fn work(&mut self, marker: &mut dyn Marker) -> Result<Vec<String>, ReliabilityError> {
        let witness = self.0.witness()?;
        witness.say(&Order::Work)?;
        loop {
            match witness.hear()? {
                Reply::Mark(word) => {
                    marker.mark(word)?;
                    witness.say(&Order::Marked)?;
                }
                Reply::Done => return Ok(Vec::new()),
                other => return Err(other.unexpected()),
            }
        }
    }

    fn state(&mut self, question: &Question, check: bool) -> Result<AfterCut, ReliabilityError> {
        // A guest that fails here cannot be trusted with the next state.
        Ok(self.looked_at(question, check).unwrap_or_else(|error| AfterCut::Lost(error.to_string())))
    }

    fn begin_again(&mut self) -> Result<(), ReliabilityError> {
        let mut last = Ok(());
        for _ in 0..BOOTS {
            last = self.0.start_again().and_then(|()| self.unmount());
            if last.is_ok() {
                break;
            }
        }
        last
    }
}
