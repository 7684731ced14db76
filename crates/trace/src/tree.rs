//! The folder before a recording: names, kinds, sizes, modes; no contents.
//! In: a folder. Out: its entries, parents first, hard links marked as such.

use crate::trace::{ENTRIES_LIMIT, Entry, EntryKind};
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// All entries below a folder.
///
/// # Errors
/// It cannot be read, or has more than [`ENTRIES_LIMIT`] entries.
pub fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut linked: HashMap<(u64, u64), String> = HashMap::new();
    let mut left = vec![String::new()];
    while let Some(inner) = left.pop() {
        let mut listed: Vec<_> = std::fs::read_dir(folder.join(&inner))?.collect::<io::Result<_>>()?;
        listed.sort_by_key(std::fs::DirEntry::file_name);
        for one in listed {
            let name = one.file_name().to_string_lossy().into_owned();
            let path = if inner.is_empty() { name } else { format!("{inner}/{name}") };
            let metadata = one.metadata()?;
            let kind = if metadata.is_dir() {
                left.push(path.clone());
                EntryKind::Folder
            } else if metadata.is_symlink() {
                EntryKind::Symlink(std::fs::read_link(one.path())?.to_string_lossy().into_owned())
            } else if metadata.is_file() {
                let earlier =
                    (metadata.nlink() > 1).then(|| linked.insert((metadata.dev(), metadata.ino()), path.clone()));
                earlier.flatten().map_or(EntryKind::File(metadata.len()), EntryKind::Link)
            } else {
                // Sockets, pipes and devices are not part of the measured work.
                continue;
            };
            entries.push(Entry { path, mode: metadata.mode() & 0o7777, kind });
            if entries.len() > ENTRIES_LIMIT {
                return Err(io::Error::other(format!("more than {ENTRIES_LIMIT} files and folders")));
            }
        }
    }
    Ok(entries)
}
