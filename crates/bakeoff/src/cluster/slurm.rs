//! A job under Slurm: two scripts, and the commands that submit them.
//! In: a job's folder, the user's options. Out: the numbers of the array and of the collecting job.
//! Tasks are requeued if their node is lost. The last job runs however the tasks end, and reports what is missing.

use crate::failure::Failure;
use std::path::Path;
use std::time::Duration;
use system::create::Folder;
use system::{Command, Journal};

/// Time limit of Slurm's commands.
const ANSWER: Duration = Duration::from_secs(60);

/// Scripts of the array and of the collecting job.
pub const SCRIPTS: [&str; 2] = ["shard.sh", "collect.sh"];

/// Numbers of the submitted jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The array.
    pub array: String,
    /// The collecting job.
    pub collect: String,
}

/// Writes both scripts into the job's folder.
pub fn write(folder: &Path, program: &Path, shards: u32, options: &[String]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("writing the scripts in {}: {error}", folder.display()));
    let open = Folder::open(folder).map_err(failed)?;
    for (name, text) in SCRIPTS.into_iter().zip(scripts(folder, program, shards, options)) {
        open.replace(name, text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

fn scripts(folder: &Path, program: &Path, shards: u32, options: &[String]) -> [String; 2] {
    let quoted = |path: &Path| shell_words::quote(&path.to_string_lossy()).into_owned();
    let (bakeoff, job) = (quoted(program), quoted(folder));
    let logs = folder.join("logs");
    let head = |name: &str, log: &str| {
        format!(
            "#!/bin/sh\n#SBATCH --job-name=bakeoff-{name}\n#SBATCH --output={}\n#SBATCH --open-mode=append\n",
            directive(&logs.join(log))
        )
    };
    let own: String = options.iter().map(|option| format!("#SBATCH {option}\n")).collect();
    let tasks = format!("#SBATCH --array=1-{shards}\n#SBATCH --requeue\n#SBATCH --exclusive\n");
    [
        format!("{}{tasks}{own}exec {bakeoff} shard {job}\n", head("shard", "shard-%a.log")),
        format!("{}exec {bakeoff} collect {job}\n", head("collect", "collect.log")),
    ]
}

/// A path in a directive: Slurm splits the words of a line as a shell does and expands percent signs.
fn directive(path: &Path) -> String {
    let text = path.to_string_lossy();
    let (folder, name) = text.rsplit_once('/').unwrap_or(("", &text));
    format!("\"{}/{name}\"", folder.replace('%', "%%"))
}

/// Submits both; the second starts when all tasks of the first have ended, whether they succeeded or not.
pub fn submit(folder: &Path) -> Result<Submitted, Failure> {
    let array = sbatch(&[], &folder.join(SCRIPTS[0]))?;
    let collect = sbatch(&[format!("--dependency=afterany:{array}")], &folder.join(SCRIPTS[1]))?;
    Ok(Submitted { array, collect })
}

/// Runs sbatch. With `--parsable` it prints the job's number, possibly followed by a semicolon and the cluster's name.
fn sbatch(options: &[String], script: &Path) -> Result<String, Failure> {
    let words = ["sbatch", "--parsable"].map(String::from).into_iter().chain(options.iter().cloned());
    let command = Command::new(words.chain([script.to_string_lossy().into_owned()])).limit(ANSWER);
    let answer = command
        .run(&Journal::new())
        .map_err(|error| Failure::new(format!("submitting {}: {error}", script.display())))?;
    let number: String = answer.stdout.trim().split(';').next().unwrap_or_default().into();
    if number.is_empty() || !number.chars().all(|digit| digit.is_ascii_digit()) {
        return Err(Failure::new(format!("submitting {}: sbatch printed no job number", script.display())));
    }
    Ok(number)
}

/// Whether one of the jobs is waiting or running. Slurm forgets old jobs and reports them as an error.
pub fn is_under_way(jobs: &Submitted) -> bool {
    let asked = ["squeue", "--noheader", "--format=%A", "--jobs"].map(String::from);
    let command = Command::new(asked.into_iter().chain([format!("{},{}", jobs.array, jobs.collect)])).limit(ANSWER);
    command.run(&Journal::new()).is_ok_and(|answer| !answer.stdout.trim().is_empty())
}

/// Whether a text is a single-word option of sbatch that adds nothing else to the script.
pub fn is_option(text: &str) -> bool {
    text.starts_with("--") && text.len() > 2 && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_the_job_whatever_its_folder_is_called() {
        let [shard, collect] =
            scripts(Path::new("/srv/my job's/100%"), Path::new("/usr/bin/bakeoff"), 4, &["--partition=disks".into()]);
        assert!(shard.starts_with("#!/bin/sh\n#SBATCH --job-name=bakeoff-shard\n"), "{shard}");
        assert!(shard.contains("#SBATCH --output=\"/srv/my job's/100%%/logs/shard-%a.log\"\n"), "{shard}");
        assert!(shard.contains("#SBATCH --array=1-4\n") && shard.contains("#SBATCH --partition=disks\n"), "{shard}");
        let last = shell_words::split(collect.lines().last().expect("a line")).expect("words");
        assert_eq!(last, ["exec", "/usr/bin/bakeoff", "collect", "/srv/my job's/100%"]);
        assert!(!collect.contains("--array") && !collect.contains("disks"), "{collect}");
    }

    #[test]
    fn an_option_brings_no_line_of_its_own() {
        assert!(is_option("--partition=disks") && is_option("--gres=nvme:1"));
        assert!(!is_option("--x\nrm -rf /") && !is_option("-p") && !is_option("rm") && !is_option("--"));
    }
}
