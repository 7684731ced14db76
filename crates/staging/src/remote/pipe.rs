//! A transport: a stage in a child process, reached through its standard input and output.
//! In: the command of a process that calls [`super::serve`]. Out: [`Pipe`].
//! The command may be any that leads there.

use super::Transport;
use super::link::{Link, Peer, locked};
use crate::error::StagingError;
use crate::stage::Down;
use records::Cause;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use system::Tail;
use system::process::{Process, how_it_ended, reap};

/// How long the process may take to send its hello.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to end by itself after the last request: it tears down its stage first.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for a process whose stream has ended.
const REAP_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of its standard error that are kept for messages.
const WORDS_KEPT: usize = 4096;
/// Its name in messages.
const NAME: &str = "the stage's process";

/// A child process that serves a stage.
pub struct Pipe {
    link: Link,
    child: Arc<Served>,
}

struct Served {
    child: Mutex<Child>,
    words: Tail,
}

impl Pipe {
    /// Starts `command` (the program and its arguments), and waits for its hello.
    ///
    /// # Errors
    /// It cannot be started, or does not send its hello in time.
    pub fn start(command: &[String]) -> Result<Pipe, StagingError> {
        let failed = |error: std::io::Error| {
            let cause = system::cause::of_io(&error);
            StagingError::failed(NAME, format!("`{}` cannot be started: {error}", command.join(" ")), "", cause)
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let input: OwnedFd = theirs.try_clone().map_err(failed)?.into();
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(input)
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::piped())
            // `clean` finds a process that outlived its run by this variable.
            .env(system::process::OWNER_VARIABLE, Process::current().to_string())
            // A group of its own: Ctrl-C reaches only the runner, which then ends everything in order.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let errors = child.stderr.take().expect("standard error was asked for as a pipe");
        let child = Arc::new(Served { child: Mutex::new(child), words: Tail::of(errors, WORDS_KEPT) });
        let link = Link::open(ours, Arc::clone(&child)).map_err(|error| {
            child.kill();
            failed(error)
        })?;
        let pipe = Pipe { link, child };
        let lost = |problem| StagingError::failed(NAME, problem, "", Cause::Unclear);
        pipe.link.await_hello(START_LIMIT).map_err(lost)?;
        Ok(pipe)
    }
}

impl Transport for Pipe {
    fn link(&self) -> &Link {
        &self.link
    }

    fn end(&mut self) -> Down {
        self.link.hang_up();
        if reap(&mut locked(&self.child.child), END_LIMIT) {
            return Down::default();
        }
        self.child.kill();
        Down { problems: vec![format!("{NAME} did not end and was killed")], ..Down::default() }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.end();
    }
}

impl Peer for Arc<Served> {
    fn name(&self) -> &str {
        NAME
    }

    fn fate(&self) -> String {
        let mut child = locked(&self.child);
        reap(&mut child, REAP_LIMIT);
        match child.try_wait() {
            Ok(Some(status)) => format!("{NAME} ended with {}{}", how_it_ended(status), self.last_words()),
            _ => format!("{NAME} closed its output{}", self.last_words()),
        }
    }

    fn last_words(&self) -> String {
        let text = self.words.text_at_end(Duration::from_millis(200));
        let text = text.trim();
        if text.is_empty() { String::new() } else { format!("; its last output: {text}") }
    }

    fn kill(&self) {
        let mut child = locked(&self.child);
        // It fails only if the process is already gone, which is the aim.
        let _ = child.kill();
        reap(&mut child, REAP_LIMIT);
    }
}
