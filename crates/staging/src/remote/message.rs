//! What is said about a stage between those who use it and the process that serves it, as JSON lines over one stream.
//! In and out: [`Ask`] from the one side, [`Heard`] from the other; lines of the engine pass both ways beside them, marked.
//! Both ends must come from one build, which the first message tells.

use crate::error::StagingError;
use crate::features::Feature;
use crate::filesystems::description::Filesystem;
use crate::filesystems::registry::Registry;
use crate::stage::Settled;
use crate::stage::drop_caches::Dropped;
use crate::staged::Setup;
use records::{Cause, Closing, ColdWay, Contender, Usage};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use system::{Evidence, Record};

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
            return Err(StagingError::Guest("it was not said what to make".into()));
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

/// What is asked. All but [`Ask::EndEngine`] are answered, one after the other.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Go on as a copy: take over what is told, and say hello again. Asked first, or not at all.
    Wake(Waking),
    /// Make and mount; the first question, and asked once.
    Stage(Asked),
    /// Find out what a filesystem can do, on images of this many bytes made there; asked in the place of staging, and once.
    Probe { asked: Asked, bytes: u64 },
    /// Start the engine, or another process of this program beside the stage; from then on its lines pass.
    Start(Beside),
    /// End that process, which may have been told to quit; not answered.
    EndEngine,
    /// Remember the counters.
    Look,
    /// What happened since they were remembered.
    Since,
    /// What explains that this failed.
    Beneath { during: String },
    /// Space and inodes.
    Usage,
    /// Write everything back.
    Sync,
    /// Empty the caches.
    DropCaches,
    /// Wait until the disk is idle.
    Settle,
    /// Unmount, and leave everything else as it is.
    Unmount,
    /// Mount what was unmounted, whatever stands on the disk by now.
    Mount,
    /// Take what is on this device of the volume away, and mount what is left.
    LoseDevice(u64),
    /// What was lost is there again.
    HasAllDevices,
    /// Have the filesystem's own check look at what is unmounted.
    Check,
    /// Unmount, check, take down. The last question.
    Close,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// It stands.
    Staged(Box<Setup>),
    /// What the filesystem can do.
    Probed(Vec<Feature>),
    /// It is done.
    Done,
    /// What became of the caches.
    Dropped(Dropped),
    /// How the wait ended.
    Settled(Settled),
    /// What happened.
    Seen(Box<Evidence>),
    /// What explains it; None where nothing is wrong beneath.
    Explained(Option<Fault>),
    /// Space and inodes.
    Usage(Usage),
    /// How long mounting took.
    Mounted(Duration),
    /// What closing, or its check alone, showed.
    Closed(Box<Closing>),
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
    pub answer: Result<Answer, Fault>,
    pub commands: Vec<Record>,
}

/// An error on its way to the other side. Whatever it was there, here it concerns the contender: the others have stages of their own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    problem: String,
    way_out: String,
    cause: Cause,
}

impl Waking {
    /// For a copy that goes on now.
    ///
    /// # Errors
    /// This machine's clock or its randomness cannot be read, in words.
    pub fn now() -> Result<Waking, String> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let since_epoch = since_epoch.map_err(|_| "this machine's clock stands before 1970".to_string())?;
        let mut seed = [0; system::copied::SEED];
        let drawn = std::fs::File::open("/dev/urandom").and_then(|mut device| device.read_exact(&mut seed));
        drawn.map_err(|error| format!("/dev/urandom answered {error}"))?;
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
