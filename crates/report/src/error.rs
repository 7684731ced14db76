//! Errors of showing a run, each with what the user can do.
//! In: errors of the ledger, the judge and the system. Out: one sentence.

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
        /// The cause.
        answer: String,
    },
    /// A file or folder could not be written.
    #[error("writing {path}: {answer}; name another folder with -o (for `bakeoff run`: --report)")]
    Writing {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        answer: String,
    },
    /// A chart could not be drawn.
    #[error("drawing the chart {chart}: {answer}; choose other formats with --format")]
    Drawing {
        /// Which chart.
        chart: String,
        /// The library's error.
        answer: String,
    },
    /// A requested cell, contender or axis does not exist.
    #[error("looking for the {part} {asked}: {why}")]
    NoSuch {
        /// `cell`, `axis` or `contender`.
        part: &'static str,
        /// The requested name.
        asked: String,
        /// What exists instead.
        why: String,
    },
}
