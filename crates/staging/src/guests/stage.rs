//! A stage in a guest, as the host sees it: the disk is set up here, everything on it in the guest.
//! In: a target and a contender that names a kernel. Out: a [`Remote`] stage over [`Serial`], the guest's port and its disk.
//! However it ends, the machine ends first, then its disk.

use super::content;
use super::kept::KeptGuests;
use super::kernel::{self, Kernel};
use super::machine::{self, Machine, Parts, QEMU, Start};
use super::modules::kernel_has;
use super::vmlinux;
use crate::devices::image::Image;
use crate::error::StagingError;
use crate::modelled::Modelled;
use crate::ownership::cleanup_journal::Made;
use crate::remote::{Asked, Link, Remote, Transport, locked};
use crate::stage::Down;
use crate::stage::Stage;
use crate::stage::layers::too_old;
use crate::stage::target::Target;
use crate::systems;
use layers::Layer;
use records::{Backend, Cause, Contender, DiskLateness, Found};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use system::{Command, Evidence, Snapshot, Watch};

/// How long an ordinary guest may take to boot.
pub(super) const BOOT_LIMIT: Duration = Duration::from_secs(90);
/// The same if its clock counts instructions: this takes twice as long, and much longer on a busy machine.
const COUNTING_BOOT_LIMIT: Duration = Duration::from_secs(300);
/// Time limit of the trial boot with KVM.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// Memory of a guest: half of this machine's, at most this.
const MOST_MEMORY: u64 = 2 << 30;
/// Of several at the same time each has at least this.
const LEAST_OF_SEVERAL: u64 = 1 << 30;
/// The axis of modelled disks, which are the host's.
const DISK: &str = "disk";
/// No ordinary kernel boots with less.
const LEAST_MEMORY: u64 = 384 << 20;

/// Kernels, archives and saved states that guests start from, prepared for the first guest. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Guests(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    kernels: BTreeMap<String, Prepared>,
    backend: Option<(Backend, String)>,
    /// The folder of all this, and the id of the target that made and removes it.
    folder: Option<(PathBuf, String)>,
    /// Where that folder is made, if it cannot be next to the images.
    beside: Option<PathBuf>,
    /// Kernel files, and what emulated processors boot instead; None if they boot the file itself.
    unpacked: BTreeMap<PathBuf, Option<PathBuf>>,
    /// What will be staged in each kernel, so that one archive serves all.
    expected: BTreeMap<String, Needs>,
    /// Saved guests, of which others start as copies.
    kept: KeptGuests,
    /// How many run at the same time; 0 and 1 both mean one.
    at_once: usize,
}

impl Guests {
    /// Of which so many run at the same time.
    pub fn at_once(count: usize) -> Self {
        Self(Arc::new(Mutex::new(Shared { at_once: count, ..Shared::default() })))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        locked(&self.0)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub kernel: Kernel,
    pub initramfs: PathBuf,
    needs: Needs,
}

/// Names of the filesystems and layers that an archive has the tools and modules of.
#[derive(Debug, Clone, Default)]
struct Needs {
    filesystems: BTreeSet<String>,
    layers: BTreeSet<&'static str>,
}

impl Needs {
    fn add(&mut self, contender: &Contender) {
        self.filesystems.insert(contender.filesystem.clone());
        self.layers.extend(layers_of(contender).iter().map(|layer| layer.name.as_str()));
    }

    fn cover(&self, contender: &Contender) -> bool {
        let has_layer = |layer: &&Layer| self.layers.contains(layer.name.as_str());
        self.filesystems.contains(&contender.filesystem) && layers_of(contender).iter().all(has_layer)
    }
}

fn layers_of(contender: &Contender) -> Vec<&'static Layer> {
    axes::stack(contender).rungs().iter().map(|rung| rung.layer).collect()
}

/// The connection to a guest: its serial port, and the disk that this machine provides.
pub struct Serial<'g> {
    machine: Machine,
    disk: Stage<'g>,
    booting: Booting,
    /// The host's counters when the pass began.
    looked: Option<Snapshot>,
}

