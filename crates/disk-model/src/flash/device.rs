//! A simulated flash disk.
//! In: requests. Out: the time when each completes.
//!
//! A read's path is known when it arrives: controller, die, channel, interface, each as soon as it is free. A write completes when it is in
//! the buffer. The buffer is programmed to free dies, in turn: to the SLC cache while it has space, then directly.

use super::dies::Dies;
use super::lanes::Lane;
use super::{Flash, passing};
use crate::device::{Answers, Kind, Request, Ticket, Works};
use std::collections::VecDeque;

/// A write that waits for space in the buffer.
#[derive(Debug, Clone, Copy)]
struct Writer {
    ticket: Ticket,
    /// Bytes that are not in the buffer yet.
    left: u64,
    ready: u64,
}

#[derive(Debug, Clone, Copy)]
struct Flush {
    ticket: Ticket,
    /// All bytes accepted into the buffer up to here must be in started programs, and these must be finished.
    bytes: u64,
    programs: Option<u64>,
    ready: u64,
}

/// A simulated flash disk.
#[derive(Debug)]
pub(crate) struct FlashDevice {
    flash: Flash,
    now: u64,
    waiting: VecDeque<(Ticket, Request)>,
    inside: usize,
    answers: Answers,
    controller: u64,
    /// Lanes to and from the host; one for both unless it is full duplex.
    out: Lane,
    incoming: Lane,
    channels: Vec<Lane>,
    dies: Dies,
    writers: VecDeque<Writer>,
    flushes: VecDeque<Flush>,
    /// Bytes in the buffer, including those in running programs.
    buffered: u64,
    /// Bytes accepted into the buffer, fully arrived there, and in started programs, since the start.
    taken: u64,
    arriving: VecDeque<(u64, u64)>,
    arrived: u64,
    begun: u64,
    /// A flush needs all bytes up to here, even if they do not fill a unit.
    wanted: u64,
    slc_used: f64,
    /// Time of the last update of the SLC cache, and of the end of the last command.
    looked: u64,
    last_work: u64,
}

impl Works for FlashDevice {
    fn submit(&mut self, at: u64, ticket: Ticket, request: Request) {
        self.run(at);
        self.waiting.push_back((ticket, request));
        self.admit();
    }

    fn decision(&self) -> Option<u64> {
        let requests_wait = !(self.writers.is_empty() && self.flushes.is_empty() && self.waiting.is_empty());
        if requests_wait { self.event() } else { None }
    }

    fn first_answer(&self) -> Option<u64> {
        self.answers.first()
    }

    fn run(&mut self, to: u64) {
        while let Some(at) = self.event().filter(|at| *at <= to) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = self.now.max(to);
    }

    fn take(&mut self, until: u64) -> Vec<(Ticket, u64)> {
        self.answers.take(until)
    }
}

impl FlashDevice {
    pub fn new(flash: Flash, chance: u64) -> FlashDevice {
        let dies = flash.dies();
        FlashDevice {
            now: 0,
            waiting: VecDeque::new(),
            inside: 0,
            answers: Answers::default(),
            controller: 0,
            out: Lane::default(),
            incoming: Lane::default(),
            channels: (0..flash.channels).map(|_| Lane::default()).collect(),
            dies: Dies::new(dies, (chance % dies as u64) as usize),
            writers: VecDeque::new(),
            flushes: VecDeque::new(),
            buffered: 0,
            taken: 0,
            arriving: VecDeque::new(),
            arrived: 0,
            begun: 0,
            wanted: 0,
            slc_used: 0.0,
            looked: 0,
            last_work: 0,
            flash,
        }
    }

    fn event(&self) -> Option<u64> {
        let arrival = self.arriving.front().map(|(at, _)| *at);
        let flush = self.flushes.front().map(|flush| flush.ready).filter(|ready| *ready > self.now);
        let free = if self.has_unit() { self.dies.first_free() } else { None };
        self.answers.coming().into_iter().chain(arrival).chain(flush).chain(self.dies.first_end()).chain(free).min()
    }

    fn step(&mut self) {
        while self.answers.notice(self.now) {
            self.inside -= 1;
            self.last_work = self.now;
        }
        while let Some((_, bytes)) = self.arriving.front().copied().filter(|(at, _)| *at <= self.now) {
            self.arriving.pop_front();
            self.arrived += bytes;
        }
        self.buffered -= self.dies.finish(self.now);
        self.admit();
        self.let_writers_in();
        self.program();
        self.answer_flushes();
    }

    fn admit(&mut self) {
        while self.inside < self.flash.queue {
            let Some((ticket, request)) = self.waiting.pop_front() else { return };
            self.inside += 1;
            self.take_in(ticket, request);
        }
    }

