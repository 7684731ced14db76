//! The cache of aged images: each is made once, restored for each trial, verified, and never incomplete.
//! In: an aged image and its facts. Out: [`AgedImage`]s by key, and copies of them.
//! The proof of an image is in the state folder, where other users cannot write. The image itself is put in place last.

mod content;
mod record;

use crate::cleanup::leftover::Stranger;
use crate::devices::custody::zeroing;
use crate::error::StagingError;
use crate::ownership::life::Maker;
use crate::ownership::owned::{self, Identity, OwnedImage};
use content::{forget, hash};
use record::Records;
use records::{AgedState, Cause, show_bytes};
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use system::create::Folder;
use system::{BlockDevice, Command, Journal, Sysfs as _};

/// How long copying an image may take.
const COPY_LIMIT: Duration = Duration::from_secs(6 * 3600);

/// Version of records and hashes; images of another version are made again. The first kept its records beside the images.
const VERSION: u32 = 2;

/// Where aged images are kept, and how much space they may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgedCache {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes on its disk at most; the image in use stays, however large it is.
    pub limit: u64,
    /// Folder of its records, if it is not the state folder.
    records: Option<PathBuf>,
}

/// An aged image, as recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgedImage {
    version: u32,
    /// Hash of everything it was made of: filesystem, options, versions, history, size.
    pub key: String,
    /// What it is, in words.
    pub title: String,
    /// Bytes of the image.
    pub bytes: u64,
    /// BLAKE3 of its content, without holes.
    pub hash: String,
    /// What was found on it.
    pub state: AgedState,
    /// Its folder.
    folder: PathBuf,
    name: String,
    identity: Identity,
    #[serde(flatten)]
    maker: Maker,
}

/// What a cache has for a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Cached {
    /// The image; its content was not read.
    Whole(Box<AgedImage>),
    /// None was made.
    Nothing,
    /// There is one that is not used; why, in a sentence. It must be made again.
    Unusable(String),
}

impl AgedCache {
    /// A cache in this folder, with its records in the state folder.
    pub fn new(folder: PathBuf, limit: u64) -> AgedCache {
        AgedCache { folder, limit, records: None }
    }

    /// A cache with its records in a separate folder, in which no other user may be able to write.
    pub fn with_records(folder: PathBuf, limit: u64, records: PathBuf) -> AgedCache {
        AgedCache { folder, limit, records: Some(records) }
    }

    fn records(&self) -> Result<Records, StagingError> {
        Records::open(&self.folder, self.records.as_deref())
    }

    /// The image of this key, if it is complete and may be used.
    pub fn find(&self, key: &str) -> Option<AgedImage> {
        match self.look(key) {
            Ok(Cached::Whole(image)) => Some(*image),
            _ => None,
        }
    }

