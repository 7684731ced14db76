//! `bakeoff resume`: go on with a run that was stopped or killed, or with a finished one that needs more blocks.
//! In: a run's id, or none for the latest. Out: what a run gives.

use crate::args::ResumeArgs;
use crate::failure::Failure;
use crate::session;
use std::path::Path;

/// Goes on where the ledger says the run stands.
pub fn resume(ledger: &Path, args: &ResumeArgs) -> Result<u8, Failure> {
    let output = session::Output {
        report: args.report.clone(),
        write_report: !args.no_report,
        plain: args.plain,
        serve: args.serve,
        words: None,
    };
    let again = session::Again {
        run: args.run.as_deref(),
        samples: args.samples,
        filesystems: &args.filesystems,
        erase: &args.erase,
    };
    session::resume(ledger, &again, &output)
}
