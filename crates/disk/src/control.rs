//! What is said between the process that serves a disk and the one that uses it: one line of JSON each, a question and its answer.

use crate::cut::State;
use crate::fault::{Chosen, Fault};
use crate::lateness::Lateness;
use crate::record::Record;
use serde::{Deserialize, Serialize};

/// Version of what is said; both ends are of one program.
pub const PROTOCOL: u32 = 3;

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Record what is done to this file from now on.
    Record(String),
    /// Write this word down among what is done.
    Mark(u64),
    /// Record no more.
    Stop,
    /// Have the recorded file be as a power cut leaves it.
    Offer {
        state: State,
        /// Of a disk that says a flush is done and does nothing.
        lying: bool,
    },
    /// Have this be wrong with a file, instead of what is.
    Harm { file: String, fault: Fault },
    /// Have nothing be wrong any more.
    Mend,
    /// Turn a bit over in each of these blocks of a file.
    Flip { file: String, chosen: Chosen },
    /// How late was everything that was answered?
    Lateness,
    /// Unmount and end.
    End,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The first word: it serves.
    Ready {
        protocol: u32,
    },
    Done,
    Recorded(Box<Record>),
    /// So many blocks or requests.
    Counted(u64),
    Late(Box<Lateness>),
    /// It cannot be done; why.
    Refused(String),
}
