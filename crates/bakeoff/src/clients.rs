//! Several clients at once, for the command line: how many are requested, how many MPI started, and where they are coordinated.
//! In: numbers, a plan, what mpirun's first rank sets in the environment. Out: settings of workloads, a venue, or an error.

use crate::failure::Failure;
use runner::{ClientsVenue, ResolvedPlan, Venue};
use std::path::PathBuf;
use workload::Workload;
use workload::message::{CLIENTS_AT, CLIENTS_THERE};

/// The setting for the number of clients of a workload.
const SETTING: &str = "clients";

/// Numbers of clients as a setting of a workload.
pub fn asked(workload: &Workload, clients: &[u32]) -> Result<Option<(String, Vec<String>)>, Failure> {
    if clients.is_empty() {
        return Ok(None);
    }
    if workload.options.iter().any(|option| option.name == SETTING) {
        let text =
            format!("--clients: the workload {} has its own option `clients`; run it without mpirun", workload.name);
        return Err(Failure::usage(text));
    }
    Ok(Some((SETTING.into(), clients.iter().map(u32::to_string).collect())))
}

/// Highest number of clients that a work of the plan needs; None if a single engine does all of it.
pub fn wanted(plan: &ResolvedPlan) -> Option<u32> {
    plan.works.iter().filter_map(|work| Some(work.compiled.program.client?.of)).max()
}

/// Number of clients that mpirun started, and where they are coordinated.
fn there() -> Option<(u32, PathBuf)> {
    let at = std::env::var_os(CLIENTS_AT)?;
    let there = std::env::var(CLIENTS_THERE).ok()?.parse().ok()?;
    Some((there, at.into()))
}

/// Whether mpirun started clients that work on this process's mounts.
pub fn are_there() -> bool {
    there().is_some()
}

/// Refuses a plan whose clients are missing, before anything is changed.
pub fn check(plan: &ResolvedPlan) -> Result<(), Failure> {
    let Some(wanted) = wanted(plan) else {
        let text = "under mpirun, clients do all work, and this plan has no clients: give their number with --clients";
        return there().map_or(Ok(()), |_| Err(Failure::usage(text)));
    };
    match there() {
        None => Err(Failure::usage(format!(
            "the work needs {wanted} clients, each an MPI rank: start it as mpirun -np {wanted} bakeoff ranks ... (docs/many.md)"
        ))),
        Some((there, _)) if there < wanted => Err(Failure::usage(format!(
            "the work needs {wanted} clients, and mpirun started {there}: start it with -np {wanted}, or lower --clients"
        ))),
        Some(_) => Ok(()),
    }
}

/// The venue, with its clients if there are any.
pub fn venue(plan: &ResolvedPlan, inner: Box<dyn Venue>) -> Result<Box<dyn Venue>, Failure> {
    check(plan)?;
    match there() {
        Some((_, at)) => Ok(Box::new(ClientsVenue::new(inner, at))),
        None => Ok(inner),
    }
}

/// The command line that repeats this run; for the first rank it is that of mpirun.
pub fn command_line() -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some((there, _)) = there() {
        if let Some(verb) = words.iter_mut().find(|word| *word == "run") {
            "ranks".clone_into(verb);
        }
        words.splice(0..1, ["mpirun", "-np", &there.to_string(), "bakeoff"].map(String::from));
    }
    words
}
