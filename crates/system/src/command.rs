//! The one place that runs commands: with a time limit, every call recorded.
//! In: program and arguments, a limit, a journal. Out: its output, or an error that names the command and its output.
//! Each command runs in its own process group, so that a Ctrl-C at the terminal does not interrupt an mkfs.

use crate::cause;
use crate::journal::{self, Journal, Record, typed};
use crate::process::{OWNER_VARIABLE, Process};
use crate::tool_environment;
use records::Cause;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Default time limit of a command.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(120);

/// How long to wait for a killed command to end.
const REAP_LIMIT: Duration = Duration::from_secs(5);

/// Bytes kept of standard output, and as many of standard error.
pub const OUTPUT_LIMIT: usize = 256 << 10;

/// One command, not yet run.
#[derive(Debug, Clone)]
pub struct Command {
    argv: Vec<String>,
    limit: Duration,
    accepted: Vec<i32>,
    hint: Option<String>,
    /// A path that arguments name, and the open file that replaces it.
    through: Option<(String, Arc<File>)>,
}

/// Output of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Exit status.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long it took.
    pub elapsed: Duration,
}

/// A command that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{command}` {what}{}{}", answered(.answer), hinted(.hint))]
pub struct CommandError {
    /// The command as typed in a shell.
    pub command: String,
    /// What went wrong.
    pub what: Failure,
    /// The end of standard error, or of standard output where standard error is empty; a usage text after the error is left out.
    pub answer: String,
    /// What the user can do; empty where nothing is known.
    pub hint: String,
}

/// How a command failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The program was not found.
    #[error("could not be started: the program was not found")]
    Missing,
    /// The program could not be started for another reason.
    #[error("could not be started: {answer}")]
    NotStarted {
        /// The system's error text.
        answer: Box<str>,
        /// Whether a retry may succeed.
        cause: Cause,
    },
    /// A system call made instead of the command failed: the system's error text, and whether a retry may succeed.
    #[error("was refused: {0}")]
    Refused(Box<str>, Cause),
    /// The command took longer than its limit and was killed.
    #[error("was killed: it took longer than {0} s")]
    OutOfTime(u64),
    /// A signal ended the command.
    #[error("was killed by signal {}", signal_in_words(*.0))]
    Signal(i32),
    /// The command ended with a status that is not success.
    #[error("failed with status {0}")]
    Status(i32),
}

impl Failure {
    /// Whether a retry may succeed.
    pub fn cause(&self) -> Cause {
        match self {
            Failure::Missing => Cause::Lasting,
            Failure::NotStarted { cause, .. } | Failure::Refused(_, cause) => *cause,
            // Whatever sent the signal, the request did not cause it.
            Failure::Signal(_) => Cause::Passing,
            // A device that hung for a while, or work that does not end.
            Failure::OutOfTime(_) => Cause::Unclear,
            Failure::Status(status) => cause::of_status(*status),
        }
    }
}

impl CommandError {
    /// Whether a retry may succeed.
    pub fn cause(&self) -> Cause {
        self.what.cause()
    }
}

fn signal_in_words(signal: i32) -> String {
    match signal {
        libc::SIGXFSZ => format!("{signal} (SIGXFSZ: a file would exceed RLIMIT_FSIZE, see `ulimit -f`)"),
        _ => signal.to_string(),
    }
}

fn answered(answer: &str) -> String {
    if answer.is_empty() { String::new() } else { format!(": {answer}") }
}

fn hinted(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!(" ({hint})") }
}

