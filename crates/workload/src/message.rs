//! The agent seam: JSON lines between the runner and the engine's process, versioned.
//! In: [`Request`]s, one a line. Out: [`Reply`]s, one a line; the first is [`Reply::Hello`].
//! The same lines travel over a pipe, a serial port into a guest, or between MPI ranks.

use crate::ageing::{Aged, Ageing, Layout, Survey};
use crate::outcome::{Ceiling, PhaseOutcome};
use crate::program::Program;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Version of these messages; both sides must name the same.
pub const PROTOCOL: u32 = 5;

/// Where the runner of a run with many clients finds the one that leads them, in its environment: the path of a socket.
pub const CLIENTS_AT: &str = "BAKEOFF_CLIENTS_AT";

/// How many clients there are at most, in its environment.
pub const CLIENTS_THERE: &str = "BAKEOFF_CLIENTS_THERE";

/// Longest line that either side accepts, in bytes.
pub const LINE_LIMIT: usize = 64 << 20;

/// What is sent as a line, either way. Lines are made and read here and nowhere else, since each place that did would compile all that programs
/// and outcomes consist of once more.
pub trait Message: Sized {
    /// Sends it: its line, at once.
    ///
    /// # Errors
    /// What the system answers where nobody hears any more.
    fn send(&self, output: &mut dyn Write) -> io::Result<()>;

    /// Reads a line.
    ///
    /// # Errors
    /// Why it is none of these messages.
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

/// What the runner asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Take this program; answered by [`Reply::Loaded`]. Replaces an earlier one.
    Load(Box<Program>),
    /// Perform one pass of one phase; answered by [`Reply::Done`] or [`Reply::Failed`], with [`Reply::Progress`] before.
    Perform {
        /// Index of the phase.
        phase: usize,
        /// Pass, from 0.
        pass: u32,
        /// Into how many slices it is cut: at the end of each but the last comes [`Reply::Sliced`], and [`Request::GoOn`] begins the next.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        slices: u32,
    },
    /// Begin the next slice of the pass under way.
    GoOn,
    /// The same of one client among several: prepare all, answer [`Reply::Ready`], and begin when [`Request::Start`] says.
    PerformTogether {
        /// Index of the phase.
        phase: usize,
        /// Pass, from 0.
        pass: u32,
    },
    /// Begin the phase that is ready.
    Start {
        /// When, by CLOCK_MONOTONIC of the engine's machine, in nanoseconds.
        at_ns: u64,
    },
    /// Do not begin the phase that is ready; answered by [`Reply::Failed`].
    Cancel,
    /// Start engines by way of these words from now on, as `nsenter` into the namespaces of what is mounted for the trial; no words: without.
    /// Answered by [`Reply::Entering`]. Asked of whoever leads several clients, never of an engine.
    Enter {
        /// What stands before an engine's own command.
        prefix: Vec<String>,
    },
    /// Write back what is not yet written on the machines of all clients but the first's, and empty their caches; answered by
    /// [`Reply::Emptied`]. Asked of whoever leads several clients, never of an engine.
    EmptyCaches {
        /// Whether caches are emptied, and not only written back.
        drop: bool,
    },
    /// Read the files of a phase once, outside any clock; answered by [`Reply::Warmed`].
    Warm {
        /// Index of the phase.
        phase: usize,
    },
    /// Count the pages of a phase's files that are in the page cache; answered by [`Reply::Cached`]. This opens the files,
    /// which brings their inodes back into memory: where a phase is to find nothing cached at all, drop once more after it.
    CountCached {
        /// Index of the phase.
        phase: usize,
    },
    /// Measure the ceiling of this machine's memory; answered by [`Reply::Ceiling`].
    MeasureCeiling,
    /// Live through a history, so that a filesystem is used; answered by [`Reply::Aged`], with [`Reply::Progress`] before
    /// (phase 0, bytes written as items and as bytes).
    Age(Box<Ageing>),
    /// Look how files lie; answered by [`Reply::Surveyed`].
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

/// A phase that the filesystem cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// Index of the phase.
    pub phase: usize,
    /// What it has not, and what the system answered.
    pub why: String,
}

/// What the engine answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Sent once, unasked.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Version of the program.
        version: String,
        /// Process id.
        pid: u32,
    },
    /// The program is taken.
    Loaded {
        /// Phases that the filesystem cannot do; they must not be asked for.
        lacking: Vec<Lack>,
    },
    /// Sent about once a second while a phase runs.
    Progress {
        /// Index of the phase.
        phase: usize,
        /// Items completed so far.
        items: u64,
        /// Items in all, where known.
        of: Option<u64>,
        /// Bytes moved so far.
        bytes: u64,
    },
    /// So many slices of a pass are done; it waits for [`Request::GoOn`], and ends at anything else.
    Sliced {
        /// Index of the phase.
        phase: usize,
        /// How many are done.
        slices: u32,
    },
    /// All workers of a phase are ready to begin.
    Ready,
    /// Engines will be started that way.
    Entering,
    /// Caches were written back or emptied.
    Emptied {
        /// Machines on which that was done.
        hosts: u32,
        /// Where it could not be done, and why.
        refused: Vec<String>,
    },
    /// A pass is done.
    Done(Box<PhaseOutcome>),
    /// A pass failed; the agent goes on to the next request.
    Failed {
        /// Index of the phase.
        phase: usize,
        /// What was done so far, where it could be gathered.
        partial: Option<Box<PhaseOutcome>>,
        /// Why, in one sentence.
        reason: String,
        /// Something of it was ended from outside, by a signal, which says nothing of what was asked for.
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
        /// Bytes of the phase's files that are cached; absent where the filesystem cannot say.
        bytes: Option<u64>,
        /// Files looked at (a sample of 4,096 at most).
        files: u64,
    },
    /// The ceiling.
    Ceiling(Ceiling),
    /// A history was lived through.
    Aged(Box<Aged>),
    /// How files lie.
    Surveyed(Box<Layout>),
    /// The request could not be carried out at all.
    Refused {
        /// Why, in one sentence.
        reason: String,
    },
}
