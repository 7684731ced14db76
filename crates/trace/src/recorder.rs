//! Records a command: the initial tree, a watcher of the command, and the trace made from its events.
//! In: a command and its folder. Out: a [`Trace`]. The command runs as usual, with the caller's terminal, environment and permissions.

use crate::actions::Builder;
use crate::cost::{self, Cost};
use crate::events::{Event, Seen};
use crate::trace::{ACTIONS_LIMIT, FORMAT, Header, Overhead, Trace};
use crate::{bpf, compressible, strace, tree};
use rustix::fs::{FileType, Mode};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use system::scratch_folders;
use tempfile::TempDir;

/// The tool that records the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watcher {
    /// eBPF at the kernel's tracepoints, by bpftrace.
    Ebpf,
    /// strace.
    Strace,
}

impl Watcher {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Watcher::Ebpf => "eBPF",
            Watcher::Strace => "strace",
        }
    }
}

/// What to record.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The working folder; calls on files in it are recorded.
    pub folder: PathBuf,
    /// The watcher; None: eBPF if it works, else strace.
    pub watcher: Option<Watcher>,
    /// Bakeoff and its version.
    pub made_by: String,
    /// The present time, in RFC 3339.
    pub now: String,
    /// Type of the folder's filesystem.
    pub filesystem: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Bytes of memory available to programs.
    pub free_memory: u64,
}

/// Result of a recording.
#[derive(Debug)]
pub struct Recorded {
    /// The trace.
    pub trace: Trace,
    /// Exit status of the command.
    pub status: ExitStatus,
    /// Why eBPF was not used, if so.
    pub without_ebpf: Option<String>,
}

/// Called many times a second; an error is the reason to end the command now.
type GoOn<'g> = &'g dyn Fn() -> Result<(), String>;

/// Time limit for a watcher to get ready, and to finish.
const PATIENCE: Duration = Duration::from_secs(60);
/// Prefix of the folders for a watcher's output; the recorder's process id follows.
const SEEN: &str = "bakeoff-record-";
/// Most bytes that a watcher may write.
const OUTPUT_LIMIT: u64 = 8 << 30;

/// Records a command.
///
/// # Errors
/// No watcher works here, the command cannot be started, it exceeds the limits of a trace, or some of it was not seen; in a sentence.
pub fn record(asked: &Recording) -> Result<Recorded, String> {
    record_while(asked, &|| Ok(()))
}

/// Records a command until it ends, or `go_on` returns a reason to end it. Then its process is killed; its children may continue.
///
/// # Errors
/// As for [`record`], and that reason.
pub fn record_while(asked: &Recording, go_on: GoOn<'_>) -> Result<Recorded, String> {
    let folder = asked.folder.canonicalize().map_err(|error| format!("{}: {error}", asked.folder.display()))?;
    starts(&asked.command, &folder)?;
    let before = tree::entries(&folder).map_err(|error| format!("inspecting {}: {error}", folder.display()))?;
    let compressible_before = compressible::percent(&folder, &before);
    let Seeing { watcher, watched, cost, without_ebpf } = watch(asked, &folder, go_on)?;
    let (calls, mean) = (watched.calls().count() as u64, cost.mean(watched.calls()));
    let roots = roots(&folder, &asked.folder);
    let mut builder = Builder::new(roots, &before, watched.process, watched.begin(), cost);
    for event in &watched.events {
        builder.take(event)?;
        if builder.actions.len() > ACTIONS_LIMIT {
            return Err(format!("the command made more than {ACTIONS_LIMIT} calls; record a smaller part of its work"));
        }
    }
    let after = tree::entries(&folder).unwrap_or_default();
    let header = Header {
        format: FORMAT,
        made_by: asked.made_by.clone(),
        recorded: asked.now.clone(),
        command: asked.command.clone(),
        status: watched.status.code(),
        filesystem: asked.filesystem.clone(),
        kernel: asked.kernel.clone(),
        entries: before.len() as u64,
        actions: builder.actions.len() as u64,
        threads: builder.births(),
        handles: builder.handles,
        elapsed_ns: watched.end().saturating_sub(watched.begin()),
        overhead: Overhead { watcher: watcher.name().into(), calls, between_ns: mean.between, within_ns: mean.within },
        think_on_processor: watcher == Watcher::Ebpf,
        compressible_before,
        compressible_after: compressible::percent(&folder, &after),
        unseen: builder.unseen.iter().map(|(what, count)| format!("{what}: {count} times")).collect(),
    };
    let trace = Trace { header, tree: before, actions: builder.actions };
    trace.check()?;
    Ok(Recorded { trace, status: watched.status, without_ebpf })
}

