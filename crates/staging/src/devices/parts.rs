//! Equal parts of a device: partitions that only the kernel knows. The disk holds no table of them, and requests go straight to it.
//! In: a disk, and the number of parts. Out: the place of each [`Part`], and the commands that add and remove it.
//! [`crate::devices::custody`] decides whether the disk may be erased.

use crate::busy::{PASSING, when_free};
use crate::devices::custody::emptying_within;
use crate::devices::loops::PATIENCE;
use crate::error::StagingError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use system::{BlockDevice, Command, Journal, Sysfs as _};

const MIB: u64 = 1 << 20;

/// The largest alignment that a disk can need; a larger one is an error of the disk.
const WIDEST: u64 = 1 << 30;

/// A partition must begin at a whole page, whatever the disk reports.
const PAGE: u64 = 4096;

/// Unit of addpart(8), whatever the sector size is.
const UNIT: u64 = 512;

/// One of the parts of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Number of the partition, from 1.
    pub number: u32,
    /// Byte of the disk at which it begins.
    pub start: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Divides a disk into this many equal parts. The first begins at 1 MiB, and the last ends 1 MiB before the disk does or earlier; each is
/// aligned to 1 MiB, and to the disk's optimal I/O size if that is larger.
///
/// # Errors
/// It is a partition, its driver allows no partitions or too few, or it is too small.
pub fn parts(disk: &BlockDevice, count: usize) -> Result<Vec<Part>, StagingError> {
    if let Some((reason, way)) = why_whole(disk, count) {
        return Err(StagingError::refused(&disk.path, reason, way));
    }
    let step = alignment(disk);
    let bytes = disk.size_bytes.saturating_sub(step + MIB) / count.max(1) as u64 / step * step;
    if bytes == 0 {
        let reason = format!("{} is too small for {count} parts", records::show_bytes(disk.size_bytes));
        return Err(StagingError::refused(&disk.path, reason, "use a larger device, or leave --split out"));
    }
    let part = |index: u64| Part { number: index as u32 + 1, start: step + index * bytes, bytes };
    Ok((0..count as u64).map(part).collect())
}

/// Why a device cannot have this many partitions, and what to do.
fn why_whole(device: &BlockDevice, count: usize) -> Option<(String, &'static str)> {
    if device.parent.is_some() {
        let way = "name the whole disk with --on, or leave --split out";
        return Some(("it is a partition, which cannot be split again".into(), way));
    }
    // If the kernel does not show it, adding the first part shows whether it works.
    let range = std::fs::read_to_string(Path::new("/sys/block").join(device.name.replace('/', "!")).join("ext_range"));
    match range.ok()?.trim().parse::<usize>().ok()? {
        0 | 1 if device.backing_file.is_some() => {
            Some(("this loop device allows no partitions".into(), "attach it with `losetup --partscan`"))
        }
        0 | 1 => Some(("its driver allows no partitions".into(), "leave --split out")),
        most if count >= most => {
            let reason = format!("it can have {} partitions, and {count} contenders need one each", most - 1);
            Some((reason, "leave out some contenders, or --split"))
        }
        _ => None,
    }
}

/// Alignment of parts: 1 MiB, or the smallest multiple of it that is also one of the optimal I/O size.
fn alignment(disk: &BlockDevice) -> u64 {
    let optimal = disk.queue.settings.get("optimal_io_size").and_then(|text| text.parse().ok()).unwrap_or(0);
    if optimal <= MIB || !optimal.is_multiple_of(PAGE) {
        return MIB;
    }
    let (mut a, mut b) = (optimal, MIB);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Some(optimal / a * MIB).filter(|common| *common <= WIDEST).unwrap_or(MIB)
}

impl Part {
    /// Whether a device is this part of its disk, by number, start and size.
    pub(crate) fn is(&self, device: &BlockDevice) -> bool {
        device.partition() == Some((self.number, self.start)) && device.size_bytes == self.bytes
    }

    /// The node that the kernel will give it.
    pub(crate) fn node(&self, disk: &Path) -> PathBuf {
        node(disk, &self.number.to_string())
    }

    /// The device as it will be, as far as a plan needs it.
    pub(crate) fn planned(&self, disk: &BlockDevice) -> BlockDevice {
        let sector = disk.logical_sector;
        BlockDevice {
            path: self.node(&disk.path),
            size_bytes: self.bytes,
            logical_sector: sector,
            ..BlockDevice::default()
        }
    }

    /// The command that adds it to the kernel.
    pub(crate) fn adding(&self, disk: &Path) -> Command {
        let numbers = [self.number.into(), self.start / UNIT, self.bytes / UNIT].map(|number: u64| number.to_string());
        Command::new(["addpart".to_string(), disk.display().to_string()].into_iter().chain(numbers))
            .hint("addpart is in Debian's util-linux")
    }

    /// The command that removes it from the kernel.
    pub(crate) fn removing(&self, disk: &Path) -> Command {
        Command::new(["delpart".to_string(), disk.display().to_string(), self.number.to_string()])
            .hint("delpart is in Debian's util-linux")
    }

    /// The command that writes zeros to the disk's checked ranges in this part; `None` if emptying the part did that.
    pub(crate) fn clearing(&self, disk: &BlockDevice, node: &Path) -> Option<Command> {
        emptying_within(disk, (self.start, self.bytes), node)
    }

    /// The part as the kernel shows it now.
    pub(crate) fn find(&self, disk: &BlockDevice) -> Option<BlockDevice> {
        partitions(disk).into_iter().find(|device| self.is(device))
    }

