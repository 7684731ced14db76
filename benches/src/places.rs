//! Where the works are done: tmpfs, and ext4 and XFS on loop-backed images, made here and removed here.
//! In: a scratch folder. Out: mounted places. Whatever ends this process, SIGKILL included, they end with it: it mounts in a namespace of
//! its own, images have no name once they are attached, and the kernel detaches a loop device when its filesystem is unmounted.
//! Without root only a folder in memory can be used.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Size of an image; sparse.
const IMAGE: &str = "5G";

/// Folders that were made here, so that all that is ever in them may be removed.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A mounted place, unmounted and removed when dropped.
pub struct Place {
    /// Filesystem.
    pub name: &'static str,
    /// Where it is mounted.
    pub path: PathBuf,
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
        std::fs::create_dir(&path).map_err(|e| format!("making {}: {e}", path.display()))?;
        MADE.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        let mut place = Place { name, path, mounted: false };
        let at = place.path.display().to_string();
        if name == "tmpfs" {
            run(&format!("mount -t tmpfs -o size=8g,nr_inodes=0 tmpfs {at}"))?;
        } else {
            let image = scratch.join(format!("{name}.img"));
            run(&format!("truncate -s {IMAGE} {}", image.display()))?;
            let device = run(&format!("losetup --show --find --direct-io=on {}", image.display()));
            std::fs::remove_file(&image).map_err(|e| format!("removing {}: {e}", image.display()))?;
            let device = device?;
            // Work that mkfs leaves for later would run under the measurements.
            let options = if name == "ext4" { "-q -N 1000000 -E lazy_itable_init=0,lazy_journal_init=0" } else { "-q" };
            let mounted = run(&format!("mkfs.{name} {options} {device} && mount {device} {at}"));
            // In use, it is detached with its last user.
            run(&format!("losetup --detach {device}"))?;
            mounted?;
        }
        place.mounted = true;
        Ok(place)
    }
}

/// Ends the process in order when it is asked to: its children are ended, and what is mounted in the scratch folder is taken away.
///
/// # Errors
/// Signals cannot be listened for.
pub fn end_on_signals(scratch: &Path) -> Result<(), String> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| format!("listening for signals: {error}"))?;
    let scratch = scratch.to_owned();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Rivals and agents that are at work, and those that the other thread starts meanwhile: they write into the folder.
            let end_children = || run(&format!("pkill -TERM --parent {}", std::process::id()));
            let _ = end_children();
            for path in MADE.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let _ = run(&format!("umount --lazy {}", path.display()));
                let _ = end_children();
                let _ = std::fs::remove_dir_all(path);
            }
            let _ = std::fs::remove_dir(&scratch);
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.mounted {
            let _ = run(&format!("umount {}", self.path.display()));
        }
        let _ = std::fs::remove_dir(&self.path);
    }
}