/// What a guest is started from, and the first request to it.
#[derive(Debug, Clone)]
struct Booting {
    prepared: Prepared,
    /// The kernel without its compression, if that is to be booted.
    unpacked: Option<PathBuf>,
    backend: Backend,
    /// It boots for each trial.
    boots: bool,
    /// Its clock counts instructions.
    counts: bool,
    asked: Asked,
}

impl Booting {
    /// Boots a guest on the disk of a stage. If a kernel does not start without its compression, as with a QEMU without PVH, it is booted
    /// as it is shipped from then on.
    fn start(&mut self, disk: &mut Stage<'_>) -> Result<Machine, StagingError> {
        let Some(unpacked) = self.unpacked.clone() else { return self.start_kernel(&self.prepared.kernel.image, disk) };
        self.start_kernel(&unpacked, disk).or_else(|_| {
            let image = &self.prepared.kernel.image;
            let started = self.start_kernel(image, disk)?;
            disk.target.guests.shared().unpacked.insert(image.clone(), None);
            self.unpacked = None;
            Ok(started)
        })
    }

    fn start_kernel(&self, kernel: &Path, disk: &mut Stage<'_>) -> Result<Machine, StagingError> {
        let disks: Vec<PathBuf> = disk.state.devices().map(|device| device.path.clone()).collect();
        let parts = Parts {
            kernel,
            initramfs: &self.prepared.initramfs,
            disks: &disks,
            backend: self.backend,
            memory_bytes: memory(disk.target.guests.shared().at_once),
            boot_limit: if self.counts { COUNTING_BOOT_LIMIT } else { BOOT_LIMIT },
            counts: self.counts,
            start: Start::Boot,
        };
        let label = &disk.state.label;
        let target = &mut *disk.target;
        let started = if self.boots {
            Machine::start(&parts, &target.journal, &mut target.mark)
        } else {
            target.guests.shared().kept.start(&parts, &target.journal, &mut target.mark)
        };
        started.map_err(|error| crate::stage::target::of_contender(label, error))
    }
}

impl Target {
    /// Starts guests of this target from the same kernels, archives and saved states as those of other targets that share these.
    pub fn share_guests(&mut self, guests: &Guests) {
        self.guests = guests.clone();
    }

