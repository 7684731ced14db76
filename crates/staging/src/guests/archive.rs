//! The archive that a guest's kernel unpacks as its first root: cpio in the "newc" format.
//! In: folders, files, links and device nodes. Out: the bytes of an initramfs.
//! The format is that of the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Component, Path};

/// Most bytes of one file; the format itself holds 32 bits.
const FILE_LIMIT: usize = 1 << 30;

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive being written.
pub(crate) struct Archive<W: Write> {
    out: W,
    written: usize,
    number: u32,
    known: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    /// An empty one.
    pub fn new(out: W) -> Self {
        Self { out, written: 0, number: 0, known: BTreeSet::new() }
    }

    /// Whether a path is already in it.
    pub fn holds(&self, path: &Path) -> bool {
        self.known.contains(&stored(path))
    }

    /// A folder, and those above it.
    pub fn folder(&mut self, path: &Path) -> io::Result<()> {
        let parts: Vec<&Path> = path.ancestors().filter(|part| !stored(part).is_empty()).collect();
        for part in parts.into_iter().rev() {
            self.entry(part, FOLDER | 0o755, &[], (0, 0))?;
        }
        Ok(())
    }

    /// A file with its content.
    pub fn file(&mut self, path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
        if content.len() > FILE_LIMIT {
            let text = format!("{} is larger than {FILE_LIMIT} bytes", path.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        self.above(path)?;
        self.entry(path, FILE | (mode & 0o7777), content, (0, 0))
    }

    /// A symbolic link.
    pub fn link(&mut self, path: &Path, target: &str) -> io::Result<()> {
        self.above(path)?;
        self.entry(path, LINK | 0o777, target.as_bytes(), (0, 0))
    }

    /// A character device.
    pub fn node(&mut self, path: &Path, major: u32, minor: u32) -> io::Result<()> {
        self.above(path)?;
        self.entry(path, CHARACTER_DEVICE | 0o600, &[], (major, minor))
    }

    /// Writes the end; returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.raw("TRAILER!!!", 0, &[], (0, 0))?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn above(&mut self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), |parent| self.folder(parent))
    }

    fn entry(&mut self, path: &Path, mode: u32, content: &[u8], device: (u32, u32)) -> io::Result<()> {
        let name = stored(path);
        if !self.known.insert(name.clone()) {
            return Ok(());
        }
        self.raw(&name, mode, content, device)
    }

    fn raw(&mut self, name: &str, mode: u32, content: &[u8], (major, minor): (u32, u32)) -> io::Result<()> {
        self.number += 1;
        let links = if mode & FOLDER == FOLDER { 2 } else { 1 };
        // Inode, mode, user, group, links, time, size, device (2), device of a node (2), length of the name, checksum.
        let fields =
            [self.number, mode, 0, 0, links, 0, content.len() as u32, 0, 0, major, minor, name.len() as u32 + 1, 0];
        let mut header = String::from("070701");
        fields.iter().for_each(|field| header.push_str(&format!("{field:08x}")));
        self.put(header.as_bytes())?;
        self.put(name.as_bytes())?;
        self.put(&[0])?;
        self.pad()?;
        self.put(content)?;
        self.pad()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len();
        self.out.write_all(bytes)
    }

    fn pad(&mut self) -> io::Result<()> {
        let missing = self.written.next_multiple_of(4) - self.written;
        self.put(&[0; 3][..missing])
    }
}

/// A path as archives name it: without the root.
fn stored(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Vec<u8> {
        let mut archive = Archive::new(Vec::new());
        archive.file(Path::new("/etc/name"), 0o644, b"guest").expect("memory takes it");
        archive.link(Path::new("/bin"), "usr/bin").expect("memory takes it");
        archive.file(Path::new("/etc/name"), 0o644, b"twice").expect("the first stays");
        archive.node(Path::new("/dev/console"), 5, 1).expect("memory takes it");
        archive.finish().expect("memory takes it")
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_nothing_comes_twice() {
        let text = String::from_utf8_lossy(&made()).into_owned();
        let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(at("etc\0") < at("etc/name\0") && at("dev\0") < at("dev/console\0"));
        assert!(text.contains("guest") && !text.contains("twice"));
        assert!(at("TRAILER!!!") > at("dev/console\0"));
    }

    #[test]
    fn every_header_and_every_content_begins_at_a_multiple_of_four() {
        let bytes = made();
        assert!(bytes.len().is_multiple_of(4));
        let magic: Vec<usize> =
            bytes.windows(6).enumerate().filter(|(_, six)| *six == b"070701").map(|(at, _)| at).collect();
        assert_eq!(magic.len(), 6, "etc, etc/name, bin, dev, dev/console and the trailer");
        assert!(magic.iter().all(|at| at.is_multiple_of(4)));
    }
}
