//! Loop devices: the backing file of each, by identity, and its byte range.
//! In: the kernel's status (LOOP_GET_STATUS64), or an open file to attach. Out: [`Loop`]s; file names are for display only.
//! A file may have many names (hard links, other mounts, other namespaces), or none left.

// The request fills a structure that this module lays out.
#![allow(unsafe_code)]

use crate::block::{BlockDevice, Number, Sysfs as _, number_from_raw};
pub use records::custody::FileId;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};
use rustix::ioctl::{Getter, Opcode, ioctl};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Inspects without a request to a server: of a dead server's files it returns cached facts or nothing.
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
    /// The backing file; None where neither the kernel nor the file's name identifies it.
    pub target: Option<Target>,
    /// Name of the file, as the kernel keeps it.
    pub file: PathBuf,
    /// Offset in the file.
    pub offset: u64,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// Every loop device with a backing file.
pub fn loops() -> Vec<Loop> {
    attached().iter().filter_map(of).collect()
}

/// The devices themselves, by name. Others are not inspected: a machine may have hundreds of disks.
pub fn attached() -> Vec<BlockDevice> {
    let has_file = |name: &String| Path::new("/sys/block").join(name).join("loop/backing_file").exists();
    let mut names = crate::block::entries(Path::new("/sys/block"));
    names.retain(has_file);
    names.sort();
    names.iter().filter_map(|name| BlockDevice::named(name)).collect()
}

/// This device as a loop device; None if it is not one or has no file.
pub fn of(device: &BlockDevice) -> Option<Loop> {
    let file = device.backing_file.clone().filter(|_| device.parent.is_none())?;
    let value = status(&device.path);
    let offset = match &value {
        Some(info) => info.offset,
        None => crate::number(format!("/sys/block/{}/loop/offset", device.name)).unwrap_or(0),
    };
    let target = value.map(|info| info.target()).or_else(|| Target::of(&file));
    let (name, number) = (device.name.clone(), device.number);
    Some(Loop { name, number, target, file, offset, size_bytes: device.size_bytes })
}

/// The file behind a loop device, as the kernel identifies it, whatever its name leads to; None where the kernel does not.
pub fn file_behind(device: &BlockDevice) -> Option<FileId> {
    match status(&device.path)?.target() {
        Target::File(file) => Some(file),
        Target::Block(_) | Target::Other => None,
    }
}

const LOOP_GET_STATUS64: Opcode = 0x4C05;
/// The requests of linux/loop.h that attach a file: one since Linux 5.8, several before.
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_SET_FD: Opcode = 0x4C00;
const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_SET_DIRECT_IO: Opcode = 0x4C08;
const LOOP_SET_BLOCK_SIZE: Opcode = 0x4C09;
const LOOP_CTL_GET_FREE: Opcode = 0x4C82;
/// `LO_FLAGS_DIRECT_IO`.
const DIRECT_IO: u32 = 16;

/// How often a free loop device is requested if other processes take each one first.
const ATTEMPTS: u32 = 100;

/// Bytes of a file's name that the kernel keeps with the device, the last of which is 0.
const NAME_ROOM: usize = 64;

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
    fn named(name: &Path) -> LoopInfo {
        let mut names = [0; 160];
        let bytes = name.as_os_str().as_bytes();
        let length = bytes.len().min(NAME_ROOM - 1);
        names[..length].copy_from_slice(&bytes[..length]);
        // The third of these numbers is the key's length, the last one the flags.
        let numbers = [0, 0, 0, DIRECT_IO];
        LoopInfo { device: 0, inode: 0, special: 0, offset: 0, size_limit: 0, numbers, names, init: [0; 2] }
    }

    /// The kernel reports the number of a device file; for a regular file it is 0.
    fn target(&self) -> Target {
        match self.special {
            0 => Target::File(FileId { device: number_from_raw(self.device), inode: self.inode }),
            special => Target::Block(number_from_raw(special)),
        }
    }
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
struct LoopConfig {
    file: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// Attaches an open file to a free loop device, and returns its node. It uses that file whatever its name leads to by now. `name` is what the
/// kernel shows; `sector`: bytes of a logical sector, 0 for the kernel's choice. The page cache is bypassed where the file's filesystem
/// allows that.
///
/// # Errors
/// The system's error: no loop driver, no permission, no free device.
pub fn attach(file: &File, name: &Path, sector: u32) -> std::io::Result<PathBuf> {
    let control = std::fs::OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
    let mut last = std::io::Error::from(std::io::ErrorKind::ResourceBusy);
    for _ in 0..ATTEMPTS {
        let free = number_request(&control, LOOP_CTL_GET_FREE, 0)?;
        let node = PathBuf::from(format!("/dev/loop{free}"));
        let device = std::fs::OpenOptions::new().read(true).write(true).open(&node)?;
        let attached = match configure(&device, file, name, sector) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTTY)) => {
                set_one_by_one(&device, file, sector)
            }
            answer => answer,
        };
        match attached {
            Ok(()) => return Ok(node),
            // Another process has taken or opened it meanwhile.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN)) => last = error,
            Err(error) => return Err(error),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(last)
}

