//! The runner's side of the agent interface: starts the engine's process, or reaches one that was started elsewhere, and exchanges JSON lines
//! with it.
//! In: requests. Out: replies, or an [`AgentError`] that states how the process ended.
//! A crash, a hang or invalid output of an agent is an error of the trial, never of the run.

use records::Cause;
use staging::Line;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use system::Tail;
use system::process::how_it_ended;
use workload::ageing::{Aged, Ageing, Layout, Survey};
use workload::message::{LINE_LIMIT, Lack, Message as _, PROTOCOL, Reply, Request};
use workload::outcome::{Ceiling, PhaseOutcome};
use workload::program::Program;

/// Time limit of requests other than phases: starting, loading, counting.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// How much longer than its own limit a phase may be silent before the agent counts as hung.
const GRACE: Duration = Duration::from_secs(60);
/// Interval at which a waiting runner checks for a stop request.
const LOOK: Duration = Duration::from_millis(100);
/// How long to wait for a killed engine to end.
const REAP_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of the agent's standard error kept for the message.
const STDERR_KEPT: usize = 4096;
/// How long to wait for the end of its standard error after its exit.
const WORDS_LIMIT: Duration = Duration::from_secs(1);
/// Replies that may wait unread.
const REPLIES_WAITING: usize = 256;

/// Why the agent did not answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The process could not be started.
    #[error("starting the engine `{line}`: {answer}")]
    NotStarted {
        /// The command.
        line: String,
        /// The system's error text.
        answer: String,
        /// Whether a retry may succeed.
        cause: Cause,
    },
    /// The process ended by itself.
    #[error("the engine's process ended during its work: {how}{last_words}")]
    Ended {
        /// Exit status or signal.
        how: String,
        /// The end of its output.
        last_words: String,
        /// Whether the request caused it.
        cause: Cause,
    },
    /// It did not answer in time.
    #[error("the engine did not answer within {seconds} s while {doing}; its process was killed")]
    Hung {
        /// The request.
        doing: String,
        /// How long the runner waited.
        seconds: u64,
    },
    /// The answer does not fit the request.
    #[error("the engine answered `{got}` while {doing}; this is a bug in bakeoff")]
    Unexpected {
        /// The request.
        doing: String,
        /// The answer, shortened.
        got: String,
    },
    /// It has another version of the protocol.
    #[error("the engine has protocol {found} and this bakeoff has {PROTOCOL}; both must come from the same build")]
    OtherProtocol {
        /// Its version.
        found: u32,
    },
    /// A phase failed; the agent still runs.
    #[error("{reason}")]
    PhaseFailed {
        /// Why, in one sentence.
        reason: String,
        /// Results until then.
        partial: Option<Box<PhaseOutcome>>,
        /// A signal from outside killed part of it.
        killed: bool,
    },
    /// The user asked to stop.
    #[error("stopped on request")]
    Stopped,
}

impl AgentError {
    /// The same, with the name of the phase that failed.
    pub fn in_phase(self, phase: &str) -> Self {
        match self {
            AgentError::PhaseFailed { reason, partial, killed } => {
                AgentError::PhaseFailed { reason: format!("{phase}: {reason}"), partial, killed }
            }
            other => other,
        }
    }

    /// Whether a retry may succeed.
    pub fn cause(&self) -> Cause {
        match self {
            AgentError::NotStarted { cause, .. } | AgentError::Ended { cause, .. } => *cause,
            AgentError::PhaseFailed { killed: true, .. } => Cause::Passing,
            AgentError::Hung { .. } | AgentError::PhaseFailed { .. } | AgentError::Stopped => Cause::Unclear,
            AgentError::Unexpected { .. } | AgentError::OtherProtocol { .. } => Cause::Lasting,
        }
    }
}

/// Progress of a phase: items done, of how many, bytes.
pub type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>, u64);

