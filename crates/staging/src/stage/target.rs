//! The target: where contenders are set up, one after the other.
//! In: [`Where`]. Out: a [`Stage`] for each requested contender.
//! A device is held from opening to dropping; an image is made for each stage and removed after it.

use crate::devices::custody::{Erasable, Readable};
use crate::devices::image::{self, Image};
use crate::devices::loops::PATIENCE;
use crate::devices::parts::Part;
use crate::error::StagingError;
use crate::filesystems::options;
use crate::filesystems::registry::Registry;
use crate::filesystems::template::Placeholders;
use crate::guests::{self, Guests};
use crate::modelled::Modelled;
use crate::ownership::cleanup_journal::{Made, Mark};
use crate::ownership::owned::remove_empty;
use crate::stage::handing::Own;
use crate::stage::prepared::{Prepared, Request};
use crate::stage::recipe::Source;
use crate::stage::{Beginning, Stage, State};
use crate::stage::{around, layers, members};
use crate::systems;
use records::custody::Terms;
use records::{ColdWay, Contender};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use system::{BlockDevice, Journal, Snapshot};

/// How long mkfs may take.
pub(crate) const MAKE_LIMIT: Duration = Duration::from_secs(3600);

/// How long to wait at the end for loop devices that are still held.
const HELD_LIMIT: Duration = Duration::from_secs(20);

/// Where contenders are set up.
#[derive(Debug, Clone, PartialEq)]
pub enum Where {
    /// On a sparse image in a scratch folder, attached to a loop device.
    Image {
        /// Size of the image.
        bytes: u64,
        /// Folder that holds it.
        folder: PathBuf,
    },
    /// On a block device or partition.
    Device {
        /// Device node, or a link to one.
        path: PathBuf,
        /// Its serial or a by-id name, which allows erasing what is on it.
        erase: Option<String>,
    },
    /// On one of the equal parts of a whole device ([`Target::split`]).
    Part {
        /// Node of the whole device, or a link to it.
        disk: PathBuf,
        /// How many parts it has.
        count: usize,
    },
    /// A block device or partition that is only read, whatever else uses it.
    Reading(PathBuf),
    /// In a directory, on whatever is mounted there.
    Directory(PathBuf),
}

/// An opened place, with the devices that we may format.
#[derive(Debug)]
pub struct Target {
    pub(crate) registry: Registry,
    pub(crate) place: Where,
    pub(crate) journal: Journal,
    pub(crate) mark: Mark,
    /// The owner's terms for devices, and the devices that the run began on.
    pub(crate) terms: Terms,
    /// The device under test, if it is a real one.
    pub(crate) main: Option<Erasable>,
    /// The disk and the part of it, if a run has divided one.
    pub(crate) part: Option<(BlockDevice, Part)>,
    /// The device that is only read.
    pub(crate) readable: Option<Readable>,
    pub(crate) formatted: bool,
    /// Devices that contenders name besides it.
    pub(crate) own: Vec<Own>,
    /// How caches are emptied before a cold phase.
    pub(crate) cold: ColdWay,
    /// Whether this is a guest's target, whose disk is in its host's custody.
    pub(crate) guest: bool,
    pub(crate) images: u32,
    /// Images of earlier stages whose loop devices are still held: waited for at the end. The next stage has another loop device, since the
    /// kernel assigns a free one.
    pub(crate) held: Vec<PathBuf>,
    /// Volume label of the current stage.
    pub(crate) volume: String,
    pub(crate) guests: Guests,
}

impl Target {
    /// Opens a place under the rules of custody. Nothing is written yet.
    pub fn open(registry: &Registry, place: &Where, journal: &Journal) -> Result<Target, StagingError> {
        Target::open_under(registry, place, &Terms::default(), journal)
    }

    /// The same under terms: words that allow erasing the content of devices, and the devices that a run began on.
    pub fn open_under(
        registry: &Registry,
        place: &Where,
        terms: &Terms,
        journal: &Journal,
    ) -> Result<Target, StagingError> {
        Target::open_marked(registry, place, terms, journal, Mark::new(false)?)
    }

    /// Opens the disk of a guest, whose host has the mark `id`.
    pub(crate) fn open_in_guest(
        registry: &Registry,
        disk: PathBuf,
        journal: &Journal,
        id: &str,
    ) -> Result<Target, StagingError> {
        let mark = Mark::of_guest(id);
        let main = Erasable::take_in_guest(&disk, &mark.label())?;
        let place = Where::Device { path: disk, erase: None };
        let mut target = Target::bare(registry, place, &Terms::default(), journal, mark);
        (target.main, target.guest) = (Some(main), true);
        Ok(target)
    }

