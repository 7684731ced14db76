//! The identity of a device, by what does not change by itself: every mkfs must find the device that the run began on.
//! In: a device. Out: [`Identity`], kept in the run's record; what differs; and the names that `--erase` accepts for it.
//! The device number and the node's name are not part of it: a reboot may give them to another device.

use super::signatures::tag;
use records::custody::{Backing, Identity, PartitionIdentity};
use std::path::Path;
use system::{BlockDevice, Loop, Sysfs as _, Target};

/// Which device this is.
pub(super) fn identity(device: &BlockDevice, loops: &[Loop]) -> Identity {
    let disk = device.parent.as_deref().and_then(BlockDevice::named);
    let partition = device.partition().map(|(number, start)| PartitionIdentity {
        number,
        start,
        uuid: device.event("PARTUUID").or_else(|| tag(&device.path, "PART_ENTRY_UUID")),
        table_uuid: disk.as_ref().and_then(|disk| tag(&disk.path, "PTUUID")),
    });
    let holder = disk.as_ref().map_or(device.number, |disk| disk.number);
    let backing = loops.iter().find(|one| one.number == holder).map(|one| Backing {
        path: one.file.clone(),
        file: match one.target {
            Some(Target::File(file)) => Some(file),
            _ => None,
        },
        offset: one.offset,
    });
    Identity {
        size_bytes: device.size_bytes,
        logical_sector: device.logical_sector,
        model: device.model.clone(),
        serial: device.serial.clone(),
        wwid: device.wwid.clone(),
        by_id: device.by_id.clone(),
        partition,
        backing,
        sequence: device.sequence,
        boot_id: system::process::boot_id(),
    }
}

/// Whether more than its size identifies this device in a later boot.
fn lasts(identity: &Identity) -> bool {
    let partition = identity.partition.as_ref().is_some_and(|partition| partition.uuid.is_some());
    let named = identity.serial.is_some() || identity.wwid.is_some() || !identity.by_id.is_empty();
    named || partition || identity.backing.is_some()
}

/// What differs between two identities, in words; empty if both are of the same device.
pub(super) fn differences(was: &Identity, is: &Identity) -> Vec<&'static str> {
    let same_boot = was.boot_id == is.boot_id;
    let by_id = was.by_id.is_empty() || was.by_id.iter().any(|name| is.by_id.contains(name));
    let checks = [
        ("its size", was.size_bytes == is.size_bytes),
        ("its sector size", was.logical_sector == is.logical_sector),
        ("its model", was.model == is.model),
        ("its serial number", was.serial == is.serial),
        ("its world-wide name", was.wwid == is.wwid),
        ("its by-id name", by_id),
        ("its partition", was.partition == is.partition),
        ("the file behind it", same_file(was.backing.as_ref(), is.backing.as_ref(), same_boot)),
        ("its disk sequence number", !same_boot || was.sequence == is.sequence),
        // Across a boot, the size alone does not identify a device.
        ("the boot (nothing else identifies the device)", same_boot || lasts(was)),
    ];
    checks.into_iter().filter(|(_, same)| !same).map(|(what, _)| what).collect()
}

fn same_file(was: Option<&Backing>, is: Option<&Backing>, same_boot: bool) -> bool {
    match (was, is) {
        (Some(was), Some(is)) if same_boot => was.file == is.file && was.offset == is.offset,
        // The device number of the filesystem may change at a boot; the inode and the path do not.
        (Some(was), Some(is)) => {
            let inode = |backing: &Backing| backing.file.map(|file| file.inode);
            inode(was) == inode(is) && was.path == is.path && was.offset == is.offset
        }
        (was, is) => was.is_none() && is.is_none(),
    }
}

/// Names that allow erasing: each means this device alone, and does not change.
pub(super) fn names(identity: &Identity, device: &BlockDevice) -> Vec<String> {
    let partition = identity.partition.as_ref();
    let serial = identity.serial.clone().filter(|_| partition.is_none()).filter(|serial| {
        let same = |other: &BlockDevice| other.serial.as_ref() == Some(serial) && other.number != device.number;
        !BlockDevice::all().iter().any(same)
    });
    let uuid = partition.and_then(|partition| partition.uuid.clone()).filter(|uuid| {
        // A copied disk has the same UUIDs.
        !uuid.starts_with("00000000") && partitions_with(uuid) <= 1
    });
    let file = file_name(identity);
    let mut names: Vec<String> = serial.into_iter().chain(identity.by_id.clone()).chain(uuid).chain(file).collect();
    if names.is_empty() && partition.is_some() {
        names.extend(identity.serial.clone());
    }
    names
}

