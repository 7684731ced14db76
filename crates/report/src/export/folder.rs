//! The folder of a report: created here, or identified by its marker file; no other files are ever replaced.
//! In: its path, and the files by name. Out: the files in place, each complete, and a marker that lists them.
//! A folder that is not empty and has no marker is refused; files that the marker does not list stay as they are.

use crate::ReportError;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use system::create;

/// The marker file, which identifies a folder as a report of this program.
pub const MARK: &str = ".bakeoff-report";

/// First line of the marker; the number is the version of its format.
const TITLE: &str = "bakeoff report 1";

/// Most bytes of a marker.
const MARK_LIMIT: u64 = 4 << 20;

/// Folders within a report.
const INNER: [&str; 4] = ["charts", "tables", "histograms", "ledgers"];

/// A file of a report: its name below the folder, and its content.
pub(crate) type File = (String, Vec<u8>);

/// The content of a marker.
#[derive(Debug, Default, PartialEq)]
struct Mark {
    run: String,
    files: BTreeSet<String>,
}

/// Checks whether a report can be written there, before there is one; creates nothing.
///
/// # Errors
/// It is not a folder, is a link, is not empty without a marker, or cannot be read.
pub fn check_folder(path: &Path) -> Result<(), ReportError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => create::Folder::open(path).and_then(|folder| mark_of(&folder)).map(drop).map_err(refused(path)),
    }
}

/// Writes the files of a run's report; returns their paths.
pub(crate) fn write(path: &Path, run: &str, files: &[File]) -> Result<Vec<PathBuf>, ReportError> {
    // The id of an imported ledger's run may hold anything; in the marker it is one line.
    let run = &crate::safe::terminal(run);
    let folder = create::Folder::make(path).map_err(refused(path))?;
    let old = mark_of(&folder).map_err(refused(path))?.unwrap_or_default();
    for (name, _) in files {
        let path = path.join(name);
        if !old.files.contains(name) && path.symlink_metadata().is_ok() {
            let answer = "it exists already, and bakeoff did not write it".into();
            return Err(ReportError::Writing { path, answer });
        }
    }
    let mut mark = Mark { run: run.clone(), files: files.iter().map(|(name, _)| name.clone()).collect() };
    if old.run == *run {
        mark.files.extend(old.files);
    } else {
        // Remaining charts of another run would be mistaken for this one's.
        for name in old.files.iter().filter(|name| !mark.files.contains(*name)) {
            let whole = path.join(name);
            if whole.symlink_metadata().is_ok() {
                within(&folder, name, |inner, last| inner.remove(last)).map_err(refused(&whole))?;
            }
        }
    }
    // Written before the files, so that the files of an interrupted report are identified, too.
    folder.replace(MARK, mark.text().as_bytes()).map_err(refused(path))?;
    let put = |(name, bytes): &File| {
        let whole = path.join(name);
        within(&folder, name, |inner, last| inner.replace(last, bytes)).map_err(refused(&whole))?;
        Ok(whole)
    };
    files.iter().map(put).collect()
}

/// The marker of a folder; None where it is empty.
fn mark_of(folder: &create::Folder) -> std::io::Result<Option<Mark>> {
    let mut text = String::new();
    match folder.read_file(MARK) {
        Ok(file) => file.take(MARK_LIMIT).read_to_string(&mut text)?,
        Err(error) if error.kind() == ErrorKind::NotFound && folder.names()?.is_empty() => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(std::io::Error::other("the folder is not empty, and bakeoff did not make it"));
        }
        Err(error) => return Err(error),
    };
    let other = || std::io::Error::other(format!("its {MARK} was not written by this version of bakeoff"));
    Mark::read(&text).map(Some).ok_or_else(other)
}

impl Mark {
    fn text(&self) -> String {
        let files: String = self.files.iter().map(|name| format!("{name}\n")).collect();
        format!("{TITLE}\nrun {}\n{files}", self.run)
    }

    /// None where it has another format, or lists a file that no report contains.
    fn read(text: &str) -> Option<Mark> {
        let mut lines = text.lines();
        let run = (lines.next() == Some(TITLE)).then(|| lines.next()?.strip_prefix("run "))??;
        let files: BTreeSet<String> = lines.map(str::to_owned).collect();
        files.iter().all(|name| is_of_a_report(name)).then(|| Mark { run: run.into(), files })
    }
}

/// Names that lead out of the folder, or deeper than reports go, are rejected.
fn is_of_a_report(name: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    match name.split_once('/') {
        None => plain(name),
        Some((inner, last)) => INNER.contains(&inner) && plain(last) && !last.contains('/'),
    }
}

/// Calls `act` for a file, in the directory that contains it.
fn within(
    folder: &create::Folder,
    name: &str,
    act: impl FnOnce(&create::Folder, &str) -> std::io::Result<()>,
) -> std::io::Result<()> {
    match name.split_once('/') {
        Some((inner, last)) => act(&folder.folder(inner)?, last),
        None => act(folder, name),
    }
}

fn refused(path: &Path) -> impl Fn(std::io::Error) -> ReportError {
    move |error| ReportError::Writing { path: path.into(), answer: error.to_string() }
}
