//! Custody: no device is formatted unless its owner named it.
//! In: a device that was found, and [`Terms`]: the names that allow erasing it, and the device that a run began on. Out: [`Erasable`].
//! Rules: "Custody of devices" in docs/method.md. Devices are compared by number and identity, never by the text of their names.

mod bytes;
mod divided;
mod identity;
mod lock;
mod readable;
mod signatures;
mod users;

pub(crate) use divided::Divided;
pub(crate) use readable::Readable;
pub(crate) use signatures::{carries_label, emptying, emptying_within, signature, zeroing};

use crate::busy::{PASSING, when_free};
use crate::devices::parts::Part;
use crate::error::StagingError;
use identity::{differences, identity, in_words, is_named, names};
use records::custody::{Identity, Promise, Terms};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use system::{BlockDevice, Loop, Sysfs as _, loops};

/// A device that may be erased: nothing is on it, or its owner named it. (Our own images are another type, [`crate::devices::image::Image`].)
#[derive(Debug)]
pub(crate) struct Erasable {
    device: BlockDevice,
    identity: Identity,
    /// As the user named it.
    named: PathBuf,
    /// Names given with `--erase`.
    erase: Vec<String>,
    /// Label that our own filesystems carry.
    label: String,
    /// In a guest the host has custody of the disk: only its present content is checked.
    guest: bool,
    /// The disk that it is a part of, if a run has divided one.
    part: Option<(Arc<Divided>, Part)>,
    held: Option<File>,
    _locks: Vec<File>,
}

impl Erasable {
    /// Takes a real device, held exclusively from here on.
    pub fn take(path: &Path, terms: &Terms, label: &str) -> Result<Erasable, StagingError> {
        Erasable::took(path, terms, label, false)
    }

    /// Takes the disk of a guest.
    pub fn take_in_guest(path: &Path, label: &str) -> Result<Erasable, StagingError> {
        Erasable::took(path, &Terms::default(), label, true)
    }

    fn took(path: &Path, terms: &Terms, label: &str, guest: bool) -> Result<Erasable, StagingError> {
        let device = find(path)?;
        let locks = lock::lock(&device)?;
        let found = identity(&device, &loops::loops());
        let promised = terms.promised.iter().find(|promise| promise.named == path).map(|promise| &promise.identity);
        let identity = promised.unwrap_or(&found).clone();
        let (erase, label) = (terms.erase.clone(), label.to_string());
        let (named, part, held) = (path.into(), None, None);
        let mut taken = Erasable { device, identity, named, erase, label, guest, part, held, _locks: locks };
        taken.verify()?;
        taken.hold()?;
        Ok(taken)
    }

    /// A part of a disk that was taken; the disk's lock and `--erase` cover the part. It is checked for users, and not yet held.
    pub fn part_of(
        disk: &Arc<Divided>,
        part: Part,
        device: BlockDevice,
        label: &str,
    ) -> Result<Erasable, StagingError> {
        let taken = Erasable {
            identity: identity(&device, &loops::loops()),
            device,
            named: disk.whole.named.clone(),
            erase: disk.whole.erase.clone(),
            label: label.into(),
            guest: false,
            part: Some((Arc::clone(disk), part)),
            held: None,
            _locks: Vec::new(),
        };
        taken.unused()?;
        Ok(taken)
    }

    /// The device that the owner named: this one, or the disk that it is a part of.
    fn owned(&self) -> &Erasable {
        self.part.as_ref().map_or(self, |(disk, _)| &disk.whole)
    }

    /// Sets the label that our own filesystem on it has from now on.
    pub fn carries(&mut self, label: &str) {
        self.label = label.into();
    }

    /// The device.
    pub fn device(&self) -> &BlockDevice {
        &self.device
    }

    /// The path that the user gave, and the identity that must be found again before each mkfs.
    pub fn promise(&self) -> Promise {
        Promise { named: self.named.clone(), identity: self.identity.clone() }
    }

    /// The path by which the user named it.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Whether this word names this device.
    pub fn is_named(&self, word: &str) -> bool {
        is_named(&self.owned().identity, word, &self.names())
    }

    /// Names for it that `--erase` accepts.
    pub fn names(&self) -> Vec<String> {
        let owned = self.owned();
        names(&owned.identity, &owned.device)
    }

    /// Whether this device and another have bytes in common.
    pub fn shares_bytes_with(&self, other: &BlockDevice) -> bool {
        let loops = loops::loops();
        bytes::Bytes::of(&self.device, &loops).meet(&bytes::Bytes::of(other, &loops))
    }

    /// Repeats all checks; called right before every command that writes to the bare device. In a guest it runs once, when the device is
    /// taken: the host keeps the disk, and nothing else uses it.
    pub fn verify(&self) -> Result<(), StagingError> {
        if self.guest && self.held.is_some() {
            return Ok(());
        }
        let (now, concerns) = self.unused()?;
        self.allowed(&now, &concerns)
    }

