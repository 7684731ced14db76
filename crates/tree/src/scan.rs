//! The scan: every directory once, in bounded time and memory.
//! In: a folder and limits. Out: a [`Profile`]. Directories are read one at a time from a list of known ones, so that depth costs no
//! descriptors; entries are inspected by name in their open directory.

use crate::open::Folder;
use crate::profile::Profile;
use crate::sampled;
use crate::samples::Samples;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Stat, statat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Deepest level whose directories are kept apart.
pub const DEEPEST_LEVEL: usize = 40;
/// Files with several names that are remembered, 16 bytes each.
const LINKED_FILES: usize = 2_000_000;
/// Bytes of paths of directories that are known and not yet read.
const KNOWN_BYTES: usize = 256 << 20;
/// Share of the time for the scan itself; the rest is for samples.
const SCAN_SHARE: f64 = 0.75;
/// Entries between two looks at the clock.
const CLOCK_ENTRIES: u64 = 1_024;
/// Bytes of a block in `stat`.
const BLOCK: u64 = 512;
/// Bytes that a file may occupy less than its size without a hole: a small one within its inode, a last block that is shared.
const HOLE: u64 = 4_096;

/// Limits of a scan.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most regular files.
    pub files: u64,
    /// Longest duration.
    pub time: Duration,
    /// Whether filesystems mounted below the folder belong to the tree.
    pub cross_mounts: bool,
}

/// Why a folder cannot be scanned.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The system refused to open or read it.
    #[error("scanning {path}: {why}")]
    Refused {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        why: std::io::Error,
    },
    /// It is no folder.
    #[error("scanning {0}: it is not a folder")]
    NoFolder(PathBuf),
    /// It is in an interface of the kernel, whose files must not be read for samples.
    #[error("scanning {0}: it is an interface of the kernel, not stored files")]
    OfTheKernel(PathBuf),
    /// No regular file was found.
    #[error("scanning {path}: no files found (directories read: {directories}){hint}; a workload needs at least one")]
    Empty {
        /// The folder.
        path: PathBuf,
        /// Directories that were read.
        directories: u64,
        /// What was left out, if anything.
        hint: String,
    },
}

/// A directory that is known and not yet read.
struct Known {
    path: Box<[u8]>,
    level: usize,
}

struct Scan {
    folder: Folder,
    limits: Limits,
    end: Instant,
    known: Vec<Known>,
    known_bytes: usize,
    linked: HashSet<(u64, u64)>,
    entries: u64,
    files: u64,
    profile: Profile,
    samples: Samples,
}

/// Scans a folder. A symbolic link to a folder is followed, those below it are not.
///
/// # Errors
/// [`ScanError`]; what cannot be read below the folder is no error, and is counted in [`Profile::left_out`].
pub fn scan(path: &Path, limits: &Limits) -> Result<Profile, ScanError> {
    let begin = Instant::now();
    let refused = |why: std::io::Error| ScanError::Refused { path: path.to_owned(), why };
    if !std::fs::metadata(path).map_err(refused)?.is_dir() {
        return Err(ScanError::NoFolder(path.to_owned()));
    }
    let root: OwnedFd = std::fs::File::open(path).map_err(refused)?.into();
    if system::input::is_of_the_kernel(root.as_fd()).map_err(refused)? {
        return Err(ScanError::OfTheKernel(path.to_owned()));
    }
    let mut scan = Scan {
        folder: Folder::new(root, limits.cross_mounts),
        limits: *limits,
        end: begin + limits.time.mul_f64(SCAN_SHARE),
        known: vec![Known { path: Box::default(), level: 0 }],
        known_bytes: 0,
        linked: HashSet::new(),
        entries: 0,
        files: 0,
        profile: Profile::default(),
        samples: Samples::new(),
    };
    scan.run();
    let Scan { folder, mut profile, samples, .. } = scan;
    if profile.files() == 0 {
        let directories = profile.directories();
        let first = profile.left_out.first_unreadable;
        let hint = first.map_or(String::new(), |first| format!(" (unreadable: {first})"));
        return Err(ScanError::Empty { path: path.to_owned(), directories, hint });
    }
    profile.duration = begin.elapsed();
    sampled::inspect(&folder, samples, begin + limits.time, &mut profile);
    profile.sampling = begin.elapsed() - profile.duration;
    Ok(profile)
}

