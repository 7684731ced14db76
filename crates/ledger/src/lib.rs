//! The ledger: where every trial is kept, in one SQLite file, one transaction a trial.
//! In: records of runs, contenders and trials. Out: the same, as they were written, after any kind of end.
//! Knows nothing of how anything is judged or shown.

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

/// What records are made of.
pub use records::{facts, outcome, program};
