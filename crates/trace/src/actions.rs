//! From recorded events to the actions of a trace.
//! In: events in order of time, and the initial tree. Out: actions, their order, and the program's own time between them. Time added by
//! recording, between calls and within them, is measured beforehand and subtracted.

use crate::cost::Cost;
use crate::events::{Event, OffCpu, Seen};
use crate::names::Names;
use crate::order::{Order, Resource, Use};
use crate::processes::{Closed, Place, Thread};
use crate::trace::{Action, Call, Entry, Sleep, THREADS_LIMIT};
use crate::waiting::Waiting;
use std::collections::{BTreeMap, HashMap};

/// A shorter wait does not count as one, in nanoseconds.
pub const WAIT: u64 = 20_000;
/// Most of a signalling call's time that counts as own time: the replay wakes the others, too, and the rest was spent waiting for them.
const SIGNALLING_LIMIT: u64 = 1_000;

/// Most time subtracted later because earlier gaps were shorter than the usual cost of recording.
const OWED: u64 = 1_000_000;

/// The kernel's result of a call that a signal interrupts, before it restarts the call or ends the thread: ERESTARTSYS to
/// ERESTART_RESTARTBLOCK of include/linux/errno.h. No program sees it.
const RESTARTED: std::ops::RangeInclusive<i64> = -516..=-512;

/// What a call means for a trace.
pub enum Meaning {
    /// It is replayed, and uses these.
    Do(Call, Vec<(Resource, Use)>),
    /// It concerns only the program: its time is the program's own.
    Own,
    /// It waited for what this action did; None: for an unrecorded cause.
    Waited(Option<u32>),
    /// It timed out.
    TimedOut,
    /// It waited for a descriptor that is used next.
    Polled,
    /// It signalled other threads, by an action already added, and took negligible time.
    Signalled,
}

/// Actions under construction.
pub struct Builder {
    /// Canonical path of the folder, and the paths by which it was entered.
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
    /// Nanoseconds that recording added within the present call.
    within: u64,
}

impl Builder {
    /// For a process that starts in the folder.
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

    /// Number of threads created.
    pub fn births(&self) -> u32 {
        self.births
    }

    /// Processes the next event. Events of unknown threads are ignored.
    ///
    /// # Errors
    /// There are more threads than a trace may have.
    pub fn take(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Birth { at, parent, child, flags } => self.birth(*at, *parent, *child, *flags)?,
            Event::End { at, thread, off, unwatched } => {
                self.unwatched(*thread, *unwatched);
                self.end(*at, *thread, *off);
            }
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
        self.cut_by_exit(thread, at);
        let closed = self.threads.get_mut(&thread).map(Thread::end).unwrap_or_default();
        self.closed(thread, at, closed);
        let action = self.tell(thread, at);
        if let Some(ended) = self.threads.remove(&thread) {
            self.waiting.end(ended.process, ended.number, action, at);
        }
    }

    /// If the exit of its process ended this thread in a sleep, the thread waits for that exit, and its sleeps end with it: until then they were
    /// timed out by its own clock, which a replay need not follow to the end.
    fn cut_by_exit(&mut self, thread: i32, at: u64) {
        let known = self.of(thread);
        let (process, since) = (known.process, known.cut_since);
        if known.cut_short == 0 {
            return;
        }
        let sleeps = std::mem::take(&mut known.sleeps);
        let Some(exit) = self.waiting.end_of(process, since) else { return };
        for sleep in sleeps {
            if let Call::Sleep(sleep) = &mut self.actions[sleep as usize].call {
                sleep.wakes = true;
            }
        }
        self.emit(thread, (at, at), Call::Wait, 0, &[], &[exit]);
    }

    /// Adds a close for everything that no process has open any more.
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

    /// Adds the time up to a moment to a thread's own time. Time in the run queue is left out, since a replay competes for processors
    /// itself. So is time blocked outside of calls: page faults of mapped files, which a replay reads when it maps them.
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

