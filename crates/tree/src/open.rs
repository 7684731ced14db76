//! Opens directories and files below a folder, and nothing outside it.
//! In: the folder, a path below it. Out: descriptors for reading. No symbolic link is followed, at no place of the path, so that a link that
//! replaces a directory meanwhile leads nowhere; reading leaves no trace in access times if the system permits that.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// The folder that is scanned.
pub struct Folder {
    root: OwnedFd,
    resolve: ResolveFlags,
}

impl Folder {
    /// A folder; other filesystems mounted below it are entered only if asked.
    pub fn new(root: OwnedFd, cross_mounts: bool) -> Folder {
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Folder { root, resolve: if cross_mounts { within } else { within | ResolveFlags::NO_XDEV } }
    }

    /// A directory below the folder; empty for itself. [`Errno::XDEV`]: another filesystem is mounted there.
    pub fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        self.open(if path.is_empty() { b"." } else { path }, OFlags::DIRECTORY)
    }

    /// A file below the folder. A FIFO is not waited for.
    pub fn file(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        self.open(path, OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        // Access times stay as they are; only the owner of a file and root may ask for that.
        match self.open_with(path, flags | OFlags::NOATIME) {
            Err(Errno::PERM) => self.open_with(path, flags),
            answer => answer,
        }
    }

    fn open_with(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        match openat2(self.root.as_fd(), path, flags, Mode::empty(), self.resolve) {
            // Before Linux 5.6, or where a sandbox hides the call: only the last component is protected.
            Err(Errno::NOSYS) => openat(self.root.as_fd(), path, flags, Mode::empty()),
            answer => answer,
        }
    }
}
