//! The commands that staging a contender will run, in order, without running any.
//! In: a contender and a place. Out: lines that can be typed in a shell.
//! Order and words are those of the recipe that the real run follows; values that are only known then are in capitals: N, ID, PID, WAS.

use crate::ageing::image_cache::{copying_from_device, copying_to_device, copying_to_file};
use crate::devices::custody::{emptying, zeroing};
use crate::devices::image;
use crate::devices::parts;
use crate::devices::wipe::unsigning;
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::options;
use crate::filesystems::own_devices::{self, Companion};
use crate::filesystems::registry::Registry;
use crate::filesystems::several::Spread;
use crate::filesystems::template::Placeholders;
use crate::filesystems::tools;
use crate::guests;
use crate::ownership::cleanup_journal::Mark;
use crate::ownership::owned::image_name;
use crate::stage::around;
use crate::stage::cold::keeps_pages;
use crate::stage::layers;
use crate::stage::recipe::{Commands, Options, Source, Step};
use crate::stage::split;
use crate::stage::target::{Where, check};
use records::{ColdWay, Contender};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::{BlockDevice, Call, Command, Journal, Record, Sysfs as _};

/// The commands for one trial of a contender, with cold phases started in this way if the contender allows it.
pub fn commands_for(
    registry: &Registry,
    contender: &Contender,
    place: &Where,
    cold: ColdWay,
) -> Result<Vec<String>, StagingError> {
    fits(registry, contender, place)?;
    let source = match place {
        Where::Directory(_) => Source::Directory,
        _ if contender.filesystem == crate::DEVICE => Source::Raw,
        _ => Source::Made,
    };
    lines(registry, contender, (place, Path::new("")), source, cold)
}

/// The commands for an aged contender.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgedCommands {
    /// Those that make what is aged, and keep it.
    pub once: Vec<String>,
    /// Those of each trial.
    pub each: Vec<String>,
}

/// The commands for a contender whose aged image is kept in `folder`.
pub fn aged_commands_for(
    registry: &Registry,
    contender: &Contender,
    place: &Where,
    cold: ColdWay,
    folder: &Path,
) -> Result<AgedCommands, StagingError> {
    fits(registry, contender, place)?;
    let kept = &folder.join("KEY.img");
    let beside = match place {
        Where::Image { bytes, .. } => Where::Image { bytes: *bytes, folder: folder.into() },
        other => other.clone(),
    };
    let once = lines(registry, contender, (&beside, kept), Source::ToAge, cold)?;
    Ok(AgedCommands { once, each: lines(registry, contender, (place, kept), Source::Kept, cold)? })
}

fn fits(registry: &Registry, contender: &Contender, place: &Where) -> Result<(), StagingError> {
    let bytes = match place {
        Where::Image { bytes, .. } => Some(*bytes),
        _ => None,
    };
    check(registry, contender, (place, false), bytes)
}

fn lines(
    registry: &Registry,
    contender: &Contender,
    (place, kept): (&Where, &Path),
    source: Source,
    cold: ColdWay,
) -> Result<Vec<String>, StagingError> {
    let (mark, journal) = (Mark::new(true)?, Journal::planning());
    let devices = axes::disks_of(contender) as usize;
    let on_image = matches!(place, Where::Image { .. });
    let places = places(place, &mark, devices);
    let mut plan = Plan::of(registry, contender, kept, (places, on_image), &journal)?;
    plan.cold = cold;
    let images = plan.attach(place, &mark, source);
    let guest = contender.kernel.as_deref().filter(|kernel| guests::is_guest(Some(kernel)));
    match guest {
        Some(kernel) => plan.print_in_guest(kernel, &mark, registry, source)?,
        None => plan.print_all(source)?,
    }
    plan.give_back(place, &images, (source, &mark));
    Ok(journal.drain().iter().map(Record::typed).collect())
}

/// What is printed of one contender, as far as that is known before a run.
struct Plan<'a> {
    contender: &'a Contender,
    filesystem: Option<&'a Filesystem>,
    /// The kept image of an aged contender.
    kept: &'a Path,
    places: Placeholders,
    on_image: bool,
    options: Options,
    own: Vec<Companion>,
    prefix: Vec<String>,
    cold: ColdWay,
    /// Commands that undo the axes, in their order.
    undo: Vec<Command>,
    journal: &'a Journal,
}