/// A running engine.
pub struct Agent {
    body: Body,
    input: Option<Box<dyn Write + Send>>,
    replies: Receiver<Result<Reply, String>>,
    stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// Where it runs.
enum Body {
    /// A child process, and the end of its output.
    Child { child: Child, last_words: Tail },
    /// A process that was started where the stage is.
    Elsewhere { fate: Box<dyn Fn() -> String + Send>, hang_up: Box<dyn Fn() + Send> },
}

impl Agent {
    /// Starts `command` (the program and its arguments), prefixed with `prefix` if the stage needs one.
    ///
    /// # Errors
    /// The process cannot be started, does not send its hello in time, or has another protocol.
    pub fn start(
        prefix: &[String],
        command: &[String],
        stop: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Self, AgentError> {
        let argv: Vec<&String> = prefix.iter().chain(command).collect();
        let line = argv.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
        let mut child = Command::new(argv[0])
            .args(&argv[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // `clean` recognises an engine that outlived its run by this variable.
            .env(system::process::OWNER_VARIABLE, system::process::Process::current().to_string())
            // A group of its own: Ctrl-C reaches only the runner, which then stops everything in order.
            .process_group(0)
            .spawn()
            .map_err(|error| AgentError::NotStarted {
                line,
                answer: error.to_string(),
                cause: system::cause::of_io(&error),
            })?;
        let output = child.stdout.take().expect("standard output was asked for as a pipe");
        let errors = child.stderr.take().expect("standard error was asked for as a pipe");
        let last_words = Tail::of(errors, STDERR_KEPT);
        let input: Box<dyn Write + Send> = Box::new(child.stdin.take().expect("and so was standard input"));
        Self::greeted(Body::Child { child, last_words }, input, output, stop)
    }

    /// Connects to an engine that was started elsewhere.
    ///
    /// # Errors
    /// It does not send its hello in time, or has another protocol.
    pub fn over(line: Line, stop: Arc<dyn Fn() -> bool + Send + Sync>) -> Result<Self, AgentError> {
        let Line { input, output, fate, hang_up } = line;
        Self::greeted(Body::Elsewhere { fate, hang_up }, input, output, stop)
    }

    fn greeted(
        body: Body,
        input: Box<dyn Write + Send>,
        output: impl Read + Send + 'static,
        stop: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Self, AgentError> {
        let (sender, replies) = sync_channel(REPLIES_WAITING);
        thread::spawn(move || read_replies(output, &sender));
        let mut agent = Self { body, input: Some(input), replies, stop };
        match agent.answer("starting", ANSWER_LIMIT)? {
            Reply::Hello { protocol: PROTOCOL, .. } => Ok(agent),
            Reply::Hello { protocol, .. } => Err(AgentError::OtherProtocol { found: protocol }),
            other => Err(unexpected("starting", &other)),
        }
    }

    /// Loads a program; returns the phases that the filesystem cannot run.
    pub fn load(&mut self, program: &Program) -> Result<Vec<Lack>, AgentError> {
        self.ask(&Request::Load(Box::new(program.clone())))?;
        match self.answer("loading the program", ANSWER_LIMIT)? {
            Reply::Loaded { lacking } => Ok(lacking),
            other => Err(unexpected("loading the program", &other)),
        }
    }

    /// Performs one pass of one phase; `limit` is the phase's own time limit.
    pub fn perform(
        &mut self,
        phase: usize,
        pass: u32,
        limit: Duration,
        progress: Progress,
    ) -> Result<PhaseOutcome, AgentError> {
        self.ask(&Request::Perform { phase, pass, slices: 1 })?;
        match self.performed(limit, progress)? {
            Some(outcome) => Ok(outcome),
            None => Err(failed("performing a phase", Reply::Sliced { phase, slices: 1 })),
        }
    }

    /// Performs the first of so many slices of a phase; `None`: the next waits for [`Agent::go_on`].
    ///
    /// # Errors
    /// As [`Agent::perform`].
    pub fn begin_slices(
        &mut self,
        phase: usize,
        slices: u32,
        limit: Duration,
        progress: Progress,
    ) -> Result<Option<PhaseOutcome>, AgentError> {
        self.ask(&Request::Perform { phase, pass: 0, slices })?;
        self.performed(limit, progress)
    }

    /// Performs the next slice; returns the outcome of the whole phase after the last one.
    ///
    /// # Errors
    /// As [`Agent::perform`].
    pub fn go_on(&mut self, limit: Duration, progress: Progress) -> Result<Option<PhaseOutcome>, AgentError> {
        self.ask(&Request::GoOn)?;
        self.performed(limit, progress)
    }

    fn performed(&mut self, limit: Duration, progress: Progress) -> Result<Option<PhaseOutcome>, AgentError> {
        // The engine ends the phase itself at its limit; whatever it sends meanwhile, it gets only a little longer.
        let end = Instant::now() + limit + GRACE;
        loop {
            match self.answer_until("performing a phase", end, limit + GRACE)? {
                Reply::Progress { items, of, bytes, .. } => progress(items, of, bytes),
                Reply::Done(outcome) => return Ok(Some(*outcome)),
                Reply::Sliced { .. } => return Ok(None),
                other => return Err(failed("performing a phase", other)),
            }
        }
    }

    /// Has one of several clients prepare a pass; it is ready when this returns, and begins on [`Agent::begin`].
    ///
    /// # Errors
    /// It cannot be prepared.
    pub fn prepare(&mut self, phase: usize, pass: u32) -> Result<(), AgentError> {
        self.ask(&Request::PerformTogether { phase, pass })?;
        match self.answer("preparing a phase", ANSWER_LIMIT)? {
            Reply::Ready => Ok(()),
            other => Err(failed("preparing a phase", other)),
        }
    }

    /// Starts a prepared pass at a time of its machine's CLOCK_MONOTONIC; `None`: cancels it.
    ///
    /// # Errors
    /// The process is gone.
    pub fn begin(&mut self, at_ns: Option<u64>) -> Result<(), AgentError> {
        self.ask(&at_ns.map_or(Request::Cancel, |at_ns| Request::Start { at_ns }))
    }

    /// The next message about a started pass, if one arrives within `patience`.
    ///
    /// # Errors
    /// The process is gone, or its message is invalid.
    pub fn hear(&mut self, patience: Duration) -> Result<Option<Reply>, AgentError> {
        match self.replies.recv_timeout(patience) {
            Ok(Ok(reply)) => Ok(Some(reply)),
            Ok(Err(got)) => Err(AgentError::Unexpected { doing: "performing a phase".into(), got }),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// Runs an ageing history; `silence` is the longest allowed time without a message.
    pub fn age(&mut self, ageing: &Ageing, silence: Duration, progress: Progress) -> Result<Aged, AgentError> {
        self.ask(&Request::Age(Box::new(ageing.clone())))?;
        loop {
            match self.answer("ageing", silence)? {
                Reply::Progress { items, of, bytes, .. } => progress(items, of, bytes),
                Reply::Aged(aged) => return Ok(*aged),
                other => return Err(failed("ageing", other)),
            }
        }
    }

    /// Surveys the file layout.
    pub fn survey(&mut self, survey: &Survey, limit: Duration) -> Result<Layout, AgentError> {
        self.ask(&Request::Survey(Box::new(survey.clone())))?;
        match self.answer("inspecting the layout of files", limit)? {
            Reply::Surveyed(layout) => Ok(*layout),
            other => Err(failed("inspecting the layout of files", other)),
        }
    }

    /// Reads the files of a phase once; returns the bytes read.
    pub fn warm(&mut self, phase: usize, limit: Duration) -> Result<u64, AgentError> {
        self.ask(&Request::Warm { phase })?;
        match self.answer("warming the caches", limit + GRACE)? {
            Reply::Warmed { bytes } => Ok(bytes),
            other => Err(failed("warming the caches", other)),
        }
    }

    /// Counts the cached bytes of a sample of a phase's files, and these files; `None` if they cannot be counted.
    pub fn count_cached(&mut self, phase: usize) -> Result<Option<(u64, u64)>, AgentError> {
        self.ask(&Request::CountCached { phase })?;
        match self.answer("counting cached pages", ANSWER_LIMIT)? {
            Reply::Cached { bytes, files } => Ok(bytes.map(|bytes| (bytes, files))),
            Reply::Refused { .. } => Ok(None),
            other => Err(unexpected("counting cached pages", &other)),
        }
    }

    /// Measures the ceiling of this machine's memory.
    pub fn measure_ceiling(&mut self) -> Result<Ceiling, AgentError> {
        self.ask(&Request::MeasureCeiling)?;
        match self.answer("measuring the ceiling", ANSWER_LIMIT)? {
            Reply::Ceiling(ceiling) => Ok(ceiling),
            other => Err(unexpected("measuring the ceiling", &other)),
        }
    }

    /// Ends the process in order; kills it if it does not end.
    pub fn quit(mut self) {
        // A process that is already gone cannot take the request; only reaping is left.
        let _ = self.ask(&Request::Quit);
        self.input = None;
        let Body::Child { child, .. } = &mut self.body else { return };
        let _ = system::process::await_end(child, Duration::from_secs(5));
    }

    fn ask(&mut self, request: &Request) -> Result<(), AgentError> {
        let sent = self.input.as_mut().is_some_and(|input| request.send(input).is_ok());
        if sent { Ok(()) } else { Err(self.ended()) }
    }

    fn answer(&mut self, doing: &str, limit: Duration) -> Result<Reply, AgentError> {
        self.answer_until(doing, Instant::now() + limit, limit)
    }

    fn answer_until(&mut self, doing: &str, deadline: Instant, limit: Duration) -> Result<Reply, AgentError> {
        loop {
            if (self.stop)() {
                return Err(AgentError::Stopped);
            }
            match self.replies.recv_timeout(LOOK) {
                Ok(Ok(Reply::Progress { .. })) if Instant::now() >= deadline => {
                    self.kill();
                    return Err(AgentError::Hung { doing: doing.into(), seconds: limit.as_secs() });
                }
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(garbled)) => return Err(AgentError::Unexpected { doing: doing.into(), got: garbled }),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                    self.kill();
                    return Err(AgentError::Hung { doing: doing.into(), seconds: limit.as_secs() });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn ended(&mut self) -> AgentError {
        let (child, last_words) = match &mut self.body {
            Body::Child { child, last_words } => (child, last_words),
            Body::Elsewhere { fate, .. } => {
                return AgentError::Ended { how: fate(), last_words: String::new(), cause: Cause::Unclear };
            }
        };
        let status = awaited(|| child.try_wait().ok().flatten());
        let killed = status.is_some_and(|status| status.signal().is_some());
        let cause = if killed { Cause::Passing } else { Cause::Unclear };
        let how = status.map_or_else(|| "it closed its output".into(), how_it_ended);
        let text = last_words.text_at_end(WORDS_LIMIT);
        let text = text.trim();
        let last_words = if text.is_empty() { String::new() } else { format!("; its last output: {text}") };
        AgentError::Ended { how, last_words, cause }
    }

    fn kill(&mut self) {
        match &mut self.body {
            Body::Child { child, .. } => {
                // Both fail only if the process is gone already.
                let _ = child.kill();
                // A process that waits for a device in the kernel is left behind, killed: it ends when the device responds.
                let _ = system::process::reap(child, REAP_LIMIT);
            }
            Body::Elsewhere { hang_up, .. } => hang_up(),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Polls for a value for up to a second.
fn awaited<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    (0..100).find_map(|_| {
        look().or_else(|| {
            thread::sleep(Duration::from_millis(10));
            None
        })
    })
}

/// The error for a reply other than the expected one.
fn failed(doing: &str, reply: Reply) -> AgentError {
    match reply {
        Reply::Failed { reason, partial, killed, .. } => AgentError::PhaseFailed { reason, partial, killed },
        Reply::Refused { reason } => AgentError::PhaseFailed { reason, partial: None, killed: false },
        other => unexpected(doing, &other),
    }
}

fn unexpected(doing: &str, reply: &Reply) -> AgentError {
    let got = format!("{reply:?}").chars().take(200).collect();
    AgentError::Unexpected { doing: doing.into(), got }
}

fn read_replies(output: impl Read, sender: &SyncSender<Result<Reply, String>>) {
    let mut lines = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = lines.by_ref().take(LINE_LIMIT as u64).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        let reply = Reply::read(&line)
            .map_err(|error| format!("{}: {error}", String::from_utf8_lossy(&line[..line.len().min(120)]).trim()));
        if sender.send(reply).is_err() {
            return;
        }
    }
}
