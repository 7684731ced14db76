//! Custody: nothing is formatted that its owner did not name.
//! In: a device that was only found, and the word that allows erasing it. Out: [`Erasable`], or why not.
//! Rules: "Custody of devices" in docs/methods.md. Devices are compared by number, never by the text of their names.

use crate::error::LabError;
use crate::mark::RUN_FOLDER;
use host::block::Number;
use host::{BlockDevice, Command, Journal, Sysfs as _, mounts};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a process that opened the device in passing (udev does) is waited for.
const PASSING: Duration = Duration::from_secs(3);

/// A device that may be erased: nothing is on it, or its owner named it. (Our own images are another type, [`crate::image::Image`].)
#[derive(Debug)]
pub(crate) struct Erasable {
    device: BlockDevice,
    /// The word that was given.
    erase: Option<String>,
    /// Label that our own filesystems carry.
    label: String,
    held: Option<File>,
    _locks: Vec<File>,
}

impl Erasable {
    /// Takes a real device, held exclusively from here on.
    pub fn take(path: &Path, erase: Option<&str>, label: &str) -> Result<Erasable, LabError> {
        let device = find(path)?;
        let locks = lock(&device)?;
        let mut taken =
            Erasable { device, erase: erase.map(str::to_string), label: label.into(), held: None, _locks: locks };
        taken.verify()?;
        taken.hold()?;
        Ok(taken)
    }

    /// The label that our own filesystem on it carries from now on.
    pub fn carries(&mut self, label: &str) {
        self.label = label.into();
    }

    /// The device.
    pub fn device(&self) -> &BlockDevice {
        &self.device
    }

    /// Reads everything again; called right before every command that writes to the bare device.
    pub fn verify(&self) -> Result<(), LabError> {
        let now = find(&self.device.path)?;
        let same = now.number == self.device.number
            && now.serial == self.device.serial
            && now.sequence == self.device.sequence
            && now.size_bytes == self.device.size_bytes;
        if !same {
            let reason = "it is no longer the device that was there at the start";
            return Err(LabError::refused(&now.path, reason, "look with lsblk, and start again"));
        }
        free_of_users(&now)?;
        free_of_signatures(&now, self.erase.as_deref(), &self.label)
    }

    /// Holds it exclusively: no mount, mkfs or other holder gets in.
    pub fn hold(&mut self) -> Result<(), LabError> {
        if self.held.is_some() {
            return Ok(());
        }
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(rustix::fs::OFlags::EXCL.bits() as i32)
            .open(&self.device.path)
            .map_err(|error| {
                let reason = format!("opening it exclusively answered: {error}");
                LabError::refused(
                    &self.device.path,
                    reason,
                    "another program or device holds it; lsblk and fuser show which",
                )
            })?;
        self.held = Some(opened);
        Ok(())
    }

    /// Lets go for the moment in which mkfs or mount takes its place. The lock stays.
    pub fn release(&mut self) {
        self.held = None;
    }
}

fn find(path: &Path) -> Result<BlockDevice, LabError> {
    BlockDevice::find(path).map_err(|error| LabError::refused(path, error.to_string(), ""))
}

/// The device, its partitions, and everything stacked on them.
fn family(device: &BlockDevice) -> Vec<BlockDevice> {
    let mut found = vec![device.clone()];
    let mut at = 0;
    while at < found.len() && found.len() < 1024 {
        let one = found[at].clone();
        for name in one.partitions.iter().chain(&one.holders) {
            let fresh =
                BlockDevice::named(name).filter(|device| found.iter().all(|known| known.number != device.number));
            found.extend(fresh);
        }
        at += 1;
    }
    found
}

