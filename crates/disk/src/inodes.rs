//! The files of a served folder, each of which may be a disk: names, sizes, contents, and the recording of one of them.
//! In: what FUSE asks. Out: facts and changes, all behind one lock.

use crate::blocks::Blocks;
use crate::content::{Change, Past, Recording};
use crate::fault::{Ailing, Chosen, Failed, Fault};
use crate::lateness::Lateness;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

/// Files at most.
const MOST_FILES: usize = 64;
/// Largest size of a file: more than any disk of today.
const MOST_BYTES: u64 = 1 << 50;

/// What is served, shared with those who record it and do it harm.
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

/// Everything that is served.
#[derive(Debug, Default)]
pub(crate) struct Inodes {
    names: BTreeMap<OsString, u64>,
    inodes: BTreeMap<u64, Inode>,
    next: u64,
    /// Bytes that files may hold together.
    room: u64,
    recording: Option<(u64, Recording)>,
    past: Option<(u64, Past)>,
    ailing: Option<(u64, Ailing)>,
    /// How late a modelled disk has answered.
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

    /// The file of a name, which somebody knows from now on.
    pub fn look_up(&mut self, name: &OsStr) -> Option<(u64, &Inode)> {
        let number = *self.names.get(name)?;
        let inode = self.inodes.get_mut(&number)?;
        inode.lookups += 1;
        Some((number, inode))
    }

    /// Makes an empty file, which somebody knows from now on. None: there are too many.
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

    /// Takes a name away; the file stays as long as somebody knows it.
    pub fn unlink(&mut self, name: &OsStr) -> bool {
        let Some(number) = self.names.remove(name) else { return false };
        if let Some(inode) = self.inodes.get_mut(&number) {
            inode.linked = false;
        }
        self.forget(number, 0);
        true
    }

    /// Somebody who knew a file so many times does not any more.
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

    /// Gives a file another size; false where it is too large.
    pub fn resize(&mut self, number: u64, size: u64) -> bool {
        let Some(inode) = self.inodes.get_mut(&number).filter(|_| size <= MOST_BYTES) else { return false };
        if size < inode.size {
            inode.content.clear(size, inode.size - size);
        }
        (inode.size, inode.changed) = (size, SystemTime::now());
        true
    }

    /// A write arrived; its number where the file is recorded.
    pub fn submitted(&mut self, number: u64, offset: u64, change: &Change) -> Option<usize> {
        self.recording_of(number).map(|recording| recording.submitted(offset, change))
    }

    /// Carries a write out, which is completed with that; or it fails, and nothing of it is there.
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

    /// Carries a flush out, which is completed with that.
    pub fn flush(&mut self, number: u64, recorded: Option<usize>) -> Result<(), Failed> {
        self.ailing_of(number).map_or(Ok(()), Ailing::flush)?;
        if let (Some(recording), Some(flush)) = (self.recording_of(number), recorded) {
            recording.flushed(flush);
        }
        Ok(())
    }

    /// What stands at a place of a file, as far as it goes. None: there is no such file.
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

    /// Whether requests of a file wait for something.
    pub fn waits(&mut self, number: u64) -> bool {
        self.ailing_of(number).is_some_and(|ailing| ailing.waits())
    }

    /// How much longer a request takes that arrived then.
    pub fn delay(&mut self, number: u64, arrived: Instant) -> Duration {
        self.ailing_of(number).map_or(Duration::ZERO, |ailing| ailing.delay(arrived))
    }

    /// Has something be wrong with a file from now on, instead of what was; how many of its blocks that concerns where it is about blocks.
    pub fn harm(&mut self, name: &OsStr, fault: &Fault) -> Option<u64> {
        let (number, inode) = self.named(name)?;
        let ailing = Ailing::new(fault, &inode.content);
        Some(self.ailing.insert((number, ailing)).1.bad())
    }

    /// Has nothing be wrong any more; how many requests met what was.
    pub fn mend(&mut self) -> u64 {
        self.ailing.take().map_or(0, |(_, ailing)| ailing.met)
    }

    /// Turns bits over in a file; how many.
    pub fn flip(&mut self, name: &OsStr, chosen: &Chosen) -> Option<u64> {
        self.named(name).map(|(_, inode)| chosen.flip(&mut inode.content))
    }

    fn named(&mut self, name: &OsStr) -> Option<(u64, &mut Inode)> {
        let number = *self.names.get(name)?;
        Some((number, self.inodes.get_mut(&number)?))
    }

    /// The recording of a file, where it is the one that is recorded.
    pub fn recording_of(&mut self, number: u64) -> Option<&mut Recording> {
        self.recording.as_mut().filter(|(recorded, _)| *recorded == number).map(|(_, recording)| recording)
    }

    /// The recording, whatever it is of.
    pub fn recording(&mut self) -> Option<&mut Recording> {
        self.recording.as_mut().map(|(_, recording)| recording)
    }

    /// Begins to record a file; false where there is none of this name.
    pub fn record(&mut self, name: &OsStr) -> bool {
        let Some((number, inode)) = self.named(name) else { return false };
        let recording = Recording::of(inode.content.clone());
        self.past = None;
        self.recording = Some((number, recording));
        true
    }

    /// Ends the recording; the past that it leaves. Why there is none.
    pub fn stop(&mut self) -> Result<&Past, String> {
        let (number, recording) = self.recording.take().ok_or("nothing is recorded")?;
        if recording.is_over_full() {
            return Err("the work exceeds a recording's limit of 4 GiB or four million events: use less work".into());
        }
        Ok(&self.past.insert((number, recording.end())).1)
    }

    /// The past of the file that was recorded last, and the file.
    pub fn past(&mut self) -> Option<(&mut Past, &mut Inode)> {
        let (number, past) = self.past.as_mut()?;
        Some((past, self.inodes.get_mut(number)?))
    }
}