impl Command {
    /// A command from its arguments.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Command {
        Command {
            argv: argv.into_iter().map(Into::into).collect(),
            limit: DEFAULT_LIMIT,
            accepted: vec![0],
            hint: None,
            through: None,
        }
    }

    /// A shell command line, for what needs a redirection.
    pub fn shell(line: impl Into<String>) -> Command {
        Command::new(["sh".to_string(), "-c".to_string(), line.into()])
    }

    /// Prepends these words (`nsenter ... --`); an empty list adds no prefix.
    pub fn prefixed(mut self, prefix: &[String]) -> Command {
        self.argv.splice(0..0, prefix.iter().cloned());
        self
    }

    /// Program and arguments, for another process to run.
    pub fn into_words(self) -> Vec<String> {
        self.argv
    }

    /// Sets the time limit.
    pub fn limit(mut self, limit: Duration) -> Command {
        self.limit = limit;
        self
    }

    /// Sets the exit statuses that mean success, instead of 0 alone.
    pub fn accept(mut self, accepted: &[i32]) -> Command {
        self.accepted = accepted.to_vec();
        self
    }

    /// Sets the advice to the user for a failure.
    pub fn hint(mut self, hint: impl Into<String>) -> Command {
        self.hint = Some(hint.into());
        self
    }

    /// Redirects arguments that name `path` (`PATH`, `of=PATH`) to this open file: in a folder that others can write, the path may name
    /// another file by now. The journal keeps the path, as typed in a shell.
    pub fn through(mut self, path: &Path, file: &Arc<File>) -> Command {
        self.through = Some((path.display().to_string(), Arc::clone(file)));
        self
    }

    /// The command as typed in a shell.
    pub fn typed(&self) -> String {
        typed(&self.argv)
    }

    /// Runs the command to its end.
    pub fn run(&self, journal: &Journal) -> Result<Answer, CommandError> {
        let mut record = Record::begun(self.argv.clone(), journal);
        if journal.is_planning() {
            journal.add(record);
            return Ok(Answer { status: 0, stdout: String::new(), stderr: String::new(), elapsed: Duration::ZERO });
        }
        let began = Instant::now();
        let ended = self.carry_out(&mut record);
        let elapsed = began.elapsed();
        record.elapsed_ns = Some(elapsed.as_nanos() as u64);
        let outcome = match ended {
            Ok(status) if self.accepted.contains(&status) => {
                Ok(Answer { status, stdout: record.stdout.clone(), stderr: record.stderr.clone(), elapsed })
            }
            Ok(status) => Err(self.error(Failure::Status(status), &record)),
            Err(failure) => {
                record.remark = Some(failure.to_string());
                Err(self.error(failure, &record))
            }
        };
        journal.add(record);
        outcome
    }

    /// Makes a system call instead of running the command, for files that are already open; the journal shows the equivalent command. The
    /// call's return value replaces standard output.
    pub fn in_place(
        &self,
        journal: &Journal,
        call: impl FnOnce() -> std::io::Result<String> + Send + 'static,
    ) -> Result<Answer, CommandError> {
        let mut record = Record::begun(self.argv.clone(), journal);
        let began = Instant::now();
        let made = if journal.is_planning() { Ok(String::new()) } else { within(self.limit, call) };
        let elapsed = began.elapsed();
        if !journal.is_planning() {
            record.elapsed_ns = Some(elapsed.as_nanos() as u64);
            record.status = made.is_ok().then_some(0);
        }
        let outcome = match made {
            Ok(stdout) => {
                record.stdout.clone_from(&stdout);
                Ok(Answer { status: 0, stdout, stderr: String::new(), elapsed })
            }
            Err(failure) => {
                record.remark = Some(failure.to_string());
                Err(self.error(failure, &record))
            }
        };
        journal.add(record);
        outcome
    }

    /// Starts the command and leaves it running, with its output going to `log`. The caller ends it.
    pub fn start(&self, journal: &Journal, log: &Path) -> Result<(Child, Process), CommandError> {
        self.started(journal, log, |mut command| command.spawn())
    }

    /// As [`Command::start`], but the command is killed when this process ends: nothing else would end it then.
    pub fn start_tied(&self, journal: &Journal, log: &Path) -> Result<(Child, Process), CommandError> {
        self.started(journal, log, crate::tied::spawn)
    }

    fn started(
        &self,
        journal: &Journal,
        log: &Path,
        spawn: impl FnOnce(std::process::Command) -> std::io::Result<Child>,
    ) -> Result<(Child, Process), CommandError> {
        let mut record = Record::begun(self.argv.clone(), journal);
        record.remark = Some("started and left running".into());
        let result = File::create(log).and_then(|out| Ok((out.try_clone()?, out))).and_then(|(out, err)| {
            let mut command = self.prepared();
            command.stdout(out).stderr(err);
            spawn(command)
        });
        let started = match result {
            Ok(child) => Process::of(child.id())
                .map(|process| (child, process))
                .ok_or_else(|| Failure::NotStarted { answer: journal::ended_at_once(log), cause: Cause::Unclear }),
            Err(error) => Err(not_started(&error)),
        };
        let started = started.map_err(|failure| {
            record.remark = Some(failure.to_string());
            self.error(failure, &record)
        });
        journal.add(record);
        started
    }

    /// The record of a command that was started earlier and has ended: its last output, and a remark.
    pub fn record_of(&self, status: Option<i32>, note: String, remark: &str) -> Record {
        Record {
            status,
            stdout: note,
            remark: Some(remark.into()),
            ..Record::begun(self.argv.clone(), &Journal::new())
        }
    }

    fn prepared(&self) -> std::process::Command {
        let program = self.argv.first().map_or("", String::as_str);
        let mut command = std::process::Command::new(resolved(program));
        command
            .args(self.argv.iter().skip(1).map(|word| self.led(word)))
            .stdin(Stdio::null())
            // Programs parse the output, so it must be in one language.
            .env("LC_ALL", "C")
            .env(OWNER_VARIABLE, Process::current().to_string())
            .process_group(0);
        tool_environment::here().apply(&mut command);
        command
    }

    /// An argument with the path in it replaced by the open file.
    fn led(&self, word: &str) -> String {
        let Some((path, file)) = &self.through else { return word.into() };
        match word.strip_suffix(path.as_str()) {
            Some(key) if key.is_empty() || key.ends_with('=') => {
                format!("{key}/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
            }
            _ => word.into(),
        }
    }

    fn carry_out(&self, record: &mut Record) -> Result<i32, Failure> {
        let mut child = self
            .prepared()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&error))?;
        let out = child.stdout.take().map(collect);
        let err = child.stderr.take().map(collect);
        let ended = self.wait(&mut child);
        record.stdout = out.map(gathered).unwrap_or_default();
        record.stderr = err.map(gathered).unwrap_or_default();
        let status = ended?;
        record.status = status.code();
        match (status.code(), status.signal()) {
            (Some(code), _) => Ok(code),
            (None, signal) => Err(Failure::Signal(signal.unwrap_or(0))),
        }
    }

    fn wait(&self, child: &mut Child) -> Result<std::process::ExitStatus, Failure> {
        match crate::process::await_end(child, self.limit) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => {
                kill_group(child);
                Err(Failure::OutOfTime(self.limit.as_secs()))
            }
            Err(error) => Err(not_started(&error)),
        }
    }

    fn error(&self, what: Failure, record: &Record) -> CommandError {
        let note = [&record.stderr, &record.stdout]
            .into_iter()
            .map(|text| text.trim())
            .find(|text| !text.is_empty())
            .unwrap_or("");
        let mut lines: Vec<&str> = note.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // mkfs.xfs prints all its options after an error.
        let usage = lines.iter().position(|line| line.get(..6).is_some_and(|head| head.eq_ignore_ascii_case("usage:")));
        lines.truncate(usage.filter(|&at| at > 0).unwrap_or(lines.len()));
        let mut hints: Vec<String> = self.hint.iter().cloned().collect();
        if what == Failure::Missing {
            hints.extend(tool_environment::here().remarks().iter().cloned());
        }
        CommandError {
            command: self.typed(),
            what,
            answer: lines[lines.len().saturating_sub(6)..].join("; "),
            hint: hints.join("; "),
        }
    }
}

