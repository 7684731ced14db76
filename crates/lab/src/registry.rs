//! All filesystems that are known: those compiled in, and a user's own files of the same form.
//! In: `filesystems/*.toml`. Out: a [`Filesystem`] by name.
//! A user's file replaces a compiled one of the same name.

use crate::error::LabError;
use crate::filesystem::Filesystem;
use include_dir::{Dir, include_dir};
use std::collections::BTreeMap;
use std::path::Path;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../filesystems");

/// Files read from one folder at most.
const FILE_LIMIT: usize = 1000;

/// The filesystems that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    filesystems: BTreeMap<String, Filesystem>,
}

impl Registry {
    /// Those that are compiled in.
    pub fn embedded() -> Result<Registry, LabError> {
        let mut filesystems = BTreeMap::new();
        for file in EMBEDDED.files() {
            let path = file.path();
            let text = file.contents_utf8().unwrap_or_default();
            if let Some(name) = name_of(path) {
                let read = Filesystem::parse(&name, &format!("filesystems/{}", path.display()), text)?;
                filesystems.insert(name, read);
            }
        }
        Ok(Registry { filesystems })
    }

    /// Adds the `*.toml` files of a folder; one that is not there adds nothing.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), LabError> {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Ok(());
        };
        for entry in entries.flatten().take(FILE_LIMIT) {
            let path = entry.path();
            let Some(name) = name_of(&path) else { continue };
            let text = std::fs::read_to_string(&path).map_err(|error| LabError::file("read", &path, error))?;
            let read = Filesystem::parse(&name, &path.display().to_string(), &text)?;
            self.filesystems.insert(name, read);
        }
        Ok(())
    }

    /// Adds one, in place of another of the same name.
    pub(crate) fn add(&mut self, filesystem: Filesystem) {
        self.filesystems.insert(filesystem.name.clone(), filesystem);
    }

    /// Looks one up.
    pub fn get(&self, name: &str) -> Result<&Filesystem, LabError> {
        self.filesystems.get(name).ok_or_else(|| LabError::unknown("filesystem", name, self.names()))
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.filesystems.keys().map(String::as_str)
    }

    /// All filesystems, in order of their names.
    pub fn all(&self) -> impl Iterator<Item = &Filesystem> {
        self.filesystems.values()
    }
}

fn name_of(path: &Path) -> Option<String> {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    is_toml.then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_compiled_filesystem_can_be_read() {
        let registry = Registry::embedded().expect("all files are good");
        let names: Vec<&str> = registry.names().collect();
        let expected = [
            "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "openzfs", "reiser4", "reiserfs",
            "xfs", "zfs",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_users_file_adds_a_filesystem_without_any_code() {
        let folder = tempfile::tempdir().expect("a folder");
        let ext2 = EMBEDDED.get_file("ext2.toml").and_then(|file| file.contents_utf8()).expect("it is there");
        std::fs::write(folder.path().join("mine.toml"), ext2).expect("written");
        let mut registry = Registry::embedded().expect("good");
        registry.add_folder(folder.path()).expect("good too");
        assert_eq!(registry.get("mine").expect("it is known").title, "ext2");
    }

    #[test]
    fn an_unknown_key_names_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("odd.toml"), "titel = \"x\"\n").expect("written");
        let error = Registry::embedded().expect("good").add_folder(folder.path()).expect_err("an unknown key");
        assert!(error.to_string().contains("odd.toml"), "{error}");
    }
}
