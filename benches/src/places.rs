//! Where the works are done: tmpfs, and ext4 and XFS on loop-backed images, made here and removed here.
//! In: a scratch folder. Out: mounted places.
//! Without root only a folder in memory can be used.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Size of an image; sparse.
const IMAGE: &str = "5G";

/// A mounted place, unmounted and removed when dropped.
pub struct Place {
    /// Filesystem.
    pub name: &'static str,
    /// Where it is mounted.
    pub path: PathBuf,
    image: Option<PathBuf>,
    device: Option<String>,
    mounted: bool,
}

fn run(line: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", line]).output().map_err(|e| format!("`{line}`: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("`{line}`: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

impl Place {
    /// Make a place of this kind.
    pub fn new(name: &'static str, scratch: &Path) -> Result<Place, String> {
        let path = scratch.join(name);
        std::fs::create_dir_all(&path).map_err(|e| format!("making {}: {e}", path.display()))?;
        let mut place = Place { name, path, image: None, device: None, mounted: false };
        let at = place.path.display().to_string();
        if name == "tmpfs" {
            run(&format!("mount -t tmpfs -o size=8g,nr_inodes=0 tmpfs {at}"))?;
        } else {
            let image = scratch.join(format!("{name}.img"));
            run(&format!("truncate -s {IMAGE} {}", image.display()))?;
            place.image = Some(image.clone());
            let device = run(&format!("losetup --show --find --direct-io=on {}", image.display()))?;
            place.device = Some(device.clone());
            // Work that mkfs leaves for later would run under the measurements.
            let options = if name == "ext4" { "-q -N 1000000 -E lazy_itable_init=0,lazy_journal_init=0" } else { "-q" };
            run(&format!("mkfs.{name} {options} {device} && mount {device} {at}"))?;
        }
        place.mounted = true;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.mounted {
            let _ = run(&format!("umount {}", self.path.display()));
        }
        if let Some(device) = &self.device {
            let _ = run(&format!("losetup -d {device}"));
        }
        if let Some(image) = &self.image {
            let _ = std::fs::remove_file(image);
        }
        let _ = std::fs::remove_dir(&self.path);
    }
}
