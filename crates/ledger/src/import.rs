//! Imports results of other programs, and exported runs, as runs of their own.
//! In: the bytes of a file and its name, treated as hostile. Out: records that [`Ledger::keep_imported`] stores.
//! Values missing in a file stay missing; only the kind of file is guessed.

mod bonnie;
mod dd;
mod fio;
mod foreign;
mod keep;
mod portable;
mod records;
pub(crate) mod shards;

pub use keep::Kept;
pub use portable::{PORTABLE_VERSION, document, export, export_of};
pub use shards::merged;

use crate::error::LedgerError;
use crate::{guard, published};
use ::records::{ContenderRecord, RunRecord, TrialRecord};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[cfg(doc)]
use crate::Ledger;

/// Largest file that is read, in bytes.
pub const FILE_LIMIT: u64 = 256 << 20;
/// Leading bytes by which a ledger is recognised.
const BEGINNING: u64 = 16;
/// Longest label that a file may give a contender or a phase, in characters.
const LABEL_LIMIT: usize = 200;
/// Longest reason for a refusal, in characters.
const WHY_LIMIT: usize = 400;
/// Most objects and values that a JSON text may hold: each takes far more memory than it has characters. A run of the largest allowed file
/// has half as many.
const OBJECTS_LIMIT: u64 = 1_500_000;
const VALUES_LIMIT: u64 = 32_000_000;
/// Most phases or lines that one file may hold.
const COUNT_LIMIT: usize = 20_000;

/// A run as read, not yet stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The run.
    pub run: RunRecord,
    /// Its contenders.
    pub contenders: Vec<ContenderRecord>,
    /// Its trials.
    pub trials: Vec<TrialRecord>,
}

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The system refused it.
    #[error("reading {file}: {answer}")]
    Reading {
        /// The file.
        file: String,
        /// The system's error text.
        answer: String,
    },
    /// The file is too large.
    #[error("reading {file}: it is larger than {limit} MiB, the limit for files of other programs")]
    TooLarge {
        /// The file.
        file: String,
        /// The limit, in MiB.
        limit: u64,
    },
    /// Its kind is unknown.
    #[error(
        "reading {file}: it is not a result of fio (--output-format=json or json+), Bonnie++ (CSV) or dd, an exported run or a ledger"
    )]
    Unknown {
        /// The file.
        file: String,
    },
    /// Its kind is known, but its content is inconsistent.
    #[error("reading {file} as {kind}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// The assumed kind.
        kind: &'static str,
        /// What is wrong.
        why: String,
    },
    /// It is a ledger that cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Content of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// Its runs: one, or all of a ledger.
    pub runs: Vec<Imported>,
    /// Whether it is a ledger, which may hold runs that are stored here already.
    pub is_ledger: bool,
}

/// Reads a file of any known kind, compressed with gzip or not.
///
/// # Errors
/// A file that cannot be read, is too large, is of unknown kind, or is inconsistent.
pub fn import_file(path: &Path) -> Result<Read, ImportError> {
    use std::io::Read as _;
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let reading = |error: std::io::Error| ImportError::Reading { file: file.clone(), answer: error.to_string() };
    let mut bytes = Vec::new();
    let mut source = system::input::open(path)
        .map_err(|problem| ImportError::Reading { file: file.clone(), answer: problem.to_string() })?;
    source.by_ref().take(BEGINNING).read_to_end(&mut bytes).map_err(reading)?;
    if foreign::looks_like(&bytes) {
        drop(source);
        return Ok(Read { runs: foreign::read(path)?, is_ledger: true });
    }
    source.take(FILE_LIMIT + 1 - bytes.len() as u64).read_to_end(&mut bytes).map_err(reading)?;
    if published::is_packed(&bytes) {
        let unpacked = published::unpacked(&bytes);
        bytes = unpacked.map_err(|answer| ImportError::Reading { file: file.clone(), answer })?;
    }
    Ok(Read { runs: vec![import_bytes(&bytes, &file)?], is_ledger: false })
}

/// The same from bytes; `file` is the displayed name, and its stem names the contender where the file does not.
///
/// # Errors
/// As [`import_file`].
pub fn import_bytes(bytes: &[u8], file: &str) -> Result<Imported, ImportError> {
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(ImportError::TooLarge { file: file.into(), limit: FILE_LIMIT >> 20 });
    }
    let text = String::from_utf8_lossy(bytes);
    let file = shortened(file);
    let malformed = |kind: &'static str| {
        let file = file.clone();
        move |why: String| ImportError::Malformed { file, kind, why }
    };
    // fio prints messages about its options before the JSON.
    if let Some(json) = text.find('{').map(|at| &text[at..]).filter(|_| !bonnie::looks_like(&text)) {
        if guard::objects(json.as_bytes()) > OBJECTS_LIMIT || guard::values(json.as_bytes()) > VALUES_LIMIT {
            let why = format!("it holds more than {OBJECTS_LIMIT} objects or {VALUES_LIMIT} values");
            return Err(malformed("JSON")(format!("{why}; import the ledger itself instead, which has no size limit")));
        }
        if portable::looks_like(json) {
            return portable::read(json).map_err(malformed("an exported run"));
        }
        if fio::looks_like(json) {
            return fio::read(json, &file).map_err(malformed("fio's JSON"));
        }
    }
    if bonnie::looks_like(&text) {
        return bonnie::read(&text, &file).map_err(malformed("Bonnie++'s CSV"));
    }
    if dd::looks_like(&text) {
        return dd::read(&text, &file).map_err(malformed("dd's output"));
    }
    Err(ImportError::Unknown { file })
}

/// An error of a reader, cut to a readable length: it may repeat content of the file.
fn error_text(error: &impl std::fmt::Display) -> String {
    error.to_string().chars().take(WHY_LIMIT).collect()
}

/// A text of a file used as a name, cut to a length that fits tables.
fn shortened(text: &str) -> String {
    text.trim().chars().take(LABEL_LIMIT).collect()
}

/// The name of a file without its folder and ending.
fn stem(file: &str) -> String {
    let name = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    shortened(&name.filter(|name| !name.is_empty()).unwrap_or_else(|| "imported".into()))
}
