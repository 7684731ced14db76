//! This side's end of a stream to a process that serves a stage.
//! In: the stream, and a [`Peer`] that knows how the other end ended. Out: answers, the engine's lines, and why the other end was lost.
//! A thread listens. It ends peers that fall silent, send invalid messages or send too much.

use super::message::{self, Answered, Ask, ENGINE, Heard, Hello, Waking};
use crate::staged::Line;
use std::io::{self, BufReader, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long the other end may be silent: it sends a heartbeat once a second.
const SILENCE: Duration = Duration::from_secs(60);
/// How often a silent stream is checked.
const LOOK: Duration = Duration::from_millis(500);
/// How long the engine's lines may stay unread: a process that requests something reads at once.
const UNREAD: Duration = Duration::from_secs(10);
/// How long writing a message may take.
const WRITING: Duration = Duration::from_secs(120);

/// The other end, as the process that this side started.
pub trait Peer: Send + Sync {
    /// What it is called in messages: "the guest".
    fn name(&self) -> &str;
    /// How it ended, in words; called after its stream has ended.
    fn fate(&self) -> String;
    /// A remark for its errors; may be empty.
    fn remark(&self) -> &str {
        ""
    }
    /// Its last output outside the stream, to be appended to a sentence; may be empty.
    fn last_words(&self) -> String {
        String::new()
    }
    /// Ends it at once.
    fn kill(&self);
}

/// A stream to a serving process.
pub struct Link {
    port: Arc<Mutex<UnixStream>>,
    answers: Receiver<Answered>,
    state: Arc<State>,
}

/// State that the listening thread and this side share.
struct State {
    peer: Box<dyn Peer>,
    known: Mutex<Known>,
    /// Where the engine's lines go, while there is a reader.
    engine: Mutex<Option<UnixStream>>,
}

#[derive(Debug, Default)]
struct Known {
    hello: Option<Hello>,
    heard: Option<Instant>,
    /// Why this side ended it.
    ended: Option<String>,
    engine_ended: Option<String>,
    /// Its stream has ended.
    closed: bool,
}

impl Link {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system refuses another handle or the time limits of the stream.
    pub fn open(stream: UnixStream, peer: impl Peer + 'static) -> io::Result<Link> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(WRITING))?;
        let port = Arc::new(Mutex::new(stream.try_clone()?));
        let state = Arc::new(State { peer: Box::new(peer), known: Mutex::default(), engine: Mutex::default() });
        // One request is answered at a time.
        let (sender, answers) = sync_channel(1);
        let listening = Arc::clone(&state);
        std::thread::spawn(move || listening.listen(stream, &sender));
        Ok(Link { port, answers, state })
    }

    /// Waits for the hello of the other end.
    ///
    /// # Errors
    /// It sends none within `limit`, ends, or comes from another build; in words.
    pub fn await_hello(&self, limit: Duration) -> Result<(), String> {
        let end = Instant::now() + limit;
        loop {
            if self.state.known().hello.is_some() {
                return Ok(());
            }
            if self.is_closed() {
                return Err(self.state.fate());
            }
            if Instant::now() > end {
                let note = self.state.peer.last_words();
                return Err(format!("it did not start within {} s{note}", limit.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Makes the other end continue as a copy of one that had sent its hello, and waits for its own hello.
    ///
    /// # Errors
    /// It cannot take over what a copy lacks, does not answer within `limit`, or ends; in words.
    pub(crate) fn wake(&self, limit: Duration) -> Result<(), String> {
        let answered = self.ask(&Ask::Wake(Waking::now()?), limit)?;
        answered.of::<()>("it", "").map_err(|error| error.to_string())?;
        if self.kernel().is_empty() { Err("it answered before it sent a hello message".into()) } else { Ok(()) }
    }

    /// Release of the kernel that the other end runs on; empty before its hello.
    pub fn kernel(&self) -> String {
        self.state.known().hello.as_ref().map(|hello| hello.kernel.clone()).unwrap_or_default()
    }

    /// Whether the stream from the other end has ended.
    pub fn is_closed(&self) -> bool {
        self.state.known().closed
    }

    /// Whether this side ended the other one, for what it did or did not do.
    pub(crate) fn ended_here(&self) -> bool {
        self.state.known().ended.is_some()
    }

    /// A remark for the other end's errors.
    pub(crate) fn remark(&self) -> &str {
        self.state.peer.remark()
    }

    /// Sends a request and waits for the answer; `limit` is longer than those of everything that is done for it.
    ///
    /// # Errors
    /// The other end was lost, before or meanwhile; in words. An end that takes longer is ended.
    pub(crate) fn ask(&self, ask: &Ask, limit: Duration) -> Result<Answered, String> {
        let lost = || format!("{} was lost: {}", self.state.peer.name(), self.state.fate());
        message::send(&mut *locked(&self.port), ask).map_err(|error| {
            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                self.state.end(format!("it accepted no message for {} s and was killed", WRITING.as_secs()));
            }
            lost()
        })?;
        self.answers.recv_timeout(limit).map_err(|error| {
            if error == RecvTimeoutError::Timeout {
                self.state.end(format!("it did not answer within {} s and was killed", limit.as_secs()));
            }
            lost()
        })
    }

    /// The connection to the engine; opened before the engine is started, so that no output is lost.
    ///
    /// # Errors
    /// The system has no file descriptor left.
    pub(crate) fn engine(&self) -> io::Result<Line> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_write_timeout(Some(UNREAD))?;
        *locked(&self.state.engine) = Some(ours);
        let (state, ending, port) = (Arc::clone(&self.state), Arc::clone(&self.state), Arc::clone(&self.port));
        Ok(Line {
            input: Box::new(EngineInput { port: Arc::clone(&self.port), line: Vec::new() }),
            output: Box::new(theirs),
            fate: Box::new(move || state.fate()),
            hang_up: Box::new(move || {
                // This may fail: an end that is gone has no engine.
                let _ = message::send(&mut *locked(&port), &Ask::EndEngine);
                ending.end_engine();
            }),
        })
    }

    /// Ends the requests: the other end tears down its stage, and exits.
    pub fn hang_up(&self) {
        let _ = locked(&self.port).shutdown(Shutdown::Write);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The listening thread reads the end.
        let _ = locked(&self.port).shutdown(Shutdown::Both);
    }
}

impl State {
    fn known(&self) -> MutexGuard<'_, Known> {
        locked(&self.known)
    }

    fn listen(&self, stream: UnixStream, answers: &SyncSender<Answered>) {
        let mut input = BufReader::new(stream);
        let mut line = Vec::new();
        let silence = silence();
        loop {
            let taken = match message::receive(&mut input, &mut line) {
                Ok(true) => {
                    self.known().heard = Some(Instant::now());
                    let taken = self.take(&line, answers);
                    line = Vec::new();
                    taken
                }
                Ok(false) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    self.is_silent(silence)
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => Err(misunderstood(&error)),
                Err(_) => break,
            };
            if let Err(why) = taken {
                self.end(why);
                break;
            }
        }
        self.known().closed = true;
        // A reader of the engine's output learns at once that nothing more will come.
        self.end_engine();
    }

    /// An error if it has been silent for too long. Until its first message it is starting, which has a limit of its own.
    fn is_silent(&self, silence: Duration) -> Result<(), String> {
        match self.known().heard {
            Some(heard) if heard.elapsed() > silence => {
                let words = self.peer.last_words();
                Err(format!("it sent nothing for {} s and was killed{words}", silence.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// Handles a received line; an error if the other end must be ended.
    fn take(&self, line: &[u8], answers: &SyncSender<Answered>) -> Result<(), String> {
        if let Some(words) = line.strip_prefix(&[ENGINE]) {
            self.pass_on(words);
            return Ok(());
        }
        match serde_json::from_slice(line).map_err(|error| misunderstood(&error))? {
            Heard::Hello(hello) if hello.version == Hello::here().version => self.known().hello = Some(hello),
            Heard::Hello(Hello { version, .. }) => {
                let own = Hello::here().version;
                return Err(format!(
                    "it has version {version} and this program has {own}; both must come from the same build"
                ));
            }
            Heard::Alive => {}
            Heard::EngineEnded(how) => {
                self.known().engine_ended = Some(how);
                self.end_engine();
            }
            Heard::Answered(answered) => match answers.try_send(*answered) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => return Err("it sent an unexpected answer and was killed".into()),
                Err(TrySendError::Disconnected(_)) => return Err("the other end closed the connection".into()),
            },
        }
        Ok(())
    }

    fn pass_on(&self, words: &[u8]) {
        let mut engine = locked(&self.engine);
        if engine.as_mut().is_some_and(|engine| engine.write_all(words).is_err()) {
            *engine = None;
            self.known().engine_ended.get_or_insert("it sent more than was read".into());
        }
    }

    /// Ends the engine's output for its reader.
    fn end_engine(&self) {
        *locked(&self.engine) = None;
    }

    fn end(&self, why: String) {
        self.known().ended.get_or_insert(why);
        self.peer.kill();
    }

    /// How the engine or the other end itself ended, in words.
    fn fate(&self) -> String {
        let (ended, engine_ended) = {
            let known = self.known();
            (known.ended.clone(), known.engine_ended.clone().filter(|_| !known.closed))
        };
        let of_engine = || engine_ended.map(|how| format!("{how}{}", self.peer.remark()));
        ended.or_else(of_engine).unwrap_or_else(|| self.peer.fate())
    }
}

/// Writes whole lines to the engine.
struct EngineInput {
    port: Arc<Mutex<UnixStream>>,
    line: Vec<u8>,
}

impl Write for EngineInput {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() { Ok(()) } else { message::send_engine(&mut *locked(&self.port), &line) }
    }
}

fn misunderstood(error: &dyn std::fmt::Display) -> String {
    format!("it sent an invalid message and was killed: {error}")
}

/// How long the other end may be silent; the environment can set another time in seconds, for slower or faster machines.
fn silence() -> Duration {
    let asked = std::env::var("BAKEOFF_GUEST_SILENCE").ok().and_then(|text| text.parse().ok());
    asked.map_or(SILENCE, Duration::from_secs)
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves complete values.
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