    /// What the cache has for a key. A damaged image is removed if it is ours.
    ///
    /// # Errors
    /// The records cannot be opened.
    pub fn look(&self, key: &str) -> Result<Cached, StagingError> {
        let Some(records) = Records::open_if_there(&self.folder, self.records.as_deref())? else {
            return Ok(self.unrecorded(key));
        };
        let image = match records.read(key) {
            Ok(Some(image)) if image.version == VERSION && image.key == key => image,
            Ok(_) => return Ok(self.unrecorded(key)),
            Err(why) => {
                records.remove(key);
                return Ok(Cached::Unusable(format!("the record of an aged image cannot be read ({why})")));
            }
        };
        let path = image.file();
        let facts = match Folder::open(&image.folder).and_then(|folder| owned::stat(&folder, &image.name)) {
            Ok(Some(facts)) => facts,
            Ok(None) => return Ok(Cached::Nothing),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Cached::Nothing),
            Err(error) => return Ok(Cached::Unusable(format!("{} cannot be inspected ({error})", path.display()))),
        };
        if !image.is_the_one(&facts) {
            let why = format!("{} is not the aged image that bakeoff made there; it is not touched", path.display());
            return Ok(Cached::Unusable(why));
        }
        if let Err(why) = system::owned_path(&path)
            // An image made by this process is proven by its hash, wherever it is.
            && !image.maker.is_this_process()
        {
            let way = "keep aged images where only you and root can write, with --scratch";
            return Ok(Cached::Unusable(format!("the aged image {} is not used, since {why} ({way})", path.display())));
        }
        if facts.st_size as u64 != image.bytes {
            self.remove(&image)?;
            let why = format!("the aged image {} has {} bytes instead of {}", image.title, facts.st_size, image.bytes);
            return Ok(Cached::Unusable(why));
        }
        Ok(Cached::Whole(Box::new(image)))
    }

    /// The result without a record: unusable if a file looks like the image, else nothing.
    fn unrecorded(&self, key: &str) -> Cached {
        match self.images().into_iter().find(|name| name.starts_with(key)) {
            Some(name) => Cached::Unusable(format!(
                "{} is not used, since it has no record in {}",
                self.folder.join(name).display(),
                self.records.clone().unwrap_or_else(record::folder).display()
            )),
            None => Cached::Nothing,
        }
    }

    /// Names in the folder that look like those of aged images.
    fn images(&self) -> Vec<String> {
        let folder = self.folder.canonicalize().and_then(|folder| Folder::open(&folder));
        let names = folder.and_then(|folder| folder.names()).unwrap_or_default();
        let mut names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| {
            let key = name.strip_suffix(".img").and_then(|stem| stem.split('-').next());
            key.is_some_and(|key| key.len() == KEY_LENGTH && key.chars().all(|c| c.is_ascii_hexdigit()))
        });
        names
    }

    /// Images in the folder without a record: of version 0.1, or of another machine or container. They are not used.
    pub fn strangers(&self) -> Vec<Stranger> {
        let known: Vec<String> = self.all().into_iter().map(|image| image.name).collect();
        let unknown = self.images().into_iter().filter(|name| !known.contains(name));
        let why = "bakeoff has no record of it; if it is not needed, remove it with rm";
        unknown.map(|name| Stranger { path: self.folder.join(name), why: why.into() }).collect()
    }

    /// All images, the least recently used first.
    pub fn all(&self) -> Vec<AgedImage> {
        let Ok(Some(records)) = Records::open_if_there(&self.folder, self.records.as_deref()) else {
            return Vec::new();
        };
        records.all().into_iter().filter(|image| image.file().symlink_metadata().is_ok()).collect()
    }

    /// Makes the folder, and returns its real path. The user's own link may lead it to another disk, but not to a folder with other files.
    pub(crate) fn make(&self) -> Result<PathBuf, StagingError> {
        let failed = |error: std::io::Error| StagingError::file("make the folder of aged images", &self.folder, error);
        let own_link =
            |facts: &Metadata| facts.is_symlink() && [0, rustix::process::geteuid().as_raw()].contains(&facts.uid());
        if !self.folder.symlink_metadata().is_ok_and(|facts| own_link(&facts)) {
            Folder::make(&self.folder).map_err(failed)?;
            return self.folder.canonicalize().map_err(failed);
        }
        let real = self.folder.canonicalize().map_err(failed)?;
        let names = Folder::open(&real).and_then(|folder| folder.names()).map_err(failed)?;
        match names.iter().find(|name| !is_of_a_cache(&name.to_string_lossy())) {
            Some(other) => Err(StagingError::File {
                doing: "keep aged images in",
                path: self.folder.clone(),
                error: format!("it is a link to {}, which holds {}", real.display(), other.display()),
                way_out: "point the link to a separate folder, or name another folder with --scratch".into(),
                cause: Cause::Lasting,
            }),
            None => Ok(real),
        }
    }

    /// Takes over an image that a run made in this folder, and removes images above the limit.
    pub(crate) fn keep(
        &self,
        made: &OwnedImage,
        key: &str,
        title: &str,
        state: AgedState,
    ) -> Result<AgedImage, StagingError> {
        let part = made.path();
        let path: &Path = &part;
        let failed = |doing| move |error: std::io::Error| StagingError::file(doing, path, error);
        made.file.sync_all().map_err(failed("write back the aged image"))?;
        let image = AgedImage {
            version: VERSION,
            key: key.into(),
            title: title.into(),
            bytes: made.file.metadata().map_err(failed("inspect the aged image"))?.len(),
            hash: hash(&made.file).map_err(failed("read back the aged image"))?,
            state,
            folder: self.folder.canonicalize().map_err(failed("inspect the folder of"))?,
            name: format!("{key}{}", made_by(&part)),
            identity: made.identity,
            maker: Maker::current(),
        };
        let records = self.records()?;
        let _lock = records.lock()?;
        if let Ok(Some(older)) = records.read(key) {
            self.remove_unlocked(&records, &older);
        }
        // The record first: an image without one has no owner.
        records.write(&image)?;
        if let Err(error) = made.rename(&image.name) {
            records.remove(key);
            return Err(failed("rename the aged image")(error));
        }
        sync_folder(&self.folder)?;
        self.evict(&records, key);
        Ok(image)
    }

    /// Removes images, except this one, until the limit is kept.
    fn evict(&self, records: &Records, keep: &str) {
        let all = records.all();
        let mut taken: u64 = all.iter().map(AgedImage::allocated).sum();
        for image in all.iter().filter(|image| image.key != keep) {
            if taken <= self.limit {
                return;
            }
            taken -= image.allocated().min(taken);
            self.remove_unlocked(records, image);
        }
    }

    /// Removes an image and then its record, so that no image stays without a record.
    pub fn remove(&self, image: &AgedImage) -> Result<(), StagingError> {
        let records = self.records()?;
        let _lock = records.lock()?;
        self.remove_unlocked(&records, image);
        Ok(())
    }

    fn remove_unlocked(&self, records: &Records, image: &AgedImage) {
        if let Ok(folder) = Folder::open(&image.folder)
            && let Ok(Some(facts)) = owned::stat(&folder, &image.name)
            && image.is_the_one(&facts)
            && owned::gone_is_fine(folder.remove(&image.name)).is_err()
        {
            // It cannot be removed now; its record stays for the next attempt.
            return;
        }
        records.remove(&image.key);
    }

    /// Removes records of images that no longer exist.
    pub fn tidy(&self) {
        // Records that cannot be opened are not tidied; an operation that needs them returns the error.
        if let Ok(Some(records)) = Records::open_if_there(&self.folder, self.records.as_deref()) {
            records.tidy();
        }
    }

    /// Copies an image to a file of this run: as a reflink if the disk supports it, else without its holes.
    pub(crate) fn restore_to_file(
        &self,
        image: &AgedImage,
        to: &OwnedImage,
        journal: &Journal,
    ) -> Result<(), StagingError> {
        let path = to.path();
        let [copy, sync] = copying_to_file(&image.file(), &path);
        self.copied(image, copy.through(&path, &to.file), journal)?;
        let sync = sync.through(&path, &to.file).limit(COPY_LIMIT);
        sync.run(journal).map_err(StagingError::command(format!("writing back {}", path.display())))?;
        let found = hash(&to.file).map_err(|error| StagingError::file("read back", &path, error))?;
        self.equal(image, &found)
    }

    /// Copies an image to a device: zeros everywhere first (one fast command on most devices), then the data.
    pub(crate) fn restore_to_device(
        &self,
        image: &AgedImage,
        to: &Path,
        journal: &Journal,
    ) -> Result<(), StagingError> {
        let to_text = to.display().to_string();
        let [zero, copy] = copying_to_device(&image.file(), to);
        zero.limit(COPY_LIMIT).run(journal).map_err(StagingError::command(format!("emptying {to_text}")))?;
        self.copied(image, copy, journal)?;
        let device = File::open(to).map_err(|error| StagingError::file("open", to, error))?;
        let found = hash(&device).map_err(|error| StagingError::file("read back", to, error))?;
        if found != image.hash {
            self.verify(image)?;
            let problem = format!("{to_text} does not return the data written to it: its hash is {found}");
            return Err(StagingError::contender(&image.title, problem, "the kernel's log (dmesg) may say why"));
        }
        Ok(())
    }

    /// Reads a kept image completely. If it has changed, it is removed.
    ///
    /// # Errors
    /// [`StagingError::Damaged`], or it cannot be read.
    pub fn verify(&self, image: &AgedImage) -> Result<(), StagingError> {
        let file = image.open()?;
        let found = hash(&file).map_err(|error| self.unreadable(image, &error))?;
        self.equal(image, &found)
    }

    fn copied(&self, image: &AgedImage, copy: Command, journal: &Journal) -> Result<(), StagingError> {
        self.records()?.touch(&image.key);
        let from = Arc::new(image.open()?);
        let copy = copy.through(&image.file(), &from).limit(COPY_LIMIT);
        let copied = copy.run(journal);
        forget(&from);
        copied.map(|_| ()).map_err(StagingError::command(format!("restoring the aged image {}", image.title)))
    }

    /// The content must be the same as when the image was made.
    fn equal(&self, image: &AgedImage, found: &str) -> Result<(), StagingError> {
        if found == image.hash {
            return Ok(());
        }
        self.remove(image)?;
        let problem = format!("its hash is {found}, and was {} at its creation", image.hash);
        Err(StagingError::Damaged { image: image.title.clone(), problem })
    }

    fn unreadable(&self, image: &AgedImage, error: &std::io::Error) -> StagingError {
        // If it cannot be removed either, the next look-up finds it again.
        let _ = self.remove(image);
        StagingError::Damaged { image: image.title.clone(), problem: format!("it cannot be read: {error}") }
    }

    /// Copies an aged device into a file of this run, without its zeros.
    pub(crate) fn copy_of_device(
        &self,
        device: &Path,
        part: &OwnedImage,
        bytes: u64,
        journal: &Journal,
    ) -> Result<(), StagingError> {
        crate::devices::image::fits(&self.folder, bytes)?;
        let path = part.path();
        let [copy, size] = copying_from_device(device, &path, bytes);
        let copy = copy.through(&path, &part.file).limit(COPY_LIMIT);
        copy.run(journal).map_err(StagingError::command(format!("keeping a copy of {}", device.display())))?;
        let sized = size.through(&path, &part.file).run(journal);
        sized.map(|_| ()).map_err(StagingError::command(format!("sizing {}", path.display())))
    }
}

