//! What is said about a stage between those who use it and the process that serves it, as JSON lines over one stream.
//! In and out: [`Ask`] from the one side, [`Heard`] from the other; lines of the engine pass both ways beside them, marked.
//! Both ends must come from one build, which the first message tells.

use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::registry::Registry;
use records::{Cause, ColdWay, Contender};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{self, BufRead, Read, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use system::Record;

/// Longest line, in bytes: one more MiB than the engine's own longest.
const LINE_LIMIT: usize = 65 << 20;

/// First byte of a line that is the engine's, or for it. No message begins so.
pub(crate) const ENGINE: u8 = b'>';

/// The contender that is to be served, and what must be known to make it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Asked {
    /// The contender.
    pub contender: Box<Contender>,
    /// Its filesystem's description, as its file has it; None where nothing is made.
    pub description: Option<String>,
    /// Id of the mark of the run that lends the disk, so that labels on it are those that the run knows.
    pub mark: Option<String>,
    /// How its caches are emptied before a cold phase.
    pub cold: ColdWay,
}

/// A process that works beside a stage, where that is, and is talked to by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beside {
    /// The engine of workloads.
    Engine,
    /// Who carries out the work of a power cut, and looks at what is left of it.
    Witness,
}

impl Asked {
    /// The filesystem that was described, alone.
    ///
    /// # Errors
    /// The description cannot be read, or there is none.
    pub(crate) fn registry(&self) -> Result<Registry, StagingError> {
        let name = &self.contender.filesystem;
        let Some(description) = &self.description else {
            return Err(StagingError::guest("the message lacks the place"));
        };
        Ok(Registry::of(Filesystem::parse(name, &format!("filesystems/{name}.toml"), description)?))
    }
}

impl Beside {
    /// The verb of this program that it is.
    pub fn verb(self) -> &'static str {
        match self {
            Beside::Engine => "agent",
            Beside::Witness => "witness",
        }
    }
}

/// What the other end lacks where its machine goes on as a copy of one that had said hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waking {
    /// The time of day, since 1970 in UTC.
    pub since_epoch: Duration,
    /// Randomness that no other copy has.
    pub seed: [u8; system::copied::SEED],
}

/// What is asked. All but [`Ask::EndEngine`] are answered, one after the other, with what stands behind the arrow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Go on as a copy: take over what is told, and say hello again -> nothing. Asked first, or not at all.
    Wake(Waking),
    /// Make and mount -> [`crate::Setup`]. The first question, and asked once.
    Stage(Asked),
    /// Find out what a filesystem can do, on images of this many bytes made there -> [`crate::features::Feature`]s. Asked in the place of staging, and once.
    Probe { asked: Asked, bytes: u64 },
    /// Start the engine, or another process of this program beside the stage -> nothing. From then on its lines pass.
    Start(Beside),
    /// End that process, which may have been told to quit; not answered.
    EndEngine,
    /// Remember the counters -> nothing.
    Look,
    /// What happened since they were remembered -> [`system::Evidence`].
    Since,
    /// What explains that this failed -> a [`Fault`], or none where nothing is wrong beneath.
    Beneath { during: String },
    /// Space and inodes -> [`records::Usage`].
    Usage,
    /// Write everything back -> nothing.
    Sync,
    /// Empty the caches -> [`crate::Dropped`].
    DropCaches,
    /// Wait until the disk is idle -> [`crate::Settled`].
    Settle,
    /// Unmount, and leave everything else as it is -> nothing.
    Unmount,
    /// Mount what was unmounted, whatever stands on the disk by now -> how long that took.
    Mount,
    /// Take what is on this device of the volume away, and mount what is left -> nothing.
    LoseDevice(u64),
    /// What was lost is there again -> nothing.
    HasAllDevices,
    /// Have the filesystem's own check look at what is unmounted -> [`records::Closing`].
    Check,
    /// Unmount, check, take down -> [`records::Closing`]. The last question.
    Close,
}

