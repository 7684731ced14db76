//! The content of a device: signatures known to tools, and other data.
//! In: a device. Out: what was found, in words; and the places that are read, which are emptied when a device is given back.
//! A device with no signature, and only zeros in those places, is free.

use crate::error::StagingError;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use system::{BlockDevice, Command, Journal};

const MIB: u64 = 1 << 20;

/// Places between the two ends.
const PLACES: u64 = 64;

/// A device up to this size is emptied as a whole, which takes no longer than its places one by one.
const SMALL: u64 = 512 * MIB;

/// How long emptying a device may take.
const EMPTY_LIMIT: Duration = Duration::from_secs(600);

/// Alignment that direct reads need on any disk.
const ALIGNED: usize = 4096;

/// What blkid or wipefs finds on a device, other than a filesystem with our own label, or of a type without labels that was made here just
/// now. The commands are not recorded: they only read.
pub(crate) fn signature(path: &Path, own_label: &str, own_type: Option<&str>) -> Result<Option<String>, StagingError> {
    let journal = Journal::new();
    let device = path.display().to_string();
    let ask = |argv: &[&str], accepted: &[i32]| {
        let words = argv.iter().copied().chain([device.as_str()]);
        Command::new(words)
            .accept(accepted)
            .hint("blkid and wipefs are in Debian's util-linux")
            .run(&journal)
            .map_err(StagingError::command(format!("looking for signatures on {device}")))
    };
    // 2: nothing found; 8: several found, none of them certain.
    let probed = ask(&["blkid", "--probe", "--output", "export"], &[0, 2, 8])?;
    let wiped = ask(&["wipefs", "--no-act"], &[0])?;
    let value = |key: &str| probed.stdout.lines().find_map(|line| line.strip_prefix(key)).map(str::to_string);
    // For a partition, blkid also prints its entry in the disk's table; that is not on the partition itself.
    let named = value("TYPE=").is_some() || value("PTTYPE=").is_some() || probed.status == 8;
    if !named && wiped.stdout.trim().is_empty() {
        return Ok(None);
    }
    let is_own_type = own_type.is_some() && value("TYPE=").as_deref() == own_type;
    if value("LABEL=").as_deref() == Some(own_label) || is_own_type {
        return Ok(None);
    }
    let kind = value("TYPE=")
        .or_else(|| value("PTTYPE=").map(|kind| format!("a partition table ({kind})")))
        .unwrap_or_else(|| wiped.stdout.lines().nth(1).unwrap_or("several signatures").trim().to_string());
    let named = value("LABEL=").map(|label| format!(" named \"{label}\"")).unwrap_or_default();
    Ok(Some(format!("{kind}{named}")))
}

/// One tag that blkid prints for a device.
pub(super) fn tag(path: &Path, name: &str) -> Option<String> {
    let words = ["blkid", "--probe", "--output", "value", "--match-tag", name].map(String::from);
    let command = Command::new(words.into_iter().chain([path.display().to_string()])).accept(&[0, 2, 8]);
    let answer = command.run(&Journal::new()).ok()?;
    Some(answer.stdout.trim().to_string()).filter(|text| !text.is_empty())
}

/// Whether the filesystem on a device has this label of ours.
pub(crate) fn carries_label(path: &Path, label: &str) -> Result<bool, StagingError> {
    let words = ["blkid", "--probe", "--output", "value", "--match-tag", "LABEL"].map(String::from);
    let command = Command::new(words.into_iter().chain([path.display().to_string()])).accept(&[0, 2, 8]);
    let answer = command
        .run(&Journal::new())
        .map_err(StagingError::command(format!("reading the label of {}", path.display())))?;
    Ok(answer.stdout.trim() == label)
}

