//! The users of a device, or of its bytes through any other device or file.
//! In: a device. Out: a refusal that names the user; or what needs the owner's consent, because its neighbours are in use.
//! Everything is compared by number and identity, never by name.

use super::bytes::Bytes;
use super::divided::Around as Disk;
use crate::error::StagingError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use system::block::Number;
use system::mounts::Mount;
use system::{BlockDevice, FileId, Loop, Opener, Sysfs as _, Target, Wanted, mounts, openers};

/// How long to wait for a process that opened the device in passing, as udev does.
const PASSING: Duration = Duration::from_secs(3);

/// Devices followed at most.
const MOST: usize = 4096;

/// Users named at most.
const MOST_NAMED: usize = 8;

/// One snapshot of devices, loops, mounts and swap, so that all checks see the same moment.
struct Around {
    all: BTreeMap<Number, BlockDevice>,
    loops: Vec<Loop>,
    mounts: Vec<Mount>,
    swaps: Vec<(String, Target)>,
}

impl Around {
    fn look(device: &BlockDevice, loops: &[Loop]) -> Around {
        let disks = BlockDevice::all();
        let parts: Vec<BlockDevice> =
            disks.iter().flat_map(|disk| &disk.partitions).filter_map(|name| BlockDevice::named(name)).collect();
        let all = disks.into_iter().chain(parts).chain([device.clone()]).take(MOST);
        Around {
            all: all.map(|device| (device.number, device)).collect(),
            loops: loops.to_vec(),
            mounts: mounts::everywhere(),
            swaps: swaps(),
        }
    }

    fn name(&self, number: Number) -> String {
        self.all.get(&number).map_or_else(|| number.to_string(), |device| device.name.clone())
    }

    /// The device, its partitions, and everything stacked on them.
    fn family(&self, device: &BlockDevice) -> BTreeSet<Number> {
        let mut found = BTreeSet::from([device.number]);
        let mut waiting = vec![device.clone()];
        while let Some(one) = waiting.pop().filter(|_| found.len() < MOST) {
            for name in one.partitions.iter().chain(&one.holders) {
                waiting.extend(BlockDevice::named(name).filter(|device| found.insert(device.number)));
            }
        }
        found
    }

    /// By the device number of the mount, or by its source: btrfs and others have numbers of no device.
    fn mounted<'n>(&'n self, numbers: &'n BTreeSet<Number>) -> impl Iterator<Item = &'n Mount> {
        self.mounts.iter().filter(|mount| {
            // Other sources may lead to a dead server.
            let source = || mount.source.starts_with("/dev/").then(|| Target::of(Path::new(&mount.source)));
            numbers.contains(&mount.number)
                || matches!(source(), Some(Some(Target::Block(number))) if numbers.contains(&number))
        })
    }

    /// The user of one of these devices, in words, as far as the kernel knows it.
    fn user(&self, numbers: &BTreeSet<Number>, apart: &BTreeSet<Number>) -> Option<(String, &'static str)> {
        let mounted = self.mounted(numbers).next();
        mounted
            .map(|mount| (mounted_on(mount), "unmount it, if it is not needed"))
            .or_else(|| self.user_but_mounts(numbers, apart))
    }

    fn user_but_mounts(&self, numbers: &BTreeSet<Number>, apart: &BTreeSet<Number>) -> Option<(String, &'static str)> {
        let swap = |target: &Target| matches!(target, Target::Block(number) if numbers.contains(number));
        if let Some((path, Target::Block(number))) = self.swaps.iter().find(|(_, target)| swap(target)) {
            return Some((format!("{} ({path}) is swap", self.name(*number)), "swapoff it, if memory allows"));
        }
        let held = numbers.iter().filter_map(|number| self.all.get(number)).find_map(|device| {
            let holder = device
                .holders
                .iter()
                .find(|name| BlockDevice::named(name).is_none_or(|holder| !apart.contains(&holder.number)))?;
            Some((holder.clone(), device.name.clone()))
        });
        if let Some((holder, held)) = held {
            let reason = format!("{held} is held by {holder} (LVM, RAID, encryption or another mapping)");
            return Some((reason, "remove that mapping first, if it is not needed"));
        }
        btrfs_members(numbers).map(|(volume, member)| {
            let reason = format!("{member} belongs to the btrfs filesystem {volume}, which is in use");
            (reason, "unmount that filesystem, or remove the device from it")
        })
    }

