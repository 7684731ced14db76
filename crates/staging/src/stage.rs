//! A stage: one contender, made and mounted, ready for work.
//! In: built by [`crate::Target::stage`]. Out: where to work, what makes data safe, and what was found.
//! However it ends, it tears down what it set up.

pub(crate) mod around;
mod check;
mod cold;
mod daemon;
pub(crate) mod directory;
pub(crate) mod drop_caches;
pub(crate) mod dry_run;
mod failed_below;
mod handing;
mod inspect;
pub(crate) mod layers;
mod limits;
pub(crate) mod members;
pub(crate) mod prepared;
pub(crate) mod recipe;
pub(crate) mod remount;
mod shared;
pub(crate) mod split;
pub(crate) mod target;
pub(crate) mod volume_tools;

use crate::busy::when_free;
use crate::devices::image::Image;
use crate::devices::loops::{self, PATIENCE};
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::own_devices::Companion;
use crate::filesystems::template::Placeholders;
use crate::modelled::Modelled;
use crate::ownership::cleanup_journal::Made;
use crate::stage::daemon::Daemon;
use crate::stage::recipe::{Commands, Options};
use crate::stage::target::Target;
use around::Around;
pub(crate) use inspect::usage;
use limits::Limits;
use members::Members;
use records::program::Durable;
use records::{Closing, Found, Usage};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::{Activity, BlockDevice, Call, Command, Snapshot, Watch, mounts, occupants};

/// How long a sync, an unmount or a mount may take.
pub(crate) const SYNC_LIMIT: Duration = Duration::from_secs(3600);

/// How long to wait for a busy mount before it is detached lazily, or the state of a disk is given up.
pub(crate) const BUSY_LIMIT: Duration = Duration::from_secs(5);

/// At most this many processes that use a filesystem are named.
const OCCUPANTS: usize = 3;

/// How long the device must have been idle to count as settled.
const IDLE: Duration = Duration::from_millis(200);

/// The same right after formatting or mounting: mkfs and unmounting write everything back before they end, and activity after mounting
/// starts at once.
const IDLE_ANEW: Duration = Duration::from_millis(10);

/// How recent that must be.
const ANEW: Duration = Duration::from_secs(1);

/// Interval between two looks at a device.
const LOOK: Duration = Duration::from_millis(5);

/// What a stage begins with.
#[derive(Debug, Default)]
pub(crate) struct Beginning<'a> {
    /// Name of the contender.
    pub label: &'a str,
    /// Bytes at the image's beginning that hold data.
    pub filled: u64,
    /// The modelled disk for the image.
    pub disk: Option<String>,
    /// Folder for the image, if it is not the target's own.
    pub folder: Option<&'a Path>,
    /// Image that was restored from an aged one.
    pub restored: Option<Image>,
    /// Number of the volume's devices; 0 and 1 both mean one.
    pub devices: u32,
    /// Volume label, if it is not that of the run.
    pub volume: Option<String>,
}

/// One contender, ready for work. It borrows its target until it is closed.
#[derive(Debug)]
pub struct Stage<'g> {
    pub(crate) target: &'g mut Target,
    pub(crate) state: State,
}