/// Makes a call in a thread of its own, which is abandoned if the device does not respond within the limit.
pub(crate) fn within<Done: Send + 'static>(
    limit: Duration,
    call: impl FnOnce() -> std::io::Result<Done> + Send + 'static,
) -> Result<Done, Failure> {
    let (send, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // After the limit nothing receives the result.
        let _ = send.send(call());
    });
    match done.recv_timeout(limit) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Failure::Refused(error.to_string().into(), cause::of_io(&error))),
        Err(_) => Err(Failure::OutOfTime(limit.as_secs())),
    }
}

fn not_started(error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::NotFound => Failure::Missing,
        _ => Failure::NotStarted { answer: error.to_string().into(), cause: cause::of_io(error) },
    }
}

/// Kills and reaps a command and its process group. A process that waits for a device in the kernel ends only when the device responds; it is
/// left behind, killed, so that the caller does not hang with it.
fn kill_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // The process may just have ended; then there is nothing to kill.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    crate::process::reap(child, REAP_LIMIT);
}

/// The output of a command, collected by a thread so that a full pipe never blocks the command.
struct Gathering {
    text: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
    done: std::sync::mpsc::Receiver<()>,
}

fn collect(mut pipe: impl Read + Send + 'static) -> Gathering {
    let text = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (send, done) = std::sync::mpsc::channel();
    let kept = text.clone();
    std::thread::spawn(move || {
        let mut part = [0u8; 8192];
        while let Ok(count) = pipe.read(&mut part) {
            if count == 0 {
                break;
            }
            if let Ok(mut kept) = kept.lock() {
                let room = OUTPUT_LIMIT.saturating_sub(kept.len());
                kept.extend_from_slice(&part[..count.min(room)]);
            }
        }
        let _ = send.send(());
    });
    Gathering { text, done }
}

