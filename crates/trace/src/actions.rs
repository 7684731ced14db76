//! From what a watcher saw to the actions of a trace.
//! In: events in order of time, and the tree as it was before them. Out: actions with the program's own time between them, and their order.
//! Time that recording added is taken off: what it adds between two calls and within one was measured beforehand.

use crate::cost::Cost;
use crate::events::{Event, OffCpu, Seen};
use crate::names::Names;
use crate::order::{Order, Resource, Use};
use crate::processes::{Closed, Place, Thread};
use crate::trace::{Action, Call, Entry, Sleep, THREADS_LIMIT};
use crate::waiting::Waiting;
use std::collections::{BTreeMap, HashMap};

/// A wait that is shorter is no wait, in nanoseconds.
pub const WAIT: u64 = 20_000;
/// The most that telling others counts as time of its own: waking them is done by the replay, too, and what is beyond that was waiting until they listened.
const TOLD: u64 = 1_000;

/// The most that is taken off later time because earlier gaps were shorter than what watching costs as a rule.
const OWED: u64 = 1_000_000;

/// What the kernel returns from a call that a signal cut short, before it begins the call anew or ends the thread: ERESTARTSYS to
/// ERESTART_RESTARTBLOCK of include/linux/errno.h. No program sees it.
const RESTARTED: std::ops::RangeInclusive<i64> = -516..=-512;

/// What a call means for a trace.
pub enum Meaning {
    /// It is replayed, and uses these.
    Do(Call, Vec<(Resource, Use)>),
    /// It has to do with the program alone: its time is the program's own.
    Own,
    /// It waited for what this action did; None: for something that nobody recorded.
    Waited(Option<u32>),
    /// It waited for something that did not come in time.
    TimedOut,
    /// It waited for a descriptor that is used next.
    Polled,
    /// It told others something, with this action, and took no time worth telling.
    Told,
}

/// Actions as they grow.
pub struct Builder {
    /// The folder's own path, and the one by which it was entered.
    pub roots: Vec<String>,
    pub names: Names,
    pub order: Order,
    pub waiting: Waiting,
    pub threads: HashMap<i32, Thread>,
    pub actions: Vec<Action>,
    pub handles: u32,
    pub unseen: BTreeMap<&'static str, u64>,
    births: u32,
    cost: Cost,
    /// Nanoseconds that watching added within the call at hand.
    within: u64,
}

impl Builder {
    /// For a process that begins in the folder.
    pub fn new(roots: Vec<String>, tree: &[Entry], process: i32, begin: u64, cost: Cost) -> Builder {
        let first = Thread::first(process, Place::Inside(0), begin);
        Builder {
            roots,
            names: Names::of(tree),
            order: Order::default(),
            waiting: Waiting::default(),
            threads: [(process, first)].into(),
            actions: Vec::new(),
            handles: 0,
            unseen: BTreeMap::new(),
            births: 1,
            cost,
            within: 0,
        }
    }

    /// Threads that were born.
    pub fn births(&self) -> u32 {
        self.births
    }

