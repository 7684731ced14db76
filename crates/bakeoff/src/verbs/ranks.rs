//! `bakeoff ranks`: replaces itself by the MPI program, once for each rank.
//! In: [`RanksArgs`]. Out: that program in place of this one, or why it cannot run.

use crate::args::RanksArgs;
use crate::failure::Failure;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The MPI program; it is separate, so that this one needs no MPI libraries.
const PROGRAM: &str = "bakeoff-ranks";
/// Number of ranks, in the variables that launchers set before MPI starts.
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

/// Next to this program, otherwise from PATH.
fn program(own: &Path) -> PathBuf {
    let beside = own.with_file_name(PROGRAM);
    if beside.is_file() { beside } else { PROGRAM.into() }
}

fn size() -> Option<u32> {
    SIZES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The command line of the run's own process, which the first rank starts.
fn words(args: &RanksArgs, size: Option<u32>) -> Result<Vec<String>, Failure> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    // Arguments before the verb apply to all verbs and are handled already.
    let verb = typed.iter().position(|word| word == "ranks").unwrap_or(0);
    let typed = without_ledger(&typed[verb + 1..]);
    if let Some(run) = &args.resume {
        // `resume` refuses other options that it does not know.
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
