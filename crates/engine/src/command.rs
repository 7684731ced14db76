//! One run of a user's own program, until it and all processes that it started have ended.
//! In: a command and the root. Out: resources used and output, in the worker's slot; or why it failed.
//! A worker forks a keeper, which holds all processes of the command together (see [`crate::confine`]) and ends them before it exits.
//! If the worker or one of its ancestors is killed, all of them are killed.

use crate::clock::kernel_ns;
use crate::confine::{self, Handle, Hold, Usage, Waited};
use crate::fio;
use crate::mounts::{self, Outside};
use crate::ops::Ops;
use crate::printed::{parts, printed};
use crate::process::{self, Ending, Event};
use crate::sandbox::{self, Sandbox};
use crate::shared::{Count, Note};
use crate::sys;
use crate::worker::Task;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use workload::outcome::{CommandRun, CpuTime, GroupOutcome};
use workload::program::{Command, Over, PEAK_MEMORY};

/// Most processes of a command at once: above a build with hundreds of jobs, below a fork bomb.
const PROCESSES: usize = 4096;
/// Between two checks of a command.
const LOOK: Duration = Duration::from_millis(100);
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Longest wait for killed processes to disappear.
const GONE: Duration = Duration::from_secs(10);
/// Bytes of output kept while the command runs; [`TAIL`] of them are passed on.
const KEPT: usize = 16 << 20;
const TAIL: usize = 2048;
/// Unit of reported memory in bytes.
const MIB: f64 = 1_048_576.0;
/// Most names of leftover processes that are reported.
const NAMES: usize = 8;

/// Runs commands as one worker's share, one after the other; each item is one or more commands.
pub fn work(task: &Task, items: &[Vec<Command>]) -> Result<(), String> {
    let outside = Outside::here();
    let hold = confine::separate();
    let worker = Worker { handle: Handle::of(None), number: std::process::id() as i32, outside };
    let keeper = process::fork(|| match keep(task, items, hold, &worker) {
        Ok(()) => 0,
        Err(reason) => {
            task.shared.slot(task.slot).note(&Note::Fatal(reason));
            1
        }
    });
    let mut keeper = [keeper.map_err(|e| format!("starting the parent process of the command: {e}"))?];
    loop {
        match keeper[0].poll() {
            Some(Ending::Exit(0)) => return Ok(()),
            Some(Ending::Exit(1)) => return Err(format!("`{}` failed", first_line(items))),
            Some(ending) => {
                return Err(format!("the parent process of `{}` ended unexpectedly ({ending:?})", first_line(items)));
            }
            None => process::wait_for_any(&keeper, 1_000),
        }
    }
}

fn first_line(items: &[Vec<Command>]) -> String {
    items.iter().flatten().next().map(Command::line).unwrap_or_default()
}

/// The worker that runs the command.
struct Worker {
    handle: Handle,
    number: i32,
    outside: Outside,
}

/// User and group of a command; None: those of the engine.
pub fn identity(command: &Command) -> Result<Option<(u32, u32)>, String> {
    command.user.as_deref().map(user_ids).transpose()
}

