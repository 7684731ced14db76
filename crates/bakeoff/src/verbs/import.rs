//! `bakeoff import FILE`: results of other programs, runs exported elsewhere, and whole ledgers; job files of fio as workloads.
//! In: files. Out: runs in the ledger, marked as not measured here, with shards of one plan as one run; or workload files.

use super::export::write_new;
use crate::args::{ImportArgs, ImportInto};
use crate::failure::Failure;
use crate::fio_jobs;
use ledger::import::{Kept, import_file};
use ledger::{Access, Ledger};
use std::path::{Path, PathBuf};

/// Imports the files as requested.
pub fn import(path: &Path, args: &ImportArgs) -> Result<u8, Failure> {
    match (args.into, &args.output) {
        (ImportInto::Workload, _) => workloads(args),
        (ImportInto::Runs, None) if !args.map.is_empty() => {
            Err(Failure::usage("--map needs --as workload: it is for job files of fio"))
        }
        (ImportInto::Runs, None) => runs(path, args),
        (ImportInto::Runs, Some(_)) => Err(Failure::usage("--output needs --as workload; runs go into the ledger")),
    }
}

/// Writes a workload file for each job file; all are translated before the first is written.
fn workloads(args: &ImportArgs) -> Result<u8, Failure> {
    if args.output.is_some() && args.files.len() > 1 {
        return Err(Failure::usage("--output names one file, and several files are to be translated; leave it out"));
    }
    let texts = args.files.iter().map(|file| fio_jobs::translated(file, &args.map)).collect::<Result<Vec<_>, _>>()?;
    for (file, text) in args.files.iter().zip(texts) {
        let own = || PathBuf::from(file.file_stem().unwrap_or_default()).with_extension("toml");
        let to = args.output.clone().unwrap_or_else(own);
        write_new(&to, text.as_bytes())?;
        println!("{} was converted to {}; `bakeoff run ./{}` runs it", file.display(), to.display(), to.display());
        let differences =
            text.lines().take_while(|line| line.starts_with('#')).filter_map(|line| line.strip_prefix("#   "));
        differences.for_each(|line| println!("  left out or different from fio: {line}"));
    }
    Ok(0)
}

/// Reads every file before the first is stored, so that a bad one leaves nothing behind.
fn runs(path: &Path, args: &ImportArgs) -> Result<u8, Failure> {
    let read = args.files.iter().map(|file| import_file(file)).collect::<Result<Vec<_>, _>>()?;
    let mut ledger = Ledger::open(path, Access::Write)?;
    for kept in ledger.keep_read(read)? {
        println!("{}", summary(args, &kept));
    }
    Ok(0)
}

fn summary(args: &ImportArgs, kept: &Kept) -> String {
    let mut files: Vec<String> = kept.files.iter().map(|file| args.files[*file].display().to_string()).collect();
    files.dedup();
    let (files, run) = (files.join(", "), &kept.run);
    let plural = if kept.files.len() == 1 { "is" } else { "are" };
    match (kept.is_new, kept.shards) {
        (false, None) => format!("{files}: the ledger has run {run} already"),
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
