//! Locations of a file's blocks, as reported by FIEMAP.
//! In: an open file. Out: its extents in file order; adjacent ones on the device are joined.
//! Only a few numbers are kept of a file, however many extents it has.
#![allow(unsafe_code)]

use crate::sys::{self, Answer, Fd};

/// Extents per call.
const BATCH: usize = 256;

/// FS_IOC_FIEMAP: `_IOWR('f', 11, struct fiemap)`, the same number on every architecture that Rust knows but MIPS, PowerPC
/// and SPARC, which the product is not built for.
const FS_IOC_FIEMAP: u64 = 0xc020_660b;
/// Write the file's data out first, so that delayed blocks are allocated.
const SYNC: u32 = 1;
/// The last extent of the file.
const LAST: u32 = 0x1;
/// Its location is unknown or shared: unknown, delayed, encoded, within metadata.
const ELSEWHERE: u32 = 0x2 | 0x4 | 0x8 | 0x200;

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more: [u32; 3],
}

/// `struct fiemap` with room for a batch.
#[repr(C)]
struct Raw {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

/// A file's extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extents {
    /// Pieces that are not adjacent on the device.
    pub pieces: u64,
    /// Some of it has no location of its own: stored within metadata, or compressed together.
    pub elsewhere: bool,
}

/// Reads the extents of an open file.
pub fn of(fd: Fd) -> Answer<Extents> {
    let mut found = Extents::default();
    let mut end = None;
    let mut start = 0;
    loop {
        let mut raw = Raw {
            start,
            length: u64::MAX - start,
            flags: SYNC,
            mapped: 0,
            count: BATCH as u32,
            reserved: 0,
            extents: [RawExtent::default(); BATCH],
        };
        // SAFETY: the kernel fills at most `count` extents of a structure that has room for them.
        if unsafe { libc::ioctl(fd, FS_IOC_FIEMAP as _, &raw mut raw) } < 0 {
            return Err(sys::last_errno());
        }
        let mapped = &raw.extents[..(raw.mapped as usize).min(BATCH)];
        for extent in mapped {
            // An extent without a location of its own counts as one piece, as does a compressed one.
            found.elsewhere |= extent.flags & ELSEWHERE != 0;
            if end != Some(extent.physical) || extent.flags & ELSEWHERE != 0 {
                found.pieces += 1;
            }
            end = Some(extent.physical.wrapping_add(extent.length));
        }
        match mapped.last() {
            Some(last) if last.flags & LAST == 0 => start = last.logical + last.length,
            _ => return Ok(found),
        }
    }
}
