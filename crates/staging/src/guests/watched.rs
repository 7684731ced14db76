//! What is known of a running machine: what its console said, whether it still speaks, and what became of it.
//! In: the streams of its console and its control port, each read by a thread. Out: [`State`], shared with who started it.
//! A guest that falls silent is ended here.

use super::message::{self, Answer, Heard};
use crate::error::StagingError;
use std::collections::VecDeque;
use std::io::{BufReader, ErrorKind, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use system::Record;
use system::process::Process;

/// Bytes of the console that are kept.
const CONSOLE_KEPT: usize = 16 << 10;
/// Bytes of the console that go into the ledger with the command that started the machine; with a remark, what one
/// command may take there.
pub(super) const CONSOLE_SHOWN: usize = 4000;
/// How long a guest may be silent: it says that it lives once a second.
const SILENCE: Duration = Duration::from_secs(60);

/// What several threads know of a machine.
#[derive(Debug)]
pub(super) struct State {
    pub process: Process,
    /// What QEMU itself said.
    log: PathBuf,
    console: Mutex<VecDeque<u8>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    /// Release of its kernel, once it has said hello.
    pub hello: Option<String>,
    heard: Option<Instant>,
    silent: Option<Duration>,
    agent_ended: Option<String>,
    /// Its control port has ended.
    pub closed: bool,
}

/// Where answers of the guest go.
pub(super) type Answers = SyncSender<(Result<Answer, message::Fault>, Vec<Record>)>;

/// Listens to console and control port, each in a thread that ends with its stream.
pub(super) fn watch(
    state: &Arc<State>,
    console: UnixStream,
    control: &UnixStream,
    agent: &UnixStream,
    answers: Answers,
) -> Result<(), StagingError> {
    let failed = |error: std::io::Error| StagingError::Guest(format!("its port answered: {error}"));
    let control = control.try_clone().map_err(failed)?;
    let agent = agent.try_clone().map_err(failed)?;
    control.set_read_timeout(Some(Duration::from_millis(500))).map_err(failed)?;
    let known = Arc::clone(state);
    std::thread::spawn(move || keep_console(console, &known));
    let known = Arc::clone(state);
    std::thread::spawn(move || listen(control, &agent, &known, &answers));
    Ok(())
}

fn keep_console(mut console: UnixStream, state: &State) {
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = console.read(&mut part) {
        let mut kept = locked(&state.console);
        kept.extend(&part[..count]);
        let surplus = kept.len().saturating_sub(CONSOLE_KEPT);
        kept.drain(..surplus);
    }
}

fn listen(control: UnixStream, agent: &UnixStream, state: &State, answers: &Answers) {
    let mut input = BufReader::new(control);
    let mut line = Vec::new();
    let silence = silence();
    loop {
        match message::receive(&mut input, &mut line) {
            Ok(true) => {
                state.known().heard = Some(Instant::now());
                let heard = serde_json::from_slice(&line);
                line.clear();
                if !take(heard, agent, state, answers) {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                // Before its first word it boots, which has a limit of its own.
                let heard = state.known().heard;
                if heard.is_some_and(|heard| heard.elapsed() > silence) {
                    state.known().silent = Some(silence);
                    state.process.end(Duration::ZERO);
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    state.known().closed = true;
    // Whoever waits for the engine hears at once that nothing will come any more.
    let _ = agent.shutdown(Shutdown::Both);
}

/// What was heard; false where the guest speaks nonsense, or nobody waits for its answers.
fn take(heard: serde_json::Result<Heard>, agent: &UnixStream, state: &State, answers: &Answers) -> bool {
    match heard {
        Ok(Heard::Hello { kernel }) => state.known().hello = Some(kernel),
        Ok(Heard::Alive) => {}
        Ok(Heard::AgentEnded(how)) => {
            state.known().agent_ended = Some(how);
            let _ = agent.shutdown(Shutdown::Both);
        }
        Ok(Heard::Answered { answer, commands }) => return answers.send((answer, commands)).is_ok(),
        Err(error) => {
            state.known().agent_ended = Some(format!("its guest said what cannot be understood: {error}"));
            return false;
        }
    }
    true
}

/// How long a guest may be silent; another time in seconds can be set for machines that are slower or quicker than most.
fn silence() -> Duration {
    let asked = std::env::var("BAKEOFF_GUEST_SILENCE").ok().and_then(|text| text.parse().ok());
    asked.map_or(SILENCE, Duration::from_secs)
}

impl State {
    /// Of a machine that was just started.
    pub fn new(process: Process, log: PathBuf) -> State {
        State { process, log, console: Mutex::default(), known: Mutex::default() }
    }

    /// What its threads have learned.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        locked(&self.known)
    }

    /// The end of what the console said, `most` bytes.
    pub fn console_end(&self, most: usize) -> String {
        let kept = locked(&self.console);
        let bytes: Vec<u8> = kept.iter().skip(kept.len().saturating_sub(most)).copied().collect();
        String::from_utf8_lossy(&bytes).replace('\r', "")
    }

    /// What became of the machine, in words.
    pub fn fate(&self) -> String {
        let (silent, agent_ended, closed) = {
            let known = self.known();
            (known.silent, known.agent_ended.clone(), known.closed)
        };
        if let Some(time) = silent {
            return format!("it said nothing for {} s and was ended{}", time.as_secs(), self.last_lines());
        }
        if agent_ended.is_none() {
            // What its console and its process said last may still be on the way.
            self.process.gone_within(Duration::from_secs(2));
            std::thread::sleep(Duration::from_millis(100));
        }
        let console = self.console_end(CONSOLE_KEPT);
        let panicked = console.lines().find_map(|line| line.split_once("Kernel panic - not syncing: "));
        let memory = self.memory();
        if let Some((_, why)) = panicked {
            return format!("its kernel panicked: {}{memory}", why.trim());
        }
        if let Some(how) = agent_ended.filter(|_| !closed) {
            return format!("{how}{memory}");
        }
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let said = said.trim().lines().next_back().map(|line| format!(": {line}")).unwrap_or_default();
        let process = if self.process.lives() { "QEMU closed its port" } else { "QEMU's process ended" };
        format!("{process}{said}{memory}{}", if said.is_empty() { self.last_lines() } else { String::new() })
    }

    /// What is to be said of the guest's memory: by the kernel's own words when it ended a process for the want of it.
    pub fn memory(&self) -> &'static str {
        let console = self.console_end(CONSOLE_KEPT);
        let starved = console.contains("Out of memory") || console.contains("out of memory");
        if starved { " (the guest had run out of memory)" } else { "" }
    }

    /// The last lines of the console, for an error message.
    pub fn last_lines(&self) -> String {
        let console = self.console_end(CONSOLE_SHOWN);
        let lines: Vec<&str> = console.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join("; ");
        if last.is_empty() { "; its console said nothing".into() } else { format!("; its console ends: {last}") }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves whole values behind.
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
