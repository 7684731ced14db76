//! The layout and identity of the files below a directory: counted, summed and folded into one hash.
//! In: `workload::ageing::Survey`. Out: `workload::ageing::Layout`.
//! Directories are walked one after the other; nothing is stored per file.

use crate::dirs::{Kind, Listing};
use crate::extents;
use crate::hash::{mix, mix_bytes};
use crate::region::Buffer;
use crate::sys::{self, Errno, Fd};
use std::ffi::CString;
use std::os::fd::AsRawFd;
use workload::ageing::{Layout, Survey};

/// Bytes of a block, the unit of scores.
const BLOCK: u64 = 4096;

/// Most nested directories.
const DEPTH: usize = 256;

/// Bytes of one read.
const CHUNK: usize = 1 << 20;

/// Sums over files of more than one block.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scores {
    files: u64,
    pieces: u64,
    whole: u64,
    /// Blocks that follow another, and those of them that are adjacent to it on the device.
    following: u64,
    well: u64,
    file_scores: f64,
}

impl Scores {
    /// Adds a file of this many bytes in this many pieces.
    pub fn add(&mut self, bytes: u64, pieces: u64) {
        let blocks = bytes.div_ceil(BLOCK);
        if blocks < 2 || pieces == 0 {
            return;
        }
        let following = blocks - 1;
        let well = following - (pieces - 1).min(following);
        self.files += 1;
        self.pieces += pieces;
        self.whole += u64::from(pieces == 1);
        self.following += following;
        self.well += well;
        self.file_scores += well as f64 / following as f64;
    }

    /// Extents per file; None if no file has more than one block.
    pub fn extents_per_file(&self) -> Option<f64> {
        (self.files > 0).then(|| self.pieces as f64 / self.files as f64)
    }
}

/// Surveys a directory.
pub fn survey(asked: &Survey) -> Result<Layout, String> {
    let root = sys::open_root(&asked.root)?;
    let buffer = if asked.content { CHUNK } else { 1 };
    let buffer = Buffer::new(buffer).map_err(|e| format!("no memory to read files into: {e}"))?;
    let one_of = asked.expected.div_ceil(asked.sample.max(1)).max(1);
    let layout = Layout { one_of, ..Layout::default() };
    let mut walk = Walk { asked, layout, scores: Scores::default(), buffer };
    walk.directory(root.as_raw_fd(), 0, 0)
        .map_err(|(path, e)| format!("inspecting {}/{path}: {e}", asked.root.display()))?;
    Ok(walk.finish())
}

struct Walk<'a> {
    asked: &'a Survey,
    layout: Layout,
    scores: Scores,
    buffer: Buffer,
}

/// What failed, and where below the root.
type Trouble = (String, Errno);

