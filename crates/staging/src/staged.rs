//! What a run needs from a contender that is set up, wherever that is: one trait, and its implementation for a stage on this machine.
//! In: requests of a trial. Out: where to work, what was found, what was counted, and what closing showed.
//! [`crate::Remote`] implements it for a stage elsewhere.

use crate::error::StagingError;
use crate::modelled::Modelled;
use crate::stage::directory;
use crate::stage::drop_caches::Dropped;
use crate::stage::volume_tools::Tools;
use crate::stage::{BUSY_LIMIT, Settled, Stage};
use records::program::{Durable, Inode};
use records::{Closing, DiskLateness, Found, Usage};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;
use system::{Evidence, Snapshot};

/// How long to wait for a busy device before a phase begins: it may still be finishing earlier work.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same if a directory's disk serves others too, whose work may never end.
const PATIENCE_SHARED: Duration = Duration::from_secs(1);

/// Facts about a stage that is set up; none of them changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Directory in which to work. It exists and is empty.
    pub root: PathBuf,
    /// Its inode, if users other than root could replace the folder.
    pub root_inode: Option<Inode>,
    /// Device under test, as the engine names it; None if the directory is on none.
    pub device: Option<PathBuf>,
    /// What makes written data safe there.
    pub durable: Durable,
    /// Operations of the filesystem's own tools on the whole filesystem.
    pub tools: Tools,
    /// Options, durability class, sizes and times as found, with remarks for every figure.
    pub found: Found,
    /// Whether others use the filesystem and its disk too, as with a directory.
    pub shared: bool,
}

/// How the engine is reached.
pub enum Engine {
    /// As a process on this machine, with these words before its command.
    Here(Vec<String>),
    /// It is already started where the stage is.
    Elsewhere(Line),
}

/// A connection to an engine that is already started.
pub struct Line {
    /// For its requests, one flushed line each.
    pub input: Box<dyn Write + Send>,
    /// For its replies.
    pub output: Box<dyn Read + Send>,
    /// How it ended, in words; called after the output has ended.
    pub fate: Box<dyn Fn() -> String + Send>,
    /// Ends the conversation, then the engine, so that the output ends.
    pub hang_up: Box<dyn Fn() + Send>,
}

/// A contender, made and mounted. Dropping it without closing it tears down what it set up.
pub trait Staged {
    /// Facts that are known from the beginning.
    fn setup(&self) -> Setup;

    /// Name of the machine that the work runs on, if it is not this one.
    fn machine(&self) -> Option<String> {
        None
    }

    /// Starts the engine there, or returns how to start it here.
    ///
    /// # Errors
    /// It cannot be started.
    fn engine(&mut self) -> Result<Engine, StagingError>;

    /// Takes the counters before a pass, wherever the work runs.
    ///
    /// # Errors
    /// The other end of a remote stage does not answer.
    fn look(&mut self) -> Result<Snapshot, StagingError>;

    /// What the counters counted since.
    ///
    /// # Errors
    /// As for [`Staged::look`].
    fn since(&mut self, before: &Snapshot) -> Result<Evidence, StagingError>;

    /// How late a modelled disk was since the last [`Staged::look`], given the counters since then; None on other disks.
    ///
    /// # Errors
    /// The process that serves the disk is gone.
    fn late_since(&mut self, _seen: &Evidence) -> Result<Option<DiskLateness>, StagingError> {
        Ok(None)
    }

    /// Space and inodes now.
    ///
    /// # Errors
    /// The filesystem does not report them.
    fn usage(&mut self) -> Result<Usage, StagingError>;

    /// Writes everything back.
    ///
    /// # Errors
    /// It cannot be written back.
    fn sync(&mut self) -> Result<(), StagingError>;

    /// Syncs, and empties caches for a cold start, in the requested way as far as that is possible there.
    ///
    /// # Errors
    /// Written data cannot be written back, or it cannot be mounted again.
    fn drop_caches(&mut self) -> Result<Dropped, StagingError>;

