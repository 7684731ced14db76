//! Block devices as sysfs shows them: size, identity, queue, related devices.
//! In: any path that leads to a device (symlink, partition), or its number. Out: [`BlockDevice`].
//! Read only; other modules decide what may be done to a device.

pub use records::{BlockDevice, Number, Queue};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a path does not lead to a block device.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BlockError {
    /// stat(2) failed.
    #[error("cannot inspect {path}: {error} (`lsblk` lists the block devices)")]
    Unreachable {
        /// The inspected path.
        path: PathBuf,
        /// The system's error text.
        error: String,
    },
    /// The path is not a block device.
    #[error("{0} is not a block device (`lsblk` lists them; for a directory use --dir)")]
    NotBlock(PathBuf),
    /// The device number has no entry in sysfs.
    #[error(
        "{path} has device number {number}, which the kernel does not know: the device is gone, or the node is stale"
    )]
    Unknown {
        /// The device node.
        path: PathBuf,
        /// Its number.
        number: Number,
    },
}

/// Converts the form that stat(2) returns.
pub fn number_from_raw(raw: u64) -> Number {
    Number { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
}

/// Inspects block devices.
pub trait Sysfs: Sized {
    /// Inspects the device that a path leads to.
    fn find(path: &Path) -> Result<BlockDevice, BlockError>;
    /// Inspects a device by its number; None where the kernel knows none.
    fn numbered(number: Number) -> Option<BlockDevice>;
    /// Inspects a device by its name in sysfs.
    fn named(name: &str) -> Option<BlockDevice>;
    /// The device that holds a file's data, as far as the kernel shows it: by device number, else by the source of the mount.
    fn under(path: &Path) -> Option<BlockDevice>;
    /// All whole disks.
    fn all() -> Vec<BlockDevice>;
    /// Every device below this one: the disk of a partition, the slaves, the device that holds a loop's backing file, and theirs.
    fn below(&self) -> Vec<BlockDevice>;
    /// The partition's number on its disk, and its first byte there; None for a device that is not a partition.
    fn partition(&self) -> Option<(u32, u64)>;
    /// A field of the device's uevent, such as `PARTUUID`; None where the kernel is too old to show it.
    fn event(&self, field: &str) -> Option<String>;
}

impl Sysfs for BlockDevice {
    fn find(path: &Path) -> Result<BlockDevice, BlockError> {
        let unreachable =
            |error: std::io::Error| BlockError::Unreachable { path: path.into(), error: error.to_string() };
        let resolved = path.canonicalize().map_err(unreachable)?;
        let facts = resolved.metadata().map_err(unreachable)?;
        if !facts.file_type().is_block_device() {
            return Err(BlockError::NotBlock(path.into()));
        }
        let number = number_from_raw(facts.rdev());
        // A node under another name may be removed or reused for another device; the kernel's own node belongs to the device.
        let found = BlockDevice::numbered(number).filter(|device| node_number(&device.path) == Some(number));
        found.or_else(|| read(number, resolved.clone())).ok_or(BlockError::Unknown { path: resolved, number })
    }

    fn numbered(number: Number) -> Option<BlockDevice> {
        let folder = sysfs(number)?;
        let name = folder.file_name()?.to_string_lossy().replace('!', "/");
        read(number, Path::new("/dev").join(name))
    }

    fn named(name: &str) -> Option<BlockDevice> {
        let number = crate::text(Path::new("/sys/class/block").join(name.replace('/', "!")).join("dev"))?;
        BlockDevice::numbered(Number::parse(&number)?)
    }

    fn under(path: &Path) -> Option<BlockDevice> {
        let number = number_from_raw(path.metadata().ok()?.dev());
        BlockDevice::numbered(number).or_else(|| {
            let mount = crate::mounts::of_path(path)?;
            BlockDevice::find(Path::new(&mount.source)).ok()
        })
    }

    fn all() -> Vec<BlockDevice> {
        let mut found: Vec<BlockDevice> =
            entries(Path::new("/sys/block")).iter().filter_map(|name| BlockDevice::named(name)).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    fn below(&self) -> Vec<BlockDevice> {
        let mut found: Vec<BlockDevice> = Vec::new();
        let mut waiting = just_below(self);
        // Stacks have a handful of layers; the limit guards against a loop in sysfs.
        while let Some(device) = waiting.pop().filter(|_| found.len() < 64) {
            if found.iter().all(|known| known.number != device.number) {
                waiting.extend(just_below(&device));
                found.push(device);
            }
        }
        found
    }

    fn partition(&self) -> Option<(u32, u64)> {
        let folder = sysfs(self.number)?;
        // The kernel counts in 512-byte units whatever the sector size is.
        Some((crate::number(folder.join("partition"))?, crate::number::<u64>(folder.join("start"))? * 512))
    }

    fn event(&self, field: &str) -> Option<String> {
        let shown = crate::text(sysfs(self.number)?.join("uevent"))?;
        let value = shown.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix('='))?;
        Some(value.to_string()).filter(|value| !value.is_empty())
    }
}

fn just_below(device: &BlockDevice) -> Vec<BlockDevice> {
    let backing = device.backing_file.as_deref().and_then(BlockDevice::under);
    device.parent.iter().chain(&device.slaves).filter_map(|name| BlockDevice::named(name)).chain(backing).collect()
}

fn read(number: Number, path: PathBuf) -> Option<BlockDevice> {
    let folder = sysfs(number)?;
    let is_partition = folder.join("partition").exists();
    let disk = if is_partition { folder.parent()?.to_path_buf() } else { folder.clone() };
    let name = folder.file_name()?.to_string_lossy().replace('!', "/");
    let queue = disk.join("queue");
    let sector = |file: &str| crate::number(queue.join(file)).unwrap_or(512);
    Some(BlockDevice {
        number,
        // The kernel counts in 512-byte units whatever the sector size is.
        size_bytes: crate::number::<u64>(folder.join("size"))? * 512,
        serial: serial(&disk),
        wwid: word(disk.join("wwid")).or_else(|| word(disk.join("device/wwid"))),
        by_id: by_id(number),
        model: word(disk.join("device/model")),
        driver: driver(&disk),
        rotational: crate::number::<u8>(queue.join("rotational")) == Some(1),
        removable: crate::number::<u8>(disk.join("removable")) == Some(1),
        read_only: crate::number::<u8>(folder.join("ro")) == Some(1),
        logical_sector: sector("logical_block_size"),
        physical_sector: sector("physical_block_size"),
        discards: crate::number::<u64>(queue.join("discard_max_bytes")).unwrap_or(0) > 0,
        sequence: crate::number(disk.join("diskseq")),
        parent: is_partition.then(|| disk.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        partitions: partitions(&folder),
        holders: entries(&folder.join("holders")),
        slaves: entries(&folder.join("slaves")),
        layout: crate::layout::layout(&folder),
        backing_file: backing_file(&disk),
        loop_direct: crate::number::<u8>(disk.join("loop/dio")).map(|on| on == 1),
        queue: read_queue(&queue),
        path,
        name,
    })
}

fn sysfs(number: Number) -> Option<PathBuf> {
    Path::new("/sys/dev/block").join(number.to_string()).canonicalize().ok()
}

fn word(path: impl AsRef<Path>) -> Option<String> {
    crate::text(path).map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
}

fn serial(disk: &Path) -> Option<String> {
    ["serial", "device/serial", "device/cid"]
        .iter()
        .find_map(|file| word(disk.join(file)))
        .or_else(|| udev_serial(disk))
}

/// SCSI disks show their serial only in a page of vital product data, or through udev.
fn udev_serial(disk: &Path) -> Option<String> {
    let page = std::fs::read(disk.join("device/vpd_pg80")).ok();
    let from_page = page.and_then(|page| {
        let text: String = page.get(4..)?.iter().map(|byte| *byte as char).filter(|c| c.is_ascii_graphic()).collect();
        (!text.is_empty()).then_some(text)
    });
    from_page.or_else(|| {
        let number = crate::text(disk.join("dev"))?;
        let known = crate::text(format!("/run/udev/data/b{number}"))?;
        known
            .lines()
            .find_map(|line| line.strip_prefix("E:ID_SERIAL_SHORT=").or_else(|| line.strip_prefix("E:ID_SERIAL=")))
            .map(str::to_string)
    })
}

fn node_number(path: &Path) -> Option<Number> {
    let facts = path.metadata().ok()?;
    facts.file_type().is_block_device().then(|| number_from_raw(facts.rdev()))
}

fn by_id(number: Number) -> Vec<String> {
    let folder = Path::new("/dev/disk/by-id");
    let mut names = entries(folder);
    names.retain(|name| node_number(&folder.join(name)) == Some(number));
    names.sort();
    names
}

fn driver(disk: &Path) -> Option<String> {
    let link = disk.join("device/driver").canonicalize().ok();
    let named = link.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    named.or_else(|| disk.join("loop").exists().then(|| "loop".into()))
}

fn partitions(folder: &Path) -> Vec<String> {
    let mut names = entries(folder);
    names.retain(|name| folder.join(name).join("partition").exists());
    names.sort();
    names
}

/// The kernel appends a mark to a backing file whose name was removed.
fn backing_file(disk: &Path) -> Option<PathBuf> {
    let text = crate::text(disk.join("loop/backing_file"))?;
    Some(PathBuf::from(text.strip_suffix(" (deleted)").unwrap_or(&text)))
}

/// Files of `queue/` that are kept: settings, and limits of a request.
const QUEUE_FILES: [&str; 17] = [
    "read_ahead_kb",
    "nr_requests",
    "write_cache",
    "fua",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "max_segments",
    "nomerges",
    "rq_affinity",
    "rotational",
    "add_random",
    "wbt_lat_usec",
    "discard_granularity",
    "discard_max_bytes",
    "minimum_io_size",
    "optimal_io_size",
    "io_poll",
];

fn read_queue(folder: &Path) -> Queue {
    let listed = crate::text(folder.join("scheduler")).unwrap_or_default();
    let words = listed.split_whitespace();
    let chosen = listed.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Queue {
        scheduler: chosen.map(str::to_string),
        schedulers: words.map(|word| word.trim_matches(['[', ']']).to_string()).collect(),
        settings: QUEUE_FILES.iter().filter_map(|file| Some((file.to_string(), word(folder.join(file))?))).collect(),
    }
}

/// Names in a folder; none if it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disk_of_this_machine_is_found_again_by_its_path() {
        for device in BlockDevice::all().iter().filter(|device| device.path.exists()) {
            let again = BlockDevice::find(&device.path).expect("its node leads to it");
            assert_eq!(again.number, device.number);
            assert_eq!(again.disk(), device.name);
        }
    }

    #[test]
    fn a_file_that_is_no_block_device_is_an_error() {
        let error = BlockDevice::find(Path::new("/dev/null")).expect_err("a character device");
        assert!(error.to_string().contains("not a block device"));
        let error = BlockDevice::find(Path::new("/dev/no-such-disk")).expect_err("nothing");
        assert!(error.to_string().contains("No such file"));
    }
}
