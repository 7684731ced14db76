//! The disk's own time: requests are answered when they are due, by a thread that is not the one that takes them in.
//! In: requests in the order in which the kernel made them. Out: answers, one after the other, or in the order and at the times of a modelled disk.
//!
//! So what arrived while something else was under way is known to have done so, and a write that is completed during a flush is not taken for one that the
//! flush made safe.

use crate::fault::Failed;
use crate::inodes::{Shared, lock};
use crate::pace::{Job, Pace, What};
use disk_model::Model;
use fuser::{Errno, ReplyData};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long a recorded write is under way: as long as on a quick SSD, so that others may come meanwhile.
const UNDER_WAY: Duration = Duration::from_micros(100);

/// Starts the thread; what it is sent, it answers.
pub(crate) fn start(shared: &Shared, model: Option<&Model>) -> Sender<Job> {
    let (jobs, taken) = channel();
    let (own, pace) = (Arc::clone(shared), Pace::of(model));
    std::thread::spawn(move || work(&own, &taken, pace));
    jobs
}

fn work(shared: &Shared, jobs: &Receiver<Job>, mut pace: Pace) {
    // A sleep ends when it is due, and not up to 50 microseconds later; without the right to say so it is later.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    loop {
        // All that has come takes part in what is decided now.
        for job in jobs.try_iter() {
            let takes = takes(shared, &job);
            pace.arrives(job, takes);
        }
        let now = Instant::now();
        let due = pace.due(now);
        if !due.is_empty() {
            due.into_iter().for_each(|job| answer(shared, job.number, job.what));
            continue;
        }
        let arrived = match pace.next() {
            Some(due) => jobs.recv_timeout(due.saturating_duration_since(now)),
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match arrived {
            Ok(job) => {
                let takes = takes(shared, &job);
                pace.arrives(job, takes);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// How long a request takes at least from its arrival on.
fn takes(shared: &Shared, job: &Job) -> Duration {
    let recorded = matches!(job.what, What::Write { recorded: Some(_), .. });
    let own = if recorded { UNDER_WAY } else { Duration::ZERO };
    own.max(lock(shared).delay(job.number, job.arrived))
}

fn answer(shared: &Shared, number: u64, what: What) {
    match what {
        What::Read { offset, length, answer } => read(shared, number, offset, length, answer),
        What::Write { offset, change, recorded, answer } => {
            let done = lock(shared).write(number, offset, &change, recorded);
            match done {
                Ok(()) => answer.done(change.length()),
                Err(failed) => answer.failed(error(failed)),
            }
        }
        What::Flush { recorded, answer } => {
            let done = lock(shared).flush(number, recorded);
            match done {
                Ok(()) => answer.ok(),
                Err(failed) => answer.error(error(failed)),
            }
        }
    }
}

/// Answers a read now.
pub(crate) fn read(shared: &Shared, number: u64, offset: u64, length: usize, answer: ReplyData) {
    let mut inodes = lock(shared);
    let read = inodes.read(number, offset, length);
    drop(inodes);
    match read {
        Some(Ok(data)) => answer.data(&data),
        Some(Err(failed)) => answer.error(error(failed)),
        None => answer.error(Errno::ENOENT),
    }
}

fn error(failed: Failed) -> Errno {
    match failed {
        Failed::Unreadable => Errno::EIO,
        Failed::NoRoom => Errno::ENOSPC,
    }
}
