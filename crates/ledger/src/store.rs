//! Opens a ledger and writes to it: one lock per run, one transaction per trial.
//! In: a path and records. Out: a file that holds every trial completely or not at all.

use crate::error::LedgerError;
use crate::fields::Fault;
use crate::guard::{self, check};
use crate::{lock, schema, unwritten};
use records::{Cause, ContenderRecord, NewRun, RunStatus, TrialRecord};
use rusqlite::{Connection, OpenFlags, params};
use serde::Serialize;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a statement waits for another process's transaction.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Characters of a file's own text that an error shows.
const SHOWN: usize = 300;

/// Suffixes of the files that SQLite and the lock keep next to a ledger: SQLite replays a write-ahead log or a journal into it.
const NEXT_TO_IT: [&str; 4] = ["-wal", "-shm", "-journal", ".lock"];

/// Purpose of opening a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only; possible during a run.
    Read,
    /// A run or an import; one at a time.
    Write,
}

/// An open ledger file.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    /// Device and inode of the open file.
    file: Option<(u64, u64)>,
    _lock: Option<File>,
    _copy: Option<tempfile::TempDir>,
}

impl Ledger {
    /// Opens a ledger; for writing, a missing file is created and an older one is migrated.
    ///
    /// # Errors
    /// A file that is not a ledger, is damaged, is newer, is missing (for reading) or is in use (for writing). None of these changes the file.
    pub fn open(path: &Path, access: Access) -> Result<Self, LedgerError> {
        if access == Access::Read {
            existing(path)?;
            if !unwritten::can_be_written(path) {
                return Self::open_unwritten(path);
            }
        }
        let refused = |doing| move |error: rusqlite::Error| refusal(path, doing, &error);
        let (real, lock) = match access {
            Access::Read => (path.canonicalize().unwrap_or_else(|_| path.into()), None),
            Access::Write => for_writing(path)?,
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(real, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)
            .map_err(refused("opening the ledger"))?;
        connection.busy_timeout(BUSY_WAIT).map_err(refused("opening the ledger"))?;
        let version = check(&connection, path)?;
        if version < schema::LATEST {
            if access == Access::Read && version == 0 {
                return Err(foreign(path, "it is empty"));
            }
            schema::migrate(&mut connection, version).map_err(|fault| failed(path, "updating the ledger", fault))?;
        }
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(refused("setting up the ledger"))?;
        Ok(Self { connection, path: path.into(), file: identity(path), _lock: lock, _copy: None })
    }

    /// Opens for writing a ledger whose content decides which commands run and which devices are formatted: only if no user but the caller
    /// and root can have written or replaced it.
    ///
    /// # Errors
    /// Another user owns, or could write, the file, a folder above it, or a file that SQLite or the lock keeps next to it; else as [`Ledger::open`].
    pub fn open_trusted(path: &Path) -> Result<Self, LedgerError> {
        let checked = |answer: Result<(), system::Untrusted>| {
            answer.map_err(|untrusted| LedgerError::Untrusted { path: path.into(), untrusted })
        };
        checked(system::callers_path(path))?;
        let refused = |error: std::io::Error| LedgerError::Refused {
            doing: "opening the ledger",
            path: path.into(),
            answer: error.to_string(),
        };
        let real = path.canonicalize().map_err(refused)?;
        let beside = NEXT_TO_IT.map(|ending| {
            let mut name = real.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        });
        beside
            .iter()
            .filter(|file| file.symlink_metadata().is_ok())
            .try_for_each(|file| checked(system::callers_path(file)))?;
        let ledger = Self::open(path, Access::Write)?;
        // In a folder such as /tmp another user may have created one of them meanwhile.
        checked(system::callers_open_files(&real))?;
        Ok(ledger)
    }

    /// Opens a ledger that is readable but not writable.
    fn open_unwritten(path: &Path) -> Result<Self, LedgerError> {
        let (ledger, version) = Self::looked_at(path)?;
        if version == schema::LATEST {
            return Ok(ledger);
        }
        // An older one is migrated in a copy.
        let (mut connection, copy) = unwritten::copy(path).map_err(unread(path))?;
        schema::migrate(&mut connection, version)
            .map_err(|fault| failed(path, "updating a copy of the ledger", fault))?;
        Ok(Self { connection, _copy: copy, ..ledger })
    }

    /// Opens a ledger for reading, without migration, and returns its version.
    fn looked_at(path: &Path) -> Result<(Self, i64), LedgerError> {
        let (connection, copy) = unwritten::open(path).map_err(unread(path))?;
        connection.busy_timeout(BUSY_WAIT).map_err(|error| refusal(path, "reading the ledger", &error))?;
        match check(&connection, path)? {
            0 => Err(foreign(path, "it is empty")),
            version => {
                let file = identity(path);
                Ok((Self { connection, path: path.into(), file, _lock: None, _copy: copy }, version))
            }
        }
    }

    /// Whether the path still leads to the open file. SQLite keeps writing to a file that was removed or replaced, and that data would be lost.
    ///
    /// # Errors
    /// The file is gone, or was replaced.
    pub fn still_the_same(&self) -> Result<(), LedgerError> {
        let gone = |what| Err(LedgerError::Gone { path: self.path.clone(), what });
        match (self.file, identity(&self.path)) {
            (open, now) if open == now => Ok(()),
            (_, None) => gone("was removed"),
            _ => gone("was replaced by another file"),
        }
    }

    /// Opens a ledger of unknown origin for reading: it is neither written nor migrated, and only its tables are trusted.
    ///
    /// # Errors
    /// A file that is not a ledger, is damaged, or is of another version.
    pub fn open_foreign(path: &Path) -> Result<Self, LedgerError> {
        match Self::looked_at(path)? {
            (ledger, schema::LATEST) => Ok(ledger),
            _ => {
                let way = "an older bakeoff wrote it; `bakeoff show --runs` with this ledger updates it";
                Err(foreign(path, way))
            }
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Saves the content of the open file to a new one next to it, for a ledger whose file was removed or replaced; None if that fails.
    pub fn save_beside(&self) -> Option<PathBuf> {
        let mut name = self.path.file_name()?.to_owned();
        name.push(format!(".saved-{}", std::process::id()));
        let path = self.path.with_file_name(name);
        // SQLite writes only to a missing or empty file, and would follow a link to create one.
        system::create::new_file(&path).ok()?;
        let saved = self.connection.execute("VACUUM INTO ?1", params![path.to_str()?]);
        // An empty file would be mistaken for a saved ledger.
        saved.inspect_err(|_| drop(std::fs::remove_file(&path))).ok()?;
        Some(path)
    }

    /// Begins a run with its contenders and returns its id.
    pub fn begin_run(&mut self, new: &NewRun, contenders: &[ContenderRecord]) -> Result<String, LedgerError> {
        let began = now_ms();
        let id = run_id(began, new.seed);
        self.in_transaction("beginning a run in", |transaction| {
            transaction.execute(
                "INSERT INTO runs (id, began_ms, status, title, seed, new_run) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![id, began, text(&RunStatus::Open), new.title, new.seed.to_string(), json(new)],
            )?;
            insert_contenders(transaction, &id, contenders)
        })?;
        Ok(id)
    }

    /// Stores a trial with its phases and commands, completely or not at all.
    pub fn keep_trial(&mut self, run: &str, trial: &TrialRecord) -> Result<(), LedgerError> {
        self.in_transaction("saving a trial in", |transaction| insert_trial(transaction, run, trial))
    }

    /// Records why a contender takes no further part, and whether that is permanent.
    pub fn set_contender_error(&mut self, run: &str, index: u32, error: &str, cause: Cause) -> Result<(), LedgerError> {
        let update = "UPDATE contenders SET error = ?3, cause = ?4 WHERE run = ?1 AND number = ?2";
        self.update("noting a contender's error in", update, params![run, index, error, text(&cause)])
    }

    /// Includes contenders again whose error was temporary.
    pub fn readmit(&mut self, run: &str) -> Result<(), LedgerError> {
        let update = "UPDATE contenders SET error = NULL, cause = NULL WHERE run = ?1 AND cause = ?2";
        self.update("including contenders again in", update, params![run, text(&Cause::Passing)])
    }

    /// Records the ceiling of this machine for a run.
    pub fn set_ceiling(&mut self, run: &str, ceiling: &records::outcome::Ceiling) -> Result<(), LedgerError> {
        self.update("noting the ceiling in", "UPDATE runs SET ceiling = ?2 WHERE id = ?1", params![run, json(ceiling)])
    }

    /// Reopens a run with another plan to continue with, such as one with more rounds. Contenders whose error is not known to be permanent
    /// are tried again.
    pub fn reopen(&mut self, run: &str, new: &NewRun) -> Result<(), LedgerError> {
        self.in_transaction("opening a run again in", |transaction| {
            transaction.execute(
                "UPDATE runs SET status = ?2, ended_ms = NULL, ending = NULL, new_run = ?3 WHERE id = ?1",
                params![run, text(&RunStatus::Open), json(new)],
            )?;
            transaction.execute(
                "UPDATE contenders SET error = NULL, cause = NULL WHERE run = ?1 AND cause IS NOT ?2",
                params![run, text(&Cause::Lasting)],
            )?;
            Ok(())
        })
    }

    /// Marks a run as in progress again.
    pub fn set_open(&mut self, run: &str) -> Result<(), LedgerError> {
        let update = "UPDATE runs SET status = ?2, ended_ms = NULL, ending = NULL WHERE id = ?1";
        self.update("opening a run in", update, params![run, text(&RunStatus::Open)])
    }

    /// Ends a run: its state, the reason, and its total duration in seconds by the monotonic clock.
    pub fn end_run(&mut self, run: &str, status: RunStatus, ending: &str, seconds: f64) -> Result<(), LedgerError> {
        let update =
            "UPDATE runs SET status = ?2, ended_ms = max(began_ms, ?3), ending = ?4, seconds = ?5 WHERE id = ?1";
        self.update("ending a run in", update, params![run, text(&status), now_ms(), ending, seconds])
    }

    pub(crate) fn refusal(&self, doing: &'static str, error: &rusqlite::Error) -> LedgerError {
        refusal(&self.path, doing, error)
    }

    pub(crate) fn fault(&self, doing: &'static str, fault: Fault) -> LedgerError {
        failed(&self.path, doing, fault)
    }

    fn update(&mut self, doing: &'static str, update: &str, values: impl rusqlite::Params) -> Result<(), LedgerError> {
        self.in_transaction(doing, |transaction| transaction.execute(update, values).map(drop))
    }

    pub(crate) fn in_transaction(
        &mut self,
        doing: &'static str,
        write: impl FnOnce(&rusqlite::Transaction) -> rusqlite::Result<()>,
    ) -> Result<(), LedgerError> {
        self.still_the_same()?;
        let path = self.path.clone();
        let refused = |error: rusqlite::Error| refusal(&path, doing, &error);
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(refused)?;
        write(&transaction).map_err(refused)?;
        transaction.commit().map_err(refused)
    }
}

/// Stores the contenders of a run, within its transaction.
pub(crate) fn insert_contenders(
    transaction: &rusqlite::Transaction,
    run: &str,
    contenders: &[ContenderRecord],
) -> rusqlite::Result<()> {
    for contender in contenders {
        transaction.execute(
            "INSERT INTO contenders (run, number, label, twin_of, asked, error, cause)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                run,
                contender.index,
                contender.label,
                contender.twin_of,
                json(&contender.asked),
                contender.error,
                contender.cause.as_ref().map(text)
            ],
        )?;
    }
    Ok(())
}

pub(crate) fn insert_trial(
    transaction: &rusqlite::Transaction,
    run: &str,
    trial: &TrialRecord,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO trials (run, block, position, attempt, contender, workload, scale, began_ms, ended_ms, status,
                             reason, found, closing, remarks, seconds, cause)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            run,
            trial.block,
            trial.position,
            trial.attempt,
            trial.contender,
            trial.workload,
            trial.scale,
            trial.began_ms,
            trial.ended_ms,
            text(&trial.status),
            trial.reason,
            json(&trial.found),
            json(&trial.closing),
            json(&trial.remarks),
            trial.seconds,
            trial.cause.as_ref().map(text)
        ],
    )?;
    let id = transaction.last_insert_rowid();
    for (place, phase) in trial.phases.iter().enumerate() {
        let outcome = &phase.outcome;
        transaction.execute(
            "INSERT INTO phases (trial, place, name, operation, cache, figure, preparation, pass, items, bytes_read,
                                 bytes_written, returned_ns, durable_ns, outcome, evidence)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            params![
                id,
                place as i64,
                phase.name,
                phase.operation,
                text(&phase.cache),
                text(&phase.figure),
                phase.preparation,
                outcome.pass,
                outcome.items as i64,
                outcome.bytes_read as i64,
                outcome.bytes_written as i64,
                outcome.returned_ns as i64,
                outcome.durable_ns.map(|ns| ns as i64),
                json(outcome),
                json(&phase.evidence)
            ],
        )?;
    }
    for (place, command) in trial.commands.iter().enumerate() {
        transaction.execute(
            "INSERT INTO commands (trial, place, line, status, output, elapsed_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, place as i64, command.line, command.status, command.output, command.elapsed_ns as i64],
        )?;
    }
    Ok(())
}

