//! The mark: what a run makes on this machine, written down before it is made.
//! In: what is about to be made. Out: a file that outlives the run, so that the next start can clean what a killed one left.
//! It lies in /var/lib/bakeoff (without root: in the user's state folder), which a reboot does not empty.

use crate::error::LabError;
use host::block::Number;
use host::process::{self, Process};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Folder of mountpoints and locks; emptied by a reboot, as they are.
pub(crate) const RUN_FOLDER: &str = "/run/bakeoff";

/// Version of mark files.
const VERSION: u32 = 1;

/// What a run made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(crate) enum Made {
    /// A folder for mountpoints; removed when empty, with what is mounted below it.
    Folder { path: PathBuf },
    /// A folder of work in a user's directory; removed with all that is in it.
    Work { path: PathBuf },
    /// An image file; removed with the loop devices attached to it.
    Image { path: PathBuf },
    /// A real device that was formatted; wiped where it still carries our label.
    Formatted { path: PathBuf, number: Number, sequence: Option<u64>, label: String },
    /// A process that serves a filesystem.
    Daemon { process: Process },
    /// A setting in sysfs, and what it was.
    Setting { path: PathBuf, was: String },
}

/// What stands in a mark file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub version: u32,
    pub id: String,
    pub owner: Process,
    pub boot_id: String,
    pub made: Vec<Made>,
}

impl Content {
    /// Whether the process that made these things still runs.
    pub fn owner_lives(&self) -> bool {
        self.boot_id == process::boot_id() && self.owner.lives()
    }

    /// Whether it was made since this machine was booted.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot_id == process::boot_id()
    }
}

/// The mark of one run (of one ground, to be exact).
#[derive(Debug)]
pub(crate) struct Mark {
    file: PathBuf,
    content: Content,
    planning: bool,
}

impl Mark {
    /// A new mark; nothing is made yet.
    pub fn new(planning: bool) -> Result<Mark, LabError> {
        let id = if planning { "ID".to_string() } else { random_id()? };
        let file = state_folder().join(format!("{id}.json"));
        let content =
            Content { version: VERSION, id, owner: Process::current(), boot_id: process::boot_id(), made: Vec::new() };
        Ok(Mark { file, content, planning })
    }

    /// The mark of a guest, which carries the id of its host's, so that labels on the disk are the same to both.
    pub fn of_guest(id: &str) -> Mark {
        let file = state_folder().join(format!("{id}.json"));
        let owner = Process::current();
        let content = Content { version: VERSION, id: id.into(), owner, boot_id: process::boot_id(), made: Vec::new() };
        Mark { file, content, planning: false }
    }

    /// Id in names of everything that is made: eight hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.content.id
    }

    /// Volume label or pool name: at most 12 letters, which is what XFS takes.
    pub fn label(&self) -> String {
        format!("bo-{}", self.content.id)
    }

    /// Folder of this run's mountpoints.
    pub fn folder(&self) -> PathBuf {
        Path::new(RUN_FOLDER).join(&self.content.id)
    }

    /// Writes down what will be made next.
    pub fn will_make(&mut self, made: Made) -> Result<(), LabError> {
        if !self.content.made.contains(&made) {
            self.content.made.push(made);
            self.write()?;
        }
        Ok(())
    }

    /// Writes down that something is gone again.
    pub fn removed(&mut self, gone: impl Fn(&Made) -> bool) {
        let before = self.content.made.len();
        self.content.made.retain(|made| !gone(made));
        if self.content.made.len() != before {
            // If this cannot be written, the next start looks for something that is gone, which does no harm.
            let _ = self.write();
        }
    }

    /// Images that were made and are still there.
    pub fn images(&self) -> Vec<PathBuf> {
        let image = |made: &Made| match made {
            Made::Image { path } => Some(path.clone()),
            _ => None,
        };
        self.content.made.iter().filter_map(image).collect()
    }

    fn write(&self) -> Result<(), LabError> {
        if self.planning {
            return Ok(());
        }
        let failed = |error: std::io::Error| LabError::file("write the mark", &self.file, error);
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let text = serde_json::to_vec_pretty(&self.content).map_err(|error| failed(error.into()))?;
        let fresh = self.file.with_extension("new");
        std::fs::write(&fresh, text).map_err(failed)?;
        std::fs::File::open(&fresh).and_then(|file| file.sync_all()).map_err(failed)?;
        std::fs::rename(&fresh, &self.file).map_err(failed)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if self.content.made.is_empty() {
            // A mark that was never written is not there to be removed.
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// Folder of mark files.
pub(crate) fn state_folder() -> PathBuf {
    if process::is_root() {
        return PathBuf::from("/var/lib/bakeoff/marks");
    }
    host::folders::state().unwrap_or_else(|| PathBuf::from("/var/lib/bakeoff")).join("marks")
}

/// All marks that can be read, each with its file.
pub(crate) fn all() -> Vec<(PathBuf, Content)> {
    let Ok(entries) = std::fs::read_dir(state_folder()) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| {
            let text = std::fs::read(&path).ok()?;
            Some((path, serde_json::from_slice(&text).ok()?))
        })
        .collect()
}

/// Removes what a mark was being written to when its run was killed: the mark itself is whole, as it was before.
pub(crate) fn sweep() {
    let Ok(entries) = std::fs::read_dir(state_folder()) else {
        return;
    };
    let half_written = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "new");
    for path in entries.flatten().map(|entry| entry.path()).filter(half_written) {
        let age = path.metadata().and_then(|facts| facts.modified()).ok().and_then(|time| time.elapsed().ok());
        // Writing one takes milliseconds, so an old one belongs to nobody.
        if age.is_some_and(|age| age.as_secs() > 60) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Name of an image that carries the mark.
pub(crate) fn image_name(id: &str, number: u32) -> String {
    format!("bakeoff-{id}-{number}.img")
}

/// The id in the name of an image that carries a mark.
pub(crate) fn id_of_image(name: &str) -> Option<&str> {
    let (id, number) = name.strip_prefix("bakeoff-")?.strip_suffix(".img")?.rsplit_once('-')?;
    let hex = id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit());
    (hex && number.parse::<u32>().is_ok()).then_some(id)
}

fn random_id() -> Result<String, LabError> {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    let uuid = std::fs::read_to_string(path).map_err(|error| LabError::file("read", path, error))?;
    Ok(uuid.chars().filter(char::is_ascii_hexdigit).take(8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_carry_the_mark_are_taken_for_ours() {
        assert_eq!(id_of_image(&image_name("0a1b2c3d", 7)), Some("0a1b2c3d"));
        for name in ["bakeoff-backup.img", "bakeoff-0a1b2c3d-x.img", "debian-0a1b2c3d-1.img", "bakeoff-zzzzzzzz-1.img"]
        {
            assert_eq!(id_of_image(name), None, "{name}");
        }
    }

    #[test]
    fn a_label_fits_into_the_shortest_volume_name() {
        let mark = Mark::new(false).expect("random numbers are there");
        assert!(mark.label().len() <= 12);
    }
}
