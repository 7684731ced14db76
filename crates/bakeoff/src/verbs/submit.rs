//! `bakeoff submit`: a plan over several machines, with an existing Slurm, mpirun or Kubernetes.
//! In: the arguments of `run`, and the number of parts. Out: the job's folder; the numbers of the Slurm jobs; progress.
//! All parts have the same work and seed, and each has its own blocks.

use crate::args::SubmitArgs;
use crate::cluster::executions;
use crate::cluster::job::Job;
use crate::cluster::kubernetes::{self, Asked};
use crate::cluster::slurm;
use crate::failure::Failure;
use crate::verbs::collect;
use crate::{resolve, text};
use records::Place;
use records::plan::Shard;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::create::Folder;

/// Polling interval while waiting for a job.
const LOOK: Duration = Duration::from_secs(2);

/// Number of polls in a row without the job after which it is considered gone.
const UNKNOWN: u32 = 10;

/// The manifest's file.
const MANIFEST: &str = "kubernetes.json";

/// Creates the job, and submits it on request.
pub fn submit(args: &SubmitArgs) -> Result<u8, Failure> {
    let mut what = args.what.clone();
    if what.shard.is_some() {
        return Err(Failure::usage(
            "--shard: `submit` splits the plan itself; give the number of shards with --shards",
        ));
    }
    if let Some(wrong) = args.sbatch.iter().find(|option| !slurm::is_option(option)) {
        return Err(Failure::usage(format!(
            "--sbatch {wrong}: write an option in one word, such as --partition=disks"
        )));
    }
    what.seed.get_or_insert_with(resolve::fresh_seed);
    what.shard = Some(Shard { index: 0, of: args.shards });
    let (mut plan, _) = resolve::plan(&what)?;
    let from_anywhere = |path: &mut PathBuf| *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
    match &mut plan.place {
        Place::Image { scratch, .. } => from_anywhere(scratch),
        Place::Directories(folders) => folders.iter_mut().for_each(from_anywhere),
        Place::Device { .. } => {}
    }
    plan.filesystems.iter_mut().for_each(from_anywhere);
    let formats = !matches!(plan.place, Place::Directories(_));
    plan.notes.iter().for_each(|note| eprint!("{}", text::wrapped(note, text::width(), "", "  ")));
    let job = Job::new(plan, args.shards, &std::env::args().collect::<Vec<_>>());
    let folder = job.write(&args.folder)?;
    println!("{}: {} shards of {} trials", folder.display(), job.shards, job.trials(0));
    if let Some(image) = &args.kubernetes {
        let asked = Asked { shards: job.shards, image, claim: &args.claim, formats };
        write_manifest(&folder, &asked)?;
    }
    let program = std::env::current_exe().map_err(|error| Failure::new(format!("finding this program: {error}")))?;
    slurm::write(&folder, &program, job.shards, &args.sbatch)?;
    if args.slurm {
        return hand_over(&folder, &job, args.wait);
    }
    let shown = args.folder.display();
    println!("With mpirun: mpirun -np {} --map-by node bakeoff shard {shown}; bakeoff collect {shown}", job.shards);
    println!("With Slurm:  sbatch {shown}/shard.sh, then {shown}/collect.sh when all have ended");
    Ok(0)
}

fn write_manifest(folder: &Path, asked: &Asked<'_>) -> Result<(), Failure> {
    let manifest = kubernetes::manifest(asked);
    let written = Folder::open(folder).and_then(|open| open.replace(MANIFEST, manifest.as_bytes()));
    written.map_err(|error| Failure::new(format!("writing {MANIFEST} in {}: {error}", folder.display())))?;
    println!("With Kubernetes: kubectl apply -f {}/{MANIFEST}", folder.display());
    Ok(())
}

fn hand_over(folder: &Path, job: &Job, wait: bool) -> Result<u8, Failure> {
    let submitted = slurm::submit(folder)?;
    println!("Slurm job {} runs the tasks, job {} collects their results", submitted.array, submitted.collect);
    if !wait {
        println!("To show their progress: bakeoff collect {} --progress", folder.display());
        return Ok(0);
    }
    let (mut last, mut unknown) = (String::new(), 0);
    loop {
        let line = executions::in_a_line(&executions::all(folder, job));
        if line != last {
            println!("{line}");
            last = line;
        }
        if let Some(collected) = collect::result(folder)? {
            collect::tell(folder, &collected)?;
            return Ok(u8::from(!collected.missing.is_empty() || collected.run.is_none()));
        }
        // The last job may have ended just now, or a busy controller may not answer.
        unknown = if slurm::is_under_way(&submitted) { 0 } else { unknown + 1 };
        if unknown > UNKNOWN {
            return Err(Failure::new(format!(
                "Slurm no longer lists the jobs {} and {}, and there is no collected result; see {}/logs, then: bakeoff collect {}",
                submitted.array,
                submitted.collect,
                folder.display(),
                folder.display()
            )));
        }
        std::thread::sleep(LOOK);
    }
}