/// The collected output; a daemon that inherited the pipe is not waited for.
fn gathered(gathering: Gathering) -> String {
    let _ = gathering.done.recv_timeout(Duration::from_secs(1));
    let text = gathering.text.lock().map(|text| text.clone()).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// Finds a program; None where no folder has it. As root, only a program that no other user can replace is found.
pub fn find_program(name: &str) -> Option<std::path::PathBuf> {
    tool_environment::here().find(name)
}

fn resolved(name: &str) -> std::path::PathBuf {
    find_program(name).unwrap_or_else(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_and_its_output_are_recorded() {
        let journal = Journal::new();
        let answer = Command::shell("echo out; echo err >&2").run(&journal).expect("it succeeds");
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("out\n", "err\n"));
        let records = journal.drain();
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].status, Some(0));
        assert!(records[0].elapsed_ns.is_some() && !records[0].planned);
        assert!(journal.drain().is_empty());
    }

    #[test]
    fn a_failure_names_the_command_its_output_and_a_remedy() {
        let error = Command::shell("echo broken >&2; exit 3").hint("mend it").run(&Journal::new()).expect_err("3");
        assert_eq!(error.what, Failure::Status(3));
        let text = error.to_string();
        assert!(text.contains("exit 3") && text.contains("broken") && text.contains("mend it"), "{text}");
        Command::shell("exit 3").accept(&[0, 3]).run(&Journal::new()).expect("3 is fine too");
    }

    #[test]
    fn a_failure_has_the_error_without_the_usage_text_after_it() {
        let answer = |script: &str| Command::shell(script).run(&Journal::new()).expect_err("it fails").answer;
        assert_eq!(answer("echo size 1g too large >&2; (echo Usage: mkfs; seq 40) >&2; exit 1"), "size 1g too large");
        assert_eq!(answer("echo usage: mkfs NAME; exit 1"), "usage: mkfs NAME");
        assert_eq!(answer("seq 8 >&2; exit 1"), "3; 4; 5; 6; 7; 8");
    }

    #[test]
    fn a_program_that_does_not_exist_is_reported_as_missing() {
        let error = Command::new(["no-such-program"]).run(&Journal::new()).expect_err("missing");
        assert_eq!(error.what, Failure::Missing);
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_all_that_it_started() {
        let journal = Journal::new();
        let command = Command::shell("sleep 54321 & echo $!; wait").limit(Duration::from_millis(200));
        let error = command.run(&journal).expect_err("too long");
        assert!(matches!(error.what, Failure::OutOfTime(_)), "{error}");
        let records = journal.drain();
        let inner: u32 = records[0].stdout.trim().parse().expect("its id");
        let gone = Process::of(inner).is_none_or(|process| process.gone_within(Duration::from_secs(5)));
        assert!(gone, "the sleep goes on");
    }

    #[test]
    fn a_killed_command_may_succeed_later_and_a_missing_program_will_not() {
        let cause = |command: Command| command.run(&Journal::new()).expect_err("it fails").cause();
        assert_eq!(cause(Command::shell("kill -KILL $$")), Cause::Passing);
        assert_eq!(cause(Command::shell("sh -c 'kill -TERM $$'; exit $?")), Cause::Passing);
        assert_eq!(cause(Command::shell("sleep 54323").limit(Duration::from_millis(50))), Cause::Unclear);
        assert_eq!(cause(Command::new(["no-such-program"])), Cause::Lasting);
        assert_eq!(cause(Command::shell("exit 1")), Cause::Unclear);
    }

    #[test]
    fn a_file_that_is_meant_is_written_to_also_when_its_path_leads_elsewhere_by_then() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, moved) = (folder.path().join("image"), folder.path().join("moved"));
        let (victim, journal) = (folder.path().join("victim"), Journal::new());
        let file = Arc::new(File::create_new(&path).expect("made"));
        std::fs::write(&victim, "precious").expect("written");
        std::fs::rename(&path, &moved).expect("renamed");
        std::os::unix::fs::symlink(&victim, &path).expect("linked");
        let text = path.display().to_string();
        Command::new(["truncate", "--size", "5", &text]).through(&path, &file).run(&journal).expect("sized");
        let dd = Command::new(["dd".to_string(), "if=/dev/zero".into(), format!("of={text}"), "count=1".into()]);
        dd.through(&path, &file).run(&journal).expect("written");
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "precious");
        assert_eq!(moved.metadata().expect("there").len(), 512);
        assert!(journal.drain().iter().all(|record| record.typed().contains(&text)), "the path is what is kept");
    }

    #[test]
    fn endless_output_is_cut_and_does_not_block() {
        let answer = Command::shell("head -c 3000000 /dev/zero | tr '\\0' x").run(&Journal::new()).expect("it ends");
        assert_eq!(answer.stdout.len(), OUTPUT_LIMIT);
    }

    #[test]
    fn a_planning_journal_writes_down_and_runs_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("made");
        let journal = Journal::planning();
        Command::new(["touch".to_string(), file.display().to_string()]).run(&journal).expect("planned");
        assert!(!file.exists());
        assert!(journal.drain()[0].planned);
    }

    #[test]
    fn a_process_that_outlives_its_starter_is_identified_by_its_environment() {
        let log = tempfile::NamedTempFile::new().expect("a file");
        let (mut child, process) =
            Command::new(["sleep", "54322"]).start(&Journal::new(), log.path()).expect("started");
        // Until exec the child still has this process's environment.
        let end = Instant::now() + Duration::from_secs(5);
        while !Process::current().orphans().contains(&process) {
            assert!(Instant::now() < end, "it is not found");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(process.end(Duration::from_secs(5)));
        child.wait().expect("gone");
    }
}