    /// Takes in the next event. Those of threads that nobody knows are passed over.
    ///
    /// # Errors
    /// There are more threads than a trace may have.
    pub fn take(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Birth { at, parent, child, flags } => self.birth(*at, *parent, *child, *flags)?,
            Event::End { at, thread, off } => self.end(*at, *thread, *off),
            Event::Call(seen) => self.call(seen),
        }
        Ok(())
    }

    fn birth(&mut self, at: u64, parent: i32, child: i32, flags: u64) -> Result<(), String> {
        if !self.threads.contains_key(&parent) {
            return Ok(());
        }
        if self.births >= THREADS_LIMIT {
            return Err(format!("the command has more than {THREADS_LIMIT} processes and threads"));
        }
        let number = self.births;
        self.births += 1;
        let off = self.threads[&parent].off;
        self.pass(parent, at, off);
        let by = self.emit(parent, (at, at), Call::Start { thread: number }, 0, &[], &[]);
        self.order.begin(number, by);
        if let Some(thread) = self.threads.get(&parent) {
            let made = thread.child(number, child, flags, at);
            self.threads.insert(child, made);
        }
        Ok(())
    }

    fn end(&mut self, at: u64, thread: i32, off: OffCpu) {
        if !self.threads.contains_key(&thread) {
            return;
        }
        self.pass_to_end(thread, at, off);
        let closed = self.threads.get_mut(&thread).map(Thread::end).unwrap_or_default();
        self.closed(thread, at, closed);
        let action = self.tell(thread, at);
        if let Some(ended) = self.threads.remove(&thread) {
            self.waiting.end(ended.process, ended.number, action, at);
        }
    }

    /// What nobody has open any more is closed in the trace, too.
    pub fn closed(&mut self, thread: i32, at: u64, closed: Vec<Closed>) {
        for one in closed {
            match one {
                Closed::Handle(handle) => {
                    let uses = [(Resource::Handle(handle.number), Use::Changes)];
                    self.emit(thread, (at, at), Call::Close { handle: handle.number }, 0, &uses, &[]);
                }
                Closed::Writer(channel) => {
                    let action = self.tell(thread, at);
                    channel.borrow_mut().tell(action, 0);
                }
            }
        }
    }

    /// A thread's own time goes on until a moment. While others had its processor it did nothing, and a replay will wait for processors
    /// itself; and what it waited for within no call was a page of a file, which a replay reads when the file is mapped.
    fn pass(&mut self, thread: i32, until: u64, off: OffCpu) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            let without = off.since(thread.off);
            let passed = until.saturating_sub(thread.seen).saturating_sub(without.queued + without.blocked);
            thread.off = off;
            thread.think += passed.saturating_sub(thread.owed);
            thread.owed = thread.owed.saturating_sub(passed).min(OWED);
            thread.seen = thread.seen.max(until);
        }
    }

    /// A thread's own time up to its end. If its process ended while it slept in a call, its sleep was no work.
    fn pass_to_end(&mut self, thread: i32, at: u64, off: OffCpu) {
        let known = self.of(thread);
        known.seen += off.since(known.off).asleep;
        self.pass(thread, at, off);
    }

    fn call(&mut self, seen: &Seen) {
        if !self.threads.contains_key(&seen.thread) {
            return;
        }
        if let Some((stream, until)) = self.of(seen.thread).room.take() {
            self.made_room(seen.thread, &stream, (until, until));
        }
        let thread = self.of(seen.thread);
        thread.think += std::mem::take(&mut thread.cut_short);
        thread.seen = thread.seen.max(seen.released.min(seen.start));
        self.pass(seen.thread, seen.start, seen.off_at_start);
        let begun = self.threads[&seen.thread].seen.max(seen.start).max(seen.entered);
        let off = seen.off_at_end.since(seen.off_at_start);
        let cost = self.cost.of(seen);
        let took = seen.end.saturating_sub(begun).saturating_sub(cost.within);
        self.within = cost.within + seen.entered.saturating_sub(seen.start);
        let worked = took.saturating_sub(off.in_all());
        let meaning = self.meaning(seen);
        let span = (seen.start, seen.end);
        match meaning {
            Meaning::Do(call, uses) => {
                self.emit(seen.thread, span, call, seen.result, &uses, &[]);
            }
            Meaning::Waited(Some(by)) => {
                self.of(seen.thread).waited = 0;
                self.emit(seen.thread, span, Call::Wait, 0, &[], &[by]);
            }
            Meaning::TimedOut | Meaning::Waited(None) if took > WAIT => {
                let wakes = matches!(meaning, Meaning::TimedOut);
                self.emit(seen.thread, span, Call::Sleep(Sleep { ns: took, wakes }), 0, &[], &[]);
            }
            Meaning::Polled => {
                let thread = self.of(seen.thread);
                if thread.waited == 0 {
                    thread.waited_since = seen.start;
                }
                thread.waited += took;
                thread.waited_until = seen.end;
            }
            Meaning::Told => self.of(seen.thread).think += worked.min(TOLD),
            Meaning::Own if RESTARTED.contains(&seen.result) => {
                let thread = self.of(seen.thread);
                thread.think += worked;
                thread.cut_short = off.asleep;
            }
            Meaning::TimedOut | Meaning::Waited(None) | Meaning::Own => {
                self.of(seen.thread).think += took.saturating_sub(off.queued)
            }
        }
        let thread = self.of(seen.thread);
        thread.seen = thread.seen.max(seen.end);
        thread.off = seen.off_at_end;
        thread.owed += cost.between;
    }

    /// A thread that is known to be there.
    pub fn of(&mut self, thread: i32) -> &mut Thread {
        self.threads.get_mut(&thread).expect("asked only for threads that were looked up before")
    }

    /// A thread tells others something at a moment; the number of that action.
    pub fn tell(&mut self, thread: i32, at: u64) -> u32 {
        self.emit(thread, (at, at), Call::Tell, 0, &[], &[])
    }

    /// Adds an action of a thread; its number.
    pub fn emit(
        &mut self,
        thread: i32,
        span: (u64, u64),
        call: Call,
        result: i64,
        uses: &[(Resource, Use)],
        follows: &[u32],
    ) -> u32 {
        let waited = std::mem::take(&mut self.of(thread).waited);
        if waited > WAIT && !matches!(call, Call::Wait | Call::Tell) {
            // It had waited for a descriptor, and then did something else: a signal ended the wait, or nobody knows what. Who then writes had
            // waited for room, which readers make as fast as they are let.
            let &mut Thread { number, process, waited_since, waited_until, .. } = self.of(thread);
            let by = self.waiting.interrupted(process, (waited_since, waited_until));
            let after = self.order.add(number, span, &[], by.as_slice());
            let call = if by.is_some() { Call::Wait } else { Call::Sleep(Sleep { ns: waited, wakes: false }) };
            self.actions.push(Action { thread: number, think_ns: 0, took_ns: waited, result: 0, call, after });
        }
        let number = self.order.next();
        let of = self.of(thread);
        let (thread, think_ns) = (of.number, std::mem::take(&mut of.think));
        let after = self.order.add(thread, span, uses, follows);
        let took_ns = (span.1 - span.0).saturating_sub(self.within);
        self.actions.push(Action { thread, think_ns, took_ns, result, call, after });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread with the number 2 that is born at 0.
    fn born() -> Builder {
        let mut builder = Builder::new(vec!["/here".into()], &[], 1, 0, Cost::default());
        builder.take(&Event::Birth { at: 0, parent: 1, child: 2, flags: libc::CLONE_VM as u64 }).expect("few threads");
        builder
    }

    /// Its own time, in nanoseconds.
    fn thought(builder: &Builder) -> u64 {
        builder.actions.iter().filter(|action| action.thread == 1).map(|action| action.think_ns).sum()
    }

    fn asleep(ns: u64) -> OffCpu {
        OffCpu { asleep: ns, ..OffCpu::default() }
    }

    /// A wait from 100,000 to 1,000,000 ns, with so many of them asleep.
    fn waits(result: i64) -> Event {
        let arguments = [0x1000, i64::from(libc::FUTEX_WAIT), 0, 0, 0, 0];
        let call = Seen { thread: 2, call: libc::SYS_futex, arguments, result, ..Seen::default() };
        Event::Call(Box::new(Seen { start: 100_000, end: 1_000_000, off_at_end: asleep(880_000), ..call }))
    }

    #[test]
    fn a_thread_that_its_process_ended_in_its_sleep_has_not_computed_meanwhile() {
        let mut builder = born();
        builder.take(&Event::End { at: 1_000_000, thread: 2, off: asleep(900_000) }).expect("it is known");
        assert_eq!(thought(&builder), 100_000);
        // eBPF sees the wait return, as if it were to begin anew.
        let mut builder = born();
        builder.take(&waits(-512)).expect("it is known");
        builder.take(&Event::End { at: 1_000_000, thread: 2, off: asleep(880_000) }).expect("it is known");
        assert_eq!(thought(&builder), 120_000);
    }

    #[test]
    fn a_wait_that_a_signal_interrupts_is_the_threads_own_time_where_it_goes_on() {
        let mut builder = born();
        builder.take(&waits(-512)).expect("it is known");
        builder.take(&waits(-i64::from(libc::EAGAIN))).expect("it is known");
        builder.take(&Event::End { at: 1_000_000, thread: 2, off: asleep(880_000) }).expect("it is known");
        assert!(thought(&builder) >= 1_000_000, "{}", thought(&builder));
    }
}
