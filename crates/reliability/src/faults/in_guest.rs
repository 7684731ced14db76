//! Faults of a contender in a virtual machine: its disk is served and damaged here; all work and inspection happens there.
//! In: a stage in a guest. Out: replies of its witness.

use super::ground::{AtWork, BACK, Place, STUCK, within};
use super::hands::Looked;
use super::work::Access;
use crate::error::ReliabilityError;
use crate::witness::{Guest, Order, Reply};
use disk::Disk;
use staging::{Remote, Remountable, Serial, Staged};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for each mount, inspection, unmount or check there: a kernel that takes longer hangs.
const STEP_LIMIT: Duration = Duration::from_secs(300);
/// Time until the end of a virtual machine is noticed here.
const NOTICED: Duration = Duration::from_secs(3);

/// A guest, and its start on the clock of its kernel's log.
pub(crate) struct InGuest<'g> {
    guest: Guest<'g>,
    since: f64,
}

impl<'g> InGuest<'g> {
    pub fn of(mut remote: Remote<Serial<'g>>) -> InGuest<'g> {
        remote.set_limit(STEP_LIMIT);
        InGuest { guest: Guest::of(remote), since: 0.0 }
    }
}

impl Place for InGuest<'_> {
    fn stage(&mut self) -> &mut dyn Remountable {
        &mut self.guest.remote
    }

    fn image(&self) -> Option<PathBuf> {
        self.guest.remote.image().map(Path::to_owned)
    }

    fn lay_out(&mut self) -> Result<(), ReliabilityError> {
        let root = self.guest.remote.setup().root;
        self.since = self.guest.witness()?.begin(&root)?;
        self.guest.witness()?.ask(&Order::LayFilesOut)?;
        self.guest.remote.sync()?;
        self.unmount()
    }

    fn at_work(&mut self, disk: &mut Disk, every: usize) -> Result<AtWork, ReliabilityError> {
        let witness = self.guest.witness()?;
        witness.say(&Order::WorkOnFiles { every })?;
        let mut mended = None;
        loop {
            match witness.hear_within(if mended.is_none() { STUCK } else { BACK })? {
                Some(Reply::Mark(_)) if mended.is_none() => witness.say(&Order::Marked)?,
                // The waiting call has returned; that is enough.
                Some(Reply::Mark(_)) => witness.say(&Order::Enough)?,
                Some(Reply::Worked(worked)) => return Ok(AtWork { worked: Some(worked), mended, hung: false }),
                Some(other) => return Err(other.unexpected()),
                None if mended.is_none() => mended = Some(disk.mend()?),
                None => return Ok(AtWork { worked: None, mended, hung: true }),
            }
        }
    }

    fn access(&mut self, name: &str) -> Result<Access, ReliabilityError> {
        match self.guest.witness()?.answer(&Order::WriteProbe { name: name.into() })? {
            Reply::Access(access) => Ok(access),
            other => Err(other.unexpected()),
        }
    }

    fn look(&mut self, acknowledged: &[u32]) -> Result<Looked, ReliabilityError> {
        match self.guest.witness()?.answer(&Order::LookAtFiles { acknowledged: acknowledged.to_vec() })? {
            Reply::Looked(looked) => Ok(looked),
            other => Err(other.unexpected()),
        }
    }

    fn kernel_words(&mut self) -> Result<Vec<String>, ReliabilityError> {
        let since = self.since;
        let mut words = self.guest.witness()?.kernel_words(since)?;
        Ok(words.split_off(words.len().saturating_sub(super::ground::KERNEL_LINES)))
    }

    fn is_lost(&self) -> bool {
        within(NOTICED, || self.guest.remote.is_lost())
    }
}
