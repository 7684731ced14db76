//! Image files and the proof of ownership: a record beside each, with its maker and inode, is locked while the maker is alive.
//! In: an open folder. Out: [`OwnedImage`]s, and the owner of files that were found there ([`Claim`]).
//! Neither is made through a link, and only the very inode that was made is removed.

use crate::ownership::life::{self, Life, Lock, Maker};
use rustix::fs::{AtFlags, FileType, Mode, RawMode, Stat, fchmod, fstat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use system::create::Folder;

/// Version of records.
const VERSION: u32 = 1;

/// Bytes of a record at most.
const RECORD_LIMIT: u64 = 16 << 10;

/// Names that are tried for an image: the first ones may be taken.
const NAMES_LIMIT: u32 = 16;

/// Attempts to read an image and its record until two reads agree.
const LOOKS_LIMIT: u32 = 5;

/// The identity of a file, whatever its name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Device number of its filesystem, which may change at the next boot.
    pub device: u64,
    pub inode: u64,
}

/// Content of the record beside an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    program: String,
    /// Id of the run's cleanup record.
    pub id: String,
    image: String,
    /// None only between the creation of the record and that of the image.
    pub identity: Option<Identity>,
    #[serde(flatten)]
    pub maker: Maker,
}

/// An image that this process made.
#[derive(Debug)]
pub(crate) struct OwnedImage {
    folder: Folder,
    name: String,
    pub file: Arc<File>,
    pub identity: Identity,
    record: File,
}

/// The owner of the image that a record describes.
#[derive(Debug)]
pub(crate) enum Claim {
    /// Of a live run.
    Living,
    /// Of a run that has ended: may be removed, once its lock is taken.
    Left(Record, File),
    /// Not ours to remove; why.
    Foreign(String),
}

/// Name of an image, with the run's id.
pub(crate) fn image_name(id: &str, number: u32) -> String {
    format!("bakeoff-{id}-{number}.img")
}

/// The run's id in the name of an image.
pub(crate) fn id_of_image(name: &str) -> Option<&str> {
    id_of(name.strip_suffix(".img")?)
}

/// The name of the image to which a record of this name belongs.
pub(crate) fn image_of_record(name: &str) -> Option<String> {
    let stem = name.strip_suffix(".owner")?;
    id_of(stem)?;
    Some(format!("{stem}.img"))
}

fn record_name(image: &str) -> String {
    format!("{}.owner", image.strip_suffix(".img").unwrap_or(image))
}

fn id_of(stem: &str) -> Option<&str> {
    let (id, number) = stem.strip_prefix("bakeoff-")?.rsplit_once('-')?;
    let hex = id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit());
    (hex && number.parse::<u32>().is_ok()).then_some(id)
}

/// Finds a free name for image `number` of a run.
pub(crate) fn free_name(folder: &Folder, id: &str, number: u32) -> io::Result<String> {
    let names = (0..NAMES_LIMIT).map(|turn| image_name(id, number.saturating_add(turn * 1_000_000)));
    for name in names {
        if stat(folder, &name)?.is_none() && stat(folder, &record_name(&name))?.is_none() {
            return Ok(name);
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "all possible names for the image are already taken"))
}

impl OwnedImage {
    /// Creates the record, locked from then on, and then an empty image.
    ///
    /// # Errors
    /// A file of that name exists, or an error of the system; then neither exists.
    pub fn create(folder: Folder, name: &str, id: &str, maker: &Maker) -> io::Result<OwnedImage> {
        let record = folder.new_file(record_name(name))?;
        let made = Self::finish(&folder, name, &record, id, maker);
        match made {
            Ok((file, identity)) => {
                Ok(OwnedImage { folder, name: name.into(), file: Arc::new(file), identity, record })
            }
            Err(error) => {
                // The original error matters more than an empty record that could not be removed.
                let _ = folder.remove(record_name(name));
                Err(error)
            }
        }
    }

