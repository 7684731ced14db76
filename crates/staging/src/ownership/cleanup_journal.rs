//! The cleanup record ([`Mark`]): everything that a run makes on this machine, recorded before it is made.
//! In: what is about to be made. Out: a file that outlives the run, so that the next start can clean what a killed one left.
//! It is in the state folder, which survives a reboot, beside a lock that is held while the run is alive.

use crate::devices::parts::Part;
use crate::error::StagingError;
use crate::ownership::life::{self, Life, Lock, Maker};
use crate::ownership::owned::{self, Identity, OwnedImage};
use crate::ownership::state;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use system::block::Number;
use system::create::Folder;
use system::process::Process;

/// Folder of mountpoints and locks; a reboot empties it, as it removes those.
pub(crate) const RUN_FOLDER: &str = "/run/bakeoff";

/// The part of the state folder that holds cleanup records.
pub(crate) const MARKS: &str = "marks";

/// Version of cleanup records; the first had no machine, no namespace and no lock.
const VERSION: u32 = 2;

/// What a run made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(crate) enum Made {
    /// A folder for mountpoints; removed when empty, with what is mounted below it.
    Folder { path: PathBuf },
    /// A folder of work in a user's directory; removed with its content.
    Work { path: PathBuf },
    /// An image file; removed with the loop devices attached to it. Its identity is known once it is made.
    Image { path: PathBuf, identity: Option<Identity> },
    /// A real device that was formatted; wiped if it still has our label.
    Formatted { path: PathBuf, number: Number, sequence: Option<u64>, label: String },
    /// A partition that only the kernel knows; removed from the kernel.
    Part { disk: PathBuf, number: Number, sequence: Option<u64>, part: Part },
    /// A process that serves a filesystem.
    Daemon { process: Process },
    /// A control group, which is empty once its processes have ended.
    Group { path: PathBuf },
    /// A setting in sysfs, and its former value.
    Setting { path: PathBuf, was: String },
}

/// Content of a cleanup record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub version: u32,
    pub id: String,
    #[serde(flatten)]
    pub maker: Maker,
    pub made: Vec<Made>,
    /// Why the last attempt to remove it failed; empty if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Content {
    fn new(id: String) -> Content {
        Content { version: VERSION, id, maker: Maker::current(), made: Vec::new(), problems: Vec::new() }
    }

    /// Whether it is of version 0.1, which did not record the identity of images.
    pub fn is_of_first_version(&self) -> bool {
        self.version < 2
    }
}

/// The cleanup record of one run (more exactly, of one target).
#[derive(Debug)]
pub(crate) struct Mark {
    content: Content,
    planning: bool,
    /// The folder it is written to, and the lock that is held; present once something is made.
    kept: Option<(Folder, File)>,
    images: BTreeMap<PathBuf, OwnedImage>,
}

impl Mark {
    /// A new mark; nothing is made yet.
    pub fn new(planning: bool) -> Result<Mark, StagingError> {
        let id = if planning { "ID".to_string() } else { random_id()? };
        Ok(Mark { content: Content::new(id), planning, kept: None, images: BTreeMap::new() })
    }

    /// The record of a guest, with the id of its host's, so that both use the same labels on the disk.
    pub fn of_guest(id: &str) -> Mark {
        Mark { content: Content::new(id.into()), planning: false, kept: None, images: BTreeMap::new() }
    }

