//! One pass of one phase: starts the workers together, watches them, and gathers their results.
//! In: a program, a phase, a pass. Out: the reply, and progress on the way.
//! A pass always ends, whatever the workers do: after the time limit they are stopped, then killed.

use crate::clock::{Calibrator, Clock, kernel_ns, sleep_until};
use crate::ops::Ops;
use crate::process::{self, Child, Ending};
use crate::shared::{Common, Count, Note, Shared, Stop};
use crate::sys::{self, Fd};
use crate::worker::{Task, work};
use crate::{collect, durable, instructions, kinds};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;
use workload::message::{Message as _, Reply};
use workload::program::{End, Group, Order, Phase, Program};

/// Between two progress messages.
const PROGRESS: Duration = Duration::from_secs(1);

/// Between the request to stop and the kill: a running operation may end.
const GRACE: Duration = Duration::from_secs(5);

/// Between the kill and giving up: a process in an uninterruptible call dies when the call returns.
const GIVE_UP: Duration = Duration::from_secs(5);

/// Longest time for workers to prepare.
const READY: Duration = Duration::from_secs(60);

/// Called when all workers are ready; returns the start time by CLOCK_MONOTONIC, or None if they must not start.
pub type Agreed<'a> = &'a mut dyn FnMut() -> io::Result<Option<u64>>;

/// A slice is made durable at its end if at least this many bytes are dirty, since they would be written back during other contenders'
/// turns. Fewer stay in memory until the last slice, as in an undivided pass: on small files a sync every 40 ms took a third of the rate.
const LEFT_BYTES: u64 = 32 << 20;

/// Likewise if the slice took this long: journals commit by themselves after a few seconds.
const LEFT_NS: u64 = 500_000_000;

/// Called at the end of a slice; returns whether the next one may start.
pub type GoOn<'a> = &'a mut dyn FnMut() -> io::Result<bool>;

/// How a pass is performed.
pub enum Manner<'a> {
    /// From start to end.
    Whole,
    /// Likewise, starting at the time that all clients agreed on.
    Together(Agreed<'a>),
    /// In this many slices, between which other contenders have their turns.
    Cut(u32, GoOn<'a>),
}

/// The last moment before an agreed start is spent spinning: a sleep can end later than that.
const AWAKE_NS: u64 = 300_000;

/// A running pass.
pub struct Pass<'a> {
    /// The program.
    pub program: &'a Program,
    /// Index of the phase.
    pub phase: usize,
    /// Pass, from 0.
    pub pass: u32,
    /// The shared memory.
    pub shared: Shared,
    /// The clock.
    pub clock: Clock,
    /// Number of slices; 1: the pass is not divided.
    slices: u32,
    /// Duration of each slice, including the time to make it durable, in nanoseconds.
    pub slice_ns: Vec<u64>,
    /// Bytes that had been written when data was last made durable.
    durable_bytes: u64,
    /// Start of the current slice.
    slice_began: u64,
    /// Time between slices, which is not part of the pass.
    apart: u64,
    root: Fd,
    children: Vec<Child>,
    /// A process was killed by a signal from outside.
    killed: bool,
    /// The machine's instruction count at the start of the workers, if its clock counts instructions.
    before: Option<u64>,
}

/// Performs one pass.
pub fn perform(
    program: &Program,
    phase: usize,
    pass: u32,
    calibrator: &Calibrator,
    output: &mut dyn Write,
    manner: Manner,
) -> io::Result<Reply> {
    let failed = |reason: String| Reply::Failed { phase, partial: None, reason, killed: false };
    // An unmounted filesystem has no root to open.
    let unmounted = program.phases[phase].is_unmounted();
    let root = match if unmounted { sys::open_root(Path::new("/")) } else { sys::open_work(program) } {
        Ok(root) => root,
        Err(reason) => return Ok(failed(reason)),
    };
    let slices = if let Manner::Cut(slices, _) = manner { slices.max(1) } else { 1 };
    Ok(match start(program, phase, (pass, slices), calibrator, root.as_raw_fd()) {
        Ok(mut pass) => {
            let watched = pass.watch(output, manner)?;
            let reply = pass.close(watched);
            pass.children.iter_mut().for_each(Child::kill);
            reply
        }
        Err(reason) => failed(reason),
    })
}

