//! Creates files and folders without following other users' links.
//! In: a path or an open folder, and bytes. Out: new files, atomically replaced files, folders; existing data is never truncated.
//! Links within a path are followed only if root, the caller or the user behind sudo owns them; the last component never is.

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::way::{FOLDER_MODE, refused, walk};
pub use crate::way::{resolved, split};

/// Temporary names that are tried for a file.
const FRESH_NAMES_LIMIT: u32 = 100;

/// Names that are listed of one folder.
const NAMES_LIMIT: usize = 100_000;

const FILE_MODE: Mode = Mode::from_raw_mode(0o644);

/// Mode of files that only their owner can open.
const PRIVATE_MODE: Mode = Mode::from_raw_mode(0o600);

/// An open folder: files go into it even if folders above it are later renamed or linked.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder that exists.
    ///
    /// # Errors
    /// It is missing, is not a folder, is itself a symbolic link, or is behind a link of another user.
    pub fn open(path: &Path) -> io::Result<Folder> {
        Self::reach(path, false)
    }

    /// Opens a folder and creates it, and those above it, where they are missing.
    ///
    /// # Errors
    /// As [`Folder::open`], and the system's error when creating one.
    pub fn make(path: &Path) -> io::Result<Folder> {
        Self::reach(path, true)
    }

    /// Creates a folder that must not exist yet; those above it must.
    ///
    /// # Errors
    /// The name exists, or the folder above it cannot be used.
    pub fn make_new(path: &Path) -> io::Result<Folder> {
        let (above, name) = split(path)?;
        let above = Folder::open(&above)?;
        fs::mkdirat(&above.handle, &name, FOLDER_MODE)?;
        above.folder(&name)
    }

    fn reach(path: &Path, make: bool) -> io::Result<Folder> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(is_link(path));
        }
        let way = walk(path, make)?;
        // The walk ends in an O_PATH descriptor; listing and creating need an open folder.
        let handle = fs::openat(&way, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Folder { handle, path: path.to_owned() })
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open folder, for other calls of the caller.
    pub fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// A folder in this one, created where it is missing.
    ///
    /// # Errors
    /// A name that leads elsewhere, something else of that name (a link too), or the system's error.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        let name = plain(name.as_ref())?;
        let path = self.path.join(name);
        match fs::mkdirat(&self.handle, name, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle =
            fs::openat(&self.handle, name, flags, Mode::empty()).map_err(|error| self.explained(name, error))?;
        Ok(Folder { handle, path })
    }

    /// A new file for reading and writing; the name must not exist, not even as a dangling link.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`], a name that leads elsewhere, or the system's error.
    pub fn new_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.new_with_mode(name.as_ref(), FILE_MODE)
    }

    /// As [`Folder::new_file`], with mode 0600 from creation on: other users can never open it.
    ///
    /// # Errors
    /// As [`Folder::new_file`].
    pub fn new_private_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.new_with_mode(name.as_ref(), PRIVATE_MODE)
    }

    fn new_with_mode(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(fs::openat(&self.handle, plain(name)?, flags, mode)?))
    }

    /// A file that is read and written in place (a lock, a log in append mode); created where it is missing, never truncated.
    ///
    /// # Errors
    /// A symbolic link, a file with a second name, anything but a regular file, or the system's error.
    pub fn kept_file(&self, name: impl AsRef<OsStr>, append: bool) -> io::Result<File> {
        let name = plain(name.as_ref())?;
        let mut last = match self.new_file(name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => error,
            answer => return answer,
        };
        let more = if append { OFlags::APPEND } else { OFlags::empty() };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
        // The file may be removed between the two calls; then it is created after all.
        for _ in 0..2 {
            match fs::openat(&self.handle, name, flags, Mode::empty()) {
                Ok(file) => return own_plain_file(file, &self.path.join(name)),
                Err(Errno::NOENT) => match self.new_file(name) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
                    answer => return answer,
                },
                Err(error) => return Err(self.explained(name, error)),
            }
        }
        Err(last)
    }

    /// Replaces a file atomically: readers see the old file or the new one. The previous entry of that name is removed; a link itself, not
    /// its target. The caller must know that it may be removed.
    ///
    /// # Errors
    /// A name that leads elsewhere, a folder of that name, or the system's error; then the old entry is still there.
    pub fn replace(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> io::Result<()> {
        self.put(plain(name.as_ref())?, bytes, false)
    }

    /// As [`Folder::replace`], and durable when this returns.
    ///
    /// # Errors
    /// As [`Folder::replace`].
    pub fn replace_durably(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> io::Result<()> {
        self.put(plain(name.as_ref())?, bytes, true)?;
        Ok(fs::fsync(&self.handle)?)
    }

    fn put(&self, name: &OsStr, bytes: &[u8], durable: bool) -> io::Result<()> {
        let (fresh, mut file) = self.fresh(name)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| if durable { file.sync_all() } else { Ok(()) })
            .and_then(|()| Ok(fs::renameat(&self.handle, &fresh, &self.handle, name)?));
        if written.is_err() {
            // The reported error matters more than a fragment that could not be removed.
            let _ = self.remove(&fresh);
        }
        written
    }

    /// A new file under a temporary name, which no other process has open.
    fn fresh(&self, name: &OsStr) -> io::Result<(OsString, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mut last = io::Error::from(ErrorKind::AlreadyExists);
        for _ in 0..FRESH_NAMES_LIMIT {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            // Names have at most 255 bytes, and the old one may use them all.
            let start = &name.as_bytes()[..name.len().min(200)];
            let mut fresh = OsString::from(".");
            fresh.push(OsStr::from_bytes(start));
            fresh.push(format!(".{}-{count}.new", std::process::id()));
            match self.new_file(&fresh) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
                answer => return answer.map(|file| (fresh, file)),
            }
        }
        Err(last)
    }

    /// Opens a regular file of this folder for reading; never waits for the other end of a FIFO.
    ///
    /// # Errors
    /// It is missing, is a link, is not a regular file, or the system's error.
    pub fn read_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = plain(name.as_ref())?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(&self.handle, name, flags, Mode::empty()).map_err(|error| self.explained(name, error))?;
        plain_file(file, &self.path.join(name))
    }

    /// Renames a file within this folder; an existing file of the new name is replaced.
    ///
    /// # Errors
    /// A name that leads elsewhere, or the system's error.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::renameat(&self.handle, plain(from.as_ref())?, &self.handle, plain(to.as_ref())?)?)
    }

    /// Removes an entry of this folder that is not a folder; a link itself, never its target.
    ///
    /// # Errors
    /// A name that leads elsewhere, or the system's error.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::unlinkat(&self.handle, plain(name.as_ref())?, AtFlags::empty())?)
    }

    /// Names in this folder, unordered; 100,000 at most.
    ///
    /// # Errors
    /// The system's error.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.handle)?.take(NAMES_LIMIT) {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// A clear text where the system's own error would be confusing.
    fn explained(&self, name: &OsStr, error: Errno) -> io::Error {
        let path = self.path.join(name);
        let link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if link && matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::MLINK) { is_link(&path) } else { error.into() }
    }
}

