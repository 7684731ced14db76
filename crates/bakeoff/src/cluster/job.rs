//! A job: a plan that is cut into parts, in a folder.
//! In: a resolved plan and how many parts it has. Out: `job.json`, and the part of the plan that a task is to carry out.
//! The plan says what runs as whoever runs the task, so the file must be nobody else's.

use crate::failure::Failure;
use records::plan::{ResolvedPlan, Shard};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use system::create::Folder;
use system::input::text_file;

/// The job's own file.
const FILE: &str = "job.json";

/// Bytes of a job's file at most: a plan holds its compiled programs.
const FILE_LIMIT: u64 = 64 << 20;

/// Version of the file's form.
const VERSION: u32 = 1;

/// A plan over several machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Version of the file's form.
    pub version: u32,
    /// Parts that the plan is cut into.
    pub shards: u32,
    /// The whole plan.
    pub plan: ResolvedPlan,
}

impl Job {
    /// A job of today's form.
    pub fn new(plan: ResolvedPlan, shards: u32) -> Self {
        Self { version: VERSION, shards, plan: ResolvedPlan { shard: None, ..plan } }
    }

    /// Makes the job's folder, which must not be there yet, with the job's file in it. Its path as it will be found from anywhere.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Failure> {
        let failed =
            |error: std::io::Error| Failure::new(format!("making the job's folder {}: {error}", folder.display()));
        let made = Folder::make_new(folder).map_err(failed)?;
        for name in ["shards", "logs"] {
            made.folder(name).map_err(failed)?;
        }
        made.replace_durably(FILE, &serde_json::to_vec_pretty(self)?).map_err(failed)?;
        folder.canonicalize().map_err(failed)
    }

    /// Reads the job of a folder.
    ///
    /// # Errors
    /// There is none, somebody else could have written it, or it is of another version.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let refused = |why: String| Failure::new(format!("reading the job {}: {why}", path.display()));
        let way = "`bakeoff submit` makes a job's folder";
        let text = text_file(&path, FILE_LIMIT).map_err(|why| refused(format!("{why}; {way}")))?;
        system::owned_path(&path).map_err(|untrusted| {
            refused(format!("it says what is run, so it must be nobody's but yours: {untrusted}"))
        })?;
        let job: Self = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        if job.version != VERSION || job.shards == 0 || job.shards > records::plan::MOST_SHARDS {
            let (version, shards) = (job.version, job.shards);
            return Err(refused(format!(
                "it is of version {version} with {shards} parts, which this bakeoff does not know"
            )));
        }
        Ok(job)
    }

    /// The plan of one part, counted from 0.
    pub fn part(&self, index: u32) -> ResolvedPlan {
        ResolvedPlan { shard: Some(Shard { index, of: self.shards }), ..self.plan.clone() }
    }

    /// Trials that a part has, those that are repeated left out.
    pub fn trials(&self, index: u32) -> usize {
        self.part(index).least_blocks() as usize * self.plan.trials_per_block()
    }
}

/// Parts that this task is to carry out, by the numbers that schedulers give their tasks in the environment.
///
/// # Errors
/// No scheduler gave one, or it is not one of the job's.
pub fn of_task(shards: u32, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<u32>, String> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
    let one = |name: &str, index: Option<u32>| match index.filter(|index| *index < shards) {
        Some(index) => Ok(vec![index]),
        None => Err(format!("{name} names none of the job's {shards} parts")),
    };
    // An array's task has a rank too, which is always 0; so it comes first.
    if let Some(task) = number("SLURM_ARRAY_TASK_ID") {
        return one("SLURM_ARRAY_TASK_ID", task.checked_sub(1));
    }
    if let Some(index) = number("JOB_COMPLETION_INDEX") {
        return one("JOB_COMPLETION_INDEX", Some(index));
    }
    let ranks =
        [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")];
    let ranked = ranks.iter().find_map(|(rank, size)| Some((number(rank)?, number(size)?)));
    match ranked.filter(|(rank, size)| rank < size) {
        Some((rank, size)) => Ok((rank..shards).step_by(size as usize).collect()),
        None => Err("no scheduler says which part this is; say it with --index I".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(shards: u32, variables: &[(&str, &str)]) -> Result<Vec<u32>, String> {
        of_task(shards, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn each_scheduler_counts_its_tasks_in_its_own_way() {
        assert_eq!(
            asked(4, &[("SLURM_ARRAY_TASK_ID", "4"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]),
            Ok(vec![3])
        );
        assert_eq!(asked(4, &[("JOB_COMPLETION_INDEX", "0")]), Ok(vec![0]));
        assert_eq!(asked(5, &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")]), Ok(vec![1, 3]));
        assert_eq!(asked(2, &[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")]), Ok(vec![1]));
        assert_eq!(
            asked(2, &[("PMI_RANK", "3"), ("PMI_SIZE", "4")]),
            Ok(vec![]),
            "more ranks than parts have nothing to do"
        );
    }

    #[test]
    fn a_number_that_is_no_part_is_refused() {
        for wrong in [("SLURM_ARRAY_TASK_ID", "0"), ("SLURM_ARRAY_TASK_ID", "5"), ("JOB_COMPLETION_INDEX", "4")] {
            assert!(asked(4, &[wrong]).is_err(), "{wrong:?}");
        }
        assert!(asked(4, &[]).expect_err("nobody says").contains("--index"));
        assert!(asked(4, &[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "2")]).is_err());
    }
}
