//! `bakeoff shard`: a task of a job: runs one part of the plan, or several in turn, whichever scheduler starts it.
//! In: the job's folder, and which part. Out: that part's ledger, on this machine.
//! A part that was started here is resumed; a part that is finished, here or elsewhere, is not run again.

use crate::args::{Output, ResumeArgs, ShardArgs};
use crate::catalogue::Catalogue;
use crate::cluster::executions;
use crate::cluster::job::{Job, of_task};
use crate::failure::Failure;
use crate::session;
use ledger::Ledger;
use std::fs::{File, TryLockError};
use std::path::Path;

/// Runs the parts of this task.
pub fn shard(args: &ShardArgs) -> Result<u8, Failure> {
    let job = Job::read(&args.folder)?;
    let parts = match args.index {
        Some(index) if (1..=job.shards).contains(&index) => vec![index - 1],
        Some(index) => {
            return Err(Failure::usage(format!("--index {index}: the job has shards 1 to {}", job.shards)));
        }
        None => of_task(job.shards, |name| std::env::var(name).ok()).map_err(Failure::usage)?,
    };
    let machine = executions::this_machine();
    for index in parts {
        let status = one(&args.folder, &job, index, &machine)?;
        if status != 0 {
            return Ok(status);
        }
    }
    Ok(0)
}

fn one(folder: &Path, job: &Job, index: u32, machine: &str) -> Result<u8, Failure> {
    let known = executions::of_part(folder, job, index);
    let number = index + 1;
    if let Some(done) = known.counts.filter(|one| one.finished) {
        println!("shard {number} of {}: already done on {}", job.shards, done.machine);
        return Ok(0);
    }
    let path = executions::ledger_of(folder, index, machine)?;
    println!("shard {number} of {}, on {machine}: {}", job.shards, path.display());
    let output = Output { no_report: true, plain: true, words: Some(job.words_of(index)), ..Output::default() };
    // Held until the end: otherwise another task of this part could start between reading the ledger and writing to it.
    let Some(_held) = held(&path)? else {
        println!("another process already runs shard {number} here; this one ends");
        return Ok(0);
    };
    if path.exists() && !Ledger::open_trusted(&path)?.runs()?.is_empty() {
        println!("resuming its run");
        return session::resume(&path, &ResumeArgs { output, ..ResumeArgs::default() });
    }
    let plan = job.part(index);
    let filesystems = Catalogue::of_run(&plan.filesystems, &[])?;
    session::begin(&path, &plan, &filesystems, &[], &output)
}

/// The lock of an execution, beside its ledger; None if another process holds it.
fn held(ledger: &Path) -> Result<Option<File>, Failure> {
    let path = ledger.with_extension("task");
    let failed = |why: String| Failure::new(format!("locking {}: {why}", path.display()));
    let file = system::create::kept_file(&path, false).map_err(|error| failed(error.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error.to_string())),
    }
}
