//! The ledger: stores every trial in one SQLite file, in one transaction per trial.
//! In: records of runs, contenders and trials. Out: the same records as written, however the program ended.
//! It knows nothing of how results are judged or shown.

pub mod anonymous;
mod error;
mod fields;
mod guard;
pub mod histogram;
pub mod import;
mod json;
mod lock;
mod migrate;
pub mod published;
mod read;
mod schema;
mod sound;
mod store;
mod unwritten;

pub use error::LedgerError;
pub use records::outcome::GroupOutcome;
pub use records::{
    Cause, CommandRecord, ContenderRecord, Evidence, Merged, NewRun, Origin, Part, PhaseRecord, RunRecord, RunStatus,
    TrialRecord, TrialStatus, WorkRecord,
};
pub use store::{Access, Ledger};

/// Types of the records.
pub use records::{facts, outcome, program};
