//! Everything that can be named here: filesystems, workloads, plans, option sets, the compiled-in ones and the user's.
//! In: the configuration folder and folders of plan files. Out: catalogues, and errors that name the nearest name.

use crate::failure::Failure;
use lab::Registry;
use std::path::{Path, PathBuf};
use workload::catalog::Catalog;

/// All that can be named.
pub struct Catalogue {
    /// Filesystems.
    pub filesystems: Registry,
    /// Workloads, plans, option sets.
    pub work: Catalog,
}

impl Catalogue {
    /// What is compiled in and what lies in the user's configuration folder and in `folders`.
    pub fn open(folders: &[PathBuf]) -> Result<Self, Failure> {
        let mut filesystems = Registry::embedded()?;
        let mut all: Vec<PathBuf> = configuration().into_iter().collect();
        all.extend_from_slice(folders);
        for folder in &all {
            let own = folder.join("filesystems");
            if own.is_dir() {
                filesystems.add_folder(&own)?;
            }
        }
        Ok(Self { filesystems, work: Catalog::with_folders(&all)? })
    }
}

/// The user's configuration folder: `$XDG_CONFIG_HOME/bakeoff`, or `~/.config/bakeoff`.
pub fn configuration() -> Option<PathBuf> {
    let base = match std::env::var_os("XDG_CONFIG_HOME") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => Path::new(&std::env::var_os("HOME")?).join(".config"),
    };
    Some(base.join("bakeoff"))
}
