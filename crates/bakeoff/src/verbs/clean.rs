//! `bakeoff clean`: remove what an interrupted run left, and only what bakeoff made.
//! In: folders in which images may lie. Out: what was found and removed.

use crate::args::CleanArgs;
use crate::failure::Failure;
use crate::place;
use crate::resolve::AGED_FOLDER;
use lab::AgedCache;
use std::path::PathBuf;

/// Finds leftovers by their mark, says what they are, and removes them.
pub fn clean(args: &CleanArgs) -> Result<u8, Failure> {
    let mut folders = vec![PathBuf::from("/var/tmp"), PathBuf::from(".")];
    folders.extend_from_slice(&args.scratch);
    let caches: Vec<PathBuf> = folders.iter().map(|folder| folder.join(AGED_FOLDER)).collect();
    folders.extend_from_slice(&caches);
    aged(&caches, args)?;
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

/// Says which aged images are kept, and removes them where that is asked for; unfinished ones go in any case.
fn aged(folders: &[PathBuf], args: &CleanArgs) -> Result<(), Failure> {
    for folder in folders {
        let cache = AgedCache { folder: folder.clone(), limit: 0 };
        if !args.dry_run {
            cache.sweep().iter().for_each(|removed| println!("Removed: {removed}"));
        }
        let images = cache.all();
        if images.is_empty() {
            continue;
        }
        println!("Aged images in {}:", folder.display());
        for image in &images {
            println!("  {}", image.in_words());
            if args.aged && !args.dry_run {
                cache.remove(image)?;
            }
        }
        match (args.aged, args.dry_run) {
            (true, false) => println!("  removed"),
            (true, true) => println!("  they would be removed"),
            (false, _) => println!("  kept for the next run; --aged removes them"),
        }
    }
    Ok(())
}
