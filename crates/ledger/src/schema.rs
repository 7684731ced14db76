//! The schema of a ledger file, and its migration from one version to the next.
//! In: an open SQLite connection. Out: the same at the latest version, or an error that leaves it untouched.
//! Rule for changes: append a migration, never edit one that has shipped.

use crate::fields::Fault;
use crate::migrate;
use rusqlite::{Connection, Row, Transaction};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Marks the file as a ledger: "Bake" in ASCII.
pub const APPLICATION_ID: i64 = 0x4261_6b65;

/// Migrates a file from one version to the next.
type Step = fn(&Transaction) -> Result<(), Fault>;

/// One entry per version; entry `n` migrates version `n` to `n + 1`.
const STEPS: &[Step] =
    &[tables, migrate::typed_documents, durations_and_causes, migrate::cold_starts, durations_of_runs];

/// The tables of version 1.
const TABLES: &str = "
CREATE TABLE runs (
  id           TEXT PRIMARY KEY,
  began_ms     INTEGER NOT NULL,
  ended_ms     INTEGER,
  status       TEXT NOT NULL,
  ending       TEXT,
  title        TEXT NOT NULL,
  seed         TEXT NOT NULL,           -- unsigned 64 bits, as text
  new_run      TEXT NOT NULL,           -- JSON of NewRun
  ceiling      TEXT                     -- JSON
) STRICT;
CREATE TABLE contenders (
  run          TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  number       INTEGER NOT NULL,
  label        TEXT NOT NULL,
  twin_of      INTEGER,
  asked        TEXT NOT NULL,           -- JSON
  error        TEXT,
  PRIMARY KEY (run, number)
) STRICT;
CREATE TABLE trials (
  id           INTEGER PRIMARY KEY,
  run          TEXT NOT NULL,
  block        INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  contender    INTEGER NOT NULL,
  workload     TEXT NOT NULL,
  scale        TEXT NOT NULL,
  began_ms     INTEGER NOT NULL,
  ended_ms     INTEGER NOT NULL,
  status       TEXT NOT NULL,
  reason       TEXT,
  found        TEXT NOT NULL,           -- JSON
  closing      TEXT NOT NULL,           -- JSON
  remarks      TEXT NOT NULL,           -- JSON
  FOREIGN KEY (run, contender) REFERENCES contenders(run, number) ON DELETE CASCADE,
  UNIQUE (run, block, contender, workload, scale, attempt)
) STRICT;
CREATE TABLE phases (
  trial        INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
  place        INTEGER NOT NULL,        -- order of performance
  name         TEXT NOT NULL,
  operation    TEXT NOT NULL,
  cache        TEXT NOT NULL,
  figure       TEXT NOT NULL,
  preparation  INTEGER NOT NULL,
  pass         INTEGER NOT NULL,
  items        INTEGER NOT NULL,
  bytes_read   INTEGER NOT NULL,
  bytes_written INTEGER NOT NULL,
  returned_ns  INTEGER NOT NULL,
  durable_ns   INTEGER,
  outcome      TEXT NOT NULL,           -- JSON of PhaseOutcome, histograms in HDR interchange form
  evidence     TEXT NOT NULL,           -- JSON of Evidence
  PRIMARY KEY (trial, place)
) STRICT;
CREATE TABLE commands (
  trial        INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
  place        INTEGER NOT NULL,
  line         TEXT NOT NULL,
  status       INTEGER,
  output       TEXT NOT NULL,
  elapsed_ns   INTEGER NOT NULL,
  PRIMARY KEY (trial, place)
) STRICT;
CREATE INDEX trials_by_run ON trials (run, block, position);
";

fn tables(transaction: &Transaction) -> Result<(), Fault> {
    Ok(transaction.execute_batch(TABLES)?)
}

/// Version 3 adds a trial's duration by the monotonic clock, and whether a failure is permanent.
fn durations_and_causes(transaction: &Transaction) -> Result<(), Fault> {
    Ok(transaction.execute_batch(
        "ALTER TABLE trials ADD COLUMN seconds REAL;
         ALTER TABLE trials ADD COLUMN cause TEXT;
         ALTER TABLE contenders ADD COLUMN cause TEXT;",
    )?)
}

/// Version 5 adds a run's duration by the monotonic clock.
fn durations_of_runs(transaction: &Transaction) -> Result<(), Fault> {
    Ok(transaction.execute_batch("ALTER TABLE runs ADD COLUMN seconds REAL;")?)
}

/// Latest schema version that this program knows.
pub const LATEST: i64 = STEPS.len() as i64;

/// Application id and schema version of an open file; both 0 for an empty one.
pub fn identify(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((application, version))
}

/// Migrates a file from `version` to [`LATEST`], in one transaction.
pub fn migrate(connection: &mut Connection, version: i64) -> Result<(), Fault> {
    let transaction = connection.transaction()?;
    for step in &STEPS[version as usize..] {
        step(&transaction)?;
    }
    transaction.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {LATEST};"))?;
    Ok(transaction.commit()?)
}

/// A table or index as listed in sqlite_schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The table that it belongs to.
    pub table: String,
    /// Its SQL; absent for objects that SQLite creates by itself.
    pub sql: Option<String>,
}

impl Object {
    /// From a row with type, name, table and SQL.
    pub fn of(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, sql: row.get(3)? })
    }
}

/// All objects of a ledger of this version.
pub fn objects(version: i64) -> Result<&'static BTreeSet<Object>, Fault> {
    // The result is the same for all files, and costs more than reading a small one.
    static KNOWN: [OnceLock<BTreeSet<Object>>; STEPS.len() + 1] = [const { OnceLock::new() }; STEPS.len() + 1];
    let version = usize::try_from(version).unwrap_or(0).min(STEPS.len());
    if let Some(known) = KNOWN[version].get() {
        return Ok(known);
    }
    let mut fresh = Connection::open_in_memory()?;
    let transaction = fresh.transaction()?;
    STEPS[..version].iter().try_for_each(|step| step(&transaction))?;
    let mut statement = transaction.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let made = statement.query_map([], Object::of)?.collect::<rusqlite::Result<_>>()?;
    Ok(KNOWN[version].get_or_init(|| made))
}
