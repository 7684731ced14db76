//! The commands that staging a contender will run, in order, without running any.
//! In: a contender and a place. Out: lines that can be typed in a shell.
//! Built from the same descriptions as the real run; values that are only known then are in capitals: N, ID, PID, WAS.

use crate::devices::custody::emptying;
use crate::devices::image;
use crate::devices::parts;
use crate::devices::wipe::unsigning;
use crate::error::StagingError;
use crate::filesystems::options;
use crate::filesystems::own_devices::{self, Companion};
use crate::filesystems::registry::Registry;
use crate::filesystems::several::Spread;
use crate::filesystems::template::{self, Placeholders};
use crate::filesystems::tools;
use crate::guests;
use crate::ownership::cleanup_journal::Mark;
use crate::ownership::owned::image_name;
use crate::stage::around;
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
    let journal = Journal::planning();
    let mark = Mark::new(true)?;
    let bytes = match place {
        Where::Image { bytes, .. } => Some(*bytes),
        _ => None,
    };
    check(registry, contender, (place, false), bytes)?;
    if matches!(place, Where::Directory(_)) {
        plan_directory(&journal);
    } else {
        plan_device(registry, contender, place, (&mark, cold), &journal)?;
    }
    Ok(journal.drain().iter().map(system::Record::typed).collect())
}

fn plan_directory(journal: &Journal) {
    call(journal, Call::Sync("DIRECTORY/bakeoff-ID-work".into()));
    if system::process::is_root() {
        call(journal, Call::DropCaches);
    }
}

fn plan_device(
    registry: &Registry,
    contender: &Contender,
    place: &Where,
    (mark, cold): (&Mark, ColdWay),
    journal: &Journal,
) -> Result<(), StagingError> {
    let devices = axes::devices(contender) as usize;
    let places = places(place, mark, devices);
    let mut file = None;
    if let Where::Image { bytes, folder } = place {
        let folder = &folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let paths = (1..=devices).map(|number| folder.join(image_name(mark.id(), number as u32)));
        let paths: Vec<PathBuf> = paths.collect();
        let filled = if contender.filesystem == crate::DEVICE { *bytes } else { 0 };
        let sector = BlockDevice::beneath(folder).map_or(512, |device| device.logical_sector);
        for (command, _) in paths.iter().flat_map(|path| image::making(path, *bytes, filled, sector)) {
            add(journal, command);
        }
        file = paths.into_iter().next();
    }
    let guest = contender.kernel.as_deref().filter(|kernel| guests::is_guest(Some(kernel)));
    if let Some(kernel) = guest {
        if file.is_none() {
            add(journal, unsigning(&places.device));
        }
        let disks = if devices > 1 { places.members.clone() } else { vec![places.device.clone()] };
        add(journal, guests::planned(kernel, &disks, &mark.folder()));
        let inside = Journal::planning();
        let disk = in_guest(&places, devices);
        let prefix = tools::prefix_in_guest(registry.get(&contender.filesystem)?);
        plan_filesystem(registry, contender, &disk, (prefix, false, ColdWay::Drop), &inside)?;
        inside.drain().into_iter().for_each(|record| journal.add(Record { guest: Some(kernel.into()), ..record }));
    } else if contender.filesystem != crate::DEVICE {
        let prefix = tools::prefix(registry.get(&contender.filesystem)?);
        plan_filesystem(registry, contender, &places, (prefix, file.is_some(), cold), journal)?;
    } else {
        let raw = Call::FlushBuffers(places.device.clone());
        call(journal, if cold == ColdWay::Remount { raw } else { Call::DropCaches });
    }
    match file {
        Some(_) => {
            for device in std::iter::once(&places.device).chain(places.members.iter().skip(1)) {
                add(journal, Command::new(["losetup", "--detach", &device.display().to_string()]));
            }
        }
        None if contender.filesystem != crate::DEVICE => {
            let part = split::planned(place);
            let found = part.or_else(|| BlockDevice::find(&places.device).ok());
            given_back(journal, &places.device, found.as_ref());
        }
        None => {}
    }
    for taken in planned_devices(registry, contender)? {
        given_back(journal, &taken.device.path, Some(&taken.device));
    }
    Ok(())
}

/// The contender's own devices, as far as they exist.
fn planned_devices(registry: &Registry, contender: &Contender) -> Result<Vec<Companion>, StagingError> {
    let Ok(filesystem) = registry.get(&contender.filesystem) else { return Ok(Vec::new()) };
    let named = options::devices(filesystem, contender)?.into_iter();
    Ok(named.filter_map(|own| Some(Companion { rule: own.rule, device: BlockDevice::find(&own.path).ok()? })).collect())
}