    /// Announces the contenders to come, so that what their guests need is prepared once.
    pub fn expect<'c>(&mut self, contenders: impl IntoIterator<Item = &'c Contender>) {
        for contender in contenders {
            if let Some(kernel) = contender.kernel.clone().filter(|kernel| kernel::is_guest(Some(kernel))) {
                self.guests.shared().expected.entry(kernel).or_default().add(contender);
            }
        }
    }

    /// Prepares guests in this folder instead of next to the images, where there is no room.
    pub fn make_guests_in(&mut self, folder: &Path) {
        self.guests.shared().beside = Some(folder.to_owned());
    }

    /// Sets a contender up in a guest of the kernel that it names: booted, made, mounted, read back.
    pub fn stage_in_guest(&mut self, contender: &Contender) -> Result<Remote<Serial<'_>>, StagingError> {
        self.check(contender)?;
        let label = contender.label.clone();
        let of_contender = |error: StagingError| crate::stage::target::of_contender(&label, error);
        let prepared = self.prepared(contender).map_err(of_contender)?;
        let counts = axes::value(contender, axes::CLOCK).as_deref() == Some(axes::INSTRUCTIONS);
        let (backend, tried) =
            if counts { by_instructions() } else { self.backend(&prepared).map_err(of_contender)? };
        let filesystem = self.registry.get(&contender.filesystem)?;
        let description = filesystem.source.clone();
        let kernel = contender.kernel.as_deref().unwrap_or_default();
        let tools = systems::versions_in_guest(filesystem, kernel, &self.journal);
        let (devices, modelled) = (axes::disks_of(contender), axes::value(contender, DISK));
        let beginning = crate::stage::Beginning { label: &label, devices, disk: modelled, ..Default::default() };
        let mut disk = self.begin(&beginning)?.disk();
        disk.target.hand_over()?;
        let asked = Asked {
            contender: Box::new(in_guest(contender)),
            description: Some(description),
            mark: Some(disk.target.id().into()),
            cold: disk.target.cold,
        };
        let boots = axes::value(contender, axes::START).as_deref() == Some(axes::BOOTED);
        let unpacked = disk.target.unpacked(&prepared, backend);
        let mut booting = Booting { prepared, unpacked, backend, boots, counts, asked: asked.clone() };
        let machine = booting.start(&mut disk)?;
        let (limit, journal) = (disk.limits().all(), disk.target.journal.clone());
        let mut remote = Remote::stage(Serial { machine, disk, booting, looked: None }, asked, limit, &journal)?;
        remote.transport.tell(&mut remote.setup.found, tried);
        let emulated = layers_of(contender).into_iter().filter_map(|layer| layer.emulated.clone());
        remote.setup.found.remarks.extend(emulated.filter(|_| backend == Backend::Emulation));
        remote.setup.found.remarks.extend(tools);
        Ok(remote)
    }

    /// The kernel of a contender, and the archive for it.
    pub(super) fn prepared(&mut self, contender: &Contender) -> Result<Prepared, StagingError> {
        let name = contender.kernel.clone().unwrap_or_default();
        let known = self.guests.shared().kernels.get(&name).cloned();
        if let Some(prepared) = known.filter(|known| known.needs.cover(contender)) {
            return Ok(prepared);
        }
        let kernel = kernel::find(&name, &self.journal)?;
        let filesystem = self.registry.get(&contender.filesystem)?;
        if !kernel_has(&kernel, &filesystem.kernel) {
            let problem = format!("the kernel {name} ({}) does not have {}", kernel.release, filesystem.kernel);
            let way = filesystem.guest.kernel.as_ref().map(|other| format!("{other} has it")).unwrap_or_default();
            return Err(StagingError::contender(&contender.label, problem, way));
        }
        for layer in layers_of(contender) {
            if let Some(module) = layer.kernel.iter().find(|module| !kernel_has(&kernel, module)) {
                let problem = format!(
                    "the kernel {name} ({}) does not have {module}, which {} needs",
                    kernel.release, layer.name
                );
                return Err(StagingError::contender(&contender.label, problem, "name a kernel that has it (--kernel)"));
            }
            if let Some(problem) = too_old(layer, &kernel.release) {
                return Err(StagingError::contender(&contender.label, problem, "name a newer kernel (--kernel)"));
            }
        }
        let mut needs = self.guests.shared().expected.get(&name).cloned().unwrap_or_default();
        needs.add(contender);
        let folder = self.guest_folder()?;
        let initramfs = folder.join(format!("{}.cpio", kernel.release));
        let described: Vec<_> = needs.filesystems.iter().filter_map(|name| self.registry.get(name).ok()).collect();
        let layers: Vec<&Layer> = needs.layers.iter().filter_map(|name| layers::named(name)).collect();
        content::write(&kernel, (&described, &layers), &initramfs)?;
        let prepared = Prepared { kernel, initramfs, needs };
        let mut shared = self.guests.shared();
        shared.kept.forget(&prepared.initramfs);
        shared.kernels.insert(name, prepared.clone());
        Ok(prepared)
    }

    /// A folder next to the images, which is removed with the target.
    fn guest_folder(&mut self) -> Result<PathBuf, StagingError> {
        let mut shared = self.guests.shared();
        if let Some((folder, _)) = &shared.folder {
            return Ok(folder.clone());
        }
        let beside = match (&shared.beside, &self.place) {
            (Some(folder), _) => folder.clone(),
            (None, crate::Where::Image { folder, .. }) => folder.clone(),
            (None, _) => PathBuf::from("/var/tmp"),
        };
        let id = self.mark.id().to_string();
        let folder = beside.join(format!("bakeoff-{id}-work"));
        self.mark.will_make(Made::Work { path: folder.clone() })?;
        system::create::Folder::make_new(&folder).map_err(|error| StagingError::file("make", &folder, error))?;
        shared.folder = Some((folder.clone(), id));
        Ok(folder)
    }

    /// How guests' processors are provided here: determined once, by a trial boot.
    pub(super) fn backend(&mut self, prepared: &Prepared) -> Result<(Backend, String), StagingError> {
        let known = self.guests.shared().backend.clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let emulated = |why: String| (Backend::Emulation, format!("emulated by QEMU, since {why}"));
        let tried = kvm_opens().and_then(|()| self.try_kvm(prepared));
        let found = tried.map_or_else(emulated, |()| (Backend::Kvm, String::new()));
        self.guests.shared().backend = Some(found.clone());
        Ok(found)
    }

    /// How processors of this contender's guests are provided here, and why; this prepares and boots its kernel.
    ///
    /// # Errors
    /// Its kernel cannot be used, or lacks its filesystem.
    pub fn guest_backend(&mut self, contender: &Contender) -> Result<(Backend, String), StagingError> {
        let prepared = self.prepared(contender)?;
        self.backend(&prepared)
    }

    /// The kernel without its compression, for an emulated processor, which would take seconds to unpack it.
    fn unpacked(&mut self, prepared: &Prepared, backend: Backend) -> Option<PathBuf> {
        if backend != Backend::Emulation {
            return None;
        }
        let Kernel { image, release, .. } = &prepared.kernel;
        let mut shared = self.guests.shared();
        if let Some(unpacked) = shared.unpacked.get(image) {
            return unpacked.clone();
        }
        let (folder, _) = shared.folder.as_ref()?;
        let unpacked = vmlinux::unpacked(image, release, folder, &self.journal);
        shared.unpacked.insert(image.clone(), unpacked.clone());
        unpacked
    }

    fn try_kvm(&mut self, prepared: &Prepared) -> Result<(), String> {
        let started = self.without_disk(prepared, Backend::Kvm, PROBE_LIMIT);
        let found = started.map(|mut machine| machine.end(&self.journal, &mut self.mark));
        self.remove_folder();
        found.map_err(|error| format!("KVM cannot boot a guest here ({error})"))
    }

    /// A guest without a disk. The caller removes its folder afterwards.
    pub(super) fn without_disk(
        &mut self,
        prepared: &Prepared,
        backend: Backend,
        boot_limit: Duration,
    ) -> Result<Machine, StagingError> {
        self.mark.will_make(Made::Folder { path: self.mark.folder() })?;
        let unpacked = self.unpacked(prepared, backend);
        let parts = Parts {
            kernel: unpacked.as_deref().unwrap_or(&prepared.kernel.image),
            initramfs: &prepared.initramfs,
            disks: &[],
            backend,
            memory_bytes: memory(1),
            boot_limit,
            counts: false,
            start: Start::Boot,
        };
        Machine::start(&parts, &self.journal, &mut self.mark)
    }

    /// Removes what this target prepared for guests. Another target that starts guests later prepares it again.
    pub(crate) fn forget_guests(&mut self) {
        let mut shared = self.guests.shared();
        if let Some((folder, _)) = shared.folder.take_if(|(_, id)| *id == self.mark.id()) {
            (shared.kernels, shared.unpacked, shared.kept) = Default::default();
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    let text = format!("cannot remove {}: {error} (`bakeoff clean` tries again)", folder.display());
                    system::note(&format!("bakeoff: {text}"));
                }
                _ => self.mark.removed(|made| matches!(made, Made::Work { path } if *path == folder)),
            }
        }
    }
}

