//! The cache of aged images: made once, restored for each trial, proven equal, never half.
//! In: an image that was aged, and what is known of it. Out: [`AgedImage`]s by key, and copies of them.
//! An image counts only once its description stands beside it, which is written last; whoever writes holds the folder's lock.

use crate::error::LabError;
use crate::image::in_words;
use host::{Command, Journal};
use records::AgedState;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long copying an image may take.
const COPY_LIMIT: Duration = Duration::from_secs(6 * 3600);

/// Version of descriptions and hashes; images of another one are made anew.
const VERSION: u32 = 1;

/// What is hashed at once: pieces of zeros count as holes, so that a copy may lie differently and be equal.
const PIECE: usize = 64 << 10;

/// What a hole reads as.
static ZEROS: [u8; PIECE] = [0; PIECE];

/// Descriptions that are read at most.
const IMAGES_LIMIT: usize = 10_000;

/// Where aged images are kept, and how much room they may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgedCache {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes on its disk at most; the one in use stays, however large it is.
    pub limit: u64,
}

/// An aged image, as its description tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgedImage {
    version: u32,
    /// What it was made of, as a hash: filesystem, options, versions, history, size.
    pub key: String,
    /// What it is, in words.
    pub title: String,
    /// Bytes of the image.
    pub bytes: u64,
    /// BLAKE3 of its content, holes left out.
    pub hash: String,
    /// What was found on it.
    pub state: AgedState,
    #[serde(skip)]
    file: PathBuf,
}

impl AgedCache {
    /// The image of this key, if it is there whole.
    pub fn find(&self, key: &str) -> Option<AgedImage> {
        let image = read(&self.description(key))?;
        let whole = image.version == VERSION && image.key == key;
        (whole && image.file.metadata().is_ok_and(|facts| facts.len() == image.bytes)).then_some(image)
    }