impl<'a> Plan<'a> {
    fn of(
        registry: &'a Registry,
        contender: &'a Contender,
        kept: &'a Path,
        (places, on_image): (Placeholders, bool),
        journal: &'a Journal,
    ) -> Result<Plan<'a>, StagingError> {
        let filesystem = registry.get(&contender.filesystem).ok();
        let own = filesystem.map_or(Ok(Vec::new()), |filesystem| planned_devices(filesystem, contender))?;
        let options = filesystem.map(|known| Options::of(known, contender, &own)).unwrap_or_default();
        let prefix = filesystem.map(tools::prefix).unwrap_or_default();
        let places = Placeholders { devices: own_devices::checking(&places, &own), ..places };
        let (cold, undo) = (ColdWay::default(), Vec::new());
        Ok(Plan { contender, filesystem, kept, places, on_image, options, own, prefix, cold, undo, journal })
    }

    fn commands(&self) -> Option<Commands<'_>> {
        let spread = Spread::over(self.filesystem?, self.places.members.len());
        let (places, options, own, prefix) = (&self.places, &self.options, &self.own[..], &self.prefix[..]);
        Some(Commands { spread, places, options, own, prefix })
    }

    fn add(&self, command: impl IntoIterator<Item = Command>) {
        command.into_iter().for_each(|command| add(self.journal, command));
    }

    fn call(&self, call: Call) {
        // A planning journal only records, and never fails.
        let _ = call.make(Duration::ZERO, self.journal);
    }

    /// Prints what makes the images and attaches them; returns their files.
    fn attach(&self, place: &Where, mark: &Mark, source: Source) -> Vec<PathBuf> {
        let Where::Image { bytes, folder } = place else { return Vec::new() };
        let folder = &folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let count = self.places.members.len().max(1) as u32;
        let paths: Vec<PathBuf> = (1..=count).map(|number| folder.join(image_name(mark.id(), number))).collect();
        let filled = if source == Source::Raw { *bytes } else { 0 };
        let sector = BlockDevice::under(folder).map_or(512, |device| device.logical_sector);
        for path in &paths {
            let copied = source == Source::Kept;
            self.add(copied.then(|| copying_to_file(self.kept, path)).into_iter().flatten());
            let making = image::making(path, *bytes, filled, sector).into_iter();
            self.add(making.skip(usize::from(copied)).map(|(command, _)| command));
        }
        paths
    }

    /// Prints the commands of the host, which starts the guest, and those that the guest runs.
    fn print_in_guest(
        &self,
        kernel: &str,
        mark: &Mark,
        registry: &Registry,
        source: Source,
    ) -> Result<(), StagingError> {
        if !self.on_image {
            self.add([unsigning(&self.places.device)]);
        }
        let devices = axes::disks_of(self.contender) as usize;
        let disks = if devices > 1 { self.places.members.clone() } else { vec![self.places.device.clone()] };
        self.add([guests::planned(kernel, &disks, &mark.folder())]);
        let journal = Journal::planning();
        let disk = in_guest(&self.places, devices);
        let mut inside = Plan::of(registry, self.contender, self.kept, (disk, false), &journal)?;
        inside.prefix = self.filesystem.map(tools::prefix_in_guest).unwrap_or_default();
        inside.cold = ColdWay::Drop;
        inside.print_all(source)?;
        let records = journal.drain().into_iter();
        records.for_each(|record| self.journal.add(Record { guest: Some(kernel.into()), ..record }));
        Ok(())
    }

    /// Prints the recipe, what a trial does besides its work, and the end.
    fn print_all(&mut self, source: Source) -> Result<(), StagingError> {
        source.recipe().iter().try_for_each(|step| self.print(*step))?;
        match source {
            Source::Directory => {
                self.call(Call::Sync("DIRECTORY/bakeoff-ID-work".into()));
                if system::process::is_root() {
                    self.call(Call::DropCaches);
                }
            }
            Source::Raw if self.cold == ColdWay::Remount => self.call(Call::FlushBuffers(self.places.device.clone())),
            Source::Raw => self.call(Call::DropCaches),
            Source::Made | Source::ToAge | Source::Kept => self.print_trial(source),
        }
        let undo = std::mem::take(&mut self.undo);
        self.add(undo);
        if let Some(daemon) = self.filesystem.and_then(|filesystem| filesystem.daemon.as_ref()) {
            self.add([Command::new(self.places.fill(&daemon.give_up, &[])).prefixed(&self.prefix)]);
        }
        Ok(())
    }

    fn print(&mut self, step: Step) -> Result<(), StagingError> {
        let device = self.places.device.clone();
        match step {
            Step::Serve => {
                if let Some(daemon) = self.filesystem.and_then(|filesystem| filesystem.daemon.as_ref()) {
                    self.add([Command::new(self.places.fill(&daemon.command, &[]))]);
                    self.prefix = self.places.fill(&daemon.prefix, &[]);
                }
            }
            Step::SetDevice => self.set(axes::on_device(self.contender))?,
            Step::SetMounted => self.set(axes::on_mounted(self.contender))?,
            Step::Empty if !self.on_image => {
                self.add([unsigning(&device), zeroing(&device, BlockDevice::find(&device).ok().as_ref())]);
            }
            Step::Copy if !self.on_image => {
                self.add([unsigning(&device)]);
                self.add(copying_to_device(self.kept, &device));
            }
            Step::Build => self.print_layers(),
            Step::Make => {
                let has_layers = !axes::stack(self.contender).rungs().is_empty();
                self.add((!self.on_image && !has_layers).then(|| unsigning(&device)));
                self.add(self.own.iter().map(|taken| unsigning(&taken.device.path)));
                self.add(self.commands().map(Commands::make_own).unwrap_or_default());
                self.add(self.commands().map(Commands::make));
            }
            Step::Mount => self.add(self.commands().and_then(Commands::mount)),
            Step::MountKept => self.add(self.commands().map(|commands| commands.mount_again(true))),
            Step::Encrypt => self.add(self.commands().and_then(Commands::encrypt).into_iter().flatten()),
            Step::FindDevices => self.add(self.commands().and_then(Commands::find_devices)),
            Step::ReadBack => {
                let tools = self.commands().map(Commands::inspect).unwrap_or_default();
                self.add(tools.into_iter().map(|(_, command)| command));
            }
            Step::Empty | Step::Copy | Step::Describe => {}
        }
        Ok(())
    }

    /// Prints what builds the layers; from then on the highest is the device.
    fn print_layers(&mut self) {
        let disks =
            if self.places.members.is_empty() { vec![self.places.device.clone()] } else { self.places.members.clone() };
        let stack = axes::stack(self.contender);
        let divided = stack.divided(&self.places.device);
        let parts = divided.as_ref().map(|(_, parts)| parts);
        let built = layers::placed(&stack, parts.unwrap_or(&disks), &self.places.label);
        let Some(device) = layers::top(&built) else { return };
        self.add([unsigning(&self.places.device)]);
        self.add(divided.map(|(command, _)| Command::new(command)));
        self.add(built.iter().flat_map(layers::commands));
        self.places.name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (self.places.device, self.places.members) = (device, Vec::new());
        self.undo.extend(layers::closing(&built));
    }

    fn set(&mut self, acting: Vec<axes::Acting>) -> Result<(), StagingError> {
        let own_cache = self.filesystem.is_some_and(|filesystem| filesystem.remount_empties_cache);
        let back = around::planned(self.contender, acting, (&self.places.name, own_cache), self.journal)?;
        self.undo.splice(0..0, back);
        Ok(())
    }

    /// Prints what a trial runs on its mounted filesystem, and after it.
    fn print_trial(&self, source: Source) {
        let Some(commands) = self.commands() else { return };
        if commands.spread.filesystem.sync.syncfs {
            self.call(Call::Sync(self.places.mountpoint.join("work")));
        }
        self.add(commands.sync());
        if source == Source::ToAge {
            self.add([commands.unmount()]);
            self.add(commands.free_space());
            return;
        }
        self.print_cold_start(commands);
        self.add(commands.find_devices());
        self.add(commands.find_servers());
        self.add([commands.unmount()]);
        self.add(commands.check());
    }

    fn print_cold_start(&self, commands: Commands<'_>) {
        let filesystem = commands.spread.filesystem;
        let by_remount = self.cold == ColdWay::Remount && filesystem.daemon.is_none() && !self.uses_page_cache();
        if by_remount || filesystem.remount_empties_cache {
            self.add([commands.unmount()]);
            if !filesystem.remount_empties_cache {
                let others = self.places.members.iter().skip(1);
                let own = self.own.iter().map(|taken| &taken.device.path);
                let devices = std::iter::once(&self.places.device).chain(others).chain(own);
                devices.for_each(|device| self.call(Call::FlushBuffers(device.clone())));
            }
            self.add([commands.mount_again(true)]);
        }
        if by_remount && !filesystem.remount_empties_cache {
            return;
        }
        self.add(commands.checkpoint());
        self.call(Call::DropCaches);
    }

    /// Whether a loop device of others keeps the lower layer of a real device in the page cache.
    fn uses_page_cache(&self) -> bool {
        let found = BlockDevice::find(&self.places.device).ok().filter(|_| !self.on_image);
        found.is_some_and(|device| keeps_pages(&device) || device.below().iter().any(keeps_pages))
    }

    /// Prints what detaches images, keeps an aged one, and empties real devices.
    fn give_back(&self, place: &Where, images: &[PathBuf], (source, mark): (Source, &Mark)) {
        let device = &self.places.device;
        if let (Source::ToAge, false) = (source, self.on_image) {
            let bytes = BlockDevice::find(device).map_or(0, |found| found.size_bytes);
            let part = self.kept.with_file_name(image_name(mark.id(), 1));
            self.add(copying_from_device(device, &part, bytes));
        }
        for device in std::iter::once(device).chain(self.places.members.iter().skip(1)).take(images.len()) {
            self.add([Command::new(["losetup", "--detach", &device.display().to_string()])]);
        }
        if !self.on_image && self.filesystem.is_some() && source != Source::Directory {
            let found = split::planned(place).or_else(|| BlockDevice::find(device).ok());
            self.empty(device, found.as_ref());
        }
        self.own.iter().for_each(|taken| self.empty(&taken.device.path, Some(&taken.device)));
    }

    /// Prints what empties a real device at the end.
    fn empty(&self, device: &Path, found: Option<&BlockDevice>) {
        self.add([unsigning(device), emptying(device, found)]);
    }
}