/// Checks that a ledger exists and is a regular file.
fn existing(path: &Path) -> Result<(), LedgerError> {
    let refused = |answer: String| LedgerError::Refused { doing: "opening the ledger", path: path.into(), answer };
    match path.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(foreign(path, "it is not a regular file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let way = "begin a run with `bakeoff run`, or name the ledger with --ledger";
            Err(refused(format!("there is no such file; {way}")))
        }
        Err(error) => Err(refused(error.to_string())),
    }
}

/// The real path of a ledger to be written, created if missing, and its lock.
fn for_writing(path: &Path) -> Result<(PathBuf, Option<File>), LedgerError> {
    let refused = |error: std::io::Error| LedgerError::Refused {
        doing: "opening the ledger",
        path: path.into(),
        answer: format!("{error}; choose a writable place with --ledger"),
    };
    // One file has one lock, by whatever name it is opened.
    let real = system::create::resolved(path).map_err(refused)?;
    if real.exists() {
        existing(path)?;
    } else if path.is_symlink() {
        let leads = format!("it is a link that leads to {}, which does not exist", real.display());
        return Err(refused(std::io::Error::other(leads)));
    }
    let lock = lock::beside(&real, path)?;
    match system::create::new_file(&real) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(refused(error)),
        _ => Ok((real, Some(lock))),
    }
}

