//! What host and guest say to each other about the stage, as JSON lines over a serial port.
//! In and out: [`Ask`] from the host, [`Heard`] from the guest. The engine's own lines go over another port.
//! Both ends are the same program, so there is no version to agree upon.

use crate::error::StagingError;
use records::program::Durable;
use records::{Cause, Contender};
use records::{Closing, Found, Usage};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use system::{Evidence, Record};

/// Longest line, in bytes: commands with their output make the longest.
const LINE_LIMIT: u64 = 64 << 20;

/// Name of the port for these messages.
pub(crate) const CONTROL_PORT: &str = "bakeoff.control";
/// Name of the port for the engine's lines.
pub(crate) const AGENT_PORT: &str = "bakeoff.agent";
/// The disk, as the guest sees it.
pub(crate) const DISK: &str = "/dev/vda";
/// File in the guest that names the modules to load, one a line.
pub(crate) const MODULES_FILE: &str = "/etc/bakeoff-modules";
/// Where the guest has this program.
pub(crate) const PROGRAM: &str = "/usr/bin/bakeoff";

/// What the host asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Make and mount; answered by [`Answer::Staged`].
    Stage {
        /// The contender.
        contender: Box<Contender>,
        /// Its filesystem's description, as its file has it.
        description: String,
        /// Id of the run's mark, so that labels on the disk are those that the host knows.
        id: String,
    },
    /// Start the engine on its port.
    StartAgent,
    /// Remember the counters.
    Look,
    /// What happened since they were remembered.
    Since,
    /// Why the work failed, where that was an axis' doing.
    Explain,
    /// Space and inodes.
    Usage,
    /// Write everything back.
    Sync,
    /// Empty the caches.
    DropCaches,
    /// Wait until the disk is idle.
    Settle {
        /// At most so long.
        patience_ms: u64,
    },
    /// Unmount and check.
    Close,
}

/// What the guest answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// It is mounted.
    Staged { root: PathBuf, device: Option<PathBuf>, durable: Durable, found: Box<Found>, kernel: String },
    /// It is done.
    Done,
    /// Whether all caches were emptied.
    Dropped(bool),
    /// What happened.
    Seen(Box<Evidence>),
    /// Why, in words.
    Explained(Option<String>),
    /// Space and inodes.
    Usage(Usage),
    /// What closing showed.
    Closed(Box<Closing>),
}

/// What is heard from the guest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Heard {
    /// It is up.
    Hello {
        /// Release of its kernel.
        kernel: String,
    },
    /// Sent once a second, so that silence means something.
    Alive,
    /// The engine's process ended; how, in words.
    AgentEnded(String),
    /// The answer to what was asked, with the commands that were run for it.
    Answered {
        /// The answer.
        answer: Result<Answer, Fault>,
        /// Commands.
        commands: Vec<Record>,
    },
}

/// An error on its way out of the guest.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    problem: String,
    way_out: String,
    cause: Cause,
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
    /// The same error on the host, with what else is known of it.
    pub fn of(self, label: &str, more: &str) -> StagingError {
        StagingError::failed(label, self.problem + more, self.way_out, self.cause)
    }
}

/// Writes one message.
pub(crate) fn send(mut out: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Reads one line into `line`, which may already hold the beginning of it; false at the end.
pub(crate) fn receive(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    input.by_ref().take(LINE_LIMIT).read_until(b'\n', line)?;
    if line.len() as u64 >= LINE_LIMIT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line longer than any message"));
    }
    Ok(line.ends_with(b"\n"))
}