fn start<'a>(
    program: &'a Program,
    phase: usize,
    (pass, slices): (u32, u32),
    calibrator: &Calibrator,
    root: Fd,
) -> Result<Pass<'a>, String> {
    for group in &program.phases[phase].groups {
        kinds::of(group.over).prepare(program, group, root)?;
    }
    let groups = &program.phases[phase].groups;
    let workers: usize = groups.iter().map(|g| program.own_workers(g).len()).sum();
    let histograms = groups.iter().map(|g| Ops::new(g).histograms.len()).max().unwrap_or(0);
    let shared = Shared::new(groups.len(), workers, histograms)
        .map_err(|e| format!("shared memory for {workers} workers: {e}"))?;
    let producers =
        groups.iter().filter(|g| g.order != Order::Follow).map(|g| program.own_workers(g).len() as u64).sum();
    shared.common(Common::Producers).store(producers, Ordering::Release);
    let clock = calibrator.clock();
    let mut pass = Pass {
        program,
        phase,
        pass,
        shared,
        clock,
        slices,
        slice_ns: Vec::new(),
        durable_bytes: 0,
        slice_began: 0,
        apart: 0,
        root,
        children: Vec::new(),
        killed: false,
        before: None,
    };
    if let Err(reason) = pass.fork_all() {
        pass.shared.stop(Stop::Death);
        process::open_gate(pass.shared.common(Common::Gate));
        pass.children.iter_mut().for_each(Child::kill);
        return Err(reason);
    }
    Ok(pass)
}