/// What a stage consists of.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Description; absent for a raw device and a plain directory.
    pub filesystem: Option<Filesystem>,
    pub label: String,
    pub places: Placeholders,
    pub root: PathBuf,
    pub device: Option<BlockDevice>,
    pub watch: Watch,
    pub image: Option<Image>,
    /// The volume's other devices.
    pub members: Members,
    /// The server of a modelled disk, with the image in it.
    pub modelled: Option<Modelled>,
    pub daemon: Option<Daemon>,
    /// Layers below the filesystem, from the disks upward.
    pub layers: layers::Layers,
    /// Prefix of the filesystem's commands, if its tools are in a folder of their own.
    pub tools: Vec<String>,
    pub mounted: bool,
    /// Something held its device after unmounting, and the wait for it is over.
    pub is_held: bool,
    pub settings: Vec<(PathBuf, String)>,
    /// Counters when it was ready for work.
    pub began: Option<Snapshot>,
    /// When it was last made or mounted, with the device idle or nothing left to do on it.
    pub anew: Option<Instant>,
    /// When it was last mounted or completely written back, and the activity of its devices until then.
    pub rested: Option<(Instant, Vec<Option<Activity>>)>,
    /// The kernel treats the device as one without a cache, and sends no flushes.
    pub flushes_off: bool,
    /// Time that copying an aged image to the device took.
    pub copied: Duration,
    pub options: Options,
    pub durable: Durable,
    pub found: Found,
    /// A loop device of others keeps the lower layer in the page cache.
    pub keeps_pages_below: bool,
    /// A folder in a user's directory; it is removed with its content.
    pub work: Option<PathBuf>,
    /// That folder, open since it was made, so that its inode cannot be reused.
    pub work_folder: Option<OwnedFd>,
    /// Further devices of the contender, besides the one under test.
    pub own: Vec<Companion>,
    /// Effects of axes around it.
    pub around: Around,
}

/// How the wait for an idle device ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Seconds waited.
    pub seconds: f64,
    /// Whether the device was idle in the end; otherwise the wait timed out.
    pub idle: bool,
}

