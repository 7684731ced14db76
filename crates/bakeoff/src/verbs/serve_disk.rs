//! `bakeoff serve-disk`: the process that serves a disk, and how `powercut` starts it.
//! In: a folder, bytes, and questions on standard input. Out: answers on standard output.

use crate::args::ServeDiskArgs;
use crate::failure::Failure;

/// Serves until nobody asks any more.
pub fn serve_disk(args: &ServeDiskArgs) -> Result<u8, Failure> {
    system::process::stay_in_memory();
    // Without the right to say so it serves all the same: only a machine that is short of memory could then wait for itself.
    let _ = system::calls::serve_blocks();
    disk::serve(&args.folder, args.room, std::io::stdin(), std::io::stdout())
        .map_err(|error| Failure::new(format!("serving a disk in {}: {error}", args.folder.display())))?;
    Ok(0)
}

/// The words that start it; a folder and a number of bytes follow.
pub fn command() -> Vec<String> {
    // Whatever became of the file, this is the program that runs now.
    vec!["/proc/self/exe".into(), "serve-disk".into()]
}