/// The contender's own devices, as far as they exist.
fn planned_devices(filesystem: &Filesystem, contender: &Contender) -> Result<Vec<Companion>, StagingError> {
    let named = options::devices(filesystem, contender)?.into_iter();
    Ok(named.filter_map(|own| Some(Companion { rule: own.rule, device: BlockDevice::find(&own.path).ok()? })).collect())
}

/// The places as a guest sees them.
pub(crate) fn in_guest(places: &Placeholders, devices: usize) -> Placeholders {
    let members = if devices > 1 { guests::disks(devices) } else { Vec::new() };
    Placeholders { device: guests::DISK.into(), name: "vda".into(), members, ..places.clone() }
}

/// Loop devices get their numbers when they are attached.
fn loops(devices: usize) -> Vec<PathBuf> {
    let name = |more: usize| if more == 0 { "/dev/loopN".into() } else { PathBuf::from(format!("/dev/loopN+{more}")) };
    (0..devices).map(name).collect()
}

pub(crate) fn places(place: &Where, mark: &Mark, devices: usize) -> Placeholders {
    let (device, name) = match place {
        Where::Device { path, .. } | Where::Reading(path) => {
            let found = BlockDevice::find(path).ok();
            let name = found.as_ref().map_or_else(|| "DEVICE".into(), BlockDevice::disk);
            (found.map_or_else(|| path.clone(), |device| device.path), name)
        }
        Where::Part { disk, .. } => {
            let found = BlockDevice::find(disk).ok();
            let name = found.as_ref().map_or_else(|| "DEVICE".into(), BlockDevice::disk);
            (parts::node(found.as_ref().map_or(disk, |found| &found.path), "N"), name)
        }
        _ => (PathBuf::from("/dev/loopN"), "loopN".to_string()),
    };
    Placeholders {
        device,
        name,
        mountpoint: mark.folder().join("mnt"),
        label: mark.label(),
        nodes: mark.folder().join("nodes"),
        servers: mark.folder().join("servers"),
        devices: Vec::new(),
        members: if devices > 1 { loops(devices) } else { Vec::new() },
        pid: None,
    }
}

pub(super) fn add(journal: &Journal, command: Command) {
    // A planning journal only records, and never fails.
    let _ = command.run(journal);
}
