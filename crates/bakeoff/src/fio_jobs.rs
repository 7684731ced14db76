//! Job files of fio: read, checked and rewritten, then run by fio or translated.
//! In: a file, and environment variables. Out: a workload; or the lines that cannot be run, or fio's own error message.

use crate::args::Own;
use crate::failure::Failure;
use fio::{JobFile, Map, Way};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use system::input::{TEXT_LIMIT, text_file};
use workload::written;

/// Lines of fio's output that an error message repeats.
const LINES: usize = 6;

/// Whether a name is that of a job file.
pub fn is_job_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "fio")
}

/// The workload in which fio runs a job file.
///
/// # Errors
/// It cannot be read, has lines that cannot be run here, or uses an unset variable; or fio is missing or rejects the file.
pub fn workload(path: &Path, own: &Own) -> Result<written::File, Failure> {
    let file = read(path, &own.map)?;
    check(path, &file)?;
    for remark in fio::remarks(&file) {
        system::note(&format!("note: {} {remark}", path.display()));
    }
    let way = Way {
        name: format!("fio-{}", name_of(path)),
        title: format!("fio: {}", path.file_name().unwrap_or_default().to_string_lossy()),
        start: own.start.into(),
        user: own.user.clone(),
        time_limit: own.time_limit.clone(),
    };
    Ok(fio::run_by_fio(&file, &way))
}

/// A job file as steps of Bakeoff's own engine: the text of a workload file that begins with what is omitted or differs.
///
/// # Errors
/// It cannot be read, has lines that cannot be run here, or a job has no counterpart.
pub fn translated(path: &Path, map: &[String]) -> Result<String, Failure> {
    let file = read(path, map)?;
    // A name may contain a line break.
    let shown = path.display().to_string().escape_debug().to_string();
    let made = fio::translated(&file, &name_of(path), &format!("As fio's {shown}"));
    let made = made.map_err(|problems| {
        let way = "`bakeoff run` runs the job file with fio itself";
        Failure::usage(format!(
            "{shown} cannot be translated for Bakeoff's own engine:\n{}\n{way}",
            problems.join("\n")
        ))
    })?;
    let text = made.workload.text().map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let mut heading = format!("# From {shown}. Random numbers, data and file creation are Bakeoff's own, not fio's.\n");
    if !made.differences.is_empty() {
        heading += &format!("# Left out or different from fio:\n#   {}\n", made.differences.join("\n#   "));
    }
    Ok(heading + &text)
}

/// The name of a workload, after its file.
pub fn name_of(path: &Path) -> String {
    fio::identifier(&path.file_stem().unwrap_or_default().to_string_lossy())
}

fn read(path: &Path, map: &[String]) -> Result<JobFile, Failure> {
    let map = Map::of(map).map_err(|why| Failure::usage(format!("--map {why}")))?;
    let text = text_file(path, TEXT_LIMIT)
        .map_err(|why| Failure::usage(format!("reading the job file {}: {why}", path.display())))?;
    JobFile::read_mapped(&text, &|name| std::env::var(name).ok(), &map).map_err(|problem| refused(path, &problem))
}

fn refused(path: &Path, problem: &fio::Problem) -> Failure {
    Failure::usage(format!("{} cannot be run in a contender's folder:\n{problem}", path.display()))
}

/// Makes fio parse the rewritten file without running it.
fn check(path: &Path, file: &JobFile) -> Result<(), Failure> {
    let failed = |what: &str, error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(format!(
            "{}: fio job files need fio, which is not installed: `apt-get install fio`",
            path.display()
        )),
        _ => Failure::new(format!("{}: {what} fio: {error}", path.display())),
    };
    let mut command = Command::new("fio");
    command.args(["--parse-only", "-"]).env_clear().env("PATH", workload::command::PATH);
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed("starting", &error))?;
    if let Some(mut input) = child.stdin.take() {
        // fio may stop reading early; its own error message is then the better one.
        let _ = input.write_all(JobFile::written(&file.jobs, 0).as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed("waiting for", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stderr, output.stdout].concat();
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES).collect();
    Err(Failure::usage(format!("fio rejects {}: {}", path.display(), lines.join("; "))))
}
