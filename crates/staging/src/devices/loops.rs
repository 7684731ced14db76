//! Loop devices on an image: attached to the open file, found by the file that they are on, not by the name that it had, and detached.
//! In: an image's path and identity. Out: its loop devices, who else uses them, and that they are gone.
//! The kernel shows a path as it was when attached; in another container the same path is another file.

use crate::error::StagingError;
use crate::ownership::cleanup_journal::RUN_FOLDER;
use crate::ownership::owned::Identity;
use std::path::Path;
use std::time::{Duration, Instant};
use system::{BlockDevice, Command, FileId, Journal, Sysfs as _, Wanted, mounts, openers};

pub(crate) use system::loops::attach;

/// How long the last user of a loop device is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// So many holders of a loop device are named.
const NAMED: usize = 3;

/// Characters of a holder's command line that are shown.
const COMMAND_LENGTH: usize = 60;

/// Loop devices on a file. Without an identity (marks of version 0.1 know none) those that were attached by exactly this path.
pub(crate) fn on(file: &Path, identity: Option<Identity>) -> Vec<BlockDevice> {
    let resolved = file.canonicalize().ok();
    BlockDevice::all()
        .into_iter()
        .filter(|device| {
            let Some(backing) = device.backing_file.as_deref() else { return false };
            match identity {
                Some(identity) => match is_on(device, identity) {
                    Some(is_on) => is_on,
                    // One that the kernel tells nothing of counts: the name carries the run's id, and an image is not removed under it.
                    None => backing.file_name() == file.file_name(),
                },
                None => backing == file || Some(backing) == resolved.as_deref(),
            }
        })
        .collect()
}

/// Whether a loop device is on this very file; None where it cannot be asked.
pub(crate) fn is_on(device: &BlockDevice, identity: Identity) -> Option<bool> {
    let file = FileId { device: system::block::number_from_raw(identity.device), inode: identity.inode };
    system::loops::file_behind(device).map(|behind| behind == file)
}

/// Who uses a loop device that is ours: something mounted outside the run's own folder, swap, a mapping. None where nobody does.
pub(crate) fn foreign_user(device: &BlockDevice, id: &str) -> Option<String> {
    let own = Path::new(RUN_FOLDER).join(id);
    let parts: Vec<BlockDevice> = device.partitions.iter().filter_map(|name| BlockDevice::named(name)).collect();
    for one in std::iter::once(device).chain(&parts) {
        let mounted =
            mounts::everywhere().into_iter().find(|mount| is_of(mount, one) && !mount.point.starts_with(&own));
        if let Some(mount) = mounted {
            return Some(format!("{} is mounted on {}", one.name, mount.point.display()));
        }
        if let Some(holder) = one.holders.first() {
            return Some(format!("{} is held by {holder}", one.name));
        }
        let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
        if swaps.lines().any(|line| line.split_whitespace().next() == one.path.to_str()) {
            return Some(format!("{} is swap", one.name));
        }
    }
    None
}

/// Detaches every loop device on a file.
pub(crate) fn detach(journal: &Journal, file: &Path, identity: Option<Identity>) -> Result<(), StagingError> {
    for device in on(file, identity) {
        let words = ["losetup".to_string(), "--detach".into(), device.path.display().to_string()];
        let is_there = || on(file, identity).iter().any(|other| other.path == device.path);
        match Command::new(words).run(journal) {
            // Another start may be cleaning up the same at the same time; what is gone needs no detaching.
            Err(error) if is_there() => {
                return Err(StagingError::command(format!("detaching {} from {}", device.name, file.display()))(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Thaws a filesystem that nobody has mounted any more: its run was killed in the middle of a checkpoint and its mount namespace is
/// gone, while what is frozen stays in use for ever. Mounted once more, it can be thawed; where that was not it, nothing changes.
pub(crate) fn thaw(journal: &Journal, device: &BlockDevice, id: &str) {
    let folder = Path::new(RUN_FOLDER).join(id);
    let point = folder.join("mnt");
    let (node, point_text) = (device.path.display().to_string(), point.display().to_string());
    // Whatever of it does not work, the device is then still in use, which is what is reported.
    if std::fs::create_dir_all(&point).is_ok() && Command::new(["mount", &node, &point_text]).run(journal).is_ok() {
        let _ = Command::new(["fsfreeze", "--unfreeze", &point_text]).run(journal);
        let _ = Command::new(["umount", &point_text]).run(journal);
    }
    crate::ownership::owned::remove_empty(&folder);
}

/// Waits until no loop device is on a file: the kernel detaches one only when its last user is gone.
pub(crate) fn await_detached(file: &Path, identity: Option<Identity>, patience: Duration) -> Result<(), StagingError> {
    let end = Instant::now() + patience;
    loop {
        let Some(device) = on(file, identity).into_iter().next() else { return Ok(()) };
        if Instant::now() >= end {
            let holders = holders(&device);
            let by = if holders.is_empty() { String::new() } else { format!(" by {}", holders.join(", ")) };
            return Err(StagingError::LeftBehind(format!("{} on {} is still in use{by}", device.name, file.display())));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a device is mounted in any namespace that can be seen. btrfs shows numbers of its own, and the device only as the source.
pub(crate) fn is_mounted(device: &BlockDevice) -> bool {
    mounts::everywhere().iter().any(|mount| is_of(mount, device))
}

fn is_of(mount: &mounts::Mount, device: &BlockDevice) -> bool {
    mount.number == device.number || Path::new(&mount.source) == device.path
}

/// The processes that hold a device: each mount namespace in which it is mounted by one of its processes, and those that have it open.
pub(crate) fn holders(device: &BlockDevice) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for mount in mounts::everywhere().into_iter().filter(|mount| is_of(mount, device)) {
        let holder = match mount.seen_by.parse() {
            Ok(pid) => {
                let namespace = std::fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap_or_default();
                format!("{}, whose mount namespace {} has a copy of the mount", process(pid), namespace.display())
            }
            Err(_) => format!("a mount at {}", mount.point.display()),
        };
        if !found.contains(&holder) {
            found.push(holder);
        }
    }
    let open = Wanted { devices: [device.number].into(), ..Wanted::default() };
    found.extend(openers::openers(&open).iter().map(|one| format!("{}, which has it open", process(one.pid))));
    found.extend(device.holders.iter().cloned());
    found.truncate(NAMED);
    found
}

/// A process by its id and its command line.
fn process(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line: String = String::from_utf8_lossy(&words).replace('\0', " ").trim().chars().take(COMMAND_LENGTH).collect();
    // A name may hold what a terminal would obey.
    format!("process {pid} ({})", line.escape_debug())
}