/// The commands that copy a kept image to a file, and write that back.
pub(crate) fn copying_to_file(image: &Path, to: &Path) -> [Command; 2] {
    let (from, to) = (image.display().to_string(), to.display().to_string());
    [Command::new(["cp", "--reflink=auto", "--sparse=auto", &from, &to]), Command::new(["sync", "--data", &to])]
}

/// The commands that fill a device with zeros, and copy the data of a kept image to it.
pub(crate) fn copying_to_device(image: &Path, to: &Path) -> [Command; 2] {
    let (from, into) = (format!("if={}", image.display()), format!("of={}", to.display()));
    let words = ["dd", &from, &into, "bs=1M", "conv=sparse,nocreat,fsync", "status=none"];
    [zeroing(to, BlockDevice::find(to).ok().as_ref()), Command::new(words)]
}

/// The commands that copy a device to a file of `bytes` bytes; dd skips zeros at the end, so the second sets its size.
pub(crate) fn copying_from_device(device: &Path, to: &Path, bytes: u64) -> [Command; 2] {
    let (from, into) = (format!("if={}", device.display()), format!("of={}", to.display()));
    let words = ["dd", &from, &into, "bs=1M", "iflag=direct", "conv=sparse,fsync", "status=none"];
    [Command::new(words), Command::new(["truncate", "--size", &bytes.to_string(), &to.display().to_string()])]
}

