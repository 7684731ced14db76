//! The log of runs: everything that the display omits, in a file beside the ledger.
//! In: lines. Out: the lines with the time in UTC, appended; a write error of the log never stops a run.

use jiff::Timestamp;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A log above this many bytes is renamed to `NAME.1` before a run starts.
const LARGEST: u64 = 32 << 20;

/// Format of the time at the beginning of every line.
const TIME: &str = "%Y-%m-%d %H:%M:%S";

/// An open log.
pub struct Log {
    file: Option<File>,
    path: PathBuf,
}

impl Log {
    /// Opens the log beside a ledger: `bakeoff.log` for `bakeoff.db`.
    pub fn beside(ledger: &Path) -> Self {
        let path = ledger.with_extension("log");
        let file = open(&path);
        if let Err(error) = &file {
            eprintln!("no log is written: opening {}: {error}", path.display());
        }
        Self { file: file.ok(), path }
    }

    /// Its path; `None` if it is not written.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|_| self.path.as_path())
    }

    /// Appends a text, each line with the time.
    pub fn say(&mut self, text: &str) {
        let Some(file) = &mut self.file else { return };
        let time = Timestamp::now().strftime(TIME).to_string();
        let lines: String = text.lines().map(|line| format!("{time}  {}\n", crate::text::harmless(line))).collect();
        if let Err(error) = file.write_all(lines.as_bytes()) {
            eprintln!("the log ends here: writing {}: {error}", self.path.display());
            self.file = None;
        }
    }
}

/// Opens a log for appending; a long one is renamed first. A file of that name that bakeoff did not write is refused.
fn open(path: &Path) -> io::Result<File> {
    let file = own(path)?;
    if file.metadata()?.len() <= LARGEST {
        return Ok(file);
    }
    let (folder, name) = system::create::split(path)?;
    let aside = path.with_extension("log.1");
    match aside.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // The file is replaced, so it must be an older log.
        _ => drop(own(&aside)?),
    }
    system::create::Folder::open(&folder)?.rename(name, aside.file_name().unwrap_or_default())?;
    own(path)
}

/// Opens an empty log or one that bakeoff wrote: every line begins with a time.
fn own(path: &Path) -> io::Result<File> {
    let file = system::create::kept_file(path, true)?;
    let mut start = [0; 19];
    let read = file.read_at(&mut start, 0)?;
    let is_time = jiff::civil::DateTime::strptime(TIME, String::from_utf8_lossy(&start[..read]).as_ref()).is_ok();
    if read == 0 || is_time {
        Ok(file)
    } else {
        Err(io::Error::other("bakeoff did not write it and does not change it"))
    }
}
