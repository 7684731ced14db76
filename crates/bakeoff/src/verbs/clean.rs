//! `bakeoff clean`: remove what an interrupted run left, and only what bakeoff made.
//! In: folders in which images may lie. Out: what was found and removed.

use crate::args::CleanArgs;
use crate::failure::Failure;
use crate::place;
use std::path::PathBuf;

/// Finds leftovers by their mark, says what they are, and removes them.
pub fn clean(args: &CleanArgs) -> Result<u8, Failure> {
    let mut folders = vec![PathBuf::from("/var/tmp"), PathBuf::from(".")];
    folders.extend_from_slice(&args.scratch);
    let leftovers = lab::leftovers(&folders);
    if leftovers.is_empty() {
        println!("Nothing is left of any interrupted run.");
        return Ok(0);
    }
    for leftover in &leftovers {
        println!(
            "Of run {}{}:",
            leftover.id,
            leftover.pid.map_or_else(String::new, |pid| format!(" (process {pid}, gone)"))
        );
        for what in &leftover.what {
            println!("  {what}");
        }
    }
    if args.dry_run {
        println!("Nothing was removed (--dry-run).");
        return Ok(0);
    }
    let removed = place::clean(&folders)?;
    println!("Removed: {}", removed.join(", "));
    Ok(0)
}
