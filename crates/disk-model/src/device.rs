//! A disk at work.
//! In: requests as they arrive. Out: when each is done, and when to look again.

use crate::description::Machine;
use crate::flash::FlashDevice;
use crate::hard_disk::HardDiskDevice;
use crate::model::Model;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// What is asked of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Data is read.
    Read,
    /// Data is written; a write cache may answer before it is safe.
    Write,
    /// All that was answered before is made safe. Offset and length are not looked at.
    Flush,
    /// Data is not needed any more.
    Discard,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// What.
    pub kind: Kind,
    /// Where, in bytes from the beginning of the disk, which is its outer edge; beyond its end it begins anew.
    pub offset: u64,
    /// How many bytes; what is not a whole sector of 512 counts as one.
    pub length: u64,
}

/// The number of a request that was submitted, counted from 0.
pub type Ticket = u64;

/// A disk at work, in virtual time.
#[derive(Debug)]
pub struct Device {
    capacity: u64,
    next_ticket: Ticket,
    works: Box<dyn Works>,
}

/// One kind of disk at work; times in nanoseconds. The methods are those of [`Device`].
pub(crate) trait Works: std::fmt::Debug + Send {
    fn submit(&mut self, at: u64, ticket: Ticket, request: Request);
    /// The next decision inside the disk, if an unanswered request depends on it.
    fn decision(&self) -> Option<u64>;
    /// When the first answer is due that was not handed out.
    fn first_answer(&self) -> Option<u64>;
    /// Moves the clock.
    fn run(&mut self, to: u64);
    /// Hands out the answers that are known and due by then. The clock does not move.
    fn take(&mut self, until: u64) -> Vec<(Ticket, u64)>;
}

impl Device {
    /// A disk that has nothing to do yet. The seed says how its platters stand at the beginning, or which die is written first.
    pub fn new(model: &Model, seed: u64) -> Device {
        let chance: u64 = ChaCha8Rng::seed_from_u64(seed).random();
        let works: Box<dyn Works> = match model.machine() {
            Machine::HardDisk(disk) => Box::new(HardDiskDevice::new(disk.clone(), chance)),
            Machine::Flash(flash) => Box::new(FlashDevice::new(flash.clone(), chance)),
        };
        Device { capacity: model.capacity(), next_ticket: 0, works }
    }

    /// A request arrives. `at` is never earlier than the last time that was given; where it is, the last time counts.
    pub fn submit(&mut self, at: Duration, request: Request) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let offset = request.offset % self.capacity;
        // What reaches over the end would be on no track; it is as much work before it.
        let length = request.length.min(self.capacity);
        let request = Request { offset: offset.min(self.capacity - length), length, ..request };
        self.works.submit(nanoseconds(at), ticket, request);
        ticket
    }

    /// When to call [`Device::advance`] if nothing else arrives; None where nobody waits for anything. It is when something is done, or before that when it
    /// is decided what is done next: a hard disk has understood a command, or has written a piece of its cache behind which somebody waits. Then
    /// [`Device::advance`] returns nothing, and this tells a later time.
    pub fn next(&self) -> Option<Duration> {
        self.works.first_answer().into_iter().chain(self.works.decision()).min().map(Duration::from_nanos)
    }

    /// Time passes. Returns what was done until then and was not returned yet, in the order of its times.
    ///
    /// What nobody waits for is caught up with here and in [`Device::submit`], a microsecond or so for each piece of a cache that was written meanwhile.
    pub fn advance(&mut self, to: Duration) -> Vec<(Ticket, Duration)> {
        self.works.run(nanoseconds(to));
        self.taken(nanoseconds(to))
    }

    /// Returns what will be done by `until`, a time in the near future, in the order of its times. In contrast to [`Device::advance`] the clock moves only
    /// as far as decisions need it on which an unanswered request depends: a request that arrives before `until` keeps its time of arrival, unless such a
    /// decision was later. This is for servers that answer a little before a request is done, since the answer needs its time to arrive.
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

/// The last time there is, some 146 years, so that what is added to it is a number still.
const END: u64 = 1 << 62;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(END).min(END)
}

/// Requests whose time of completion is known.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Those that the disk itself has not seen completed.
    known: BinaryHeap<Reverse<(u64, Ticket)>>,
    /// Those that were not handed out.
    pending: BinaryHeap<Reverse<(u64, Ticket)>>,
}

impl Answers {
    /// It will be done then.
    pub fn give(&mut self, ticket: Ticket, at: u64) {
        self.known.push(Reverse((at, ticket)));
        self.pending.push(Reverse((at, ticket)));
    }

    /// When the first of those is done that were not handed out.
    pub fn first(&self) -> Option<u64> {
        self.pending.peek().map(|Reverse((at, _))| *at)
    }

    /// When the first is done that was not noticed yet.
    pub fn coming(&self) -> Option<u64> {
        self.known.peek().map(|Reverse((at, _))| *at)
    }

    /// Notices one that is done by now.
    pub fn notice(&mut self, now: u64) -> bool {
        let is_done = self.coming().is_some_and(|at| at <= now);
        if is_done {
            self.known.pop();
        }
        is_done
    }

    /// Hands out those that are done by then.
    pub fn take(&mut self, until: u64) -> Vec<(Ticket, u64)> {
        let mut done = Vec::new();
        while self.first().is_some_and(|at| at <= until) {
            done.extend(self.pending.pop().map(|Reverse((at, ticket))| (ticket, at)));
        }
        done
    }
}
