//! This side's end of a stream to a process that serves a stage.
//! In: the stream, and somebody who knows what becomes of the other end ([`Peer`]). Out: answers, the engine's line, and why the
//! other end was lost.
//! A thread listens: other ends that fall silent, speak nonsense or say too much are ended here.

use super::message::{self, Answered, Ask, ENGINE, Heard, Hello, Waking};
use crate::staged::Line;
use std::io::{self, BufReader, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long the other end may be silent: it says that it lives once a second.
const SILENCE: Duration = Duration::from_secs(60);
/// How often a silent stream is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How long the engine's lines may lie unread: whoever asks it something reads at once.
const UNREAD: Duration = Duration::from_secs(10);
/// How long a message may take to be written.
const WRITING: Duration = Duration::from_secs(120);

/// The other end, as the process that this side started.
pub trait Peer: Send + Sync {
    /// What it is called in messages: "the guest".
    fn name(&self) -> &str;
    /// What became of it, in words, asked after its stream has ended.
    fn fate(&self) -> String;
    /// What must be said beside its own errors; empty where there is nothing.
    fn remark(&self) -> &str {
        ""
    }
    /// What it said last beside the stream, to be put behind a sentence; empty where there is nothing.
    fn last_words(&self) -> String {
        String::new()
    }
    /// Ends it at once.
    fn kill(&self);
}

/// A stream to a process that serves.
pub struct Link {
    port: Arc<Mutex<UnixStream>>,
    answers: Receiver<Answered>,
    state: Arc<State>,
}

/// What the listening thread and this side know.
struct State {
    peer: Box<dyn Peer>,
    known: Mutex<Known>,
    /// Where the engine's lines go, while somebody reads them.
    engine: Mutex<Option<UnixStream>>,
}

#[derive(Debug, Default)]
struct Known {
    hello: Option<Hello>,
    heard: Option<Instant>,
    /// Why it was ended from this side.
    ended: Option<String>,
    engine_ended: Option<String>,
    /// Its stream has ended.
    closed: bool,
}

impl Link {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system refuses another handle or a thread's time limits.
    pub fn open(stream: UnixStream, peer: impl Peer + 'static) -> io::Result<Link> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(WRITING))?;
        let port = Arc::new(Mutex::new(stream.try_clone()?));
        let state = Arc::new(State { peer: Box::new(peer), known: Mutex::default(), engine: Mutex::default() });
        // One question is answered at a time.
        let (sender, answers) = sync_channel(1);
        let listening = Arc::clone(&state);
        std::thread::spawn(move || listening.listen(stream, &sender));
        Ok(Link { port, answers, state })
    }

    /// Waits until the other end says that it is up.
    ///
    /// # Errors
    /// It does not within `limit`, ends, or comes from another build; in words.
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
                let said = self.state.peer.last_words();
                return Err(format!("it did not start within {} s{said}", limit.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Has the other end go on as a copy of one that had said hello, and waits until it says its own.
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

    /// Whether the other end says nothing any more.
    pub fn is_closed(&self) -> bool {
        self.state.known().closed
    }

    /// What must be said beside the other end's errors.
    pub(crate) fn remark(&self) -> &str {
        self.state.peer.remark()
    }

    /// Asks something, and waits for the answer; `limit` is longer than those of everything that is done for it.
    ///
    /// # Errors
    /// The other end was lost, before or meanwhile; in words. One that takes longer is ended.
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

    /// The line to the engine; asked before the engine is started, so that none of its words is lost.
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
                // Whoever is gone already needs not be told.
                let _ = message::send(&mut *locked(&port), &Ask::EndEngine);
                ending.end_engine();
            }),
        })
    }

    /// Says that nothing more will be asked: the other end takes down what stands, and ends.
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
        // Whoever waits for the engine hears at once that nothing will come any more.
        self.end_engine();
    }

    /// An error where it has been silent for too long. Before its first word it starts, which has a limit of its own.
    fn is_silent(&self, silence: Duration) -> Result<(), String> {
        match self.known().heard {
            Some(heard) if heard.elapsed() > silence => {
                let words = self.peer.last_words();
                Err(format!("it sent nothing for {} s and was killed{words}", silence.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// What was heard; an error where the other end is not to be listened to any more.
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

    /// Ends the engine's output for whoever reads it.
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

/// How long the other end may be silent; another time in seconds can be set for machines that are slower or quicker than most.
fn silence() -> Duration {
    let asked = std::env::var("BAKEOFF_GUEST_SILENCE").ok().and_then(|text| text.parse().ok());
    asked.map_or(SILENCE, Duration::from_secs)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves whole values behind.
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
