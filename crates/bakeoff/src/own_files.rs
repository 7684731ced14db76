//! User files that are found rather than named: in the configuration folder, and beside a plan.
//! In: a folder. Out: the texts of its files. The files decide what is formatted and which commands run as root, so a file that another
//! user could have written is skipped with a warning.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use system::Untrusted;
use system::input::{TEXT_LIMIT, Unreadable, text_file};

/// Most files that are read from one folder.
const FILES_LIMIT: usize = 1000;

/// A file, and its text or why it cannot be read.
pub type Text = (PathBuf, Result<String, Unreadable>);

/// The TOML files of a folder that may be loaded automatically, sorted by name; `way` is the advice for the others.
pub fn in_folder(folder: &Path, way: &str) -> Vec<Text> {
    if !folder.is_dir() || !may_be_loaded(folder, way) {
        return Vec::new();
    }
    toml_files(folder).into_iter().filter_map(|path| one(&path, way)).collect()
}

/// One file that may be loaded automatically; None if it does not exist, or must not be loaded.
pub fn one(path: &Path, way: &str) -> Option<Text> {
    (path.exists() && may_be_loaded(path, way)).then(|| (path.to_owned(), text_file(path, TEXT_LIMIT)))
}

/// TOML files of a folder in order of their names.
pub fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths.filter(is_toml).take(FILES_LIMIT).collect();
    paths.sort();
    paths
}

fn may_be_loaded(path: &Path, way: &str) -> bool {
    let Err(untrusted) = system::owned_path(path) else { return true };
    warn_once(path, &refusal(path, &untrusted, way));
    false
}

/// Prints a warning about a file, once: one call opens catalogues several times.
pub fn warn_once(path: &Path, warning: &str) {
    static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if WARNED.lock().is_ok_and(|mut warned| warned.insert(path.to_owned())) {
        eprintln!("{warning}");
    }
}

/// Why a file is not loaded: its owner and mode, and the advice.
pub fn refusal(path: &Path, untrusted: &Untrusted, way: &str) -> String {
    let facts = untrusted.path.symlink_metadata();
    let facts =
        facts.map_or(String::new(), |facts| format!(" (user {}, mode {:04o})", facts.uid(), facts.mode() & 0o7777));
    let which = if untrusted.path == path { "it".into() } else { untrusted.path.display().to_string() };
    format!("{} is not loaded: {which}{facts} {}; {way}", path.display(), untrusted.why)
}