impl Stage<'_> {
    /// Directory in which to work. It exists and is empty.
    pub fn root(&self) -> &Path {
        &self.state.root
    }

    /// Device under test; absent if the directory is on none.
    pub fn device(&self) -> Option<&BlockDevice> {
        self.state.device.as_ref()
    }

    /// What the counters of a phase watch.
    pub fn watch(&self) -> &Watch {
        &self.state.watch
    }

    /// What was found after mounting.
    pub fn found(&self) -> &Found {
        &self.state.found
    }

    /// Prefix of commands that must see the mount; mostly empty. For the engine: [`Stage::engine_prefix`].
    pub fn enter(&self) -> &[String] {
        self.state.enter()
    }

    /// What makes written data safe here.
    pub fn durable(&self) -> &Durable {
        &self.state.durable
    }

    /// Time limits of commands on this stage.
    pub(crate) fn limits(&self) -> Limits {
        Limits::of(self.target.bytes())
    }

    /// Writes everything back.
    pub fn sync(&self) -> Result<(), StagingError> {
        let limit = self.limits().sync();
        let root = self.state.root.display().to_string();
        if self.state.durable.syncfs {
            self.sync_filesystem(limit)?;
        }
        if !self.state.durable.command.is_empty() {
            Command::new(self.state.durable.command.clone())
                .limit(limit)
                .run(&self.target.journal)
                .map_err(StagingError::command(format!("syncing {root}")))?;
        }
        self.state.durable.flush.iter().try_for_each(|device| limits::flush(device, limit))
    }

    fn sync_filesystem(&self, limit: Duration) -> Result<(), StagingError> {
        let call = Call::Sync(self.state.root.clone());
        if self.enter().is_empty() {
            let doing = StagingError::command(format!("syncing {}", self.state.label));
            return call.make(limit, &self.target.journal).map_err(doing);
        }
        self.run(Command::new(call.words()).prefixed(self.enter()), limit, "syncing")
    }

    /// Unmounts and mounts again; nothing may be open below the root. Returns the time that mounting took.
    pub fn remount(&mut self) -> Result<Duration, StagingError> {
        self.take_off()?;
        self.put_back()
    }

    /// Unmounts, and leaves everything else as it is.
    pub(crate) fn take_off(&mut self) -> Result<(), StagingError> {
        if let Some(commands) = self.state.commands() {
            self.run(commands.unmount(), self.limits().sync(), "unmounting")?;
            self.state.mounted = false;
        }
        Ok(())
    }

    /// The same, with retries while a process is about to let go: a server that is shutting down removes its lock file before it exits.
    /// Returns the time taken; the error names the processes that use the filesystem.
    pub(crate) fn take_off_when_free(&mut self, limit: Duration) -> Result<Duration, StagingError> {
        let unmounted = when_free(limit, || {
            let began = Instant::now();
            self.take_off().map(|()| began.elapsed())
        });
        unmounted.map_err(|error| self.with_occupants(error))
    }

    /// An unmount error, with the processes that use the filesystem.
    fn with_occupants(&self, error: StagingError) -> StagingError {
        let those = self.state.mount().map(|mount| occupants::of(mount.number)).unwrap_or_default();
        let named: Vec<String> = those.iter().take(OCCUPANTS).map(ToString::to_string).collect();
        match error {
            StagingError::Command { doing, error } if !named.is_empty() => {
                StagingError::Command { doing: format!("{doing}, which is in use by {}", named.join(", ")), error }
            }
            other => other,
        }
    }

    /// Mounts what was unmounted. Returns the time taken.
    pub(crate) fn put_back(&mut self) -> Result<Duration, StagingError> {
        let Some(commands) = self.state.commands() else {
            return Ok(Duration::ZERO);
        };
        let mount = commands.mount_again(self.state.members.lost.is_none());
        let began = Instant::now();
        self.run(mount, self.limits().mount(), "mounting again")?;
        self.unlock()?;
        let took = began.elapsed();
        self.state.mounted = true;
        Ok(took)
    }

    /// Space and inodes now.
    pub fn usage(&self) -> Result<Usage, StagingError> {
        usage(&self.state.seen(&self.state.root))
    }

    /// Records that all is written back: later activity of its devices is not left over from earlier work.
    pub(crate) fn rests(&mut self) {
        self.state.rested = Some((Instant::now(), self.activity()));
    }

    /// Records that it was just made or mounted, and is at rest.
    pub(crate) fn is_anew(&mut self) {
        self.state.anew = Some(Instant::now());
        self.rests();
    }

    /// What each device has done and has in flight.
    fn activity(&self) -> Vec<Option<Activity>> {
        self.state.watch.devices().map(|name| Activity::of(name)).collect()
    }

    /// Waits until the device has been idle for a moment, or the patience is over. If it has done nothing since all was written back, as
    /// during the turns of other contenders, idle time counts from there.
    pub fn settle(&self, patience: Duration) -> Settled {
        let began = Instant::now();
        let look = || self.activity();
        let wanted = match self.state.anew {
            Some(when) if when.elapsed() < ANEW => IDLE_ANEW,
            _ => IDLE,
        };
        let mut last = look();
        let is_busy = |seen: &[Option<Activity>]| seen.iter().flatten().any(Activity::is_busy);
        let rested = self.state.rested.as_ref().filter(|(_, then)| *then == last && !is_busy(&last));
        let mut quiet_since = rested.map_or_else(Instant::now, |(when, _)| *when);
        loop {
            let idle = quiet_since.elapsed() >= wanted || last.is_empty();
            if idle || began.elapsed() >= patience {
                return Settled { seconds: began.elapsed().as_secs_f64(), idle };
            }
            std::thread::sleep(LOOK);
            let now = look();
            if now != last || is_busy(&now) {
                last = now;
                quiet_since = Instant::now();
            }
        }
    }

    /// Unmounts, checks the filesystem, and tears everything down.
    pub fn close(mut self) -> Result<Closing, StagingError> {
        let mut closing = Closing { used: self.usage().ok(), axes: self.axes_after(), ..Closing::default() };
        if self.state.mounted {
            // Figures from fewer devices are not figures of this contender.
            self.is_whole().map_err(|error| self.explained(error, "the work"))?;
            self.has_its_servers()?;
            closing.unmount_seconds = self.unmount(&mut closing.remarks);
        }
        let since = self.state.began.as_ref().map(|began| Snapshot::take().since(began, &self.state.watch));
        let traffic = since.and_then(|since| since.device);
        closing.written_bytes = traffic.map(|traffic| traffic.written_bytes);
        closing.read_bytes = traffic.map(|traffic| traffic.read_bytes);
        if closing.unmount_seconds.is_some() {
            match self.holder_after_unmount() {
                None => self.check(&mut closing),
                Some(holder) => {
                    self.state.is_held = true;
                    closing.remarks.push(format!("not checked: {holder}"));
                }
            }
        }
        // A check on a lost device, or without a server, proves nothing about the filesystem.
        let amiss = closing.whole != Some(true) && self.state.filesystem.is_some();
        let gone = self.failed_below("unmounting and checking").filter(|error| match error {
            StagingError::Gone { .. } => amiss,
            _ => closing.whole == Some(false) && self.server_is_gone(),
        });
        let down = self.take_down();
        // The work was measured to its end, and the next stage has a loop device of its own.
        closing.remarks.extend(down.held);
        match gone {
            Some(gone) => Err(gone),
            None if down.problems.is_empty() => Ok(closing),
            None => Err(StagingError::LeftBehind(down.problems.join("; "))),
        }
    }

    /// Seconds that unmounting took; None if it is still busy and must be detached lazily.
    pub(crate) fn unmount(&mut self, remarks: &mut Vec<String>) -> Option<f64> {
        self.state.filesystem.as_ref()?;
        match self.take_off_when_free(BUSY_LIMIT) {
            Ok(took) => Some(took.as_secs_f64()),
            Err(why) => {
                remarks.push(format!("not checked, because it could not be unmounted: {why}"));
                None
            }
        }
    }

    /// What still uses the filesystem although it was unmounted here: a process in another mount namespace with a file or folder open in
    /// its copy of the mount. Its log is not yet written out. None once nothing uses it.
    fn holder_after_unmount(&self) -> Option<String> {
        // Servers use it, as they should, until they are ended.
        let served = self.state.filesystem.as_ref().is_some_and(|filesystem| filesystem.shared.is_some());
        let device = self.state.device.as_ref().filter(|_| !served)?;
        let began = Instant::now();
        let mut named = Vec::new();
        loop {
            let is_mounted = loops::is_mounted(device);
            if !is_mounted && !self.is_held() {
                return None;
            }
            if is_mounted || named.is_empty() {
                named = loops::holders(device);
                self.detach_copies();
            }
            if began.elapsed() > BUSY_LIMIT {
                let by = "a program, or a mount that is no longer visible,";
                let by = if named.is_empty() { by.into() } else { named.join(", ") };
                return Some(format!("{} is still in use by {by}", device.name));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Makes the kernel detach copies of the mount in other namespaces (of a service or container that started meanwhile), which happens
    /// when the folder of the mount point is removed. A process with nothing open there loses nothing.
    pub(crate) fn detach_copies(&self) {
        let point = &self.state.places.mountpoint;
        // The work folder in a user's directory is not our mount point.
        if !self.state.mounted && point.starts_with(self.target.mark.folder()) && std::fs::remove_dir(point).is_ok() {
            // If it cannot be made again, the next mount reports it.
            let _ = std::fs::create_dir(point);
        }
    }

    pub(crate) fn fill(&self, template: &[String]) -> Vec<String> {
        self.state.places.fill(template, &self.state.options.mount)
    }

    pub(crate) fn run(&self, command: Command, limit: Duration, doing: &str) -> Result<(), StagingError> {
        command
            .limit(limit)
            .run(&self.target.journal)
            .map(|_| ())
            .map_err(StagingError::command(format!("{doing} {}", self.state.label)))
    }

    /// Tears down what is still set up, in reverse order. Returns what could not be torn down, in words.
    pub(crate) fn take_down(&mut self) -> Down {
        self.target.take_down(&mut self.state)
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        for problem in self.take_down().all() {
            system::note(&format!("bakeoff: {problem} (`bakeoff clean` tries again)"));
        }
    }
}

impl State {
    /// Nothing is set up yet: the work is to happen in `root`, on this device.
    pub fn begun(label: &str, root: PathBuf, device: Option<BlockDevice>, places: Placeholders) -> State {
        let watch = device.as_ref().map_or_else(Watch::system, Watch::device);
        State { label: label.into(), places, root, watch, device, found: Found::nothing(), ..State::default() }
    }

    /// Prefix of commands that must see the mount.
    pub fn enter(&self) -> &[String] {
        self.daemon.as_ref().map_or(&self.tools, |daemon| &daemon.prefix)
    }

    /// The commands of its filesystem, once that is mounted.
    pub fn commands(&self) -> Option<Commands<'_>> {
        self.filesystem.as_ref().map(|filesystem| self.commands_of(filesystem))
    }

    /// The commands of this filesystem here.
    pub fn commands_of<'a>(&'a self, filesystem: &'a Filesystem) -> Commands<'a> {
        let (places, options, own) = (&self.places, &self.options, &self.own);
        Commands { spread: self.spread(filesystem), places, options, own, prefix: self.enter() }
    }

    /// Whether the filesystem has a cache of its own, which only mounting again empties.
    pub fn has_own_cache(&self) -> bool {
        self.filesystem.as_ref().is_some_and(|filesystem| filesystem.remount_empties_cache)
    }

    /// The path by which this process reaches a path of the stage, which may be in a daemon's mount namespace.
    pub fn seen(&self, path: &Path) -> PathBuf {
        match self.places.pid {
            Some(pid) if self.daemon.is_some() => {
                Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path))
            }
            _ => path.into(),
        }
    }

    /// What is mounted at the mount point, according to the kernel.
    pub fn mount(&self) -> Option<mounts::Mount> {
        let all = match self.places.pid {
            Some(pid) if self.daemon.is_some() => mounts::of_process(pid),
            _ => mounts::here(),
        };
        all.into_iter().rev().find(|mount| mount.point == self.places.mountpoint)
    }
}

