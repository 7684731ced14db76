//! The agent protocol: JSON lines between the runner and the engine's process, versioned.
//! In: [`Request`]s, one a line. Out: [`Reply`]s, one a line; the first is [`Reply::Hello`].
//! The same lines travel over a pipe, a serial port into a guest, or between MPI ranks.

use crate::ageing::{Aged, Ageing, Layout, Survey};
use crate::outcome::{Ceiling, PhaseOutcome};
use crate::program::Program;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Version of this protocol; both sides must use the same.
pub const PROTOCOL: u32 = 5;

/// Environment variable with the socket path of the coordinator of several clients, for the runner.
pub const CLIENTS_AT: &str = "BAKEOFF_CLIENTS_AT";

/// Environment variable with the largest number of clients.
pub const CLIENTS_THERE: &str = "BAKEOFF_CLIENTS_THERE";

/// Longest line that either side accepts, in bytes.
pub const LINE_LIMIT: usize = 64 << 20;

/// A message, sent as one line in either direction. Only this module converts lines, since each further place would compile the
/// serialization of programs and outcomes again.
pub trait Message: Sized {
    /// Sends the message as one line.
    ///
    /// # Errors
    /// The system's error if the other side has closed the connection.
    fn send(&self, output: &mut dyn Write) -> io::Result<()>;

    /// Parses a line.
    ///
    /// # Errors
    /// Why it is not a message of this type.
    fn read(line: &[u8]) -> Result<Self, serde_json::Error>;
}

impl Message for Request {
    fn send(&self, output: &mut dyn Write) -> io::Result<()> {
        send(output, serde_json::to_vec(self)?)
    }

    fn read(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }
}

impl Message for Reply {
    fn send(&self, output: &mut dyn Write) -> io::Result<()> {
        send(output, serde_json::to_vec(self)?)
    }

    fn read(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }
}

fn send(output: &mut dyn Write, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Requests of the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Load this program; answered by [`Reply::Loaded`]. Replaces an earlier one.
    Load(Box<Program>),
    /// Perform one pass of one phase; answered by [`Reply::Done`] or [`Reply::Failed`], with [`Reply::Progress`] before.
    Perform {
        /// Index of the phase.
        phase: usize,
        /// Pass, from 0.
        pass: u32,
        /// Number of slices: each but the last ends with [`Reply::Sliced`], and [`Request::GoOn`] starts the next.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        slices: u32,
    },
    /// Start the next slice of the running pass.
    GoOn,
    /// The same for one client among several: prepare all, answer [`Reply::Ready`], and begin at the time in [`Request::Start`].
    PerformTogether {
        /// Index of the phase.
        phase: usize,
        /// Pass, from 0.
        pass: u32,
    },
    /// Start the prepared phase.
    Start {
        /// Start time, by CLOCK_MONOTONIC of the engine's machine, in nanoseconds.
        at_ns: u64,
    },
    /// Cancel the prepared phase; answered by [`Reply::Failed`].
    Cancel,
    /// Prefix the engines' command with these words from now on, such as `nsenter` into the namespaces of the trial's mount; empty: no
    /// prefix. Answered by [`Reply::Entering`]. Sent only to the coordinator of several clients, never to an engine.
    Enter {
        /// Words before an engine's own command.
        prefix: Vec<String>,
    },
    /// Write back dirty data on the machines of all clients except the first's, and empty their caches; answered by [`Reply::Emptied`].
    /// Sent only to the coordinator of several clients, never to an engine.
    EmptyCaches {
        /// Whether caches are emptied after the write-back.
        drop: bool,
    },
    /// Read the files of a phase once, untimed; answered by [`Reply::Warmed`].
    Warm {
        /// Index of the phase.
        phase: usize,
    },
    /// Count the pages of a phase's files that are in the page cache; answered by [`Reply::Cached`]. This opens the files, which loads
    /// their inodes into memory: for a phase that must start fully uncached, drop caches once more afterwards.
    CountCached {
        /// Index of the phase.
        phase: usize,
    },
    /// Measure the ceiling of this machine's memory; answered by [`Reply::Ceiling`].
    MeasureCeiling,
    /// Carry out a history to age a filesystem; answered by [`Reply::Aged`], with [`Reply::Progress`] before (phase
    /// 0, bytes written as items and as bytes).
    Age(Box<Ageing>),
    /// Read the layout of files; answered by [`Reply::Surveyed`].
    Survey(Box<Survey>),
    /// End; the process exits with status 0.
    Quit,
}

fn one() -> u32 {
    1
}

fn is_one(slices: &u32) -> bool {
    *slices == 1
}

/// A phase that the filesystem does not support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// Index of the phase.
    pub phase: usize,
    /// What is unsupported, and the system's error.
    pub why: String,
}

/// Replies of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Sent once at the start, without a request.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Version of the program.
        version: String,
        /// Process id.
        pid: u32,
    },
    /// The program is loaded.
    Loaded {
        /// Phases that the filesystem does not support; they must not be requested.
        lacking: Vec<Lack>,
    },
    /// Sent about once a second while a phase runs.
    Progress {
        /// Index of the phase.
        phase: usize,
        /// Items completed so far.
        items: u64,
        /// Total items, if known.
        of: Option<u64>,
        /// Bytes moved so far.
        bytes: u64,
    },
    /// Slices of a pass are done. The engine waits for [`Request::GoOn`], and ends on any other message.
    Sliced {
        /// Index of the phase.
        phase: usize,
        /// Number of finished slices.
        slices: u32,
    },
    /// All workers of a phase are ready to start.
    Ready,
    /// Engines will be started with the prefix.
    Entering,
    /// Caches were written back or emptied.
    Emptied {
        /// Number of machines on which that was done.
        hosts: u32,
        /// Machines on which it failed, and why.
        refused: Vec<String>,
    },
    /// A pass is done.
    Done(Box<PhaseOutcome>),
    /// A pass failed; the agent continues with the next request.
    Failed {
        /// Index of the phase.
        phase: usize,
        /// Results so far, if they could be gathered.
        partial: Option<Box<PhaseOutcome>>,
        /// Why, in one sentence.
        reason: String,
        /// A process was killed by a signal from outside: the failure is unrelated to the requested work.
        #[serde(default)]
        killed: bool,
    },
    /// The files were read.
    Warmed {
        /// Bytes read.
        bytes: u64,
    },
    /// Pages found in the cache.
    Cached {
        /// Bytes of the phase's files that are cached; absent if the filesystem cannot report them.
        bytes: Option<u64>,
        /// Files checked (a sample of 300 at most).
        files: u64,
    },
    /// The ceiling.
    Ceiling(Ceiling),
    /// A history was carried out.
    Aged(Box<Aged>),
    /// The layout of files.
    Surveyed(Box<Layout>),
    /// The request could not be carried out.
    Refused {
        /// Why, in one sentence.
        reason: String,
    },
}