/// Whether a command can be started in a folder.
///
/// # Errors
/// Its program does not exist, or is not executable; in a clause.
fn starts(command: &[String], folder: &Path) -> Result<(), String> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let runs =
        |path: &Path| path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        let path = folder.join(program);
        return if runs(&path) { Ok(()) } else { Err(format!("{} is not a program", path.display())) };
    }
    let all = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&all).any(|path| runs(&path.join(program))) {
        true => Ok(()),
        false => Err(format!("no folder of PATH has the program `{program}`; give its path, or install it")),
    }
}

/// The paths by which a folder may be named.
fn roots(canonical: &Path, given: &Path) -> Vec<String> {
    let mut roots = vec![canonical.to_string_lossy().into_owned()];
    let logical = std::env::var("PWD").ok().filter(|path| fs::canonicalize(path).is_ok_and(|path| path == canonical));
    for other in [std::path::absolute(given).ok().map(|path| path.to_string_lossy().into_owned()), logical] {
        roots.extend(other.filter(|path| !roots.contains(path)));
    }
    roots
}

/// A command that has run under a watcher.
struct Seeing {
    watcher: Watcher,
    watched: Watched,
    /// What the watcher added to its calls.
    cost: Cost,
    /// Why the watcher is not eBPF, if that was tried.
    without_ebpf: Option<String>,
}

/// Runs the command under the watcher that was asked for, or under the first that works.
fn watch(asked: &Recording, folder: &Path, go_on: GoOn<'_>) -> Result<Seeing, String> {
    let mut without_ebpf = None;
    if asked.watcher != Some(Watcher::Strace) {
        match Ebpf::start(&asked.command, folder, room(asked.free_memory)) {
            Ok(started) => {
                let (watched, cost) = started.record(go_on)?;
                return Ok(Seeing { watcher: Watcher::Ebpf, watched, cost, without_ebpf });
            }
            Err(why) if asked.watcher.is_some() => return Err(format!("eBPF cannot be used here: {why}")),
            Err(why) => without_ebpf = Some(why),
        }
    }
    let cost = cost::of_strace().map_err(|why| match &without_ebpf {
        None => format!("strace cannot be used here: {why}"),
        Some(other) => {
            format!(
                "no tracer works here. eBPF: {other}. strace: {why}. `apt-get install bpftrace strace` installs both"
            )
        }
    })?;
    let watched = by_strace(&asked.command, folder, go_on)?;
    let cost = cost::in_place(watched.calls(), cost);
    Ok(Seeing { watcher: Watcher::Strace, watched, cost, without_ebpf })
}

/// The calls among events.
pub fn calls(events: &[Event]) -> impl Iterator<Item = &Seen> + Clone {
    events.iter().filter_map(|event| match event {
        Event::Call(seen) => Some(&**seen),
        _ => None,
    })
}

/// A command that has run, and its events.
pub struct Watched {
    process: i32,
    status: ExitStatus,
    /// In order of time.
    events: Vec<Event>,
}

impl Watched {
    fn new(process: i32, status: ExitStatus, mut events: Vec<Event>) -> Watched {
        events.sort_by_key(|event| event.moment(crate::descriptors::signals));
        Watched { process, status, events }
    }

    /// The calls among the events.
    pub fn calls(&self) -> impl Iterator<Item = &Seen> + Clone {
        calls(&self.events)
    }

    /// Takes out the events of the shell that made calls of known length before it became the command: up to the first exec after its first child.
    fn split_at_command(&mut self) -> Vec<Event> {
        let first_child = self
            .events
            .iter()
            .position(|event| matches!(event, Event::Birth { parent, .. } if *parent == self.process));
        let begins = |event: &Event| matches!(event, Event::Call(seen) if self.is_exec(seen));
        let after = first_child.unwrap_or(self.events.len());
        let begin = self.events[after..].iter().position(begins).map_or(self.events.len(), |at| after + at);
        let command = self.events.split_off(begin);
        std::mem::replace(&mut self.events, command)
    }

    /// When the command itself ended.
    fn end(&self) -> u64 {
        let ends = self.events.iter().rev().find_map(|event| match event {
            Event::End { at, thread, .. } if *thread == self.process => Some(*at),
            _ => None,
        });
        ends.or(self.calls().map(|seen| seen.end).max()).unwrap_or(0)
    }