impl Scan {
    fn run(&mut self) {
        while let Some(next) = self.known.pop() {
            self.known_bytes -= next.path.len();
            if let Err(errno) = self.directory(&next) {
                let left_out = &mut self.profile.left_out;
                match errno {
                    Errno::XDEV => left_out.other_filesystems += 1,
                    Errno::NOENT | Errno::NOTDIR | Errno::LOOP => left_out.vanished += 1,
                    errno => {
                        left_out.unreadable += 1;
                        let shown = || format!("{}: {errno}", String::from_utf8_lossy(&next.path));
                        left_out.first_unreadable.get_or_insert_with(shown);
                    }
                }
            }
            if self.profile.left_out.limit.is_some() {
                self.profile.left_out.unread += self.known.len() as u64;
                return;
            }
        }
    }

    fn directory(&mut self, at: &Known) -> Result<(), Errno> {
        let directory = self.folder.directory(&at.path)?;
        let mut files = 0;
        let mut answer = Ok(());
        for entry in Dir::read_from(&directory)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    answer = Err(errno);
                    break;
                }
            };
            files += u64::from(self.entry(at, &directory, &entry));
            if self.is_over() {
                break;
            }
        }
        let level = at.level.min(DEEPEST_LEVEL);
        self.profile.too_deep += u64::from(at.level > DEEPEST_LEVEL);
        let levels = &mut self.profile.levels;
        levels.resize(levels.len().max(level + 1), crate::Histogram::default());
        levels[level].add(files);
        self.profile.file_levels.add_many(level as u64, files);
        answer
    }

    /// Whether a limit is reached.
    fn is_over(&mut self) -> bool {
        self.entries += 1;
        let left_out = &mut self.profile.left_out;
        if self.files >= self.limits.files {
            left_out.limit = Some("files");
        } else if self.entries.is_multiple_of(CLOCK_ENTRIES) && Instant::now() >= self.end {
            left_out.limit = Some("time");
        }
        left_out.limit.is_some()
    }

    /// Counts an entry; true if it is a file that was not found before.
    fn entry(&mut self, at: &Known, directory: &OwnedFd, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            return false;
        }
        let mut kind = entry.file_type();
        let mut status = None;
        if matches!(kind, FileType::RegularFile | FileType::Unknown) {
            match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => {
                    kind = FileType::from_raw_mode(found.st_mode);
                    status = Some(found);
                }
                Err(_) => {
                    self.profile.left_out.vanished += 1;
                    return false;
                }
            }
        }
        match (kind, status) {
            (FileType::RegularFile, Some(status)) => return self.file(at, name.to_bytes(), &status),
            (FileType::Directory, _) => self.subdirectory(at, name.to_bytes()),
            (FileType::Symlink, _) => self.profile.symbolic_links += 1,
            _ => self.profile.special += 1,
        }
        false
    }

    fn subdirectory(&mut self, at: &Known, name: &[u8]) {
        let path = joined(&at.path, name);
        if self.known_bytes + path.len() > KNOWN_BYTES {
            self.profile.left_out.unread += 1;
            return;
        }
        self.known_bytes += path.len();
        self.known.push(Known { path, level: at.level + 1 });
    }

    fn file(&mut self, at: &Known, name: &[u8], status: &Stat) -> bool {
        if status.st_nlink > 1 {
            let identity = (status.st_dev, status.st_ino);
            if self.linked.contains(&identity) {
                self.profile.further_names += 1;
                return false;
            }
            if self.linked.len() < LINKED_FILES {
                self.linked.insert(identity);
            } else {
                self.profile.left_out.untracked_names += 1;
            }
        }
        let bytes = u64::try_from(status.st_size).unwrap_or(0);
        let allocated = u64::try_from(status.st_blocks).unwrap_or(0) * BLOCK;
        self.profile.allocated += allocated;
        self.profile.sparse += u64::from(allocated + HOLE <= bytes);
        self.files += 1;
        self.profile.sizes.add(bytes);
        self.profile.names.add(name.len() as u64);
        self.samples.add(bytes, || joined(&at.path, name));
        true
    }
}

fn joined(path: &[u8], name: &[u8]) -> Box<[u8]> {
    if path.is_empty() { name.into() } else { [path, name].join(&b'/').into() }
}
