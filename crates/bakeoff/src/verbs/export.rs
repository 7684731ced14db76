//! `bakeoff export RUN`: one portable file with everything about a run; `import` reads it elsewhere.
//! In: a run's id, or none for the latest. Out: a file, and its path on standard output.

use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::show;
use crate::verbs::publish;
use ledger::{Access, Ledger};
use std::io::Write;
use std::path::Path;

/// Writes the file; an existing one is not overwritten.
pub fn export(path: &Path, args: &ExportArgs) -> Result<u8, Failure> {
    let ledger = Ledger::open(path, Access::Read)?;
    let run = ledger.run(args.run.as_deref())?.id;
    let file = match &args.output {
        Some(file) => file.clone(),
        None => show::named_after("bakeoff-", &run, ".json")?,
    };
    let owner = args.anonymous.then(publish::owner);
    let text = ledger::import::export_of(&ledger, &run, owner.as_ref())?;
    write_new(&file, text.as_bytes())?;
    println!("{}", file.display());
    Ok(0)
}

/// Creates a file completely or not at all.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let write = || {
        let (folder, name) = system::create::split(path)?;
        let folder = system::create::Folder::open(&folder)?;
        folder.new_file(&name)?.write_all(bytes).inspect_err(|_| {
            // The reported error matters more than a fragment that could not be removed.
            let _ = folder.remove(&name);
        })
    };
    write().map_err(|error: std::io::Error| {
        Failure::new(format!("writing {}: {error}; name another file with -o", path.display()))
    })
}