/// The path of a loop device's file, if it leads to that file and no other loop device uses it.
fn file_name(identity: &Identity) -> Option<String> {
    let backing = identity.backing.as_ref().filter(|_| identity.partition.is_none())?;
    let file = backing.file?;
    let users = system::loops::loops().iter().filter(|one| one.target == Some(Target::File(file))).count();
    let leads = Target::of(&backing.path) == Some(Target::File(file));
    (leads && users == 1).then(|| backing.path.display().to_string())
}

/// Whether a word names the device that has these names.
pub(super) fn is_named(identity: &Identity, word: &str, names: &[String]) -> bool {
    let file = identity.backing.as_ref().and_then(|backing| backing.file);
    let by_path = || {
        let leads = file.is_some() && Target::of(Path::new(word)) == file.map(Target::File);
        word.contains('/') && leads && file_name(identity).is_some()
    };
    let uuid = word.strip_prefix("PARTUUID=").unwrap_or(word);
    // Only UUIDs are compared without case: files, links and serial numbers may differ in case alone.
    let own_uuid = identity.partition.as_ref().and_then(|partition| partition.uuid.as_ref());
    let is_uuid = |name: &String| Some(name) == own_uuid && name.eq_ignore_ascii_case(uuid);
    names.iter().any(|name| name == word || is_uuid(name)) || by_path()
}

fn partitions_with(uuid: &str) -> usize {
    let disks = BlockDevice::all();
    let parts = disks.iter().flat_map(|disk| &disk.partitions).filter_map(|name| BlockDevice::named(name));
    parts.filter(|part| part.event("PARTUUID").is_some_and(|other| other.eq_ignore_ascii_case(uuid))).count()
}

/// The device in words.
pub(super) fn in_words(identity: &Identity) -> String {
    let mut words = vec![records::show_bytes(identity.size_bytes), format!("sectors of {}", identity.logical_sector)];
    words.extend(identity.model.clone());
    words.extend(identity.serial.as_ref().map(|serial| format!("serial {serial}")));
    words.extend(identity.by_id.first().map(|name| format!("by-id {name}")));
    if let Some(partition) = &identity.partition {
        let uuid = partition.uuid.as_deref().unwrap_or("without a UUID");
        words.push(format!("partition {} ({uuid}) at byte {}", partition.number, partition.start));
    }
    if let Some(backing) = &identity.backing {
        let inode = backing.file.map(|file| format!(" (inode {})", file.inode)).unwrap_or_default();
        words.push(format!("file {}{inode} from byte {}", backing.path.display(), backing.offset));
    }
    words.extend(identity.sequence.map(|sequence| format!("disk sequence {sequence}")));
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Identity {
        Identity {
            size_bytes: 64 << 20,
            logical_sector: 512,
            model: None,
            serial: Some("S1".into()),
            wwid: None,
            by_id: vec!["disk-S1".into()],
            partition: None,
            backing: None,
            sequence: Some(7),
            boot_id: "this".into(),
        }
    }

    #[test]
    fn a_disk_is_the_same_after_a_boot_and_another_of_its_size_is_not() {
        let next = Identity { boot_id: "next".into(), sequence: Some(3), ..disk() };
        assert!(differences(&disk(), &next).is_empty());
        let other = Identity { serial: Some("S2".into()), by_id: vec!["disk-S2".into()], ..disk() };
        assert_eq!(differences(&disk(), &other), ["its serial number", "its by-id name"]);
        assert!(in_words(&disk()).contains("S1") && in_words(&other).contains("S2"));
    }

    #[test]
    fn only_a_uuid_means_the_same_device_in_capitals() {
        let uuid = "0a1b2c3d-01".to_string();
        let partition = PartitionIdentity { number: 1, start: 0, uuid: Some(uuid.clone()), table_uuid: None };
        let one = Identity { partition: Some(partition), ..disk() };
        let names = ["disk-S1".to_string(), "/images/e.img".into(), uuid];
        for word in ["disk-S1", "/images/e.img", "0a1b2c3d-01", "0A1B2C3D-01", "PARTUUID=0A1B2C3D-01"] {
            assert!(is_named(&one, word, &names), "{word}");
        }
        for word in ["disk-s1", "/images/E.img", "/IMAGES/e.img", "0a1b2c3d-02"] {
            assert!(!is_named(&one, word, &names), "{word}");
        }
    }

    #[test]
    fn the_disk_sequence_number_identifies_a_disk_only_within_a_boot() {
        let bare = Identity { serial: None, by_id: Vec::new(), ..disk() };
        let put_back = Identity { sequence: Some(8), ..bare.clone() };
        assert_eq!(differences(&bare, &put_back), ["its disk sequence number"]);
        let next = Identity { boot_id: "next".into(), ..bare.clone() };
        assert_eq!(differences(&bare, &next).len(), 1);
        assert!(differences(&bare, &bare).is_empty());
    }
}
