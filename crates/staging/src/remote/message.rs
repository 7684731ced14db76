//! Messages about a stage between its users and the process that serves it, as JSON lines over one stream.
//! In and out: [`Ask`] from one side, [`Heard`] from the other; lines of the engine pass both ways between them, marked.
//! Both ends must come from one build; the first message carries the version.

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

/// First byte of a line from or for the engine. No message begins with it.
pub(crate) const ENGINE: u8 = b'>';

/// The contender to be served, and what is needed to make it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Asked {
    /// The contender.
    pub contender: Box<Contender>,
    /// Its filesystem's description, as in its file; None if nothing is made.
    pub description: Option<String>,
    /// Id of the mark of the run that provides the disk, so that labels on it are those that the run knows.
    pub mark: Option<String>,
    /// How its caches are emptied before a cold phase.
    pub cold: ColdWay,
}

/// A process that works next to a stage, on the same machine, and is controlled by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beside {
    /// The engine of workloads.
    Engine,
    /// Carries out the work of a power cut, and inspects what is left of it.
    Witness,
}

impl Asked {
    /// A registry of the described filesystem alone.
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
    /// The verb of this program that starts it.
    pub fn verb(self) -> &'static str {
        match self {
            Beside::Engine => "agent",
            Beside::Witness => "witness",
        }
    }
}

/// What the other end lacks if its machine continues as a copy of one that had sent its hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waking {
    /// The time of day, since 1970 in UTC.
    pub since_epoch: Duration,
    /// Random bytes that no other copy has.
    pub seed: [u8; system::copied::SEED],
}

/// A request. All but [`Ask::EndEngine`] are answered, one after the other, with what follows the arrow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Continue as a copy: take over this state, and send another hello -> nothing. Sent first, or not at all.
    Wake(Waking),
    /// Make and mount -> [`crate::Setup`]. The first request, sent once.
    Stage(Asked),
    /// Find out what a filesystem can do, on images of this many bytes made there -> [`crate::features::Feature`]s. Sent instead of
    /// staging, and once.
    Probe { asked: Asked, bytes: u64 },
    /// Start the engine, or another process of this program next to the stage -> nothing. From then on its lines are forwarded.
    Start(Beside),
    /// End that process, which may be quitting already; not answered.
    EndEngine,
    /// Remember the counters -> nothing.
    Look,
    /// The counts since the look of this number, from 0 -> [`system::Evidence`].
    Since(usize),
    /// What explains that this failed -> a [`Fault`], or none if no lower layer is at fault.
    FailedBelow { during: String },
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
    /// Mount what was unmounted, whatever is on the disk by now -> the time taken.
    Mount,
    /// Remove the content of this device of the volume, and mount the rest -> nothing.
    LoseDevice(u64),
    /// The lost device is in its place again -> nothing.
    HasAllDevices,
    /// Run the filesystem's own check while it is unmounted -> [`records::Closing`].
    Check,
    /// Close the layers below the unmounted filesystem -> nothing. Mounting opens them again.
    CloseLayers,
    /// Unmount, check, tear down -> [`records::Closing`]. The last request.
    Close,
}

/// A message from the serving process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Heard {
    /// It is up. Sent first, and again by a copy.
    Hello(Hello),
    /// Sent once a second, so that silence means a failure.
    Alive,
    /// The engine's process ended; how, in words.
    EngineEnded(String),
    /// The answer to a request.
    Answered(Box<Answered>),
}

/// The serving process.
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
    /// The result, as described at [`Ask`].
    pub answer: Result<Box<RawValue>, Fault>,
    pub commands: Vec<Record>,
}

/// An error on its way to the other side. Whatever it concerned there, here it concerns the contender: the others have stages of their own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    problem: String,
    way_out: String,
    cause: Cause,
}

impl Answered {
    /// The result, or the error of the other side, with `more` added to it.
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
    /// The same error on this side, with `more` added to it.
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

/// Writes one line from or for the engine; the line includes its newline.
pub(crate) fn send_engine(out: &mut (impl Write + ?Sized), line: &[u8]) -> io::Result<()> {
    out.write_all(&[&[ENGINE], line].concat())?;
    out.flush()
}

/// Reads one line into `line`, which may already hold the beginning of it; false at the end.
///
/// # Errors
/// The stream cannot be read, or the line is longer than any message; only that much of it is kept.
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
