//! All known filesystems: those compiled in, and a user's own files of the same form.
//! In: `filesystems/*.toml` and `shared/*.toml`. Out: a [`Filesystem`] by name.
//! A user's file replaces a compiled one of the same name.

use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::options;
use include_dir::{Dir, include_dir};
use records::Contender;
use std::collections::BTreeMap;
use std::path::Path;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/filesystems");
static SHARED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shared");

/// The known filesystems.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    filesystems: BTreeMap<String, Filesystem>,
    /// Users' files that cannot be read, by the names that they would have: file, and why.
    unreadable: BTreeMap<String, (String, String)>,
}

impl Registry {
    /// The compiled-in filesystems.
    pub fn embedded() -> Result<Registry, StagingError> {
        let mut filesystems = BTreeMap::new();
        let files = |folder, dir: &'static Dir<'_>| dir.files().map(move |file| (folder, file));
        for (folder, file) in files("filesystems", &EMBEDDED).chain(files("shared", &SHARED)) {
            let path = file.path();
            let text = file.contents_utf8().unwrap_or_default();
            if let Some(name) = name_of(path) {
                let read = Filesystem::parse(&name, &format!("{folder}/{}", path.display()), text)?;
                filesystems.insert(name, read);
            }
        }
        Ok(Registry { filesystems, unreadable: BTreeMap::new() })
    }

    /// A single filesystem: if no other is needed, reading the others would only take time.
    pub(crate) fn of(filesystem: Filesystem) -> Registry {
        let filesystems = BTreeMap::from([(filesystem.name.clone(), filesystem)]);
        Registry { filesystems, unreadable: BTreeMap::new() }
    }

    /// Adds the description in a user's file `NAME.toml`. It is only described, and none of its commands is run, until [`Registry::may_run`].
    ///
    /// # Errors
    /// A file with another name, or a description that cannot be read.
    pub fn add_file(&mut self, path: &Path, text: &str) -> Result<(), StagingError> {
        let file = path.display().to_string();
        let name = name_of(path).ok_or_else(|| StagingError::Description {
            file: file.clone(),
            problem: "the file name must be NAME.toml".into(),
        })?;
        let read = Filesystem::parse(&name, &file, text)?;
        self.add(Filesystem { file: Some(path.to_owned()), only_described: true, ..read });
        Ok(())
    }

    /// Notes a user's file that cannot be read: other filesystems stay usable, and a request for this name returns the reason. A compiled
    /// filesystem of that name is no longer used.
    pub fn pass_over(&mut self, path: &Path, why: String) {
        if let Some(name) = name_of(path) {
            self.filesystems.remove(&name);
            self.unreadable.insert(name, (path.display().to_string(), why));
        }
    }

    /// Allows commands of users' files. Before this call, the files must be known to be the user's own, or be named by the user.
    pub fn may_run(mut self) -> Registry {
        self.filesystems.values_mut().for_each(|filesystem| filesystem.only_described = false);
        self
    }

    /// Only the filesystems of these names.
    pub fn only(&self, names: &[&str]) -> Registry {
        let kept = self.filesystems.iter().filter(|(name, _)| names.contains(&name.as_str()));
        let filesystems = kept.map(|(name, filesystem)| (name.clone(), filesystem.clone())).collect();
        Registry { filesystems, unreadable: self.unreadable.clone() }
    }

    /// Adds one, replacing another of the same name.
    pub(crate) fn add(&mut self, filesystem: Filesystem) {
        self.unreadable.remove(&filesystem.name);
        self.filesystems.insert(filesystem.name.clone(), filesystem);
    }

    /// Finds a filesystem by its name.
    pub fn get(&self, name: &str) -> Result<&Filesystem, StagingError> {
        if let Some((file, why)) = self.unreadable.get(name) {
            return Err(StagingError::Description { file: file.clone(), problem: why.clone() });
        }
        self.filesystems.get(name).ok_or_else(|| StagingError::unknown(name, self.names()))
    }

    /// Whether a contender has no servers, and no devices other than the one that it is made on.
    pub fn stands_alone(&self, contender: &Contender) -> bool {
        self.get(&contender.filesystem).is_ok_and(|filesystem| {
            filesystem.shared.is_none() && options::devices(filesystem, contender).is_ok_and(|named| named.is_empty())
        })
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
        let of = |shared: bool| {
            registry.all().filter(move |one| one.shared.is_some() == shared).map(|one| one.name.as_str())
        };
        let names: Vec<&str> = of(false).collect();
        let expected = [
            "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "ntfs3", "openzfs",
            "reiser4", "reiserfs", "vfat", "xfs", "zfs",
        ];
        assert_eq!(names, expected);
        let shared: Vec<&str> = of(true).collect();
        assert_eq!(shared, ["gluster-dist2", "gluster-dist3", "gluster-replica2", "gluster-replica3", "sshfs"]);
        assert_eq!(shared.len(), SHARED.files().count(), "what lies in shared/ says so");
    }

    #[test]
    fn a_users_file_adds_a_filesystem_without_any_code() {
        let ext2 = EMBEDDED.get_file("ext2.toml").and_then(|file| file.contents_utf8()).expect("it is there");
        let mut registry = Registry::embedded().expect("good");
        registry.add_file(Path::new("/x/mine.toml"), ext2).expect("good too");
        let mine = registry.get("mine").expect("it is known");
        assert_eq!((mine.title.as_str(), mine.only_described), ("ext2", true));
        assert!(mine.programs().contains("mkfs.ext2") && mine.programs().contains("mount"));
        assert!(!registry.may_run().get("mine").expect("it is known").only_described);
    }

    #[test]
    fn a_file_that_is_passed_over_takes_its_name_with_it_and_no_other() {
        let mut registry = Registry::embedded().expect("good");
        registry.pass_over(Path::new("/x/ext2.toml"), "no title".into());
        let error = registry.get("ext2").expect_err("it is not the compiled one").to_string();
        assert!(error.contains("/x/ext2.toml") && error.contains("no title"), "{error}");
        assert!(registry.get("ext4").is_ok() && registry.names().all(|name| name != "ext2"));
        let ext2 = EMBEDDED.get_file("ext2.toml").and_then(|file| file.contents_utf8()).expect("it is there");
        registry.add_file(Path::new("/y/ext2.toml"), ext2).expect("good");
        assert_eq!(
            registry.get("ext2").expect("a good one replaces it").file.as_deref(),
            Some(Path::new("/y/ext2.toml"))
        );
    }

    #[test]
    fn an_unknown_key_names_the_file() {
        let mut registry = Registry::embedded().expect("good");
        let error = registry.add_file(Path::new("odd.toml"), "titel = \"x\"\n").expect_err("an unknown key");
        assert!(error.to_string().contains("odd.toml"), "{error}");
    }
}