    fn take_in(&mut self, ticket: Ticket, request: Request) {
        self.free_slc();
        self.controller = self.controller.max(self.now) + self.flash.command;
        let ready = self.controller;
        match request.kind {
            Kind::Read => self.read(ticket, request.offset, request.length.max(1), ready + self.flash.read_latency),
            Kind::Write => {
                let ready = ready + self.flash.write_latency;
                self.writers.push_back(Writer { ticket, left: request.length.max(1), ready });
                self.let_writers_in();
                self.program();
            }
            Kind::Flush if self.flash.protected => self.answers.give(ticket, ready + self.flash.flush),
            Kind::Flush => {
                self.flushes.push_back(Flush { ticket, bytes: self.taken, programs: None, ready });
                self.wanted = self.taken;
                self.program();
                self.answer_flushes();
            }
            Kind::Discard => self.answers.give(ticket, ready + self.flash.discard),
        }
    }

    /// Each page from its die over its channel, then all pages over the interface.
    fn read(&mut self, ticket: Ticket, offset: u64, length: u64, ready: u64) {
        let (page, end) = (self.flash.page, offset + length);
        let mut done = ready;
        for number in offset / page..end.div_ceil(page) {
            let bytes = end.min((number + 1) * page) - offset.max(number * page);
            let die = (number % self.dies.count() as u64) as usize;
            let sensed = self.dies.read(&self.flash, die, ready);
            let channel = die % self.flash.channels;
            let read = self.channels[channel].reserve(self.now, sensed, passing(bytes, self.flash.bus));
            done = done.max(self.out.reserve(self.now, read, passing(bytes, self.flash.rate)));
        }
        self.answers.give(ticket, done);
    }

    /// Writes enter the buffer in the order of their arrival, as far as there is space; a larger one enters in parts.
    fn let_writers_in(&mut self) {
        while let Some(first) = self.writers.front_mut() {
            let room = self.flash.buffer - self.buffered;
            // A part is transferred only if it is at least a unit.
            let bytes = first.left.min(room);
            if bytes == 0 || (bytes < first.left && bytes < self.flash.unit) {
                return;
            }
            first.left -= bytes;
            let (ticket, left) = (first.ticket, first.left);
            let length = passing(bytes, self.flash.rate);
            let lane = if self.flash.full_duplex { &mut self.incoming } else { &mut self.out };
            let at = lane.reserve(self.now, first.ready.max(self.now), length);
            self.buffered += bytes;
            self.taken += bytes;
            // A later reservation may be transferred earlier, in a gap; it counts as arrived only with the reservations before it.
            let at = at.max(self.arriving.back().map_or(0, |(last, _)| *last));
            self.arriving.push_back((at, bytes));
            if left == 0 {
                self.writers.pop_front();
                self.answers.give(ticket, at);
            }
        }
    }

    /// Whether the buffer has something to program.
    fn has_unit(&self) -> bool {
        let there = self.arrived - self.begun;
        there >= self.flash.unit || (there > 0 && self.begun < self.wanted && self.arrived >= self.wanted)
    }

    fn program(&mut self) {
        while self.has_unit() {
            let Some(die) = self.dies.free(self.now) else { return };
            let bytes = (self.arrived - self.begun).min(self.flash.unit);
            let channel = die % self.flash.channels;
            let over = self.channels[channel].reserve(self.now, self.now, passing(bytes, self.flash.bus));
            let end = over + self.program_time(bytes);
            self.dies.begin(die, bytes, end);
            self.begun += bytes;
        }
    }

    fn program_time(&mut self, bytes: u64) -> u64 {
        if self.slc_used + bytes as f64 <= self.flash.slc as f64 {
            self.slc_used += bytes as f64;
            return self.flash.slc_program;
        }
        (self.flash.program as f64 * self.flash.amplification) as u64
    }

    /// Accounts for the part of the SLC cache that was moved to its final place during idle time.
    fn free_slc(&mut self) {
        let from = self.looked.max(self.last_work + self.flash.idle);
        if self.now > from && self.inside == 1 {
            let freed = (self.now - from) as f64 / 1e9 * self.flash.fold;
            self.slc_used = (self.slc_used - freed).max(0.0);
        }
        self.looked = self.now;
    }

    fn answer_flushes(&mut self) {
        while let Some(first) = self.flushes.front_mut() {
            if self.begun < first.bytes {
                return;
            }
            let number = *first.programs.get_or_insert(self.dies.next_number());
            if first.ready > self.now || self.dies.works_before(number) {
                return;
            }
            let ticket = first.ticket;
            self.flushes.pop_front();
            self.answers.give(ticket, self.now + self.flash.flush);
        }
    }
}