    fn finish(folder: &Folder, name: &str, record: &File, id: &str, maker: &Maker) -> io::Result<(File, Identity)> {
        // A process that can open it can lock it, and would be taken for the owner.
        fchmod(record, Mode::RUSR | Mode::WUSR)?;
        if life::take(record) == Lock::Held {
            return Err(io::Error::other("another process has locked the record of the image"));
        }
        let mut content = Record {
            version: VERSION,
            program: "bakeoff".into(),
            id: id.into(),
            image: name.into(),
            identity: None,
            maker: maker.clone(),
        };
        write(record, &content)?;
        let file = folder.new_private_file(name)?;
        let facts = fstat(&file)?;
        let identity = identity(&facts);
        content.identity = Some(identity);
        let written = write(record, &content);
        if written.is_err() {
            let _ = folder.remove(name);
        }
        written.map(|()| (file, identity))
    }

    /// Where it was made.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Removes the image, if its name still leads to it. A file that replaced it stays.
    pub fn remove(&self) -> io::Result<()> {
        match stat(&self.folder, &self.name)? {
            Some(facts) if identity(&facts) == self.identity => gone_is_fine(self.folder.remove(&self.name)),
            _ => Ok(()),
        }
    }

    /// Renames the image within its folder; an existing file is never replaced.
    pub fn rename(&self, to: &str) -> io::Result<()> {
        let is_ours = stat(&self.folder, &self.name)?.is_some_and(|facts| identity(&facts) == self.identity);
        if !is_ours {
            return Err(io::Error::new(ErrorKind::NotFound, "it was replaced or removed meanwhile"));
        }
        let handle = self.folder.handle();
        match rustix::fs::renameat_with(handle, &self.name, handle, to, rustix::fs::RenameFlags::NOREPLACE) {
            // Some filesystems do not support the flag.
            Err(Errno::INVAL | Errno::NOSYS) if stat(&self.folder, to)?.is_none() => self.folder.rename(&self.name, to),
            answer => Ok(answer?),
        }
    }

    /// Ends the claim by removing the record. The image was removed, or is kept under another name.
    pub fn release(self) -> io::Result<()> {
        let name = record_name(&self.name);
        let ours = identity(&fstat(&self.record)?);
        match stat(&self.folder, &name)? {
            Some(facts) if identity(&facts) == ours => gone_is_fine(self.folder.remove(&name)),
            _ => Ok(()),
        }
    }
}

/// One write call, so that a kill leaves the old or the new record; it only grows.
fn write(record: &File, content: &Record) -> io::Result<()> {
    record.write_all_at(&serde_json::to_vec_pretty(content)?, 0)?;
    record.sync_data()
}

/// The owner of an image, by the record beside it.
pub(crate) fn claim(folder: &Folder, image: &str) -> Claim {
    match read(folder, image) {
        Ok(Some((record, file))) => {
            let lock = life::probe(&file);
            // A run removes its record before it releases the lock: the free lock of a removed record proves nothing.
            if fstat(&file).is_ok_and(|facts| facts.st_nlink == 0) {
                return Claim::Foreign("its record was just removed".into());
            }
            match record.maker.life(&lock, life::is_local(folder.handle())) {
                Life::Lives => Claim::Living,
                Life::Gone => Claim::Left(record, file),
                Life::Unknown(why) => Claim::Foreign(why),
            }
        }
        Ok(None) => Claim::Foreign("it has no record next to it".into()),
        Err(error) => Claim::Foreign(format!("its record is not usable: {error}")),
    }
}

/// The owner of an image, and its metadata, both of one moment: its run may be making or removing it just now. None if it keeps changing,
/// which only a live run does.
pub(crate) fn look(folder: &Folder, image: &str) -> io::Result<Option<(Claim, Option<Stat>)>> {
    for _ in 0..LOOKS_LIMIT {
        let before = stat(folder, image)?;
        let claim = claim(folder, image);
        let after = stat(folder, image)?;
        if before.as_ref().map(identity) == after.as_ref().map(identity) {
            return Ok(Some((claim, after)));
        }
    }
    Ok(None)
}