impl Pass<'_> {
    /// The phase.
    pub fn of_phase(&self) -> &Phase {
        &self.program.phases[self.phase]
    }

    /// Workers of this client.
    pub fn workers(&self) -> u64 {
        self.of_phase().groups.iter().map(|g| u64::from(self.own(g))).sum()
    }

    /// This client's workers of a group.
    pub fn own(&self, group: &Group) -> u32 {
        self.program.own_workers(group).len() as u32
    }

    fn task(&self, group: usize, worker: u32) -> Task<'_> {
        let before: u32 = self.of_phase().groups[..group].iter().map(|g| self.own(g)).sum();
        let first = self.program.own_workers(&self.of_phase().groups[group]).start;
        Task {
            program: self.program,
            phase: self.phase,
            pass: self.pass,
            slices: self.slices,
            group,
            worker,
            slot: (before + worker - first) as usize,
            shared: &self.shared,
            clock: self.clock,
            root: self.root,
        }
    }

    /// Forks a process for each worker; for threads, a process that contains them, so that it can be killed.
    fn fork_all(&mut self) -> Result<(), String> {
        for (number, group) in self.program.phases[self.phase].groups.iter().enumerate() {
            let failed = |e| format!("starting a worker of group {}: {e}", group.name);
            if group.processes || self.own(group) == 1 {
                for worker in self.program.own_workers(group) {
                    let task = self.task(number, worker);
                    let child = process::fork(|| {
                        work(&task);
                        0
                    });
                    self.children.push(child.map_err(failed)?);
                }
            } else {
                let child = process::fork(|| self.threads(number, group));
                self.children.push(child.map_err(failed)?);
            }
        }
        Ok(())
    }

    fn threads(&self, number: usize, group: &Group) -> i32 {
        let own = self.program.own_workers(group);
        let tasks: Vec<Task> = own.map(|worker| self.task(number, worker)).collect();
        std::thread::scope(|scope| {
            for task in &tasks {
                let started = std::thread::Builder::new().spawn_scoped(scope, || {
                    process::own_descriptor_table();
                    work(task);
                });
                if let Err(e) = started {
                    self.shared.slot(task.slot).note(&Note::Fatal(format!("starting a thread: {e}")));
                    self.shared.stop(Stop::Death);
                    process::open_gate(self.shared.common(Common::Gate));
                    return 1;
                }
            }
            0
        })
    }

    /// Starts the workers and watches them until they end. Err: why the pass failed.
    fn watch(&mut self, output: &mut dyn Write, mut manner: Manner) -> io::Result<Result<(), String>> {
        let begun = match (self.wait_until_ready(), &mut manner) {
            (Ok(()), Manner::Together(agreed)) => {
                Reply::Ready.send(output)?;
                process::on_time(|| agreed().map(|at| wait_for(at).map(|()| self.begin())))?
            }
            (ready, _) => ready.map(|()| self.begin()),
        };
        if let Err(reason) = begun {
            self.shared.stop(Stop::Death);
            process::open_gate(self.shared.common(Common::Gate));
            self.end_all();
            return Ok(Err(reason));
        }
        let limit = Duration::from_secs(self.limit());
        let begun = kernel_ns();
        let mut next = begun + PROGRESS.as_nanos() as u64;
        loop {
            self.wait_a_while(next.saturating_sub(kernel_ns()).div_ceil(1_000_000));
            if let Some(reason) = self.deaths() {
                self.shared.stop(Stop::Death);
                self.end_all();
                return Ok(Err(reason));
            }
            if self.children.iter_mut().all(|c| c.poll().is_some()) {
                return Ok(self.why_stopped());
            }
            if self.shared.stopped().is_some() {
                self.end_all();
                return Ok(self.why_stopped());
            }
            if let Manner::Cut(_, go_on) = &mut manner
                && self.is_slice_over()
            {
                if let Err(reason) = self.between_slices(output, go_on)? {
                    self.shared.stop(Stop::Death);
                    process::wake(self.shared.common(Common::Slice));
                    self.end_all();
                    return Ok(Err(reason));
                }
                next = kernel_ns() + PROGRESS.as_nanos() as u64;
                continue;
            }
            let now = kernel_ns();
            if (now - begun).saturating_sub(self.apart) > limit.as_nanos() as u64 {
                self.shared.stop(Stop::Time);
                continue;
            }
            if now >= next {
                next = now + PROGRESS.as_nanos() as u64;
                self.progress().send(output)?;
            }
        }
    }

    /// Waits for an event, for about this many milliseconds.
    fn wait_a_while(&mut self, milliseconds: u64) {
        let arrivals = self.shared.common(Common::Arrivals);
        let before = arrivals.load(Ordering::Acquire);
        match self.slices > 1 && !self.all_finished() {
            true if self.is_slice_over() => {}
            true => process::wait_while(arrivals, before as u32),
            false => process::wait_for_any(&self.children, milliseconds),
        }
    }

    fn all_finished(&self) -> bool {
        (0..self.workers() as usize).all(|worker| self.shared.slot(worker).get(Count::Finished) == 1)
    }

    /// Whether every worker has finished its part of the current slice, and any has more to do.
    fn is_slice_over(&self) -> bool {
        let number = self.slice_ns.len() as u64 + 1;
        let over = |slot: crate::shared::Slot| slot.get(Count::Finished) == 1 || slot.get(Count::Slices) >= number;
        (0..self.workers() as usize).all(|worker| over(self.shared.slot(worker))) && !self.all_finished()
    }

    /// Makes a slice durable if much is dirty, and waits until the next may start. Err: why it may not.
    fn between_slices(&mut self, output: &mut dyn Write, go_on: GoOn) -> io::Result<Result<(), String>> {
        let written =
            (0..self.workers() as usize).map(|worker| self.shared.slot(worker).get(Count::Written)).sum::<u64>();
        let took = self.clock.now().saturating_sub(self.slice_began);
        if self.of_phase().writes && (written - self.durable_bytes >= LEFT_BYTES || took >= LEFT_NS) {
            self.durable_bytes = written;
            if let Err(reason) = self.make_durable(self.time_left()) {
                return Ok(Err(format!("making the data durable failed: {reason}")));
            }
        }
        let ended = self.clock.now();
        self.slice_ns.push(ended.saturating_sub(self.slice_began));
        Reply::Sliced { phase: self.phase, slices: self.slice_ns.len() as u32 }.send(output)?;
        if !go_on()? {
            return Ok(Err("it was stopped between two slices".into()));
        }
        self.slice_began = self.clock.now();
        self.apart += self.slice_began.saturating_sub(ended);
        let slice = self.shared.common(Common::Slice);
        slice.store(self.slice_ns.len() as u64, Ordering::Release);
        process::wake(slice);
        Ok(Ok(()))
    }

    /// The remaining time of the pass.
    fn time_left(&self) -> Duration {
        let start = self.shared.common(Common::Start).load(Ordering::Relaxed);
        let used = self.clock.now().saturating_sub(start).saturating_sub(self.apart);
        Duration::from_secs(self.limit()).saturating_sub(Duration::from_nanos(used))
    }

    /// Starts the workers.
    fn begin(&mut self) {
        self.before = instructions::so_far();
        let start = self.clock.now();
        self.slice_began = start;
        self.shared.common(Common::Start).store(start, Ordering::Release);
        process::open_gate(self.shared.common(Common::Gate));
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let ready = self.shared.common(Common::Ready);
        let deadline = kernel_ns() + READY.as_nanos() as u64;
        loop {
            let count = ready.load(Ordering::Acquire);
            if count >= self.workers() {
                return Ok(());
            }
            process::wait_while(ready, count as u32);
            if let Some(reason) = self.children.iter_mut().find_map(|c| death(c.poll())) {
                return Err(reason);
            }
            if self.shared.stopped().is_some() {
                return self.why_stopped();
            }
            if kernel_ns() > deadline {
                return Err(format!("{} of {} workers were ready after {READY:?}", count, self.workers()));
            }
        }
    }

    fn deaths(&mut self) -> Option<String> {
        let ending = self.children.iter_mut().find_map(|c| c.poll().filter(|ending| death(Some(*ending)).is_some()))?;
        self.killed |= ending == Ending::Signal(libc::SIGKILL);
        let dead = death(Some(ending))?;
        let place = (0..self.workers() as usize).map(|w| self.shared.slot(w)).find(|s| s.get(Count::CurrentFile) > 0);
        Some(match place {
            // The file's number is stored plus one; 0 means none.
            Some(slot) => {
                let (file, offset) = (slot.get(Count::CurrentFile) - 1, slot.get(Count::CurrentOffset));
                format!("{dead}; the last access through a mapping was at offset {offset} of file {file}")
            }
            None => dead,
        })
    }

    fn why_stopped(&self) -> Result<(), String> {
        let fatal =
            (0..self.workers() as usize).flat_map(|w| self.shared.slot(w).notes()).find_map(|note| match note {
                Note::Fatal(reason) => Some(reason),
                _ => None,
            });
        match (self.shared.stopped(), fatal) {
            (_, Some(reason)) => Err(reason),
            (None, None) => Ok(()),
            (Some(Stop::Errors), _) => {
                let count = self.shared.common(Common::Errors).load(Ordering::Relaxed);
                let first = collect::errors(self).first.first().map(collect::sentence).unwrap_or_default();
                Err(format!(
                    "{count} operations failed (the limit is {}); the first: {first}",
                    self.program.error_limit
                ))
            }
            (Some(Stop::Time), _) => Err(format!("it ran past its time limit of {} s", self.limit())),
            (Some(Stop::Death), _) => Err("a worker could not continue".into()),
        }
    }

    /// Waits for workers that were stopped; kills those that do not end.
    fn end_all(&mut self) {
        for patience in [GRACE, GIVE_UP] {
            let deadline = kernel_ns() + patience.as_nanos() as u64;
            while kernel_ns() < deadline {
                if self.children.iter_mut().all(|c| c.poll().is_some()) {
                    return;
                }
                process::wait_for_any(&self.children, 100);
            }
            self.children.iter_mut().for_each(Child::kill);
        }
    }

    fn progress(&self) -> Reply {
        let slots = || (0..self.workers() as usize).map(|w| self.shared.slot(w));
        let sum = |count: Count| slots().map(|s| s.get(count)).sum::<u64>();
        Reply::Progress {
            phase: self.phase,
            items: sum(Count::Items),
            of: self.expected(),
            bytes: sum(Count::Read) + sum(Count::Written),
        }
    }

    /// Time limit of this pass in seconds.
    fn limit(&self) -> u64 {
        self.program.limit_of(self.phase)
    }

    /// Total items, if the program determines them.
    fn expected(&self) -> Option<u64> {
        let phase = self.of_phase();
        if phase.end != End::Work {
            return None;
        }
        phase.groups.iter().map(|g| kinds::expected(self.program, g)).sum()
    }

    /// Makes the data durable, and builds the outcome.
    fn close(&mut self, watched: Result<(), String>) -> Reply {
        let phase = self.of_phase();
        let mut durable_ns = None;
        let mut watched = watched;
        if phase.writes && watched.is_ok() {
            match self.make_durable(self.time_left()) {
                Ok(at) => durable_ns = Some((at - collect::begin(self)).saturating_sub(self.apart)),
                Err(reason) => watched = Err(format!("making the data durable failed: {reason}")),
            }
        }
        if self.slices > 1 {
            self.slice_ns.push(self.clock.now().saturating_sub(self.slice_began));
        }
        let mut outcome = Box::new(collect::outcome(self, durable_ns));
        // The engine's clock uses the scale of the kernel's, so the start time is valid by the kernel's clock.
        outcome.began_ns = self.program.client.map(|_| collect::begin(self));
        outcome.told.extend(instructions::for_each(outcome.items, outcome.cpu, self.before));
        match watched {
            Ok(()) => Reply::Done(outcome),
            Err(reason) => Reply::Failed { phase: self.phase, partial: Some(outcome), reason, killed: self.killed },
        }
    }
}

