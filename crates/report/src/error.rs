//! What can go wrong while showing a run, each with what the person can do.
//! In: what the ledger, the judge and the system answered. Out: one sentence.

use std::path::PathBuf;

/// Why a run could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] ledger::LedgerError),
    /// The samples cannot be judged.
    #[error("judging run {run}: {answer}")]
    Judging {
        /// The run.
        run: String,
        /// Why not.
        answer: String,
    },
    /// A file or folder could not be written.
    #[error("writing {path}: {answer}; name another folder with -o (for `bakeoff run`: --report)")]
    Writing {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        answer: String,
    },
    /// A chart could not be drawn.
    #[error("drawing the chart {chart}: {answer}; choose other formats with --format")]
    Drawing {
        /// Which chart.
        chart: String,
        /// What the library answered.
        answer: String,
    },
    /// A cell or contender was asked for that is not there, or a pivot on what was not varied.
    #[error("looking for the {part} {asked}: {why}")]
    NoSuch {
        /// `cell`, `axis` or `contender`.
        part: &'static str,
        /// As it was asked for.
        asked: String,
        /// What there is instead.
        why: String,
    },
}