/// User and primary group ids of a user of this machine.
///
/// # Errors
/// There is no such user, or the lookup failed; in a sentence.
pub fn user_ids(user: &str) -> Result<(u32, u32), String> {
    let asked = std::process::Command::new("getent").args(["passwd", "--", user]).stdin(Stdio::null()).output();
    let output = asked.map_err(|e| format!("running `getent passwd` for user {user}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let fields: Vec<&str> = text.trim_end().split(':').collect();
    let ids = match fields.as_slice() {
        [_, _, user, group, ..] => user.parse().ok().zip(group.parse().ok()),
        _ => None,
    };
    ids.ok_or_else(|| format!("there is no user `{user}` on this machine"))
}

/// The folder of a command, and its confinement.
struct Ground {
    path: PathBuf,
    folder: OwnedFd,
    /// Absent for tools of the filesystem, and for unconfined commands.
    sandbox: Option<Sandbox>,
    /// Names of the confinement mechanisms.
    by: Vec<String>,
    lack: Option<String>,
    /// What confining took, which is not the commands'.
    setup: Usage,
}

impl Ground {
    /// The same for all commands of a task, except tools of the filesystem; called in the process that holds them.
    fn of(task: &Task, hold: Hold, command: Option<&Command>) -> Result<Ground, String> {
        let tools = task.group().over == Over::Volume;
        let confined = !tools && command.is_none_or(|command| !command.unconfined);
        confine::settle(hold, &task.program.root, if confined { "/run/" } else { mounts::RUNS });
        // A tool may create the root again, or the root may not be mounted.
        let path = if tools { PathBuf::from("/") } else { task.program.root.clone() };
        let folder = if tools { sys::open_root(&path)? } else { sys::kept(task.root)? };
        let setup = Usage { io: Some((0, 0)), ..Usage::default() };
        if !confined {
            let lack = (!tools).then(|| "ran unconfined, as requested".to_owned());
            return Ok(Ground { path, folder, sandbox: None, by: Vec::new(), lack, setup });
        }
        let private: Vec<PathBuf> =
            command.into_iter().flat_map(|command| &command.private).map(PathBuf::from).collect();
        let sandbox = Sandbox::build(hold, &folder, &path, &private)?;
        let (by, lack) = (sandbox.by(), sandbox.lack());
        Ok(Ground { path, folder, sandbox: Some(sandbox), by, lack, setup })
    }

    /// A process that becomes this command at the common start. It is forked and confined beforehand, so neither is part of the command's
    /// time. A task has at most one confined command.
    fn started(&mut self, task: &Task, command: &Command) -> Result<Running, String> {
        let [program, arguments @ ..] = command.words.as_slice() else {
            return Err("a command without a program".into());
        };
        let mut ready = std::process::Command::new(program);
        ready.args(arguments).env_clear().envs(["HOME", "PWD", "TMPDIR"].map(|name| (name, &self.path)));
        let (output, written) = self.output(&command.output)?;
        let (errors, failed) = piped()?;
        ready.envs(&command.environment).stdin(input(&command.input)?).stdout(output).stderr(errors);
        let user = identity(command)?;
        let (mut faults, mut fault) = pipe()?;
        let (folder, sandbox, keeper) = (&self.folder, self.sandbox.take(), process::own_id());
        let child = process::fork(move || {
            let confined = sandbox::begin(folder, user, sandbox).and_then(|()| {
                // A change of user lifts it.
                process::die_with(keeper);
                let own = confine::usage_so_far();
                tell(&mut fault, &Told { error: 0, cpu: own.cpu, switches: own.switches })
            });
            let error = match confined {
                Ok(()) => {
                    task.wait_at_gate();
                    if task.shared.stopped().is_some() {
                        return NOT_BEGUN;
                    }
                    ready.exec()
                }
                Err(error) => error,
            };
            let error = error.raw_os_error().filter(|error| *error != 0).unwrap_or(libc::EINVAL);
            let _ = tell(&mut fault, &Told { error, ..Told::default() });
            NOT_BEGUN
        });
        let child = child.map_err(|e| format!("starting the process of `{}`: {e}", command.line()))?.id();
        match heard(&mut faults) {
            Some(Told { error: 0, cpu, switches }) => {
                self.setup.cpu.user_ns += cpu.user_ns;
                self.setup.cpu.system_ns += cpu.system_ns;
                self.setup.switches += switches;
                self.setup.io = self.setup.io.map(|(read, written)| (read, written + TOLD as u64));
            }
            Some(told) => return Err(cannot_start(command, &told)),
            None => return Err(format!("starting `{}`: its process ended before the program began", command.line())),
        }
        let pipes = [written, Some(failed)];
        let open = [pipes[0].is_some(), true];
        let handle = Handle::of(Some(child));
        Ok(Running { child, handle, pipes, open, output: Output::default(), errors: Output::default(), faults })
    }

    /// A command's standard output, and where to read it: a pipe, nothing, or a file in its folder. The file is not opened through a link,
    /// and a named pipe is an error.
    fn output(&self, file: &str) -> Result<(Stdio, Option<PipeReader>), String> {
        let flags =
            OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match file {
            "" => piped().map(|(output, written)| (output, Some(written))),
            "null" => Ok((Stdio::null(), None)),
            _ => rustix::fs::openat(&self.folder, file, flags, Mode::from_raw_mode(0o644))
                .map(|file| (Stdio::from(file), None))
                .map_err(|error| format!("opening {file} for the output of the command: {error}")),
        }
    }
}

fn pipe() -> Result<(PipeReader, PipeWriter), String> {
    std::io::pipe().map_err(|error| format!("making a pipe for the command: {error}"))
}

/// One end of a pipe for a command to write to, the other one to read.
fn piped() -> Result<(Stdio, PipeReader), String> {
    pipe().map(|(reader, writer)| (writer.into(), reader))
}

/// What a process tells before it becomes its program.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    /// Number of an error; 0: it is confined.
    error: i32,
    /// What it took so far.
    cpu: CpuTime,
    switches: u64,
}

/// Bytes of [`Told`] in a pipe.
const TOLD: usize = 4 * size_of::<u64>();
/// Exit status of a process that did not become its program, as in a shell.
const NOT_BEGUN: i32 = 127;

fn tell(to: &mut PipeWriter, told: &Told) -> std::io::Result<()> {
    let words = [told.error as u64, told.cpu.user_ns, told.cpu.system_ns, told.switches];
    to.write_all(&words.map(u64::to_ne_bytes).concat())
}

/// The next message; `None` at the end.
fn heard(from: &mut PipeReader) -> Option<Told> {
    let mut bytes = [0; TOLD];
    from.read_exact(&mut bytes).ok()?;
    let mut words =
        bytes.chunks_exact(size_of::<u64>()).filter_map(|word| word.try_into().ok().map(u64::from_ne_bytes));
    let mut next = || words.next().unwrap_or_default();
    Some(Told { error: next() as i32, cpu: CpuTime { user_ns: next(), system_ns: next() }, switches: next() })
}

/// A standard input with a text: a pipe, whose capacity limits the text.
fn input(text: &str) -> Result<Stdio, String> {
    if text.is_empty() {
        return Ok(Stdio::null());
    }
    let (reader, mut writer) = pipe()?;
    writer.write_all(text.as_bytes()).map_err(|error| format!("giving the command its input: {error}"))?;
    Ok(reader.into())
}

/// The end of a command's output, and its total length.
#[derive(Default)]
struct Output {
    bytes: u64,
    kept: Vec<u8>,
}

impl Output {
    /// Reads available output; false at its end.
    fn take(&mut self, from: &mut impl Read) -> bool {
        let mut buffer = [0; 64 << 10];
        let Ok(read) = from.read(&mut buffer) else { return false };
        self.bytes += read as u64;
        self.kept.extend_from_slice(&buffer[..read]);
        if self.kept.len() > 2 * KEPT {
            self.kept.drain(..self.kept.len() - KEPT);
        }
        read > 0
    }

    /// The last lines, with control characters made printable.
    fn tail(&self) -> String {
        let from = self.kept.len().saturating_sub(TAIL);
        let text = String::from_utf8_lossy(&self.kept[from..]);
        let plain = |c: char| if c == '\n' || c == '\t' || !c.is_control() { c } else { '.' };
        text.trim_end().chars().map(plain).collect()
    }
}

/// Extracts a command's own figures from its two outputs; returns why one of them is missing.
fn figures(
    command: &Command,
    outputs: [&str; 2],
    peak_memory: u64,
    figures: &mut BTreeMap<String, f64>,
) -> Option<String> {
    let mut missing = None;
    for figure in &command.figures {
        let found = if figure.from == PEAK_MEMORY { Ok(peak_memory as f64 / MIB) } else { printed(figure, outputs) };
        match found {
            Ok(value) => drop(figures.insert(figure.name.clone(), value)),
            Err(why) => missing = missing.or(Some(format!("`{}`: {why}", command.line()))),
        }
    }
    missing
}

/// The command while it runs.
struct Running {
    child: i32,
    handle: Handle,
    output: Output,
    errors: Output,
    /// Where its two outputs are read, and which of them are open.
    pipes: [Option<PipeReader>; 2],
    open: [bool; 2],
    /// Why its program could not begin.
    faults: PipeReader,
}

/// Events while waiting for a command.
struct Heard {
    wrote: bool,
    other_ended: bool,
    mounts_changed: bool,
}

impl Running {
    /// Waits until the command ends or writes, its worker ends or sees changed mounts, or a timeout; reads available output.
    fn listen(&mut self, other: Option<&Worker>, milliseconds: i32) -> Result<Heard, String> {
        let fd = |at: usize| self.pipes[at].as_ref().filter(|_| self.open[at]).map_or(-1, AsRawFd::as_raw_fd);
        let [first, second] = [(fd(0), Event::Readable), (fd(1), Event::Readable)];
        let other = other.map_or([(-1, Event::Readable); 2], |other| [other.handle.end(), other.outside.changes()]);
        let [_, other_ended, mounts_changed, wrote, failed] =
            process::wait_for([self.handle.end(), other[0], other[1], first, second], milliseconds)
                .map_err(|e| format!("waiting for the command: {e}"))?;
        let [output, errors] = &mut self.pipes;
        if let (true, Some(pipe)) = (wrote, output) {
            self.open[0] = self.output.take(pipe);
        }
        if let (true, Some(pipe)) = (failed, errors) {
            self.open[1] = self.errors.take(pipe);
        }
        Ok(Heard { wrote: wrote || failed, other_ended, mounts_changed })
    }

    /// Reads what is left in the pipes; other processes may hold them open and keep writing.
    fn hear_out(&mut self) {
        const MOST: usize = 64;
        for _ in 0..MOST {
            if !self.listen(None, 0).is_ok_and(|heard| heard.wrote) {
                return;
            }
        }
    }
}

fn keep(task: &Task, items: &[Vec<Command>], hold: Hold, worker: &Worker) -> Result<(), String> {
    let mut ground = Ground::of(task, hold, items.iter().flatten().next())?;
    let mut first = items.iter().flatten().next().map(|command| ground.started(task, command)).transpose()?;
    let ops = Ops::new(task.group());
    task.wait_for_start();
    if task.shared.stopped().is_some() {
        end_all(hold, Duration::ZERO);
        return Ok(());
    }
    let mut tally = task.tally(&ops);
    // The command begins with the common start, even if this process wakes up later.
    tally.count_from_start();
    let mut last = None;
    'items: for commands in items {
        for (number, command) in commands.iter().enumerate() {
            let mut running = first.take().map_or_else(|| ground.started(task, command), Ok)?;
            let line = command.line();
            let Some(how) = watch(&mut running, &line, hold, worker, &|| tally.running())? else { return Ok(()) };
            if let Some(told) = heard(&mut running.faults) {
                return Err(cannot_start(command, &told));
            }
            if number + 1 == commands.len() {
                tally.lap(ops.list[0].histogram);
                tally.items(1);
            }
            tally.fold(line.bytes().fold(0, |hash, byte| crate::hash::mix(hash ^ u64::from(byte))));
            let mut ended = Ended::of(running, command, how, hold, &ground.setup);
            ended.run.confined_by.clone_from(&ground.by);
            ended.lack.clone_from(&ground.lack);
            let failed = ended.failure.is_some();
            last = Some(ended);
            if failed || !tally.running() {
                break 'items;
            }
        }
    }
    tally.finish();
    last.map_or(Ok(()), |last| last.tell(task))
}

