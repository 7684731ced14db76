//! The server: one thread, which sleeps until there is input, and works in rounds with pauses between them.
//! In: connections. Out: answers to requests with the token; all others are refused or time out. With one thread and no queue, any input
//! costs at most a round's work a few times a second during a measurement.

use crate::answer::{Answer, Body};
use crate::connection::{Brought, Connection, State};
use crate::error::WebError;
use crate::feed::Feed;
use crate::guard;
use crate::request::{Asked, Head};
use crate::{MOST_CONNECTIONS, MOST_FOLLOWERS};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// Pause between two rounds, during a measurement and otherwise.
const STILL: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_millis(5);
/// Most connections accepted in one round; others wait in the kernel.
const ACCEPTED: usize = 16;
/// How often a site may publish new events while a browser follows.
const TICK: Duration = Duration::from_secs(1);
/// The highest niceness.
const LAST_IN_LINE: i32 = 19;

/// What the server shows.
pub trait Site {
    /// Answers a request with a valid token.
    fn answer(&mut self, asked: &Asked) -> Answer;

    /// Called about once a second while a browser follows, with the CPU time of this thread so far.
    fn tick(&mut self, _cpu: Duration) {}
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Server {
    /// Listens at an address; port 0 takes any free port.
    ///
    /// # Errors
    /// The address is not available, or the system provides no randomness.
    pub fn bind(address: SocketAddr) -> Result<Server, WebError> {
        let refused = |answer| WebError::Listening { address, answer };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let token = guard::token().map_err(|answer| WebError::Preparing { doing: "generating a token", answer })?;
        Ok(Server { listener, address, token })
    }

    /// The address for the user, including the token. If the server listens at all addresses of this machine, it names the loopback address.
    pub fn url(&self) -> String {
        let mut shown = self.address;
        match shown {
            SocketAddr::V4(_) if shown.ip().is_unspecified() => shown.set_ip(std::net::Ipv4Addr::LOCALHOST.into()),
            SocketAddr::V6(_) if shown.ip().is_unspecified() => shown.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("http://{shown}/{}/", self.token)
    }

    /// Whether other machines can connect.
    pub fn is_open_to_others(&self) -> bool {
        !self.address.ip().to_canonical().is_loopback()
    }

    /// Answers in this thread: for ever without a feed, otherwise until the feed ends ([`Feed::end`]). With a feed, the thread runs at the
    /// lowest CPU priority.
    ///
    /// # Errors
    /// Waiting fails.
    pub fn serve(self, site: &mut dyn Site, feed: Option<&Feed>) -> Result<(), WebError> {
        if feed.is_some() {
            let _ = rustix::process::setpriority_process(None, LAST_IN_LINE);
        }
        let address = self.address;
        let serving = Serving { server: self, site, feed, open: Vec::new(), ticked: Instant::now(), owed: 0 };
        serving.rounds().map_err(|errno| WebError::Waiting { address, answer: errno.into() })
    }
}

/// CPU time of this thread so far.
fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

struct Serving<'a> {
    server: Server,
    site: &'a mut dyn Site,
    feed: Option<&'a Feed>,
    open: Vec<Connection>,
    ticked: Instant,
    /// Browsers that were sent the last event and have not received the last page yet.
    owed: usize,
}

impl Serving<'_> {
    fn rounds(mut self) -> Result<(), Errno> {
        loop {
            let began = Instant::now();
            self.accept();
            for at in 0..self.open.len() {
                self.advance(at);
            }
            self.tell();
            self.open.retain(|connection| !matches!(connection.state, State::Gone));
            if self.is_over() {
                return Ok(());
            }
            let pause = if self.feed.is_some_and(Feed::is_still) { STILL } else { PAUSE };
            std::thread::sleep(pause.saturating_sub(began.elapsed()));
            self.wait()?;
        }
    }

