//! Whether a device is still present: pulled out, detached, offline, or its backing file truncated.
//! In: the device as found earlier. Out: what happened to it, as text; nothing if it is unchanged.
//! Checked after a failure, so that a lost device is not taken for a fault of the filesystem on it.

use crate::block::{BlockDevice, Sysfs};
use std::path::Path;

/// Kernel states of a disk that responds, for SCSI and NVMe.
const ALIVE: [&str; 5] = ["running", "live", "created", "new", "connecting"];

/// What happened to a device; None if it is present and whole.
pub fn lost(device: &BlockDevice) -> Option<String> {
    let Some(now) = BlockDevice::numbered(device.number) else {
        return Some("it is gone".into());
    };
    if now.sequence != device.sequence {
        return Some("a different device has its name".into());
    }
    if now.size_bytes < device.size_bytes {
        return Some(format!("its size is now {} bytes instead of {}", now.size_bytes, device.size_bytes));
    }
    let state = crate::text(Path::new("/sys/block").join(device.disk().replace('/', "!")).join("device/state"));
    if let Some(state) = state.filter(|state| !ALIVE.contains(&state.trim())) {
        return Some(format!("its state in the kernel is {}", state.trim()));
    }
    cut_short(device)
}

/// A loop device stays attached when its file is truncated, and returns I/O errors beyond the end.
fn cut_short(device: &BlockDevice) -> Option<String> {
    let file = device.backing_file.as_deref()?;
    let there = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    (there.len() < device.size_bytes)
        .then(|| format!("its file {} was truncated to {} bytes", file.display(), there.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Journal};

    #[test]
    fn a_detached_loop_device_and_one_whose_file_was_cut_short_are_lost() {
        if !crate::process::is_root() {
            return;
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(8 << 20).expect("sparse");
        let attach = ["losetup", "--find", "--show", &file.path().display().to_string()];
        let node = Command::new(attach).run(&Journal::new()).expect("attached").stdout.trim().to_string();
        let device = BlockDevice::find(Path::new(&node)).expect("found");
        assert_eq!(lost(&device), None);
        file.as_file().set_len(4096).expect("cut");
        let cut = lost(&device);
        Command::new(["losetup", "--detach", &node]).run(&Journal::new()).expect("detached");
        assert!(cut.as_deref().is_some_and(|how| how.contains("truncated to 4096 bytes")), "{cut:?}");
        assert!(lost(&device).is_some(), "a detached one is no disk any more");
    }
}
