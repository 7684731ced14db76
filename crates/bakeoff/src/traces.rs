//! Traces given by name: read, checked, and converted to a workload.
//! In: a file. Out: a workload in TOML that creates the program's initial files and repeats its calls.

use crate::args::Own;
use crate::failure::Failure;
use crate::fio_jobs::name_of;
use crate::text::{line_of, shortened};
use std::path::Path;
use system::input::Unreadable;
use trace::Trace;
use workload::written::{self, File, Phase, Work};

/// Most letters of a command in a title.
const TITLE_LENGTH: usize = 60;

/// Reads a trace.
///
/// # Errors
/// It cannot be read, is not a trace, or has another version.
pub fn read(path: &Path) -> Result<Trace, Failure> {
    trace::read(path).map_err(|why| Failure::usage(format!("reading the trace {}: {why}", path.display())))
}

/// The workload that replays a trace.
///
/// # Errors
/// It cannot be read.
pub fn workload(path: &Path, own: &Own) -> Result<File, Failure> {
    let trace = read(path)?;
    let failed = |why: Unreadable| Failure::usage(format!("reading the trace {}: {why}", path.display()));
    let file = std::path::absolute(path).map_err(|error| failed(error.into()))?.to_string_lossy().into_owned();
    let checksum = trace::checksum(path).map_err(failed)?;
    let of = |step| {
        let trace = written::Trace { file: file.clone(), step, think: !own.full_speed, checksum: checksum.clone() };
        Work { trace: Some(trace), ..Work::default() }
    };
    let line = line(&trace);
    let replay = Phase {
        name: "replay".into(),
        title: line.clone(),
        doing: format!("replaying `{line}`"),
        cache: own.start.into(),
        work: vec![of("replay")],
        ..Phase::default()
    };
    Ok(File {
        name: format!("trace-{}", name_of(path)),
        title: format!("Recorded: {line}"),
        about: about(&trace, own.full_speed),
        time_limit: own.time_limit.clone(),
        scales: File::same_scales(),
        phases: vec![Phase::preparation("tree".into(), "create the files".into(), of("lay-out")), replay],
        ..File::default()
    })
}

/// The command as typed in a shell, shortened.
pub fn line(trace: &Trace) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    shortened(&line_of(&trace.header.command).chars().map(plain).collect::<String>(), TITLE_LENGTH)
}

fn about(trace: &Trace, full_speed: bool) -> String {
    let header = &trace.header;
    let files = trace::files(&trace.tree).count();
    let bytes: u64 = trace::files(&trace.tree).map(|(_, size)| size).sum();
    let think = if full_speed {
        "at full speed, keeping only the order that the calls depend on"
    } else {
        "with the program's own time between its calls"
    };
    format!(
        "Replays {} calls and waits of `{}`, recorded with {} threads and processes on {} ({}), {think}. It begins with {files} files, {:.1} MiB in all.",
        header.actions,
        line(trace),
        header.threads,
        header.filesystem,
        header.recorded,
        bytes as f64 / f64::from(1 << 20),
    )
}
