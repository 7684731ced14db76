//! The files of a served folder, each of which may be a disk: names, sizes, contents, and the recording of one of them.
//! In: FUSE requests. Out: attributes and changes, all under one lock.

use crate::blocks::Blocks;
use crate::content::{Change, Past, Recording};
use crate::fault::{Ailing, Chosen, Failed, Fault};
use crate::lateness::Lateness;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

/// Most files.
const MOST_FILES: usize = 64;
/// Largest file size: more than any present disk.
const MOST_BYTES: u64 = 1 << 50;

/// Everything served, shared with recording and fault injection.
pub(crate) type Shared = Arc<Mutex<Inodes>>;

pub(crate) fn lock(shared: &Shared) -> MutexGuard<'_, Inodes> {
    shared.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// A file.
#[derive(Debug)]
pub(crate) struct Inode {
    pub size: u64,
    pub mode: u16,
    pub changed: SystemTime,
    pub content: Blocks,
    pub linked: bool,
    lookups: u64,
}

/// Everything served.
#[derive(Debug, Default)]
pub(crate) struct Inodes {
    names: BTreeMap<OsString, u64>,
    inodes: BTreeMap<u64, Inode>,
    next: u64,
    /// Most bytes in all files together.
    room: u64,
    recording: Option<(u64, Recording)>,
    past: Option<(u64, Past)>,
    ailing: Option<(u64, Ailing)>,
    /// Lateness of a modelled disk.
    pub lateness: Lateness,
}

impl Inodes {
    pub fn with_room(room: u64) -> Inodes {
        Inodes { next: 2, room, ..Inodes::default() }
    }

    pub fn room(&self) -> u64 {
        self.room
    }

    pub fn free(&self) -> u64 {
        let kept: u64 = self.inodes.values().map(|inode| inode.content.kept()).sum();
        self.room.saturating_sub(kept)
    }

    pub fn names(&self) -> impl Iterator<Item = (&OsString, u64)> {
        self.names.iter().map(|(name, number)| (name, *number))
    }

    pub fn inode(&mut self, number: u64) -> Option<&mut Inode> {
        self.inodes.get_mut(&number)
    }

    /// Looks a name up, and counts a kernel reference to the file.
    pub fn look_up(&mut self, name: &OsStr) -> Option<(u64, &Inode)> {
        let number = *self.names.get(name)?;
        let inode = self.inodes.get_mut(&number)?;
        inode.lookups += 1;
        Some((number, inode))
    }

