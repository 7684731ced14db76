//! Loop devices: which file is behind each, by its identity, and which of its bytes.
//! In: the kernel's own word (LOOP_GET_STATUS64). Out: [`Loop`]s; names of files are for people only.
//! A file has many names (hard links, other mounts, other namespaces) and may have lost them all.

// The request fills a structure that this module lays out.
#![allow(unsafe_code)]

use crate::block::{BlockDevice, Number, Sysfs as _, number_from_raw};
pub use records::custody::FileId;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};
use rustix::ioctl::{Getter, Opcode, ioctl};
use std::path::{Path, PathBuf};

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A block device, by its number.
    Block(Number),
    /// A regular file.
    File(FileId),
    /// Anything else.
    Other,
}

impl Target {
    /// Looks without asking a server: what a dead one serves is told from memory or not at all.
    pub fn of(path: &Path) -> Option<Target> {
        let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        let facts = statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO).ok()?;
        Some(Target::from(&facts))
    }

    fn from(facts: &Statx) -> Target {
        let number = |major, minor| Number { major, minor };
        match FileType::from_raw_mode(facts.stx_mode.into()) {
            FileType::BlockDevice => Target::Block(number(facts.stx_rdev_major, facts.stx_rdev_minor)),
            FileType::RegularFile => {
                Target::File(FileId { device: number(facts.stx_dev_major, facts.stx_dev_minor), inode: facts.stx_ino })
            }
            _ => Target::Other,
        }
    }
}

/// A loop device and what is behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Name in sysfs: `loop3`.
    pub name: String,
    /// Device number.
    pub number: Number,
    /// What is behind it; None where neither the kernel nor the file's name tells.
    pub target: Option<Target>,
    /// Name of the file, as the kernel remembers it.
    pub file: PathBuf,
    /// Where in the file it begins.
    pub offset: u64,
    /// How many bytes it has.
    pub size_bytes: u64,
}

/// Every loop device that has a file.
pub fn loops() -> Vec<Loop> {
    BlockDevice::all().into_iter().filter_map(|device| of(&device)).collect()
}

/// The loop device that this device is; None where it is none or has no file.
pub fn of(device: &BlockDevice) -> Option<Loop> {
    let file = device.backing_file.clone().filter(|_| device.parent.is_none())?;
    let told = status(&device.path);
    let offset = match &told {
        Some(info) => info.offset,
        None => crate::number(format!("/sys/block/{}/loop/offset", device.name)).unwrap_or(0),
    };
    let target = told.map(|info| info.target()).or_else(|| Target::of(&file));
    let (name, number) = (device.name.clone(), device.number);
    Some(Loop { name, number, target, file, offset, size_bytes: device.size_bytes })
}

const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    special: u64,
    offset: u64,
    size_limit: u64,
    numbers: [u32; 4],
    names: [u8; 160],
    init: [u64; 2],
}

impl LoopInfo {
    /// The kernel tells the number of a device file; of a regular file it is 0.
    fn target(&self) -> Target {
        match self.special {
            0 => Target::File(FileId { device: number_from_raw(self.device), inode: self.inode }),
            special => Target::Block(number_from_raw(special)),
        }
    }
}

fn status(node: &Path) -> Option<LoopInfo> {
    let file = std::fs::File::open(node).ok()?;
    // SAFETY: the request writes one `struct loop_info64`, which is what the type is laid out as, and any bits are a value of it.
    unsafe { ioctl(&file, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_that_the_kernel_writes() {
        assert_eq!(std::mem::size_of::<LoopInfo>(), 232);
    }

    #[test]
    fn a_file_is_the_same_by_all_its_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&first, "x").expect("written");
        std::fs::hard_link(&first, &second).expect("linked");
        assert_eq!(Target::of(&first), Target::of(&second));
        assert!(matches!(Target::of(&first), Some(Target::File(_))));
        assert_eq!(Target::of(folder.path()), Some(Target::Other));
        assert_eq!(Target::of(&folder.path().join("c")), None);
    }
}
