//! `bakeoff ranks`: becomes the program that speaks MPI, once for each rank.
//! In: [`RanksArgs`]. Out: that program in this one's place, or why it cannot be.

use crate::args::RanksArgs;
use crate::failure::Failure;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that speaks MPI, which this one must not need.
const PROGRAM: &str = "bakeoff-ranks";
/// Ranks that this job has, as the usual launchers say it before MPI does.
const SIZES: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "MPI_LOCALNRANKS"];

/// Becomes a rank.
pub fn ranks(ledger: &Path, args: &RanksArgs) -> Result<u8, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::new(format!("finding this program: {error}")))?;
    let mut command = Command::new(program(&own));
    command.arg(&own).arg("--ledger").arg(ledger).args(words(args, size())?);
    let error = command.exec();
    Err(Failure::new(format!(
        "starting {PROGRAM}, the MPI program: {error}. Put it next to {} or in PATH; `make mpi` builds it (packages libopenmpi-dev, \
         openmpi-bin, libclang-dev; docs/many.md)",
        own.display()
    )))
}

/// Beside this program, else wherever PATH leads.
fn program(own: &Path) -> PathBuf {
    let beside = own.with_file_name(PROGRAM);
    if beside.is_file() { beside } else { PROGRAM.into() }
}

fn size() -> Option<u32> {
    SIZES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// What the run's own process is asked for, by the first rank.
fn words(args: &RanksArgs, size: Option<u32>) -> Result<Vec<String>, Failure> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    // Whatever stands before the verb is for all verbs, and taken care of.
    let verb = typed.iter().position(|word| word == "ranks").unwrap_or(0);
    let typed = without_ledger(&typed[verb + 1..]);
    if let Some(run) = &args.resume {
        // `resume` refuses whatever else was typed, where it does not know it.
        let more = typed.into_iter().filter(|word| word != run && word != "--resume" && !word.starts_with("--resume="));
        let id = (!run.is_empty()).then(|| run.clone());
        return Ok(["resume".to_owned()].into_iter().chain(id).chain(more).collect());
    }
    let mut words: Vec<String> = vec!["run".to_owned()];
    words.extend(typed);
    if args.run.what.clients.is_empty() {
        let Some(size) = size else {
            let text = "no MPI launcher set the number of ranks in the environment: start it as mpirun -np 8 bakeoff ranks ..., or give --clients";
            return Err(Failure::usage(text));
        };
        words.extend(["--clients".to_owned(), size.to_string()]);
    }
    Ok(words)
}

fn without_ledger(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--ledger" {
            rest.next();
        } else if !word.starts_with("--ledger=") {
            kept.push(word.clone());
        }
    }
    kept
}
