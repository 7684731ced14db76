//! Which bytes a device consists of, down to the disk or file that holds them.
//! In: a device, and all loop devices. Out: [`Extent`]s; two devices meet where theirs overlap.
//! A partition is on its disk, a loop device on its file or device, and so on down; a mapping is on everything that it is built on.

use std::collections::BTreeSet;
use system::block::Number;
use system::{BlockDevice, FileId, Loop, Sysfs as _, Target};

/// Layers followed at most.
const DEPTH: u32 = 32;

/// What holds the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    Device(Number),
    File(FileId),
}

/// A range of bytes on a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub medium: Medium,
    pub from: u64,
    pub to: u64,
    /// It is below a mapping (LVM, RAID), which may use any part of it, and is shared with other mappings.
    pub mapped: bool,
}

impl Extent {
    fn meets(&self, other: &Extent) -> bool {
        self.beside(other) && self.from < other.to && other.from < self.to
    }

    fn beside(&self, other: &Extent) -> bool {
        self.medium == other.medium && !(self.mapped && other.mapped)
    }
}

/// The bytes of one device, on itself and on everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bytes {
    number: Number,
    extents: Vec<Extent>,
}

impl Bytes {
    pub fn of(device: &BlockDevice, loops: &[Loop]) -> Bytes {
        let mut follow = Follow { loops, found: Vec::new() };
        let all = Extent { medium: Medium::Device(device.number), from: 0, to: device.size_bytes, mapped: false };
        follow.device(Some(device.clone()), all, DEPTH);
        Bytes { number: device.number, extents: follow.found }
    }

    /// Devices below this one that hold its bytes, down to a mapping.
    pub fn below(&self) -> BTreeSet<Number> {
        self.devices(|extent| !extent.mapped)
    }

    /// This device and all below it.
    pub fn chain(&self) -> BTreeSet<Number> {
        self.devices(|_| true).into_iter().chain([self.number]).collect()
    }

    fn devices(&self, wanted: impl Fn(&Extent) -> bool) -> BTreeSet<Number> {
        let device = |extent: &Extent| match extent.medium {
            Medium::Device(number) if number != self.number => Some(number),
            _ => None,
        };
        self.extents.iter().filter(|extent| wanted(extent)).filter_map(device).collect()
    }

    /// Files that hold its bytes.
    pub fn files(&self) -> BTreeSet<FileId> {
        let file = |extent: &Extent| match extent.medium {
            Medium::File(file) => Some(file),
            Medium::Device(_) => None,
        };
        self.extents.iter().filter_map(file).collect()
    }

    /// Whether both have some bytes in common.
    pub fn meet(&self, other: &Bytes) -> bool {
        self.extents.iter().any(|extent| other.extents.iter().any(|its| extent.meets(its)))
    }

    /// Whether they are neighbours: on the same disk, or in the same file.
    pub fn neighbour(&self, other: &Bytes) -> bool {
        self.extents.iter().any(|extent| other.extents.iter().any(|its| extent.beside(its)))
    }
}

struct Follow<'a> {
    loops: &'a [Loop],
    found: Vec<Extent>,
}

impl Follow<'_> {
    fn device(&mut self, device: Option<BlockDevice>, at: Extent, depth: u32) {
        let Some(device) = device else { return };
        let at = Extent { medium: Medium::Device(device.number), ..at };
        if depth == 0 || self.found.contains(&at) {
            return;
        }
        self.found.push(at);
        let shifted = |by: u64| Extent { from: by.saturating_add(at.from), to: by.saturating_add(at.to), ..at };
        if let Some(disk) = device.parent.as_deref() {
            let start = device.partition().map_or(0, |(_, start)| start);
            return self.device(BlockDevice::named(disk), shifted(start), depth - 1);
        }
        for slave in device.slaves.iter().filter_map(|name| BlockDevice::named(name)) {
            let all = Extent { from: 0, to: slave.size_bytes, mapped: true, ..at };
            self.device(Some(slave), all, depth - 1);
        }
        let Some(own) = self.loops.iter().find(|one| one.number == device.number) else { return };
        let (target, behind) = (own.target, shifted(own.offset));
        match target {
            Some(Target::Block(number)) => self.device(BlockDevice::numbered(number), behind, depth - 1),
            Some(Target::File(file)) => self.found.push(Extent { medium: Medium::File(file), ..behind }),
            Some(Target::Other) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(number: u32, extents: &[(Medium, u64, u64)]) -> Bytes {
        let extents =
            extents.iter().map(|(medium, from, to)| Extent { medium: *medium, from: *from, to: *to, mapped: false });
        Bytes { number: Number { major: 7, minor: number }, extents: extents.collect() }
    }

    #[test]
    fn devices_meet_where_their_bytes_overlap_and_are_neighbours_where_they_only_share_a_medium() {
        let file = Medium::File(FileId { device: Number { major: 8, minor: 1 }, inode: 12 });
        let other = Medium::File(FileId { device: Number { major: 8, minor: 1 }, inode: 13 });
        let first = bytes(0, &[(file, 0, 100)]);
        assert!(first.meet(&bytes(1, &[(file, 99, 200)])));
        assert!(!first.meet(&bytes(1, &[(file, 100, 200)])));
        assert!(first.neighbour(&bytes(1, &[(file, 100, 200)])));
        assert!(!first.neighbour(&bytes(1, &[(other, 0, 100)])));
    }
}
