//! What is asked of a disk, in what order it is answered, and when.
//! In: requests as they arrive. Out: those that are due.

use crate::content::Change;
use crate::path_cost::PathCost;
use crate::schedule::{Answering, Due, Schedule};
use disk_model::{Device, Kind, Model, Request};
use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use std::collections::VecDeque;
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

/// A described disk and the clock that it goes by.
#[derive(Debug)]
pub(crate) struct Modelled {
    schedule: Schedule<Job>,
    began: Instant,
}

/// Seed of how platters stand at the beginning: the same for all contenders.
const SEED: u64 = 1;

impl Pace {
    pub fn of(model: Option<&Model>, path: PathCost) -> Pace {
        match model {
            None => Pace::InTurn(VecDeque::new()),
            Some(model) => {
                let schedule = Schedule::new(Device::new(model, SEED), path);
                Pace::Modelled(Box::new(Modelled { schedule, began: Instant::now() }))
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
            Pace::Modelled(modelled) => modelled.schedule.next().map(|next| modelled.began + next),
        }
    }

    /// Those that are due by now, in their order; of a modelled disk with the time of their answer.
    pub fn due(&mut self, now: Instant) -> Vec<(Job, Option<Answering>)> {
        match self {
            Pace::InTurn(waiting) => {
                let due = waiting.iter().take_while(|(due, _)| *due <= now).count();
                waiting.drain(..due).map(|(_, job)| (job, None)).collect()
            }
            Pace::Modelled(modelled) => {
                let due = modelled.schedule.due(modelled.at(now));
                due.into_iter().map(|Due { job, pace }| (job, Some(pace))).collect()
            }
        }
    }

    /// A moment by the disk's own clock.
    pub fn at(&self, now: Instant) -> Duration {
        match self {
            Pace::InTurn(_) => Duration::ZERO,
            Pace::Modelled(modelled) => modelled.at(now),
        }
    }
}

impl Modelled {
    fn at(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    fn arrives(&mut self, job: Job) {
        let (kind, offset, length) = match &job.what {
            What::Read { offset, length, .. } => (Kind::Read, *offset, *length as u64),
            What::Write { offset, change: Change::Clear(length), .. } => (Kind::Discard, *offset, *length),
            What::Write { offset, change, .. } => (Kind::Write, *offset, change.length()),
            What::Flush { .. } => (Kind::Flush, 0, 0),
        };
        self.schedule.arrives(self.at(job.arrived), Request { kind, offset, length }, job);
    }
}
