//! The journal of commands: what was run on this machine, and what it answered.
//! In: every command that [`crate::command`] runs. Out: records, drained by whoever keeps them.
//! Shared and thread safe; a planning journal only writes down what would be run.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

/// Records kept at most; beyond it the oldest go, and are counted.
const RECORD_LIMIT: usize = 10_000;
/// Bytes of what a program said that its last line is looked for in.
const MOST_SAID: u64 = 64 << 10;

/// One command that was run, or would be.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// Program and arguments, prefix included.
    pub argv: Vec<String>,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// How long it took, in nanoseconds; absent for one that was only planned or still runs.
    pub elapsed_ns: Option<u64>,
    /// Exit status; absent where it was ended by a signal, did not start, still runs or was only planned.
    pub status: Option<i32>,
    /// Standard output, cut at the limit of [`crate::command`].
    pub stdout: String,
    /// Standard error, cut likewise.
    pub stderr: String,
    /// What else is to be said: not started, ended by a signal, out of time.
    pub remark: Option<String>,
    /// Only written down, not run.
    pub planned: bool,
    /// Kernel of the guest in which it was run; absent on this machine.
    pub guest: Option<String>,
}

impl Record {
    /// One that begins now, or that a planning journal only writes down; what it answers is not known yet.
    pub(crate) fn begun(argv: Vec<String>, journal: &Journal) -> Record {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Record {
            argv,
            began_ms: now.map_or(0, |since| since.as_millis() as u64),
            planned: journal.is_planning(),
            ..Record::default()
        }
    }

    /// The command as a person would type it; before one of a guest stands where.
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
    /// A journal whose commands are run.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// A journal whose commands are only written down and answer with success and no output.
    pub fn planning() -> Journal {
        Journal { planning: true, ..Journal::default() }
    }

    /// Whether commands are only written down.
    pub fn is_planning(&self) -> bool {
        self.planning
    }

    /// Takes all records out, oldest first.
    pub fn drain(&self) -> Vec<Record> {
        self.lock().records.drain(..).collect()
    }

    /// Records that were lost to the limit of 10,000 since the beginning.
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
        // A panic elsewhere leaves the records as they were, so a poisoned lock is still good.
        self.shared.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Words joined as a person would type them in a shell.
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

/// What is told of a program that ended before it was looked at: that, and the last line of what it said.
pub(crate) fn ended_at_once(log: &Path) -> Box<str> {
    let mut said = Vec::new();
    let read = File::open(log).and_then(|file| file.take(MOST_SAID).read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    match said.lines().rfind(|line| !line.trim().is_empty()).filter(|_| read.is_ok()) {
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
    fn what_ended_at_once_is_told_with_the_last_that_it_said() {
        let log = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(&*ended_at_once(log.path()), "it ended at once");
        std::fs::write(log.path(), "begun\nno such disk\n\n").expect("written");
        assert_eq!(&*ended_at_once(log.path()), "it ended at once: no such disk");
    }
}
