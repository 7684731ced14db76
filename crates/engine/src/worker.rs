//! One worker of a phase: prepared before the clock starts, released at the gate, and its tally finished at the end.
//! In: the program, and which worker of which group of which phase it is. Out: its slot of the shared memory.
//! The same code runs in a separate process or in a thread.

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

/// The task of one worker.
pub struct Task<'a> {
    /// The program.
    pub program: &'a Program,
    /// Index of the phase.
    pub phase: usize,
    /// Pass, from 0.
    pub pass: u32,
    /// Number of slices; 1: the work is not divided.
    pub slices: u32,
    /// Index of the group within the phase.
    pub group: usize,
    /// Worker within the group, numbered over all clients.
    pub worker: u32,
    /// Worker numbered over all groups: its slot.
    pub slot: usize,
    /// The memory shared by all workers.
    pub shared: &'a Shared,
    /// The clock.
    pub clock: Clock,
    /// The root directory, open.
    pub root: Fd,
}

/// Numbers content and generations: different for every phase, pass and position, never 0.
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

    /// The phase ends by time, so the work starts over when it is done.
    pub fn repeats(&self) -> bool {
        self.of_phase().end != End::Work
    }

    /// The group takes the files it finds, so a missing file is no failure.
    pub fn follows(&self) -> bool {
        self.group().order == Order::Follow
    }

    /// A phase of the program fills free space with this fileset, so fewer of its files may exist than it defines.
    pub fn fills(&self, fileset: usize) -> bool {
        let mut groups = self.program.phases.iter().flat_map(|phase| &phase.groups);
        groups.any(|group| group.over == Over::Space { fileset: Some(fileset) })
    }

    /// How the items of a fileset are divided.
    pub fn share(&self, fileset: usize) -> Share {
        let group = self.group();
        let own = self.program.filesets[fileset].per_worker && group.workers > 1;
        if own { Share { worker: 0, workers: 1 } } else { self.share_of_all() }
    }

    /// This worker's share if all workers of all clients divide the items.
    pub fn share_of_all(&self) -> Share {
        Share { worker: u64::from(self.acts_as()), workers: u64::from(self.group().workers) }
    }

    /// The worker whose share it takes.
    fn acts_as(&self) -> u32 {
        self.program.acts_as(self.group(), self.worker)
    }

    /// This worker's course over this many items.
    pub fn course(&self, items: u64, fileset: usize) -> Course {
        self.course_shared(items, self.share(fileset))
    }

    /// This worker's course over items divided like this.
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

    /// Reports ready, then waits for the common start.
    pub fn wait_for_start(&self) {
        self.shared.common(Common::Ready).fetch_add(1, Ordering::AcqRel);
        process::wake(self.shared.common(Common::Ready));
        self.wait_at_gate();
    }

    /// Waits for the common start.
    pub fn wait_at_gate(&self) {
        process::wait_at_gate(self.shared.common(Common::Gate));
    }

    /// A new tally; to be called once the gate is open.
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
        // Each client has its part of the rate, with its own arrivals.
        let clients = self.program.clients();
        let own = self.program.client.map_or(0, |client| u64::from(client.number));
        let rate = self.group().rate.map(|rate| Rate { per_second: rate.per_second / f64::from(clients), ..rate });
        Pacer::new(rate, self.shared.group(self.group), seed ^ crate::hash::mix(own))
    }
}

/// Does the work of one worker from beginning to end.
pub fn work(task: &Task) {
    if let Err(reason) = kinds::of(task.group().over).work(task) {
        task.shared.slot(task.slot).note(&Note::Fatal(reason));
        task.shared.stop(crate::shared::Stop::Death);
        // The others must not wait for a worker that never becomes ready.
        task.shared.common(Common::Ready).fetch_add(1, Ordering::AcqRel);
        process::wake(task.shared.common(Common::Ready));
    }
    if !task.follows() {
        task.shared.common(Common::Producers).fetch_sub(1, Ordering::AcqRel);
    }
}
