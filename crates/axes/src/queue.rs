//! A setting of a disk's queue in sysfs, for the axes that set one.
//! In: its name and value as users write them. Out: the file written and read back. Source: Documentation/ABI/stable/sysfs-block.
//! A write cache is switched in the device if the kernel can do that; otherwise only the kernel's view changes, and a remark reports it.

use crate::axis::{Applied, Disk, Ground, Look, Seen};
use crate::size::bytes;
use records::OptionFound;
use std::path::{Path, PathBuf};

/// Names that require no knowledge of sysfs, and the files they refer to.
const NAMES: [(&str, &str); 3] = [("read_ahead", "read_ahead_kb"), ("requests", "nr_requests"), (FLUSHES, WRITE_CACHE)];
/// The setting that may be outside the queue's folder.
const WRITE_CACHE: &str = "write_cache";
/// Whether the kernel sends flushes to the device: only that file of the queue, even if the device has a switch.
const FLUSHES: &str = "flushes";
const BACK: &str = "write back";
const THROUGH: &str = "write through";

/// The file of a setting in the queue's folder of sysfs, and what goes into it.
///
/// # Errors
/// The name or the value is not valid.
pub fn queue_file(name: &str, value: &str) -> Result<(String, String), String> {
    Setting::of(name, value).map(|setting| (setting.file, setting.value))
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// As requested: `scheduler bfq`.
    asked: String,
    /// Its name as requested.
    name: String,
    /// The file in the queue's folder.
    file: String,
    /// What goes into it.
    value: String,
}

impl Setting {
    /// The setting for a name and a value; the error gives why they are invalid.
    pub fn of(name: &str, value: &str) -> Result<Setting, String> {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("\"{name}\" is not a queue setting"));
        }
        let file = NAMES.iter().find(|(friendly, _)| *friendly == name).map_or(name, |(_, file)| *file);
        let meant = match (name, value) {
            ("read_ahead", _) => kib(value)
                .ok_or_else(|| format!("read_ahead {value} is not a size in whole KiB, such as 128k or 4M"))?,
            (WRITE_CACHE, "on" | "1" | "true" | BACK) => BACK.into(),
            (WRITE_CACHE, "off" | "0" | "false" | THROUGH) => THROUGH.into(),
            (WRITE_CACHE, other) => {
                return Err(format!("write_cache takes on or off (or \"{BACK}\", \"{THROUGH}\"), not {other}"));
            }
            (FLUSHES, "on") => BACK.into(),
            (FLUSHES, "off") => THROUGH.into(),
            (FLUSHES, other) => return Err(format!("flushes takes on or off, not {other}")),
            _ => value.into(),
        };
        Ok(Setting { asked: format!("{name} {value}"), name: name.into(), file: file.into(), value: meant })
    }

    /// The file to set, and whether that changes only the kernel's view.
    fn place(&self, disk: &str, machine: &dyn Look) -> (PathBuf, bool) {
        let folder = Path::new("/sys/block").join(disk.replace('/', "!"));
        let queue = folder.join("queue").join(&self.file);
        match self.name.as_str() {
            WRITE_CACHE => {}
            FLUSHES => return (queue, true),
            _ => return (queue, false),
        }
        // sd: MODE SELECT, which is translated for SATA disks; virtio: if the host lets the guest choose.
        let scsi = folder.join("device/scsi_disk");
        let scsi = machine.names(&scsi).first().map(|name| scsi.join(name).join("cache_type"));
        let real = scsi.into_iter().chain([folder.join("cache_type")]).find(|path| machine.read(path).is_some());
        real.map_or((queue, true), |path| (path, false))
    }

    /// Sets it, unless it already has that value.
    pub fn apply(&self, ground: &mut dyn Ground) -> Result<Applied, String> {
        let Some(disk) = ground.disk() else { return Ok(Applied::default()) };
        let (path, only_the_view) = self.place(&disk.name, &*ground);
        let text = ground.read(&path).ok_or_else(|| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("{} has no queue setting {name} (ls /sys/block/*/queue lists them)", disk.name)
        })?;
        let mut applied = Applied { shown: path.clone(), ..Applied::default() };
        let was = chosen(&text);
        if was != self.value {
            let offers = |error| format!("{} was refused: {error}; {} offers: {}", self.asked, disk.name, text.trim());
            ground.set(&path, &self.value, was).map_err(offers)?;
            if only_the_view && self.value == THROUGH {
                applied.flushes_off = true;
                applied.remarks.push(no_flushes(&self.asked, &disk));
            }
        }
        Ok(applied)
    }

    /// What the kernel shows of it.
    pub fn read_back(&self, seen: &Seen) -> Result<Vec<OptionFound>, String> {
        let Seen { applied, machine, .. } = *seen;
        if applied.shown.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        let text = machine.read(&applied.shown).unwrap_or_default();
        let now = chosen(&text);
        if now != self.value {
            return Err(format!("{} did not take effect: {} shows {now}", self.asked, applied.shown.display()));
        }
        let by = applied.shown.display().to_string();
        Ok(vec![OptionFound { asked: self.asked.clone(), found: Some(now.into()), by }])
    }
}