/// The ranges that are read, 1 MiB each: both ends, 64 places between them, and the places where ext2, ext3, ext4 and btrfs keep a second
/// superblock. A small device is read completely. Each range begins at a whole sector of any disk.
fn places(bytes: u64) -> Vec<(u64, u64)> {
    if bytes <= (PLACES + 2) * MIB {
        return vec![(0, bytes)];
    }
    let step = bytes / (PLACES + 1) / MIB * MIB;
    let between = (1..=PLACES).map(|place| place * step.max(MIB));
    // A group of ext4 has eight times as many blocks as a block has bytes; copies are in group 1 and in powers of 3, 5 and 7.
    let groups = [1, 3, 5, 7, 9, 25, 27, 49].into_iter().flat_map(|group| [8, 32, 128].map(|size| group * size * MIB));
    let second = groups.chain([64 * MIB, 256 << 30]);
    let mut starts: Vec<u64> = [0].into_iter().chain(between).chain(second).chain([bytes - MIB]).collect();
    starts.retain(|start| start + MIB <= bytes);
    starts.sort_unstable();
    starts.dedup();
    starts.into_iter().map(|start| (start, MIB)).collect()
}

/// Offset of the first byte that is not zero, in the ranges that are read.
pub(super) fn first_data(device: &BlockDevice) -> Result<Option<u64>, StagingError> {
    let failed = |error: std::io::Error| {
        let reason = format!("reading it to check whether it is empty failed: {error}");
        StagingError::refused(&device.path, reason, "dmesg shows more about read errors of a disk")
    };
    let file = open(&device.path).map_err(failed)?;
    let mut room = vec![0u8; MIB as usize + ALIGNED];
    let zeros = vec![0u8; MIB as usize];
    let start = room.as_ptr().align_offset(ALIGNED).min(ALIGNED);
    let buffer = &mut room[start..start + MIB as usize];
    for (from, length) in places(whole_sectors(device)) {
        let mut at = from;
        while at < from + length {
            let want = (from + length - at).min(MIB) as usize;
            file.read_exact_at(&mut buffer[..want], at).map_err(failed)?;
            // Slices are compared by memcmp(3), which is fast in debug builds too.
            if buffer[..want] != zeros[..want]
                && let Some(place) = buffer[..want].iter().position(|byte| *byte != 0)
            {
                return Ok(Some(at + place as u64));
            }
            at += want as u64;
        }
    }
    Ok(None)
}

/// Opens it with O_DIRECT if the device allows that: the device counts, not the page cache.
fn open(path: &Path) -> std::io::Result<File> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let opened = OpenOptions::new().read(true).custom_flags(direct).open(path);
    opened.or_else(|_| File::open(path))
}

/// Bytes of a device in whole sectors: a loop device over a file of odd length has some more, which cannot be written.
pub(crate) fn whole_sectors(device: &BlockDevice) -> u64 {
    device.size_bytes - device.size_bytes % u64::from(device.logical_sector.max(1))
}

/// Whether a device ends with less than a whole sector.
fn is_odd(device: &BlockDevice) -> bool {
    whole_sectors(device) < device.size_bytes
}

/// Without it blkdiscard probes for signatures first, and reading the last bytes of an odd device fails with EIO.
const UNPROBED: &str = "--force";

/// The command that writes zeros to a whole device; if the device is absent, with what is known of it.
pub(crate) fn zeroing(path: &Path, found: Option<&BlockDevice>) -> Command {
    let mut words = vec!["blkdiscard".to_string(), "--zeroout".into()];
    // blkdiscard accepts whole sectors only, and takes the whole length by default.
    if let Some(device) = found.filter(|device| is_odd(device)) {
        words.extend([UNPROBED.into(), "--length".into(), whole_sectors(device).to_string()]);
    }
    words.push(path.display().to_string());
    Command::new(words)
}

/// The command that writes zeros to every range that is read.
pub(crate) fn emptying(path: &Path, found: Option<&BlockDevice>) -> Command {
    let bytes = found.map_or(0, whole_sectors);
    let places = if bytes <= SMALL { vec![(0, bytes)] } else { places(bytes) };
    let zero = match places.as_slice() {
        [_] => zeroing(path, found),
        many => zeroing_each(path, many.iter().map(|(start, _)| *start), found.is_some_and(is_odd)),
    };
    zero.limit(EMPTY_LIMIT)
}

