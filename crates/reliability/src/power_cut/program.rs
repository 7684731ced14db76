//! A program whose power is cut, and what says afterwards whether it kept what it had acknowledged.
//! In: its words and those of its check, and a root. Out: the lines that it printed, and what its check says of them.
//!
//! A line that it prints acknowledges something: that it is safe from now on. After a cut the check gets the lines that were printed before on its standard
//! input, in the program's folder; a status other than 0 says that not all of it is there.

use super::hands::Marker;
use crate::error::{ReliabilityError, doing};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use system::Tail;

/// Lines that a program may print.
const MOST_LINES: usize = 1_000_000;
/// Bytes of a line.
const LINE_LIMIT: u64 = 4096;
/// Bytes of what a program or check says on its standard error, its last ones.
const WORDS_KEPT: usize = 2000;
/// How long the end of its standard error is waited for after its exit.
const WORDS_LIMIT: Duration = Duration::from_millis(500);
/// How often whoever watches is asked while a program says nothing.
const LOOK: Duration = Duration::from_millis(100);
/// Its folder.
pub(crate) const FOLDER: &str = "program";

/// A program, what prepares it, and what checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Before the power may go; nothing where there is nothing to prepare.
    pub prepare: Vec<String>,
    /// The program: each line that it prints acknowledges something.
    pub command: Vec<String>,
    /// Gets the lines that were printed before the cut; status 0: all that they acknowledge is there.
    pub check: Vec<String>,
    /// How long each of them may take.
    pub limit: Duration,
}

impl Program {
    /// Makes its folder below a root, and prepares it there.
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

    /// Has it do its work: the lines that it printed, each of which was marked.
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

    /// Whether all that these lines acknowledge is there; what the check said where it is not.
    pub(crate) fn check(&self, root: &Path, lines: &[String]) -> Result<(), String> {
        let failed = |error: io::Error| format!("running its check: {error}");
        let mut running = Running::start(&self.check, &root.join(FOLDER), Stdio::null()).map_err(failed)?;
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        if let Some(mut input) = running.child.stdin.take() {
            // A check that does not read all of it knows why.
            std::thread::spawn(move || drop(input.write_all(text.as_bytes())));
        }
        match running.end(Instant::now() + self.limit) {
            Ok(()) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A process of a program, with all that it started; it ends with this.
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

    /// What it prints, a line at a time, as it comes.
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

    /// Waits until it ends, by then; an error with its last words where it does not, or not with status 0.
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
        // The whole group, so that nothing of it holds the mount; where it is gone, that is what is wanted.
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