    /// Creates an empty file, and counts a kernel reference to it. None: there are too many.
    pub fn create(&mut self, name: &OsStr, mode: u16) -> Option<(u64, &Inode)> {
        if self.inodes.len() >= MOST_FILES {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.names.insert(name.into(), number);
        let changed = SystemTime::now();
        let inode = Inode { size: 0, mode, changed, content: Blocks::default(), linked: true, lookups: 1 };
        Some((number, self.inodes.entry(number).or_insert(inode)))
    }

    /// Removes a name; the file stays while the kernel refers to it.
    pub fn unlink(&mut self, name: &OsStr) -> bool {
        let Some(number) = self.names.remove(name) else { return false };
        if let Some(inode) = self.inodes.get_mut(&number) {
            inode.linked = false;
        }
        self.forget(number, 0);
        true
    }

    /// Drops this many kernel references to a file.
    pub fn forget(&mut self, number: u64, times: u64) {
        let Some(inode) = self.inodes.get_mut(&number) else { return };
        inode.lookups = inode.lookups.saturating_sub(times);
        if !inode.linked && inode.lookups == 0 {
            self.inodes.remove(&number);
            self.recording.take_if(|(recorded, _)| *recorded == number);
            self.past.take_if(|(recorded, _)| *recorded == number);
            self.ailing.take_if(|(ailing, _)| *ailing == number);
        }
    }

    /// Resizes a file; false if the size is too large.
    pub fn resize(&mut self, number: u64, size: u64) -> bool {
        let Some(inode) = self.inodes.get_mut(&number).filter(|_| size <= MOST_BYTES) else { return false };
        if size < inode.size {
            inode.content.clear(size, inode.size - size);
        }
        (inode.size, inode.changed) = (size, SystemTime::now());
        true
    }

    /// Records the arrival of a write; returns its number if the file is recorded.
    pub fn submitted(&mut self, number: u64, offset: u64, change: &Change) -> Option<usize> {
        self.recording_of(number).map(|recording| recording.submitted(offset, change))
    }

    /// Carries out and completes a write; if it fails, nothing is written.
    pub fn write(&mut self, number: u64, offset: u64, change: &Change, recorded: Option<usize>) -> Result<(), Failed> {
        if let Some(inode) = self.inodes.get_mut(&number) {
            if let Some((_, ailing)) = self.ailing.as_mut().filter(|(ailing, _)| *ailing == number) {
                ailing.write(offset, change, &inode.content)?;
            }
            change.apply(&mut inode.content, offset, None);
            inode.changed = SystemTime::now();
            if matches!(change, Change::Data(_)) {
                inode.size = inode.size.max(offset + change.length());
            }
        }
        if let (Some(recording), Some(write)) = (self.recording_of(number), recorded) {
            recording.completed(write);
        }
        Ok(())
    }

    /// Carries out and completes a flush.
    pub fn flush(&mut self, number: u64, recorded: Option<usize>) -> Result<(), Failed> {
        self.ailing_of(number).map_or(Ok(()), Ailing::flush)?;
        if let (Some(recording), Some(flush)) = (self.recording_of(number), recorded) {
            recording.flushed(flush);
        }
        Ok(())
    }

    /// Reads from a file, up to its end. None: there is no such file.
    pub fn read(&mut self, number: u64, offset: u64, length: usize) -> Option<Result<Vec<u8>, Failed>> {
        let inode = self.inodes.get(&number)?;
        let length = (length as u64).min(inode.size.saturating_sub(offset));
        if let Some(Err(failed)) = self.ailing_of(number).map(|ailing| ailing.read(offset, length)) {
            return Some(Err(failed));
        }
        let mut data = vec![0; length as usize];
        self.inodes.get(&number)?.content.read(offset, &mut data);
        Some(Ok(data))
    }

    fn ailing_of(&mut self, number: u64) -> Option<&mut Ailing> {
        self.ailing.as_mut().filter(|(ailing, _)| *ailing == number).map(|(_, ailing)| ailing)
    }

    /// Whether requests of a file are delayed.
    pub fn waits(&mut self, number: u64) -> bool {
        self.ailing_of(number).is_some_and(|ailing| ailing.waits())
    }

    /// Delay of a request that arrived at this time.
    pub fn delay(&mut self, number: u64, arrived: Instant) -> Duration {
        self.ailing_of(number).map_or(Duration::ZERO, |ailing| ailing.delay(arrived))
    }

    /// Injects a fault into a file, in place of an earlier one. Returns the number of unreadable blocks.
    pub fn harm(&mut self, name: &OsStr, fault: &Fault) -> Option<u64> {
        let (number, inode) = self.named(name)?;
        let ailing = Ailing::new(fault, &inode.content);
        Some(self.ailing.insert((number, ailing)).1.bad())
    }

    /// Removes the fault; returns how many requests it affected.
    pub fn mend(&mut self) -> u64 {
        self.ailing.take().map_or(0, |(_, ailing)| ailing.met)
    }

    /// Flips bits in a file; returns their number.
    pub fn flip(&mut self, name: &OsStr, chosen: &Chosen) -> Option<u64> {
        self.named(name).map(|(_, inode)| chosen.flip(&mut inode.content))
    }

    fn named(&mut self, name: &OsStr) -> Option<(u64, &mut Inode)> {
        let number = *self.names.get(name)?;
        Some((number, self.inodes.get_mut(&number)?))
    }

    /// The recording, if it is of this file.
    pub fn recording_of(&mut self, number: u64) -> Option<&mut Recording> {
        self.recording.as_mut().filter(|(recorded, _)| *recorded == number).map(|(_, recording)| recording)
    }

    /// The recording, of any file.
    pub fn recording(&mut self) -> Option<&mut Recording> {
        self.recording.as_mut().map(|(_, recording)| recording)
    }

    /// Starts to record a file; false if the name does not exist.
    pub fn record(&mut self, name: &OsStr) -> bool {
        let Some((number, inode)) = self.named(name) else { return false };
        let recording = Recording::of(inode.content.clone());
        self.past = None;
        self.recording = Some((number, recording));
        true
    }

    /// Ends the recording and returns it, or why there is none.
    pub fn stop(&mut self) -> Result<&Past, String> {
        let (number, recording) = self.recording.take().ok_or("nothing is recorded")?;
        if recording.is_over_full() {
            return Err("the work exceeds a recording's limit of 4 GiB or four million events: use less work".into());
        }
        Ok(&self.past.insert((number, recording.end())).1)
    }

    /// The last finished recording, and its file.
    pub fn past(&mut self) -> Option<(&mut Past, &mut Inode)> {
        let (number, past) = self.past.as_mut()?;
        Some((past, self.inodes.get_mut(number)?))
    }
}
