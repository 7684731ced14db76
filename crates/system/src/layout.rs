//! What kind of layer a block device is: partition, RAID, LVM volume, encryption, bcache.
//! In: a device's folder in sysfs. Out: one line of text; None for a plain disk.

use std::path::Path;

/// Describes the layer.
pub(crate) fn layout(folder: &Path) -> Option<String> {
    partition(folder).or_else(|| raid(&folder.join("md"))).or_else(|| mapped(&folder.join("dm"))).or_else(|| {
        let cached = folder.join("bcache").exists();
        cached.then(|| "bcache".to_string())
    })
}

/// The start offset shows whether the partition is aligned with the disk's sectors.
fn partition(folder: &Path) -> Option<String> {
    let number = crate::text(folder.join("partition"))?;
    let start: u64 = crate::number(folder.join("start"))?;
    let off: u64 = crate::number(folder.join("alignment_offset")).unwrap_or(0);
    let aligned = if off == 0 { String::new() } else { format!(", misaligned with the disk's sectors by {off} bytes") };
    Some(format!("partition {number}, from byte {}{aligned}", start * 512))
}

fn raid(folder: &Path) -> Option<String> {
    let level = crate::text(folder.join("level")).filter(|level| !level.is_empty())?;
    let disks: Option<u32> = crate::number(folder.join("raid_disks"));
    let chunk: u64 = crate::number(folder.join("chunk_size")).unwrap_or(0);
    let degraded: u64 = crate::number(folder.join("degraded")).unwrap_or(0);
    let mut words = format!("RAID ({level})");
    words.extend(disks.map(|disks| format!(" of {disks} devices")));
    if chunk > 0 {
        words.push_str(&format!(", chunks of {} KiB", chunk / 1024));
    }
    if degraded > 0 {
        words.push_str(&format!(", {degraded} missing"));
    }
    let doing = crate::text(folder.join("sync_action")).filter(|doing| doing != "idle");
    words.extend(doing.map(|doing| format!(", at work: {doing}")));
    Some(words)
}

/// Device mapper UUIDs: `LVM-...`, `CRYPT-LUKS2-...`, `mpath-...`.
fn mapped(folder: &Path) -> Option<String> {
    let name = crate::text(folder.join("name"))?;
    let id = crate::text(folder.join("uuid")).unwrap_or_default();
    let kind = match id.split('-').next().unwrap_or_default() {
        "LVM" => "LVM volume",
        "CRYPT" => "encrypted volume",
        "mpath" => "multipath device",
        "DMRAID" => "firmware RAID",
        part if part.starts_with("part") => "partition of a mapped device",
        _ => "device mapper volume",
    };
    Some(format!("{kind} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("within the folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    #[test]
    fn layers_are_distinguished() {
        let of = |files| layout(made(files).path());
        assert_eq!(
            of(&[("partition", "2\n"), ("start", "2048\n"), ("alignment_offset", "0\n")]).as_deref(),
            Some("partition 2, from byte 1048576")
        );
        assert_eq!(
            of(&[
                ("md/level", "raid5\n"),
                ("md/raid_disks", "3\n"),
                ("md/chunk_size", "524288\n"),
                ("md/degraded", "1\n"),
                ("md/sync_action", "recover\n")
            ])
            .as_deref(),
            Some("RAID (raid5) of 3 devices, chunks of 512 KiB, 1 missing, at work: recover")
        );
        assert_eq!(of(&[("dm/name", "vg-lv\n"), ("dm/uuid", "LVM-abc\n")]).as_deref(), Some("LVM volume vg-lv"));
        assert_eq!(of(&[("dm/name", "x\n"), ("dm/uuid", "CRYPT-LUKS2-1\n")]).as_deref(), Some("encrypted volume x"));
        assert_eq!(of(&[("size", "1\n")]), None);
    }
}
