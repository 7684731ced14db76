//! What the first client asks of all, and what each answers.
//! In: made by the first. Out: carried by broadcasts and gathers, as JSON.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use workload::message::Reply;
use workload::outcome::PhaseOutcome;
use workload::program::Program;

/// What all are to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Asked {
    /// Start engines anew and have each take the program.
    Load {
        /// The program of all; each puts its own number in.
        program: Box<Program>,
        /// What stands before the command of an engine: what it enters on its way.
        prefix: Vec<String>,
        /// A file that the first one made in the folder: who does not see it looks at another folder. None where all enter the same.
        mark: Option<PathBuf>,
    },
    /// Perform one pass together.
    Perform {
        /// Index of the phase.
        phase: usize,
        /// Pass, from 0.
        pass: u32,
        /// Counts what was performed, so that notes of earlier passes are known.
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
    /// Write back, and empty caches: on every machine but the first client's, once.
    EmptyCaches {
        /// The folder that is worked in.
        root: PathBuf,
        /// Whether caches are emptied, too.
        drop: bool,
    },
    /// End the engines.
    EndEngines,
    /// The run is over.
    Leave,
}

/// What one client answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It takes no part.
    Idle,
    /// What its engine said.
    Said(Box<Reply>),
    /// A pass is done.
    Done {
        /// What its engine counted.
        outcome: Box<PhaseOutcome>,
        /// Its clock less the first one's, in nanoseconds.
        offset_ns: i64,
        /// What that may be off by.
        error_ns: u64,
    },
    /// It could not be done.
    Failed {
        /// Why, in one sentence.
        reason: String,
        /// Something was ended from outside, by a signal.
        killed: bool,
    },
    /// It was ended because another could not go on.
    Ended,
    /// Caches were emptied on its machine, or why they were not.
    Emptied(Result<(), String>),
}