    fn open_marked(
        registry: &Registry,
        place: &Where,
        terms: &Terms,
        journal: &Journal,
        mark: Mark,
    ) -> Result<Target, StagingError> {
        let root = system::process::is_root();
        let mut resolved = place.clone();
        let mut readable = None;
        let main = match place {
            Where::Image { bytes, folder } => {
                if !root {
                    return Err(StagingError::NeedsRoot("formatting an image".into()));
                }
                // Room is checked for each contender: on a modelled disk its image is in memory.
                image::is_folder(folder)?;
                // The kernel shows a loop device's file by its canonical path, which must be recognized even when the folder is gone.
                let found = folder.canonicalize();
                let folder = found.map_err(|error| StagingError::file("inspect the scratch folder", folder, error))?;
                resolved = Where::Image { bytes: *bytes, folder };
                None
            }
            Where::Device { path, erase } => {
                if !root {
                    return Err(StagingError::NeedsRoot(format!("formatting {}", path.display())));
                }
                let mut with = terms.clone();
                with.erase.extend(erase.clone());
                let main = Erasable::take(path, &with, &mark.label())?;
                if let Some(word) = erase.as_ref().filter(|word| !main.is_named(word)) {
                    let way = format!("its names are: {}", main.names().join(", "));
                    return Err(StagingError::refused(path, format!("--erase {word} does not name it"), way));
                }
                Some(main)
            }
            Where::Part { disk, .. } => {
                let way = "all parts of a device are opened together";
                return Err(StagingError::refused(disk, "one part of it cannot be opened by itself", way));
            }
            Where::Reading(path) => {
                if !root {
                    return Err(StagingError::NeedsRoot(format!("reading {}", path.display())));
                }
                readable = Some(Readable::find(path, terms)?);
                None
            }
            Where::Directory(path) => {
                crate::stage::directory::writable(path)?;
                None
            }
        };
        let mut target = Target::bare(registry, resolved, terms, journal, mark);
        (target.main, target.readable) = (main, readable);
        Ok(target)
    }

    pub(crate) fn bare(registry: &Registry, place: Where, terms: &Terms, journal: &Journal, mark: Mark) -> Target {
        Target {
            registry: registry.clone(),
            place,
            journal: journal.clone(),
            volume: mark.label(),
            mark,
            terms: terms.clone(),
            main: None,
            part: None,
            readable: None,
            formatted: false,
            own: Vec::new(),
            cold: ColdWay::default(),
            guest: false,
            images: 0,
            held: Vec::new(),
            guests: Guests::default(),
        }
    }

    /// Sets how caches are emptied before a cold phase, if a stage allows it.
    pub fn start_cold_by(&mut self, way: ColdWay) {
        self.cold = way;
    }

    /// Id in the names of everything made here.
    pub fn id(&self) -> &str {
        self.mark.id()
    }

    /// The real device that was taken or is read; absent for images and directories.
    pub fn device(&self) -> Option<&BlockDevice> {
        self.main.as_ref().map(Erasable::device).or_else(|| self.readable.as_ref().map(Readable::device))
    }

    /// Bytes that a contender gets; absent for a directory.
    pub fn bytes(&self) -> Option<u64> {
        match &self.place {
            Where::Image { bytes, .. } => Some(*bytes),
            Where::Device { .. } | Where::Part { .. } | Where::Reading(_) => {
                self.device().map(|device| device.size_bytes)
            }
            Where::Directory(_) => None,
        }
    }

    /// Whether a contender can be staged here, as far as that can be determined without touching anything: its filesystem, its tools, the
    /// kernel, the size.
    pub fn check(&self, contender: &Contender) -> Result<(), StagingError> {
        check(&self.registry, contender, (&self.place, self.guest), self.bytes())
    }

