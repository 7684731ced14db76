//! The threads of a recorded program: each makes its calls in order, waits for those of others, and lets its own time pass.
//! In: a trace. Out: every call made, in the order that matters.

use super::calls::{Buffers, Files};
use super::ending::{Ending, Otherwise};
use super::{Root, read};
use crate::clock::Clock;
use crate::content::Generator;
use crate::ops::Ops;
use crate::process;
use crate::shared::Shared;
use crate::sys::Errno;
use crate::tally::Tally;
use crate::worker::Task;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;
use trace::{Action, Call, Sleep, Trace};
use workload::program::{Content, Replay};

/// Stack of a thread; its calls need little.
const STACK: usize = 256 << 10;
/// Nanoseconds of spinning before a thread sleeps for another thread's call.
const SPIN: u64 = 1_000;
/// Shorter waits are spent spinning: a sleep would be late by more.
const SLEEP: u64 = 10_000;
/// Nanoseconds by which a timer may be late, instead of the kernel's 50,000: what the recorded sleep was late is part of its time.
const SLACK: NonZeroU64 = NonZeroU64::new(1_000).unwrap();
/// Most lateness of a thread's sleeps that its next sleeps make up for, in nanoseconds.
const LATE: u64 = 1_000_000;
/// After a longer step of the clock, preemption by another thread is checked.
const LONG: u64 = 5_000;
/// Longest sleep between two checks for a stop.
const LOOK: u64 = 50_000_000;
/// The same if the sleep may end early.
const LOOK_EARLY: u64 = 2_000_000;

/// Makes the calls, as one worker's share.
pub fn calls(task: &Task, replay: &Replay) -> Result<(), String> {
    let trace = read(replay)?;
    let root = Root::enter(task)?;
    let ops = Ops::new(task.group());
    let mut of_threads: Vec<Vec<u32>> = vec![Vec::new(); trace.header.threads as usize];
    let mut places = Vec::with_capacity(trace.actions.len());
    let numbers: HashMap<&str, usize> =
        ops.histograms.iter().enumerate().map(|(number, name)| (*name, number)).collect();
    let of_call = |action: &Action| numbers.get(action.call.name()).copied();
    let histograms = trace.actions.iter().map(of_call).collect();
    for (number, action) in trace.actions.iter().enumerate() {
        let own = &mut of_threads[action.thread as usize];
        places.push(own.len() as u32);
        own.push(number as u32);
    }
    let ends = ends(&trace, &of_threads);
    let files = Files::new(&root, trace.header.handles);
    let content = Content { compressible_percent: trace.header.compressible_after.min(100), ..Content::default() };
    // A kernel without it only sleeps longer.
    let _ = rustix::thread::set_current_timer_slack(Some(SLACK));
    task.wait_for_start();
    let run = Run {
        task,
        trace: &trace,
        files,
        progress: of_threads.iter().map(|_| Progress::new()).collect(),
        ends,
        of_threads,
        places,
        histograms,
        content,
        think: replay.think,
        tally: Mutex::new(task.tally(&ops)),
        otherwise: Mutex::new(Otherwise::default()),
        failed: Mutex::new(None),
    };
    std::thread::scope(|scope| run.thread(0, scope));
    let Run { tally, otherwise, failed, .. } = run;
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(why);
    }
    let otherwise = otherwise.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(note) = otherwise.sentence(trace.actions.len() as u64) {
        tally.remark(note);
    }
    for note in &trace.header.unseen {
        tally.remark(format!("calls of the recorded program that a replay leaves out: {note}"));
    }
    tally.fold(trace.actions.len() as u64);
    tally.skip();
    tally.items(0);
    tally.finish();
    Ok(())
}

/// Sleeps that the next wait of the same thread can end early, each with that wait.
fn ends(trace: &Trace, of_threads: &[Vec<u32>]) -> HashMap<u32, u32> {
    let mut ends = HashMap::new();
    for own in of_threads {
        let mut next = None;
        for action in own.iter().rev() {
            match trace.actions[*action as usize].call {
                Call::Wait => next = Some(*action),
                Call::Sleep(Sleep { wakes: true, .. }) => ends.extend(next.map(|wait| (*action, wait))),
                _ => {}
            }
        }
    }
    ends
}

/// Number of a thread's completed actions, and the number that another thread waits for; only that one triggers a wake-up.
struct Progress {
    done: AtomicU64,
    wanted: AtomicU64,
    bell: AtomicU64,
}

impl Progress {
    fn new() -> Progress {
        Progress { done: AtomicU64::new(0), wanted: AtomicU64::new(u64::MAX), bell: AtomicU64::new(0) }
    }

