//! News on their way from whoever makes them to the browsers that follow.
//! In: topics, each with its newest value as JSON. Out: events; a browser that is slow, or comes late, gets the newest of each topic.
//! So there is no queue that could grow, and telling costs whoever tells no more than a lock and one system call.

use crate::error::WebError;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Topics, and the bell that wakes the server.
#[derive(Debug)]
pub struct Feed {
    state: Mutex<State>,
    bell: OwnedFd,
}

#[derive(Debug, Default)]
struct State {
    topics: Vec<Topic>,
    /// Counts what was told.
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

impl Feed {
    /// A feed without news.
    ///
    /// # Errors
    /// The system gives no descriptor.
    pub fn new() -> Result<Feed, WebError> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|errno| WebError::Preparing { doing: "making a descriptor for news", answer: errno.into() })?;
        Ok(Feed { state: Mutex::default(), bell })
    }

    /// Replaces the value of a topic: one line of JSON.
    pub fn tell(&self, name: &'static str, value: String) {
        let value = value.replace(['\n', '\r'], " ");
        let mut state = self.state();
        state.number += 1;
        let number = state.number;
        match state.topics.iter_mut().find(|topic| topic.name == name) {
            Some(topic) => (topic.value, topic.number) = (value, number),
            None => state.topics.push(Topic { name, value, number }),
        }
        drop(state);
        self.ring();
    }

    /// Whether something is measured, so that the server keeps still: it works a few times a second at most, whatever comes in.
    pub fn keep_still(&self, still: bool) {
        self.state().still = still;
    }

    /// There will be no more news: the server ends once browsers that follow have the last page, or this time has gone.
    pub fn end_within(&self, time: Duration) {
        self.state().until = Some(Instant::now() + time);
        self.ring();
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

    /// Takes the rings that came.
    pub(crate) fn heard(&self) {
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&self.bell, &mut count);
    }

    /// Events that are newer than `seen`, and the number of the newest.
    pub(crate) fn since(&self, seen: u64) -> (u64, String) {
        let state = self.state();
        let mut fresh: Vec<&Topic> = state.topics.iter().filter(|topic| topic.number > seen).collect();
        fresh.sort_by_key(|topic| topic.number);
        let events = fresh.iter().map(|topic| format!("event: {}\ndata: {}\n\n", topic.name, topic.value));
        (state.number, events.collect())
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
    fn whoever_comes_late_gets_the_newest_of_each_topic_once() {
        let feed = Feed::new().expect("a feed");
        feed.tell("step", "1".into());
        feed.tell("block", "\"a\nb\"".into());
        feed.tell("step", "2".into());
        let (seen, events) = feed.since(0);
        assert_eq!(events, "event: block\ndata: \"a b\"\n\nevent: step\ndata: 2\n\n");
        assert_eq!(feed.since(seen), (seen, String::new()));
    }
}
