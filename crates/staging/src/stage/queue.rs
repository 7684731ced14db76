//! Settings of a device's queue: scheduler, read-ahead, requests, write cache, and any other by its name in sysfs.
//! In: what a contender asks for. Out: settings written, read back and remembered, so that they are put back in the end.
//! A write cache is switched in the device where the kernel can do that; elsewhere only the kernel's view of it changes, and is said.

use crate::devices::setting::{read_setting, write_setting};
use crate::error::StagingError;
use crate::filesystems::readback;
use crate::ownership::cleanup_journal::Made;
use crate::stage::Stage;
use records::Contender;
use records::OptionFound;
use std::path::{Path, PathBuf};
use system::BlockDevice;

/// Names that need no knowledge of sysfs, and the files that they mean.
const NAMES: [(&str, &str); 2] = [("read_ahead", "read_ahead_kb"), ("requests", "nr_requests")];
/// The setting that is more than a file of the queue.
const WRITE_CACHE: &str = "write_cache";
const BACK: &str = "write back";
const THROUGH: &str = "write through";

/// One setting as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueSetting {
    /// As asked for: `scheduler bfq`.
    pub asked: String,
    /// The file.
    pub path: PathBuf,
    /// What goes into it.
    pub value: String,
    /// The kernel's view of the write cache changes, and not the cache.
    pub only_the_view: bool,
}

/// What a contender asks of a disk's queue, in the order in which it is written.
pub(crate) fn settings(contender: &Contender, disk: &str) -> Result<Vec<QueueSetting>, StagingError> {
    let scheduler = contender.scheduler.iter().map(|name| ("scheduler", name));
    let others = contender.device.iter().map(|(name, value)| (name.as_str(), value));
    let all = scheduler.chain(others).map(|(name, value)| {
        one(disk, name, value).map_err(|problem| StagingError::contender(&contender.label, problem, ""))
    });
    all.collect()
}

fn one(disk: &str, name: &str, value: &str) -> Result<QueueSetting, String> {
    let queue = Path::new("/sys/block").join(disk.replace('/', "!")).join("queue");
    let asked = format!("{name} {value}");
    if name == WRITE_CACHE {
        return write_cache(disk, value).map(|(path, value, only_the_view)| QueueSetting {
            asked,
            path,
            value: value.into(),
            only_the_view,
        });
    }
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("\"{name}\" is no name of a queue setting"));
    }
    let file = NAMES.iter().find(|(friendly, _)| *friendly == name).map_or(name, |(_, file)| *file);
    let value = match name {
        "read_ahead" => {
            kib(value).ok_or_else(|| format!("read_ahead {value} is no size in whole KiB, such as 128k or 4M"))?
        }
        _ => value.into(),
    };
    Ok(QueueSetting { asked, path: queue.join(file), value, only_the_view: false })
}

/// A size in KiB; a bare number is taken as KiB, as the kernel's own setting.
fn kib(value: &str) -> Option<String> {
    let bytes = match value.parse::<u64>() {
        Ok(kib) => kib.checked_mul(1024)?,
        Err(_) => readback::size(&value.replace(' ', ""))?,
    };
    bytes.is_multiple_of(1024).then(|| (bytes / 1024).to_string())
}

/// Where a device's write cache is switched, with the word for it, and whether only the kernel's view changes there.
fn write_cache(disk: &str, value: &str) -> Result<(PathBuf, &'static str, bool), String> {
    let word = match value {
        "on" | "1" | "true" | BACK => BACK,
        "off" | "0" | "false" | THROUGH => THROUGH,
        other => return Err(format!("write_cache takes on or off (or \"{BACK}\", \"{THROUGH}\"), not {other}")),
    };
    let folder = Path::new("/sys/block").join(disk.replace('/', "!"));
    // sd: MODE SELECT, which SATA disks get translated; virtio: where the host lets the guest choose.
    let scsi = std::fs::read_dir(folder.join("device/scsi_disk")).ok();
    let scsi = scsi.and_then(|mut entries| Some(entries.next()?.ok()?.path().join("cache_type")));
    let real = scsi.into_iter().chain([folder.join("cache_type")]).find(|path| path.exists());
    match real {
        Some(path) => Ok((path, word, false)),
        None => Ok((folder.join("queue/write_cache"), word, true)),
    }
}

