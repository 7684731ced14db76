//! The socket at which the runner asks the first client for what all are to do.
//! In: connections, each of which speaks the agent seam. Out: requests one after the other, and where each answer goes.
//! The socket lies in a folder that only its owner may enter.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use workload::message::{LINE_LIMIT, Message as _, PROTOCOL, Reply, Request};

/// Requests that may wait.
const WAITING: usize = 16;

/// Somebody who asks.
#[derive(Debug)]
pub struct Caller {
    /// Told apart by it.
    pub number: u64,
    stream: UnixStream,
    gone: Arc<AtomicBool>,
}

impl Caller {
    /// Answers; who is gone hears nothing.
    pub fn say(&self, reply: &Reply) {
        if reply.send(&mut &self.stream).is_err() {
            self.gone.store(true, Ordering::Relaxed);
        }
    }

    /// Whether nobody hears any more.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// What comes in.
#[derive(Debug)]
pub enum Event {
    /// A request.
    Asked(Arc<Caller>, Request),
    /// A caller hung up.
    HungUp(u64),
    /// The run's process ended, with this status.
    RunEnded(i32),
}

/// The socket.
pub struct Door {
    folder: tempfile::TempDir,
    /// For whoever else has something to report.
    pub events: SyncSender<Event>,
    /// What came in.
    pub coming: Receiver<Event>,
}

impl Door {
    /// Opens the socket and takes connections from now on.
    ///
    /// # Errors
    /// What the system answered.
    pub fn open() -> std::io::Result<Self> {
        // Sockets have short names, so the folder must not lie deep.
        let folder = tempfile::Builder::new().prefix("bakeoff-clients-").tempdir_in("/tmp")?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        let (events, coming) = sync_channel(WAITING);
        let taking = events.clone();
        thread::spawn(move || {
            let counted = AtomicU64::new(0);
            for stream in listener.incoming().flatten() {
                let events = taking.clone();
                let number = counted.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || serve(stream, number, &events));
            }
        });
        Ok(Self { folder, events, coming })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }
}

const SOCKET: &str = "socket";

fn serve(stream: UnixStream, number: u64, events: &SyncSender<Event>) {
    let Ok(input) = stream.try_clone() else { return };
    let gone = Arc::new(AtomicBool::new(false));
    let caller = Arc::new(Caller { number, stream, gone: Arc::clone(&gone) });
    let version = env!("CARGO_PKG_VERSION").to_owned();
    caller.say(&Reply::Hello { protocol: PROTOCOL, version, pid: std::process::id() });
    let mut lines = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let read = lines.by_ref().take(LINE_LIMIT as u64).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            break;
        }
        match Request::read(&line) {
            Ok(Request::Quit) => break,
            Ok(request) => {
                if events.send(Event::Asked(Arc::clone(&caller), request)).is_err() {
                    return;
                }
            }
            Err(error) => {
                caller.say(&Reply::Refused { reason: format!("not a request of protocol {PROTOCOL}: {error}") })
            }
        }
    }
    gone.store(true, Ordering::Relaxed);
    // Whoever leads the clients may have ended already.
    let _ = events.send(Event::HungUp(number));
}
