//! The folder in which images lie.
//! In: what was asked, a folder or the word `memory`. Out: a folder that is there, or one clear error.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// The word that names a folder in memory.
pub const MEMORY: &str = "memory";

/// Where images lie if nothing is said: on a disk, where /tmp may be memory.
pub const DEFAULT: &str = "/var/tmp";

/// The folder that was asked for. A folder of the name `memory` is meant by `./memory`.
///
/// # Errors
/// It is none, is not there, or there is no memory that can be written to as files.
pub fn folder(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(asked) = asked else { return Ok(DEFAULT.into()) };
    let refused = |problem: String| Failure::usage(format!("--scratch {}: {problem}", asked.display()));
    if asked == Path::new(MEMORY) {
        return system::in_memory::folder().map_err(refused);
    }
    match std::fs::metadata(asked) {
        Ok(facts) if facts.is_dir() => Ok(asked.to_owned()),
        Ok(_) => Err(refused("it is not a folder; name a folder for images".into())),
        Err(error) => Err(refused(format!("{error}; make it with mkdir -p, or name another folder for images"))),
    }
}
