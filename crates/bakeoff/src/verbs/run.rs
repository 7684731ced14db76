//! `bakeoff run`: carry out a plan, from names on the command line to a verdict.
//! In: [`RunArgs`]. Out: what a run gives: trials in the ledger, a verdict, a report.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::{resolve, session};
use std::path::Path;

/// Resolves what was asked for, and runs it.
pub fn run(ledger: &Path, args: &RunArgs) -> Result<u8, Failure> {
    let (scheme, _) = resolve::scheme(&args.what)?;
    let output = session::Output { report: args.report.clone(), write_report: !args.no_report, plain: args.plain };
    session::begin(ledger, &scheme, &output)
}
