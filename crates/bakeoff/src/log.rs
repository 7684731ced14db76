//! The log of runs: everything that a calm display leaves out, in a file beside the ledger.
//! In: lines. Out: the same with the time in UTC, appended; a log that cannot be written never stops a run.

use jiff::Timestamp;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A log of this many bytes is set aside as `NAME.1` before a run begins.
const LARGEST: u64 = 32 << 20;

/// An open log.
pub struct Log {
    file: Option<File>,
    path: PathBuf,
}

impl Log {
    /// Opens the log beside a ledger: `bakeoff.db` has `bakeoff.log`.
    pub fn beside(ledger: &Path) -> Self {
        let path = ledger.with_extension("log");
        if std::fs::metadata(&path).is_ok_and(|found| found.len() > LARGEST) {
            // An old log that stays where it is only makes this one longer.
            let _ = std::fs::rename(&path, ledger.with_extension("log.1"));
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = &file {
            eprintln!("no log is kept: opening {}: {error}", path.display());
        }
        Self { file: file.ok(), path }
    }

    /// Where it is.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|_| self.path.as_path())
    }

    /// Appends a text, each of its lines with the time.
    pub fn say(&mut self, text: &str) {
        let Some(file) = &mut self.file else { return };
        let time = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
        let lines: String = text.lines().map(|line| format!("{time}  {}\n", crate::text::harmless(line))).collect();
        if let Err(error) = file.write_all(lines.as_bytes()) {
            eprintln!("no log is kept from here on: writing {}: {error}", self.path.display());
            self.file = None;
        }
    }
}
