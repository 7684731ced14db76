//! Requests to a disk, and the order and time of their answers.
//! In: requests as they arrive. Out: those that are due.

use crate::content::Change;
use crate::path_cost::PathCost;
use crate::schedule::{Answering, Due, Schedule};
use disk_model::{Device, Kind, Model, Request};
use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A request to answer when it is due.
#[derive(Debug)]
pub(crate) struct Job {
    /// The file.
    pub number: u64,
    pub arrived: Instant,
    pub what: What,
}

/// A request. `recorded`: its number, if the file is recorded.
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

/// Timing of a disk.
#[derive(Debug)]
pub(crate) enum Pace {
    /// In turn, each when it is due.
    InTurn(VecDeque<(Instant, Job)>),
    /// As a modelled disk would.
    Modelled(Box<Modelled>),
}

/// A modelled disk and its clock.
#[derive(Debug)]
pub(crate) struct Modelled {
    schedule: Schedule<Job>,
    began: Instant,
}

/// Seed of the platters' initial position: the same for all contenders.
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

    /// Adds a request. `takes`: its least duration if answered in turn; a modelled disk has its own times.
    pub fn arrives(&mut self, job: Job, takes: Duration) {
        match self {
            Pace::InTurn(waiting) => waiting.push_back((job.arrived + takes, job)),
            Pace::Modelled(modelled) => modelled.arrives(job),
        }
    }

    /// When to check again if no request arrives.
    pub fn next(&self) -> Option<Instant> {
        match self {
            Pace::InTurn(waiting) => waiting.front().map(|(due, _)| *due),
            Pace::Modelled(modelled) => modelled.schedule.next().map(|next| modelled.began + next),
        }
    }

    /// The requests due by now, in order; with a modelled disk, each with the time of its answer.
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

    /// A moment on the disk's own clock.
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