/// Device and inode of a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

fn unread(path: &Path) -> impl Fn(String) -> LedgerError {
    move |answer| LedgerError::Refused { doing: "reading the ledger", path: path.into(), answer }
}

pub(crate) fn foreign(path: &Path, why: &str) -> LedgerError {
    LedgerError::Foreign { path: path.into(), why: why.into() }
}

fn failed(path: &Path, doing: &'static str, fault: Fault) -> LedgerError {
    match fault {
        Fault::Sql(error) => refusal(path, doing, &error),
        Fault::Strange { why } => foreign(path, &why),
        Fault::Field { place, field, why } => {
            LedgerError::Unreadable { path: path.into(), place: cut(&place), field: cut(&field), why: cut(&why) }
        }
    }
}

fn refusal(path: &Path, doing: &'static str, error: &rusqlite::Error) -> LedgerError {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DiskFull, NotADatabase, OutOfMemory, SystemIoFailure};
    match error.sqlite_error_code() {
        Some(NotADatabase | DatabaseCorrupt) => foreign(path, &format!("SQLite says \"{error}\"")),
        Some(DiskFull | SystemIoFailure | DatabaseBusy | OutOfMemory) => {
            LedgerError::ForNow { doing, path: path.into(), answer: error.to_string() }
        }
        _ if guard::was_endless(error) => foreign(path, "reading it takes too long for a ledger of its size"),
        _ => LedgerError::Refused { doing, path: path.into(), answer: cut(&error.to_string()) },
    }
}

/// A text that may repeat the file's content, for display: at most some hundred characters, without control characters.
fn cut(text: &str) -> String {
    text.chars()
        .take(SHOWN)
        .flat_map(|letter| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] })
        .collect()
}

pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records hold only values that JSON can carry")
}

/// The kebab-case name of an enum that serialises to a string.
pub(crate) fn text<T: Serialize>(value: &T) -> String {
    json(value).trim_matches('"').to_owned()
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// `20261120-160843-3f2a`: UTC, then four digits that distinguish runs begun within one second.
pub(crate) fn run_id(began_ms: i64, seed: u64) -> String {
    let stamp = jiff::Timestamp::from_millisecond(began_ms).unwrap_or_default();
    let mark = (seed ^ (seed >> 17) ^ began_ms as u64 ^ u64::from(std::process::id())) & 0xffff;
    format!("{}-{mark:04x}", stamp.strftime("%Y%m%d-%H%M%S"))
}