    /// What recording added to a thread's calls up to now that it did not record.
    fn unwatched(&mut self, thread: i32, calls: u64) {
        let each = self.cost.unwatched;
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.owed += each * calls.saturating_sub(thread.unwatched);
            thread.unwatched = calls;
        }
    }

    /// A thread's own time up to its end. If its process ended while it slept in a call, the sleep does not count.
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
        self.unwatched(seen.thread, seen.unwatched);
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
            Meaning::Signalled => self.of(seen.thread).think += worked.min(SIGNALLING_LIMIT),
            Meaning::Own if RESTARTED.contains(&seen.result) => {
                let thread = self.of(seen.thread);
                thread.think += worked;
                (thread.cut_short, thread.cut_since) = (off.asleep, seen.start);
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

    /// A known thread.
    pub fn of(&mut self, thread: i32) -> &mut Thread {
        self.threads.get_mut(&thread).expect("asked only for threads that were looked up before")
    }

    /// Adds an action by which a thread signals others; returns its number.
    pub fn tell(&mut self, thread: i32, at: u64) -> u32 {
        self.emit(thread, (at, at), Call::Tell, 0, &[], &[])
    }

    /// Adds an action of a thread; returns its number.
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
            // It waited for a descriptor and then did something else: a signal ended the wait, or an unknown cause. A writer waited for
            // space, which depends on the readers alone.
            let &mut Thread { number, process, waited_since, waited_until, .. } = self.of(thread);
            let by = self.waiting.interrupted(process, (waited_since, waited_until));
            let after = self.order.add(number, span, &[], by.as_slice());
            let call = if by.is_some() { Call::Wait } else { Call::Sleep(Sleep { ns: waited, wakes: false }) };
            self.actions.push(Action { thread: number, think_ns: 0, took_ns: waited, result: 0, call, after });
        }
        let number = self.order.next();
        let of = self.of(thread);
        match call {
            Call::Sleep(_) => of.sleeps.push(number),
            Call::Wait => of.sleeps.clear(),
            _ => {}
        }
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

    /// A thread with number 2, created at 0.
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

    /// A wait from 100,000 to 1,000,000 ns, most of it asleep.
    fn waits(result: i64) -> Event {
        let arguments = [0x1000, i64::from(libc::FUTEX_WAIT), 0, 0, 0, 0];
        let call = Seen { thread: 2, call: libc::SYS_futex, arguments, result, ..Seen::default() };
        Event::Call(Box::new(Seen { start: 100_000, end: 1_000_000, off_at_end: asleep(880_000), ..call }))
    }

    #[test]
    fn a_thread_that_its_process_ended_in_its_sleep_has_not_computed_meanwhile() {
        let mut builder = born();
        builder
            .take(&Event::End { at: 1_000_000, thread: 2, off: asleep(900_000), unwatched: 0 })
            .expect("it is known");
        assert_eq!(thought(&builder), 100_000);
        // eBPF sees the wait return as if it were to restart.
        let mut builder = born();
        builder.take(&waits(-512)).expect("it is known");
        builder
            .take(&Event::End { at: 1_000_000, thread: 2, off: asleep(880_000), unwatched: 0 })
            .expect("it is known");
        assert_eq!(thought(&builder), 120_000);
    }

    #[test]
    fn the_exit_of_a_process_ends_the_sleeps_of_its_threads() {
        let mut builder = Builder::new(vec!["/here".into()], &[], 1, 0, Cost::default());
        let flags = (libc::CLONE_VM | libc::CLONE_THREAD) as u64;
        builder.take(&Event::Birth { at: 0, parent: 1, child: 2, flags }).expect("few threads");
        let slept = Seen { thread: 2, call: libc::SYS_nanosleep, end: 90_000, ..Seen::default() };
        builder.take(&Event::Call(Box::new(slept))).expect("it is known");
        builder.take(&waits(-512)).expect("it is known");
        builder.take(&Event::End { at: 950_000, thread: 1, off: OffCpu::default(), unwatched: 0 }).expect("known");
        builder.take(&Event::End { at: 1_000_000, thread: 2, off: asleep(880_000), unwatched: 0 }).expect("known");
        let of_thread: Vec<_> = builder.actions.iter().filter(|action| action.thread == 1).collect();
        let [sleep, wait, _] = of_thread.as_slice() else { panic!("{of_thread:?}") };
        assert_eq!(sleep.call, Call::Sleep(Sleep { ns: 90_000, wakes: true }));
        let exit = wait.after.first().map(|action| &builder.actions[*action as usize]);
        assert_eq!((&wait.call, exit.map(|exit| exit.thread)), (&Call::Wait, Some(0)));
    }

    #[test]
    fn a_wait_that_a_signal_interrupts_is_the_threads_own_time_where_it_goes_on() {
        let mut builder = born();
        builder.take(&waits(-512)).expect("it is known");
        builder.take(&waits(-i64::from(libc::EAGAIN))).expect("it is known");
        builder
            .take(&Event::End { at: 1_000_000, thread: 2, off: asleep(880_000), unwatched: 0 })
            .expect("it is known");
        assert!(thought(&builder) >= 1_000_000, "{}", thought(&builder));
    }
}
