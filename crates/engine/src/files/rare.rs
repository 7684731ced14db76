//! Less frequent steps on files: names, owners, copies, space, attributes, advice.
//! In: an operation and its item. Out: the system's answer.
//! Each makes the same calls as a program would, and no others.

use super::{FileWork, Item};
use crate::ops::{Act, flags};
use crate::sys::{self, Answer, Errno, Fd};
use crate::tally::Tally;
use std::ffi::CStr;

/// Attribute that `set-xattr` writes.
pub const ATTRIBUTE: &CStr = c"user.bakeoff";
/// Attribute with the access control list of a file.
pub const ACL: &CStr = c"system.posix_acl_access";
/// Most bytes of one copy_file_range call.
const COPY_BYTES: usize = 1 << 30;

/// A list in the kernel's format (linux/posix_acl_xattr.h, version 2): the owner, one more user who may read, the group, the mask, others.
pub fn acl() -> Vec<u8> {
    const ANYBODY: u32 = u32::MAX;
    const ENTRIES: [(u16, u16, u32); 5] =
        [(0x01, 6, ANYBODY), (0x02, 4, 65_534), (0x04, 4, ANYBODY), (0x10, 4, ANYBODY), (0x20, 0, ANYBODY)];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, rights, whose) in ENTRIES {
        list.extend_from_slice(&tag.to_le_bytes());
        list.extend_from_slice(&rights.to_le_bytes());
        list.extend_from_slice(&whose.to_le_bytes());
    }
    list
}

impl FileWork<'_> {
    pub(super) fn rare(&mut self, act: &Act, item: &mut Item, tally: &mut Tally) -> Answer<()> {
        match act {
            Act::Mkdir => self.dirs.ensure(item.directory, &self.files).map(|_| ()),
            Act::Sync(call) => self.sync(*call, item.fd),
            Act::SyncDirectory => sys::fsync(self.place(item)?),
            Act::Chown => sys::chown(self.place(item)?, item.name.c(), self.ids),
            Act::Chmod => sys::chmod(self.place(item)?, item.name.c(), 0o644),
            Act::Rename(target) => {
                let (from, to) = (self.place(item)?, self.target(*target)?);
                sys::rename(from, item.name.c(), to, item.name.c())?;
                item.moved_to = Some(to);
                Ok(())
            }
            Act::Link(suffix) => {
                let place = self.place(item)?;
                let mut beside = item.name.clone();
                beside.push(suffix.as_bytes());
                sys::link(place, item.name.c(), place, beside.c())
            }
            Act::Modify => {
                if let Some(byte) = self.buffer.first_mut() {
                    *byte = byte.wrapping_add(1);
                }
                Ok(())
            }
            Act::OpenNameless { flags } => {
                let place = self.place(item)?;
                let fd = sys::open(place, c".", *flags, 0o600)?;
                item.direct = *flags & libc::O_DIRECT != 0;
                item.bytes = 0;
                item.fd = Some(fd);
                Ok(())
            }
            Act::LinkNameless => sys::link_open(item.open()?, self.place(item)?, item.name.c()),
            Act::Copy { clones, target } => self.copy(item, *clones, *target, tally),
            Act::Allocate { mode } => sys::allocate(item.open()?, *mode, 0, self.size_of(item).max(1)),
            Act::Truncate(percent) => {
                let size = u128::from(self.size_of(item)) * u128::from(*percent) / 100;
                sys::truncate(item.open()?, size as u64)
            }
            Act::SetAttribute(Some(bytes)) => {
                sys::set_attribute(item.open()?, ATTRIBUTE, &VALUE[..(*bytes as usize).min(ATTRIBUTE_BYTES)])
            }
            Act::SetAttribute(None) => sys::set_attribute(item.open()?, ACL, &acl()),
            Act::GetAttribute { acl } => {
                let name = if *acl { ACL } else { ATTRIBUTE };
                sys::get_attribute(item.open()?, name, &mut [0; ATTRIBUTE_BYTES]).map(drop)
            }
            Act::Advise(advice) => sys::advise(item.open()?, *advice),
            // Programs with directory steps on files are refused in advance.
            _ => Err(Errno::INVAL),
        }
    }

    /// Like `cp --reflink=always` or `cp`: both files opened, the data shared or copied within the kernel, both closed.
    fn copy(&mut self, item: &Item, clones: bool, target: usize, tally: &mut Tally) -> Answer<()> {
        let (from, to) = (self.place(item)?, self.target(target)?);
        let source = sys::open(from, item.name.c(), libc::O_RDONLY, 0)?;
        let made = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | flags(&self.io, true) & !libc::O_DIRECT;
        let copied = sys::open(to, item.name.c(), made, 0o600).and_then(|copy| {
            let moved = if clones { sys::clone_file(copy, source) } else { copy_all(source, copy, tally) };
            sys::close(copy).and(moved)
        });
        sys::close(source).and(copied)
    }

    pub(super) fn size_of(&self, item: &Item) -> u64 {
        let known = item.index < self.files.count;
        self.files.size(if known { item.index } else { 0 }, item.generation)
    }
}

/// Files that fill a filesystem.
impl FileWork<'_> {
    /// Whether the file of this number exists.
    pub fn is_there(&mut self, index: u64) -> Answer<bool> {
        let mut item = Item::new();
        self.take(index, index, &mut item);
        match self.place(&item).and_then(|place| sys::stat(place, item.name.c())) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Removes the file of this number.
    pub fn remove(&mut self, index: u64) -> Answer<()> {
        let mut item = Item::new();
        self.take(index, index, &mut item);
        sys::unlink(self.place(&item)?, item.name.c())
    }

    /// Creates the file of this number, with its directory, and writes all of it; returns the bytes written, even after an error.
    pub fn write_new(&mut self, index: u64, tally: &mut Tally) -> (u64, Answer<()>) {
        let mut item = Item::new();
        self.take(index, index, &mut item);
        let made = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        let place = self.dirs.ensure(item.directory, &self.files);
        let opened = place.and_then(|place| sys::open(place, item.name.c(), made, 0o600));
        let fd = match opened {
            Ok(fd) => fd,
            Err(errno) => return (0, Err(errno)),
        };
        item.fd = Some(fd);
        let written = self.write(&mut item, tally);
        (item.bytes, sys::close(fd).and(written))
    }
}

/// Largest attribute value that is written or read.
pub const ATTRIBUTE_BYTES: usize = 64 << 10;
/// Value of attributes: generated once, since that is no part of setting one.
static VALUE: [u8; ATTRIBUTE_BYTES] = [b'x'; ATTRIBUTE_BYTES];

impl Item {
    fn open(&self) -> Answer<Fd> {
        self.fd.ok_or(Errno::BADF)
    }
}

fn copy_all(source: Fd, target: Fd, tally: &mut Tally) -> Answer<()> {
    loop {
        match sys::copy_range(source, target, COPY_BYTES)? {
            0 => return Ok(()),
            copied => tally.written(copied),
        }
    }
}
