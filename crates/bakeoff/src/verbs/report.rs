//! `bakeoff report`: a folder to share.
//! In: a run's id, a folder, the requested formats. Out: files, and the path of the page on standard output.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::show::{self, Shown};
use ledger::{Access, Ledger};
use report::Format;
use std::path::Path;

/// Writes the report of a run.
pub fn report(path: &Path, args: &ReportArgs) -> Result<u8, Failure> {
    let ledger = Ledger::open(path, Access::Read)?;
    let mut shown = Shown::against(&ledger, args.run.as_deref(), args.against.as_deref())?;
    let folder = show::report_folder(args.output.as_deref(), &shown.material.run.id)?;
    // All formats if none is named, or for `all`, which is not the name of a format.
    let named: Option<Vec<Format>> = args.format.iter().map(|name| Format::named(name)).collect();
    let formats = named.unwrap_or_default();
    let page = show::report(&mut shown, &folder, &formats, !args.no_published)?;
    println!("{}", page.display());
    Ok(0)
}