    /// Checks a device again before our own filesystem is removed from it: it is the same device, unused, and holds nothing but ours, known
    /// by its label, or by its type if that has no label.
    pub fn verify_ours(&self, kind: Option<&str>) -> Result<(), StagingError> {
        let (now, _) = self.unused()?;
        match self.foreign_signature(&now, kind)? {
            Some(found) => Err(StagingError::refused(&now.path, found, "it is left as it is")),
            None => Ok(()),
        }
    }

    /// Checks that it is the same device and unused; returns neighbours that are in use. Waits a little, since some programs open every
    /// device for a moment.
    fn unused(&self) -> Result<(BlockDevice, Vec<String>), StagingError> {
        when_free(PASSING, || self.unused_now())
    }

    fn unused_now(&self) -> Result<(BlockDevice, Vec<String>), StagingError> {
        let loops = loops::loops();
        let around = match &self.part {
            Some((disk, part)) => Some(disk.around(part, &self.device, &loops)?),
            None => None,
        };
        let now = same_device(&self.device, &self.identity, &loops)?;
        let concerns = users::free_of_users(&now, &loops, around.as_ref())?;
        Ok((now, concerns))
    }

    /// Refuses what needs the owner's consent, unless one of the given words names this very device.
    fn allowed(&self, device: &BlockDevice, concerns: &[String]) -> Result<(), StagingError> {
        let names = self.names();
        if self.erase.iter().any(|word| is_named(&self.owned().identity, word, &names)) {
            return Ok(());
        }
        let needs = match concerns.first() {
            Some(concern) => Some(format!("another part of its disk or file is in use: {concern}")),
            None => match self.foreign_signature(device, None)? {
                Some(found) => Some(found),
                None if self.guest => None,
                None => signatures::first_data(device)?
                    .map(|at| format!("it holds data from byte {at} on, with no signature known to blkid or wipefs")),
            },
        };
        let Some(needs) = needs else { return Ok(()) };
        let way = match (names.first(), self.erase.as_slice()) {
            (Some(_), [word, ..]) => format!("--erase {word} does not name it; its names are: {}", names.join(", ")),
            (Some(name), []) => format!("if nothing on it is needed, allow it with --erase {name}"),
            (None, _) => format!(
                "it has neither a serial, a by-id name nor a partition UUID, so --erase cannot name it; if nothing on it \
                 is needed, empty it with `blkdiscard --zeroout {}`",
                device.path.display()
            ),
        };
        Err(StagingError::refused(&device.path, needs, way))
    }

    fn foreign_signature(&self, device: &BlockDevice, kind: Option<&str>) -> Result<Option<String>, StagingError> {
        let parts = device.partitions.iter().filter_map(|name| BlockDevice::named(name));
        for one in std::iter::once(device.clone()).chain(parts) {
            if let Some(found) = signatures::signature(&one.path, &self.label, kind)? {
                return Ok(Some(format!("{} carries {found}", one.name)));
            }
        }
        Ok(None)
    }

    /// Holds it exclusively: no mount, mkfs or other holder gets in.
    pub fn hold(&mut self) -> Result<(), StagingError> {
        if self.held.is_some() {
            return Ok(());
        }
        let alone = rustix::fs::OFlags::EXCL.bits() as i32;
        let open = || OpenOptions::new().read(true).write(true).custom_flags(alone).open(&self.device.path);
        let opened = when_free(PASSING, open).map_err(|error| {
            let reason = format!("opening it exclusively failed: {error}");
            StagingError::refused(
                &self.device.path,
                reason,
                "another program, mount or device has it open; lsblk and fuser show which",
            )
        })?;
        self.held = Some(opened);
        Ok(())
    }

    /// Releases it for the moment in which mkfs or mount takes its place. The lock stays.
    pub fn release(&mut self) {
        self.held = None;
    }
}

/// Finds the device again, and checks that it is the one that was promised.
fn same_device(device: &BlockDevice, promised: &Identity, loops: &[Loop]) -> Result<BlockDevice, StagingError> {
    let now = find(&device.path)?;
    let found = identity(&now, loops);
    let mut differences = differences(promised, &found);
    if now.number != device.number {
        differences.push("its number");
    }
    if differences.is_empty() {
        return Ok(now);
    }
    let reason = format!(
        "it is not the device on which the run began ({} differs): the run began on {}; now it is {}",
        differences.join(", "),
        in_words(promised),
        in_words(&found)
    );
    Err(StagingError::refused(&now.path, reason, "compare with lsblk; a new run can use this device"))
}

fn find(path: &Path) -> Result<BlockDevice, StagingError> {
    BlockDevice::find(path).map_err(|error| StagingError::refused(path, error.to_string(), ""))
}