/// Refuses a device that is read-only, mounted, swapped on, or held by anything.
fn free_of_users(device: &BlockDevice) -> Result<(), LabError> {
    let refuse = |reason: String, way: &str| Err(LabError::refused(&device.path, reason, way));
    if device.read_only {
        return refuse("it is read-only".into(), "`blockdev --setrw` lifts that, where the hardware allows it");
    }
    if device.size_bytes == 0 {
        return refuse("it has no medium: its size is 0".into(), "");
    }
    let family = family(device);
    let numbers: BTreeSet<Number> = family.iter().map(|device| device.number).collect();
    // A disk that is itself mounted, swap or held leaves no partition of it free.
    let family: Vec<BlockDevice> =
        family.into_iter().chain(device.parent.as_deref().and_then(BlockDevice::named)).collect();
    let own = numbers.clone();
    let numbers: BTreeSet<Number> = family.iter().map(|device| device.number).collect();
    let name = |number: Number| {
        family.iter().find(|one| one.number == number).map_or_else(String::new, |one| one.name.clone())
    };
    if let Some(mount) = mounts::everywhere().into_iter().find(|mount| is_on(mount, &numbers)) {
        let seen = if mount.seen_by == "self" {
            String::new()
        } else {
            format!(" in the mount namespace of process {}", mount.seen_by)
        };
        let reason = format!("{} is mounted on {}{seen}", mount.source, mount.point.display());
        return refuse(reason, "unmount it, if nobody needs it");
    }
    if let Some((path, number)) = swaps().into_iter().find(|(_, number)| numbers.contains(number)) {
        return refuse(format!("{} ({path}) is swap", name(number)), "swapoff it, if memory allows");
    }
    if let Some((holder, held)) = family.iter().find_map(|one| Some((one.holders.first()?, &one.name))) {
        return refuse(
            format!("{held} is held by {holder} (LVM, RAID, encryption or another mapping)"),
            "take that apart first, if nobody needs it",
        );
    }
    if let Some((user, file)) = loops_on(&numbers) {
        return refuse(format!("{file} is attached to {user}"), "`losetup --detach` it, if nobody needs it");
    }
    if let Some((volume, member)) = btrfs_members(&numbers) {
        return refuse(
            format!("{member} belongs to the btrfs filesystem {volume}, which is in use"),
            "unmount that filesystem, or remove the device from it",
        );
    }
    match opened_by(&own) {
        Some((pid, program, path)) => {
            refuse(format!("{path} is opened by process {pid} ({program})"), "end that program, if nobody needs it")
        }
        None => Ok(()),
    }
}

/// By the device number of the mount, or of what was mounted: btrfs and others have numbers of no device.
fn is_on(mount: &mounts::Mount, numbers: &BTreeSet<Number>) -> bool {
    numbers.contains(&mount.number)
        || node_number(Path::new(&mount.source)).is_some_and(|number| numbers.contains(&number))
}

fn node_number(path: &Path) -> Option<Number> {
    if !path.is_absolute() {
        return None;
    }
    let facts = path.metadata().ok()?;
    facts.file_type().is_block_device().then(|| host::block::number_from_raw(facts.rdev()))
}

fn swaps() -> Vec<(String, Number)> {
    let text = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let path = line.split_whitespace().next()?;
            Some((path.to_string(), node_number(Path::new(path))?))
        })
        .collect()
}

/// A loop device whose backing file is one of these devices.
fn loops_on(numbers: &BTreeSet<Number>) -> Option<(String, String)> {
    BlockDevice::all().into_iter().find_map(|device| {
        let file = device.backing_file?;
        let number = node_number(&file)?;
        numbers.contains(&number).then(|| (device.name, file.display().to_string()))
    })
}

/// A btrfs volume that is in use and has one of these devices: /sys/fs/btrfs/UUID/devices/NAME/dev.
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