/// Without a write cache in its view, the kernel sends no flushes, whatever the layers below do.
fn no_flushes(asked: &str, disk: &Disk) -> String {
    let below = if disk.on_image { "the image's disk" } else { "the device" };
    format!(
        "{asked}: this changes only the kernel's view of {}, so it sends no flushes, and a power cut loses the data in a cache of {below}",
        disk.name
    )
}

/// The value of a setting; for a list of choices, the selected one.
fn chosen(text: &str) -> &str {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']')).unwrap_or(text.trim())
}

/// A size in KiB; a bare number is in KiB, like the kernel's own setting.
fn kib(value: &str) -> Option<String> {
    let bytes = match value.parse::<u64>() {
        Ok(kib) => kib.checked_mul(1024)?,
        Err(_) => {
            let text = value.replace(' ', "").to_ascii_uppercase();
            bytes(text.strip_suffix("IB").unwrap_or(&text))?
        }
    };
    bytes.is_multiple_of(1024).then(|| (bytes / 1024).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_the_kernels_kib() {
        for (asked, kib) in [("128", "128"), ("4M", "4096"), ("512k", "512"), ("1 MiB", "1024")] {
            let setting = Setting::of("read_ahead", asked).expect("a size");
            assert_eq!((setting.file.as_str(), setting.value.as_str()), ("read_ahead_kb", kib));
        }
        for wrong in ["100 bytes", "much", "8KB", "", "KiB"] {
            assert!(Setting::of("read_ahead", wrong).is_err(), "{wrong}");
        }
        assert_eq!(Setting::of("requests", "64").expect("known").file, "nr_requests");
        assert_eq!(Setting::of("nomerges", "2").expect("by its own name").file, "nomerges");
    }

    #[test]
    fn a_name_leads_nowhere_but_into_the_queue() {
        for name in ["../ro", "a/b", "", "Scheduler"] {
            assert!(Setting::of(name, "1").is_err(), "{name}");
        }
    }

    #[test]
    fn flushes_are_the_kernels_view_of_a_cache() {
        let off = Setting::of("flushes", "off").expect("known");
        assert_eq!((off.file.as_str(), off.value.as_str()), (WRITE_CACHE, THROUGH));
        assert_eq!(Setting::of("flushes", "on").map(|setting| setting.value), Ok(BACK.into()));
        assert!(Setting::of("flushes", "through").is_err());
        let switchable = Switchable;
        let cache = Setting::of("write_cache", "off").expect("known");
        assert!(!cache.place("sda", &switchable).1, "the device can switch its own cache");
        let queue = PathBuf::from("/sys/block/sda/queue/write_cache");
        assert_eq!(off.place("sda", &switchable), (queue, true), "which flushes leave as it is");
    }

    /// A disk whose cache can be switched.
    struct Switchable;

    impl Look for Switchable {
        fn read(&self, _: &Path) -> Option<String> {
            Some(BACK.into())
        }

        fn names(&self, _: &Path) -> Vec<String> {
            vec!["0:0:0:0".into()]
        }
    }

    #[test]
    fn a_write_cache_has_two_states() {
        let of = |value: &str| Setting::of("write_cache", value).map(|setting| setting.value);
        assert_eq!((of("on"), of("off")), (Ok(BACK.into()), Ok(THROUGH.into())));
        assert_eq!(of("write through"), Ok(THROUGH.into()));
        assert!(of("perhaps").is_err());
    }
}
