//! Client of a served disk: starts the server process and sends it requests.
//! In: a command that calls [`crate::serve`]. Out: a [`Disk`].

use crate::control::{Answer, Ask, PROTOCOL};
use crate::cut::State;
use crate::fault::{Chosen, Fault};
use crate::lateness::Lateness;
use crate::record::Record;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time limit for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for the process to exit.
const END_LIMIT: Duration = Duration::from_secs(10);
/// Interval of checks whether it has exited.
const LOOK: Duration = Duration::from_millis(5);

/// A served disk that fails a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The server process did not start.
    #[error("the process that serves a disk cannot be started: {0}")]
    Start(String),
    /// The process exited, or did not answer.
    #[error("the process that serves the disk {0}")]
    Lost(String),
    /// The process refused a request.
    #[error("the served disk cannot {doing}: {why}")]
    Refused {
        /// The request.
        doing: &'static str,
        /// The reason it gave.
        why: String,
    },
}

/// A folder of disks that another process serves. That process ends with this one.
#[derive(Debug)]
pub struct Disk {
    child: Child,
    questions: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Disk {
    /// Starts `command` (program and arguments) and waits until it serves.
    ///
    /// # Errors
    /// It does not start or does not serve. Its standard error is not captured here.
    pub fn start(command: &mut Command) -> Result<Disk, DiskError> {
        let failed = |error: std::io::Error| DiskError::Start(error.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let questions = child.stdin.take();
        let output = child.stdout.take().expect("it was asked for as a pipe");
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut disk = Disk { child, questions, answers };
        match disk.hear()? {
            Answer::Ready { protocol: PROTOCOL } => Ok(disk),
            other => Err(DiskError::Lost(format!("has a different version: {other:?}"))),
        }
    }

    /// Id of the server process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Starts to record writes and flushes of a file of the folder. No request may be in progress.
    ///
    /// # Errors
    /// There is no such file, or the server is gone.
    pub fn record(&mut self, file: &str) -> Result<(), DiskError> {
        self.ask("record", &Ask::Record(file.into())).map(drop)
    }

    /// Records a mark after everything that has arrived at the disk so far.
    ///
    /// # Errors
    /// No recording is active, or the server is gone.
    pub fn mark(&mut self, word: u64) -> Result<(), DiskError> {
        self.ask("mark", &Ask::Mark(word)).map(drop)
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// No recording is active, more was written than a recording holds, or the server is gone.
    pub fn stop(&mut self) -> Result<Record, DiskError> {
        match self.ask("end the recording", &Ask::Stop)? {
            Answer::Recorded(record) => Ok(*record),
            other => Err(DiskError::Lost(format!("answered {other:?}"))),
        }
    }

    /// Puts the recorded file into a state that a power cut leaves. No cache may hold it open: unmount what is on it first. `lying`: the
    /// disk reports a flush as done but does nothing.
    ///
    /// # Errors
    /// Nothing was recorded, the record has no such state, or the server is gone.
    pub fn offer(&mut self, state: &State, lying: bool) -> Result<(), DiskError> {
        self.ask("offer a state", &Ask::Offer { state: *state, lying }).map(drop)
    }

    /// Injects a fault into a file of the folder, in place of an earlier one. Returns how many of its blocks cannot be read.
    ///
    /// # Errors
    /// There is no such file, or the server is gone.
    pub fn harm(&mut self, file: &str, fault: &Fault) -> Result<u64, DiskError> {
        self.count("inject a fault", &Ask::Harm { file: file.into(), fault: fault.clone() })
    }

    /// Removes the fault. Returns how many requests it failed or delayed.
    ///
    /// # Errors
    /// The server is gone.
    pub fn mend(&mut self) -> Result<u64, DiskError> {
        self.count("mend", &Ask::Mend)
    }

    /// Flips one bit in each of these blocks of a file; returns their number. No cache may hold the file open.
    ///
    /// # Errors
    /// There is no such file, or the server is gone.
    pub fn flip(&mut self, file: &str, chosen: &Chosen) -> Result<u64, DiskError> {
        self.count("flip bits", &Ask::Flip { file: file.into(), chosen: chosen.clone() })
    }

    /// Lateness of a modelled disk over all requests answered so far.
    ///
    /// # Errors
    /// The server is gone.
    pub fn lateness(&mut self) -> Result<Lateness, DiskError> {
        match self.ask("count how late it is", &Ask::Lateness)? {
            Answer::Late(lateness) => Ok(*lateness),
            other => Err(DiskError::Lost(format!("answered {other:?}"))),
        }
    }

    fn count(&mut self, doing: &'static str, ask: &Ask) -> Result<u64, DiskError> {
        match self.ask(doing, ask)? {
            Answer::Counted(count) => Ok(count),
            other => Err(DiskError::Lost(format!("answered {other:?}"))),
        }
    }

    /// Unmounts the folder and ends the process. All files must be closed.
    ///
    /// # Errors
    /// The folder is in use, or the server is gone.
    pub fn end(mut self) -> Result<(), DiskError> {
        self.ask("end", &Ask::End)?;
        self.leave();
        Ok(())
    }

    fn ask(&mut self, doing: &'static str, ask: &Ask) -> Result<Answer, DiskError> {
        let mut line = serde_json::to_vec(ask).expect("a question can be written as JSON");
        line.push(b'\n');
        let lost = |error: std::io::Error| DiskError::Lost(format!("does not accept requests: {error}"));
        let to = self.questions.as_mut().ok_or_else(|| DiskError::Lost("received the signal to end".into()))?;
        to.write_all(&line).and_then(|()| to.flush()).map_err(lost)?;
        match self.hear()? {
            Answer::Refused(why) => Err(DiskError::Refused { doing, why }),
            answer => Ok(answer),
        }
    }

    fn hear(&mut self) -> Result<Answer, DiskError> {
        let line = self.answers.recv_timeout(ANSWER_LIMIT).map_err(|silence| match silence {
            RecvTimeoutError::Timeout => DiskError::Lost(format!("sends nothing for {} s", ANSWER_LIMIT.as_secs())),
            RecvTimeoutError::Disconnected => DiskError::Lost(self.fate()),
        })?;
        serde_json::from_str(&line).map_err(|error| DiskError::Lost(format!("sends invalid data: {error}")))
    }

    fn fate(&mut self) -> String {
        let end = Instant::now() + END_LIMIT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return format!("ended with {status}"),
                _ if Instant::now() > end => return "closed its output".into(),
                _ => std::thread::sleep(LOOK),
            }
        }
    }

    /// Lets the process exit, and kills it if it does not.
    fn leave(&mut self) {
        // It exits when its standard input is closed.
        drop(self.questions.take());
        let end = Instant::now() + END_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > end {
                // This fails only if the process is gone already.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.leave();
    }
}
