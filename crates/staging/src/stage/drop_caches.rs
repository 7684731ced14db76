//! Emptying caches before a cold start.
//! In: a stage's root, and what is allowed. Out: [`Dropped`]: whether all is gone, and what is not.
//! "3" drops pages, dentries and inodes; "1" would leave the latter two. Only clean pages are dropped, so a sync comes first.

use records::{ColdStart, ColdWay};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::{Call, Journal};

/// Limit of files that are advised one by one if the kernel's switch is not allowed.
const FILE_LIMIT: usize = 1_000_000;

/// The result of emptying caches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// Nothing known is left in a cache; otherwise the next phase starts warm and must be marked so.
    pub complete: bool,
    /// What could not be done, in words.
    pub remarks: Vec<String>,
    /// It was unmounted and mounted again.
    pub mounted_anew: bool,
    /// The way that was taken, and what shows it.
    pub start: ColdStart,
}

/// How long dropping may take: with millions of inodes cached elsewhere it takes seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// Drops the kernel's caches; if that is not allowed, as without root, advises the kernel file by file.
pub(crate) fn drop_kernel_caches(root: &Path, journal: &Journal) -> Dropped {
    let refused = if system::process::is_root() {
        match Call::DropCaches.make(LIMIT, journal) {
            Ok(()) => return Dropped { complete: true, start: dropped_start(), ..Dropped::default() },
            Err(error) => error.to_string(),
        }
    } else {
        "dropping the kernel's caches needs root".into()
    };
    let (files, whole) = advise(root);
    let some = if whole { "" } else { ", not all" };
    let advised = format!(
        "{refused}; posix_fadvise dropped the pages of {files} files{some}; names and inodes stay cached: the start is warm"
    );
    Dropped { remarks: vec![advised], start: dropped_start(), ..Dropped::default() }
}

fn dropped_start() -> ColdStart {
    ColdStart { way: ColdWay::Drop, ..ColdStart::default() }
}

/// posix_fadvise(DONTNEED) on every file below a folder. Returns how many, and whether those were all.
fn advise(root: &Path) -> (usize, bool) {
    let mut folders: Vec<PathBuf> = vec![root.into()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                if files == FILE_LIMIT {
                    return (files, false);
                }
                if let Ok(file) = std::fs::File::open(entry.path()) {
                    // The kernel may ignore the advice, so the start counts as warm.
                    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
                    files += 1;
                }
            }
        }
    }
    (files, true)
}
