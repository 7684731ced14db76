//! Events on their way from the producer to the browsers that follow.
//! In: topics, each with its newest value as JSON. Out: events; a slow or late browser gets the newest value of each topic. So no queue can
//! grow, and publishing costs no more than a lock and one system call.

use crate::error::WebError;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Topics, and the eventfd that wakes the server.
#[derive(Debug)]
pub struct Feed {
    state: Mutex<State>,
    bell: OwnedFd,
    /// Whether a browser follows; otherwise the server is not woken.
    followed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    topics: Vec<Topic>,
    /// Counts the published values.
    number: u64,
    still: bool,
    until: Option<Instant>,
}

#[derive(Debug)]
struct Topic {
    name: &'static str,
    value: String,
    number: u64,
}

impl State {
    fn put(&mut self, name: &'static str, value: &str) {
        let value = value.replace(['\n', '\r'], " ");
        self.number += 1;
        let number = self.number;
        match self.topics.iter_mut().find(|topic| topic.name == name) {
            Some(topic) => (topic.value, topic.number) = (value, number),
            None => self.topics.push(Topic { name, value, number }),
        }
    }
}

impl Feed {
    /// A feed without events.
    ///
    /// # Errors
    /// The system provides no file descriptor.
    pub fn new() -> Result<Feed, WebError> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|errno| WebError::Preparing { doing: "creating a descriptor for events", answer: errno.into() })?;
        Ok(Feed { state: Mutex::default(), bell, followed: AtomicBool::new(false) })
    }

    /// Replaces the value of a topic: one line of JSON.
    pub fn tell(&self, name: &'static str, value: &str) {
        self.state().put(name, value);
        if self.followed.load(Ordering::SeqCst) {
            self.ring();
        }
    }

    /// Sets whether a measurement is in progress. If so, the server works at most a few times a second, whatever arrives.
    pub fn keep_still(&self, still: bool) {
        self.state().still = still;
    }

    /// Publishes the last event: the server ends once all followers have the last page, or after this time.
    pub fn end(&self, name: &'static str, value: &str, within: Duration) {
        // Under one lock, so that the server waits for each browser that has received the last event and requests the last page.
        let mut state = self.state();
        state.put(name, value);
        state.until = Some(Instant::now() + within);
        drop(state);
        self.ring();
    }

    /// Records whether a browser follows. A browser that starts to follow is sent the values that exist after this call.
    pub(crate) fn is_followed(&self, followed: bool) {
        self.followed.store(followed, Ordering::SeqCst);
    }

    pub(crate) fn is_still(&self) -> bool {
        self.state().still
    }

    pub(crate) fn ends(&self) -> Option<Instant> {
        self.state().until
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Clears pending wake-ups.
    pub(crate) fn heard(&self) {
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&self.bell, &mut count);
    }

    /// Events newer than `seen`, the number of the newest, and whether the last event is among them.
    pub(crate) fn since(&self, seen: u64) -> (u64, String, bool) {
        let state = self.state();
        let mut fresh: Vec<&Topic> = state.topics.iter().filter(|topic| topic.number > seen).collect();
        fresh.sort_by_key(|topic| topic.number);
        let events = fresh.iter().map(|topic| format!("event: {}\ndata: {}\n\n", topic.name, topic.value));
        (state.number, events.collect(), state.until.is_some())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_client_gets_the_newest_message_of_each_topic_once() {
        let feed = Feed::new().expect("a feed");
        feed.tell("step", "1");
        feed.tell("block", "\"a\nb\"");
        feed.tell("step", "2");
        let (seen, events, last) = feed.since(0);
        assert_eq!((events.as_str(), last), ("event: block\ndata: \"a b\"\n\nevent: step\ndata: 2\n\n", false));
        assert_eq!(feed.since(seen), (seen, String::new(), false));
        feed.end("ended", "true", Duration::ZERO);
        assert_eq!(feed.since(seen), (seen + 1, "event: ended\ndata: true\n\n".into(), true));
    }
}