    /// When the command itself began, with the exec of its program.
    fn begin(&self) -> u64 {
        self.calls().find(|seen| self.is_exec(seen)).map_or(0, |seen| seen.end)
    }

    /// Whether the command's process started a program with this call.
    fn is_exec(&self, seen: &Seen) -> bool {
        seen.call == libc::SYS_execve && seen.result == 0 && seen.thread == self.process
    }
}

/// A folder for a watcher's output, in memory where there is one.
fn folder_for_output() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    scratch_folders::sweep(&base, SEEN);
    let made = tempfile::Builder::new().prefix(&scratch_folders::prefix(SEEN)).tempdir_in(base);
    made.map_err(|error| format!("creating a folder for the recording: {error}"))
}

/// Runs a command under strace.
///
/// # Errors
/// strace does not run or records nothing, or `go_on` ends the command; in a sentence.
pub fn by_strace(command: &[String], folder: &Path, go_on: GoOn<'_>) -> Result<Watched, String> {
    let place = folder_for_output()?;
    let place = place.path();
    let output = place.join("t");
    let mut started = Command::new("strace");
    started.args(strace::arguments(&output.to_string_lossy())).args(command).current_dir(folder);
    let mut child = started.spawn().map_err(|error| format!("starting strace: {error}"))?;
    let status = wait(&mut child, place, go_on)?;
    let mut events = Vec::new();
    let mut first: Option<(u64, i32)> = None;
    for file in fs::read_dir(place).map_err(|error| error.to_string())?.flatten() {
        let thread = file.path().extension().and_then(|number| number.to_str()?.parse().ok());
        let (Some(thread), Ok(bytes)) = (thread, fs::read(file.path())) else { continue };
        let own = strace::events(thread, &String::from_utf8_lossy(&bytes));
        if let Some(begun) = own.first().map(|event| event.moment(|_| true)) {
            first = Some(first.map_or((begun, thread), |other| other.min((begun, thread))));
        }
        events.extend(own);
    }
    let (_, process) = first.ok_or_else(|| format!("strace recorded nothing (it ended with {status})"))?;
    Ok(Watched::new(process, status, events))
}

/// A command that waits to be started, and bpftrace, which is ready to record it.
struct Ebpf {
    place: TempDir,
    command: Child,
    watcher: Child,
}

/// Name of the pipe at which the command waits.
const GATE: &str = "gate";

