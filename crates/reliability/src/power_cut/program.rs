//! A program whose power is cut, and its check, which decides afterwards whether all acknowledged data is there.
//! In: the commands of both, and a root. Out: the lines that it printed, and the result of its check.
//!
//! Each line that it prints acknowledges that something is durable. After a cut the check runs in the program's folder, with the lines
//! printed before on its standard input; a status other than 0 means that something is missing.

use super::hands::Marker;
use crate::error::{ReliabilityError, doing};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use system::Tail;

/// Most lines that a program may print.
const MOST_LINES: usize = 1_000_000;
/// Most bytes of a line.
const LINE_LIMIT: u64 = 4096;
/// Bytes kept of standard error of a program or check, the last ones.
const WORDS_KEPT: usize = 2000;
/// Time limit for the end of its standard error after its exit.
const WORDS_LIMIT: Duration = Duration::from_millis(500);
/// Interval of calls of the watcher while a program prints nothing.
const LOOK: Duration = Duration::from_millis(100);
/// Its folder.
pub(crate) const FOLDER: &str = "program";

/// A program, its preparation, and its check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Runs before the power may fail; empty if there is nothing to prepare.
    pub prepare: Vec<String>,
    /// The program: each line that it prints is an acknowledgement.
    pub command: Vec<String>,
    /// Gets the lines printed before the cut; status 0: everything acknowledged is there.
    pub check: Vec<String>,
    /// Time limit of each of them.
    pub limit: Duration,
}

impl Program {
    /// Creates its folder below a root, and prepares it there.
    pub(crate) fn prepared(&self, root: &Path) -> Result<(), ReliabilityError> {
        let folder = root.join(FOLDER);
        std::fs::create_dir(&folder).map_err(doing("creating its folder"))?;
        if self.prepare.is_empty() {
            return Ok(());
        }
        let prepared = Running::start(&self.prepare, &folder, Stdio::null())
            .and_then(|mut running| running.end(Instant::now() + self.limit));
        prepared.map_err(doing("preparing the program"))
    }

    /// Runs it; returns the lines that it printed, each of which was marked.
    pub(crate) fn work(&self, root: &Path, marker: &mut dyn Marker) -> Result<Vec<String>, ReliabilityError> {
        let words = self.command.join(" ");
        let started = Running::start(&self.command, &root.join(FOLDER), Stdio::piped());
        let mut running = started.map_err(doing(words.clone()))?;
        drop(running.child.stdin.take());
        let printed = running.lines();
        let end = Instant::now() + self.limit;
        let mut lines = Vec::new();
        loop {
            match printed.recv_timeout(LOOK) {
                Ok(line) => {
                    lines.push(line);
                    marker.mark(lines.len() as u64)?;
                }
                Err(RecvTimeoutError::Timeout) => marker.go_on()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() > end || lines.len() > MOST_LINES {
                break;
            }
        }
        running.end(end).map_err(doing(words))?;
        if lines.is_empty() {
            let none = io::Error::other("it acknowledged nothing: it must print a line once data is safe");
            return Err(doing("reading the program's output")(none));
        }
        Ok(lines)
    }

    /// Whether everything acknowledged by these lines is there; otherwise the check's output.
    pub(crate) fn check(&self, root: &Path, lines: &[String]) -> Result<(), String> {
        let failed = |error: io::Error| format!("running its check: {error}");
        let mut running = Running::start(&self.check, &root.join(FOLDER), Stdio::null()).map_err(failed)?;
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        if let Some(mut input) = running.child.stdin.take() {
            // A check may choose not to read all of it.
            std::thread::spawn(move || drop(input.write_all(text.as_bytes())));
        }
        match running.end(Instant::now() + self.limit) {
            Ok(()) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A program's process and its children; killed when dropped.
pub(crate) struct Running {
    child: Child,
    errors: Option<Tail>,
}

impl Running {
    pub fn start(words: &[String], folder: &Path, output: Stdio) -> io::Result<Running> {
        let (name, rest) = words.split_first().ok_or_else(|| io::Error::other("no program is given"))?;
        let mut child = Command::new(name)
            .args(rest)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let errors = child.stderr.take().map(|errors| Tail::of(errors, WORDS_KEPT));
        Ok(Running { child, errors })
    }

    /// Its output, line by line as printed.
    fn lines(&mut self) -> Receiver<String> {
        let (send, lines) = channel();
        if let Some(output) = self.child.stdout.take() {
            std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                loop {
                    let mut line = Vec::new();
                    match output.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line) {
                        Ok(length) if length > 0 => {}
                        _ => return,
                    }
                    let line = String::from_utf8_lossy(&line).trim_end_matches('\n').to_string();
                    if send.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        lines
    }

    /// Waits until it ends; an error with its last output if it does not end in time, or not with status 0.
    pub fn end(&mut self, by: Instant) -> io::Result<()> {
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() > by => return Err(io::Error::other("it took too long")),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        if status.success() {
            return Ok(());
        }
        let words = self.errors.as_ref().map(|errors| errors.text_at_end(WORDS_LIMIT)).unwrap_or_default();
        let last = words.trim().lines().last().unwrap_or("no output").to_string();
        Err(io::Error::other(format!("{}: {last}", system::process::how_it_ended(status))))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Kills the whole group, so that none of it keeps the mount busy. This fails only if the group is gone already.
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