    /// Id in the names of everything that is made: eight hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.content.id
    }

    /// Volume label or pool name: at most 12 letters, the limit of XFS.
    pub fn label(&self) -> String {
        format!("bo-{}", self.content.id)
    }

    /// Folder of this run's mountpoints.
    pub fn folder(&self) -> PathBuf {
        Path::new(RUN_FOLDER).join(&self.content.id)
    }

    /// Records what will be made next.
    pub fn will_make(&mut self, made: Made) -> Result<(), StagingError> {
        if self.content.made.contains(&made) {
            return Ok(());
        }
        self.content.made.push(made);
        let written = self.write();
        if written.is_err() {
            // It will not be made.
            self.content.made.pop();
        }
        written
    }

    /// Records that something was removed.
    pub fn removed(&mut self, gone: impl Fn(&Made) -> bool) {
        let before = self.content.made.len();
        self.content.made.retain(|made| !gone(made));
        if self.content.made.len() != before {
            // If this cannot be written, the next start looks for something that is gone, which is harmless.
            let _ = self.write();
        }
    }

    /// Makes an empty image file of this run in a folder.
    pub fn make_image(&mut self, folder: &Path, number: u32) -> Result<PathBuf, StagingError> {
        let failed = |error: std::io::Error| StagingError::file("create an image in", folder, error);
        let open = Folder::open(folder).map_err(failed)?;
        let name = owned::free_name(&open, self.id(), number).map_err(failed)?;
        let path = folder.join(&name);
        self.will_make(Made::Image { path: path.clone(), identity: None })?;
        let image = match OwnedImage::create(open, &name, &self.content.id, &self.content.maker) {
            Ok(image) => image,
            Err(error) => {
                self.forget_image(&path);
                return Err(StagingError::file("create the image", &path, error));
            }
        };
        for made in &mut self.content.made {
            if let Made::Image { path: known, identity } = made
                && *known == path
            {
                *identity = Some(image.identity);
            }
        }
        self.images.insert(path.clone(), image);
        self.write()?;
        Ok(path)
    }

    /// An image of this run.
    pub fn image(&self, path: &Path) -> Option<&OwnedImage> {
        self.images.get(path)
    }

    /// Images that were made and are still there.
    pub fn images(&self) -> Vec<PathBuf> {
        self.images.keys().cloned().collect()
    }

    /// Ends the claim to an image that was removed, or is kept under another name.
    pub fn release_image(&mut self, path: &Path) {
        if let Some(image) = self.images.remove(path) {
            // The next start removes a record without an image.
            let _ = image.release();
        }
        self.forget_image(path);
    }

    fn forget_image(&mut self, path: &Path) {
        self.removed(|made| matches!(made, Made::Image { path: known, .. } if known == path));
    }

    fn write(&mut self) -> Result<(), StagingError> {
        if self.planning {
            return Ok(());
        }
        let (folder, _lock) = match self.kept.take() {
            Some(kept) => self.kept.insert(kept),
            None => self.kept.insert(open(&self.content.id)?),
        };
        save(folder, &self.content)
    }
}

/// Opens the folder of cleanup records and takes the lock of a new one.
fn open(id: &str) -> Result<(Folder, File), StagingError> {
    let folder = state::part(MARKS)?;
    let name = format!("{id}.lock");
    let failed = |error: std::io::Error| unwritable(folder.path().join(&name), error);
    let lock = folder.new_file(&name).map_err(failed)?;
    // A process that can open it can lock it, and would be taken for the owner.
    rustix::fs::fchmod(&lock, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).map_err(|error| failed(error.into()))?;
    if life::take(&lock) == Lock::Held {
        return Err(failed(std::io::Error::other("another process has locked it")));
    }
    Ok((folder, lock))
}

fn save(folder: &Folder, content: &Content) -> Result<(), StagingError> {
    let name = format!("{}.json", content.id);
    let failed = |error: std::io::Error| unwritable(folder.path().join(&name), error);
    let text = serde_json::to_vec_pretty(content).map_err(|error| failed(error.into()))?;
    folder.replace_durably(&name, &text).map_err(failed)
}

fn unwritable(path: PathBuf, error: std::io::Error) -> StagingError {
    let way_out = "bakeoff creates nothing without this record, since `bakeoff clean` needs it after a kill";
    StagingError::file("write the cleanup record", &path, error).with_way(way_out)
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some((folder, _lock)) = self.kept.as_ref().filter(|_| self.content.made.is_empty()) {
            // A file that cannot be removed is empty, and is removed by the next start.
            let _ = folder.remove(format!("{}.json", self.content.id));
            let _ = folder.remove(format!("{}.lock", self.content.id));
        }
    }
}

/// A cleanup record that was found.
#[derive(Debug)]
pub(crate) struct Written {
    /// Its name without `.json`: the run's id.
    pub id: String,
    /// Its content, or why that cannot be read.
    pub content: Result<Content, String>,
}

/// Cleanup records read at most.
const MARKS_LIMIT: usize = 10_000;

/// Bytes of a cleanup record at most.
const MARK_LIMIT: u64 = 4 << 20;

/// All cleanup records.
///
/// # Errors
/// The folder exists and cannot be trusted or read.
pub(crate) fn all() -> Result<Vec<Written>, StagingError> {
    let Some(folder) = state::part_if_there(MARKS)? else { return Ok(Vec::new()) };
    let names = folder.names().map_err(|error| StagingError::file("list", folder.path(), error))?;
    let mut ids: Vec<String> =
        names.iter().filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_string())).collect();
    ids.sort();
    ids.truncate(MARKS_LIMIT);
    Ok(ids.into_iter().filter_map(|id| Some(Written { content: read(&folder, &id)?, id })).collect())
}

/// A cleanup record by its id; None if it does not exist.
pub(crate) fn read(folder: &Folder, id: &str) -> Option<Result<Content, String>> {
    use std::io::Read;
    let file = match folder.read_file(format!("{id}.json")) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(error.to_string())),
    };
    let mine = rustix::fs::fstat(&file).is_ok_and(|facts| owned::is_mine(&facts) && facts.st_mode & 0o002 == 0);
    if !mine {
        return Some(Err("another user could have written it".into()));
    }
    let mut text = Vec::new();
    if let Err(error) = file.take(MARK_LIMIT).read_to_end(&mut text) {
        return Some(Err(error.to_string()));
    }
    let content = serde_json::from_slice::<Content>(&text).map_err(|error| error.to_string());
    Some(content.and_then(|content| match content.id == id {
        true => Ok(content),
        false => Err(format!("its content is of run {}", content.id)),
    }))
}

