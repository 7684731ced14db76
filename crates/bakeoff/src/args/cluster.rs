//! What `submit`, `shard` and `collect` take: a plan over several machines, by a scheduler that is there already.
//! In: words typed by a person or by a scheduler's script. Out: the arguments, parsed and not yet resolved.

use super::What;
use clap::Args;
use std::path::PathBuf;

pub const SUBMIT_EXAMPLES: &str = "\
Examples:
  bakeoff submit mail --fs ext4,xfs --samples 8 --shards 4 --folder job --slurm
  bakeoff submit mail --dir /mnt/a --dir /mnt/b --samples 8 --shards 8 \\
      --folder job --kubernetes ghcr.io/me/bakeoff
  bakeoff submit mail --fs ext4,xfs --samples 4 --shards 4 --folder job
  mpirun -np 4 --map-by node bakeoff shard job; bakeoff collect job";

/// `bakeoff submit`
#[derive(Debug, Args)]
pub struct SubmitArgs {
    #[command(flatten)]
    pub what: What,
    /// Number of shards, one per task; each runs every N-th round
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(records::plan::MOST_SHARDS)), help_heading = "Job")]
    pub shards: u32,
    /// Folder to create for the job, on a filesystem that all its machines share
    #[arg(long, value_name = "FOLDER", help_heading = "Job")]
    pub folder: PathBuf,
    /// Submit to Slurm: an array of tasks, and a last one that collects and reports
    #[arg(long, help_heading = "Job")]
    pub slurm: bool,
    /// Extra sbatch option for the tasks, such as --sbatch=--partition=disks
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true, help_heading = "Job")]
    pub sbatch: Vec<String>,
    /// Write a Kubernetes manifest of an Indexed Job; its pods run this container image, which contains `bakeoff`
    #[arg(long, value_name = "IMAGE", help_heading = "Job")]
    pub kubernetes: Option<String>,
    /// Kubernetes PersistentVolumeClaim of the volume with the job's folder
    #[arg(long, value_name = "NAME", default_value = "bakeoff", requires = "kubernetes", help_heading = "Job")]
    pub claim: String,
    /// Wait for the job to end, and show the progress of its tasks
    #[arg(long, requires = "slurm", help_heading = "Job")]
    pub wait: bool,
}

/// `bakeoff shard`
#[derive(Debug, Args)]
pub struct ShardArgs {
    /// The job's folder
    pub folder: PathBuf,
    /// Number of the shard, from 1 [default: the index of the Slurm array task or of the Kubernetes Indexed Job; under mpirun and srun, rank R of N takes every N-th shard]
    #[arg(long, value_name = "I")]
    pub index: Option<u32>,
}

/// `bakeoff collect`
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// The job's folder
    pub folder: PathBuf,
    /// Only show the progress of the tasks
    #[arg(long)]
    pub progress: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
