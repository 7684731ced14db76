//! The side that uses a served disk: it starts the process that serves, and asks it.
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

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// How long the process may take to end.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// A served disk that does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The process could not be started.
    #[error("the process that serves a disk cannot be started: {0}")]
    Start(String),
    /// It is gone, or says nothing.
    #[error("the process that serves the disk {0}")]
    Lost(String),
    /// It says that it can't.
    #[error("the served disk cannot {doing}: {why}")]
    Refused {
        /// What was asked.
        doing: &'static str,
        /// What it answered.
        why: String,
    },
}

/// A folder of disks that another process serves; it ends with this.
#[derive(Debug)]
pub struct Disk {
    child: Child,
    questions: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Disk {
    /// Starts `command`, its words after the program's name included, and waits until it serves.
    ///
    /// # Errors
    /// It cannot be started, or does not serve: what it said on its standard error stands before.
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

    /// Id of the process that serves.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Begins to record what is done to a file of the folder. It must be still.
    ///
    /// # Errors
    /// There is no such file, or the server is gone.
    pub fn record(&mut self, file: &str) -> Result<(), DiskError> {
        self.ask("record", &Ask::Record(file.into())).map(drop)
    }

    /// Has a word be written down among what is done to the disk, after all that has arrived there.
    ///
    /// # Errors
    /// Nothing is recorded, or the server is gone.
    pub fn mark(&mut self, word: u64) -> Result<(), DiskError> {
        self.ask("mark", &Ask::Mark(word)).map(drop)
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Nothing is recorded, more was written than a recording holds, or the server is gone.
    pub fn stop(&mut self) -> Result<Record, DiskError> {
        match self.ask("end the recording", &Ask::Stop)? {
            Answer::Recorded(record) => Ok(*record),
            other => Err(DiskError::Lost(format!("answered {other:?}"))),
        }
    }

    /// Has the recorded file be as a power cut leaves it. Nobody may have it open by a cache: what is on it must be unmounted.
    /// `lying`: as a disk leaves it that says a flush is done and does nothing.
    ///
    /// # Errors
    /// Nothing was recorded, the state is none of the record, or the server is gone.
    pub fn offer(&mut self, state: &State, lying: bool) -> Result<(), DiskError> {
        self.ask("offer a state", &Ask::Offer { state: *state, lying }).map(drop)
    }

    /// Has this be wrong with a file of the folder from now on, instead of what was. How many of its blocks cannot be read.
    ///
    /// # Errors
    /// There is no such file, or the server is gone.
    pub fn harm(&mut self, file: &str, fault: &Fault) -> Result<u64, DiskError> {
        self.count("inject a fault", &Ask::Harm { file: file.into(), fault: fault.clone() })
    }

    /// Has nothing be wrong any more. How many requests met what was: failed, or waited.
    ///
    /// # Errors
    /// The server is gone.
    pub fn mend(&mut self) -> Result<u64, DiskError> {
        self.count("mend", &Ask::Mend)
    }

    /// Turns one bit over in each of these blocks of a file; how many. Nobody may have it open by a cache.
    ///
    /// # Errors
    /// There is no such file, or the server is gone.
    pub fn flip(&mut self, file: &str, chosen: &Chosen) -> Result<u64, DiskError> {
        self.count("flip bits", &Ask::Flip { file: file.into(), chosen: chosen.clone() })
    }

    /// How late a modelled disk was with everything that it has answered.
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

    /// Lets the process end, and ends it where it does not.
    fn leave(&mut self) {
        // It ends when nobody can ask any more.
        drop(self.questions.take());
        let end = Instant::now() + END_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > end {
                // It fails only where the process is gone, which is what is wanted.
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
