//! Memory from the kernel: shared between the workers and the gathering process, and buffers for I/O.
//! In: lengths. Out: words that several processes may access, and byte buffers aligned for direct I/O.
//! Everything in shared memory is an atomic word, so that all other code on it is safe.
#![allow(unsafe_code)]

use crate::sys::{self, Errno};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Shared words, initially zero; untouched pages take no memory.
pub struct Region {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the region is plain memory that stays mapped until it is dropped, and all access is through atomics.
unsafe impl Sync for Region {}
// SAFETY: as above.
unsafe impl Send for Region {}

impl Region {
    /// Maps this many words, shared with later forked processes.
    pub fn new(words: usize) -> Result<Region, Errno> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        map(words * 8, flags).map(|start| Region { start: start.cast(), words })
    }
}

impl Deref for Region {
    type Target = [AtomicU64];
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `words` words for as long as `self` lives; zero is a valid atomic.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; no slice outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

/// A buffer for I/O, aligned to pages (large ones to 2 MiB, in huge pages if the kernel has them).
pub struct Buffer {
    start: NonNull<u8>,
    mapped: NonNull<u8>,
    mapped_length: usize,
    length: usize,
}

// SAFETY: the buffer is owned memory like a Vec.
unsafe impl Send for Buffer {}

const HUGE: usize = 2 << 20;

/// Skew of buffers for reads of this size through the page cache. Copies of 1 MiB into buffers aligned to a cache line were 5 to 12 %
/// slower than into unaligned ones, copies of 4 KiB 4 % faster, and between 16 and 32 KiB there was no difference (Intel Xeon, and for the
/// large ones AMD EPYC; medians of 11 to 21 alternate rounds, tmpfs and ext4). malloc(3), whose large blocks begin 16 bytes into a page,
/// gives other programs the unaligned case by accident.
pub fn read_skew(call: u64) -> usize {
    if call >= LARGE_CALL { BESIDE_A_LINE } else { AT_A_LINE }
}

/// Call size from which an unaligned buffer is faster.
const LARGE_CALL: u64 = 32 << 10;

const BESIDE_A_LINE: usize = 48;
const AT_A_LINE: usize = 64;

/// Skew of buffers for writes through the page cache.
pub const WRITE_SKEW: usize = AT_A_LINE;

impl Buffer {
    /// A zeroed, page-aligned buffer.
    pub fn new(length: usize) -> Result<Buffer, Errno> {
        Buffer::skewed(length, 0)
    }

    /// A buffer that starts `skew` bytes into a page. The kernel copies from and to page-aligned memory. A processor that compares only the
    /// low 12 bits of addresses takes a store at the same offset for the source of the next load, and stalls.
    pub fn skewed(length: usize, skew: usize) -> Result<Buffer, Errno> {
        debug_assert!(skew < 4096);
        let length = length.max(1);
        let wanted = length;
        let length = length + skew;
        let large = length >= HUGE / 8;
        let mapped_length = if large { length.next_multiple_of(HUGE) + HUGE } else { length.next_multiple_of(4096) };
        let mapped: NonNull<u8> = map(mapped_length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS)?.cast();
        let skip = if large { mapped.as_ptr().align_offset(HUGE) } else { 0 };
        // SAFETY: `skip` is less than HUGE, which was added to the mapping's length.
        let start = unsafe { mapped.add(skip) };
        if large {
            // SAFETY: advice on our own mapping; a refusal can be ignored.
            unsafe { libc::madvise(start.as_ptr().cast(), length.next_multiple_of(HUGE), libc::MADV_HUGEPAGE) };
        }
        // SAFETY: the mapping is `skew` longer than what was wanted.
        let start = unsafe { start.add(skew) };
        Ok(Buffer { start, mapped, mapped_length, length: wanted })
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `length` bytes from `start` lie within the mapping, which lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.mapped_length) };
    }
}

fn map(bytes: usize, flags: i32) -> Result<NonNull<libc::c_void>, Errno> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh anonymous mapping at an address chosen by the kernel.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes.max(8), access, flags, -1, 0) };
    match NonNull::new(start) {
        Some(start) if start.as_ptr() != libc::MAP_FAILED => Ok(start),
        _ => Err(sys::last_errno()),
    }
}
