//! The folder for images.
//! In: the request, a folder or the word `memory`. Out: an existing folder, or one clear error.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// The word for a folder in memory.
pub const MEMORY: &str = "memory";

/// Default folder for images: on a disk, whereas /tmp may be in memory.
pub const DEFAULT: &str = "/var/tmp";

/// The requested folder. `./memory` means a folder of that name.
///
/// # Errors
/// It is not a folder, does not exist, or there is no memory filesystem that can be written.
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