    /// Adds it, and opens it: if a program makes the kernel re-read the disk's partition table, which does not exist, the kernel removes
    /// partitions that are not open.
    pub(crate) fn add(&self, disk: &BlockDevice, journal: &Journal) -> Result<(BlockDevice, File), StagingError> {
        let opened = || {
            let device = self.find(disk)?;
            let file = File::open(&device.path).ok()?;
            Some((device, file))
        };
        when_free(PASSING, || {
            if let Some(there) = opened() {
                return Ok(there);
            }
            if self.find(disk).is_none() {
                let doing = format!("adding part {} of {}", self.number, disk.path.display());
                self.adding(&disk.path).run(journal).map_err(StagingError::command(doing))?;
            }
            let reason = format!("part {} does not appear as {}", self.number, self.node(&disk.path).display());
            opened()
                .ok_or_else(|| StagingError::refused(&disk.path, reason, "a container may lack the new nodes of /dev"))
        })
    }

    /// Removes it after its last user has gone; a part that does not exist is fine.
    pub(crate) fn remove(&self, disk: &BlockDevice, journal: &Journal) -> Result<(), StagingError> {
        let removed = when_free(PATIENCE, || match self.find(disk) {
            Some(_) => self.removing(&disk.path).run(journal).map(drop),
            None => Ok(()),
        });
        let doing = format!("removing part {} of {}", self.number, disk.path.display());
        removed.map_err(StagingError::command(doing))
    }

    /// Leaves the disk as empty as custody requires, and removes the part. `is_clear`: nothing foreign is on it.
    pub(crate) fn leave(&self, disk: &BlockDevice, is_clear: bool, journal: &Journal) -> Result<(), StagingError> {
        let Some(device) = self.find(disk) else { return Ok(()) };
        let clearing = self.clearing(disk, &device.path).filter(|_| is_clear);
        let cleared = clearing.map_or(Ok(()), |command| when_free(PASSING, || command.run(journal).map(drop)));
        self.remove(disk, journal)?;
        cleared.map_err(StagingError::command(format!("emptying {}", device.path.display())))
    }
}

/// The node of a partition with this number, or with a letter instead.
pub(crate) fn node(disk: &Path, number: &str) -> PathBuf {
    let disk = disk.display().to_string();
    let between = if disk.ends_with(|last: char| last.is_ascii_digit()) { "p" } else { "" };
    PathBuf::from(format!("{disk}{between}{number}"))
}

/// The partitions of a disk that the kernel shows now.
pub(crate) fn partitions(disk: &BlockDevice) -> Vec<BlockDevice> {
    let now = BlockDevice::numbered(disk.number).filter(|now| now.sequence == disk.sequence);
    now.iter().flat_map(|disk| &disk.partitions).filter_map(|name| BlockDevice::named(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(size_bytes: u64, optimal: &str) -> BlockDevice {
        let mut disk =
            BlockDevice { name: "none".into(), path: "/dev/none".into(), size_bytes, ..BlockDevice::default() };
        disk.queue.settings.insert("optimal_io_size".into(), optimal.into());
        disk
    }

    #[test]
    fn parts_are_equal_and_aligned_and_leave_both_ends_of_the_disk() {
        for (size, optimal, step) in [
            (1000 * MIB, "0", MIB),
            (1000 * MIB + 512, "65536", MIB),
            (3 << 40, "4194304", 4 * MIB),
            // A stripe of three disks.
            (3 << 40, "1572864", 3 * MIB),
            // Some USB bridges report such a size, to which nothing can be aligned.
            (3 << 40, "33553920", MIB),
            (3 << 40, "4294967296", MIB),
        ] {
            for count in [2, 3, 7] {
                let disk = disk(size, optimal);
                let parts = parts(&disk, count).expect("large enough");
                assert_eq!((parts.len(), parts[0].start, parts[0].number), (count, step, 1), "{optimal}");
                assert!(parts.iter().all(|part| part.bytes == parts[0].bytes && part.start % step == 0), "{parts:?}");
                assert!(parts.windows(2).all(|two| two[0].start + two[0].bytes == two[1].start), "{parts:?}");
                let end = parts[count - 1].start + parts[0].bytes;
                assert!(end + MIB <= size && end + MIB + (count as u64 + 1) * step > size, "{optimal}: {parts:?}");
            }
        }
    }

    #[test]
    fn a_disk_that_cannot_be_split_is_refused_with_a_remedy() {
        let refused = |disk: &BlockDevice, count| parts(disk, count).expect_err("refused").to_string();
        assert!(refused(&disk(4 * MIB, "0"), 5).contains("too small for 5 parts"));
        let partition = BlockDevice { parent: Some("none".into()), ..disk(1 << 40, "0") };
        assert!(refused(&partition, 2).contains("name the whole disk"));
    }

    #[test]
    fn commands_count_in_sectors_of_512_bytes_and_nodes_follow_the_kernel() {
        let part = Part { number: 2, start: 5 * MIB, bytes: 4 * MIB };
        assert_eq!(part.adding(Path::new("/dev/sdz")).typed(), "addpart /dev/sdz 2 10240 8192");
        assert_eq!(part.removing(Path::new("/dev/sdz")).typed(), "delpart /dev/sdz 2");
        assert_eq!(part.node(Path::new("/dev/sdz")), Path::new("/dev/sdz2"));
        assert_eq!(part.node(Path::new("/dev/nvme9n1")), Path::new("/dev/nvme9n1p2"));
    }
}