fn configure(device: &File, file: &File, name: &Path, sector: u32) -> std::io::Result<()> {
    let number = file.as_raw_fd().cast_unsigned();
    let config = LoopConfig { file: number, block_size: sector, info: LoopInfo::named(name), reserved: [0; 8] };
    // SAFETY: the request reads one `struct loop_config`, whose layout the type has, and which lives until it returns.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The interface of kernels before 5.8.
fn set_one_by_one(device: &File, file: &File, sector: u32) -> std::io::Result<()> {
    number_request(device, LOOP_SET_FD, file.as_raw_fd().into())?;
    let sized = if sector == 0 { Ok(0) } else { number_request(device, LOOP_SET_BLOCK_SIZE, sector.into()) };
    if let Err(error) = sized {
        number_request(device, LOOP_CLR_FD, 0)?;
        return Err(error);
    }
    // If it fails, I/O goes through the page cache; the device's own attribute shows that.
    let _ = number_request(device, LOOP_SET_DIRECT_IO, 1);
    Ok(())
}

/// A request that takes at most a number and returns one.
fn number_request(device: &File, request: Opcode, number: libc::c_long) -> std::io::Result<i32> {
    // SAFETY: these requests take a number as their argument, or none, and write nothing to this process's memory.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), request as _, number) };
    if answer < 0 { Err(std::io::Error::last_os_error()) } else { Ok(answer) }
}

fn status(node: &Path) -> Option<LoopInfo> {
    let file = File::open(node).ok()?;
    // SAFETY: the request writes one `struct loop_info64`, whose layout the type has, and any bits are a value of it.
    unsafe { ioctl(&file, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_that_the_kernel_writes() {
        assert_eq!((std::mem::size_of::<LoopInfo>(), std::mem::size_of::<LoopConfig>()), (232, 304));
    }

    #[test]
    fn an_open_file_is_attached_wherever_its_name_leads_by_then() {
        prerequisites::needs!(root);
        let folder = tempfile::tempdir().expect("a folder");
        let (name, moved) = (folder.path().join("image"), folder.path().join("moved"));
        let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&name).expect("made");
        file.set_len(1 << 20).expect("sized");
        std::fs::rename(&name, &moved).expect("renamed");
        std::fs::write(&name, vec![7; 1 << 20]).expect("another file");
        for old in [false, true] {
            let node = match old {
                false => attach(&file, &name, 0).expect("attached"),
                true => {
                    let node = attach(&file, &name, 0).expect("attached");
                    let device = std::fs::OpenOptions::new().read(true).write(true).open(&node).expect("opened");
                    number_request(&device, LOOP_CLR_FD, 0).expect("detached");
                    drop(device);
                    let again = || {
                        let device = std::fs::OpenOptions::new().read(true).write(true).open(&node)?;
                        set_one_by_one(&device, &file, 0)
                    };
                    // The kernel detaches with the last close.
                    let tries = (0..100).find_map(|_| {
                        std::thread::sleep(Duration::from_millis(10));
                        again().ok()
                    });
                    tries.expect("attached as older kernels do it");
                    node
                }
            };
            let target = status(&node).map(|info| info.target());
            let device = File::open(&node).expect("opened");
            number_request(&device, LOOP_CLR_FD, 0).expect("detached");
            assert_eq!(target, Target::of(&moved), "older requests: {old}");
        }
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
