//! The folder that a report becomes: made by us, or known by our mark; nothing of anybody else's is ever replaced.
//! In: where it shall be, and the files by name. Out: the files in place, each whole, and a mark that lists them.
//! A folder that is not empty and has no mark is refused; files that the mark does not list stay as they are.

use crate::ReportError;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use system::create;

/// The file by which a folder is known as a report of ours.
pub const MARK: &str = ".bakeoff-report";

/// What the mark begins with; the number is that of its form.
const TITLE: &str = "bakeoff report 1";

/// Bytes of a mark at most.
const MARK_LIMIT: u64 = 4 << 20;

/// Folders within a report.
const INNER: [&str; 4] = ["charts", "tables", "histograms", "ledgers"];

/// A file of a report: its name below the folder, and its content.
pub(crate) type File = (String, Vec<u8>);

/// What stands in a mark.
#[derive(Debug, Default, PartialEq)]
struct Mark {
    run: String,
    files: BTreeSet<String>,
}

/// Says whether a report can be written there, before there is one; makes nothing.
///
/// # Errors
/// It is no folder, a link, not ours and not empty, or cannot be looked at.
pub fn check_folder(path: &Path) -> Result<(), ReportError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => create::Folder::open(path).and_then(|folder| mark_of(&folder)).map(drop).map_err(refused(path)),
    }
}

/// Puts the files of a run's report in place; answers with their paths.
pub(crate) fn write(path: &Path, run: &str, files: &[File]) -> Result<Vec<PathBuf>, ReportError> {
    // The id of a foreign ledger's run may hold anything; in the mark it is one line.
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
        // Charts of another run beside these would be taken for this one's.
        for name in old.files.iter().filter(|name| !mark.files.contains(*name)) {
            let whole = path.join(name);
            if whole.symlink_metadata().is_ok() {
                within(&folder, name, |inner, last| inner.remove(last)).map_err(refused(&whole))?;
            }
        }
    }
    // Before the files, so that those of a report that breaks off are known as ours.
    folder.replace(MARK, mark.text().as_bytes()).map_err(refused(path))?;
    let put = |(name, bytes): &File| {
        let whole = path.join(name);
        within(&folder, name, |inner, last| inner.replace(last, bytes)).map_err(refused(&whole))?;
        Ok(whole)
    };
    files.iter().map(put).collect()
}

/// The mark of a folder; None where it is empty.
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

    /// None where it is of another form, or lists what no report holds.
    fn read(text: &str) -> Option<Mark> {
        let mut lines = text.lines();
        let run = (lines.next() == Some(TITLE)).then(|| lines.next()?.strip_prefix("run "))??;
        let files: BTreeSet<String> = lines.map(str::to_owned).collect();
        files.iter().all(|name| is_of_a_report(name)).then(|| Mark { run: run.into(), files })
    }
}

/// Names that lead out of the folder, or further in than reports go, are none.
fn is_of_a_report(name: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    match name.split_once('/') {
        None => plain(name),
        Some((inner, last)) => INNER.contains(&inner) && plain(last) && !last.contains('/'),
    }
}

/// Does something to a file in the folder in which it lies.
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