/// A command that has ended, with all processes that it started.
struct Ended {
    run: CommandRun,
    cpu: CpuTime,
    reported: Vec<GroupOutcome>,
    failure: Option<String>,
    /// What was not confined.
    lack: Option<String>,
}

impl Ended {
    fn of(mut running: Running, command: &Command, how: Ending, hold: Hold, setup: &Usage) -> Ended {
        running.hear_out();
        let left_behind = confine::held(hold);
        let names = left_behind.iter().filter_map(|process| confine::name(*process)).take(NAMES).collect();
        end_all(hold, GRACE);
        let usage = confine::usage().without(setup);
        let mut run = CommandRun {
            line: command.line(),
            status: if let Ending::Exit(status) = how { Some(status) } else { None },
            signal: if let Ending::Signal(signal) = how { Some(signal) } else { None },
            peak_memory_bytes: usage.peak_memory,
            context_switches: usage.switches,
            read_bytes: usage.io.map(|(read, _)| read),
            written_bytes: usage.io.map(|(_, written)| written),
            left_behind: names,
            output_bytes: running.output.bytes,
            output: running.output.tail(),
            error_bytes: running.errors.bytes,
            errors: running.errors.tail(),
            figures: BTreeMap::new(),
            confined_by: Vec::new(),
        };
        let output = String::from_utf8_lossy(&running.output.kept);
        let errors = String::from_utf8_lossy(&running.errors.kept);
        let missing = figures(command, [&output, &errors], usage.peak_memory, &mut run.figures);
        let errors = if command.words.first().is_some_and(|word| word == "fio") { fio::errors(&output) } else { None };
        let reported = parts(command.reports.as_ref(), &output);
        let (reported, unclear) = reported.map_or_else(|why| (Vec::new(), Some(why)), |parts| (parts, None));
        let succeeds = run.status.is_some_and(|status| command.accepts(status));
        let failure = if succeeds { missing.or(unclear) } else { Some(failure(&run, errors)) };
        Ended { run, cpu: usage.cpu, reported, failure, lack: None }
    }