/// What could not be torn down, in words.
#[derive(Debug, Default)]
pub struct Down {
    /// What the next stage would find changed.
    pub problems: Vec<String>,
    /// Loop devices of images, and the disk that served one, that are still held: nothing else depends on them.
    pub held: Vec<String>,
}

impl Down {
    /// All of it.
    pub(crate) fn all(self) -> Vec<String> {
        self.problems.into_iter().chain(self.held).collect()
    }
}

impl Target {
    /// Tears down what a stage set up, in reverse order.
    pub(crate) fn take_down(&mut self, state: &mut State) -> Down {
        let mut held = Vec::new();
        let mut problems = self.leave_groups(&mut state.around);
        for (path, was) in std::mem::take(&mut state.settings).into_iter().rev() {
            let problem = crate::devices::setting::write_setting(&path, &was, &self.journal).err();
            problems.extend(problem.map(|error| error.to_string()));
            self.mark.removed(|made| matches!(made, Made::Setting { path: known, .. } if *known == path));
        }
        if std::mem::take(&mut state.mounted) && state.daemon.is_none() {
            // A filesystem with more than a mount, such as a pool, has an unmount command of its own.
            let point = state.places.mountpoint.display().to_string();
            let own = state.commands().map(Commands::unmount);
            let lazily = ["umount", "--lazy", &point].map(String::from);
            let plain = own.unwrap_or_else(|| Command::new(["umount", &point])).limit(SYNC_LIMIT).run(&self.journal);
            if plain.is_err() {
                problems.extend(Command::new(lazily).run(&self.journal).err().map(|error| error.to_string()));
            }
        }
        if let Some(daemon) = state.daemon.take() {
            daemon.end(&self.journal, &mut self.mark);
        }
        problems.extend(self.close_layers(&mut state.layers));
        for image in state.image.take().into_iter().chain(state.more_images()) {
            let patience = if state.is_held { Duration::ZERO } else { PATIENCE };
            match self.remove_image(&image, patience) {
                Err(error @ StagingError::LeftBehind(_)) => held.push(error.among_others()),
                removed => problems.extend(removed.err().map(StagingError::among_others)),
            }
        }
        if let Some(modelled) = state.modelled.take() {
            // It served only this stage's image, and its process is ended in any case.
            held.extend(modelled.close().err().map(StagingError::among_others));
        }
        if let Some(work) = state.work.take() {
            match std::fs::remove_dir_all(&work) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    problems.push(format!("cannot remove {}: {error}", work.display()))
                }
                _ => self.mark.removed(|made| matches!(made, Made::Work { path } if *path == work)),
            }
        }
        problems.extend(self.give_back());
        self.remove_folder();
        Down { problems, held }
    }
}
