//! Data made durable by a call: it survives any cut.

use super::{About, Finding, Place, Promise, content, lay_out, whole};
use crate::stamps::{self, SECTOR};
use std::fs::File;
use std::io;

/// Sectors of an overwritten file.
const SECTORS: u32 = 64;
/// How often it is overwritten.
const ROUNDS: u32 = 4;
const FILE: &str = "data";

/// The call that makes it durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Fsync,
    Fdatasync,
    /// Each write by itself.
    Dsync,
    /// Written through a mapping.
    Msync,
}

/// A file that is overwritten in place, and synced.
pub(super) struct Overwrite {
    pub by: By,
}

impl Overwrite {
    fn steps_of_round(&self) -> u32 {
        if self.by == By::Dsync { 1 } else { 2 }
    }
}

impl Promise for Overwrite {
    fn about(&self) -> About {
        let (name, title) = match self.by {
            By::Fsync => ("fsync", "overwritten blocks have the new data after fsync"),
            By::Fdatasync => ("fdatasync", "overwritten blocks have the new data after fdatasync"),
            By::Dsync => ("o-dsync", "data written with O_DSYNC survives"),
            By::Msync => ("msync", "data written through a mapping survives after msync"),
        };
        About::promised(name, title, ROUNDS * self.steps_of_round())
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, FILE, place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let (path, version) = (place.path(FILE), step / self.steps_of_round() + 1);
        let writes = step.is_multiple_of(self.steps_of_round());
        match self.by {
            By::Dsync => {
                let flag = rustix::fs::OFlags::DSYNC.bits() as i32;
                stamps::write(&path, place.file, version, 0..SECTORS, flag).map(drop)
            }
            By::Msync if writes => map::write(&path, &stamps::sectors(place.file, version, 0..SECTORS)),
            By::Msync => map::sync(&path, SECTORS as usize * SECTOR),
            _ if writes => stamps::write(&path, place.file, version, 0..SECTORS, 0).map(drop),
            By::Fsync => File::options().write(true).open(&path)?.sync_all(),
            By::Fdatasync => File::options().write(true).open(&path)?.sync_data(),
        }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let finished = done / self.steps_of_round();
        whole(&place.path(FILE), place.file, SECTORS, finished..=finished + 1)
    }
    fn round(&self) -> u32 {
        self.steps_of_round()
    }
    fn file(&self, _: u32) -> Option<String> {
        Some(FILE.into())
    }
}

/// Mappings of files.
mod map {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    /// Writes through a mapping, then unmaps; its pages are dirty.
    pub fn write(path: &Path, data: &[u8]) -> io::Result<()> {
        let file = File::options().read(true).write(true).open(path)?;
        system::mapped::Mapped::of(&file, data.len())?.write(data);
        Ok(())
    }

    /// msync(2) of the file's first bytes.
    pub fn sync(path: &Path, length: usize) -> io::Result<()> {
        let file = File::options().read(true).write(true).open(path)?;
        system::mapped::Mapped::of(&file, length)?.sync()
    }
}

/// Sectors of a growing file at first, and added each time.
const FIRST: u32 = 3;
const ADDED: u32 = 5;

/// A file that grows, each time by less than a block, and is synced.
pub(super) struct Append;

impl Promise for Append {
    fn about(&self) -> About {
        About::promised("append", "appended data and the file's new length survive after fdatasync", 2 * ROUNDS)
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, FILE, place.file, FIRST)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let path = place.path(FILE);
        if step % 2 == 1 {
            return File::options().write(true).open(&path)?.sync_data();
        }
        let from = FIRST + step / 2 * ADDED;
        stamps::write(&path, place.file, 0, from..from + ADDED, 0).map(drop)
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let Some(found) = stamps::read(&place.path(FILE))? else { return Ok(Finding::broken("data is missing")) };
        let safe = (FIRST + done / 2 * ADDED) as usize;
        let long = Finding::unless(found.len() >= safe, || {
            format!("data has {} sectors instead of at least {safe}", found.len())
        });
        Ok(long.and(content(FILE, place.file, &found[..safe.min(found.len())], 0, 0..=0)))
    }
    fn round(&self) -> u32 {
        2
    }
    fn file(&self, _: u32) -> Option<String> {
        Some(FILE.into())
    }
}

/// A file that grows without a sync.
pub(super) struct Grown;

impl Promise for Grown {
    fn about(&self) -> About {
        About::hoped(
            "append-unsynced",
            "the part by which a file grew without a sync holds the appended data: no zeros, nothing else",
            8,
        )
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, FILE, place.file, FIRST)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let from = FIRST + step * ADDED;
        stamps::write(&place.path(FILE), place.file, 0, from..from + ADDED, 0).map(drop)
    }
    fn look(&self, place: &Place, _: u32) -> io::Result<Finding> {
        let Some(found) = stamps::read(&place.path(FILE))? else { return Ok(Finding::broken("data is missing")) };
        Ok(content(FILE, place.file, &found, 0, 0..=0))
    }
    fn round(&self) -> u32 {
        2
    }
    fn file(&self, _: u32) -> Option<String> {
        Some(FILE.into())
    }
}

/// A file that is truncated and synced.
pub(super) struct Truncate;

/// Remaining sectors.
const LEFT: u32 = 20;

impl Promise for Truncate {
    fn about(&self) -> About {
        About::promised("truncate", "a truncated file has its new length after fsync", 2)
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, FILE, place.file, SECTORS)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        let file = File::options().write(true).open(place.path(FILE))?;
        if step == 0 { file.set_len(u64::from(LEFT) * SECTOR as u64) } else { file.sync_all() }
    }
    fn look(&self, place: &Place, done: u32) -> io::Result<Finding> {
        let Some(found) = stamps::read(&place.path(FILE))? else { return Ok(Finding::broken("data is missing")) };
        let is_cut = found.len() == LEFT as usize;
        let sized = Finding::unless(is_cut || (done < 2 && found.len() == SECTORS as usize), || {
            format!("data has {} sectors instead of {LEFT}", found.len())
        });
        // Before the sync, the part to be truncated may hold anything: the rest of its last block is zeroed first.
        Ok(sized.and(content(FILE, place.file, &found[..found.len().min(LEFT as usize)], 0, 0..=0)))
    }
    fn file(&self, _: u32) -> Option<String> {
        Some(FILE.into())
    }
}