/// The commands on a real device at the end.
fn given_back(journal: &Journal, device: &Path, found: Option<&BlockDevice>) {
    add(journal, unsigning(device));
    add(journal, emptying(device, found));
}

fn plan_filesystem(
    registry: &Registry,
    contender: &Contender,
    places: &Placeholders,
    (mut prefix, on_image, cold): (Vec<String>, bool, ColdWay),
    journal: &Journal,
) -> Result<(), StagingError> {
    let filesystem = registry.get(&contender.filesystem)?;
    let own = planned_devices(registry, contender)?;
    let options = own_devices::with_devices(template::make_options(filesystem, contender), &own);
    let mut list = own_devices::mounting(template::mount_options(filesystem, contender), &own);
    let places = &Placeholders { devices: own_devices::checking(places, &own), ..places.clone() };
    if list.is_empty() {
        list.push("defaults".into());
    }
    let fill = |words: &[String], list: &[String]| Command::new(places.fill(words, list));
    if let Some(daemon) = &filesystem.daemon {
        add(journal, fill(&daemon.command, &[]));
        prefix = places.fill(&daemon.prefix, &[]);
    }
    let own_cache = filesystem.remount_empties_cache;
    let acts = |acting| around::planned(contender, acting, (&places.name, own_cache), journal);
    let back = acts(axes::on_device(contender))?;
    if !on_image {
        add(journal, unsigning(&places.device));
    }
    own.iter().for_each(|taken| add(journal, unsigning(&taken.device.path)));
    for command in own_devices::making(filesystem, places, &own, &options) {
        add(journal, Command::new(command).prefixed(&prefix));
    }
    let spread = Spread::over(filesystem, places.members.len());
    add(journal, fill(spread.make(), &options).prefixed(&prefix));
    if !spread.mount().is_empty() {
        add(journal, fill(spread.mount(), &list).prefixed(&prefix));
    }
    if let Some(several) = spread.several().filter(|several| !several.whole.is_empty()) {
        add(journal, fill(&several.whole, &list).prefixed(&prefix));
    }
    for words in filesystem.inspect.values() {
        add(journal, fill(words, &[]).prefixed(&prefix));
    }
    let leaving = acts(axes::on_mounted(contender))?;
    if filesystem.sync.syncfs {
        call(journal, Call::Sync(places.mountpoint.join("work")));
    }
    if !filesystem.sync.command.is_empty() {
        add(journal, fill(&filesystem.sync.command, &[]).prefixed(&prefix));
    }
    let others = places.members.iter().skip(1);
    let devices = std::iter::once(&places.device).chain(others).chain(own.iter().map(|taken| &taken.device.path));
    let emptied: Vec<_> = devices.cloned().collect();
    plan_cold_start(spread, cold, &emptied, |words| fill(words, &list).prefixed(&prefix), journal);
    if let Some(shared) = &filesystem.shared {
        add(journal, fill(&shared.intact, &[]).prefixed(&prefix));
    }
    add(journal, fill(&filesystem.mount.unmount, &[]).prefixed(&prefix));
    if let Some(check) = spread.check() {
        add(journal, fill(check, &[]).prefixed(&prefix));
    }
    leaving.into_iter().chain(back).for_each(|command| add(journal, command));
    if let Some(daemon) = &filesystem.daemon {
        add(journal, fill(&daemon.give_up, &[]).prefixed(&prefix));
    }
    Ok(())
}

fn plan_cold_start(
    spread: Spread<'_>,
    cold: ColdWay,
    devices: &[PathBuf],
    fill: impl Fn(&[String]) -> Command,
    journal: &Journal,
) {
    let (filesystem, again) = (spread.filesystem, spread.mount_again(true));
    let by_remount = cold == ColdWay::Remount && filesystem.daemon.is_none();
    if by_remount || filesystem.remount_empties_cache {
        add(journal, fill(&filesystem.mount.unmount));
        if !filesystem.remount_empties_cache {
            devices.iter().for_each(|device| call(journal, Call::FlushBuffers(device.clone())));
        }
        add(journal, fill(again));
    }
    if by_remount && !filesystem.remount_empties_cache {
        return;
    }
    if !filesystem.sync.checkpoint.is_empty() {
        add(journal, fill(&filesystem.sync.checkpoint));
    }
    call(journal, Call::DropCaches);
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

fn call(journal: &Journal, call: Call) {
    // As below.
    let _ = call.make(Duration::ZERO, journal);
}

pub(super) fn add(journal: &Journal, command: Command) {
    // A planning journal only records, and never fails.
    let _ = command.run(journal);
}