/// A sync on a hung device cannot be interrupted, so a child makes it and can be abandoned.
impl Pass<'_> {
    fn make_durable(&mut self, left: Duration) -> Result<u64, String> {
        let (shared, clock) = (&self.shared, self.clock);
        shared.common(Common::Durable).store(0, Ordering::Release);
        let child = process::fork(|| match durable::make(&self.program.durable, self.root, left) {
            Ok(()) => {
                shared.common(Common::Durable).store(clock.now(), Ordering::Release);
                0
            }
            Err(undone) => {
                shared.slot(0).note(&Note::Fatal(undone.reason));
                if undone.killed { KILLED } else { 1 }
            }
        });
        let mut child = [child.map_err(|e| format!("starting a process for it: {e}"))?];
        // Later than the child's own deadline, at which it ends a hung command.
        let deadline = kernel_ns() + (left + GRACE).as_nanos() as u64;
        while child[0].poll().is_none() {
            if kernel_ns() > deadline {
                child[0].kill();
                return Err(format!("it did not end within the time limit of {} s", self.limit()));
            }
            process::wait_for_any(&child, 100);
        }
        self.killed |= matches!(child[0].poll(), Some(Ending::Exit(KILLED) | Ending::Signal(_)));
        match self.shared.common(Common::Durable).load(Ordering::Acquire) {
            0 => Err(self.why_stopped().err().unwrap_or_else(|| "its process died".into())),
            at => Ok(at),
        }
    }
}

/// Waits until the agreed start.
fn wait_for(agreed: Option<u64>) -> Result<(), String> {
    let Some(at) = agreed else { return Err("another client could not start".into()) };
    while kernel_ns() + AWAKE_NS < at {
        sleep_until(at - AWAKE_NS);
    }
    while kernel_ns() < at {
        std::hint::spin_loop();
    }
    Ok(())
}

/// Exit status of the process that makes data durable, if its command was killed by a signal.
const KILLED: i32 = 2;

fn death(ending: Option<Ending>) -> Option<String> {
    match ending? {
        Ending::Exit(0) => None,
        Ending::Exit(70) => {
            Some("a worker crashed because of a bug in the engine (its message is on standard error)".into())
        }
        Ending::Exit(status) => Some(format!("a worker ended with status {status}")),
        Ending::Signal(libc::SIGBUS) => Some(
            "a worker was killed by SIGBUS: the filesystem could not provide a page (no space, or an I/O error)".into(),
        ),
        Ending::Signal(signal) => Some(format!("a worker was killed by signal {signal}")),
    }
}
