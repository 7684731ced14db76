//! A simulated disk.
//! In: requests as they arrive. Out: the time when each completes, and when to check again.

use crate::description::Machine;
use crate::flash::FlashDevice;
use crate::hard_disk::HardDiskDevice;
use crate::model::Model;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Kinds of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Read data.
    Read,
    /// Write data; a write cache may complete it before it is durable.
    Write,
    /// Make all completed writes durable. Offset and length are ignored.
    Flush,
    /// Discard data.
    Discard,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// The kind.
    pub kind: Kind,
    /// Offset in bytes from the outer edge of the disk; it wraps around at the end.
    pub offset: u64,
    /// Length in bytes; a partial sector of 512 bytes counts as a whole one.
    pub length: u64,
}

/// The number of a submitted request, counted from 0.
pub type Ticket = u64;

/// A simulated disk, in virtual time.
#[derive(Debug)]
pub struct Device {
    capacity: u64,
    next_ticket: Ticket,
    works: Box<dyn Works>,
}

/// One kind of simulated disk; times in nanoseconds. The methods match those of [`Device`].
pub(crate) trait Works: std::fmt::Debug + Send {
    fn submit(&mut self, at: u64, ticket: Ticket, request: Request);
    /// The next decision inside the disk, if an unfinished request depends on it.
    fn decision(&self) -> Option<u64>;
    /// When the first completion is due that was not returned yet.
    fn first_answer(&self) -> Option<u64>;
    /// Advances the clock.
    fn run(&mut self, to: u64);
    /// Returns the known completions due by then. The clock does not advance.
    fn take(&mut self, until: u64) -> Vec<(Ticket, u64)>;
}

impl Device {
    /// An idle disk. The seed determines the initial position of the platters, or which die is written first.
    pub fn new(model: &Model, seed: u64) -> Device {
        let chance: u64 = ChaCha8Rng::seed_from_u64(seed).random();
        let works: Box<dyn Works> = match model.machine() {
            Machine::HardDisk(disk) => Box::new(HardDiskDevice::new(disk.clone(), chance)),
            Machine::Flash(flash) => Box::new(FlashDevice::new(flash.clone(), chance)),
        };
        Device { capacity: model.capacity(), next_ticket: 0, works }
    }

    /// Submits a request. An `at` earlier than the latest time counts as the latest time.
    pub fn submit(&mut self, at: Duration, request: Request) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let offset = request.offset % self.capacity;
        // A request past the end has no track; moved before the end, it takes the same work.
        let length = request.length.min(self.capacity);
        let request = Request { offset: offset.min(self.capacity - length), length, ..request };
        self.works.submit(nanoseconds(at), ticket, request);
        ticket
    }

    /// When to call [`Device::advance`] if no request arrives; None if no request is pending. It is the time of a completion, or of an
    /// earlier decision about the next work: a hard disk has decoded a command, or has written a piece of its cache that another request
    /// waits for. After a mere decision [`Device::advance`] returns nothing, and this returns a later time.
    pub fn next(&self) -> Option<Duration> {
        self.works.first_answer().into_iter().chain(self.works.decision()).min().map(Duration::from_nanos)
    }

    /// Advances the time. Returns new completions up to then, in the order of their times.
    ///
    /// Background work is caught up here and in [`Device::submit`], in a microsecond or so for each cached piece written meanwhile.
    pub fn advance(&mut self, to: Duration) -> Vec<(Ticket, Duration)> {
        self.works.run(nanoseconds(to));
        self.taken(nanoseconds(to))
    }

    /// Returns completions up to `until`, a time in the near future, in the order of their times. Unlike in [`Device::advance`], the clock
    /// advances only as far as needed for decisions on which an unfinished request depends: a request that arrives before `until` keeps its
    /// time of arrival, unless such a decision was later. This is for servers that answer a little before a request completes, since the
    /// answer needs time to arrive.
    pub fn foresee(&mut self, until: Duration) -> Vec<(Ticket, Duration)> {
        let until = nanoseconds(until);
        while let Some(at) = self.works.decision().filter(|at| *at <= until) {
            self.works.run(at);
        }
        self.taken(until)
    }

    fn taken(&mut self, until: u64) -> Vec<(Ticket, Duration)> {
        self.works.take(until).into_iter().map(|(ticket, at)| (ticket, Duration::from_nanos(at))).collect()
    }
}

/// The latest time, some 146 years; low enough that sums do not overflow.
const END: u64 = 1 << 62;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(END).min(END)
}

/// Requests with known completion time.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Completions that the disk itself has not processed.
    known: BinaryHeap<Reverse<(u64, Ticket)>>,
    /// Completions that were not returned yet.
    pending: BinaryHeap<Reverse<(u64, Ticket)>>,
}

impl Answers {
    /// Adds a completion.
    pub fn give(&mut self, ticket: Ticket, at: u64) {
        self.known.push(Reverse((at, ticket)));
        self.pending.push(Reverse((at, ticket)));
    }

    /// The first completion that was not returned yet.
    pub fn first(&self) -> Option<u64> {
        self.pending.peek().map(|Reverse((at, _))| *at)
    }

    /// The first completion that was not processed yet.
    pub fn coming(&self) -> Option<u64> {
        self.known.peek().map(|Reverse((at, _))| *at)
    }

    /// Processes one completion due by now; returns whether there was one.
    pub fn notice(&mut self, now: u64) -> bool {
        let is_done = self.coming().is_some_and(|at| at <= now);
        if is_done {
            self.known.pop();
        }
        is_done
    }

    /// Returns the completions due by then.
    pub fn take(&mut self, until: u64) -> Vec<(Ticket, u64)> {
        let mut done = Vec::new();
        while self.first().is_some_and(|at| at <= until) {
            done.extend(self.pending.pop().map(|Reverse((at, ticket))| (ticket, at)));
        }
        done
    }
}
