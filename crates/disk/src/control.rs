//! The protocol between the process that serves a disk and its client: one line of JSON for each request and each answer.

use crate::cut::State;
use crate::fault::{Chosen, Fault};
use crate::lateness::Lateness;
use crate::record::Record;
use serde::{Deserialize, Serialize};

/// Version of the protocol; both ends belong to one program.
pub const PROTOCOL: u32 = 3;

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Start to record changes of this file.
    Record(String),
    /// Record this mark.
    Mark(u64),
    /// Stop recording.
    Stop,
    /// Put the recorded file into a state that a power cut leaves.
    Offer {
        state: State,
        /// The disk reports a flush as done but does nothing.
        lying: bool,
    },
    /// Inject a fault into a file, in place of an earlier one.
    Harm { file: String, fault: Fault },
    /// Remove the fault.
    Mend,
    /// Flip a bit in each of these blocks of a file.
    Flip { file: String, chosen: Chosen },
    /// Report the lateness of all answered requests.
    Lateness,
    /// Unmount and exit.
    End,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The first message: the server is ready.
    Ready {
        protocol: u32,
    },
    Done,
    Recorded(Box<Record>),
    /// A number of blocks or requests.
    Counted(u64),
    Late(Box<Lateness>),
    /// The request failed, and why.
    Refused(String),
}
