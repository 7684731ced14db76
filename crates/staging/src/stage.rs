//! A stage: one contender, made and mounted, ready for work.
//! In: built by [`crate::Target::stage`]. Out: where to work, what makes data safe, and what was found.
//! Whatever way it ends, it takes down what it set up.

pub(crate) mod around;
mod beneath;
mod check;
mod cold;
mod daemon;
pub(crate) mod directory;
pub(crate) mod drop_caches;
pub(crate) mod dry_run;
mod handing;
mod inspect;
mod limits;
pub(crate) mod members;
mod mount;
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

/// How long a mount that is busy is waited for before it is taken out of sight, or the state of a disk given up.
pub(crate) const BUSY_LIMIT: Duration = Duration::from_secs(5);

/// So many of those who have a filesystem in use are named.
const OCCUPANTS: usize = 3;

/// How long the device must have been idle to count as settled.
const IDLE: Duration = Duration::from_millis(200);

/// The same where it was just made or mounted: mkfs and unmounting write everything back before they end, and what mounting begins
/// shows at once.
const IDLE_ANEW: Duration = Duration::from_millis(20);

/// How long ago that is at most.
const ANEW: Duration = Duration::from_secs(1);

/// How often a device is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What a stage begins with.
#[derive(Debug, Default)]
pub(crate) struct Beginning<'a> {
    /// Name of the contender.
    pub label: &'a str,
    /// Bytes at the image's beginning that hold data.
    pub filled: u64,
    /// The disk that this machine does not have, on which the image is to lie.
    pub disk: Option<String>,
    /// Folder for the image, where it is not the target's own.
    pub folder: Option<&'a Path>,
    /// Image that was restored from an aged one.
    pub restored: Option<Image>,
    /// How many devices the volume lies on; 0 and 1 are one.
    pub devices: u32,
    /// Volume label, where it is not that of the run.
    pub volume: Option<String>,
}

/// One contender, ready for work. It keeps its target to itself until it is closed.
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
    /// What serves a modelled disk, with the image in it.
    pub modelled: Option<Modelled>,
    pub daemon: Option<Daemon>,
    /// Stands before the filesystem's commands where its tools lie in a folder of their own.
    pub tools: Vec<String>,
    pub mounted: bool,
    /// Somebody holds its device after unmounting, and was waited for.
    pub is_held: bool,
    pub settings: Vec<(PathBuf, String)>,
    /// Counters when it was ready for work.
    pub began: Option<Snapshot>,
    /// When it was made or mounted, the last time, after the device had been idle or nothing was left to be done on it.
    pub anew: Option<Instant>,
    /// When it was mounted, or all was written back, the last time, and what its devices had done until then.
    pub rested: Option<(Instant, Vec<Option<Activity>>)>,
    /// The kernel was told that the device has no cache, and sends no flushes.
    pub flushes_off: bool,
    pub list: Vec<String>,
    pub durable: Durable,
    pub found: Found,
    /// A folder in a user's directory that is removed with its content.
    pub work: Option<PathBuf>,
    /// That folder, open since it was made, so that no other gets its inode.
    pub work_folder: Option<OwnedFd>,
    /// Devices of the contender's own, beside the one under test.
    pub own: Vec<Companion>,
    /// What axes did around it.
    pub around: Around,
}

/// How the wait for an idle device ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Seconds waited.
    pub seconds: f64,
    /// Whether it was idle in the end, rather than the patience over.
    pub idle: bool,
}