/// A new file by its path: [`Folder::new_file`].
///
/// # Errors
/// As there, and of the folder above it.
pub fn new_file(path: &Path) -> io::Result<File> {
    let (folder, name) = split(path)?;
    Folder::open(&folder)?.new_file(name)
}

/// A file that is kept and written in place, by its path: [`Folder::kept_file`].
///
/// # Errors
/// As there, and of the folder above it.
pub fn kept_file(path: &Path, append: bool) -> io::Result<File> {
    let (folder, name) = split(path)?;
    Folder::open(&folder)?.kept_file(name, append)
}

/// Replaces a file atomically, by its path: [`Folder::replace_durably`].
///
/// # Errors
/// As there, and of the folder above it.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = split(path)?;
    Folder::open(&folder)?.replace_durably(name, bytes)
}

/// Accepts only a name that stays in its folder.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(refused(format!("{} is not the name of one file", name.display()))),
    }
}

fn plain_file(file: OwnedFd, path: &Path) -> io::Result<File> {
    let found = fs::fstat(file.as_fd())?;
    if FileType::from_raw_mode(found.st_mode as RawMode) != FileType::RegularFile {
        return Err(refused(format!("{} is not a regular file", path.display())));
    }
    Ok(File::from(file))
}

/// A file whose only name is the requested one: a second name could belong to another user.
fn own_plain_file(file: OwnedFd, path: &Path) -> io::Result<File> {
    let file = plain_file(file, path)?;
    let names = fs::fstat(file.as_fd())?.st_nlink;
    if names > 1 {
        return Err(refused(format!("{} is a hard link: the file has {names} names", path.display())));
    }
    Ok(file)
}

