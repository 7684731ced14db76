//! One MPI rank of a run with many clients; `bakeoff ranks` becomes this program.
//! In: `bakeoff-ranks PATH-OF-BAKEOFF ARGUMENT...`, the arguments being those of the run's own process. Out: the run's output, at the first rank.

use ranks::{ByMpi, Fellows as _, Start};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(bakeoff) = words.next() else {
        eprintln!("bakeoff itself starts bakeoff-ranks: mpirun -np 8 bakeoff ranks WORKLOAD --dir DIR");
        return ExitCode::from(2);
    };
    let fellows = match ByMpi::join() {
        Ok(fellows) => fellows,
        Err(why) => {
            eprintln!("bakeoff-ranks: {why}");
            return ExitCode::FAILURE;
        }
    };
    let start = Start { bakeoff: bakeoff.into(), arguments: words.collect(), host: ByMpi::host() };
    match ranks::run(&fellows, &start) {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            eprintln!("bakeoff-ranks, rank {}: {why}", fellows.rank());
            ExitCode::FAILURE
        }
    }
}