    /// All images, the one that was used longest ago first.
    pub fn all(&self) -> Vec<AgedImage> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let descriptions = entries.flatten().map(|entry| entry.path()).filter(|path| has_extension(path, "json"));
        let mut found: Vec<(SystemTime, AgedImage)> = descriptions
            .take(IMAGES_LIMIT)
            .filter_map(|path| {
                let used = path.metadata().and_then(|facts| facts.modified()).ok()?;
                Some((used, read(&path)?))
            })
            .collect();
        found.sort_by_key(|(used, _)| *used);
        found.into_iter().map(|(_, image)| image).collect()
    }

    /// Makes the folder.
    pub(crate) fn make(&self) -> Result<(), LabError> {
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| LabError::file("make the folder of aged images", &self.folder, error))
    }

    /// Takes an image over that lies in this folder under another name, and removes those that are too many.
    pub(crate) fn keep(&self, part: &Path, key: &str, title: &str, state: AgedState) -> Result<AgedImage, LabError> {
        let failed = |doing| move |error: std::io::Error| LabError::file(doing, part, error);
        let source = File::open(part).map_err(failed("open the aged image"))?;
        source.sync_all().map_err(failed("write back the aged image"))?;
        let bytes = source.metadata().map_err(failed("look at the aged image"))?.len();
        let hash = hash(part)?;
        let file = self.folder.join(format!("{key}.img"));
        let image = AgedImage { version: VERSION, key: key.into(), title: title.into(), bytes, hash, state, file };
        let _lock = self.lock()?;
        std::fs::rename(part, &image.file).map_err(failed("rename the aged image"))?;
        sync_folder(&self.folder)?;
        self.describe(&image)?;
        self.evict(key);
        Ok(image)
    }

    fn describe(&self, image: &AgedImage) -> Result<(), LabError> {
        let path = self.description(&image.key);
        let fresh = path.with_extension("new");
        let text = serde_json::to_vec_pretty(image).map_err(|error| LabError::file("describe", &path, error))?;
        let written = std::fs::write(&fresh, text)
            .and_then(|()| File::open(&fresh)?.sync_all())
            .and_then(|()| std::fs::rename(&fresh, &path));
        written.map_err(|error| LabError::file("write the description of an aged image", &path, error))?;
        sync_folder(&self.folder)
    }

    /// Removes images until the limit is kept; not this one.
    fn evict(&self, keep: &str) {
        let all = self.all();
        let mut taken: u64 = all.iter().map(AgedImage::allocated).sum();
        for image in all.iter().filter(|image| image.key != keep) {
            if taken <= self.limit {
                return;
            }
            taken -= image.allocated().min(taken);
            self.remove_unlocked(image);
        }
    }

    /// Removes an image; the description first, so that no image stands there without being whole.
    pub fn remove(&self, image: &AgedImage) -> Result<(), LabError> {
        let _lock = self.lock()?;
        self.remove_unlocked(image);
        Ok(())
    }

    fn remove_unlocked(&self, image: &AgedImage) {
        // What another run has removed already is gone, which is what is wanted.
        let _ = std::fs::remove_file(self.description(&image.key));
        let _ = std::fs::remove_file(&image.file);
    }

    /// Removes images without a description: their run was ended between two steps. Names of what was removed.
    pub fn sweep(&self) -> Vec<String> {
        let (Ok(_lock), Ok(entries)) = (self.lock_if_there(), std::fs::read_dir(&self.folder)) else {
            return Vec::new();
        };
        let is_key = |path: &Path| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            stem.len() == KEY_LENGTH && stem.chars().all(|c| c.is_ascii_hexdigit())
        };
        let half = |path: &PathBuf| {
            is_key(path)
                && (has_extension(path, "new") || (has_extension(path, "img") && !path.with_extension("json").exists()))
        };
        let removed = entries.flatten().map(|entry| entry.path()).filter(half);
        removed
            .filter(|path| std::fs::remove_file(path).is_ok())
            .map(|path| format!("unfinished aged image {}", path.display()))
            .collect()
    }

    /// Copies an image to a file that is not there yet: by reference where the disk can, else what is no hole.
    pub(crate) fn restore_to_file(&self, image: &AgedImage, to: &Path, journal: &Journal) -> Result<(), LabError> {
        let (from, to_text) = (image.file.display().to_string(), to.display().to_string());
        let copy = ["cp", "--reflink=auto", "--sparse=auto", &from, &to_text];
        self.copied(image, &copy, journal)?;
        let sync = Command::new(["sync", "--data", &to_text]).limit(COPY_LIMIT);
        sync.run(journal).map_err(LabError::command(format!("writing back {to_text}")))?;
        self.prove(image, to)
    }

    /// Copies an image to a device: zeros everywhere first (most devices are told so at once), then what is none.
    pub(crate) fn restore_to_device(&self, image: &AgedImage, to: &Path, journal: &Journal) -> Result<(), LabError> {
        let to_text = to.display().to_string();
        let zero = Command::new(["blkdiscard", "--zeroout", &to_text]).limit(COPY_LIMIT);
        zero.run(journal).map_err(LabError::command(format!("emptying {to_text}")))?;
        let words = [
            "dd".to_string(),
            format!("if={}", image.file.display()),
            format!("of={to_text}"),
            "bs=1M".into(),
            "conv=sparse,nocreat,fsync".into(),
            "status=none".into(),
        ];
        self.copied(image, &words.each_ref().map(String::as_str), journal)?;
        self.prove(image, to)
    }

    fn copied(&self, image: &AgedImage, words: &[&str], journal: &Journal) -> Result<(), LabError> {
        // Used just now: the last to be removed. Where the time cannot be set, it only goes earlier.
        let _ = OpenOptions::new()
            .append(true)
            .open(self.description(&image.key))
            .and_then(|file| file.set_modified(SystemTime::now()));
        let copy = Command::new(words.iter().copied()).limit(COPY_LIMIT);
        copy.run(journal).map(|_| ()).map_err(LabError::command(format!("restoring the aged image {}", image.title)))
    }

    /// The copy must be what the image was when it was made.
    fn prove(&self, image: &AgedImage, copy: &Path) -> Result<(), LabError> {
        let found = hash(copy)?;
        forget(&image.file);
        if found == image.hash {
            return Ok(());
        }
        self.remove(image)?;
        let problem = format!(
            "the restored image is not equal to the one that was made: its hash is {found}, and was {}",
            image.hash
        );
        let way = "it was removed from the cache and is made anew next time";
        Err(LabError::failed(&image.title, problem, way, records::Cause::Passing))
    }

    /// Copies an aged device into this folder, what is zero left out.
    pub(crate) fn copy_of_device(
        &self,
        device: &Path,
        part: &Path,
        bytes: u64,
        journal: &Journal,
    ) -> Result<(), LabError> {
        crate::image::fits(&self.folder, bytes)?;
        let part_text = part.display().to_string();
        let words = [
            "dd".to_string(),
            format!("if={}", device.display()),
            format!("of={part_text}"),
            "bs=1M".into(),
            "iflag=direct".into(),
            "conv=sparse,fsync".into(),
            "status=none".into(),
        ];
        let copy = Command::new(words).limit(COPY_LIMIT);
        copy.run(journal).map_err(LabError::command(format!("keeping a copy of {}", device.display())))?;
        // Zeros at the end are skipped, and the file would be too short.
        let size = Command::new(["truncate", "--size", &bytes.to_string(), &part_text]);
        size.run(journal).map(|_| ()).map_err(LabError::command(format!("sizing {part_text}")))
    }

    fn description(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    fn lock(&self) -> Result<File, LabError> {
        self.make()?;
        let path = self.folder.join("lock");
        let locked = OpenOptions::new().create(true).append(true).open(&path).and_then(|file| {
            rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
            Ok(file)
        });
        locked.map_err(|error| LabError::file("lock", &path, error))
    }

    fn lock_if_there(&self) -> Result<File, LabError> {
        if self.folder.is_dir() { self.lock() } else { Err(LabError::file("find", &self.folder, "it is not there")) }
    }
}

