//! What is asked of a disk, in what order it is answered, and when.
//! In: requests as they arrive. Out: those that are due.

use crate::content::Change;
use disk_model::{Device, Kind, Model, Request, Ticket};
use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// A request that is answered when it is due.
#[derive(Debug)]
pub(crate) struct Job {
    /// The file.
    pub number: u64,
    pub arrived: Instant,
    pub what: What,
}

/// What is asked. `recorded`: its number, where the file is recorded.
#[derive(Debug)]
pub(crate) enum What {
    Read { offset: u64, length: usize, answer: ReplyData },
    Write { offset: u64, change: Change, recorded: Option<usize>, answer: WriteAnswer },
    Flush { recorded: Option<usize>, answer: ReplyEmpty },
}

#[derive(Debug)]
pub(crate) enum WriteAnswer {
    Written(ReplyWrite),
    Cleared(ReplyEmpty),
}

impl WriteAnswer {
    pub(crate) fn done(self, bytes: u64) {
        match self {
            WriteAnswer::Written(reply) => reply.written(bytes as u32),
            WriteAnswer::Cleared(reply) => reply.ok(),
        }
    }

    pub(crate) fn failed(self, error: Errno) {
        match self {
            WriteAnswer::Written(reply) => reply.error(error),
            WriteAnswer::Cleared(reply) => reply.error(error),
        }
    }
}

/// The way of a disk.
#[derive(Debug)]
pub(crate) enum Pace {
    /// One after the other, each when it is due.
    InTurn(VecDeque<(Instant, Job)>),
    /// As a described disk would.
    Modelled(Box<Modelled>),
}

/// A described disk, and the requests that it has not answered.
#[derive(Debug)]
pub(crate) struct Modelled {
    device: Device,
    began: Instant,
    jobs: HashMap<Ticket, Job>,
}

/// Seed of how platters stand at the beginning: the same for all contenders.
const SEED: u64 = 1;

impl Pace {
    pub fn of(model: Option<&Model>) -> Pace {
        match model {
            None => Pace::InTurn(VecDeque::new()),
            Some(model) => {
                let device = Device::new(model, SEED);
                Pace::Modelled(Box::new(Modelled { device, began: Instant::now(), jobs: HashMap::new() }))
            }
        }
    }

    /// A request has come. `takes`: how long it takes at least where it is answered in turn; a modelled disk takes its own time.
    pub fn arrives(&mut self, job: Job, takes: Duration) {
        match self {
            Pace::InTurn(waiting) => waiting.push_back((job.arrived + takes, job)),
            Pace::Modelled(modelled) => modelled.arrives(job),
        }
    }

    /// When to look again if nothing else comes.
    pub fn next(&self) -> Option<Instant> {
        match self {
            Pace::InTurn(waiting) => waiting.front().map(|(due, _)| *due),
            Pace::Modelled(modelled) => modelled.device.next().map(|next| modelled.began + next),
        }
    }

    /// Those that are due by now, in their order.
    pub fn due(&mut self, now: Instant) -> Vec<Job> {
        match self {
            Pace::InTurn(waiting) => {
                let due = waiting.iter().take_while(|(due, _)| *due <= now).count();
                waiting.drain(..due).map(|(_, job)| job).collect()
            }
            Pace::Modelled(modelled) => modelled.due(now),
        }
    }
}

impl Modelled {
    fn arrives(&mut self, job: Job) {
        let (kind, offset, length) = match &job.what {
            What::Read { offset, length, .. } => (Kind::Read, *offset, *length as u64),
            What::Write { offset, change: Change::Clear(length), .. } => (Kind::Discard, *offset, *length),
            What::Write { offset, change, .. } => (Kind::Write, *offset, change.length()),
            What::Flush { .. } => (Kind::Flush, 0, 0),
        };
        let at = job.arrived.saturating_duration_since(self.began);
        let ticket = self.device.submit(at, Request { kind, offset, length });
        self.jobs.insert(ticket, job);
    }

    fn due(&mut self, now: Instant) -> Vec<Job> {
        let done = self.device.advance(now.saturating_duration_since(self.began));
        done.into_iter().filter_map(|(ticket, _)| self.jobs.remove(&ticket)).collect()
    }
}
