//! When to answer the requests of a modelled disk: before the model is done, by the time that the answer's path takes.
//! In: requests and times, on any clock. Out: the requests that are due, with the data for their lateness.

use crate::path_cost::PathCost;
use disk_model::{Device, Kind, Request, Ticket};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

/// A request and its reply.
#[derive(Debug)]
struct Pending<J> {
    job: J,
    kind: Kind,
    arrived: Duration,
    /// Cost of its path.
    path: Duration,
}

/// A request that is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due<J> {
    pub job: J,
    pub pace: Answering,
}

/// When to answer a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answering {
    pub kind: Kind,
    /// Its time in the model.
    pub takes: Duration,
    /// When to answer; before its arrival if its path costs more than it takes.
    wanted: Duration,
    /// Unavoidable lateness.
    pub unreachable: Duration,
}

impl Answering {
    /// Its lateness if answered now.
    pub fn late(&self, now: Duration) -> Duration {
        now.saturating_sub(self.wanted) + self.unreachable
    }
}

/// A modelled disk and its pending requests.
#[derive(Debug)]
pub(crate) struct Schedule<J> {
    device: Device,
    path: PathCost,
    pending: HashMap<Ticket, Pending<J>>,
    /// Requests with known completion, by the time of their answer.
    ready: BinaryHeap<Reverse<(Duration, Ticket)>>,
    completions: HashMap<Ticket, Duration>,
    /// The longest path of a pending request: the model must be computed this far ahead.
    ahead: Duration,
}

impl<J> Schedule<J> {
    pub fn new(device: Device, path: PathCost) -> Schedule<J> {
        Schedule {
            device,
            path,
            pending: HashMap::new(),
            ready: BinaryHeap::new(),
            completions: HashMap::new(),
            ahead: Duration::ZERO,
        }
    }

    /// A request arrived.
    pub fn arrives(&mut self, at: Duration, request: Request, job: J) {
        let path = self.path.of(request.kind, request.length);
        self.ahead = if self.pending.is_empty() { path } else { self.ahead.max(path) };
        let ticket = self.device.submit(at, request);
        self.pending.insert(ticket, Pending { job, kind: request.kind, arrived: at, path });
    }

    /// When to check again if no request arrives.
    pub fn next(&self) -> Option<Duration> {
        let decided = self.device.next().map(|at| at.saturating_sub(self.ahead));
        self.ready.peek().map(|Reverse((at, _))| *at).into_iter().chain(decided).min()
    }

    /// The requests due by now, in the order of their answers.
    pub fn due(&mut self, now: Duration) -> Vec<Due<J>> {
        for (ticket, done) in self.device.foresee(now + self.ahead) {
            let path = self.pending.get(&ticket).map_or(Duration::ZERO, |pending| pending.path);
            self.completions.insert(ticket, done);
            self.ready.push(Reverse((done.saturating_sub(path), ticket)));
        }
        let mut due = Vec::new();
        while let Some(Reverse((_, ticket))) = self.ready.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.ready.pop();
            let done = self.completions.remove(&ticket).unwrap_or(now);
            due.extend(self.pending.remove(&ticket).map(|pending| answered(pending, done)));
        }
        due
    }
}