impl AgedImage {
    /// Bytes that it takes on its disk.
    pub fn allocated(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().map_or(0, |facts| facts.blocks() * 512)
    }

    /// "ext4 old 80%, 8 GiB".
    pub fn in_words(&self) -> String {
        format!("{}, image of {} ({} on disk)", self.title, in_words(self.bytes), in_words(self.allocated()))
    }
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

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

fn read(description: &Path) -> Option<AgedImage> {
    let mut image: AgedImage = serde_json::from_slice(&std::fs::read(description).ok()?).ok()?;
    image.file = description.with_extension("img");
    Some(image)
}

fn sync_folder(folder: &Path) -> Result<(), LabError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| LabError::file("write back the folder of aged images", folder, error))
}

/// Takes a file's pages out of the page cache, where they would only be in the way.
fn forget(path: &Path) {
    if let Ok(file) = File::open(path) {
        // Advice only.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

/// BLAKE3 of a file or device: of every piece that is not all zeros, with its place.
fn hash(path: &Path) -> Result<String, LabError> {
    let failed = |error: std::io::Error| LabError::file("read back", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0u8; 16 * PIECE];
    let mut at = 0u64;
    while let Some(data) = next_data(&file, at).map_err(failed)? {
        // Pieces have fixed places, so that the same content is cut in the same way wherever its holes are.
        at = data.max(at) / PIECE as u64 * PIECE as u64;
        file.seek(SeekFrom::Start(at)).map_err(failed)?;
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..]).map_err(failed)? {
                0 => break,
                n => filled += n,
            }
        }
        if filled == 0 {
            break;
        }
        for piece in buffer[..filled].chunks(PIECE) {
            if *piece != ZEROS[..piece.len()] {
                hasher.update(&at.to_le_bytes());
                hasher.update(piece);
            }
            at += piece.len() as u64;
        }
    }
    forget(path);
    Ok(hasher.finalize().to_hex().to_string())
}

