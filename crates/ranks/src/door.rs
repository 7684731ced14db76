//! The socket at which the first client takes the runner's requests to all clients.
//! In: connections that speak the agent protocol. Out: requests in order, each with the connection for its answer.
//! The socket is in a folder that only its owner can enter.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use workload::message::{LINE_LIMIT, Message as _, PROTOCOL, Reply, Request};

/// Most requests in the queue.
const WAITING: usize = 16;

/// One connection.
#[derive(Debug)]
pub struct Caller {
    /// Identifies the connection.
    pub number: u64,
    stream: UnixStream,
    gone: Arc<AtomicBool>,
}

impl Caller {
    /// Sends a reply; a closed connection is marked as gone.
    pub fn say(&self, reply: &Reply) {
        if reply.send(&mut &self.stream).is_err() {
            self.gone.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the connection is closed.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// An event for the leader.
#[derive(Debug)]
pub enum Event {
    /// A request.
    Asked(Arc<Caller>, Request),
    /// A connection was closed.
    HungUp(u64),
    /// The run's process ended, with this status.
    RunEnded(i32),
}

/// The socket, with its queue of events.
pub struct Door {
    folder: tempfile::TempDir,
    /// Sender for other sources of events.
    pub events: SyncSender<Event>,
    /// The incoming events.
    pub coming: Receiver<Event>,
}

impl Door {
    /// Opens the socket and accepts connections from now on.
    ///
    /// # Errors
    /// The underlying system error.
    pub fn open() -> std::io::Result<Self> {
        // The length of a socket's path is limited, so the folder is directly in /tmp.
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

    /// Path of the socket.
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
    // The leader may have ended already.
    let _ = events.send(Event::HungUp(number));
}