    /// Unmounts, and leaves everything else as it is. Waits for processes with a copy of this mount namespace: they keep the filesystem in
    /// use, and mounting again would show what the kernel remembers of it.
    ///
    /// # Errors
    /// Unmounting failed, or the filesystem is still in use.
    fn unmount_only(&mut self) -> Result<(), StagingError>;

    /// Mounts what [`Staged::unmount_only`] unmounted, whatever is on the device by now, after the steps that this needs. Returns the time taken.
    ///
    /// # Errors
    /// Mounting failed, or the filesystem is still in use.
    fn mount_state(&mut self) -> Result<Duration, StagingError>;

    /// Removes the content of one of the volume's devices, numbered from 1, and mounts the rest. A blank device is then in its place.
    ///
    /// # Errors
    /// The volume has one device, or cannot be mounted without that one.
    fn lose_device(&mut self, number: u64) -> Result<(), StagingError>;

    /// What was lost is in its place again: from now on the volume is mounted as complete.
    ///
    /// # Errors
    /// The other end of a remote stage does not answer.
    fn has_all_devices(&mut self) -> Result<(), StagingError>;

    /// Waits until the device has been idle for a moment: at most ten seconds, or one if others use it too.
    ///
    /// # Errors
    /// As for [`Staged::look`].
    fn settle(&mut self) -> Result<Settled, StagingError>;

    /// The failure of a lower layer that explains an error better than its consequence: a device that is gone, a disk without room.
    fn failed_below(&mut self, during: &str) -> Option<StagingError>;

    /// Unmounts, checks the filesystem, and tears everything down.
    ///
    /// # Errors
    /// Something could not be torn down, or a lower layer is gone.
    fn close(self: Box<Self>) -> Result<Closing, StagingError>;
}

impl Staged for Stage<'_> {
    fn setup(&self) -> Setup {
        Setup {
            root: self.root().into(),
            root_inode: self.state.work_folder.as_ref().and_then(|folder| directory::inode(folder).ok()),
            device: self.device().map(|device| device.path.clone()),
            durable: self.durable().clone(),
            tools: self.tools(),
            found: self.found().clone(),
            shared: self.state.work.is_some(),
        }
    }

    fn engine(&mut self) -> Result<Engine, StagingError> {
        Ok(Engine::Here(self.engine_prefix()))
    }

    fn look(&mut self) -> Result<Snapshot, StagingError> {
        self.state.modelled.as_mut().map_or(Ok(()), Modelled::look)?;
        Ok(Snapshot::take())
    }

    fn late_since(&mut self, seen: &Evidence) -> Result<Option<DiskLateness>, StagingError> {
        self.state.modelled.as_mut().map_or(Ok(None), |modelled| modelled.late_since(seen))
    }

    fn since(&mut self, before: &Snapshot) -> Result<Evidence, StagingError> {
        Ok(Snapshot::take().since(before, self.watch()))
    }

    fn usage(&mut self) -> Result<Usage, StagingError> {
        Stage::usage(self)
    }

    fn sync(&mut self) -> Result<(), StagingError> {
        Stage::sync(self)?;
        self.rests();
        Ok(())
    }

    fn drop_caches(&mut self) -> Result<Dropped, StagingError> {
        Stage::drop_caches(self)
    }

    fn unmount_only(&mut self) -> Result<(), StagingError> {
        self.take_off_when_free(BUSY_LIMIT)?;
        self.forget()
    }

    fn mount_state(&mut self) -> Result<Duration, StagingError> {
        self.reopen_layers()?;
        self.forget()?;
        Ok(self.recover()? + self.put_back()?)
    }

    fn lose_device(&mut self, number: u64) -> Result<(), StagingError> {
        Stage::lose_device(self, number)
    }

    fn has_all_devices(&mut self) -> Result<(), StagingError> {
        Stage::has_all_devices(self)
    }

    fn settle(&mut self) -> Result<Settled, StagingError> {
        let shared = self.state.work.is_some();
        Ok(Stage::settle(self, if shared { PATIENCE_SHARED } else { PATIENCE }))
    }

    fn failed_below(&mut self, during: &str) -> Option<StagingError> {
        Stage::failed_below(self, during)
    }

    fn close(self: Box<Self>) -> Result<Closing, StagingError> {
        Stage::close(*self)
    }
}