/// The record of an image; None if there is none.
pub(crate) fn read(folder: &Folder, image: &str) -> io::Result<Option<(Record, File)>> {
    let name = record_name(image);
    let mut file = match folder.read_file(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let facts = fstat(&file)?;
    if !is_mine(&facts) || facts.st_mode & 0o022 != 0 || facts.st_nlink != 1 {
        return Err(io::Error::other(format!("another user could have written {name}")));
    }
    let mut text = Vec::new();
    Read::by_ref(&mut file).take(RECORD_LIMIT).read_to_end(&mut text)?;
    let record: Record = serde_json::from_slice(&text)?;
    if record.program != "bakeoff" || record.image != image {
        return Err(io::Error::other(format!("{name} describes another file")));
    }
    Ok(Some((record, file)))
}

/// Whether a file that was found is the one that was made, by its metadata without following links.
pub(crate) fn is_the_one(facts: &Stat, made: Option<Identity>, this_boot: bool) -> bool {
    let plain = FileType::from_raw_mode(facts.st_mode as RawMode) == FileType::RegularFile && is_mine(facts);
    match made {
        Some(made) => plain && made.inode == facts.st_ino && (!this_boot || made.device == facts.st_dev),
        // Killed in between: an empty file.
        None => plain && facts.st_size == 0 && facts.st_nlink == 1,
    }
}

/// Whether it belongs to the calling user or to root.
pub(crate) fn is_mine(facts: &Stat) -> bool {
    facts.st_uid == 0 || facts.st_uid == rustix::process::geteuid().as_raw()
}

/// Metadata of a name itself, not of a link's target; None if it does not exist.
pub(crate) fn stat(folder: &Folder, name: &str) -> io::Result<Option<Stat>> {
    match statat(folder.handle(), name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) => Ok(Some(facts)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes the record of an image that is gone.
pub(crate) fn remove_record(folder: &Folder, image: &str) -> io::Result<()> {
    gone_is_fine(folder.remove(record_name(image)))
}

pub(crate) fn identity(facts: &Stat) -> Identity {
    Identity { device: facts.st_dev, inode: facts.st_ino }
}

/// Another process may have removed it first, which is fine.
pub(crate) fn gone_is_fine(answer: io::Result<()>) -> io::Result<()> {
    match answer {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        answer => answer,
    }
}

/// Removes our folder and its known empty subfolders; never what another program put there or mounted.
pub(crate) fn remove_empty(folder: &Path) -> bool {
    let mounted = system::mounts::here().iter().any(|mount| mount.point.starts_with(folder));
    if mounted {
        return false;
    }
    if let Ok(links) = std::fs::read_dir(folder.join("nodes")) {
        for link in links.flatten().filter(|link| link.path().is_symlink()) {
            let _ = std::fs::remove_file(link.path());
        }
    }
    let _ = std::fs::remove_file(folder.join("daemon.log"));
    // Sockets and log of a guest whose run was killed.
    let _ = std::fs::remove_dir_all(folder.join("guest"));
    for name in ["mnt", "nodes", "servers", "raw", "disk"] {
        let _ = std::fs::remove_dir(folder.join(name));
    }
    let _ = std::fs::remove_dir(folder);
    !folder.exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn made(folder: &Path, number: u32) -> OwnedImage {
        let open = Folder::open(folder).expect("there");
        OwnedImage::create(open, &image_name("0a1b2c3d", number), "0a1b2c3d", &Maker::current()).expect("made")
    }

    #[test]
    fn only_names_that_carry_the_mark_are_looked_at() {
        assert_eq!(id_of_image(&image_name("0a1b2c3d", 7)), Some("0a1b2c3d"));
        assert_eq!(image_of_record("bakeoff-0a1b2c3d-7.owner").as_deref(), Some("bakeoff-0a1b2c3d-7.img"));
        for name in ["bakeoff-backup.img", "bakeoff-0a1b2c3d-x.img", "debian-0a1b2c3d-1.img", "bakeoff-zzzzzzzz-1.img"]
        {
            assert_eq!(id_of_image(name), None, "{name}");
        }
    }

    #[test]
    fn an_image_takes_no_name_that_is_there_and_follows_no_link() {
        let place = tempfile::tempdir().expect("a folder");
        let victim = place.path().join("victim");
        std::fs::write(&victim, "precious").expect("written");
        std::os::unix::fs::symlink(&victim, place.path().join("bakeoff-0a1b2c3d-1.img")).expect("linked");
        let open = Folder::open(place.path()).expect("there");
        OwnedImage::create(open, "bakeoff-0a1b2c3d-1.img", "0a1b2c3d", &Maker::current()).expect_err("a link");
        assert!(!place.path().join("bakeoff-0a1b2c3d-1.owner").exists(), "no record of what was not made");
        let open = Folder::open(place.path()).expect("there");
        assert_eq!(free_name(&open, "0a1b2c3d", 1).expect("another"), "bakeoff-0a1b2c3d-1000001.img");
        assert_eq!(std::fs::read_to_string(&victim).expect("there"), "precious");
    }

    #[test]
    fn an_image_lives_as_long_as_its_maker_holds_its_record() {
        let place = tempfile::tempdir().expect("a folder");
        let image = made(place.path(), 1);
        let open = Folder::open(place.path()).expect("there");
        assert!(matches!(claim(&open, "bakeoff-0a1b2c3d-1.img"), Claim::Living));
        image.remove().expect("removed");
        image.release().expect("released");
        assert_eq!(std::fs::read_dir(place.path()).expect("there").count(), 0);
    }

    #[test]
    fn a_record_that_its_maker_has_removed_proves_nothing() {
        let place = tempfile::tempdir().expect("a folder");
        let image = made(place.path(), 1);
        let open = Folder::open(place.path()).expect("there");
        // The view of another container, which cannot see the process.
        let (mut record, file) = read(&open, "bakeoff-0a1b2c3d-1.img").expect("read").expect("there");
        record.maker.pid_namespace = "pid:[1]".into();
        write(&file_to_write(place.path()), &record).expect("written");
        let looked = || look(&open, "bakeoff-0a1b2c3d-1.img").expect("read").expect("it stays");
        assert!(matches!(looked(), (Claim::Living, Some(_))));
        image.remove().expect("removed");
        assert!(matches!(looked(), (Claim::Living, None)), "the record goes last");
        image.release().expect("released");
        assert!(matches!(looked(), (Claim::Foreign(_), None)));
        assert_eq!(life::probe(&file), Lock::Free, "a process that had it open sees a free lock");
    }

    fn file_to_write(folder: &Path) -> File {
        File::options().write(true).truncate(true).open(folder.join("bakeoff-0a1b2c3d-1.owner")).expect("there")
    }

    #[test]
    fn a_file_put_in_the_place_of_an_image_stays() {
        let place = tempfile::tempdir().expect("a folder");
        let image = made(place.path(), 1);
        std::fs::rename(image.path(), place.path().join("moved")).expect("renamed");
        std::fs::write(image.path(), "precious").expect("written");
        image.remove().expect("nothing of ours is there");
        assert!(image.rename("kept.img").is_err());
        assert_eq!(std::fs::read_to_string(image.path()).expect("there"), "precious");
    }

    #[test]
    fn without_a_record_or_with_one_that_others_can_write_an_image_is_not_ours() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a folder");
        let open = Folder::open(place.path()).expect("there");
        std::fs::write(place.path().join("bakeoff-0a1b2c3d-1.img"), "theirs").expect("written");
        assert!(matches!(claim(&open, "bakeoff-0a1b2c3d-1.img"), Claim::Foreign(_)));
        drop(made(place.path(), 2));
        let record = place.path().join("bakeoff-0a1b2c3d-2.owner");
        std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o666)).expect("changed");
        assert!(matches!(claim(&open, "bakeoff-0a1b2c3d-2.img"), Claim::Foreign(_)));
        std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o600)).expect("changed");
        std::fs::write(&record, "{ not json").expect("written");
        assert!(matches!(claim(&open, "bakeoff-0a1b2c3d-2.img"), Claim::Foreign(_)));
    }
}