    /// Stores the result in the worker's slot; returns why the command failed.
    fn tell(self, task: &Task) -> Result<(), String> {
        let slot = task.shared.slot(task.slot);
        slot.set(Count::User, self.cpu.user_ns);
        slot.set(Count::System, self.cpu.system_ns);
        let unconfined = self.lack.map(|lack| format!("`{}` {lack}", self.run.line));
        for remark in remark(&self.run).into_iter().chain(unconfined) {
            slot.note(&Note::Remark(remark));
        }
        slot.note(&Note::Ran(Box::new(self.run)));
        for part in self.reported {
            let name = part.name.clone();
            if !slot.note(&Note::Part(Box::new(part))) {
                return Err(format!("fio's report of `{name}` is too large"));
            }
        }
        self.failure.map_or(Ok(()), Err)
    }
}

/// Waits for a command to end; None if it was ended because the phase is over or its worker gone.
fn watch(
    running: &mut Running,
    line: &str,
    hold: Hold,
    worker: &Worker,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Ending>, String> {
    let main = running.child;
    // Without pidfds (before Linux 5.3) its end is found by polling.
    let look = if !running.handle.is_known() { Duration::from_millis(1) } else { LOOK };
    let mut looked = kernel_ns();
    loop {
        let heard = running.listen(Some(worker), look.as_millis() as i32)?;
        if heard.mounts_changed {
            worker.outside.follow();
        }
        if let Some(ended) = reap_until(main) {
            return Ok(Some(ended));
        }
        if heard.other_ended || confine::is_orphan(hold, worker.number) || !goes_on() {
            end_all(hold, GRACE);
            return Ok(None);
        }
        if kernel_ns() - looked > LOOK.as_nanos() as u64 {
            looked = kernel_ns();
            if confine::held(hold).len() > PROCESSES {
                end_all(hold, Duration::ZERO);
                return Err(format!("`{line}` had more than {PROCESSES} processes at once and was killed"));
            }
        }
    }
}

/// Reaps all ended processes; returns how the command itself ended, if it is among them.
fn reap_until(main: i32) -> Option<Ending> {
    let mut ended = None;
    while let Waited::Ended(process, how) = confine::reap() {
        if process == main {
            ended = Some(how);
        }
    }
    ended
}

/// Ends all held processes: SIGTERM, then SIGKILL after the grace period; waits until none is left.
fn end_all(hold: Hold, grace: Duration) {
    let begun = kernel_ns();
    let mut signal = if grace.is_zero() { libc::SIGKILL } else { libc::SIGTERM };
    confine::signal_all(hold, signal);
    loop {
        match confine::reap() {
            Waited::Ended(..) => continue,
            Waited::NoChildren => return,
            Waited::AllRun => {}
        }
        let waited = Duration::from_nanos(kernel_ns() - begun);
        if waited > grace {
            signal = libc::SIGKILL;
        }
        if waited > grace + GONE {
            return;
        }
        // Orphans are adopted one generation at a time.
        if signal == libc::SIGKILL {
            confine::signal_all(hold, signal);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn cannot_start(command: &Command, told: &Told) -> String {
    let error = std::io::Error::from_raw_os_error(told.error);
    let line = command.line();
    let path = command.environment.get("PATH").map_or("", String::as_str);
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("starting `{line}`: {error} (programs are searched in {path})")
        }
        _ => format!("starting `{line}`: {error}"),
    }
}

/// How a command failed, with the errors found in its output, or its last lines.
fn failure(run: &CommandRun, errors: Option<String>) -> String {
    let how = match (run.status, run.signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, signal) => format!("was killed by signal {}", signal.unwrap_or(0)),
    };
    let last = [&run.errors, &run.output].into_iter().find(|text| !text.trim().is_empty());
    let output = errors.or(last.map(|text| last_lines(text)));
    let output = output.map_or_else(|| " without output".into(), |lines| format!(": {lines}"));
    format!("`{}` {how}{output}", run.line)
}

/// The last lines of a text, joined into one.
fn last_lines(text: &str) -> String {
    const LINES: usize = 4;
    const LONGEST: usize = 400;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let joined = lines[lines.len().saturating_sub(LINES)..].join(" / ");
    let skipped = joined.chars().count().saturating_sub(LONGEST);
    joined.chars().skip(skipped).collect()
}

fn remark(run: &CommandRun) -> Option<String> {
    (!run.left_behind.is_empty()).then(|| {
        let names = run.left_behind.join(", ");
        format!("`{}` left running processes, which were terminated: {names}", run.line)
    })
}