/// The command that would start a guest on a disk; its accelerator is only known after a trial boot.
pub(crate) fn planned(kernel: &str, disks: &[PathBuf], folder: &Path) -> Command {
    let parts = Parts {
        kernel: Path::new(kernel),
        initramfs: Path::new("SCRATCH/bakeoff-ID-work/KERNEL.cpio"),
        disks,
        backend: Backend::Emulation,
        memory_bytes: memory(1),
        boot_limit: BOOT_LIMIT,
        counts: false,
        start: Start::Boot,
    };
    machine::command(&parts, &folder.join("guest"))
}

/// Whether this process may use KVM; if not, why.
///
/// # Errors
/// It may not, or there is no KVM.
pub fn kvm_opens() -> Result<(), String> {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    opened.map(drop).map_err(|error| format!("/dev/kvm cannot be opened ({error})"))
}

/// Bytes of memory that so many guests take at the same time at most.
pub fn memory_of(guests: usize) -> u64 {
    memory(guests).saturating_mul(guests as u64)
}

/// Bytes of memory of one of so many guests at the same time: its share of four fifths of this machine's memory, half of it at most, within bounds.
pub(super) fn memory(guests: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let total = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10;
    let share = (total / 5 * 4 / guests.max(1) as u64).max(LEAST_OF_SEVERAL) >> 20 << 20;
    (total / 2).clamp(LEAST_MEMORY, MOST_MEMORY).min(share)
}