impl AgedImage {
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn is_the_one(&self, facts: &rustix::fs::Stat) -> bool {
        owned::is_the_one(facts, Some(self.identity), self.maker.is_of_this_boot())
    }

    /// Opens it, never through a link.
    fn open(&self) -> Result<File, StagingError> {
        let opened = Folder::open(&self.folder).and_then(|folder| folder.read_file(&self.name));
        opened.map_err(|error| StagingError::file("open the aged image", &self.file(), error))
    }

    /// Bytes that it takes on its disk.
    pub fn allocated(&self) -> u64 {
        self.file().symlink_metadata().map_or(0, |facts| facts.blocks() * 512)
    }

    /// "ext4 old 80%, 8 GiB".
    pub fn in_words(&self) -> String {
        format!("{}, image of {} ({} on disk)", self.title, show_bytes(self.bytes), show_bytes(self.allocated()))
    }
}

/// `-ID-NUMBER.img` of the name that the run gave it, so that two images of one key have different names.
fn made_by(part: &Path) -> String {
    let name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.strip_prefix("bakeoff").unwrap_or("-kept.img").to_string()
}

/// Whether a file has a name as in a cache, or one that filesystems have in their top folder.
fn is_of_a_cache(name: &str) -> bool {
    let is_key = |start: &str| start.len() == KEY_LENGTH && start.bytes().all(|byte| byte.is_ascii_hexdigit());
    name == "lost+found" || name.starts_with("bakeoff-") || name.split_once('-').is_some_and(|(start, _)| is_key(start))
}

/// Hexadecimal digits of a key.
const KEY_LENGTH: usize = 32;

/// A key of everything that an image was made of.
pub(crate) fn key_of(parts: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..KEY_LENGTH].to_string()
}

fn sync_folder(folder: &Path) -> Result<(), StagingError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| StagingError::file("write back the folder of aged images", folder, error))
}

#[cfg(test)]
mod tests;
