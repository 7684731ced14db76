//! `bakeoff collect`: merges the measurements of a job's tasks into one run, with its report.
//! In: the job's folder. Out: `results.db`, `report/` and `collected.json` in it, the verdict, and what is missing.
//! Each part counts once, by its finished execution; measurements of other executions stay in their ledgers.

use crate::args::CollectArgs;
use crate::cluster::executions::{self, Execution, PartState};
use crate::cluster::job::Job;
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::show::{self, Shown};
use ledger::import::import_file;
use ledger::{Access, Ledger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use system::create::Folder;
use system::input::{TEXT_LIMIT, text_file};

/// The merged ledger.
const RESULTS: &str = "results.db";
/// The record of what was collected.
const COLLECTED: &str = "collected.json";
/// The report's folder.
const REPORT: &str = "report";

/// What was collected; stored in the job's folder for a waiting `submit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collected {
    /// The run in [`RESULTS`]; absent if no part has a trial.
    pub run: Option<String>,
    /// Unfinished parts, from 1.
    pub missing: Vec<u32>,
    /// Executions that do not count, since another of the same part does: number of the part, machine, trials.
    pub dropped: Vec<(u32, String, usize)>,
}

/// `bakeoff collect --json`.
#[derive(Serialize, JsonSchema)]
pub struct Progress {
    /// Every part of the job.
    parts: Vec<PartState>,
    /// The merged run; null before that, and if only the progress was requested.
    run: Option<String>,
}

impl Answer for Progress {
    const SCHEMA: &'static str = "bakeoff-collect";
}

/// Merges the parts, or prints their progress. Exit status 1 if some are unfinished.
pub fn collect(args: &CollectArgs) -> Result<u8, Failure> {
    let job = Job::read(&args.folder)?;
    let parts = executions::all(&args.folder, &job);
    if args.progress {
        match args.json {
            true => json::print(&Progress { parts, run: None })?,
            false => println!("{}", executions::in_a_line(&parts)),
        }
        return Ok(0);
    }
    let collected = put_together(&args.folder, &parts)?;
    let status = u8::from(!collected.missing.is_empty() || collected.run.is_none());
    match args.json {
        true => json::print(&Progress { parts, run: collected.run })?,
        false => tell(&args.folder, &collected)?,
    }
    Ok(status)
}

fn put_together(folder: &Path, parts: &[PartState]) -> Result<Collected, Failure> {
    let path = folder.join(RESULTS);
    let counting: Vec<&Execution> =
        parts.iter().filter_map(|part| part.counts.as_ref()).filter(|one| one.trials > 0).collect();
    let read = counting.iter().map(|one| import_file(&one.ledger)).collect::<Result<Vec<_>, _>>()?;
    forget(folder)?;
    let run = match read.is_empty() {
        true => None,
        false => {
            let mut ledger = Ledger::open(&path, Access::Write)?;
            let kept = ledger.keep_read(read)?;
            if let [_, other, ..] = kept.as_slice() {
                let text =
                    format!("collecting {}: run {} has a different plan from the others", folder.display(), other.run);
                return Err(Failure::new(text));
            }
            kept.into_iter().next().map(|one| one.run)
        }
    };
    if let Some(run) = &run {
        let mut shown = Shown::read(&Ledger::open(&path, Access::Read)?, Some(run))?;
        show::report(&mut shown, &folder.join(REPORT), &[], true)?;
    }
    let open = |part: &&PartState| part.counts.as_ref().is_none_or(|one| !one.finished);
    let dropped =
        parts.iter().flat_map(|part| part.dropped.iter().map(|one| (part.shard, one.machine.clone(), one.trials)));
    let collected = Collected {
        run,
        missing: parts.iter().filter(open).map(|part| part.shard).collect(),
        dropped: dropped.collect(),
    };
    let written =
        Folder::open(folder).and_then(|open| open.replace_durably(COLLECTED, &serde_json::to_vec_pretty(&collected)?));
    written.map_err(|error| Failure::new(format!("writing {COLLECTED} in {}: {error}", folder.display())))?;
    Ok(collected)
}

/// Removes earlier results: unfinished parts may have been completed since. The parts' own ledgers keep all data.
fn forget(folder: &Path) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::new(format!("removing earlier results in {}: {error}", folder.display()));
    let open = Folder::open(folder).map_err(failed)?;
    for name in [
        COLLECTED.into(),
        RESULTS.into(),
        format!("{RESULTS}-wal"),
        format!("{RESULTS}-shm"),
        format!("{RESULTS}.lock"),
    ] {
        match open.remove(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    Ok(())
}

/// What was collected of a job; None before that.
///
/// # Errors
/// It cannot be read.
pub fn result(folder: &Path) -> Result<Option<Collected>, Failure> {
    let path = folder.join(COLLECTED);
    if !path.exists() {
        return Ok(None);
    }
    let failed = |why: String| Failure::new(format!("reading {}: {why}", path.display()));
    let text = text_file(&path, TEXT_LIMIT).map_err(|why| failed(why.to_string()))?;
    serde_json::from_str(&text).map(Some).map_err(|error| failed(error.to_string()))
}

/// Prints the verdict, and what is missing or left out.
pub fn tell(folder: &Path, collected: &Collected) -> Result<(), Failure> {
    if let Some(run) = &collected.run {
        let path = folder.join(RESULTS);
        show::verdict(&Shown::read(&Ledger::open(&path, Access::Read)?, Some(run))?.view);
        println!("\nReport: {}", folder.join(REPORT).join("index.html").display());
        println!("All tables: bakeoff --ledger {} show --full", path.display());
    }
    if collected.run.is_none() {
        println!(
            "No shard has a trial with a figure; the output of the tasks is in {}.",
            folder.join("logs").display()
        );
    }
    for (shard, machine, trials) in &collected.dropped {
        println!(
            "Shard {shard} also ran on {machine}: those {trials} trials are left out, since another execution of the shard counts."
        );
    }
    if !collected.missing.is_empty() {
        let numbers: Vec<String> = collected.missing.iter().map(u32::to_string).collect();
        println!(
            "Not finished: shard {}. `bakeoff shard {} --index I` continues one.",
            numbers.join(", "),
            folder.display()
        );
    }
    Ok(())
}
