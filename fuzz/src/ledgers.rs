//! Ledgers and what travels between them: other people's SQLite files, exported runs, histograms.
//! In: bytes. Out: nothing; what was read must hold together as our own records do.

use crate::assert_said;
use crate::seeds::{COLUMNS, Kind, small_ledger};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ledger::import::{Imported, export, import_bytes, import_file, merged};
use ledger::{Ledger, LedgerError, histogram as histograms};
use rusqlite::{Connection, params};
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Most counts that a histogram of three digits may have, whatever its range.
const MOST_COUNTS: usize = 1 << 17;

/// A run exported elsewhere; two of it are put together as shards where it says that it is one.
pub fn portable(data: &[u8]) {
    match import_bytes(data, "fuzzed.json") {
        Ok(imported) => {
            assert_sound(&imported);
            match merged(&[imported.clone(), imported]) {
                Ok(merged) => assert_sound(&merged),
                Err(refusal) => assert!(!refusal.is_empty()),
            }
        }
        Err(refusal) => assert_said("an exported run", &refusal.to_string()),
    }
}

/// A whole SQLite file, imported; it stays as it is.
pub fn file(data: &[u8]) {
    let path = scratch();
    std::fs::write(&path, data).expect("memory takes it");
    match import_file(&path) {
        Ok(read) => read.runs.iter().for_each(assert_sound),
        Err(refusal) => assert_said("a ledger", &refusal.to_string()),
    }
    assert_eq!(std::fs::read(&path).expect("it is still there"), data, "a foreign file was written to");
}

/// A ledger of our own schema with values of somebody else's: a byte for the column, two for the length, the value; and so on.
pub fn rows(data: &[u8]) {
    static SMALL: OnceLock<Vec<u8>> = OnceLock::new();
    let path = scratch();
    std::fs::write(&path, SMALL.get_or_init(small_ledger)).expect("memory takes it");
    if change(&path, data).is_err() {
        return;
    }
    match import_file(&path) {
        Ok(read) => {
            read.runs.iter().for_each(assert_sound);
            let ledger = Ledger::open_foreign(&path).expect("it was just read");
            for run in &read.runs {
                let text = export(&ledger, &run.run.id, true).expect("what was read can be exported");
                import_bytes(text.as_bytes(), "again.json").expect("what was exported can be imported");
            }
        }
        Err(refusal) => assert_said("a ledger", &refusal.to_string()),
    }
    if let Err(refusal) = Ledger::open_foreign(&path).and_then(|ledger| shown(&ledger)) {
        assert_said("a ledger", &refusal.to_string());
    }
}

/// Everything that showing a ledger reads.
fn shown(ledger: &Ledger) -> Result<(), LedgerError> {
    for run in ledger.runs()? {
        assert!(run.id.len() <= 64 && !run.id.contains(['/', '.']), "an id that is a path");
        ledger.contenders(&run.id)?;
        ledger.trials(&run.id)?;
    }
    Ok(())
}

fn change(path: &std::path::Path, mut data: &[u8]) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    while let [column, low, high, rest @ ..] = data {
        let (table, column, kind) = COLUMNS[*column as usize % COLUMNS.len()];
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (value, rest) = rest.split_at(length);
        let set = format!("UPDATE {table} SET {column} = ?1");
        match kind {
            Kind::Text => connection.execute(&set, params![String::from_utf8_lossy(value)]),
            Kind::Number => {
                let number = value.iter().take(8).rev().fold(0, |number: i64, byte| (number << 8) | i64::from(*byte));
                connection.execute(&set, params![number])
            }
        }?;
        data = rest;
    }
    connection.execute_batch("COMMIT")
}

/// A histogram as text; and its plain form, packed as it should be.
pub fn histogram(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        drop(histograms::read(text));
    }
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    deflated.write_all(data).expect("memory takes it");
    let body = deflated.finish().expect("memory takes it");
    let mut packed = 0x1c84_9314_u32.to_be_bytes().to_vec();
    packed.extend((body.len() as u32).to_be_bytes());
    packed.extend(body);
    let Ok(histogram) = histograms::read(&BASE64_STANDARD.encode(packed)) else { return };
    assert!(histogram.distinct_values() <= MOST_COUNTS, "{} counts", histogram.distinct_values());
    let percentiles = [50.0, 100.0].map(|percentile| histogram.value_at_percentile(percentile));
    assert!(percentiles.is_sorted(), "{percentiles:?}");
    assert!(histogram.is_empty() || histogram.mean().is_finite());
}

/// What the rest of the program takes for granted of records.
pub fn assert_sound(imported: &Imported) {
    for trial in &imported.trials {
        assert!((trial.contender as usize) < imported.contenders.len(), "a trial of nobody");
        assert!(trial.began_ms <= trial.ended_ms, "a trial that ended before it began");
    }
    assert!(imported.contenders.iter().zip(0..).all(|(contender, place)| contender.index == place));
    assert!(imported.run.id.len() <= 64 && !imported.run.id.contains(['/', '.']), "an id that is a path");
}

/// A file to read, one for each thread; `scripts/fuzz` has temporary files in memory.
fn scratch() -> PathBuf {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a scratch folder");
    }
    FOLDER.with(|folder| folder.path().join("ledger.db"))
}