/// Only an emulated processor's instructions can be counted.
fn by_instructions() -> (Backend, String) {
    let why = "emulated, with one processor whose clock counts instructions: its times are not real times";
    (Backend::Emulation, why.into())
}

/// The contender as the guest stages it: without a kernel, and without axes of the machine.
pub(super) fn in_guest(contender: &Contender) -> Contender {
    let mut inside = Contender { kernel: None, ..contender.clone() };
    axes::OF_GUESTS.iter().chain([&DISK]).for_each(|name| _ = inside.axes.remove(*name));
    inside
}

/// Rejects axes of virtual machines for a contender that does not run in one.
pub(crate) fn check_absent(contender: &Contender) -> Result<(), StagingError> {
    match axes::OF_GUESTS.iter().find(|name| axes::value(contender, name).is_some()) {
        None => Ok(()),
        Some(name) => {
            let problem =
                format!("{name} applies to virtual machines, and this contender runs on this machine's own kernel");
            Err(StagingError::contender(&contender.label, problem, "name a kernel (--kernel debian:6.1)"))
        }
    }
}

/// What guests need.
const NEEDED: [(&str, &str); 3] = [(QEMU, "qemu-system-x86"), ("modprobe", "kmod"), ("depmod", "kmod")];

/// What this machine lacks for guests, as a hint for the user; None if it lacks nothing.
pub fn lacks() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("guests run on x86-64 only".into());
    }
    let missing = NEEDED.iter().filter(|(program, _)| system::command::find_program(program).is_none());
    let packages: BTreeSet<&str> = missing.map(|(_, package)| *package).collect();
    let words: Vec<&str> = packages.into_iter().collect();
    (!words.is_empty()).then(|| format!("apt-get install {}", words.join(" ")))
}

/// Rejects what cannot be staged in a guest, as far as that can be determined without starting one.
pub(crate) fn check(contender: &Contender, kernel: &str) -> Result<(), StagingError> {
    if !cfg!(target_arch = "x86_64") {
        let problem = format!("needs the kernel {kernel}, and guests run on x86-64 only");
        return Err(StagingError::contender(&contender.label, problem, "leave kernel out"));
    }
    kernel::named(kernel)?;
    for (program, package) in NEEDED {
        if system::command::find_program(program).is_none() {
            let what = format!("a guest of the kernel {kernel}");
            return Err(StagingError::missing_tool(&what, program, format!("apt-get install {package}")));
        }
    }
    Ok(())
}

impl Serial<'_> {
    /// Adds what the host knows of the guest and its disk.
    fn tell(&self, found: &mut Found, tried: String) {
        found.backend = Some(self.booting.backend);
        found.kernel = self.machine();
        found.boot_seconds = Some(self.machine.boot.as_secs_f64());
        let image = self.disk.state.image.as_ref();
        found.remarks.extend(image.map(|image| image.remarks.clone()).unwrap_or_default());
        let modelled = self.disk.state.modelled.as_ref();
        found.remarks.extend(modelled.map(Modelled::remarks).unwrap_or_default());
        found.below.extend(modelled.map(Modelled::device));
        if self.booting.backend == Backend::Emulation {
            let text = "measured in an emulated machine: compare its figures only with those of the same emulation";
            found.remarks.push(text.into());
        }
        let remarks = [tried, self.machine.remark.clone()];
        found.remarks.extend(remarks.into_iter().filter(|remark| !remark.is_empty()));
    }
}

