//! Facts in a kernel's file, and its place in an unpacked package.
//! In: a file, or a folder with `boot/` and `lib/modules/`. Out: its release, its modules, or what is wrong with it.
//! Nothing is downloaded.

use crate::error::StagingError;
use std::path::{Path, PathBuf};

/// Offset of the signature of the x86 boot protocol, and of the pointer to the version text.
pub(super) const SIGNATURE: (usize, &[u8]) = (0x202, b"HdrS");
const VERSION_AT: usize = 0x20e;

pub(super) fn wrong(name: &str, problem: impl std::fmt::Display, way: impl Into<String>) -> StagingError {
    StagingError::other(format!("the kernel {name} {problem}"), way)
}

/// The kernel and the modules of an unpacked package.
pub(super) fn unpacked(folder: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    let image = first_named(&folder.join("boot"), "vmlinuz-")?;
    let release = release(&image).ok()?;
    let modules = folder.join("lib/modules").join(release);
    modules.join("modules.dep").exists().then_some((image, Some(modules)))
}

pub(super) fn first_named(folder: &Path, start: &str) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.pop()
}

/// The release in the header of a kernel for x86 (Documentation/arch/x86/boot.rst of the kernel).
pub(super) fn release(image: &Path) -> Result<String, String> {
    let head = read_head(image).map_err(|error| format!("cannot be read: {error}"))?;
    let (at, signature) = SIGNATURE;
    if head.get(at..at + signature.len()) != Some(signature) {
        return Err("is not a kernel for x86: it has no boot header".into());
    }
    let place = usize::from(head[VERSION_AT]) + usize::from(head[VERSION_AT + 1]) * 256 + 0x200;
    let text: Vec<u8> = head.iter().skip(place).take_while(|byte| **byte > b' ').copied().collect();
    match String::from_utf8(text) {
        Ok(text) if text.chars().next().is_some_and(|first| first.is_ascii_digit()) => Ok(text),
        _ => Err("does not contain its release".into()),
    }
}

/// The beginning of a kernel's file, which contains its version.
fn read_head(image: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(std::fs::File::open(image)?, 64 << 10), &mut head)?;
    head.resize(head.len().max(0x210), 0);
    Ok(head)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The beginning of a kernel's file of this release.
    pub fn image_of(release: &str) -> Vec<u8> {
        let mut head = vec![0; 0x1000];
        head[0x202..0x206].copy_from_slice(b"HdrS");
        head[VERSION_AT..VERSION_AT + 2].copy_from_slice(&0x300u16.to_le_bytes());
        let version = format!("{release} (debian@debian.org)");
        head[0x500..0x500 + version.len()].copy_from_slice(version.as_bytes());
        head
    }

    #[test]
    fn the_release_of_a_kernel_is_read_from_its_header() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), image_of("6.1.0-56-amd64")).expect("written");
        assert_eq!(release(file.path()).as_deref(), Ok("6.1.0-56-amd64"));
    }
}
