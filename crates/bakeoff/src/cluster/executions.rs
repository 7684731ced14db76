//! Executions of a job's parts: each has its own ledger, named after its machine.
//! In: a job's folder. Out: the progress of each part, and which of its executions counts.
//! If a machine is lost, its part starts over on another: a part never mixes blocks of two machines.

use super::job::Job;
use crate::failure::Failure;
use ledger::{Access, Ledger};
use records::{RunStatus, TrialStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most executions of one part that are read.
const MOST: usize = 1000;

/// One execution of a part.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Execution {
    /// The machine, by its scheduler's name or its own.
    pub machine: String,
    /// Its ledger.
    pub ledger: PathBuf,
    /// Trials with figures, each counted once.
    pub trials: usize,
    /// Whether it finished.
    pub finished: bool,
    /// Why it cannot be read now; null where it can.
    pub unreadable: Option<String>,
}

/// A part and its executions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PartState {
    /// Its number, from 1.
    pub shard: u32,
    /// Trials that it has.
    pub trials: usize,
    /// The execution that counts: a finished one, else the one with most trials; null if none has begun.
    pub counts: Option<Execution>,
    /// Executions that do not count, since another does.
    pub dropped: Vec<Execution>,
}

/// The ledger of an execution.
///
/// # Errors
/// The folder cannot be created.
pub fn ledger_of(folder: &Path, index: u32, machine: &str) -> Result<PathBuf, Failure> {
    let place = part(folder, index);
    std::fs::create_dir_all(&place).map_err(|error| Failure::new(format!("creating {}: {error}", place.display())))?;
    Ok(place.join(format!("{}.db", plain(machine))))
}

/// The name of the machine that runs a task; a scheduler may use another name than the kernel.
pub fn this_machine() -> String {
    let named = ["SLURMD_NODENAME", "NODE_NAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    plain(&named.unwrap_or_else(|| system::machine::describe().hostname))
}

fn part(folder: &Path, index: u32) -> PathBuf {
    folder.join("shards").join((index + 1).to_string())
}

/// A name that is safe as a file name in the folder.
fn plain(name: &str) -> String {
    let kept: String =
        name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-.".contains(*letter)).take(64).collect();
    if kept.trim_matches('.').is_empty() { "machine".into() } else { kept.trim_start_matches('.').into() }
}

/// Progress of every part of a job.
pub fn all(folder: &Path, job: &Job) -> Vec<PartState> {
    (0..job.shards).map(|index| of_part(folder, job, index)).collect()
}

/// Progress of one part.
pub fn of_part(folder: &Path, job: &Job, index: u32) -> PartState {
    let mut names: Vec<PathBuf> = std::fs::read_dir(part(folder, index))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "db"));
    names.sort();
    names.truncate(MOST);
    let mut found: Vec<Execution> = names.into_iter().map(read).collect();
    // A finished execution counts. If several finished, the first by name counts: they did the same work.
    found.sort_by_key(|one| {
        (std::cmp::Reverse((one.finished, if one.finished { 0 } else { one.trials })), one.machine.clone())
    });
    let counts = found.first().filter(|one| one.unreadable.is_none()).cloned();
    let dropped = if counts.is_some() { found.split_off(1) } else { found };
    PartState { shard: index + 1, trials: job.trials(index), counts, dropped }
}

fn read(path: PathBuf) -> Execution {
    let machine = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let none = Execution { machine, ledger: path.clone(), trials: 0, finished: false, unreadable: None };
    let looked = || -> Result<(usize, bool), ledger::LedgerError> {
        let ledger = Ledger::open(&path, Access::Read)?;
        let Some(run) = ledger.runs()?.into_iter().next() else { return Ok((0, false)) };
        let trials = ledger.trials(&run.id)?;
        // A disturbed trial and its repetition count once.
        let given = trials.iter().filter(|trial| trial.status != TrialStatus::Failed);
        let done: BTreeSet<_> =
            given.map(|trial| (trial.block, trial.contender, &trial.workload, &trial.scale)).collect();
        Ok((done.len(), run.status == RunStatus::Finished))
    };
    match looked() {
        Ok((trials, finished)) => Execution { trials, finished, ..none },
        Err(error) => Execution { unreadable: Some(error.to_string()), ..none },
    }
}

/// `12 of 40 trials; 1 of 4 shards done; 2: 3 of 10 on node2; 3: not started`.
pub fn in_a_line(parts: &[PartState]) -> String {
    let trials: usize = parts.iter().map(|part| part.trials).sum();
    let have: usize = parts.iter().filter_map(|part| part.counts.as_ref()).map(|one| one.trials).sum();
    let done = parts.iter().filter(|part| part.counts.as_ref().is_some_and(|one| one.finished)).count();
    let mut words = vec![format!("{have} of {trials} trials"), format!("{done} of {} shards done", parts.len())];
    for part in parts.iter().filter(|part| part.counts.as_ref().is_none_or(|one| !one.finished)).take(8) {
        words.push(match &part.counts {
            Some(one) => format!("{}: {} of {} on {}", part.shard, one.trials, part.trials, one.machine),
            None => format!("{}: not started", part.shard),
        });
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_name_stays_in_the_folder_of_its_part() {
        for (name, file) in [
            ("node1", "node1"),
            ("../x", "x"),
            ("", "machine"),
            ("..", "machine"),
            ("a/b c", "abc"),
            ("n.example", "n.example"),
        ] {
            assert_eq!(plain(name), file, "{name}");
        }
    }
}
