//! A divided device: a target for each part, so that all contenders can be mounted at the same time.
//! In: a device that may be erased, and the number of parts. Out: targets, whose parts are removed with them.
//! Each part is in a cleanup record before it is made.

use crate::devices::custody::{Divided, Erasable, emptying};
use crate::devices::parts::{Part, parts};
use crate::devices::wipe::{unsigning, wipe};
use crate::error::StagingError;
use crate::filesystems::registry::Registry;
use crate::ownership::cleanup_journal::{Made, Mark};
use crate::stage::dry_run::add;
use crate::stage::target::{Target, Where};
use records::custody::Terms;
use std::path::Path;
use std::sync::Arc;
use system::{BlockDevice, Journal, Record, Sysfs as _};

impl Target {
    /// Takes a device under the rules of custody, empties it, and divides it into equal parts, one for each of these journals, which record
    /// the commands of their targets. The kernel shows the parts as partitions until their targets are dropped.
    ///
    /// # Errors
    /// The device is refused, cannot be divided, or has partitions even after its table was removed.
    pub fn split(
        registry: &Registry,
        path: &Path,
        terms: &Terms,
        journals: &[Journal],
    ) -> Result<Vec<Target>, StagingError> {
        if !system::process::is_root() {
            return Err(StagingError::NeedsRoot(format!("splitting {}", path.display())));
        }
        let marks = journals.iter().map(|_| Mark::new(false)).collect::<Result<Vec<_>, _>>()?;
        let label = marks.first().map(Mark::label).unwrap_or_default();
        let mut whole = Erasable::take(path, terms, &label)?;
        let disk = whole.device().clone();
        let parts = parts(&disk, journals.len())?;
        let place = Where::Part { disk: path.into(), count: parts.len() };
        let mut targets = Vec::new();
        for ((mark, journal), part) in marks.into_iter().zip(journals).zip(&parts) {
            let mut target = Target::bare(registry, place.clone(), terms, journal, mark);
            target.mark.will_make(Made::Part {
                disk: disk.path.clone(),
                number: disk.number,
                sequence: disk.sequence,
                part: *part,
            })?;
            target.part = Some((disk.clone(), *part));
            targets.push(target);
        }
        whole.release();
        journals.first().map_or(Ok(()), |journal| wipe(&disk.path, journal))?;
        let whole = Arc::new(Divided::new(whole, parts)?);
        targets.iter_mut().try_for_each(|target| target.make_part(&whole))?;
        Ok(targets)
    }

    /// Makes the part of this target, and empties it: its content was the disk's, which may be erased.
    fn make_part(&mut self, whole: &Arc<Divided>) -> Result<(), StagingError> {
        let Some((disk, part)) = &self.part else { return Ok(()) };
        let (device, open) = part.add(disk, &self.journal)?;
        let mut main = Erasable::part_of(whole, *part, device.clone(), &self.mark.label())?;
        wipe(&device.path, &self.journal)?;
        main.verify()?;
        main.hold()?;
        drop(open);
        self.main = Some(main);
        Ok(())
    }

    /// Removes the part of this target. Returns why it could not be removed, in words.
    pub(crate) fn leave_part(&mut self) -> Option<String> {
        let (disk, part) = self.part.take()?;
        // A part that could not be given back holds something that is not ours, or is in use.
        let is_clear = self.main.is_some() && !self.formatted;
        self.main.iter_mut().for_each(Erasable::release);
        let left = part.leave(&disk, is_clear, &self.journal);
        if part.find(&disk).is_none() {
            self.mark.removed(|made| matches!(made, Made::Part { .. }));
        }
        left.err().map(|error| error.to_string())
    }
}

/// The commands that divide a device before the first trial of a run, and those that undo it after the last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SplitCommands {
    /// Commands that empty the device, and make and empty its parts.
    pub before: Vec<String>,
    /// Commands that leave the device as empty as it was then.
    pub after: Vec<String>,
}

/// The commands that divide a device into `count` parts; nothing is run.
///
/// # Errors
/// It is no device, or cannot be divided.
pub fn split_commands(path: &Path, count: usize) -> Result<SplitCommands, StagingError> {
    let disk = BlockDevice::find(path).map_err(|error| StagingError::refused(path, error.to_string(), ""))?;
    let parts = parts(&disk, count)?;
    let lines = |fill: &dyn Fn(&Journal)| {
        let journal = Journal::planning();
        fill(&journal);
        journal.drain().iter().map(Record::typed).collect()
    };
    let empty = |journal: &Journal, device: &BlockDevice| {
        add(journal, unsigning(&device.path));
        add(journal, emptying(&device.path, Some(device)));
    };
    let before = lines(&|journal| {
        empty(journal, &disk);
        for part in &parts {
            add(journal, part.adding(&disk.path));
            empty(journal, &part.planned(&disk));
        }
    });
    let after = lines(&|journal| {
        for part in &parts {
            part.clearing(&disk, &part.node(&disk.path)).into_iter().for_each(|command| add(journal, command));
            add(journal, part.removing(&disk.path));
        }
    });
    Ok(SplitCommands { before, after })
}

/// A part of a place as planned, with the size that all have; `None` if the place is not a part, or its disk does not exist.
pub(super) fn planned(place: &Where) -> Option<BlockDevice> {
    let Where::Part { disk, count } = place else { return None };
    let disk = BlockDevice::find(disk).ok()?;
    let part: Part = *parts(&disk, *count).ok()?.first()?;
    Some(part.planned(&disk))
}
