//! Loop devices on an image: attached to the open file, found by file identity instead of name, and detached.
//! In: an image's path and identity. Out: its loop devices, their other users, and that they are gone.
//! The kernel shows the path as of attaching; in another container the same path is another file.

use crate::error::StagingError;
use crate::ownership::cleanup_journal::RUN_FOLDER;
use crate::ownership::owned::Identity;
use std::path::Path;
use std::time::{Duration, Instant};
use system::{BlockDevice, Command, FileId, Journal, Sysfs as _, Wanted, mounts, openers};

pub(crate) use system::loops::attach;

/// How long to wait for the last user of a loop device.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Holders of a loop device that are named at most.
const NAMED: usize = 3;

/// Characters of a holder's command line that are shown at most.
const COMMAND_LENGTH: usize = 60;

/// Loop devices on a file. Without an identity (cleanup records of version 0.1 have none) those that were attached by exactly this path.
pub(crate) fn on(file: &Path, identity: Option<Identity>) -> Vec<BlockDevice> {
    let resolved = file.canonicalize().ok();
    system::loops::attached()
        .into_iter()
        .filter(|device| {
            let Some(backing) = device.backing_file.as_deref() else { return false };
            match identity {
                Some(identity) => match is_on(device, identity) {
                    Some(is_on) => is_on,
                    // If the kernel does not show the file, the name decides: it has the run's id, and an image in use is not removed.
                    None => backing.file_name() == file.file_name(),
                },
                None => backing == file || Some(backing) == resolved.as_deref(),
            }
        })
        .collect()
}

/// Whether a loop device is on this very file; None if that is unknown.
pub(crate) fn is_on(device: &BlockDevice, identity: Identity) -> Option<bool> {
    let file = FileId { device: system::block::number_from_raw(identity.device), inode: identity.inode };
    system::loops::file_behind(device).map(|behind| behind == file)
}

/// A foreign user of a loop device of ours: a mount outside the run's own folder, swap, a mapping. None if there is none.
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
            // Another start may clean up the same at the same time; a device that is gone needs no detaching.
            Err(error) if is_there() => {
                return Err(StagingError::command(format!("detaching {} from {}", device.name, file.display()))(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Thaws a filesystem that is no longer mounted: its run was killed during a checkpoint and its mount namespace is gone, but the frozen
/// filesystem keeps its device in use. Mounted again, it can be thawed; a filesystem that is not frozen is not changed.
pub(crate) fn thaw(journal: &Journal, device: &BlockDevice, id: &str) {
    let folder = Path::new(RUN_FOLDER).join(id);
    let point = folder.join("mnt");
    let (node, point_text) = (device.path.display().to_string(), point.display().to_string());
    // If a step fails, the device is still in use, which is reported later.
    if std::fs::create_dir_all(&point).is_ok() && Command::new(["mount", &node, &point_text]).run(journal).is_ok() {
        let _ = Command::new(["fsfreeze", "--unfreeze", &point_text]).run(journal);
        let _ = Command::new(["umount", &point_text]).run(journal);
    }
    crate::ownership::owned::remove_empty(&folder);
}

/// Waits until no loop device is on a file: the kernel detaches one only after its last user.
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

/// Whether a device is mounted in any visible namespace. btrfs shows numbers of its own, and the device only as the source.
pub(crate) fn is_mounted(device: &BlockDevice) -> bool {
    mounts::everywhere().iter().any(|mount| is_of(mount, device))
}

fn is_of(mount: &mounts::Mount, device: &BlockDevice) -> bool {
    mount.number == device.number || Path::new(&mount.source) == device.path
}

/// Processes that hold a device: one for each mount namespace in which it is mounted, and those that have it open.
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
    // A name may contain control sequences for terminals.
    format!("process {pid} ({})", line.escape_debug())
}
