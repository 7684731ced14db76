//! What `submit`, `shard` and `collect` take: a plan over several machines, by a scheduler that is there already.
//! In: words typed by a person or by a scheduler's script. Out: the arguments, parsed and not yet resolved.

use super::What;
use clap::Args;
use std::path::PathBuf;

pub const SUBMIT_EXAMPLES: &str = "\
Examples:
  bakeoff submit small-files --fs ext4,xfs --samples 12 --shards 4 --folder job --slurm --wait
  bakeoff submit mail --dir /mnt/a --dir /mnt/b --samples 8 --shards 8 --folder job --kubernetes ghcr.io/me/bakeoff
  bakeoff submit mail --fs ext4,xfs --samples 4 --shards 4 --folder job
  mpirun -np 4 --map-by node bakeoff shard job; bakeoff collect job";

/// `bakeoff submit`
#[derive(Debug, Args)]
pub struct SubmitArgs {
    #[command(flatten)]
    pub what: What,
    /// Parts that the plan is cut into, one for each task; each has every N-th block
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(records::plan::MOST_SHARDS)), help_heading = "Job")]
    pub shards: u32,
    /// The job's folder, which is made: on a filesystem that every machine of it sees
    #[arg(long, value_name = "FOLDER", help_heading = "Job")]
    pub folder: PathBuf,
    /// Hand the job to Slurm: an array of tasks, and a last one that collects and reports
    #[arg(long, help_heading = "Job")]
    pub slurm: bool,
    /// A further option of sbatch for the tasks, such as --sbatch=--partition=disks
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true, help_heading = "Job")]
    pub sbatch: Vec<String>,
    /// Write a manifest of an Indexed Job for Kubernetes, whose pods run this container image with `bakeoff` in it
    #[arg(long, value_name = "IMAGE", help_heading = "Job")]
    pub kubernetes: Option<String>,
    /// The claim of the volume on which the job's folder lies, in Kubernetes
    #[arg(long, value_name = "NAME", default_value = "bakeoff", requires = "kubernetes", help_heading = "Job")]
    pub claim: String,
    /// Wait for the job's end, and show from the ledgers how far its tasks are
    #[arg(long, requires = "slurm", help_heading = "Job")]
    pub wait: bool,
}

/// `bakeoff shard`
#[derive(Debug, Args)]
pub struct ShardArgs {
    /// The job's folder
    pub folder: PathBuf,
    /// Which part, from 1 [default: by the number that the scheduler gives the task: a Slurm array's, a Kubernetes Indexed
    /// Job's, or the rank under mpirun and srun, each of which takes every N-th part]
    #[arg(long, value_name = "I")]
    pub index: Option<u32>,
}

/// `bakeoff collect`
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// The job's folder
    pub folder: PathBuf,
    /// Only say how far the tasks are
    #[arg(long)]
    pub progress: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