fn answered<J>(pending: Pending<J>, done: Duration) -> Due<J> {
    let Pending { job, kind, arrived, path } = pending;
    let takes = done.saturating_sub(arrived);
    // An answer cannot precede its request.
    let unreachable = path.saturating_sub(takes);
    let wanted = (done + unreachable).saturating_sub(path);
    Due { job, pace: Answering { kind, takes, wanted, unreachable } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_cost::ByLength;
    use disk_model::named;

    const READ: Request = Request { kind: Kind::Read, offset: 0, length: 4096 };

    fn us(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    /// A disk whose path costs this much for reads and writes of 4 KiB.
    fn schedule(model: &str, cost: u64) -> Schedule<u32> {
        let way = ByLength { base_ns: cost * 1000, per_mib_ns: 0 };
        let path = PathCost { read: way, write: way, flush_ns: cost * 1000 };
        Schedule::new(Device::new(named(model).expect("it is shipped"), 1), path)
    }

    /// Time of one request in the model, without a path.
    fn takes(model: &str, request: Request) -> Duration {
        let mut device = Device::new(named(model).expect("it is shipped"), 1);
        device.submit(us(1000), request);
        loop {
            let next = device.next().expect("it is answered");
            if let Some((_, at)) = device.advance(next).first() {
                return *at - us(1000);
            }
        }
    }

    #[test]
    fn an_answer_is_given_as_much_earlier_as_its_way_costs() {
        let takes = takes("ssd-sata", READ);
        let mut disk = schedule("ssd-sata", 40);
        disk.arrives(us(1000), READ, 7);
        let wanted = us(1000) + takes - us(40);
        assert_eq!(disk.next(), Some(wanted));
        assert_eq!(disk.due(wanted - us(1)), []);
        let due = disk.due(wanted);
        assert_eq!(due.len(), 1);
        let pace = due[0].pace;
        assert_eq!((due[0].job, pace.takes, pace.unreachable), (7, takes, Duration::ZERO));
        assert_eq!((pace.late(wanted), pace.late(wanted + us(9))), (Duration::ZERO, us(9)));
        assert_eq!(disk.next(), None);
    }

    #[test]
    fn a_request_that_takes_less_than_its_way_is_answered_at_once_and_late_by_the_rest() {
        let write = Request { kind: Kind::Write, ..READ };
        let takes = takes("nvme-tlc", write);
        assert!(takes < us(40), "{takes:?}");
        let mut disk = schedule("nvme-tlc", 40);
        disk.arrives(us(1000), write, 0);
        let due = disk.due(us(1000));
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].pace.unreachable, us(40) - takes);
        assert_eq!(due[0].pace.late(us(1000)), us(40) - takes);
        assert_eq!(due[0].pace.late(us(1003)), us(43) - takes);
    }

    #[test]
    fn a_request_that_arrives_while_others_are_answered_early_keeps_its_time() {
        // On different dies, each of which reads one page at a time.
        let other = Request { offset: 1 << 20, ..READ };
        let mut alone = schedule("ssd-sata", 0);
        alone.arrives(us(1000), READ, 0);
        alone.arrives(us(1090), Request { offset: (1 << 20) + (16 << 10), ..other }, 1);
        let at = |disk: &mut Schedule<u32>, until| disk.due(until).iter().map(|due| due.pace.takes).collect::<Vec<_>>();
        let without = at(&mut alone, us(5000));
        let mut early = schedule("ssd-sata", 40);
        early.arrives(us(1000), READ, 0);
        assert_eq!(early.due(us(1085)).len(), 1);
        early.arrives(us(1090), Request { offset: (1 << 20) + (16 << 10), ..other }, 1);
        assert_eq!(at(&mut early, us(5000)), without[1..]);
    }

    #[test]
    fn small_requests_among_large_ones_are_answered_at_their_own_time() {
        let way = ByLength { base_ns: 40_000, per_mib_ns: 400_000 };
        let path = PathCost { read: way, write: way, flush_ns: 0 };
        let mut disk: Schedule<u32> = Schedule::new(Device::new(named("ssd-sata").expect("shipped"), 1), path);
        disk.arrives(us(0), Request { offset: 1 << 30, length: 1 << 20, ..READ }, 0);
        disk.arrives(us(0), READ, 1);
        let mut answered = Vec::new();
        while let Some(next) = disk.next() {
            for due in disk.due(next) {
                assert_eq!(due.pace.late(next), Duration::ZERO, "{due:?}");
                answered.push(due.job);
            }
        }
        answered.sort_unstable();
        assert_eq!(answered, [0, 1]);
    }

    #[test]
    fn hard_disks_answer_each_request_on_time_whatever_the_way_costs() {
        for cost in [0, 40, 500] {
            let mut disk = schedule("hdd-7200", cost);
            let (mut now, mut job) = (us(1000), 0);
            for place in 0..40_u64 {
                let offset = place * 7_919 * 4096 * 1009 % (900 << 30);
                disk.arrives(now, Request { offset, ..READ }, job);
                job += 1;
                let mut answers = 0;
                while answers == 0 {
                    now = now.max(disk.next().expect("it is answered"));
                    for due in disk.due(now) {
                        assert_eq!(due.pace.late(now), due.pace.unreachable, "cost {cost}: {due:?}");
                        answers += 1;
                    }
                }
                now += us(cost + 3);
            }
        }
    }
}
