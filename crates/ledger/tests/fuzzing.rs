//! Modified files are read or refused: never a panic, never records that cannot be judged.

#[path = "../../../tests/mutate.rs"]
mod mutate;
mod support;

use ledger::import::{Imported, export, import_bytes, import_file};
use ledger::{Access, Ledger};
use std::path::Path;
use support::{SAMPLES, sample};

fn samples() -> Vec<Vec<u8>> {
    SAMPLES.iter().map(|name| sample(name)).collect()
}

/// A ledger with a run in it, fully written.
fn ledger_with_a_run(folder: &Path) -> (Ledger, String) {
    let imported = import_bytes(&samples()[3], "bonnie.csv").expect("it is read");
    let mut ledger = Ledger::open(&folder.join("a.db"), Access::Write).expect("a ledger");
    let id = ledger.keep_imported(&imported).expect("it is kept");
    (ledger, id)
}

/// What the rest of the program assumes.
fn assert_sound(imported: &Imported) {
    for trial in &imported.trials {
        assert!((trial.contender as usize) < imported.contenders.len(), "a trial of no contender");
        assert!(trial.began_ms <= trial.ended_ms, "a trial that ended before it began");
    }
    assert!(imported.contenders.iter().zip(0..).all(|(contender, place)| contender.index == place));
}

fn temporary() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn results_of_others_with_parts_changed_are_read_or_refused() {
    mutate::fuzz("results", &samples(), 4000, temporary(), |bytes| {
        if let Ok(imported) = import_bytes(bytes, "changed") {
            assert_sound(&imported);
        }
    });
}

#[test]
fn an_exported_run_with_parts_changed_is_read_or_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (ledger, id) = ledger_with_a_run(folder.path());
    let texts = [false, true].map(|anonymous| export(&ledger, &id, anonymous).expect("it is exported").into_bytes());
    mutate::fuzz("exported", &texts, 1500, temporary(), |bytes| {
        if let Ok(imported) = import_bytes(bytes, "changed") {
            assert_sound(&imported);
        }
    });
}

#[test]
fn a_ledger_with_parts_changed_is_read_or_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (ledger, _) = ledger_with_a_run(folder.path());
    drop(ledger);
    let whole = std::fs::read(folder.path().join("a.db")).expect("the file");
    let untouched = import_file(&folder.path().join("a.db")).expect("as it was written it is read");
    assert_eq!((untouched.is_ledger, untouched.runs.len()), (true, 1));
    let path = folder.path().join("changed.db");
    let (mut read, mut refused) = (0, 0);
    mutate::fuzz("ledger", &[whole], 250, temporary(), |bytes| {
        std::fs::write(&path, bytes).expect("a scratch file");
        match import_file(&path) {
            Ok(found) => {
                found.runs.iter().for_each(assert_sound);
                read += 1;
            }
            Err(_) => refused += 1,
        }
        assert_eq!(std::fs::read(&path).expect("it is still there"), bytes, "a foreign file was written to");
    });
    assert!(read > 0 && refused > 0, "{read} were read and {refused} refused: the changes are too small or too large");
}