    fn has_done(&self, count: u64) -> bool {
        self.done.load(Ordering::Acquire) >= count
    }
}

struct Run<'a> {
    task: &'a Task<'a>,
    trace: &'a Trace,
    files: Files<'a>,
    progress: Vec<Progress>,
    /// Actions of each thread.
    of_threads: Vec<Vec<u32>>,
    /// Position of each action in its thread.
    places: Vec<u32>,
    /// Sleeps that can end early, each with the next wait of its thread.
    ends: HashMap<u32, u32>,
    /// Histogram of each action; None if it is not timed.
    histograms: Vec<Option<usize>>,
    content: Content,
    think: bool,
    tally: Mutex<Tally<'a>>,
    otherwise: Mutex<Otherwise>,
    failed: Mutex<Option<String>>,
}

impl Run<'_> {
    fn clock(&self) -> Clock {
        self.task.clock
    }

    fn shared(&self) -> &Shared {
        self.task.shared
    }

    fn stopped(&self) -> bool {
        self.shared().stopped().is_some()
    }

    /// Runs a thread from its first to its last action.
    fn thread<'scope, 'env>(&'env self, number: u32, scope: &'scope Scope<'scope, 'env>) {
        let mut buffers = Buffers::new(Generator::new(self.task.program.seed, self.content));
        let mut account = Account::default();
        let mut free = self.clock().now();
        for place in 0..self.of_threads[number as usize].len() {
            let index = self.of_threads[number as usize][place];
            let action = &self.trace.actions[index as usize];
            if !self.may_go_on(action, &mut buffers, &mut account, index, free) {
                break;
            }
            match &action.call {
                Call::Start { thread } => self.start(*thread, scope),
                Call::Tell | Call::Wait => {}
                Call::Sleep(sleep) if self.think => self.sleep(sleep.ns, self.ends.get(&index), &mut account.late),
                Call::Sleep(_) => {}
                _ => {
                    // Measuring overhead after the call counts as the program's own time, if that is longer.
                    free = self.call(index, action, &mut buffers, &mut account);
                    self.done(number, place as u64 + 1);
                    continue;
                }
            }
            self.done(number, place as u64 + 1);
            free = self.clock().now();
        }
        self.hand_in(&mut account);
        // Threads that wait for this one must not wait forever.
        self.done(number, u64::MAX >> 1);
    }

    fn start<'scope, 'env>(&'env self, thread: u32, scope: &'scope Scope<'scope, 'env>) {
        let built = std::thread::Builder::new().stack_size(STACK);
        if let Err(error) = built.spawn_scoped(scope, move || self.thread(thread, scope)) {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(format!("starting thread {thread} of the recorded program: {error}"));
            self.shared().stop(crate::shared::Stop::Death);
        }
    }

    /// Lets the program's own time pass, and waits for the actions of others; false if the phase is over.
    fn may_go_on(&self, action: &Action, buffers: &mut Buffers, account: &mut Account, index: u32, free: u64) -> bool {
        // Data to write is generated during the program's own time, as the program did.
        buffers.make(&action.call, index);
        if account.calls.len() >= ACCOUNT {
            self.hand_in(account);
        }
        if self.think && action.think_ns > 0 {
            if self.trace.header.think_on_processor {
                self.compute(free, action.think_ns, &mut account.preempted);
            } else {
                self.compute_until(free + action.think_ns);
            }
        }
        for other in self.after(index) {
            let (whose, count) = self.until(other);
            if !self.wait(whose, count) {
                return false;
            }
        }
        !self.stopped()
    }

    /// The actions that an action depends on.
    fn after(&self, action: u32) -> impl Iterator<Item = u32> {
        self.trace.actions[action as usize].after.iter().copied()
    }

    /// Sleeps for a time, less what earlier sleeps were late, or until everything is done that the wait `early` depends on.
    fn sleep(&self, ns: u64, early: Option<&u32>, late: &mut u64) {
        let until = self.clock().now() + ns.saturating_sub(*late);
        let owed = late.saturating_sub(ns);
        let look = if early.is_some() { LOOK_EARLY } else { LOOK };
        loop {
            let now = self.clock().now();
            if now >= until {
                *late = (owed + now - until).min(LATE);
                return;
            }
            if self.stopped() || early.is_some_and(|wait| self.after(*wait).all(|other| self.is_done(other))) {
                return;
            }
            let left = until - now;
            if left > SLEEP {
                std::thread::sleep(Duration::from_nanos(left.min(look)));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// The progress of an action's thread, and its count after the action.
    fn until(&self, action: u32) -> (&Progress, u64) {
        let thread = self.trace.actions[action as usize].thread;
        (&self.progress[thread as usize], u64::from(self.places[action as usize]) + 1)
    }

    fn is_done(&self, action: u32) -> bool {
        let (whose, count) = self.until(action);
        whose.has_done(count)
    }

    /// Busy-waits until a time of the clock.
    fn compute_until(&self, until: u64) {
        while self.clock().now() < until && !self.stopped() {
            std::hint::spin_loop();
        }
    }

    /// Busy-waits for a time from `since` on. Time during which the thread is preempted does not count, as for the program.
    fn compute(&self, since: u64, ns: u64, preempted: &mut u64) {
        let mut last = self.clock().now();
        let mut done = last.saturating_sub(since);
        while done < ns && !self.stopped() {
            std::hint::spin_loop();
            let now = self.clock().now();
            let step = now.saturating_sub(last);
            last = now;
            if step >= LONG {
                // A long step without a preemption of this thread is time of the machine, which the recorded program had as well, so it counts.
                let preemptions = process::preemptions_of_thread();
                if std::mem::replace(preempted, preemptions) != preemptions {
                    continue;
                }
            }
            done += step;
        }
    }

    fn wait(&self, whose: &Progress, count: u64) -> bool {
        let begun = self.clock().now();
        loop {
            if whose.has_done(count) {
                return true;
            }
            if self.stopped() {
                return false;
            }
            if self.clock().now() - begun < SPIN {
                std::hint::spin_loop();
                continue;
            }
            let heard = whose.bell.load(Ordering::SeqCst);
            whose.wanted.fetch_min(count, Ordering::SeqCst);
            if whose.done.load(Ordering::SeqCst) < count {
                process::wait_while(&whose.bell, heard as u32);
            }
        }
    }

    fn done(&self, thread: u32, count: u64) {
        let own = &self.progress[thread as usize];
        own.done.store(count, Ordering::SeqCst);
        if count >= own.wanted.load(Ordering::SeqCst) {
            own.wanted.store(u64::MAX, Ordering::SeqCst);
            own.bell.fetch_add(1, Ordering::SeqCst);
            process::wake(&own.bell);
        }
    }

    /// Makes a call; returns its end time.
    fn call(&self, index: u32, action: &Action, buffers: &mut Buffers, account: &mut Account) -> u64 {
        let begun = self.clock().now();
        let now = self.files.make(&action.call, action.result, buffers);
        let ended = self.clock().now();
        let name = action.call.name();
        account.ended = ended;
        account.calls.push((self.histograms[index as usize], ended - begun));
        match name {
            "read" | "map" => account.read += now.max(0) as usize,
            "write" | "copy" => account.written += now.max(0) as usize,
            _ => {}
        }
        let amounts = matches!(name, "read" | "write" | "copy");
        let (then, now) = (Ending::of(action.result, amounts), Ending::of(now, amounts));
        if then != now {
            self.ended_otherwise(index, action, then, now);
        }
        ended
    }

    #[cold]
    fn ended_otherwise(&self, index: u32, action: &Action, then: Ending, now: Ending) {
        let name = action.call.name();
        self.otherwise.lock().unwrap_or_else(PoisonError::into_inner).add(name, then, now);
        if let (Ending::Failed(number), true) = (now, now.is_fatal()) {
            let what = action.call.paths().next().unwrap_or("a file of the recorded program");
            let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.fail(name, format!("{what} (action {index})"), None, Errno::from_raw_os_error(number));
        }
    }

    /// Adds a thread's results to the shared tally.
    fn hand_in(&self, account: &mut Account) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.now = tally.now.max(account.ended);
        for (histogram, ns) in account.calls.drain(..) {
            if let Some(histogram) = histogram {
                tally.span_of(histogram, ns);
            }
            tally.part_of_batch(1);
        }
        tally.read(std::mem::take(&mut account.read));
        tally.written(std::mem::take(&mut account.written));
        tally.items(0);
    }
}

/// Calls handed in at once, so that threads rarely wait for the shared tally.
const ACCOUNT: usize = 512;

/// Results of a thread since it last handed them in.
#[derive(Default)]
struct Account {
    calls: Vec<(Option<usize>, u64)>,
    read: usize,
    written: usize,
    ended: u64,
    /// Number of preemptions at the last check.
    preempted: u64,
    /// Nanoseconds by which its sleeps were late in all, and which its next ones make up for.
    late: u64,
}
