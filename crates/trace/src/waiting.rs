//! How threads wait for each other: pipes, connections, futexes, ends of processes.
//! In: the actions that signal others. Out: the action that ended a wait.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Most nanoseconds between the end of a process and the wait that it interrupts.
const JUST_BEFORE: u64 = 50_000_000;

/// A stream of bytes between threads.
#[derive(Debug, Default)]
pub struct Stream {
    /// Total bytes written after each writing action.
    writes: Vec<(u64, u32)>,
    written: u64,
    read: u64,
    /// The first of `writes` that may still matter.
    from: usize,
    /// When readers made space, and by which action.
    drained: Vec<(u64, u32)>,
}

/// A stream shared by descriptors.
pub type Channel = Rc<RefCell<Stream>>;

impl Stream {
    /// This action wrote this many bytes; 0: end of the stream.
    pub fn tell(&mut self, action: u32, bytes: u64) {
        self.written += bytes;
        self.writes.push((self.written, action));
    }

    /// This many bytes were read; 0: end of the stream. Returns the action that made them available.
    pub fn heard(&mut self, bytes: u64) -> Option<u32> {
        self.read += bytes;
        if bytes == 0 {
            return self.writes.last().map(|(_, action)| *action);
        }
        while self.writes.get(self.from).is_some_and(|(written, _)| *written < self.read) {
            self.from += 1;
        }
        self.writes.get(self.from).or(self.writes.last()).map(|(_, action)| *action)
    }

    /// An action made space at a moment.
    pub fn drain(&mut self, at: u64, action: u32) {
        self.drained.push((at, action));
    }

    /// The last action that made space up to a moment.
    pub fn drained(&self, until: u64) -> Option<u32> {
        let later = self.drained.partition_point(|(at, _)| *at <= until);
        self.drained[..later].last().map(|(_, action)| *action)
    }
}

/// A requested connection: the streams in both directions, and the requesting action.
#[derive(Debug, Clone)]
pub struct Connection {
    pub there: Channel,
    pub back: Channel,
    pub by: u32,
}

/// The end of a thread: when, by which action, and the number of the thread.
#[derive(Debug, Clone, Copy)]
pub struct End {
    pub at: u64,
    pub action: u32,
    pub thread: u32,
}

/// All other ways to wait for each other.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The last wake-up of each futex, and of each address space.
    futexes: HashMap<(u32, i64), u32>,
    wakes: HashMap<u32, u32>,
    /// Ends of the threads of each process.
    ends: HashMap<i32, Vec<End>>,
    last_end: Option<(u64, u32)>,
    /// The last signal to each process: time and action.
    signals: HashMap<i32, (u64, u32)>,
    /// Connections not accepted yet.
    connections: HashMap<i64, Vec<Connection>>,
}

impl Waiting {
    /// A futex was woken.
    pub fn wake(&mut self, memory: u32, address: i64, action: u32) {
        self.futexes.insert((memory, address), action);
        self.wakes.insert(memory, action);
    }

    /// What may have ended a futex wait that started at this moment: a wake-up, or the end of a thread, which wakes joining threads.
    pub fn woken(&self, memory: u32, address: i64, start: u64) -> Option<u32> {
        let woken = self.futexes.get(&(memory, address)).copied();
        woken.or_else(|| self.any_end(start)).or_else(|| self.wakes.get(&memory).copied())
    }

    /// A thread ended with this action.
    pub fn end(&mut self, process: i32, thread: u32, action: u32, at: u64) {
        self.ends.entry(process).or_default().push(End { at, action, thread });
        self.last_end = Some((at, action));
    }

    /// The last end of a thread of this process since a moment.
    pub fn end_of(&self, process: i32, since: u64) -> Option<u32> {
        let last = self.ends.get(&process)?.last()?;
        (last.at >= since).then_some(last.action)
    }

    /// The ends of a process's threads.
    pub fn ended(&mut self, process: i32) -> Vec<End> {
        self.ends.remove(&process).unwrap_or_default()
    }

    /// The last end since a moment.
    pub fn any_end(&self, since: u64) -> Option<u32> {
        self.last_end.filter(|(at, _)| *at >= since).map(|(_, action)| action)
    }

    /// An action sent a signal to a process.
    pub fn signal(&mut self, process: i32, at: u64, action: u32) {
        self.signals.insert(process, (at, action));
    }

    /// The action that sent a process a signal since a moment.
    pub fn signalled(&self, process: i32, since: u64) -> Option<u32> {
        self.signals.get(&process).filter(|(at, _)| *at >= since).map(|(_, action)| *action)
    }

    /// What interrupted a wait between two moments: a signal, or the end of a process just before, for which the kernel sends one.
    pub fn interrupted(&self, process: i32, (from, until): (u64, u64)) -> Option<u32> {
        self.signalled(process, from).or_else(|| self.any_end(from.max(until.saturating_sub(JUST_BEFORE))))
    }

    /// An action requests a connection to an address.
    pub fn connect(&mut self, address: i64, by: u32) -> Connection {
        let made = Connection { there: Channel::default(), back: Channel::default(), by };
        self.connections.entry(address).or_default().push(made.clone());
        made
    }

    /// Accepts the oldest connection to an address.
    pub fn accept(&mut self, address: i64) -> Option<Connection> {
        let waiting = self.connections.get_mut(&address)?;
        (!waiting.is_empty()).then(|| waiting.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_continues_after_the_last_action_that_made_room_before_it() {
        let mut stream = Stream::default();
        [(10, 1), (20, 4), (30, 6)].into_iter().for_each(|(at, action)| stream.drain(at, action));
        assert_eq!([5, 10, 25, 40].map(|until| stream.drained(until)), [None, Some(1), Some(4), Some(6)]);
    }

    #[test]
    fn a_wait_is_interrupted_by_a_signal_or_by_an_end_just_before() {
        let mut waiting = Waiting::default();
        let second = 1_000_000_000;
        waiting.end(7, 3, 11, second);
        assert_eq!(waiting.interrupted(5, (0, second + 1)), Some(11));
        assert_eq!(waiting.interrupted(5, (0, 2 * second)), None);
        assert_eq!(waiting.interrupted(5, (second + 1, second + 2)), None);
        waiting.signal(5, second, 12);
        assert_eq!(waiting.interrupted(5, (0, 2 * second)), Some(12));
    }

    #[test]
    fn a_reader_waits_for_the_write_that_its_bytes_came_with_and_no_later_one() {
        let mut stream = Stream::default();
        [(5, 10), (9, 10), (12, 1)].into_iter().for_each(|(action, bytes)| stream.tell(action, bytes));
        assert_eq!(stream.heard(4), Some(5));
        assert_eq!(stream.heard(6), Some(5));
        assert_eq!(stream.heard(1), Some(9));
        assert_eq!(stream.heard(10), Some(12));
        stream.tell(20, 0);
        assert_eq!(stream.heard(0), Some(20));
    }
}
