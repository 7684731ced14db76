//! A simulated hard disk: arrivals, completions, and their consequences.
//! In: requests. Out: the time when each completes. decide.rs chooses the next work of the head.

use super::HardDisk;
use super::arm::Arm;
use super::buffer::ReadBuffer;
use super::cache::WriteCache;
use crate::device::{Answers, Kind, Request, Ticket, Works};
use crate::geometry::{Place, SECTOR};
use std::collections::VecDeque;

/// A command in the disk's queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Command {
    pub ticket: Ticket,
    pub kind: Kind,
    pub start: u64,
    pub end: u64,
    pub place: Place,
    pub arrived: u64,
    /// When the head can start it: the controller has decoded it, and has its data.
    pub ready: u64,
    /// Whether the read buffer was checked for it.
    is_known: bool,
}

impl Command {
    fn bytes(&self) -> u64 {
        (self.end - self.start) * SECTOR
    }
}

/// Work of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Read {
        start: u64,
        end: u64,
    },
    Write,
    /// Writes a piece of the cache.
    Destage,
}

#[derive(Debug, Clone, Copy)]
struct Flush {
    ticket: Ticket,
    /// Cached writes with lower numbers must be on the platters.
    number: u64,
    ready: u64,
}

/// A simulated hard disk. Its clock is ahead of the device's by a phase, the initial position of the platters.
#[derive(Debug)]
pub(crate) struct HardDiskDevice {
    pub(super) disk: HardDisk,
    phase: u64,
    now: u64,
    waiting: VecDeque<(u64, Ticket, Request)>,
    /// Commands accepted and not completed.
    inside: usize,
    pub(super) active: Vec<Command>,
    pub(super) writers: VecDeque<Command>,
    flushes: VecDeque<Flush>,
    answers: Answers,
    /// When controller and interface finish their present work.
    controller: u64,
    pub(super) buffer: ReadBuffer,
    pub(super) cache: WriteCache,
    pub(super) arm: Arm,
    pub(super) busy: Option<(u64, Work)>,
    /// When the last read completed.
    pub(super) last_read: u64,
    /// Reads since the last write that a request waited for.
    pub(super) in_row: u64,
}

impl Works for HardDiskDevice {
    fn submit(&mut self, at: u64, ticket: Ticket, request: Request) {
        self.run_inside(at.saturating_add(self.phase));
        self.waiting.push_back((self.now, ticket, request));
        self.admit();
    }

    fn decision(&self) -> Option<u64> {
        let requests_wait =
            !(self.active.is_empty() && self.writers.is_empty() && self.flushes.is_empty() && self.waiting.is_empty());
        let event = if requests_wait { self.event() } else { None };
        event.map(|at| at.saturating_sub(self.phase))
    }

    fn first_answer(&self) -> Option<u64> {
        self.answers.first().map(|at| at.saturating_sub(self.phase))
    }

    fn run(&mut self, to: u64) {
        self.run_inside(to.saturating_add(self.phase));
    }

    fn take(&mut self, until: u64) -> Vec<(Ticket, u64)> {
        let mut done = self.answers.take(until.saturating_add(self.phase));
        done.iter_mut().for_each(|(_, at)| *at -= self.phase);
        done
    }
}

impl HardDiskDevice {
    pub fn new(disk: HardDisk, chance: u64) -> HardDiskDevice {
        let phase = chance % disk.geometry.period;
        HardDiskDevice {
            phase,
            now: phase,
            waiting: VecDeque::new(),
            inside: 0,
            active: Vec::with_capacity(disk.queue),
            writers: VecDeque::new(),
            flushes: VecDeque::new(),
            answers: Answers::default(),
            controller: 0,
            buffer: ReadBuffer::new(disk.segments, disk.segment),
            cache: WriteCache::new(disk.cache, disk.pieces),
            arm: Arm::default(),
            busy: None,
            last_read: 0,
            in_row: 0,
            disk,
        }
    }

    /// Advances the internal clock, which is ahead by the phase.
    fn run_inside(&mut self, to: u64) {
        while let Some(at) = self.event().filter(|at| *at <= to) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = self.now.max(to);
    }

    /// The next event inside the disk.
    fn event(&self) -> Option<u64> {
        let unknown = self.active.iter().filter(|command| !command.is_known).map(|command| command.ready);
        let flushes = self.flushes.iter().map(|flush| flush.ready).filter(|ready| *ready > self.now);
        let head = match self.busy {
            Some((until, _)) => Some(until),
            None => self.destage_due(),
        };
        self.answers.coming().into_iter().chain(unknown).chain(flushes).chain(head).min()
    }