impl Walk<'_> {
    /// Walks one directory, whose path has this hash, and all below it.
    fn directory(&mut self, fd: Fd, path: u64, depth: usize) -> Result<(), Trouble> {
        let mut listing = Listing::new();
        let mut below: Vec<CString> = Vec::new();
        while listing.fetch(fd).map_err(|e| (String::new(), e))? {
            while let Some((name, kind)) = listing.next() {
                let hash = mix(path ^ mix_bytes(name.to_bytes()));
                let trouble = |e| (name.to_string_lossy().into_owned(), e);
                let status = sys::stat(fd, name).map_err(trouble)?;
                match status.mode & libc::S_IFMT {
                    libc::S_IFDIR if kind != Kind::Other => {
                        self.layout.directories += 1;
                        self.fold(mix(hash ^ 0xd1));
                        below.push(name.to_owned());
                    }
                    libc::S_IFREG => {
                        self.layout.files += 1;
                        self.layout.bytes += status.size;
                        self.layout.allocated += status.allocated;
                        let content = self.file(fd, name, hash, status.size).map_err(trouble)?;
                        self.fold(mix(hash ^ mix(status.size ^ content)));
                    }
                    // Links and other types, as in a git history: by name alone.
                    _ => self.fold(mix(hash ^ 0x11)),
                }
            }
        }
        if depth >= DEPTH && !below.is_empty() {
            return Err((format!("more than {DEPTH} nested directories"), Errno::LOOP));
        }
        for name in below {
            let inside = |(path, e): Trouble| (format!("{}/{path}", name.to_string_lossy()), e);
            let child = sys::open_directory(fd, &name).map_err(|e| inside((String::new(), e)))?;
            let answer = self.directory(child, mix(path ^ mix_bytes(name.to_bytes())), depth + 1);
            let _ = sys::close(child);
            answer.map_err(inside)?;
        }
        Ok(())
    }

    fn fold(&mut self, what: u64) {
        self.layout.tree_hash = self.layout.tree_hash.wrapping_add(what);
    }

    /// Reads extents and content of a file, as far as requested; returns a hash of its content, or 0.
    fn file(&mut self, directory: Fd, name: &std::ffi::CStr, hash: u64, size: u64) -> Result<u64, Errno> {
        let sampled = self.layout.no_extents.is_none()
            && size > BLOCK
            && (self.layout.one_of == 1 || hash.is_multiple_of(self.layout.one_of));
        if !sampled && !self.asked.content {
            return Ok(0);
        }
        let fd = sys::open(directory, name, libc::O_RDONLY, 0)?;
        if sampled {
            match extents::of(fd) {
                Ok(found) => self.scores.add(size, found.pieces),
                Err(e) => {
                    self.layout.no_extents = Some(format!("the filesystem does not report extents (FIEMAP: {e})"))
                }
            }
        }
        let content = if self.asked.content { self.content(fd) } else { Ok(0) };
        let _ = sys::close(fd);
        content
    }

    fn content(&mut self, fd: Fd) -> Result<u64, Errno> {
        let mut hash = 0x63;
        loop {
            let mut filled = 0;
            while filled < self.buffer.len() {
                match sys::read(fd, &mut self.buffer[filled..])? {
                    0 => break,
                    n => filled += n,
                }
            }
            hash = mix(hash ^ mix_bytes(&self.buffer[..filled]));
            if filled < self.buffer.len() {
                return Ok(hash);
            }
        }
    }

    fn finish(self) -> Layout {
        let scores = self.scores;
        let known = scores.files > 0 && self.layout.no_extents.is_none();
        let share = |part: u64, of: u64| (known && of > 0).then(|| part as f64 / of as f64);
        Layout {
            sampled: if known { scores.files } else { 0 },
            extents_per_file: scores.extents_per_file().filter(|_| known),
            in_one_piece: share(scores.whole, scores.files),
            layout_score: share(scores.well, scores.following),
            mean_file_score: known.then(|| scores.file_scores / scores.files as f64),
            ..self.layout
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_counts_blocks_that_follow_each_other() {
        let mut scores = Scores::default();
        scores.add(4096, 1);
        assert_eq!(scores.extents_per_file(), None, "a single block follows nothing");
        // Eleven blocks in three pieces: eight of ten blocks follow the block before.
        scores.add(11 * 4096, 3);
        assert_eq!((scores.well, scores.following, scores.whole), (8, 10, 0));
        scores.add(2 * 4096, 1);
        assert_eq!((scores.well, scores.following, scores.whole), (9, 11, 1));
    }

    #[test]
    fn the_hash_knows_names_sizes_and_content_and_no_order() {
        let make = |names: &[(&str, &[u8])]| {
            let folder = tempfile::tempdir().expect("a folder");
            for (name, content) in names {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
                std::fs::write(path, content).expect("written");
            }
            let asked = Survey { root: folder.path().into(), sample: 100, expected: 0, content: true };
            survey(&asked).expect("it can be looked at")
        };
        let first = make(&[("a/x", b"one"), ("b", b"two")]);
        assert_eq!((first.files, first.directories, first.bytes), (2, 1, 6));
        assert_eq!(make(&[("b", b"two"), ("a/x", b"one")]).tree_hash, first.tree_hash);
        for other in
            [[("a/y", b"one"), ("b", b"two")], [("a/x", b"one"), ("b", b"twp")], [("x", b"one"), ("b", b"two")]]
        {
            let other: Vec<(&str, &[u8])> = other.iter().map(|(name, text)| (*name, text.as_slice())).collect();
            assert_ne!(make(&other).tree_hash, first.tree_hash);
        }
    }
}