    /// Sets a contender up: made, mounted, read back.
    pub fn stage(&mut self, contender: &Contender) -> Result<Stage<'_>, StagingError> {
        if matches!(self.place, Where::Directory(_)) {
            return self.stage_directory(contender);
        }
        self.check(contender)?;
        let filesystem = self.registry.get(&contender.filesystem)?.clone();
        let disk = axes::value(contender, "disk");
        let devices = axes::disks_of(contender);
        let beginning = Beginning { label: &contender.label, disk, devices, ..Beginning::default() };
        let asked = Request { contender, filesystem: Some(&filesystem), kept: None };
        let mut stage = self.begin(&beginning)?.follow(Source::Made, asked)?;
        stage.state.began = Some(Snapshot::take());
        Ok(stage)
    }

    /// Sets the raw device up for reading. The first `bytes` of an image hold incompressible data, since a hole would be read without the
    /// disk; a real device is read as it is, and never written.
    pub fn stage_raw(&mut self, contender: &Contender, bytes: u64) -> Result<Stage<'_>, StagingError> {
        if matches!(self.place, Where::Directory(_)) {
            let way = "name a device with --on, or an image with --image";
            return Err(StagingError::contender(crate::DEVICE, "a directory has no raw device to read", way));
        }
        let size = self.bytes().unwrap_or(0);
        if bytes > size {
            let (bytes, size) = (records::show_bytes(bytes), records::show_bytes(size));
            let problem = format!("{bytes} is too large: the device has {size}");
            return Err(StagingError::other(problem, "read less of it, or name a larger --image"));
        }
        crate::modelled::check(contender, &self.place)?;
        let disk = axes::value(contender, "disk");
        let label = &contender.label;
        let beginning = Beginning { label, filled: bytes, disk, ..Beginning::default() };
        let asked = Request { contender, filesystem: None, kept: None };
        let mut stage = self.begin(&beginning)?.follow(Source::Raw, asked)?;
        let root = stage.target.mark.folder().join("raw");
        std::fs::create_dir_all(&root).map_err(|error| StagingError::file("make", &root, error))?;
        stage.state.root = root;
        if let Some(image) = &stage.state.image {
            image.forget_pages();
        } else {
            let remark = "the device may answer reads of discarded blocks without reading its medium";
            stage.state.found.remarks.push(remark.into());
        }
        stage.state.found.in_use = stage.target.readable.iter().flat_map(Readable::users).collect();
        stage.state.found.filesystem = crate::DEVICE.into();
        Ok(stage)
    }

    /// Prepares the folders and the device: a fresh image, or the real one, verified again.
    pub(crate) fn begin(&mut self, beginning: &Beginning<'_>) -> Result<Prepared<'_>, StagingError> {
        match self.prepare(beginning) {
            Ok(state) => Ok(Prepared::begun(Stage { target: self, state })),
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    fn prepare(&mut self, beginning: &Beginning<'_>) -> Result<State, StagingError> {
        self.await_held(Duration::ZERO);
        self.volume = beginning.volume.clone().unwrap_or_else(|| self.mark.label());
        if let Some(erasable) = &mut self.main {
            erasable.carries(&self.volume);
        }
        let folder = self.mark.folder();
        self.mark.will_make(Made::Folder { path: folder.clone() })?;
        for name in ["mnt", "nodes", "servers"] {
            let path = folder.join(name);
            std::fs::create_dir_all(&path).map_err(|error| StagingError::file("make", &path, error))?;
        }
        let modelled = match (&self.place, &beginning.disk) {
            (Where::Image { bytes, .. }, Some(disk)) => Some(Modelled::open(disk, *bytes, &self.journal)?),
            _ => None,
        };
        let image = match self.place.clone() {
            Where::Image { bytes, folder } => {
                self.images += 1;
                let served = modelled.as_ref().map(Modelled::path);
                let folder = served.or(beginning.folder).unwrap_or(&folder);
                Some(match &beginning.restored {
                    Some(restored) => restored.clone(),
                    None => image::attach(&self.journal, &mut self.mark, folder, self.images, bytes, beginning.filled)?,
                })
            }
            _ => None,
        };
        let device = match (&image, &self.main, &self.readable) {
            (Some(image), ..) => image.device.clone(),
            (None, Some(erasable), _) => {
                erasable.verify()?;
                erasable.device().clone()
            }
            (None, None, Some(readable)) => {
                readable.verify()?;
                readable.device().clone()
            }
            (None, None, None) => return Err(StagingError::refused(&folder, "this target has no device", "")),
        };
        let places = Placeholders {
            device: device.path.clone(),
            name: device.name.clone(),
            mountpoint: folder.join("mnt"),
            label: beginning.volume.clone().unwrap_or_else(|| self.mark.label()),
            nodes: folder.join("nodes"),
            servers: folder.join("servers"),
            ..Placeholders::default()
        };
        let mut state = State::begun(beginning.label, places.mountpoint.clone(), Some(device.clone()), places);
        state.found.remarks = image.as_ref().map(|image| image.remarks.clone()).unwrap_or_default();
        state.image = image;
        state.found.remarks.extend(modelled.iter().flat_map(Modelled::remarks));
        state.found.remarks.extend(system::tool_environment::here().remarks().iter().cloned());
        state.modelled = modelled;
        state.join(self.more_devices(beginning)?);
        for device in state.devices() {
            let node = state.places.nodes.join(device.name.replace('/', "!"));
            // A link of the last stage, to another loop device or the same.
            let _ = std::fs::remove_file(&node);
            std::os::unix::fs::symlink(&device.path, &node)
                .map_err(|error| StagingError::file("link", &node, error))?;
        }
        Ok(state)
    }

    /// Removes what was made before there was a stage to remove it.
    fn abandon(&mut self) {
        self.remove_images();
        self.remove_folder();
    }

    pub(crate) fn remove_images(&mut self) {
        let held = self.held.clone();
        for path in self.mark.images().into_iter().filter(|path| !held.contains(path)) {
            // What cannot be removed now stays in the mark, for the next start.
            let _ = image::remove(&self.journal, &mut self.mark, &path, PATIENCE);
        }
    }

    /// Removes an image after its stage. If its loop device is held, the image is left for the end of the run, and an error reports this.
    pub(crate) fn remove_image(&mut self, image: &Image, patience: Duration) -> Result<(), StagingError> {
        let removed = image::remove(&self.journal, &mut self.mark, &image.file, patience);
        if let Err(StagingError::LeftBehind(_)) = &removed {
            self.held.push(image.file.clone());
        }
        removed
    }

    /// Waits for images that were held. Returns those that still are, in words.
    fn await_held(&mut self, patience: Duration) -> Vec<String> {
        let end = Instant::now() + patience;
        let mut problems = Vec::new();
        for path in std::mem::take(&mut self.held) {
            let left = end.saturating_duration_since(Instant::now());
            if let Err(error) = image::await_free(&mut self.mark, &path, left) {
                problems.push(error.to_string());
                self.held.push(path);
            }
        }
        problems
    }

    /// Removes the folder of mount points once nothing is mounted there.
    pub(crate) fn remove_folder(&mut self) {
        let folder = self.mark.folder();
        if remove_empty(&folder) {
            self.mark.removed(|made| matches!(made, Made::Folder { path } if *path == folder));
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.forget_guests();
        for problem in self.await_held(HELD_LIMIT) {
            system::note(&format!("bakeoff: {problem}"));
        }
        self.remove_images();
        if let Some(problem) = self.leave_part() {
            system::note(&format!("bakeoff: {problem} (`bakeoff clean` tries again)"));
        }
    }
}

pub(crate) fn of_contender(label: &str, error: StagingError) -> StagingError {
    match error {
        StagingError::Contender { problem, way_out, cause, .. } => StagingError::failed(label, problem, way_out, cause),
        gone @ StagingError::Gone { .. } => gone,
        other => StagingError::failed(label, other.to_string(), "", other.cause()),
    }
}

/// See [`Target::check`].
pub(crate) fn check(
    registry: &Registry,
    contender: &Contender,
    (place, in_guest): (&Where, bool),
    bytes: Option<u64>,
) -> Result<(), StagingError> {
    if let Where::Directory(path) = place {
        return crate::stage::directory::fits(contender, path);
    }
    crate::modelled::check(contender, place)?;
    if contender.filesystem == crate::DEVICE {
        return Ok(());
    }
    if let Where::Reading(path) = place {
        return Err(StagingError::refused(
            path,
            "this run only reads it",
            "a filesystem needs a device that bakeoff may format",
        ));
    }
    if let (Where::Image { bytes, folder }, None) = (place, axes::value(contender, "disk")) {
        image::fits(folder, *bytes)?;
    }
    let filesystem = registry.get(&contender.filesystem)?;
    members::check(filesystem, contender, place, in_guest)?;
    if !in_guest {
        layers::check(contender)?;
        layers::fits(contender, bytes)?;
    }
    let kernel = contender.kernel.as_ref().filter(|kernel| *kernel != "host");
    if let Some(kernel) = kernel.filter(|_| filesystem.shared.is_some()) {
        let problem =
            format!("a shared filesystem runs its servers on this machine's kernel, not in a guest with {kernel}");
        return Err(StagingError::contender(&contender.label, problem, "leave --kernel out"));
    }
    if kernel.is_some() && contender.ageing().is_some() {
        let problem = "ageing works only on this machine's own kernel, and this contender uses another";
        return Err(StagingError::contender(&contender.label, problem, "leave out its age or its kernel"));
    }
    match kernel {
        Some(kernel) => {
            guests::check(contender, kernel)?;
            systems::tools_are_here(filesystem)?;
        }
        None => {
            guests::check_absent(contender)?;
            systems::usable(filesystem)?;
            around::check(contender)?;
        }
    }
    if let Some(problem) = crate::filesystems::mkfs_settings::problem(filesystem, &contender.mkfs_settings) {
        return Err(StagingError::contender(
            &contender.label,
            problem,
            "name it in its filesystem's file, or leave it out",
        ));
    }
    options::check(filesystem, contender)?;
    let least = filesystem.limits.smallest;
    match bytes {
        Some(bytes) if bytes < least => {
            let (name, because) = (&filesystem.name, &filesystem.limits.because);
            let problem = format!("{} is too small for {name}: {because}", records::show_bytes(bytes));
            Err(StagingError::other(problem, format!("at least {}", records::show_bytes(least))))
        }
        _ => Ok(()),
    }
}
