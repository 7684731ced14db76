//! `bakeoff import FILE`: results of other programs, and runs exported elsewhere.
//! In: files. Out: one run a file in the ledger, marked as not measured here.

use crate::args::ImportArgs;
use crate::failure::Failure;
use ledger::{Access, Ledger};
use std::path::Path;

/// Reads every file before the first is kept, so that a bad one leaves nothing behind.
pub fn import(path: &Path, args: &ImportArgs) -> Result<u8, Failure> {
    let read: Vec<_> = args.files.iter().map(|file| ledger::import::import_file(file)).collect::<Result<_, _>>()?;
    let mut ledger = Ledger::open(path, Access::Write)?;
    for (file, imported) in args.files.iter().zip(&read) {
        let run = ledger.keep_imported(imported)?;
        println!("{} is now run {run}; see `bakeoff show {run}`", file.display());
    }
    Ok(0)
}