impl Stage<'_> {
    /// Directory in which to work. It exists and is empty.
    pub fn root(&self) -> &Path {
        &self.state.root
    }

    /// Device under test; absent where the directory is on none.
    pub fn device(&self) -> Option<&BlockDevice> {
        self.state.device.as_ref()
    }

    /// What the counters of a phase must watch.
    pub fn watch(&self) -> &Watch {
        &self.state.watch
    }

    /// What was found after mounting.
    pub fn found(&self) -> &Found {
        &self.state.found
    }

    /// Words to be put before a command, so that it sees the mount; mostly none. Before the engine's: [`Stage::engine_prefix`].
    pub fn enter(&self) -> &[String] {
        self.state.daemon.as_ref().map_or(&self.state.tools, |daemon| &daemon.prefix)
    }

    /// What makes written data safe here.
    pub fn durable(&self) -> &Durable {
        &self.state.durable
    }

    /// How long commands may take here.
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
        self.run(&call.words(), limit, "syncing")
    }

    /// Unmounts and mounts again; nothing may be open below the root. How long the mounting took.
    pub fn remount(&mut self) -> Result<Duration, StagingError> {
        self.take_off()?;
        self.put_back()
    }

    /// Unmounts, and leaves everything else as it is.
    pub(crate) fn take_off(&mut self) -> Result<(), StagingError> {
        if let Some(filesystem) = &self.state.filesystem {
            self.run(&self.fill(&filesystem.mount.unmount), self.limits().sync(), "unmounting")?;
            self.state.mounted = false;
        }
        Ok(())
    }

    /// The same, once those have let go of it who are about to: a server that was told to end removes its lock file before it is gone. How long it took; the error
    /// tells who has it in use.
    pub(crate) fn take_off_when_free(&mut self, limit: Duration) -> Result<Duration, StagingError> {
        let unmounted = when_free(limit, || {
            let began = Instant::now();
            self.take_off().map(|()| began.elapsed())
        });
        unmounted.map_err(|error| self.told_who_uses_it(error))
    }

    /// An error of unmounting, with those who have the filesystem in use.
    fn told_who_uses_it(&self, error: StagingError) -> StagingError {
        let those = self.state.mount().map(|mount| occupants::of(mount.number)).unwrap_or_default();
        let named: Vec<String> = those.iter().take(OCCUPANTS).map(ToString::to_string).collect();
        match error {
            StagingError::Command { doing, error } if !named.is_empty() => {
                StagingError::Command { doing: format!("{doing}, which is in use by {}", named.join(", ")), error }
            }
            other => other,
        }
    }

    /// Mounts what was taken off. How long it took.
    pub(crate) fn put_back(&mut self) -> Result<Duration, StagingError> {
        let Some(filesystem) = self.state.filesystem.clone() else {
            return Ok(Duration::ZERO);
        };
        let template = self.state.spread(&filesystem).mount_again(self.state.members.lost.is_none());
        let began = Instant::now();
        let mount = self.fill(template);
        self.run(&mount, self.limits().mount(), "mounting again")?;
        let took = began.elapsed();
        self.state.mounted = true;
        Ok(took)
    }

    /// Space and inodes now.
    pub fn usage(&self) -> Result<Usage, StagingError> {
        usage(&self.state.seen(&self.state.root))
    }

    /// All is written back, and what its devices do from now on is nothing that was left to be done.
    pub(crate) fn rests(&mut self) {
        self.state.rested = Some((Instant::now(), self.activity()));
    }

    /// It was made or mounted, and rests.
    pub(crate) fn is_anew(&mut self) {
        self.state.anew = Some(Instant::now());
        self.rests();
    }

    /// What each device has done and has in hand.
    fn activity(&self) -> Vec<Option<Activity>> {
        self.state.watch.devices().map(|name| Activity::of(name)).collect()
    }

    /// Waits until the device has been idle for a moment, or the patience is over. Where it has done nothing since all was written back, as while others
    /// had their turn, that was the moment.
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

    /// Unmounts, checks the filesystem, and takes everything down.
    pub fn close(mut self) -> Result<Closing, StagingError> {
        let mut closing = Closing { used: self.usage().ok(), axes: self.axes_after(), ..Closing::default() };
        if self.state.mounted {
            // What was measured on fewer devices is no figure of this contender.
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
        // What was left on a device that is gone, or could not be looked at without a server, says nothing of the filesystem.
        let amiss = closing.whole != Some(true) && self.state.filesystem.is_some();
        let gone = self.beneath("unmounting and checking").filter(|error| match error {
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

    /// Seconds that it took; None where it had to be taken out of sight while still busy.
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

    /// Who still has the filesystem in use although it was unmounted here: a process in another mount namespace with a file or folder
    /// open in its copy of the mount. Its log is not yet written out. None once nothing has it.
    fn holder_after_unmount(&self) -> Option<String> {
        // Servers have it in use, as they should, until they are ended.
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

    /// Has the kernel detach copies of the mount in other namespaces (of a service or container that started meanwhile): it does so when
    /// the folder is removed on which they are mounted. A process with nothing open there loses nothing.
    pub(crate) fn detach_copies(&self) {
        let point = &self.state.places.mountpoint;
        // The work folder of a user's directory is no mountpoint of ours.
        if !self.state.mounted && point.starts_with(self.target.mark.folder()) && std::fs::remove_dir(point).is_ok() {
            // Where it cannot be made again, the next mount tells.
            let _ = std::fs::create_dir(point);
        }
    }

    pub(crate) fn fill(&self, template: &[String]) -> Vec<String> {
        self.state.places.fill(template, &self.state.list)
    }

    pub(crate) fn run(&self, words: &[String], limit: Duration, doing: &str) -> Result<(), StagingError> {
        Command::new(words.to_vec())
            .prefixed(self.enter())
            .limit(limit)
            .run(&self.target.journal)
            .map(|_| ())
            .map_err(StagingError::command(format!("{doing} {}", self.state.label)))
    }

    /// Takes down what is still up, the last first. What could not be taken down, in words.
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
    /// Nothing done yet: work is to happen in `root`, on this device.
    pub fn begun(label: &str, root: PathBuf, device: Option<BlockDevice>, places: Placeholders) -> State {
        let watch = device.as_ref().map_or_else(Watch::system, Watch::device);
        State { label: label.into(), places, root, watch, device, found: Found::nothing(), ..State::default() }
    }

    /// Whether the filesystem keeps a cache of its own, which only mounting anew empties.
    pub fn has_own_cache(&self) -> bool {
        self.filesystem.as_ref().is_some_and(|filesystem| filesystem.remount_empties_cache)
    }

    /// The path by which this process reaches a path of the stage, which may lie in a daemon's mount namespace.
    pub fn seen(&self, path: &Path) -> PathBuf {
        match self.places.pid {
            Some(pid) if self.daemon.is_some() => {
                Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path))
            }
            _ => path.into(),
        }
    }

    /// What is mounted at the mountpoint, by the kernel's word.
    pub fn mount(&self) -> Option<mounts::Mount> {
        let all = match self.places.pid {
            Some(pid) if self.daemon.is_some() => mounts::of_process(pid),
            _ => mounts::here(),
        };
        all.into_iter().rev().find(|mount| mount.point == self.places.mountpoint)
    }
}

/// What could not be taken down, in words.
#[derive(Debug, Default)]
pub struct Down {
    /// What the next stage would find changed.
    pub problems: Vec<String>,
    /// Loop devices of images, and the disk that served one, that somebody holds: nothing else stands on them.
    pub held: Vec<String>,
}

impl Down {
    /// All of it.
    pub(crate) fn all(self) -> Vec<String> {
        self.problems.into_iter().chain(self.held).collect()
    }
}

impl Target {
    /// Takes down what a stage set up, the last first.
    pub(crate) fn take_down(&mut self, state: &mut State) -> Down {
        let mut held = Vec::new();
        let mut problems = self.leave_groups(&mut state.around);
        for (path, was) in std::mem::take(&mut state.settings).into_iter().rev() {
            let problem = crate::devices::setting::write_setting(&path, &was, &self.journal).err();
            problems.extend(problem.map(|error| error.to_string()));
            self.mark.removed(|made| matches!(made, Made::Setting { path: known, .. } if *known == path));
        }
        if std::mem::take(&mut state.mounted) && state.daemon.is_none() {
            // Whoever has more than a mount, such as a pool, has a command of its own that takes it off.
            let own = state.filesystem.as_ref().map(|known| state.places.fill(&known.mount.unmount, &state.list));
            let words = own.unwrap_or_else(|| vec!["umount".into(), state.places.mountpoint.display().to_string()]);
            let lazily = ["umount", "--lazy", &state.places.mountpoint.display().to_string()].map(String::from);
            let plain = Command::new(words).prefixed(&state.tools).limit(SYNC_LIMIT).run(&self.journal);
            if plain.is_err() {
                problems.extend(Command::new(lazily).run(&self.journal).err().map(|error| error.to_string()));
            }
        }
        if let Some(daemon) = state.daemon.take() {
            daemon.end(&self.journal, &mut self.mark);
        }
        for image in state.image.take().into_iter().chain(state.more_images()) {
            let patience = if state.is_held { Duration::ZERO } else { PATIENCE };
            match self.remove_image(&image, patience) {
                Err(error @ StagingError::LeftBehind(_)) => held.push(error.among_others()),
                removed => problems.extend(removed.err().map(StagingError::among_others)),
            }
        }
        if let Some(modelled) = state.modelled.take() {
            // It served this stage's image alone, and its process is ended in any case.
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
