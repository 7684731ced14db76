//! One connection: receives a request, sends an answer, closes. Nothing here blocks.
//! In: a socket that is ready. Out: the connection's new state; each state has limits of time and size.

use crate::LONGEST_REQUEST;
use crate::request::{self, Head, Reading};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Time limit for receiving a request.
const TO_ASK: Duration = Duration::from_secs(5);
/// Time limit for sending an answer.
const TO_TAKE: Duration = Duration::from_secs(60);
/// Time limit for sending events to a follower.
const TO_FOLLOW: Duration = Duration::from_secs(30);
/// Time left to the browser to read an answer, before a connection with unread bytes is closed.
const TO_PART: Duration = Duration::from_secs(1);
/// Most bytes read in one round.
const ONE_READING: usize = 16 << 10;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub stream: TcpStream,
    /// The local address of the connection.
    pub local: SocketAddr,
    pub state: State,
    pub until: Instant,
    /// Whether it sent a valid token.
    pub entitled: bool,
    /// Whether its answer is the last page of a run.
    pub last: bool,
    /// Whether the last event was queued for it.
    pub heard_end: bool,
}

/// State of a connection.
#[derive(Debug)]
pub(crate) enum State {
    /// Receiving a request: the bytes so far.
    Asking(Vec<u8>),
    /// Sending an answer: the bytes, and how many of them are sent.
    Answering(Vec<u8>, usize),
    /// Sending events: the number of the newest event queued, and the bytes not sent yet.
    Following {
        seen: u64,
        rest: Vec<u8>,
    },
    /// Everything is sent; further input is read and discarded.
    Parting,
    Gone,
}

/// Outcome of one round.
pub(crate) enum Brought {
    Nothing,
    Request(Head),
    Refusal(u16),
    /// The answer is sent.
    Taken,
}

impl Connection {
    /// Wraps an accepted socket; `None` if it is already closed.
    pub fn accepted(stream: TcpStream) -> Option<Connection> {
        stream.set_nonblocking(true).ok()?;
        let _ = stream.set_nodelay(true);
        let local = stream.local_addr().ok()?;
        let (state, until) = (State::Asking(Vec::new()), Instant::now() + TO_ASK);
        Some(Connection { stream, local, state, until, entitled: false, last: false, heard_end: false })
    }

    /// Whether it has bytes to write.
    pub fn has_more(&self) -> bool {
        match &self.state {
            State::Answering(..) => true,
            State::Following { rest, .. } => !rest.is_empty(),
            _ => false,
        }
    }

    pub fn is_following(&self) -> bool {
        matches!(self.state, State::Following { .. })
    }

    /// Starts to send an answer.
    pub fn answer(&mut self, bytes: Vec<u8>) {
        self.state = State::Answering(bytes, 0);
        self.until = Instant::now() + TO_TAKE;
    }

    /// Starts to follow: sends the head of the answer, then events from the first on.
    pub fn follow(&mut self, head: Vec<u8>) {
        self.state = State::Following { seen: 0, rest: head };
        self.until = Instant::now() + TO_FOLLOW;
    }

    /// Queues events if all earlier ones are sent; otherwise the browser gets the newest later. Returns whether this queued the last event.
    pub fn news(&mut self, since: impl FnOnce(u64) -> (u64, String, bool)) -> bool {
        let State::Following { seen, rest } = &mut self.state else { return false };
        if !rest.is_empty() {
            return false;
        }
        let (newest, events, last) = since(*seen);
        *seen = newest;
        *rest = events.into_bytes();
        self.until = Instant::now() + TO_FOLLOW;
        let first = last && !self.heard_end;
        self.heard_end |= last;
        first
    }

    /// Reads and writes as much as is possible without blocking.
    pub fn advance(&mut self) -> Brought {
        let late = Instant::now() >= self.until;
        match &mut self.state {
            State::Asking(bytes) => {
                if !take(&mut self.stream, Some(bytes)) {
                    return self.gone();
                }
                match request::read(bytes) {
                    Reading::More if late => Brought::Refusal(408),
                    Reading::More => Brought::Nothing,
                    Reading::Whole(head) => Brought::Request(head),
                    Reading::Refused(status) => Brought::Refusal(status),
                }
            }
            State::Answering(bytes, at) => {
                let took = put(&mut self.stream, bytes, at);
                match took {
                    Ok(true) => {
                        let _ = self.stream.shutdown(Shutdown::Write);
                        self.state = State::Parting;
                        self.until = Instant::now() + TO_PART;
                        Brought::Taken
                    }
                    Ok(false) if !late => Brought::Nothing,
                    _ => self.gone(),
                }
            }
            State::Following { rest, .. } => {
                let mut at = 0;
                let sent = put(&mut self.stream, rest, &mut at);
                rest.drain(..at);
                let waits = late && !rest.is_empty();
                if sent.is_err() || waits || !take(&mut self.stream, None) { self.gone() } else { Brought::Nothing }
            }
            State::Parting => {
                if late || !take(&mut self.stream, None) {
                    self.gone()
                } else {
                    Brought::Nothing
                }
            }
            State::Gone => Brought::Nothing,
        }
    }

    fn gone(&mut self) -> Brought {
        self.state = State::Gone;
        Brought::Nothing
    }
}

/// Reads available bytes, up to the limit of one round, and keeps them if wanted. Returns whether the peer is still connected.
fn take(stream: &mut TcpStream, mut kept: Option<&mut Vec<u8>>) -> bool {
    let mut buffer = [0u8; 4096];
    let mut read = 0;
    while read < ONE_READING {
        if kept.as_ref().is_some_and(|kept| kept.len() >= LONGEST_REQUEST) {
            return true;
        }
        match stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => {
                read += count;
                if let Some(kept) = &mut kept {
                    kept.extend_from_slice(&buffer[..count]);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

/// Writes as much as possible without blocking; returns whether that was all.
fn put(stream: &mut TcpStream, bytes: &[u8], at: &mut usize) -> std::io::Result<bool> {
    while *at < bytes.len() {
        match stream.write(&bytes[*at..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => *at += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
