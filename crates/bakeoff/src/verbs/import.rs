//! `bakeoff import FILE`: results of other programs, runs exported elsewhere, and whole ledgers.
//! In: files. Out: runs in the ledger, marked as not measured here; shards of one plan become one run.

use crate::args::ImportArgs;
use crate::failure::Failure;
use ledger::import::{Kept, import_file};
use ledger::{Access, Ledger};
use std::path::Path;

/// Reads every file before the first is kept, so that a bad one leaves nothing behind.
pub fn import(path: &Path, args: &ImportArgs) -> Result<u8, Failure> {
    let read = args.files.iter().map(|file| import_file(file)).collect::<Result<Vec<_>, _>>()?;
    let mut ledger = Ledger::open(path, Access::Write)?;
    for kept in ledger.keep_read(read)? {
        println!("{}", told(args, &kept));
    }
    Ok(0)
}

fn told(args: &ImportArgs, kept: &Kept) -> String {
    let mut files: Vec<String> = kept.files.iter().map(|file| args.files[*file].display().to_string()).collect();
    files.dedup();
    let (files, run) = (files.join(", "), &kept.run);
    let plural = if kept.files.len() == 1 { "is" } else { "are" };
    match (kept.is_new, kept.shards) {
        (false, None) => format!("{files}: run {run} is here already"),
        (false, Some(_)) => format!("{files}: nothing new for run {run}"),
        (true, None) => format!("{files} {plural} now run {run}; see `bakeoff show {run}`"),
        (true, Some((now, of))) if now == of => {
            format!("{files}: run {run} now has all {of} shards of its plan; see `bakeoff show {run}`")
        }
        (true, Some((now, of))) => {
            format!("{files}: run {run} now has {now} of the {of} shards of its plan; import the others, too")
        }
    }
}