    /// Other devices that have some of the same bytes.
    fn twins(&self, bytes: &Bytes, family: &BTreeSet<Number>) -> Vec<&BlockDevice> {
        let chain = bytes.chain();
        let apart = |number: &Number| !family.contains(number) && !chain.contains(number);
        let others = self.all.values().filter(|device| apart(&device.number));
        others.filter(|device| bytes.meet(&Bytes::of(device, &self.loops))).collect()
    }

    /// Devices beside this one, on the same disk or in the same file, with everything stacked on them.
    fn neighbours(&self, bytes: &Bytes, family: &BTreeSet<Number>) -> BTreeSet<Number> {
        let chain = bytes.chain();
        let apart = |number: &Number| !family.contains(number) && !chain.contains(number);
        let others = self.all.values().filter(|device| apart(&device.number));
        let beside = others.filter(|device| bytes.neighbour(&Bytes::of(device, &self.loops)));
        beside.flat_map(|device| self.family(device)).filter(apart).collect()
    }
}

fn mounted_on(mount: &Mount) -> String {
    let seen = match mount.seen_by.as_str() {
        "self" => String::new(),
        process => format!(" in the mount namespace of process {process}"),
    };
    format!("{} is mounted on {}{seen}", mount.source, mount.point.display())
}

/// Refuses a device that is read-only or in use (mounted, swap, held or open): itself, through what is stacked on it, through what is below
/// it, or through another device on the same bytes.
///
/// On a disk that the run has divided, the other parts belong to the run, and a user of the disk is a user of the part.
///
/// Returns the users of its neighbours, in words: these need the owner's consent.
pub(super) fn free_of_users(
    device: &BlockDevice,
    loops: &[Loop],
    divided: Option<&Disk>,
) -> Result<Vec<String>, StagingError> {
    let refuse = |reason: String, way: &str| Err(StagingError::refused(&device.path, reason, way));
    if device.read_only {
        return refuse("it is read-only".into(), "`blockdev --setrw` makes it writable, if the hardware allows it");
    }
    if device.size_bytes == 0 {
        return refuse("it has no medium: its size is 0".into(), "");
    }
    let around = Around::look(device, loops);
    let bytes = Bytes::of(device, loops);
    let own = around.family(device);
    let twins = around.twins(&bytes, &own);
    // A user of the same bytes through another device uses this one.
    let same: BTreeSet<Number> = own.iter().copied().chain(twins.iter().flat_map(|twin| around.family(twin))).collect();
    // If a disk is itself mounted, swap or held, none of its partitions is free. The same holds for what a loop device is attached to.
    let below = bytes.below();
    let concerned: BTreeSet<Number> = same.union(&below).copied().collect();
    if let Some((reason, way)) = around.user(&concerned, &bytes.chain()) {
        return refuse(reason, way);
    }
    if let Some(one) = around.loops.iter().find(|one| twins.iter().any(|twin| twin.number == one.number)) {
        let on = match one.target {
            Some(Target::Block(number)) => around.name(number),
            _ => format!("the file with the same bytes, {}", one.file.display()),
        };
        let way = "`losetup --detach` that one, if it is not needed";
        return refuse(format!("{on} is attached to {}", one.name), way);
    }
    let files = bytes.files();
    if let Some((reason, way)) = file_user(&around, &files) {
        return refuse(reason, way);
    }
    let mut neighbours = around.neighbours(&bytes, &same);
    let mut same = same;
    if let Some(disk) = divided {
        let ours: BTreeSet<Number> = disk.others.iter().flat_map(|part| around.family(part)).collect();
        neighbours.retain(|number| !ours.contains(number));
        same.insert(disk.number);
    }
    let beside: BTreeSet<Number> = below.union(&neighbours).copied().collect();
    let open = open_by_others(&same, &beside, &files);
    let is_beside = |opener: &&Opener| matches!(opener.target, Target::Block(number) if !same.contains(&number));
    if let Some(opener) = open.iter().find(|opener| !is_beside(opener)) {
        return refuse(in_words(opener), "stop that program, if it is not needed");
    }
    let user = around.user(&neighbours, &BTreeSet::new()).map(|(who, _)| who);
    Ok(user.into_iter().chain(open.iter().find(is_beside).map(in_words)).collect())
}

