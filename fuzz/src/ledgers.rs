//! Ledgers and what travels between them: other people's SQLite files, exported runs, histograms.
//! In: bytes. Out: nothing; what was read must hold together as our own records do.

use crate::assert_said;
use crate::seeds::{COLUMNS, Kind, small_ledger};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ledger::import::{Imported, export, import_bytes, import_file, merged};
use ledger::{Ledger, LedgerError, histogram as histograms};
use rusqlite::{Connection, params};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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
    let path = scratch("ledger.db");
    std::fs::write(&path, data).expect("memory takes it");
    match import_file(&path) {
        Ok(read) => read.runs.iter().for_each(assert_sound),
        Err(refusal) => assert_said("a ledger", &refusal.to_string()),
    }
    assert_eq!(std::fs::read(&path).expect("it is still there"), data, "a foreign file was written to");
}

/// A ledger of our own schema with values of somebody else's: a byte for the column, two for the length, the value; and so on.
/// Opening takes most of the time and is what [`file`] is for: connections stay open, and one input in [`WHOLE`] takes the whole way.
pub fn rows(data: &[u8]) {
    thread_local! {
        static DESK: RefCell<Desk> = RefCell::new(Desk::new());
    }
    DESK.with_borrow_mut(|desk| {
        if desk.put(data).is_err() {
            return;
        }
        if mixed(data).is_multiple_of(WHOLE) {
            taken_whole(&desk.path);
        }
        if let Err(refusal) = shown(&desk.reader, mixed(data).is_multiple_of(EXPORTED)) {
            assert_said("a ledger", &refusal.to_string());
        }
    });
}

/// Inputs of [`rows`] for each that is opened anew, and for each that is exported.
const WHOLE: u64 = 64;
const EXPORTED: u64 = 8;

/// A file that is imported: what was read can be exported, anonymous, and imported again.
fn taken_whole(path: &Path) {
    match import_file(path) {
        Ok(read) => {
            read.runs.iter().for_each(assert_sound);
            let ledger = Ledger::open_foreign(path).expect("it was just read");
            for run in &read.runs {
                let text = export(&ledger, &run.run.id, true).expect("what was read can be exported");
                import_bytes(text.as_bytes(), "again.json").expect("what was exported can be imported");
            }
        }
        Err(refusal) => assert_said("a ledger", &refusal.to_string()),
    }
}

/// Everything that showing a ledger reads, and what its runs are elsewhere.
fn shown(ledger: &Ledger, exported: bool) -> Result<(), LedgerError> {
    for run in ledger.runs()? {
        assert!(run.id.len() <= 64 && !run.id.contains(['/', '.']), "an id that is a path");
        ledger.contenders(&run.id)?;
        ledger.trials(&run.id)?;
        if exported {
            match import_bytes(export(ledger, &run.id, true)?.as_bytes(), "again.json") {
                Ok(again) => assert_sound(&again),
                Err(refusal) => assert_said("an exported run", &refusal.to_string()),
            }
        }
    }
    Ok(())
}

/// A small ledger that is written to again and again, and read as somebody else's.
struct Desk {
    path: PathBuf,
    file: File,
    fresh: Vec<u8>,
    /// SQLite believes what it has read until this number in the file is another one.
    changes: u32,
    writer: Connection,
    reader: Ledger,
}

impl Desk {
    fn new() -> Self {
        let path = scratch("rows.db");
        let fresh = small_ledger();
        std::fs::write(&path, &fresh).expect("memory takes it");
        // With an index beside it, the reader believes that the file may change.
        let index = path.with_extension("db-shm");
        std::fs::write(&index, "").expect("memory takes it");
        let reader = Ledger::open_foreign(&path).expect("it is a ledger");
        std::fs::remove_file(&index).expect("it is ours");
        let writer = Connection::open(&path).expect("SQLite opens it");
        // As any stranger could, whatever hangs on a row.
        let pragmas = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF";
        writer.execute_batch(pragmas).expect("it may");
        writer.set_prepared_statement_cache_capacity(2 * COLUMNS.len());
        let file = File::options().write(true).open(&path).expect("it is there");
        Self { path, file, fresh, changes: 1, writer, reader }
    }

    /// Makes the small ledger anew, with the values of an input.
    fn put(&mut self, data: &[u8]) -> rusqlite::Result<()> {
        self.changes = self.changes.wrapping_add(2);
        for place in [24, 92] {
            self.fresh[place..place + 4].copy_from_slice(&self.changes.to_be_bytes());
        }
        self.file.write_all_at(&self.fresh, 0).expect("memory takes it");
        self.file.set_len(self.fresh.len() as u64).expect("it may be cut");
        let transaction = self.writer.transaction()?;
        change(&transaction, data)?;
        transaction.commit()
    }
}

fn change(connection: &Connection, mut data: &[u8]) -> rusqlite::Result<()> {
    while let [column, low, high, rest @ ..] = data {
        let (table, column, kind) = COLUMNS[*column as usize % COLUMNS.len()];
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (value, rest) = rest.split_at(length);
        let mut set = connection.prepare_cached(&format!("UPDATE {table} SET {column} = ?1"))?;
        match kind {
            Kind::Text => set.execute(params![String::from_utf8_lossy(value)]),
            Kind::Number => {
                let number = value.iter().take(8).rev().fold(0, |number: i64, byte| (number << 8) | i64::from(*byte));
                set.execute(params![number])
            }
        }?;
        data = rest;
    }
    Ok(())
}

/// A number that follows from the input alone, so that an input always takes the same way.
fn mixed(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
        >> 32
}

/// A histogram as text; and its plain form, packed as it should be.
pub fn histogram(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        drop(histograms::read(text));
    }
    let body = stored(data);
    let mut packed = 0x1c84_9314_u32.to_be_bytes().to_vec();
    packed.extend((body.len() as u32).to_be_bytes());
    packed.extend(body);
    let Ok(histogram) = histograms::read(&BASE64_STANDARD.encode(packed)) else { return };
    assert!(histogram.distinct_values() <= MOST_COUNTS, "{} counts", histogram.distinct_values());
    let percentiles = [50.0, 100.0].map(|percentile| histogram.value_at_percentile(percentile));
    assert!(percentiles.is_sorted(), "{percentiles:?}");
    assert!(histogram.is_empty() || histogram.mean().is_finite());
}

/// Bytes in the form of zlib, as they are: packing them would take longer than reading them.
fn stored(data: &[u8]) -> Vec<u8> {
    let data = &data[..data.len().min(usize::from(u16::MAX))];
    let length = data.len() as u16;
    let mut body = vec![0x78, 0x01, 0x01];
    body.extend(length.to_le_bytes());
    body.extend((!length).to_le_bytes());
    body.extend(data);
    let (low, high) = data.iter().fold((1u32, 0u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65521;
        (low, (high + low) % 65521)
    });
    body.extend((high << 16 | low).to_be_bytes());
    body
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

/// A file to read, its own for each thread; `scripts/fuzz` has temporary files in memory.
fn scratch(name: &str) -> PathBuf {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a scratch folder");
    }
    FOLDER.with(|folder| folder.path().join(name))
}
