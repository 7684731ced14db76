//! Requests of the first client to all clients, and their answers.
//! In: built by the first. Out: carried by broadcasts and gathers, as JSON.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use workload::message::Reply;
use workload::outcome::PhaseOutcome;
use workload::program::Program;

/// A request to all clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Asked {
    /// Start new engines and load the program in each.
    Load {
        /// The program of all; each client inserts its own number.
        program: Box<Program>,
        /// Words before the engine's command, by which it enters namespaces or a control group.
        prefix: Vec<String>,
        /// A file that the first client made in the folder. A client that does not see it has another folder. None if all clients enter the same.
        mark: Option<PathBuf>,
    },
    /// Perform one pass together.
    Perform {
        /// Index of the phase.
        phase: usize,
        /// Pass, from 0.
        pass: u32,
        /// Sequence number, which identifies notes of earlier passes.
        number: u64,
    },
    /// Read the files of a phase once.
    Warm {
        /// Index of the phase.
        phase: usize,
    },
    /// Count cached pages.
    CountCached {
        /// Index of the phase.
        phase: usize,
    },
    /// Write back, and empty caches, once on every machine except the first client's.
    EmptyCaches {
        /// The working folder.
        root: PathBuf,
        /// Whether caches are emptied, too.
        drop: bool,
    },
    /// End the engines.
    EndEngines,
    /// The run is over.
    Leave,
}

/// The answer of one client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It takes no part.
    Idle,
    /// The reply of its engine.
    Said(Box<Reply>),
    /// The pass is done.
    Done {
        /// What its engine counted.
        outcome: Box<PhaseOutcome>,
        /// Its clock minus the first client's, in nanoseconds.
        offset_ns: i64,
        /// Error bound of that offset.
        error_ns: u64,
    },
    /// The request failed.
    Failed {
        /// Why, in one sentence.
        reason: String,
        /// A process was killed by a signal from outside.
        killed: bool,
    },
    /// It was stopped because another client failed.
    Ended,
    /// The result of emptying the caches of its machine.
    Emptied(Result<(), String>),
}