/// The command that writes zeros to a MiB at each of these places of a device.
fn zeroing_each(path: &Path, starts: impl Iterator<Item = u64>, is_odd: bool) -> Command {
    let starts: Vec<String> = starts.map(|start| start.to_string()).collect();
    let unprobed = if is_odd { format!("{UNPROBED} ") } else { String::new() };
    Command::shell(format!(
        "for at in {}; do blkdiscard {unprobed}--zeroout --offset $at --length {MIB} {} || exit 1; done",
        starts.join(" "),
        path.display()
    ))
}

/// The command that writes zeros to the disk's ranges that are within a part of it, by the part's own node; `None` if there is none, or if
/// emptying the part covers them all. `part`: its first byte, and its size.
pub(crate) fn emptying_within(disk: &BlockDevice, (from, bytes): (u64, u64), node: &Path) -> Option<Command> {
    if bytes <= SMALL {
        return None;
    }
    let within = |(start, length): &(u64, u64)| *start >= from && start + length <= from + bytes;
    let starts = places(whole_sectors(disk)).into_iter().filter(within).map(|(start, _)| start - from);
    let starts: Vec<u64> = starts.collect();
    (!starts.is_empty()).then(|| zeroing_each(node, starts.into_iter(), false).limit(EMPTY_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_sixty_four_places_and_second_copies_are_looked_at() {
        assert_eq!(places(32 * MIB), [(0, 32 * MIB)]);
        for bytes in [67 * MIB, 300 * MIB, (300 * MIB) + 512, 3 << 40] {
            let places = places(bytes);
            assert!(places.len() >= 66, "{bytes}: {}", places.len());
            assert_eq!(places.first(), Some(&(0, MIB)));
            assert_eq!(places.last(), Some(&(bytes - MIB, MIB)));
            assert!(places.iter().all(|(from, length)| from + length <= bytes && from % 512 == 0), "{bytes}");
        }
        assert!(places(200 << 20).contains(&(128 * MIB, MIB)));
    }

    #[test]
    fn only_whole_sectors_are_emptied() {
        let of =
            |size_bytes: u64, logical_sector: u32| BlockDevice { size_bytes, logical_sector, ..BlockDevice::default() };
        let typed = |device: &BlockDevice| emptying(Path::new("/dev/x"), Some(device)).typed();
        assert_eq!(typed(&of(MIB, 4096)), "blkdiscard --zeroout /dev/x");
        assert_eq!(typed(&of(MIB + 512, 4096)), "blkdiscard --zeroout --force --length 1048576 /dev/x");
        assert_eq!(typed(&of(MIB + 512, 512)), "blkdiscard --zeroout /dev/x");
        assert_eq!(emptying(Path::new("/dev/x"), None).typed(), "blkdiscard --zeroout /dev/x");
        // The last range begins and ends at a whole sector.
        let odd = of(629_146_112, 4096);
        assert_eq!((whole_sectors(&odd), typed(&odd).contains(" 628097024;")), (629_145_600, true), "{}", typed(&odd));
        let size = zeroing(Path::new("/dev/x"), Some(&odd)).typed();
        assert_eq!(size, "blkdiscard --zeroout --force --length 629145600 /dev/x");
        assert!(typed(&odd).contains("blkdiscard --force --zeroout --offset"), "{}", typed(&odd));
    }

    #[test]
    fn parts_cover_every_place_of_their_disk_between_its_ends() {
        let size = 4096 * MIB;
        let disk = BlockDevice { size_bytes: size, logical_sector: 512, ..BlockDevice::default() };
        let part = (size - 2 * MIB) / 3 / MIB * MIB;
        let mut covered = Vec::new();
        for index in 0..3 {
            let from = MIB + index * part;
            let typed = emptying_within(&disk, (from, part), Path::new("/dev/x1")).expect("places").typed();
            let (list, _) = typed.split_once("; do").expect("a loop");
            let starts = list.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
            covered.extend(starts.map(|start| from + start));
        }
        let all: Vec<u64> = places(size).iter().map(|(start, _)| *start).collect();
        assert_eq!(covered, all[1..all.len() - 1]);
        assert!(emptying_within(&disk, (MIB, SMALL), Path::new("/dev/x1")).is_none(), "a small part is emptied whole");
    }
}