/// Another process that has one of these devices open, and keeps it open.
fn opened_by(numbers: &BTreeSet<Number>) -> Option<(u32, String, String)> {
    let end = std::time::Instant::now() + PASSING;
    loop {
        let found = opened_now(numbers)?;
        if std::time::Instant::now() >= end {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn opened_now(numbers: &BTreeSet<Number>) -> Option<(u32, String, String)> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        if pid == std::process::id() {
            continue;
        }
        let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        for file in files.flatten() {
            let target = std::fs::read_link(file.path()).unwrap_or_default();
            // Only device nodes are looked at more closely; a look at a file on a dead server could hang.
            let is_ours =
                target.starts_with("/dev") && node_number(&file.path()).is_some_and(|number| numbers.contains(&number));
            if is_ours {
                let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                return Some((pid, program.trim().to_string(), target.display().to_string()));
            }
        }
    }
    None
}

/// Refuses a device that carries a signature, unless the word that allows erasing it is its serial or by-id name.
fn free_of_signatures(device: &BlockDevice, erase: Option<&str>, label: &str) -> Result<(), LabError> {
    let names: Vec<&str> = device.serial.iter().chain(&device.by_id).map(String::as_str).collect();
    if let Some(word) = erase
        && !names.contains(&word)
    {
        let way = if names.is_empty() {
            "it tells neither a serial nor a by-id name, so it cannot be named for erasing".to_string()
        } else {
            format!("its names are: {}", names.join(", "))
        };
        return Err(LabError::refused(&device.path, format!("--erase {word} does not name it"), way));
    }
    if erase.is_some() {
        return Ok(());
    }
    let parts = device.partitions.iter().filter_map(|name| BlockDevice::named(name));
    for one in std::iter::once(device.clone()).chain(parts) {
        if let Some(found) = signature(&one.path, label)? {
            let way = match names.first() {
                Some(name) => format!("if nothing on it is needed, allow it with --erase {name}"),
                None => format!(
                    "it tells neither a serial nor a by-id name, so --erase cannot name it; if nothing on it is needed, empty it with `wipefs --all {}`",
                    one.path.display()
                ),
            };
            return Err(LabError::refused(&device.path, format!("{} carries {found}", one.name), way));
        }
    }
    Ok(())
}

/// What blkid or wipefs finds on a device, other than a filesystem with our own label. Nothing of it is recorded: it only reads.
pub(crate) fn signature(path: &Path, own_label: &str) -> Result<Option<String>, LabError> {
    let journal = Journal::new();
    let device = path.display().to_string();
    let ask = |argv: &[&str], accepted: &[i32]| {
        let words = argv.iter().copied().chain([device.as_str()]);
        Command::new(words)
            .accept(accepted)
            .hint("blkid and wipefs are in Debian's util-linux")
            .run(&journal)
            .map_err(LabError::command(format!("looking for signatures on {device}")))
    };
    // 2: nothing found; 8: several found, so that none is sure, but something is there.
    let probed = ask(&["blkid", "--probe", "--output", "export"], &[0, 2, 8])?;
    let wiped = ask(&["wipefs", "--no-act"], &[0])?;
    let value = |key: &str| probed.stdout.lines().find_map(|line| line.strip_prefix(key)).map(str::to_string);
    // Of a partition blkid also tells its entry in the disk's table, which is nothing on the partition itself.
    let named = value("TYPE=").is_some() || value("PTTYPE=").is_some() || probed.status == 8;
    if !named && wiped.stdout.trim().is_empty() {
        return Ok(None);
    }
    if value("LABEL=").as_deref() == Some(own_label) {
        return Ok(None);
    }
    let kind = value("TYPE=")
        .or_else(|| value("PTTYPE=").map(|kind| format!("a partition table ({kind})")))
        .unwrap_or_else(|| wiped.stdout.lines().nth(1).unwrap_or("several signatures").trim().to_string());
    let named = value("LABEL=").map(|label| format!(" named \"{label}\"")).unwrap_or_default();
    Ok(Some(format!("{kind}{named}")))
}

/// Whether the filesystem on a device has this label: ours.
pub(crate) fn carries_label(path: &Path, label: &str) -> Result<bool, LabError> {
    let words = ["blkid", "--probe", "--output", "value", "--match-tag", "LABEL"].map(String::from);
    let command = Command::new(words.into_iter().chain([path.display().to_string()])).accept(&[0, 2, 8]);
    let answer =
        command.run(&Journal::new()).map_err(LabError::command(format!("reading the label of {}", path.display())))?;
    Ok(answer.stdout.trim() == label)
}

/// Two runs on one device refuse each other; two on different partitions of a disk do not.
fn lock(device: &BlockDevice) -> Result<Vec<File>, LabError> {
    let folder = PathBuf::from(RUN_FOLDER).join("locks");
    std::fs::create_dir_all(&folder).map_err(|error| LabError::file("make", &folder, error))?;
    let mut locks = Vec::new();
    if let Some(parent) = &device.parent {
        locks.push(lock_one(&folder, parent, device, true)?);
    }
    locks.push(lock_one(&folder, &device.name, device, false)?);
    Ok(locks)
}

fn lock_one(folder: &Path, name: &str, device: &BlockDevice, shared: bool) -> Result<File, LabError> {
    let path = folder.join(format!("{}.lock", name.replace('/', "!")));
    let opened = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
    let file = opened.map_err(|error| LabError::file("open", &path, error))?;
    let got = if shared { file.try_lock_shared() } else { file.try_lock() };
    got.map_err(|error| match error {
        std::fs::TryLockError::WouldBlock => {
            LabError::Busy { what: device.path.display().to_string(), holder: holder(&path) }
        }
        std::fs::TryLockError::Error(error) => LabError::file("lock", &path, error),
    })?;
    if !shared {
        // Only for the message of the one who comes later; the lock itself is what counts.
        let _ = file
            .set_len(0)
            .and_then(|()| std::io::Write::write_all(&mut &file, std::process::id().to_string().as_bytes()));
    }
    Ok(file)
}

fn holder(path: &Path) -> String {
    match std::fs::read_to_string(path) {
        Ok(pid) if !pid.trim().is_empty() => format!(" (process {})", pid.trim()),
        _ => String::new(),
    }
}