/// Where the next data are that are no hole; a device has none, and says so by refusing to look for data.
fn next_data(file: &File, from: u64) -> std::io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(data) => Ok(Some(data)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(rustix::io::Errno::INVAL) => Ok(Some(from)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn cache(limit: u64) -> (tempfile::TempDir, AgedCache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = AgedCache { folder: folder.path().into(), limit };
        (folder, cache)
    }

    fn part(cache: &AgedCache, letter: u8, at: u64) -> PathBuf {
        let path = cache.folder.join("bakeoff-0a1b2c3d-1.img");
        let mut file = File::create(&path).expect("made");
        file.set_len(8 << 20).expect("sparse");
        file.seek(SeekFrom::Start(at)).expect("sought");
        file.write_all(&[letter; 200_000]).expect("written");
        path
    }

    fn key(number: u32) -> String {
        format!("{number:032x}")
    }

    #[test]
    fn a_copy_is_proven_equal_and_one_that_is_not_is_refused_and_forgotten() {
        let (folder, cache) = cache(1 << 30);
        let image = cache.keep(&part(&cache, 7, 3 << 20), &key(1), "it", AgedState::default()).expect("kept");
        assert_eq!(cache.find(&key(1)), Some(image.clone()));
        let copy = folder.path().join("copy");
        cache.restore_to_file(&image, &copy, &Journal::new()).expect("restored");
        assert_eq!(std::fs::read(&copy).expect("read"), std::fs::read(&image.file).expect("read"));
        // One byte of the kept image rots.
        let file = OpenOptions::new().write(true).open(&image.file).expect("opened");
        std::os::unix::fs::FileExt::write_all_at(&file, &[8], (3 << 20) + 5).expect("written");
        std::fs::remove_file(&copy).expect("removed");
        let error = cache.restore_to_file(&image, &copy, &Journal::new()).expect_err("it is another");
        assert!(error.to_string().contains("not equal"), "{error}");
        assert_eq!(cache.find(&key(1)), None);
    }

    #[test]
    fn holes_and_zeros_are_the_same_and_place_counts() {
        let (_folder, cache) = cache(1 << 30);
        let sparse = part(&cache, 7, 3 << 20);
        let first = hash(&sparse).expect("hashed");
        let full = cache.folder.join("full");
        std::fs::write(&full, std::fs::read(&sparse).expect("read")).expect("written");
        assert_eq!(hash(&full).expect("hashed"), first);
        assert_ne!(hash(&part(&cache, 7, 4 << 20)).expect("hashed"), first);
        assert_ne!(hash(&part(&cache, 8, 3 << 20)).expect("hashed"), first);
    }

    #[test]
    fn the_limit_is_kept_by_removing_what_was_used_longest_ago() {
        let (_folder, cache) = cache(500_000);
        let soon = || std::thread::sleep(Duration::from_millis(20));
        for number in 1..=2 {
            cache.keep(&part(&cache, number, 0), &key(number.into()), "it", AgedState::default()).expect("kept");
            soon();
        }
        let first = cache.find(&key(1)).expect("there");
        cache.restore_to_file(&first, &cache.folder.join("copy"), &Journal::new()).expect("restored");
        soon();
        cache.keep(&part(&cache, 3, 0), &key(3), "it", AgedState::default()).expect("kept");
        let there: Vec<bool> = (1..=3).map(|number| cache.find(&key(number)).is_some()).collect();
        assert_eq!(there, [true, false, true]);
    }

    #[test]
    fn an_image_without_its_description_is_no_image() {
        let (_folder, cache) = cache(1 << 30);
        let image = cache.keep(&part(&cache, 1, 0), &key(1), "it", AgedState::default()).expect("kept");
        let whole = cache.keep(&part(&cache, 2, 0), &key(2), "it", AgedState::default()).expect("kept");
        std::fs::remove_file(cache.description(&key(1))).expect("removed");
        std::fs::write(cache.folder.join("mine.img"), "of somebody else").expect("written");
        assert_eq!(cache.find(&key(1)), None);
        assert_eq!(cache.sweep().len(), 1);
        assert!(!image.file.exists() && whole.file.exists() && cache.folder.join("mine.img").exists());
        // A description whose image was cut short is none either.
        File::options().write(true).open(&whole.file).expect("opened").set_len(1000).expect("cut");
        assert_eq!(cache.find(&key(2)), None);
    }
}
