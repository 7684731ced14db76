//! Records of aged images: what each was made of, and the hash that proves it.
//! In: a cache's folder. Out: [`AgedImage`]s as recorded.
//! They are in the state folder, where other users cannot write; one record for each key and folder.

use super::AgedImage;
use crate::error::StagingError;
use crate::ownership::owned;
use crate::ownership::state;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use system::create::Folder;

/// The part of the state folder that holds records.
const PART: &str = "aged";

/// The lock of all caches: one file, which is never removed, since a process may wait for it.
const LOCK: &str = "lock";

/// Records read at most.
const RECORDS_LIMIT: usize = 10_000;

/// Bytes of a record at most.
const RECORD_LIMIT: u64 = 16 << 20;

/// How long a record is kept while its folder is missing: the disk may be elsewhere for a while.
const ABSENCE: Duration = Duration::from_secs(90 * 24 * 3600);

/// Default folder of the records.
pub(super) fn folder() -> PathBuf {
    state::folder().join(PART)
}

/// The records of one cache.
#[derive(Debug)]
pub(super) struct Records {
    folder: Folder,
    /// Precedes the key in each name, and identifies the cache.
    place: String,
}

impl Records {
    /// Opens the records of the cache in this folder; they are in `kept` or in the state folder.
    pub fn open(cache: &Path, kept: Option<&Path>) -> Result<Records, StagingError> {
        let folder = match kept {
            Some(path) => Folder::make(path).map_err(|error| StagingError::file("make", path, error))?,
            None => state::part(PART)?,
        };
        Ok(Records::of(cache, folder))
    }

    /// The same for reading only: None if there are none.
    pub fn open_if_there(cache: &Path, kept: Option<&Path>) -> Result<Option<Records>, StagingError> {
        let folder = match kept {
            Some(_) => return Records::open(cache, kept).map(Some),
            None => state::part_if_there(PART)?,
        };
        Ok(folder.map(|folder| Records::of(cache, folder)))
    }

    fn of(cache: &Path, folder: Folder) -> Records {
        let cache = cache.canonicalize().unwrap_or_else(|_| std::path::absolute(cache).unwrap_or(cache.into()));
        let place = blake3::hash(cache.as_os_str().as_encoded_bytes()).to_hex()[..16].to_string();
        Records { folder, place }
    }

    fn name(&self, key: &str) -> String {
        format!("{}-{key}.json", self.place)
    }

    /// Held while images are kept and removed.
    pub fn lock(&self) -> Result<File, StagingError> {
        let locked = self.folder.kept_file(LOCK, false).and_then(|file| {
            rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
            Ok(file)
        });
        locked.map_err(|error| StagingError::file("lock", &self.folder.path().join(LOCK), error))
    }

    /// The record of a key: None if there is none, an error if it cannot be read.
    pub fn read(&self, key: &str) -> Result<Option<AgedImage>, String> {
        match read(&self.folder, &self.name(key)) {
            Ok(image) => Ok(Some(image)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// All that can be read, the least recently used first.
    pub fn all(&self) -> Vec<AgedImage> {
        let mut found: Vec<(SystemTime, AgedImage)> = self
            .names()
            .into_iter()
            .filter(|name| name.starts_with(&self.place))
            .filter_map(|name| {
                let used = self.folder.path().join(&name).metadata().and_then(|facts| facts.modified()).ok()?;
                Some((used, read(&self.folder, &name).ok()?))
            })
            .collect();
        found.sort_by_key(|(used, _)| *used);
        found.into_iter().map(|(_, image)| image).collect()
    }

    fn names(&self) -> Vec<String> {
        let names = self.folder.names().unwrap_or_default();
        let mut names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| name.ends_with(".json"));
        names.truncate(RECORDS_LIMIT);
        names
    }

    pub fn write(&self, image: &AgedImage) -> Result<(), StagingError> {
        let name = self.name(&image.key);
        let path = self.folder.path().join(&name);
        let text = serde_json::to_vec_pretty(image).map_err(|error| StagingError::file("describe", &path, error))?;
        let written = self.folder.replace_durably(&name, &text);
        written.map_err(|error| StagingError::file("write the record of an aged image", &path, error))
    }

    pub fn remove(&self, key: &str) {
        // Another run may have removed it already, which is fine.
        let _ = self.folder.remove(self.name(key));
    }

    /// Notes that an image was used just now, so that it is removed last. If the time cannot be set, it is only removed earlier.
    pub fn touch(&self, key: &str) {
        let touched = self.folder.kept_file(self.name(key), true);
        let _ = touched.and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// Removes the records of caches whose folder has been missing for long, and of images that are missing from existing folders.
    pub fn tidy(&self) {
        for name in self.names() {
            let Ok(image) = read(&self.folder, &name) else { continue };
            let path = self.folder.path().join(&name);
            let since = path.metadata().and_then(|facts| facts.modified()).ok().and_then(|time| time.elapsed().ok());
            let gone = match image.folder.is_dir() {
                true => image.file().symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound),
                false => since.is_some_and(|since| since > ABSENCE),
            };
            // An image that is being kept appears a moment after its record.
            if gone && since.is_some_and(|since| since > Duration::from_secs(60)) {
                let _ = self.folder.remove(&name);
            }
        }
    }
}

fn read(folder: &Folder, name: &str) -> std::io::Result<AgedImage> {
    let file = folder.read_file(name)?;
    let facts = rustix::fs::fstat(&file)?;
    if !owned::is_mine(&facts) || facts.st_mode & 0o002 != 0 {
        return Err(std::io::Error::other("another user could have written it"));
    }
    let mut text = Vec::new();
    file.take(RECORD_LIMIT).read_to_end(&mut text)?;
    let image: AgedImage = serde_json::from_slice(&text)?;
    // With a name that leads elsewhere, a file that is not an image would be removed.
    match PathBuf::from(&image.name).file_name().is_some_and(|name| name == image.name.as_str()) {
        true => Ok(image),
        false => Err(std::io::Error::other("it names a file elsewhere")),
    }
}
