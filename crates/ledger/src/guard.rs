//! What is trusted of a SQLite file of unknown origin: its tables must be exactly ours, and nothing else may be in it.
//! In: a freshly opened connection. Out: the schema version, or why the file is not used; bounds on the cost of reading it.
//! The rules are SQLite's own for untrusted files (sqlite.org/security.html), and some more.

use crate::error::LedgerError;
use crate::fields::Fault;
use crate::schema;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, Row};
use std::path::Path;

/// Largest row, in bytes; a phase with all its histograms takes a thousandth of it.
const ROW_LIMIT: i32 = 64 << 20;
/// Longest SQL, in bytes: the longest migration is a tenth of it.
const SQL_LIMIT: i32 = 64 << 10;
/// Other limits that our statements never reach. Foreign keys with ON DELETE CASCADE count as triggers.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_LENGTH, ROW_LIMIT),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_LIMIT),
    (Limit::SQLITE_LIMIT_COLUMN, 64),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 64),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 8),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 64),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 8),
    // One, for VACUUM INTO.
    (Limit::SQLITE_LIMIT_ATTACHED, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
/// Steps of SQLite's virtual machine between two checks of the remaining number.
const STEPS_EACH: i32 = 100_000;
/// Steps that any statement may take, plus some for each byte of the file: a row of ours takes less than one step per byte.
const STEPS: u64 = 50_000_000;
const STEPS_A_BYTE: u64 = 16;
/// Limits for the result of one statement: rows, bytes, and objects in their JSON (each of which takes far more memory than it has characters).
const ROWS: u64 = 5_000_000;
const BYTES: u64 = 1 << 30;
const OBJECTS: u64 = 8_000_000;

/// Disables what a file could use against its reader: views, triggers, functions in its schema, writes to the schema itself, and sizes that
/// no ledger has.
pub(crate) fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for power in [
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
    ] {
        connection.set_db_config(power, false)?;
    }
    for (limit, value) in LIMITS {
        connection.set_limit(limit, value)?;
    }
    connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")
}

/// The schema version of a ledger with valid tables and pages; 0 for an empty file.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<i64, LedgerError> {
    let why = |why: String| LedgerError::Foreign { path: path.into(), why };
    let damaged = |error: rusqlite::Error| why(format!("SQLite reports \"{error}\""));
    distrust(connection).map_err(damaged)?;
    let (application, version) = schema::identify(connection).map_err(damaged)?;
    let objects: i64 = bounded(connection, || {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(damaged)
    })?;
    if application == 0 && version == 0 && objects == 0 {
        return Ok(0);
    }
    if application != schema::APPLICATION_ID {
        return Err(why("it is a database of another program".into()));
    }
    if version > schema::LATEST {
        return Err(LedgerError::Newer { path: path.into(), found: version, known: schema::LATEST });
    }
    if version < 0 {
        return Err(why(format!("its schema has version {version}, which no bakeoff writes")));
    }
    match bounded(connection, || strange(connection, version)) {
        Ok(None) => {}
        Ok(Some(strange)) => return Err(why(strange)),
        Err(Fault::Sql(error)) => return Err(damaged(error)),
        Err(_) => return Err(why("its schema cannot be read".into())),
    }
    let sound: String = bounded(connection, || connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))
        .map_err(|error| why(format!("it is damaged: SQLite reports \"{error}\"")))?;
    match sound.as_str() {
        "ok" => Ok(version),
        found => Err(why(format!("it is damaged: SQLite reports \"{found}\""))),
    }
}

/// The part of a file's schema that differs from this program's; `None` if there is none.
fn strange(connection: &Connection, version: i64) -> Result<Option<String>, Fault> {
    let known = schema::objects(version)?;
    let mut found = 0;
    let mut statement = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let object = schema::Object::of(row)?;
        if !known.contains(&object) {
            let name: String = object.name.chars().take(40).collect();
            let kind: String = object.kind.chars().take(10).collect();
            return Ok(Some(match object.kind.as_str() {
                "view" | "trigger" => format!("it has the {kind} `{name}`; no ledger has views or triggers"),
                _ => format!("its {kind} `{name}` differs from that of bakeoff"),
            }));
        }
        found += 1;
    }
    Ok((found != known.len()).then(|| format!("it has {found} tables and indexes instead of {}", known.len())))
}

/// Runs statements with a limit on steps that depends only on the size of the file, whatever its content.
pub(crate) fn bounded<T>(connection: &Connection, run: impl FnOnce() -> T) -> T {
    let asked = |pragma: &str| connection.prepare_cached(pragma)?.query_row([], |row| row.get::<_, i64>(0));
    let size = |pragma: &str| asked(pragma).unwrap_or(0).max(0) as u64;
    let bytes = size("PRAGMA page_count").saturating_mul(size("PRAGMA page_size"));
    let mut left = STEPS.saturating_add(bytes.saturating_mul(STEPS_A_BYTE));
    let handler = move || {
        left = left.saturating_sub(STEPS_EACH as u64);
        left == 0
    };
    // Setting a handler fails only on a connection that another owner controls, which is never the case here.
    let _ = connection.progress_handler(STEPS_EACH, Some(handler));
    let answer = run();
    let _ = connection.progress_handler(0, None::<fn() -> bool>);
    answer
}

/// Whether [`bounded`] ended a statement.
pub(crate) fn was_endless(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

/// Counts the results of a statement, so that no file makes its reader take more memory than a ledger can need.
#[derive(Default)]
pub(crate) struct Brought {
    rows: u64,
    bytes: u64,
    objects: u64,
}

impl Brought {
    /// Counts a row.
    ///
    /// # Errors
    /// A limit is exceeded.
    pub fn note(&mut self, row: &Row) -> Result<(), Fault> {
        self.rows += 1;
        for place in 0.. {
            let Ok(value) = row.get_ref(place) else { break };
            if let Ok(bytes) = value.as_bytes() {
                self.bytes += bytes.len() as u64;
                self.objects += objects(bytes);
            }
        }
        let why = match self {
            Self { rows, .. } if *rows > ROWS => format!("one run has more than {ROWS} rows"),
            Self { bytes, .. } if *bytes > BYTES => format!("one run has more than {} MiB", BYTES >> 20),
            Self { objects, .. } if *objects > OBJECTS => format!("one run has more than {OBJECTS} records"),
            _ => return Ok(()),
        };
        Err(Fault::Strange { why })
    }
}

/// Most JSON objects and arrays that a text can hold.
pub(crate) fn objects(text: &[u8]) -> u64 {
    text.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() as u64
}

/// Most values in JSON arrays and objects that a text can hold.
pub(crate) fn values(text: &[u8]) -> u64 {
    objects(text) + text.iter().filter(|byte| **byte == b',').count() as u64
}