    /// Sleeps until there is input, a new event, or a time limit expires.
    fn wait(&self) -> Result<(), Errno> {
        let mut ways = vec![PollFd::new(&self.server.listener, PollFlags::IN)];
        let bell = self.feed.map(Feed::bell);
        ways.extend(bell.as_ref().map(|bell| PollFd::new(bell, PollFlags::IN)));
        ways.extend(self.open.iter().map(|connection| {
            let more = if connection.has_more() { PollFlags::OUT } else { PollFlags::empty() };
            PollFd::new(&connection.stream, PollFlags::IN | more)
        }));
        let limit = self.next_time().map(|time| {
            let left = time.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        match poll(&mut ways, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    fn next_time(&self) -> Option<Instant> {
        let follows = self.open.iter().any(Connection::is_following);
        let tick = follows.then(|| self.ticked + TICK);
        let late = |connection: &&Connection| !connection.is_following() || connection.has_more();
        let late = self.open.iter().filter(late).map(|connection| connection.until).min();
        [tick, late, self.feed.and_then(Feed::ends)].into_iter().flatten().min()
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED {
            let Ok((stream, _)) = self.server.listener.accept() else { return };
            let Some(connection) = Connection::accepted(stream) else { continue };
            if self.open.len() >= MOST_CONNECTIONS {
                let waits = |connection: &Connection| !connection.entitled;
                let Some(oldest) = self.open.iter().position(waits) else { continue };
                self.open.remove(oldest);
            }
            self.open.push(connection);
        }
    }

    fn advance(&mut self, at: usize) {
        match self.open[at].advance() {
            Brought::Nothing => {}
            Brought::Refusal(status) => self.send(at, &Answer::refusal(status), false),
            Brought::Request(head) => self.request(at, &head),
            Brought::Taken => {
                if self.open[at].last {
                    self.owed = self.owed.saturating_sub(1);
                }
            }
        }
    }

    fn request(&mut self, at: usize, head: &Head) {
        let admitted = guard::admitted(head, self.open[at].local, &self.server.token);
        let answer = match admitted {
            Err(status) => Answer::refusal(status),
            Ok(asked) => {
                self.open[at].entitled = true;
                self.site.answer(&asked)
            }
        };
        self.send(at, &answer, head.headers_only);
    }

    fn send(&mut self, at: usize, answer: &Answer, headers_only: bool) {
        let follows = answer.body == Body::News && !headers_only;
        if !follows {
            self.open[at].last = answer.last && !headers_only;
            self.open[at].answer(answer.bytes(headers_only));
        } else if self.feed.is_none() || self.open.iter().filter(|open| open.is_following()).count() >= MOST_FOLLOWERS {
            self.open[at].answer(Answer::refusal(503).bytes(false));
        } else {
            self.open[at].follow(answer.bytes(false));
        }
        // Sends what is possible in this round.
        self.advance(at);
    }

    /// Sends events to the followers.
    fn tell(&mut self) {
        let Some(feed) = self.feed else { return };
        feed.heard();
        let followed = self.open.iter().any(Connection::is_following);
        feed.is_followed(followed);
        if !followed {
            return;
        }
        if self.ticked.elapsed() >= TICK {
            self.ticked = Instant::now();
            self.site.tick(own_cpu());
        }
        for connection in self.open.iter_mut().filter(|connection| connection.is_following()) {
            // Counted before sending: a browser may disconnect and request the last page as soon as it has the last event.
            self.owed += usize::from(connection.news(|seen| feed.since(seen)));
            connection.advance();
        }
    }

    /// After the last event, the server waits until each follower has the last page.
    fn is_over(&self) -> bool {
        let Some(until) = self.feed.and_then(Feed::ends) else { return false };
        let waits = |open: &Connection| open.is_following() && !open.heard_end || open.entitled && open.has_more();
        (self.owed == 0 && !self.open.iter().any(waits)) || Instant::now() >= until
    }
}
