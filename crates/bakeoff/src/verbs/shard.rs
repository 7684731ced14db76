//! `bakeoff shard`: the task of a job, whoever started it: one part of the plan, or several one after the other.
//! In: the job's folder, and which part. Out: that part's ledger, on this machine.
//! One that was begun here is gone on with; one that came to its end, here or elsewhere, is not done again.

use crate::args::ShardArgs;
use crate::catalogue::Catalogue;
use crate::cluster::executions;
use crate::cluster::job::{Job, of_task};
use crate::failure::Failure;
use crate::session::{self, Again, Output};
use ledger::{Access, Ledger, LedgerError};
use std::path::Path;

/// Carries the parts of this task out.
pub fn shard(args: &ShardArgs) -> Result<u8, Failure> {
    let job = Job::read(&args.folder)?;
    let parts = match args.index {
        Some(index) if (1..=job.shards).contains(&index) => vec![index - 1],
        Some(index) => {
            return Err(Failure::usage(format!("--index {index}: the job has parts 1 to {}", job.shards)));
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
        println!("part {number} of {}: done already, on {}", job.shards, done.machine);
        return Ok(0);
    }
    let path = executions::ledger_of(folder, index, machine)?;
    println!("part {number} of {}, on {machine}: {}", job.shards, path.display());
    let output = Output { report: None, write_report: false, plain: true, serve: None };
    let began = match begun(&path) {
        Ok(began) => began,
        Err(LedgerError::Busy { .. }) => {
            println!("part {number} is being run here by another process, which goes on; this one ends");
            return Ok(0);
        }
        Err(error) => return Err(error.into()),
    };
    if began {
        println!("it was begun here before, and goes on");
        return session::resume(&path, &Again { run: None, samples: None, filesystems: &[], erase: &[] }, &output);
    }
    let plan = job.part(index);
    let filesystems = Catalogue::of_run(&plan.filesystems, &[])?;
    session::begin(&path, &plan, &filesystems, &[], &output)
}

/// Whether a run was begun in a ledger, which is made where it is not there.
///
/// # Errors
/// Another process writes to it, or it cannot be opened.
fn begun(path: &Path) -> Result<bool, LedgerError> {
    Ok(!Ledger::open(path, Access::Write)?.runs()?.is_empty())
}