impl Ebpf {
    /// Starts both, with memory for so many calls of the command.
    fn start(command: &[String], folder: &Path, room: u64) -> Result<Ebpf, String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        let place = folder_for_output()?;
        let gate = place.path().join(GATE);
        rustix::fs::mknodat(rustix::fs::CWD, &gate, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|error| failed("creating a pipe", &error))?;
        // It waits at the gate, so that none of its calls is missed. The calls that show what recording costs come first.
        let line = format!("read go < \"$0\"; {}; exec \"$@\"", cost::calls_of_known_length());
        let mut started = Command::new("setpriv");
        started.args(["--pdeathsig", "KILL", "sh", "-c", &line]).arg(&gate).args(command).current_dir(folder);
        let mut command = started.spawn().map_err(|error| failed("starting setpriv", &error))?;
        let started = start_bpftrace(command.id(), place.path(), room + cost::CALLS);
        let watcher = started.and_then(|mut watcher| match ready(&mut watcher, place.path()) {
            Ok(()) => Ok(watcher),
            Err(why) => {
                let _ = watcher.kill().and_then(|()| watcher.wait());
                Err(why)
            }
        });
        match watcher {
            Ok(watcher) => Ok(Ebpf { place, command, watcher }),
            Err(why) => {
                let _ = command.kill().and_then(|()| command.wait());
                Err(why)
            }
        }
    }

    /// Lets the command run to its end; its events, and what recording added to its calls.
    fn record(mut self, go_on: GoOn<'_>) -> Result<(Watched, Cost), String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        let place = self.place.path();
        let opened = fs::OpenOptions::new().write(true).open(place.join(GATE));
        let opened = opened.and_then(|mut gate| gate.write_all(b"go\n"));
        opened.map_err(|error| failed("starting the command", &error))?;
        let status = wait(&mut self.command, place, go_on);
        if let Some(watching) = Pid::from_raw(self.watcher.id() as i32) {
            let _ = kill_process(watching, Signal::INT);
        }
        let begun = Instant::now();
        while self.watcher.try_wait().is_ok_and(|ended| ended.is_none()) {
            if begun.elapsed() > PATIENCE {
                let _ = self.watcher.kill().and_then(|()| self.watcher.wait());
                return Err(format!("bpftrace did not end within {PATIENCE:?} after the command"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let shown = fs::read_to_string(place.join("errors")).unwrap_or_default();
        if let Some(lost) = shown.lines().find(|line| line.contains("Lost ")) {
            return Err(format!(
                "the command started processes faster than bpftrace could record them ({lost}); try `--with strace`"
            ));
        }
        let text = fs::read(place.join("seen")).map_err(|error| failed("reading the recording", &error))?;
        let process = self.command.id() as i32;
        let mut watched = Watched::new(process, status?, bpf::events(&String::from_utf8_lossy(&text))?);
        let before = watched.split_at_command();
        let cost = cost::of_ebpf(&before).map_err(|why| format!("recording the cost of recording: {why}"))?;
        Ok((watched, cost))
    }
}

/// Starts bpftrace; in its own mount namespace if tracefs is not mounted.
fn start_bpftrace(process: u32, place: &Path, room: u64) -> Result<Child, String> {
    let script = place.join("script.bt");
    fs::write(&script, bpf::script(process)).map_err(|error| error.to_string())?;
    let errors = fs::File::create(place.join("errors")).map_err(|error| error.to_string())?;
    let words = ["bpftrace", "-B", "full", "-o"].map(str::to_owned).into_iter();
    let words = words.chain([place.join("seen"), script].map(|path| path.to_string_lossy().into_owned()));
    let mounted =
        Path::new("/sys/kernel/tracing/events").is_dir() || Path::new("/sys/kernel/debug/tracing/events").is_dir();
    let mut started = if mounted {
        Command::new("setpriv")
    } else {
        let mut alone = Command::new("unshare");
        alone.args(["--mount", "sh", "-c", "mount -t tracefs none /sys/kernel/tracing && exec \"$@\"", "sh"]);
        alone.arg("setpriv");
        alone
    };
    // It ends with the recording process, whatever ends that.
    started
        .args(["--pdeathsig", "INT"])
        .args(words)
        .env("BPFTRACE_PERF_RB_PAGES", "4096")
        .env("BPFTRACE_STRLEN", bpf::TEXT.to_string());
    started.env("BPFTRACE_MAP_KEYS_MAX", room.to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    started.spawn().map_err(|error| format!("starting bpftrace: {error}"))
}

/// Number of calls for which there is memory: a quarter of free memory may be used.
fn room(free_memory: u64) -> u64 {
    // Fourteen maps with 8 to 270 bytes per entry, and the kernel's overhead for each.
    const BYTES: u64 = 2048;
    (free_memory / 4 / BYTES).clamp(100_000, 1_500_000)
}

fn ready(watcher: &mut Child, place: &Path) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let seen = fs::read_to_string(place.join("seen")).unwrap_or_default();
        if seen.lines().any(|line| line == bpf::READY) {
            return Ok(());
        }
        let ended = watcher.try_wait().ok().flatten();
        if ended.is_some() || begun.elapsed() > PATIENCE {
            let text = fs::read_to_string(place.join("errors")).unwrap_or_default();
            let text = text
                .lines()
                .filter(|line| !line.trim().is_empty() && !line.contains("RLIMIT_MEMLOCK"))
                .take(2)
                .collect::<Vec<_>>()
                .join(" / ");
            let text = if text.is_empty() { "bpftrace did not start to record".to_owned() } else { text };
            return Err(text.trim().to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for the command, and ends it if the watcher's output exceeds its limit, or `go_on` requests it.
fn wait(child: &mut Child, place: &Path, go_on: GoOn<'_>) -> Result<ExitStatus, String> {
    let mut looked = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("waiting for the command: {error}"))? {
            return Ok(status);
        }
        if let Err(why) = go_on() {
            let _ = child.kill().and_then(|()| child.wait());
            return Err(why);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
        if looked.elapsed() > Duration::from_secs(2) {
            looked = Instant::now();
            let files = fs::read_dir(place).into_iter().flatten().flatten();
            let bytes: u64 = files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum();
            if bytes > OUTPUT_LIMIT {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(format!(
                    "the recording has more than {OUTPUT_LIMIT} bytes; record a smaller part of its work"
                ));
            }
        }
    }
}
