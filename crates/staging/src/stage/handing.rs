//! Handing devices over to commands that format them, and taking them back empty.
//! In: the device under test, and further devices that contenders name. Out: all verified again, marked, and held again afterwards.
//! The only place in which a real device of a run is released and emptied.

use crate::devices::custody::{Erasable, Readable, zeroing};
use crate::devices::wipe::{unsign, wipe};
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::options;
use crate::filesystems::own_devices::Companion;
use crate::ownership::cleanup_journal::{Made, Mark};
use crate::stage::target::{MAKE_LIMIT, Target, Where};
use records::Contender;
use records::custody::Promise;
use std::path::Path;
use system::{BlockDevice, Journal, Sysfs as _};

/// A device that contenders name besides the one under test.
#[derive(Debug)]
pub(crate) struct Own {
    erasable: Erasable,
    /// What blkid calls what our mkfs left on it, if that has no label. Set only from formatting until it is given back.
    formatted: Option<Option<String>>,
}

impl Target {
    /// Takes the devices that these contenders name besides the one under test; each is held until the target is dropped. Refuses `--erase`
    /// words that name none of them. A contender with invalid options is skipped: staging it reports the error.
    ///
    /// # Errors
    /// One of the devices is refused.
    pub fn take_devices<'c>(
        &mut self,
        contenders: impl IntoIterator<Item = &'c Contender>,
    ) -> Result<(), StagingError> {
        if matches!(self.place, Where::Directory(_)) {
            return Ok(());
        }
        for contender in contenders {
            let Ok(filesystem) = self.registry.get(&contender.filesystem).cloned() else { continue };
            match self.own_devices(&filesystem, contender) {
                Err(error) if !error.is_of_contender() => return Err(error),
                _ => {}
            }
        }
        if let (Where::Reading(path), Some(word)) = (&self.place, self.terms.erase.first()) {
            let problem = format!("--erase {word}: this run only reads {} and erases nothing", path.display());
            return Err(StagingError::other(problem, "leave it out"));
        }
        let all = || self.main.iter().chain(self.own.iter().map(|own| &own.erasable));
        match self.terms.erase.iter().find(|word| !all().any(|erasable| erasable.is_named(word))) {
            Some(word) => {
                let names: Vec<String> = all().flat_map(Erasable::names).collect();
                let known = if names.is_empty() { "none".into() } else { names.join(", ") };
                let way = format!("names of its devices: {known}");
                Err(StagingError::Word { word: word.clone(), way_out: way })
            }
            None => Ok(()),
        }
    }

    /// The identity of these devices, for the run's record: the same must be found before each mkfs.
    pub fn promises(&self) -> Vec<Promise> {
        let erasable = self.main.iter().chain(self.own.iter().map(|own| &own.erasable)).map(Erasable::promise);
        erasable.chain(self.readable.iter().map(Readable::promise)).collect()
    }

    /// The devices of its own that a contender names; takes those that are not taken yet.
    pub(crate) fn own_devices(
        &mut self,
        filesystem: &Filesystem,
        contender: &Contender,
    ) -> Result<Vec<Companion>, StagingError> {
        let mut taken = Vec::new();
        for named in options::devices(filesystem, contender)? {
            let known = self.own.iter().position(|own| own.erasable.named() == named.path).or_else(|| {
                let number = BlockDevice::find(&named.path).ok()?.number;
                self.own.iter().position(|own| own.erasable.device().number == number)
            });
            let at = match known {
                Some(at) => at,
                None => self.take_own(&named.path)?,
            };
            taken.push(Companion { rule: named.rule, device: self.own[at].erasable.device().clone() });
        }
        Ok(taken)
    }

    fn take_own(&mut self, path: &Path) -> Result<usize, StagingError> {
        let device = BlockDevice::find(path)
            .map_err(|error| StagingError::refused(path, error.to_string(), "look with lsblk"))?;
        let mut all = self.main.iter().chain(self.own.iter().map(|own| &own.erasable));
        if let Some(other) = all.find(|other| other.shares_bytes_with(&device)) {
            let reason = format!("it is, or shares bytes with, {}, which this run uses already", other.device().name);
            return Err(StagingError::refused(path, reason, "name another device in the options"));
        }
        let erasable = Erasable::take(path, &self.terms, &self.mark.label())?;
        self.own.push(Own { erasable, formatted: None });
        Ok(self.own.len() - 1)
    }

    /// Hands the device under test over to a command that formats it.
    pub(crate) fn hand_over(&mut self) -> Result<(), StagingError> {
        let Some(erasable) = &mut self.main else {
            return Ok(());
        };
        self.formatted = true;
        hand_over(erasable, &mut self.mark, &self.volume, &self.journal)
    }

    /// Hands a contender's own devices over likewise.
    pub(crate) fn hand_over_own(&mut self, taken: &[Companion]) -> Result<(), StagingError> {
        for one in taken {
            let mine = |own: &&mut Own| own.erasable.device().number == one.device.number;
            if let Some(own) = self.own.iter_mut().find(mine) {
                own.erasable.carries(&self.volume);
                own.formatted = Some(one.rule.leaves.clone());
                hand_over(&mut own.erasable, &mut self.mark, &self.volume, &self.journal)?;
            }
        }
        Ok(())
    }

    /// Empties a real device, so that unwritten blocks read as zeros and a copy of it is small.
    pub(crate) fn empty_device(&mut self) -> Result<(), StagingError> {
        let Some(device) = self.device().cloned() else { return Ok(()) };
        self.hand_over()?;
        zeroing(&device.path, Some(&device))
            .limit(MAKE_LIMIT)
            .run(&self.journal)
            .map(|_| ())
            .map_err(StagingError::command(format!("emptying {}", device.path.display())))
    }

    /// Empties real devices of what we made on them, and holds them again. Returns what could not be given back, in words.
    pub(crate) fn give_back(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(erasable) = &mut self.main {
            let formatted = std::mem::take(&mut self.formatted).then_some(None);
            let given = give_back(erasable, formatted, self.guest, &mut self.mark, &self.journal);
            problems.extend(given.err().map(|error| error.to_string()));
        }
        for own in &mut self.own {
            let given = give_back(&mut own.erasable, own.formatted.take(), false, &mut self.mark, &self.journal);
            problems.extend(given.err().map(|error| error.to_string()));
        }
        problems
    }
}

fn hand_over(erasable: &mut Erasable, mark: &mut Mark, volume: &str, journal: &Journal) -> Result<(), StagingError> {
    erasable.verify()?;
    let device = erasable.device();
    mark.will_make(Made::Formatted {
        path: device.path.clone(),
        number: device.number,
        sequence: device.sequence,
        label: volume.into(),
    })?;
    let path = device.path.clone();
    erasable.release();
    unsign(&path, journal)
}

/// `formatted`: what blkid calls what we left, with None inside if our label identifies it; None if nothing was formatted.
fn give_back(
    erasable: &mut Erasable,
    formatted: Option<Option<String>>,
    guest: bool,
    mark: &mut Mark,
    journal: &Journal,
) -> Result<(), StagingError> {
    // The host of a guest empties the disk itself.
    if let Some(kind) = formatted.filter(|_| !guest) {
        let path = erasable.device().path.clone();
        erasable.verify_ours(kind.as_deref())?;
        wipe(&path, journal)?;
        mark.removed(|made| matches!(made, Made::Formatted { path: known, .. } if *known == path));
    }
    erasable.hold()
}