/// Whether the run of a record is alive.
pub(crate) fn life(folder: &Folder, content: &Content) -> Life {
    let lock = match folder.read_file(format!("{}.lock", content.id)) {
        Ok(file) => life::probe(&file),
        Err(error) if error.kind() == ErrorKind::NotFound => Lock::Missing,
        Err(error) => Lock::Unsure(error.to_string()),
    };
    content.maker.life(&lock, life::is_local(folder.handle()))
}

/// A record that is being cleaned: its lock is held, so that other processes leave it alone.
#[derive(Debug)]
pub(crate) struct Taken {
    folder: Folder,
    lock: File,
    id: String,
}

impl Drop for Taken {
    fn drop(&mut self) {
        // A child process that is being started has the file open until exec, and would hold the lock until then.
        life::release(&self.lock);
    }
}

impl Taken {
    /// Takes over a record; None if its run, or another start that cleans it, holds the lock.
    pub fn take(id: &str) -> Result<Option<Taken>, StagingError> {
        let folder = state::part(MARKS)?;
        let name = format!("{id}.lock");
        let lock = folder.kept_file(&name, false);
        let lock = lock.map_err(|error| StagingError::file("open", &folder.path().join(&name), error))?;
        match life::take(&lock) {
            Lock::Held => Ok(None),
            _ => Ok(Some(Taken { folder, lock, id: id.into() })),
        }
    }

    /// Its present content; None if another start has cleaned it meanwhile.
    pub fn content(&self) -> Option<Result<Content, String>> {
        read(&self.folder, &self.id)
    }

    /// Whether its run is alive, apart from the lock, which this process holds.
    pub fn life(&self, content: &Content) -> Life {
        content.maker.life(&Lock::Free, life::is_local(self.folder.handle()))
    }

    /// Records what still exists.
    pub fn keep(self, content: &Content) -> Result<(), StagingError> {
        save(&self.folder, content)
    }

    /// Removes the mark.
    pub fn forget(self) -> Result<(), StagingError> {
        for name in [format!("{}.json", self.id), format!("{}.lock", self.id)] {
            let path = self.folder.path().join(&name);
            owned::gone_is_fine(self.folder.remove(&name))
                .map_err(|error| StagingError::file("remove", &path, error))?;
        }
        Ok(())
    }
}

/// Removes temporary files of runs that were killed while writing a record (the record itself is intact), and unheld locks without a record.
pub(crate) fn sweep() {
    let Ok(Some(folder)) = state::part_if_there(MARKS) else { return };
    for name in folder.names().unwrap_or_default() {
        let path = folder.path().join(&name);
        let text = name.to_string_lossy();
        let Ok(facts) = path.symlink_metadata() else { continue };
        // Writing one takes milliseconds, so an old one is abandoned.
        let old = facts.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age.as_secs() > 60);
        let ownerless = || {
            let id = text.strip_suffix(".lock")?;
            let free = folder.read_file(&name).is_ok_and(|file| life::probe(&file) == Lock::Free);
            (free && stat_is_none(&folder, &format!("{id}.json"))).then_some(())
        };
        if old && (text.ends_with(".new") || ownerless().is_some()) {
            let _ = folder.remove(&name);
        }
    }
}

fn stat_is_none(folder: &Folder, name: &str) -> bool {
    matches!(owned::stat(folder, name), Ok(None))
}

fn random_id() -> Result<String, StagingError> {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    let uuid = std::fs::read_to_string(path).map_err(|error| StagingError::file("read", path, error))?;
    Ok(uuid.chars().filter(char::is_ascii_hexdigit).take(8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_fits_into_the_shortest_volume_name() {
        let mark = Mark::new(false).expect("random numbers are there");
        assert!(mark.label().len() <= 12);
    }

    #[test]
    fn a_mark_of_the_first_version_is_read() {
        let text = r#"{"version": 1, "id": "0a1b2c3d", "owner": {"pid": 7, "started": 9}, "boot_id": "before",
            "made": [{"kind": "image", "path": "/var/tmp/bakeoff-0a1b2c3d-1.img"}, {"kind": "folder", "path": "/run/x"}]}"#;
        let content: Content = serde_json::from_str(text).expect("it is read");
        assert!(content.is_of_first_version() && content.maker.pid_namespace.is_empty());
        assert!(matches!(&content.made[0], Made::Image { identity: None, .. }));
    }
}