fn is_link(path: &Path) -> io::Error {
    refused(format!("{} is a symbolic link, which is not followed", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn place() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn a_new_file_takes_no_name_that_is_there_not_even_a_link_that_leads_nowhere() {
        let place = place();
        let path = place.path().join("new");
        new_file(&path).expect("nothing is there");
        assert_eq!(new_file(&path).expect_err("it is there").kind(), ErrorKind::AlreadyExists);
        let victim = place.path().join("victim");
        symlink(&victim, place.path().join("link")).expect("linked");
        new_file(&place.path().join("link")).expect_err("a link");
        assert!(!victim.exists());
    }

    #[test]
    fn a_kept_file_is_neither_truncated_nor_reached_through_links() {
        let place = place();
        let (victim, soft, hard) = (place.path().join("victim"), place.path().join("soft"), place.path().join("hard"));
        std::fs::write(&victim, "precious").expect("written");
        symlink(&victim, &soft).expect("linked");
        let error = kept_file(&soft, true).expect_err("a link");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        std::fs::hard_link(&victim, &hard).expect("linked");
        assert!(kept_file(&hard, true).expect_err("two names").to_string().contains("hard link"));
        std::fs::remove_file(&hard).expect("removed");
        kept_file(&victim, true).expect("a plain file").write_all(b" data").expect("appended");
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "precious data");
    }

    #[test]
    fn a_private_file_is_private_from_its_creation_on() {
        use std::os::unix::fs::PermissionsExt;
        let place = place();
        let file = Folder::open(place.path()).expect("there").new_private_file("private").expect("made");
        assert_eq!(file.metadata().expect("open").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_fifo_is_refused_at_once() {
        let place = place();
        fs::mknodat(fs::CWD, place.path().join("fifo"), FileType::Fifo, FILE_MODE, 0).expect("made");
        let folder = Folder::open(place.path()).expect("there");
        for error in [folder.kept_file("fifo", false).err(), folder.read_file("fifo").err()] {
            assert!(error.expect("refused").to_string().contains("not a regular file"));
        }
    }

    #[test]
    fn replacing_takes_a_link_away_and_leaves_what_it_led_to() {
        let place = place();
        let (victim, link) = (place.path().join("victim"), place.path().join("link"));
        std::fs::write(&victim, "precious").expect("written");
        symlink(&victim, &link).expect("linked");
        replace(&link, b"ours").expect("replaced");
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "precious");
        assert_eq!(std::fs::read_to_string(&link).expect("read"), "ours");
        assert!(!link.is_symlink());
        let mut names = Folder::open(place.path()).expect("there").names().expect("listed");
        names.sort();
        assert_eq!(names, ["link", "victim"], "nothing else stays behind");
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_file_and_no_fragment() {
        let place = place();
        std::fs::create_dir(place.path().join("folder")).expect("made");
        let folder = Folder::open(place.path()).expect("there");
        folder.replace("folder", b"x").expect_err("a folder is there");
        assert_eq!(folder.names().expect("listed"), ["folder"]);
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_written_into() {
        let place = place();
        let (real, link) = (place.path().join("real"), place.path().join("link"));
        std::fs::create_dir(&real).expect("made");
        symlink(&real, &link).expect("linked");
        assert!(Folder::make(&link).expect_err("a link").to_string().contains("symbolic link"));
        let folder = Folder::open(place.path()).expect("there");
        assert!(folder.folder("link").expect_err("a link").to_string().contains("symbolic link"));
    }

    #[test]
    fn ones_own_link_on_the_way_is_followed_and_a_strangers_is_not() {
        let place = place();
        let (real, link) = (place.path().join("real"), place.path().join("link"));
        std::fs::create_dir(&real).expect("made");
        symlink(&real, &link).expect("linked");
        Folder::make(&link.join("a/b")).expect("one's own link").new_file("file").expect("made");
        assert!(real.join("a/b/file").is_file());
        if !rustix::process::geteuid().is_root() {
            return;
        }
        std::os::unix::fs::lchown(&link, Some(54321), None).expect("given away");
        let error = Folder::make(&link.join("a/c")).expect_err("a stranger's link").to_string();
        assert!(error.contains("symbolic link owned by user 54321"), "{error}");
        assert!(!real.join("a/c").exists());
    }

    #[test]
    fn names_stay_in_their_folder() {
        let place = place();
        let folder = Folder::make(&place.path().join("a/b/")).expect("made");
        for name in ["../x", "..", ".", "", "/x", "x/", "x/y"] {
            folder.replace(name, b"").expect_err(name);
            folder.folder(name).expect_err(name);
        }
        assert!(folder.names().expect("listed").is_empty());
    }

    #[test]
    fn an_open_folder_stays_the_same_when_its_name_is_given_to_another() {
        let place = place();
        let (ours, moved) = (place.path().join("ours"), place.path().join("moved"));
        let folder = Folder::make_new(&ours).expect("made");
        std::fs::rename(&ours, &moved).expect("renamed");
        symlink("/nowhere", &ours).expect("linked");
        folder.replace_durably("file", b"x").expect("written");
        assert!(moved.join("file").is_file());
    }
}
