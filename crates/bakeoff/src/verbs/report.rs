//! `bakeoff report`: a folder to share.
//! In: a run's id, a folder, the forms wanted. Out: files, and the path of the page on standard output.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::show;
use ledger::{Access, Ledger};
use std::path::{Path, PathBuf};

/// Writes the report of a run.
pub fn report(path: &Path, args: &ReportArgs) -> Result<u8, Failure> {
    let ledger = Ledger::open(path, Access::Read)?;
    let run = ledger.run(args.run.as_deref())?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("bakeoff-report-{}", run.id)));
    let formats = report::Format::parse_list(&args.format.join(","))?;
    let page = show::report(&ledger, &run.id, &folder, &formats, !args.no_published)?;
    println!("{}", page.display());
    Ok(0)
}