impl Remote<Serial<'_>> {
    /// Boots another guest on the same disk after the last one was lost, and makes the contender anew there: the old content of the disk is gone.
    ///
    /// # Errors
    /// It does not boot, or the contender cannot be made.
    pub fn start_again(&mut self) -> Result<(), StagingError> {
        let serial = &mut self.transport;
        let target = &mut *serial.disk.target;
        serial.machine.end(&target.journal, &mut target.mark);
        serial.machine = serial.booting.start(&mut serial.disk)?;
        let asked = serial.booting.asked.clone();
        self.stage_there(asked)
    }

    /// The image on this machine that is the guest's disk; absent if it is a real device.
    pub fn image(&self) -> Option<&Path> {
        self.transport.disk.image()
    }
}

impl Transport for Serial<'_> {
    fn link(&self) -> &Link {
        &self.machine.link
    }

    fn end(&mut self) -> Down {
        let target = &mut *self.disk.target;
        // The disk is unmounted and checked, or no longer needed: an orderly power-off would only take time.
        self.machine.end_at_once(&target.journal, &mut target.mark);
        self.disk.take_down()
    }

    fn machine(&self) -> Option<String> {
        Some(self.machine.link.kernel())
    }

    fn failed_below(&mut self, during: &str) -> Option<StagingError> {
        if let Some(found) = self.disk.failed_below(during) {
            return Some(found);
        }
        let label = &self.booting.asked.contender.label;
        let problem = format!("a signal killed QEMU during {during}");
        self.machine.was_killed().then(|| StagingError::failed(label, problem, "", Cause::Passing))
    }

    fn forget(&self) {
        self.disk.state.images().for_each(Image::forget_pages);
    }

    fn look(&mut self) -> Result<(), StagingError> {
        self.disk.state.modelled.as_mut().map_or(Ok(()), Modelled::look)?;
        self.looked = Some(Snapshot::take());
        Ok(())
    }

    fn late(&mut self) -> Result<Option<DiskLateness>, StagingError> {
        let watch = self.disk.watch();
        let seen = self.looked.as_ref().map(|looked| Snapshot::take().since(looked, watch)).unwrap_or_default();
        self.disk.state.modelled.as_mut().map_or(Ok(None), |modelled| modelled.late_since(&seen))
    }

    fn both(&self, there: Evidence, before: &Snapshot, now: &Snapshot) -> Evidence {
        both(there, now.since(before, self.disk.watch()), self.disk.watch())
    }
}

impl Drop for Serial<'_> {
    fn drop(&mut self) {
        let target = &mut *self.disk.target;
        self.machine.end(&target.journal, &mut target.mark);
    }
}

/// Combines two views: the guest's own, and the host's view of everything else.
fn both(guest: Evidence, host: Evidence, watch: &Watch) -> Evidence {
    let mut below = host.below;
    below.extend(watch.device.clone().zip(host.device));
    // A guest cannot see when its processors were taken away.
    let stolen = host.cpu.steal_ns as f64 / host.cpu.total_ns().max(1) as f64;
    let mut cpu = guest.cpu;
    cpu.steal_ns = cpu.steal_ns.max((stolen * cpu.total_ns() as f64) as u64);
    Evidence { below, foreign: host.foreign, frequency_khz: host.frequency_khz, cpu, ..guest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::counters::{SystemCpu, Traffic};

    #[test]
    fn evidence_is_the_guests_own_plus_traffic_of_lower_and_other_host_devices() {
        let moved = |bytes| Traffic { read_bytes: bytes, ..Traffic::default() };
        let cpu = |user_ns, steal_ns| SystemCpu { user_ns, steal_ns, ..SystemCpu::default() };
        let guest = Evidence { device: Some(moved(100)), cpu: cpu(1000, 0), elapsed_ns: 7, ..Evidence::default() };
        let mut host = Evidence { device: Some(moved(60)), cpu: cpu(900, 100), ..Evidence::default() };
        host.foreign.insert("sdb".into(), moved(5));
        let watch = Watch { device: Some("loop0".into()), ..Watch::default() };
        let seen = both(guest, host, &watch);
        assert_eq!((seen.device, seen.elapsed_ns), (Some(moved(100)), 7));
        assert_eq!(seen.below["loop0"], moved(60));
        assert_eq!(seen.foreign["sdb"], moved(5));
        assert_eq!((seen.cpu.user_ns, seen.cpu.steal_ns), (1000, 100));
    }
}