    fn step(&mut self) {
        while self.answers.notice(self.now) {
            self.inside -= 1;
        }
        self.admit();
        self.finish();
        self.read_ahead();
        self.look_up();
        self.let_writers_in();
        self.answer_flushes();
        self.decide(self.now);
    }

    fn admit(&mut self) {
        while self.inside < self.disk.queue {
            let Some((arrived, ticket, request)) = self.waiting.pop_front() else { return };
            self.inside += 1;
            self.take_in(arrived, ticket, request);
        }
    }

    fn take_in(&mut self, arrived: u64, ticket: Ticket, request: Request) {
        self.controller = self.controller.max(self.now) + self.disk.overhead;
        let start = request.offset / SECTOR;
        let end = (request.offset + request.length).div_ceil(SECTOR).max(start + 1);
        let place = self.disk.geometry.place(start);
        let (kind, ready) = (request.kind, self.controller);
        let mut command = Command { ticket, kind, start, end, place, arrived, ready, is_known: false };
        match kind {
            Kind::Read => self.active.push(command),
            Kind::Write if self.cache.takes(end - start) => {
                self.writers.push_back(command);
                self.let_writers_in();
            }
            Kind::Write => {
                command.ready = self.transfer(command.bytes());
                self.buffer.forget(start, end);
                self.active.push(command);
            }
            Kind::Flush => {
                self.flushes.push_back(Flush { ticket, number: self.cache.next_number(), ready });
                self.answer_flushes();
            }
            Kind::Discard => self.answers.give(ticket, ready),
        }
    }

    /// Queues a transfer over the interface; returns when it ends.
    fn transfer(&mut self, bytes: u64) -> u64 {
        self.controller = self.controller.max(self.now) + (bytes as f64 / self.disk.rate * 1e9) as u64;
        self.controller
    }

    /// Writes enter the cache in the order of their arrival, as far as there is space.
    fn let_writers_in(&mut self) {
        while let Some(first) = self.writers.front().copied() {
            if !self.cache.has_room(first.end - first.start) {
                return;
            }
            self.writers.pop_front();
            let since = self.transfer(first.bytes());
            self.cache.add(first.start, first.end, since);
            self.buffer.forget(first.start, first.end);
            self.answers.give(first.ticket, since);
        }
    }

    fn answer_flushes(&mut self) {
        while let Some(first) = self.flushes.front().copied() {
            if first.ready > self.now || !self.cache.is_clean_before(first.number) {
                return;
            }
            self.flushes.pop_front();
            self.answers.give(first.ticket, self.now);
        }
    }

    /// The number below which cached writes delay a flush.
    pub(super) fn flush_before(&self) -> Option<u64> {
        self.flushes.front().map(|flush| flush.number)
    }

    fn finish(&mut self) {
        let Some((until, work)) = self.busy.filter(|(until, _)| *until <= self.now) else { return };
        self.busy = None;
        match work {
            Work::Read { start, end } => {
                self.buffer.read(start, end, until);
                self.last_read = until;
            }
            Work::Write => {}
            Work::Destage => self.cache.finish(),
        }
    }

    /// Updates read-ahead to the present.
    fn read_ahead(&mut self) {
        let Some(stream) = self.buffer.stream.filter(|_| self.busy.is_none()) else { return };
        let end = self.buffer.get(stream.segment).end;
        // Read-ahead ends at the last track.
        let limit = stream.limit.min(self.disk.geometry.sectors());
        let (sector, time) = self.disk.run(&mut self.arm, stream.time, (end, limit), false, self.now);
        // After it stops, the head waits before its next sector while the platters turn.
        let time = if sector >= limit { self.now } else { time };
        self.buffer.advance(sector, time);
    }

    /// Completes reads whose data is in the buffer or in the write cache.
    fn look_up(&mut self) {
        let mut at = 0;
        while at < self.active.len() {
            let command = self.active[at];
            if command.ready <= self.now {
                self.active[at].is_known = true;
                if command.kind == Kind::Read && self.is_buffered(&command) {
                    self.active.remove(at);
                    self.last_read = self.transfer(command.bytes());
                    self.answers.give(command.ticket, self.last_read);
                    continue;
                }
            }
            at += 1;
        }
    }

    fn is_buffered(&mut self, command: &Command) -> bool {
        let segment = self.buffer.find(command.start);
        if let Some(segment) = segment.filter(|segment| self.buffer.get(*segment).end >= command.end) {
            self.buffer.hit(segment, command.end);
            return true;
        }
        self.cache.has(command.start, command.end)
    }

    /// Keeps the head busy until then, and completes the request with it.
    pub(super) fn begin(&mut self, until: u64, work: Work, ticket: Option<Ticket>) {
        self.busy = Some((until, work));
        if let Some(ticket) = ticket {
            self.answers.give(ticket, until);
        }
    }
}