impl Stage<'_> {
    /// Sets scheduler and queue, reads them back, and remembers what they were.
    pub(crate) fn set_queue(&mut self, contender: &Contender) -> Result<(), StagingError> {
        let Some(disk) = self.state.device.as_ref().map(BlockDevice::disk) else {
            return Ok(());
        };
        for setting in settings(contender, &disk)? {
            self.set_one(contender, &disk, &setting)?;
        }
        Ok(())
    }

    fn set_one(&mut self, contender: &Contender, disk: &str, setting: &QueueSetting) -> Result<(), StagingError> {
        let QueueSetting { asked, path, value, .. } = setting;
        let was = read_setting(path).ok_or_else(|| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let way = "ls /sys/block/*/queue shows what there is";
            StagingError::contender(&contender.label, format!("{disk} has no queue setting {name}"), way)
        })?;
        if was != *value {
            self.target.mark.will_make(Made::Setting { path: path.clone(), was: was.clone() })?;
            self.state.settings.push((path.clone(), was));
            let offered = std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
            let way = format!("{disk} offers: {offered}");
            write_setting(path, value, &self.target.journal).map_err(|error| {
                StagingError::contender(&contender.label, format!("{asked} was refused: {error}"), way.clone())
            })?;
            let now = read_setting(path).unwrap_or_default();
            if now != *value {
                let problem = format!("{asked} did not take: {disk} shows {now}");
                return Err(StagingError::contender(&contender.label, problem, way));
            }
            self.remark_on_view(setting, disk);
        }
        let found = read_setting(path);
        self.state.found.options.push(OptionFound { asked: asked.clone(), found, by: path.display().to_string() });
        Ok(())
    }

    /// Told that there is no cache, the kernel sends no flushes, whatever lies below.
    fn remark_on_view(&mut self, setting: &QueueSetting, disk: &str) {
        if setting.only_the_view && setting.value == THROUGH {
            self.state.flushes_off = true;
            let below = if self.state.image.is_some() { "the image's disk" } else { "the device" };
            self.state.found.remarks.push(format!(
                "write_cache off: only the kernel's view of {disk} can be changed, so it sends no flushes, and what a cache of {below} holds is lost with the power"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_the_kernels_kib() {
        for (asked, kib) in [("128", "128"), ("4M", "4096"), ("512k", "512"), ("1 MiB", "1024")] {
            let setting = one("loop0", "read_ahead", asked).expect("a size");
            assert!(setting.path.ends_with("queue/read_ahead_kb"));
            assert_eq!(setting.value, kib);
        }
        assert!(one("loop0", "read_ahead", "100 bytes").is_err());
        assert!(one("loop0", "requests", "64").expect("known").path.ends_with("queue/nr_requests"));
        assert!(one("loop0", "nomerges", "2").expect("by its own name").path.ends_with("queue/nomerges"));
    }

    #[test]
    fn a_name_leads_nowhere_but_into_the_queue() {
        for name in ["../ro", "a/b", "", "Scheduler"] {
            assert!(one("loop0", name, "1").is_err(), "{name}");
        }
    }

    #[test]
    fn a_write_cache_has_two_states() {
        let of = |value: &str| one("no-such-disk", "write_cache", value).map(|setting| setting.value);
        assert_eq!((of("on"), of("off")), (Ok(BACK.into()), Ok(THROUGH.into())));
        assert_eq!(of("write through"), Ok(THROUGH.into()));
        assert!(of("perhaps").is_err());
    }
}
