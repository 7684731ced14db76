//! A job: a plan split into parts, in a folder.
//! In: a resolved plan and the number of parts. Out: `job.json`, and the part of the plan that a task runs.
//! The plan decides which commands run with the rights of the task's user, so only that user and root may own or write the file.

use crate::failure::Failure;
use records::plan::{ResolvedPlan, Shard};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use system::create::Folder;
use system::input::text_file;

/// The job's own file.
const FILE: &str = "job.json";

/// Size limit of a job's file in bytes: a plan holds its compiled programs.
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
    /// The command line that runs the whole plan on one machine.
    pub words: Vec<String>,
    /// The whole plan.
    pub plan: ResolvedPlan,
}

impl Job {
    /// A job of the current version; `submitted` is the command line that submitted it.
    pub fn new(plan: ResolvedPlan, shards: u32, submitted: &[String]) -> Self {
        let words = as_run(submitted, plan.seed);
        Self { version: VERSION, shards, words, plan: ResolvedPlan { shard: None, ..plan } }
    }

    /// The command line that runs one part, counted from 0, on one machine.
    pub fn words_of(&self, index: u32) -> Vec<String> {
        let shard = Shard { index, of: self.shards };
        self.words.iter().cloned().chain(["--shard".into(), shard.to_string()]).collect()
    }

    /// Creates the job's folder, which must not exist yet, with the job's file in it. Returns its absolute path.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Failure> {
        let failed =
            |error: std::io::Error| Failure::new(format!("creating the job's folder {}: {error}", folder.display()));
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
    /// There is none, another user could have written it, or it has another version.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let refused = |why: String| Failure::new(format!("reading the job {}: {why}", path.display()));
        let way = "`bakeoff submit` creates a job's folder";
        let text = text_file(&path, FILE_LIMIT).map_err(|why| refused(format!("{why}; {way}")))?;
        system::owned_path(&path).map_err(|untrusted| {
            refused(format!("it decides which commands run, so only you and root may own and write it: {untrusted}"))
        })?;
        let job: Self = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        if job.version != VERSION || job.shards == 0 || job.shards > records::plan::MOST_SHARDS {
            let (version, shards) = (job.version, job.shards);
            return Err(refused(format!(
                "it has version {version} and {shards} shards, which this bakeoff does not support"
            )));
        }
        Ok(job)
    }

    /// The plan of one part, counted from 0.
    pub fn part(&self, index: u32) -> ResolvedPlan {
        ResolvedPlan { shard: Some(Shard { index, of: self.shards }), ..self.plan.clone() }
    }

    /// Trials of a part, without repetitions.
    pub fn trials(&self, index: u32) -> usize {
        self.part(index).least_blocks() as usize * self.plan.trials_per_block()
    }
}

/// The command line of `submit` as a `run` of the same plan: without the options of the job.
fn as_run(words: &[String], seed: u64) -> Vec<String> {
    const VALUED: [&str; 5] = ["--shards", "--folder", "--sbatch", "--kubernetes", "--claim"];
    const SWITCHES: [&str; 2] = ["--slurm", "--wait"];
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        match word.as_str() {
            "submit" if !kept.iter().any(|known| known == "run") => kept.push("run".into()),
            // Its value is the next word.
            word if VALUED.contains(&word) => drop(words.next()),
            word if SWITCHES.contains(&word) || VALUED.contains(&name) => {}
            word => kept.push(word.to_owned()),
        }
    }
    if !kept.iter().any(|word| word.split('=').next() == Some("--seed")) {
        kept.extend(["--seed".into(), seed.to_string()]);
    }
    kept
}

/// Parts that this task runs, from the numbers that schedulers set in the environment.
///
/// # Errors
/// No scheduler set one, or it is out of range.
pub fn of_task(shards: u32, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<u32>, String> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
    let one = |name: &str, index: Option<u32>| match index.filter(|index| *index < shards) {
        Some(index) => Ok(vec![index]),
        None => Err(format!("the value of {name} is outside the job's {shards} shards")),
    };
    // A task of an array has a rank too, always 0; so the array is checked first.
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
        None => Err("no scheduler set the number of the shard; give it with --index I".into()),
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
    fn the_repeat_command_of_a_job_runs_the_whole_plan() {
        let words =
            "bakeoff submit mail --dir /a --samples 4 --shards 2 --folder=job --slurm --sbatch --partition=x --wait";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(as_run(&words, 7).join(" "), "bakeoff run mail --dir /a --samples 4 --seed 7");
        let seeded: Vec<String> = ["bakeoff", "submit", "mail", "--seed=3", "--shards=2"].map(String::from).into();
        assert_eq!(as_run(&seeded, 3).join(" "), "bakeoff run mail --seed=3");
    }

    #[test]
    fn a_number_that_is_no_part_is_refused() {
        for wrong in [("SLURM_ARRAY_TASK_ID", "0"), ("SLURM_ARRAY_TASK_ID", "5"), ("JOB_COMPLETION_INDEX", "4")] {
            assert!(asked(4, &[wrong]).is_err(), "{wrong:?}");
        }
        assert!(asked(4, &[]).expect_err("no index").contains("--index"));
        assert!(asked(4, &[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "2")]).is_err());
    }
}
