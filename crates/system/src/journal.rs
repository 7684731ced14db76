//! The journal of commands: what was run on this machine, and its output.
//! In: every command that [`crate::command`] runs. Out: records, which the caller drains and stores.
//! Shared and thread safe; a planning journal only records what would be run.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

/// Most records kept; beyond it the oldest are dropped and counted.
const RECORD_LIMIT: usize = 10_000;
/// Bytes of a program's output in which its last line is searched.
const OUTPUT_LIMIT: u64 = 64 << 10;

/// One command that was run or planned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// Program and arguments, prefix included.
    pub argv: Vec<String>,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// Duration in nanoseconds; absent for a command that was only planned or still runs.
    pub elapsed_ns: Option<u64>,
    /// Exit status; absent if a signal ended it, it did not start, still runs or was only planned.
    pub status: Option<i32>,
    /// Standard output, cut at the limit of [`crate::command`].
    pub stdout: String,
    /// Standard error, cut likewise.
    pub stderr: String,
    /// Anything else to report: not started, ended by a signal, out of time.
    pub remark: Option<String>,
    /// Only recorded, not run.
    pub planned: bool,
    /// Kernel of the guest that ran it; absent on this machine.
    pub guest: Option<String>,
}

impl Record {
    /// A record that begins now, or one that a planning journal only records; its output is not known yet.
    pub(crate) fn begun(argv: Vec<String>, journal: &Journal) -> Record {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Record {
            argv,
            began_ms: now.map_or(0, |since| since.as_millis() as u64),
            planned: journal.is_planning(),
            ..Record::default()
        }
    }

    /// The command as typed in a shell, prefixed with the guest's kernel if a guest ran it.
    pub fn typed(&self) -> String {
        let line = typed(&self.argv);
        match &self.guest {
            Some(kernel) => format!("[in the guest, {kernel}] {line}"),
            None => line,
        }
    }
}

/// Where commands are recorded. Clones share one journal.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    shared: Arc<Mutex<Shared>>,
    planning: bool,
}

#[derive(Debug, Default)]
struct Shared {
    records: VecDeque<Record>,
    dropped: u64,
}

impl Journal {
    /// A journal for commands that are run.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// A journal that only records commands; they succeed without output.
    pub fn planning() -> Journal {
        Journal { planning: true, ..Journal::default() }
    }

    /// Whether commands are only recorded.
    pub fn is_planning(&self) -> bool {
        self.planning
    }

    /// Removes and returns all records, oldest first.
    pub fn drain(&self) -> Vec<Record> {
        self.lock().records.drain(..).collect()
    }

    /// Records dropped so far because of the limit of 10,000.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Adds a record.
    pub fn add(&self, record: Record) {
        let mut shared = self.lock();
        if shared.records.len() == RECORD_LIMIT {
            shared.records.pop_front();
            shared.dropped += 1;
        }
        shared.records.push_back(record);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A panic elsewhere leaves the records intact, so a poisoned lock is still usable.
        self.shared.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Words joined as typed in a shell.
pub fn typed(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Error text for a program that ended before it could be inspected: that fact, and the last line of its output.
pub(crate) fn ended_at_once(log: &Path) -> Box<str> {
    let mut notes = Vec::new();
    let read = File::open(log).and_then(|file| file.take(OUTPUT_LIMIT).read_to_end(&mut notes));
    let notes = String::from_utf8_lossy(&notes);
    match notes.lines().rfind(|line| !line.trim().is_empty()).filter(|_| read.is_ok()) {
        Some(last) => format!("it ended at once: {}", last.trim()).into(),
        None => "it ended at once".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_needs_it() {
        let argv = ["mkfs.xfs", "-m", "rmapbt=1,reflink=0", "/tmp/a b", "it's", ""];
        let argv: Vec<String> = argv.iter().map(|word| word.to_string()).collect();
        assert_eq!(typed(&argv), r"mkfs.xfs -m rmapbt=1,reflink=0 '/tmp/a b' 'it'\''s' ''");
    }

    #[test]
    fn a_program_that_ended_at_once_is_reported_with_its_last_line() {
        let log = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(&*ended_at_once(log.path()), "it ended at once");
        std::fs::write(log.path(), "begun\nno such disk\n\n").expect("written");
        assert_eq!(&*ended_at_once(log.path()), "it ended at once: no such disk");
    }
}
