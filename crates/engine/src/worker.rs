//! One worker of a phase: made ready before the clock, let go at the gate, and its account closed at the end.
//! In: the program, and which worker of which group of which phase it is. Out: its slot of the shared memory.
//! The same code runs in a process of its own or in a thread.

use crate::clock::Clock;
use crate::kinds;
use crate::names::Files;
use crate::ops::Ops;
use crate::order::{Course, Share};
use crate::pace::Pacer;
use crate::process;
use crate::shared::{Common, Note, Shared};
use crate::sys::Fd;
use crate::tally::{Limits, Tally};
use std::sync::atomic::Ordering;
use workload::program::{End, Group, Order, Over, Phase, Program, Rate};

/// What one worker is to do.
pub struct Task<'a> {
    /// The program.
    pub program: &'a Program,
    /// Index of the phase.
    pub phase: usize,
    /// Pass, from 0.
    pub pass: u32,
    /// Slices into which its work is cut; 1: none.
    pub slices: u32,
    /// Index of the group within the phase.
    pub group: usize,
    /// Worker within the group, counted over all clients.
    pub worker: u32,
    /// Worker counted over all groups: its slot.
    pub slot: usize,
    /// The memory shared with all others.
    pub shared: &'a Shared,
    /// The clock.
    pub clock: Clock,
    /// The root directory, open.
    pub root: Fd,
}

/// Numbers content and generations: another for every phase, pass and position, never 0.
pub fn version(phase: usize, pass: u32, position: u64) -> u64 {
    ((phase as u64 + 1) << 52) | (u64::from(pass & 0xfff) << 40) | (position & 0xff_ffff_ffff)
}

impl<'a> Task<'a> {
    /// The phase.
    pub fn of_phase(&self) -> &'a Phase {
        &self.program.phases[self.phase]
    }

    /// The group.
    pub fn group(&self) -> &'a Group {
        &self.of_phase().groups[self.group]
    }

    /// The phase ends by time, so work is begun again.
    pub fn repeats(&self) -> bool {
        self.of_phase().end != End::Work
    }

    /// The group takes what it finds, so a file that is gone is nobody's fault.
    pub fn follows(&self) -> bool {
        self.group().order == Order::Follow
    }

    /// The program has free space filled with this fileset, so that there may be fewer of its files than it says.
    pub fn fills(&self, fileset: usize) -> bool {
        let mut groups = self.program.phases.iter().flat_map(|phase| &phase.groups);
        groups.any(|group| group.over == Over::Space { fileset: Some(fileset) })
    }

    /// How the items of a fileset are shared out.
    pub fn share(&self, fileset: usize) -> Share {
        let group = self.group();
        let own = self.program.filesets[fileset].per_worker && group.workers > 1;
        if own { Share { worker: 0, workers: 1 } } else { self.share_of_all() }
    }

    /// This worker's share where all workers of all clients divide the items.
    pub fn share_of_all(&self) -> Share {
        Share { worker: u64::from(self.acts_as()), workers: u64::from(self.group().workers) }
    }

    /// The worker whose share it takes.
    fn acts_as(&self) -> u32 {
        self.program.acts_as(self.group(), self.worker)
    }

    /// This worker's course over so many items.
    pub fn course(&self, items: u64, fileset: usize) -> Course {
        self.course_shared(items, self.share(fileset))
    }

    /// This worker's course over items that are shared out in this way.
    pub fn course_shared(&self, items: u64, share: Share) -> Course {
        let group = self.group();
        let own = if share.workers == 1 { u64::from(self.acts_as()) } else { 0 };
        let key = [self.program.seed, self.phase as u64, u64::from(self.pass), self.group as u64, own];
        Course::new(group.order, items, group.first, group.count, share, &key)
    }

    /// The files that this worker works on.
    pub fn files(&self, fileset: usize) -> Files {
        let group = self.group();
        Files::new(self.program.seed, fileset, &self.program.filesets[fileset], self.acts_as(), group.workers)
    }

    /// Be ready, then wait for the common start.
    pub fn wait_for_start(&self) {
        self.shared.common(Common::Ready).fetch_add(1, Ordering::AcqRel);
        process::wake(self.shared.common(Common::Ready));
        process::wait_at_gate(self.shared.common(Common::Gate));
    }

    /// A fresh account; to be taken once the gate is open.
    pub fn tally(&self, ops: &Ops) -> Tally<'a> {
        let limits = Limits {
            end: self.of_phase().end,
            errors: self.program.error_limit,
            process: self.group().processes || self.program.own_workers(self.group()).len() == 1,
        };
        Tally::new(self.clock, self.shared, self.slot, ops.histograms.len(), limits)
    }

    /// The group's open loop, if it has one.
    pub fn pacer(&self) -> Pacer<'a> {
        let seed = crate::hash::mix_all(&[self.program.seed, self.phase as u64, u64::from(self.pass), 0x9ace]);
        // Each client keeps its part of the rate, with arrivals of its own.
        let clients = self.program.clients();
        let own = self.program.client.map_or(0, |client| u64::from(client.number));
        let rate = self.group().rate.map(|rate| Rate { per_second: rate.per_second / f64::from(clients), ..rate });
        Pacer::new(rate, self.shared.group(self.group), seed ^ crate::hash::mix(own))
    }
}

/// Do the work of one worker from beginning to end.
pub fn work(task: &Task) {
    if let Err(reason) = kinds::of(task.group().over).work(task) {
        task.shared.slot(task.slot).note(&Note::Fatal(reason));
        task.shared.stop(crate::shared::Stop::Death);
        // Nobody must wait for a worker that will never be ready.
        task.shared.common(Common::Ready).fetch_add(1, Ordering::AcqRel);
        process::wake(task.shared.common(Common::Ready));
    }
    if !task.follows() {
        task.shared.common(Common::Producers).fetch_sub(1, Ordering::AcqRel);
    }
}
