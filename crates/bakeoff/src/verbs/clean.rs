//! `bakeoff clean`: removes leftovers of interrupted runs, and only what bakeoff created.
//! In: folders that may hold images. Out: what was found, removed and kept; status 1 if something remains.
//! Its JSON form: docs/reference/json.md.

use crate::args::CleanArgs;
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::resolve::AGED_FOLDER;
use crate::scratch;
use schemars::JsonSchema;
use serde::Serialize;
use staging::{AgedCache, Cleaned, Leftover, Stranger};
use std::path::{Path, PathBuf};
use system::Journal;

/// Exit status if a leftover could not be removed.
const REMAINS: u8 = 1;

/// What was found and done.
#[derive(Serialize, JsonSchema)]
pub struct Outcome {
    /// Whether nothing was done.
    dry_run: bool,
    /// Interrupted runs.
    runs: Vec<Run>,
    /// What looks like a run's leftover, but is unknown here.
    strangers: Vec<Stranger>,
    /// Images of aged filesystems.
    aged: Vec<Aged>,
    /// Whether something of a run remains that could not be removed: exit status 1.
    remains: bool,
}

impl Answer for Outcome {
    const SCHEMA: &'static str = "bakeoff-clean";
}

/// An interrupted run.
#[derive(Serialize, JsonSchema)]
struct Run {
    /// Its id.
    id: String,
    /// Its process; null if its cleanup record cannot be read.
    process: Option<u32>,
    /// What was found, in sentences.
    found: Vec<String>,
    /// What was removed.
    removed: Vec<String>,
    /// What the run did not create, and why it is left.
    left_alone: Vec<String>,
    /// What could not be removed, and why; with `--dry-run`, as of the last try.
    problems: Vec<String>,
}

/// A cached aged image.
#[derive(Serialize, JsonSchema)]
struct Aged {
    /// Folder that keeps it.
    folder: PathBuf,
    /// What it is an image of, in words.
    title: String,
    /// Its length in bytes.
    bytes: u64,
    /// Its size on the disk.
    bytes_on_disk: u64,
    /// Whether it was removed.
    removed: bool,
    #[serde(skip)]
    words: String,
}

/// Finds leftovers by their cleanup record, prints and removes them.
pub fn clean(args: &CleanArgs) -> Result<u8, Failure> {
    let asked: Result<Vec<PathBuf>, Failure> = args.scratch.iter().map(|one| scratch::folder(Some(one))).collect();
    let folders = folders(&asked?);
    if let Some(id) = &args.forget {
        let forgotten = staging::forget(id, &folders)?;
        println!("No longer tracked, not removed: {}", forgotten.join(", "));
        return Ok(0);
    }
    let outcome = carry_out(args, &folders)?;
    if args.json {
        json::print(&outcome)?;
    } else {
        print!("{}", outcome.in_words(args));
    }
    Ok(if outcome.remains && !args.dry_run { REMAINS } else { 0 })
}

/// The folders that may hold images, each once, with their subfolders of aged images.
fn folders(scratch: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let usual = [scratch::DEFAULT, system::in_memory::FOLDER, "."].map(PathBuf::from);
    for folder in usual.iter().chain(scratch).filter_map(|folder| folder.canonicalize().ok()) {
        for one in [folder.clone(), folder.join(AGED_FOLDER)] {
            if !folders.contains(&one) {
                folders.push(one);
            }
        }
    }
    folders
}

fn carry_out(args: &CleanArgs, folders: &[PathBuf]) -> Result<Outcome, Failure> {
    let (mut aged, mut strangers) = (Vec::new(), Vec::new());
    for folder in folders.iter().filter(|folder| folder.ends_with(AGED_FOLDER)) {
        of_cache(folder, args, &mut aged, &mut strangers)?;
    }
    let found = staging::survey(folders)?;
    strangers.extend(found.strangers);
    let cleaned = if args.dry_run { Vec::new() } else { staging::clean(&found.leftovers, &Journal::new()) };
    let runs: Vec<Run> =
        found.leftovers.into_iter().enumerate().map(|(at, leftover)| of_run(leftover, cleaned.get(at))).collect();
    let remains = runs.iter().any(|run| !run.problems.is_empty());
    Ok(Outcome { dry_run: args.dry_run, runs, strangers, aged, remains })
}

fn of_run(leftover: Leftover, cleaned: Option<&Cleaned>) -> Run {
    let cleaned = cleaned.cloned().unwrap_or_else(|| Cleaned { problems: leftover.problems, ..Cleaned::default() });
    Run {
        id: leftover.id,
        process: leftover.pid,
        found: leftover.what,
        removed: cleaned.removed,
        left_alone: cleaned.left_alone,
        problems: cleaned.problems,
    }
}

/// The aged images of one folder; removes them on request.
fn of_cache(
    folder: &Path,
    args: &CleanArgs,
    aged: &mut Vec<Aged>,
    strangers: &mut Vec<Stranger>,
) -> Result<(), Failure> {
    let cache = AgedCache::new(folder.into(), 0);
    strangers.extend(cache.strangers());
    for image in cache.all() {
        aged.push(Aged {
            folder: folder.into(),
            title: image.title.clone(),
            bytes: image.bytes,
            bytes_on_disk: image.allocated(),
            removed: args.aged && !args.dry_run,
            words: image.in_words(),
        });
        if args.aged && !args.dry_run {
            cache.remove(&image)?;
        }
    }
    if !args.dry_run {
        cache.tidy();
    }
    Ok(())
}

impl Outcome {
    fn in_words(&self, args: &CleanArgs) -> String {
        let mut text = String::new();
        let mut say = |line: String| text.extend([line.as_str(), "\n"]);
        let mut last = None;
        for (at, image) in self.aged.iter().enumerate() {
            if last.replace(&image.folder) != Some(&image.folder) {
                say(format!("Aged images in {}:", image.folder.display()));
            }
            say(format!("  {}", image.words));
            if self.aged.get(at + 1).is_none_or(|next| next.folder != image.folder) {
                say(match (args.aged, self.dry_run) {
                    (true, false) => "  removed".into(),
                    (true, true) => "  would be removed".into(),
                    (false, _) => "  kept for the next run; --aged removes them".into(),
                });
            }
        }
        for run in &self.runs {
            let process = run.process.map_or_else(String::new, |pid| format!(" (process {pid}, gone)"));
            say(format!("Run {}{process}:", run.id));
            run.found.iter().for_each(|what| say(format!("  {what}")));
        }
        let all = |of: fn(&Run) -> &Vec<String>| self.runs.iter().flat_map(of).cloned().collect::<Vec<_>>();
        let (removed, left_alone) = (all(|run| &run.removed), all(|run| &run.left_alone));
        if !removed.is_empty() {
            say("Removed:".into());
            removed.iter().for_each(|what| say(format!("  {what}")));
        }
        left_alone.iter().for_each(|why| say(format!("Not touched: {why}")));
        for run in self.runs.iter().filter(|run| !run.problems.is_empty()) {
            run.problems.iter().for_each(|why| say(format!("Not removed, run {}: {why}", run.id)));
            say(format!("  The next start tries again; `bakeoff clean --forget {}` drops the record.", run.id));
        }
        for stranger in &self.strangers {
            say(format!("Not touched: {}: {}", stranger.path.display(), stranger.why));
        }
        match (self.runs.is_empty(), self.dry_run) {
            (true, _) => say("There are no leftovers of interrupted runs.".into()),
            (false, true) => say("Nothing was removed (--dry-run).".into()),
            (false, false) => {}
        }
        text
    }
}
