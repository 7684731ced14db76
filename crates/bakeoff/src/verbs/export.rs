//! `bakeoff export RUN`: one portable file with everything about a run; `import` reads it elsewhere.
//! In: a run's id, or none for the latest. Out: a file, and its path on standard output.

use crate::args::ExportArgs;
use crate::failure::Failure;
use ledger::{Access, Ledger};
use std::path::{Path, PathBuf};

/// Writes the file; an existing one is not overwritten.
pub fn export(path: &Path, args: &ExportArgs) -> Result<u8, Failure> {
    let ledger = Ledger::open(path, Access::Read)?;
    let run = ledger.run(args.run.as_deref())?.id;
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("bakeoff-{run}.json")));
    let text = ledger::import::export(&ledger, &run, args.anonymous)?;
    let refused = |error: std::io::Error| Failure::new(format!("writing {}: {error}", file.display()));
    let mut out = std::fs::OpenOptions::new().write(true).create_new(true).open(&file).map_err(refused)?;
    std::io::Write::write_all(&mut out, text.as_bytes()).map_err(refused)?;
    println!("{}", file.display());
    Ok(0)
}
