//! `bakeoff serve-disk`: the process that serves a disk; staging starts it.
//! In: a folder, bytes, and requests on standard input. Out: answers on standard output.

use crate::args::ServeDiskArgs;
use crate::failure::Failure;
use system::input::{TEXT_LIMIT, text_file};

/// Serves until its input ends.
pub fn serve_disk(args: &ServeDiskArgs) -> Result<u8, Failure> {
    system::process::stay_in_memory();
    // An error is ignored: the flag only prevents a deadlock in writeback when memory is short.
    let _ = system::calls::serve_blocks();
    let read = |path: &std::path::Path| text_file(path, TEXT_LIMIT).map_err(|why| why.to_string());
    let model = args.model.as_ref().map(|model| axes::described(model, read)).transpose().map_err(Failure::usage)?;
    let path = args.path_cost.as_deref().map(serde_json::from_str).transpose();
    let path = path.map_err(|error| Failure::usage(format!("--path-cost: {error}")))?.unwrap_or_default();
    let service = disk::Service { model, path, queues_reads: args.on_models_way, goes_on_in: args.goes_on_in.clone() };
    disk::serve(&args.folder, args.room, &service, std::io::stdin(), std::io::stdout())
        .map_err(|error| Failure::new(format!("serving a disk in {}: {error}", args.folder.display())))?;
    Ok(0)
}
