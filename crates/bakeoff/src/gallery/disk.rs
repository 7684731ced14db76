//! The disk of a run: a class for filtering, and a description.
//! In: a run's records. Out: `hard disk`, `NVMe SSD`, `modelled hard disk` ... An unknown disk is called unknown, never guessed.

use records::{BlockDevice, Found, Machine, show_bytes};
use report::Material;

/// Class of images in memory.
const MEMORY: &str = "memory";
/// Class of a disk without data.
const UNKNOWN: &str = "unknown disk";

/// The class of a run's disk, and its model if the disk reports one.
pub fn disk(material: &Material) -> (String, String) {
    let mut found = material.trials.iter().filter_map(|trial| trial.found.as_ref());
    let with_device = found.clone().find(|found| found.device.is_some() || !found.below.is_empty());
    let devices = with_device.map(real).unwrap_or_default();
    let turns = devices.iter().any(|device| device.rotational);
    let asked = material.contenders.iter().filter_map(|contender| contender.asked.as_ref());
    let mut modelled: Vec<String> = asked.filter_map(|asked| axes::value(asked, "disk")).collect();
    modelled.dedup();
    if let Some(first) = modelled.first() {
        let class = if turns { "modelled hard disk" } else { "modelled flash" };
        return (class.into(), if modelled.len() == 1 { first.clone() } else { "several".into() });
    }
    if material.run.new.plan.as_ref().is_some_and(|plan| plan.place.is_in_memory()) {
        return (MEMORY.into(), String::new());
    }
    let machine = material.run.new.machine.as_ref();
    match devices.iter().find(|device| device.rotational).or(devices.first()) {
        Some(device) => (class(device, machine).into(), model(device)),
        None if found.any(|found| ["tmpfs", "ramfs"].contains(&found.filesystem.as_str())) => {
            (MEMORY.into(), String::new())
        }
        None => (UNKNOWN.into(), String::new()),
    }
}

/// Whether no real disk took part: such results are not pooled with those of disks.
pub fn is_apart(class: &str) -> bool {
    class == MEMORY || class.starts_with("modelled ")
}

/// The real devices: without images and guests' devices, which are backed by devices further down the stack.
fn real(found: &Found) -> Vec<&BlockDevice> {
    let own = found.device.iter().filter(|_| found.backend.is_none());
    let all = own.chain(&found.below);
    all.filter(|device| device.backing_file.is_none() && !device.name.starts_with("loop")).collect()
}

fn class(device: &BlockDevice, machine: Option<&Machine>) -> &'static str {
    let (name, driver) = (device.name.as_str(), device.driver.as_deref().unwrap_or_default());
    let is_guest = machine.is_some_and(|machine| machine.guest().is_some());
    match () {
        () if name.starts_with("zram") || name.starts_with("ram") || name.starts_with("pmem") => MEMORY,
        () if name.starts_with("nvme") => "NVMe SSD",
        () if name.starts_with("mmcblk") => "SD card or eMMC",
        // The rotational flag that a virtual machine reports says nothing about the underlying disk.
        () if driver.starts_with("virtio") || ["vd", "xvd"].iter().any(|kind| name.starts_with(kind)) || is_guest => {
            "virtual disk"
        }
        () if device.rotational => "hard disk",
        () => "SSD",
    }
}

fn model(device: &BlockDevice) -> String {
    let size = (device.size_bytes > 0).then(|| show_bytes(device.size_bytes));
    device.model.iter().map(|model| model.trim().to_owned()).chain(size).collect::<Vec<_>>().join(", ")
}
