//! Cold starts: all caches of a filesystem are emptied, in one of two ways.
//! In: a stage. Out: [`Dropped`]: whether all is gone, what shows it, and what is still cached.
//! Unmounting empties the caches of this filesystem alone. Dropping empties those of the whole machine, and is for what cannot be unmounted
//! or has a cache of its own.

use super::drop_caches::{self, Dropped};
use crate::busy::when_free;
use crate::devices::image::Image;
use crate::error::StagingError;
use crate::stage::Stage;
use records::{BlockDevice, ColdStart, ColdWay};
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};
use system::{Call, Command, Journal};

/// How long to wait for a busy mount or device before caches are dropped instead: the kernel may release files a moment after an engine
/// closed them, and tools of other filesystems probe every device now and then.
const BUSY: Duration = Duration::from_secs(2);

/// How long a killed checkpoint may still take to freeze the filesystem.
const THAW_LIMIT: Duration = Duration::from_secs(2);

/// The checkpoint of a description that a system call replaces.
const FREEZE_AND_THAW: &str = "fsfreeze --freeze {mountpoint} && fsfreeze --unfreeze {mountpoint}";

impl Stage<'_> {
    /// Syncs, then empties all caches of the filesystem: pages, dentries, inodes, its own, and those of an image's host file.
    ///
    /// # Errors
    /// Written data cannot be written back, or it cannot be mounted again.
    pub fn drop_caches(&mut self) -> Result<Dropped, StagingError> {
        if self.goes_by_remount() {
            match self.start_anew()? {
                Ok(dropped) => return Ok(dropped),
                Err(busy) => {
                    let mut dropped = self.drop_everything()?;
                    dropped.remarks.push(format!("{busy}; caches were dropped instead"));
                    return Ok(dropped);
                }
            }
        }
        self.drop_everything()
    }

    fn goes_by_remount(&self) -> bool {
        let state = &self.state;
        // A filesystem with a process of its own may keep a cache there.
        let apart = state.work.is_some() || state.daemon.is_some() || state.has_own_cache();
        self.target.cold == ColdWay::Remount && state.device.is_some() && !apart && !state.keeps_pages_below
    }

    /// Unmounts, drops the cached pages of the devices, and mounts again. The inner error: it cannot be unmounted now, and is as it was.
    fn start_anew(&mut self) -> Result<Result<Dropped, String>, StagingError> {
        // Unmounting writes back too, but does not report write errors.
        self.sync()?;
        if let Err(why) = self.take_off_when_free(BUSY) {
            return Ok(Err(format!("it could not be unmounted for a cold start: {why}")));
        }
        let proof = self.forget_devices();
        self.put_back()?;
        let mut start = match proof {
            Ok(start) => start,
            Err(held) => return Ok(Err(held)),
        };
        start.mounting_read_bytes = self.devices_cached();
        self.is_anew();
        // The pages of a device in use are those of the filesystem on it.
        let own = start.device_cached_bytes.filter(|_| self.state.found.in_use.is_empty());
        let left = own.unwrap_or(0) + start.image_cached_bytes.unwrap_or(0);
        let remarks = if left > 0 { vec![format!("{left} bytes of the device were still cached")] } else { Vec::new() };
        Ok(Ok(Dropped { complete: left == 0, remarks, mounted_anew: true, start }))
    }

    /// Makes the kernel drop the pages of every device of the contender. Each is opened exclusively, which fails while it is mounted
    /// anywhere: a mount in another namespace would have kept every cache.
    pub(super) fn forget_devices(&self) -> Result<ColdStart, String> {
        let mut cached = Some(0);
        for device in self.state.devices() {
            let path = &device.path;
            let alone = self.state.filesystem.is_some();
            let open = when_free(BUSY, || opened(path, alone).inspect_err(|_| self.detach_copies()))
                .map_err(|error| format!("{} is still in use after unmounting: {error}", path.display()))?;
            let flushed = Call::FlushBuffers(path.clone()).make(self.limits().sync(), &self.target.journal);
            flushed.map_err(|error| error.to_string())?;
            cached = cached.zip(system::calls::cached_bytes(&open)).map(|(sum, more): (u64, u64)| sum + more);
        }
        self.state.images().for_each(Image::forget_pages);
        let image_cached_bytes = self.state.images().filter_map(Image::cached_bytes).reduce(|sum, more| sum + more);
        Ok(ColdStart { device_cached_bytes: cached, image_cached_bytes, ..ColdStart::default() })
    }

    fn devices_cached(&self) -> Option<u64> {
        let cached = |device: &BlockDevice| system::calls::cached_bytes(opened(&device.path, false).ok()?);
        self.state.devices().map(cached).try_fold(0, |sum: u64, more| Some(sum + more?))
    }

    fn drop_everything(&mut self) -> Result<Dropped, StagingError> {
        self.sync()?;
        let mut warm = None;
        if self.state.has_own_cache()
            && let Err(error) = self.remount()
        {
            if !self.state.mounted {
                return Err(error);
            }
            // A file on it is open: it is still mounted, and the work can go on from a warm cache.
            warm = Some(format!("its own cache could not be emptied: {error}; the start is warm"));
        }
        self.checkpoint()?;
        let mut dropped = drop_caches::drop_kernel_caches(&self.state.root, &self.target.journal);
        if self.state.work.is_some() && dropped.complete {
            // A filesystem that others use must not be frozen.
            dropped.remarks.push("metadata in the journal may still be cached".into());
        }
        match warm {
            Some(remark) => {
                dropped.complete = false;
                dropped.remarks.push(remark);
            }
            None if self.state.has_own_cache() => {
                dropped.mounted_anew = true;
                self.is_anew();
            }
            None => {}
        }
        for image in self.state.images() {
            image.forget_pages();
            image.find_blocks();
        }
        Ok(dropped)
    }

    fn checkpoint(&self) -> Result<(), StagingError> {
        let Some(filesystem) = &self.state.filesystem else { return Ok(()) };
        let Some(command) = self.state.commands_of(filesystem).checkpoint() else { return Ok(()) };
        let doing = "checkpointing the journal of";
        let done = if is_freezing(&filesystem.sync.checkpoint) && self.enter().is_empty() {
            let call = Call::Checkpoint(self.state.places.mountpoint.clone());
            let made = call.make(self.limits().sync(), &self.target.journal);
            made.map_err(StagingError::command(format!("{doing} {}", self.state.label)))
        } else {
            self.run(command, self.limits().sync(), doing)
        };
        done.inspect_err(|_| self.thaw())
    }

    /// A killed checkpoint may leave the filesystem frozen. If it were unmounted like that, nothing could thaw it, and its device would be
    /// in use until the next boot.
    fn thaw(&self) {
        let words = self.fill(&["fsfreeze", "--unfreeze", "{mountpoint}"].map(String::from));
        let end = Instant::now() + THAW_LIMIT;
        // This fails while it is not frozen: the freeze may still be under way although its shell was killed.
        while Command::new(words.clone()).prefixed(self.enter()).run(&Journal::new()).is_err() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Whether a loop device goes through the page cache of this machine.
pub(super) fn keeps_pages(device: &BlockDevice) -> bool {
    device.backing_file.is_some() && device.loop_direct != Some(true)
}

/// Whether a checkpoint is a plain freeze and thaw, which a system call does as well.
fn is_freezing(words: &[String]) -> bool {
    matches!(words, [shell, flag, line] if shell == "sh" && flag == "-c" && line == FREEZE_AND_THAW)
}

fn opened(path: &Path, alone: bool) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | if alone { OFlags::EXCL } else { OFlags::empty() };
    rustix::fs::open(path, flags, Mode::empty())
}
