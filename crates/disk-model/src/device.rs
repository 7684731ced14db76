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
    fn next(&self) -> Option<u64>;
    fn advance(&mut self, to: u64) -> Vec<(Ticket, u64)>;
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
        self.works.next().map(Duration::from_nanos)
    }

    /// Time passes. Returns what was done until then and was not returned yet, in the order of its times.
    ///
    /// What nobody waits for is caught up with here and in [`Device::submit`], a microsecond or so for each piece of a cache that was written meanwhile.
    pub fn advance(&mut self, to: Duration) -> Vec<(Ticket, Duration)> {
        let done = self.works.advance(nanoseconds(to));
        done.into_iter().map(|(ticket, at)| (ticket, Duration::from_nanos(at))).collect()
    }
}

/// The last time there is, some 146 years, so that what is added to it is a number still.
const END: u64 = 1 << 62;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(END).min(END)
}

/// Requests whose time of completion is known, and those that are done.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: BinaryHeap<Reverse<(u64, Ticket)>>,
    done: Vec<(Ticket, u64)>,
}

impl Answers {
    /// It will be done then.
    pub fn give(&mut self, ticket: Ticket, at: u64) {
        self.known.push(Reverse((at, ticket)));
    }

    /// When the first of them is done.
    pub fn first(&self) -> Option<u64> {
        let known = self.known.peek().map(|Reverse((at, _))| *at);
        self.done.first().map(|(_, at)| *at).or(known)
    }

    /// When the first is done that was not noticed yet.
    pub fn coming(&self) -> Option<u64> {
        self.known.peek().map(|Reverse((at, _))| *at)
    }

    /// Notices one that is done by now.
    pub fn notice(&mut self, now: u64) -> bool {
        if self.coming().is_none_or(|at| at > now) {
            return false;
        }
        if let Some(Reverse((at, ticket))) = self.known.pop() {
            self.done.push((ticket, at));
        }
        true
    }

    /// Hands out what was noticed.
    pub fn take(&mut self) -> Vec<(Ticket, u64)> {
        std::mem::take(&mut self.done)
    }
}
