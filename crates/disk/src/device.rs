//! Timing of the disk: one thread receives requests, another answers them when they are due.
//! In: requests in the order in which the kernel made them. Out: answers, in turn, or in the order and at the times of a modelled disk.
//!
//! So requests that arrive during another one are known to overlap it, and a write that completes during a flush does not count as made safe by it.

use crate::fault::Failed;
use crate::inodes::{Shared, lock};
use crate::pace::{Job, Pace, What};
use crate::server::Service;
use fuser::{Errno, ReplyData};
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// Duration of a recorded write: as long as on a fast SSD, so that others may arrive meanwhile.
const UNDER_WAY: Duration = Duration::from_micros(100);

/// A sleeping thread wakes up somewhat late; at most this much of a wait is spent awake instead.
const MOST_AWAKE: Duration = Duration::from_micros(25);
/// Weight of the latest delay in the moving average: one in this many.
const LAST_WEIGHT: u32 = 8;

/// Starts the thread that answers requests.
pub(crate) fn start(shared: &Shared, service: &Service, jobs: Receiver<Job>) {
    let (own, pace) = (Arc::clone(shared), Pace::of(service.model.as_ref(), service.path));
    std::thread::spawn(move || work(&own, &jobs, pace));
}

fn work(shared: &Shared, jobs: &Receiver<Job>, mut pace: Pace) {
    // The default timer slack lets a sleep end up to 50 microseconds late. Without permission to reduce it, sleeps stay late.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut sleep = Sleep::here();
    loop {
        // All requests that have arrived take part in the next decision.
        for job in jobs.try_iter() {
            let takes = takes(shared, &job);
            pace.arrives(job, takes);
        }
        let due = pace.due(Instant::now());
        if !due.is_empty() {
            for (job, answering) in due {
                let late = answering.map(|answering| (answering, answering.late(pace.at(Instant::now()))));
                answer(shared, job.number, job.what);
                if let Some((answering, late)) = late {
                    let mut inodes = lock(shared);
                    inodes.lateness.answered(answering.kind, answering.takes, late, answering.unreachable);
                }
            }
            continue;
        }
        let arrived = match pace.next() {
            Some(due) => sleep.until(due, jobs),
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

/// Waits for a moment or a request, whichever comes first.
struct Sleep {
    /// Moving average of how late a sleep ends.
    wakes_late: Duration,
    /// Whether the end of a wait may be a busy loop: with one processor nothing else would run meanwhile.
    may_stay_awake: bool,
}

impl Sleep {
    fn here() -> Sleep {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Sleep { wakes_late: Duration::ZERO, may_stay_awake: processors > 1 }
    }

    fn until(&mut self, due: Instant, jobs: &Receiver<Job>) -> Result<Job, RecvTimeoutError> {
        let awake = if self.may_stay_awake { self.wakes_late } else { Duration::ZERO };
        let asleep = due.saturating_duration_since(Instant::now()).saturating_sub(awake);
        if !asleep.is_zero() {
            let ends = Instant::now() + asleep;
            match jobs.recv_timeout(asleep) {
                Err(RecvTimeoutError::Timeout) => self.woke(ends.elapsed()),
                arrived => return arrived,
            }
        }
        while Instant::now() < due {
            match jobs.try_recv() {
                Ok(job) => return Ok(job),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        Err(RecvTimeoutError::Timeout)
    }

    fn woke(&mut self, late: Duration) {
        let known = self.wakes_late * (LAST_WEIGHT - 1) + late.min(MOST_AWAKE);
        self.wakes_late = known / LAST_WEIGHT;
    }
}

/// Least duration of a request from its arrival on.
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

/// Answers a read at once.
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