/// The users of a device, in words: mounts, swap and holders of its disk and of what is stacked on it, and processes that have them open.
pub(super) fn of(device: &BlockDevice, loops: &[Loop]) -> Vec<String> {
    let around = Around::look(device, loops);
    let bytes = Bytes::of(device, loops);
    let own = around.family(device);
    let all: BTreeSet<Number> =
        own.iter().copied().chain(bytes.chain()).chain(around.neighbours(&bytes, &own)).collect();
    let open = openers::openers(&Wanted { devices: all.clone(), files: BTreeSet::new() });
    let mounted: Vec<&Mount> = around.mounted(&all).collect();
    // A mount that another namespace has copied is one mount.
    let is_copy = |mount: &Mount| {
        let is_own = |own: &&Mount| own.seen_by == "self" && (&own.source, &own.point) == (&mount.source, &mount.point);
        mount.seen_by != "self" && mounted.iter().any(is_own)
    };
    let mounts: BTreeSet<String> =
        mounted.iter().filter(|mount| !is_copy(mount)).map(|mount| mounted_on(mount)).collect();
    let rest = around.user_but_mounts(&all, &all).map(|(user, _)| user).into_iter().chain(open.iter().map(in_words));
    mounts.into_iter().chain(rest).take(MOST_NAMED).collect()
}

fn in_words(opener: &Opener) -> String {
    let file = if matches!(opener.target, Target::File(_)) { "the file behind it, " } else { "" };
    let Opener { path, pid, program, .. } = opener;
    format!("{file}{} is opened by process {pid} ({program})", path.display())
}

/// The user of a file that holds the device's bytes.
fn file_user(around: &Around, files: &BTreeSet<FileId>) -> Option<(String, &'static str)> {
    let among = |target: &Target| matches!(target, Target::File(file) if files.contains(file));
    if let Some((path, _)) = around.swaps.iter().find(|(_, target)| among(target)) {
        return Some((format!("the file behind it, {path}, is in use as swap"), "swapoff it, if memory allows"));
    }
    if files.is_empty() {
        return None;
    }
    let member = pool_members().into_iter().find(|path| Target::of(Path::new(path)).is_some_and(|one| among(&one)))?;
    Some((format!("the file behind it, {member}, belongs to an imported ZFS pool"), "export that pool first"))
}

/// Files and devices of imported pools. zfs-fuse has them open as any process does; the kernel's ZFS has them open invisibly.
fn pool_members() -> Vec<String> {
    if !Path::new("/sys/module/zfs").exists() {
        return Vec::new();
    }
    let command = system::Command::new(["zpool", "status", "-LP"]).limit(Duration::from_secs(20));
    let answer = command.run(&system::Journal::new()).map(|answer| answer.stdout).unwrap_or_default();
    answer.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_string).collect()
}

/// Every swap with its target. Blanks in a name are written in octal.
fn swaps() -> Vec<(String, Target)> {
    let text = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swap = |line: &str| {
        let path = line.split_whitespace().next()?.replace("\\040", " ");
        Some((path.clone(), Target::of(Path::new(&path))?))
    };
    text.lines().skip(1).filter_map(swap).collect()
}

/// A btrfs volume in use that has one of these devices: /sys/fs/btrfs/UUID/devices/NAME/dev.
fn btrfs_members(numbers: &BTreeSet<Number>) -> Option<(String, String)> {
    for volume in std::fs::read_dir("/sys/fs/btrfs").ok()?.flatten() {
        let Ok(members) = std::fs::read_dir(volume.path().join("devices")) else { continue };
        for member in members.flatten() {
            let number = std::fs::read_to_string(member.path().join("dev")).ok().and_then(|text| Number::parse(&text));
            if number.is_some_and(|number| numbers.contains(&number)) {
                let text = |name: std::ffi::OsString| name.to_string_lossy().into_owned();
                return Some((text(volume.file_name()), text(member.file_name())));
            }
        }
    }
    None
}

/// Other processes that keep the device, a disk below or beside it, or a file behind it open (a file: for writing).
fn open_by_others(family: &BTreeSet<Number>, disks: &BTreeSet<Number>, files: &BTreeSet<FileId>) -> Vec<Opener> {
    let wanted = Wanted { devices: family.union(disks).copied().collect(), files: files.clone() };
    let end = Instant::now() + PASSING;
    loop {
        let mut found = openers::openers(&wanted);
        found.retain(|opener| opener.writes || matches!(opener.target, Target::Block(_)));
        if found.is_empty() || Instant::now() >= end {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
