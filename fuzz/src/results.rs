//! Results of other programs: fio, Bonnie++, dd.
//! In: bytes of a file. Out: nothing; what was read must hold together as our own records do.

use crate::assert_said;
use crate::ledgers::assert_sound;
use ledger::import::import_bytes;

/// fio's JSON.
pub fn fio(data: &[u8]) {
    read(data, "fuzzed.json");
}

/// Bonnie++'s CSV.
pub fn bonnie(data: &[u8]) {
    read(data, "fuzzed.csv");
}

/// dd's output.
pub fn dd(data: &[u8]) {
    read(data, "fuzzed.txt");
}

fn read(data: &[u8], file: &str) {
    match import_bytes(data, file) {
        Ok(imported) => assert_sound(&imported),
        Err(refusal) => assert_said("a result", &refusal.to_string()),
    }
}
