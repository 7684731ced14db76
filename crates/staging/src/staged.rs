//! What a run asks of a contender that is set up, wherever that is: one trait, and the answers of the stage on this machine.
//! In: questions of a trial. Out: where to work, what was found, what was counted, and what closing showed.
//! [`crate::Remote`] answers the same for a stage elsewhere.

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

/// How long a busy device is waited for before a phase begins: what is left of the work before.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where a directory's disk serves others too, whose work does not end for us.
const PATIENCE_SHARED: Duration = Duration::from_secs(1);

/// What is known of a stage once it stands; none of it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Directory in which to work. It exists and is empty.
    pub root: PathBuf,
    /// Its inode, where others than root could put another folder in its place.
    pub root_inode: Option<Inode>,
    /// Device under test, as the engine names it; None where the directory is on none.
    pub device: Option<PathBuf>,
    /// What makes written data safe there.
    pub durable: Durable,
    /// What the filesystem's own tools do to it as a whole.
    pub tools: Tools,
    /// Options, durability class, sizes and times as found, with remarks that belong beside every figure.
    pub found: Found,
    /// Whether others use the filesystem and its disk too, as they do those of a directory.
    pub shared: bool,
}

/// How the engine is reached.
pub enum Engine {
    /// As a process beside this one, with these words before its command.
    Here(Vec<String>),
    /// It was started where the stage is.
    Elsewhere(Line),
}

/// A line to an engine that somebody else started.
pub struct Line {
    /// For its requests, each a line that is flushed.
    pub input: Box<dyn Write + Send>,
    /// Of its replies.
    pub output: Box<dyn Read + Send>,
    /// How it ended, in words, asked after the output has ended.
    pub fate: Box<dyn Fn() -> String + Send>,
    /// Ends the conversation and then the engine, so that the output ends.
    pub hang_up: Box<dyn Fn() + Send>,
}

/// A contender, made and mounted. Dropped without having been closed, it takes down what it set up.
pub trait Staged {
    /// What is known of it from the beginning.
    fn setup(&self) -> Setup;

    /// Name of the machine that the work runs on, where that is another than this one.
    fn machine(&self) -> Option<String> {
        None
    }

    /// Starts the engine where it must be started there, or says how to start it here.
    ///
    /// # Errors
    /// It cannot be started.
    fn engine(&mut self) -> Result<Engine, StagingError>;

    /// Looks at the counters before a pass, wherever the work runs.
    ///
    /// # Errors
    /// The other end of a remote stage does not answer.
    fn look(&mut self) -> Result<Snapshot, StagingError>;

    /// What they counted since.
    ///
    /// # Errors
    /// As for [`Staged::look`].
    fn since(&mut self, before: &Snapshot) -> Result<Evidence, StagingError>;

    /// How late a modelled disk was since the last [`Staged::look`], with what the counters saw since then; None on other disks.
    ///
    /// # Errors
    /// The process that serves the disk is gone.
    fn late_since(&mut self, _seen: &Evidence) -> Result<Option<DiskLateness>, StagingError> {
        Ok(None)
    }

    /// Space and inodes now.
    ///
    /// # Errors
    /// The filesystem does not tell.
    fn usage(&mut self) -> Result<Usage, StagingError>;

    /// Writes everything back.
    ///
    /// # Errors
    /// It cannot be written back.
    fn sync(&mut self) -> Result<(), StagingError>;

    /// Syncs, and empties caches for a cold start, by the way that is asked for as far as it can be gone there.
    ///
    /// # Errors
    /// What was written cannot be written back, or it cannot be mounted again.
    fn drop_caches(&mut self) -> Result<Dropped, StagingError>;

    /// Unmounts, and leaves everything else as it is. A process that copied this mount namespace keeps the filesystem, and mounting again would show
    /// what the kernel remembers of it: so it is waited for.
    ///
    /// # Errors
    /// What unmounting answered, or that somebody keeps it.
    fn unmount_only(&mut self) -> Result<(), StagingError>;

    /// Mounts what [`Staged::unmount_only`] unmounted, whatever stands on the device by now, after what must be done for that. How long it took.
    ///
    /// # Errors
    /// What mounting answered, or that somebody keeps it.
    fn mount_state(&mut self) -> Result<Duration, StagingError>;

    /// Takes what is on one of the volume's devices away, by its number from 1 on, and mounts what is left. A blank device is in its place then.
    ///
    /// # Errors
    /// The volume lies on one device, or is not mounted without that one.
    fn lose_device(&mut self, number: u64) -> Result<(), StagingError>;

    /// What was lost is in its place again: from now on it is mounted as a whole one.
    ///
    /// # Errors
    /// The other end of a remote stage does not answer.
    fn has_all_devices(&mut self) -> Result<(), StagingError>;

    /// Waits until the device has been idle for a moment, for ten seconds at most; for one where others use it too.
    ///
    /// # Errors
    /// As for [`Staged::look`].
    fn settle(&mut self) -> Result<Settled, StagingError>;

    /// What lies beneath and explains a failure better than its consequence does: a device that is gone, a disk without room.
    fn beneath(&mut self, during: &str) -> Option<StagingError>;

    /// Unmounts, checks the filesystem, and takes everything down.
    ///
    /// # Errors
    /// Something could not be taken down, or what lies beneath is gone.
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

    fn beneath(&mut self, during: &str) -> Option<StagingError> {
        Stage::beneath(self, during)
    }

    fn close(self: Box<Self>) -> Result<Closing, StagingError> {
        Stage::close(*self)
    }
}
