//! The ledger: where every trial is kept, in one SQLite file, one transaction a trial.
//! In: records of runs, contenders and trials. Out: the same, as they were written, after any kind of end.
//! Knows nothing of how anything is judged or shown.

mod error;
pub mod import;
mod read;
mod record;
mod schema;
mod store;

pub use error::LedgerError;
pub use record::{
    CommandRecord, ContenderRecord, Evidence, NewRun, Origin, PhaseRecord, RunRecord, RunStatus, TrialRecord,
    TrialStatus, WorkRecord,
};
pub use store::{Access, Ledger};
pub use workload::outcome::GroupOutcome;

/// What records are made of, for those who read them and do not know the workload language.
pub use workload::{facts, outcome, program};
