//! `bakeoff ranks`: a run whose work many clients do.
//! In: words typed by a person behind mpirun or srun. Out: [`RanksArgs`].

use super::RunArgs;
use clap::Args;

/// Shown below the help.
pub const RANKS_EXAMPLES: &str = "\
Examples:
  mpirun -np 8 bakeoff ranks ior-easy --dir /mnt/shared
  mpirun -np 8 bakeoff ranks mdtest-hard --dir /mnt/a --dir /mnt/b
  mpirun -np 8 bakeoff ranks ior-hard --dir /mnt/shared --clients 1,2,4,8
  srun --mpi=pmix -n 64 bakeoff ranks io500 --dir /scratch/test --samples 3
  mpirun -np 8 bakeoff ranks --resume";

/// `bakeoff ranks`
#[derive(Debug, Args)]
pub struct RanksArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Resume a stopped run of many clients, by its id or the start of it [default: the latest run]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with = "names")]
    pub resume: Option<String>,
}