/// What is heard from the process that serves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Heard {
    /// It is up. Said once, first.
    Hello(Hello),
    /// Said once a second, so that silence means something.
    Alive,
    /// The engine's process ended; how, in words.
    EngineEnded(String),
    /// The answer to what was asked.
    Answered(Box<Answered>),
}

/// Who serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Version of the program.
    pub version: String,
    /// Release of the kernel that it runs on.
    pub kernel: String,
}

/// An answer, with the commands that were run for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answered {
    /// What was asked for, as [`Ask`] says.
    pub answer: Result<Box<RawValue>, Fault>,
    pub commands: Vec<Record>,
}

/// An error on its way to the other side. Whatever it was there, here it concerns the contender: the others have stages of their own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    problem: String,
    way_out: String,
    cause: Cause,
}

impl Answered {
    /// What was asked for, or the error of the other side, where more is known of it.
    pub fn of<A: DeserializeOwned>(self, label: &str, more: &str) -> Result<A, StagingError> {
        let answer = self.answer.map_err(|fault| fault.of(label, more))?;
        serde_json::from_str(answer.get()).map_err(|_| {
            let text = format!("the stage sent an unexpected answer: {answer}");
            StagingError::contender(label, text.chars().take(200).collect::<String>(), "this is a bug in bakeoff")
        })
    }
}

impl Waking {
    /// For a copy that goes on now.
    ///
    /// # Errors
    /// This machine's clock or its randomness cannot be read, in words.
    pub fn now() -> Result<Waking, String> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let since_epoch = since_epoch.map_err(|_| "this machine's clock is before 1970".to_string())?;
        let mut seed = [0; system::copied::SEED];
        let drawn = std::fs::File::open("/dev/urandom").and_then(|mut device| device.read_exact(&mut seed));
        drawn.map_err(|error| format!("reading /dev/urandom failed: {error}"))?;
        Ok(Waking { since_epoch, seed })
    }
}

impl Hello {
    /// Of this process.
    pub fn here() -> Hello {
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        Hello { version: env!("CARGO_PKG_VERSION").into(), kernel }
    }
}

impl From<StagingError> for Fault {
    fn from(error: StagingError) -> Fault {
        match error {
            StagingError::Contender { problem, way_out, cause, .. } => Fault { problem, way_out, cause },
            other => Fault { problem: other.to_string(), way_out: String::new(), cause: other.cause() },
        }
    }
}

impl Fault {
    /// The same error on this side, with what else is known of it.
    pub fn of(self, label: &str, more: &str) -> StagingError {
        StagingError::failed(label, self.problem + more, self.way_out, self.cause)
    }
}

/// Writes one message.
pub(crate) fn send(out: &mut (impl Write + ?Sized), message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Writes one line of the engine's, or for it, which ends with its newline.
pub(crate) fn send_engine(out: &mut (impl Write + ?Sized), line: &[u8]) -> io::Result<()> {
    out.write_all(&[&[ENGINE], line].concat())?;
    out.flush()
}

/// Reads one line into `line`, which may already hold the beginning of it; false at the end.
///
/// # Errors
/// The stream cannot be read, or the line is longer than any message; no more of it is kept than that.
pub(crate) fn receive(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let left = LINE_LIMIT.saturating_sub(line.len());
    input.by_ref().take(left as u64).read_until(b'\n', line)?;
    if line.len() >= LINE_LIMIT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line longer than any message"));
    }
    Ok(line.ends_with(b"\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_refused_when_it_is_longer_than_any_message() {
        let mut line = Vec::new();
        let error = receive(&mut io::BufReader::new(io::repeat(b'x')), &mut line).expect_err("refused");
        assert_eq!((error.kind(), line.len()), (io::ErrorKind::InvalidData, LINE_LIMIT));
    }

    #[test]
    fn a_line_that_comes_in_parts_is_one_line_and_one_that_is_cut_off_is_none() {
        let mut line = b"\"al".to_vec();
        assert!(receive(&mut &b"ive\"\nmore"[..], &mut line).expect("read"));
        assert_eq!(line, b"\"alive\"\n");
        assert!(!receive(&mut &b"mor"[..], &mut Vec::new()).expect("read"));
    }
}
