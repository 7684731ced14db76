//! Errors of a ledger file, each with the user's remedy.
//! In: errors of SQLite and the system. Out: one sentence.

use std::path::PathBuf;

/// Why a ledger could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file was written by a later version of the program.
    #[error(
        "opening the ledger {path}: it has schema {found}, this bakeoff supports up to {known}; use the bakeoff that wrote it, or a newer one"
    )]
    Newer {
        /// The ledger file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The latest that this program knows.
        known: i64,
    },
    /// The file is not a ledger, or a damaged one.
    #[error(
        "opening the ledger {path}: {why}; it is not changed. Name another file with --ledger, or move this one away"
    )]
    Foreign {
        /// The ledger file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// Another user could have written it, or could replace it.
    #[error(
        "acting on the database file {path}: {untrusted}. It decides which commands run and which devices are formatted, so it, the files next to it that \
         begin with its name, and the folders above must belong to you or to root, and no other user may write them. `bakeoff show` \
         still reads it; to measure, begin a run with your own database file (--ledger)"
    )]
    Untrusted {
        /// The ledger file.
        path: PathBuf,
        /// The file or folder at fault, its owner, and why it is not trusted.
        untrusted: system::Untrusted,
    },
    /// Another run writes to it.
    #[error(
        "opening the ledger {path} for a run: another bakeoff{holder} is using it; wait for it, or name another file with --ledger"
    )]
    Busy {
        /// The ledger file.
        path: PathBuf,
        /// The process, as text; empty if unknown.
        holder: String,
    },
    /// The open file is no longer at its path.
    #[error("the ledger {path} {what} during the run; its earlier content was in the old file")]
    Gone {
        /// The ledger file.
        path: PathBuf,
        /// What happened to it.
        what: &'static str,
    },
    /// No such run.
    #[error("looking for run {asked} in {path}: {why}")]
    NoSuchRun {
        /// The ledger file.
        path: PathBuf,
        /// The requested run.
        asked: String,
        /// What exists instead.
        why: String,
    },
    /// A field holds a value that a ledger of this version never has there.
    #[error(
        "reading the ledger {path}: {place}: the field {field} cannot be read: {why}. The ledger was changed or damaged after it was written; use an undamaged copy, or `bakeoff export` its other runs"
    )]
    Unreadable {
        /// The ledger file.
        path: PathBuf,
        /// The run, and within it the contender, or the trial with its number from 0.
        place: String,
        /// Name of the field, with the path to it: `found.device.size_bytes`.
        field: String,
        /// What is wrong.
        why: String,
    },
    /// A temporary refusal of the system: no space, an I/O error, another process's long transaction.
    #[error("{doing} {path}: {answer}; its earlier content is unchanged")]
    ForNow {
        /// The operation.
        doing: &'static str,
        /// The ledger file.
        path: PathBuf,
        /// The error text.
        answer: String,
    },
    /// The system or SQLite refused.
    #[error("{doing} {path}: {answer}")]
    Refused {
        /// The operation.
        doing: &'static str,
        /// The ledger file.
        path: PathBuf,
        /// The error text.
        answer: String,
    },
}
