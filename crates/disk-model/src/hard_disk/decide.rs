//! Chooses the next work of the head.
//! In: the queue, the cache and the arm's position, when the head becomes free. Out: the work that it starts.
//!
//! Reads, and writes of a disk without write cache, go first: the queued one that is soonest under its head, unless one has waited too
//! long. Cached writes are written after a while without reads, or at once if a request waits for one or the cache is half full. A limited
//! number of reads in a row goes before a write that a request waits for.

use super::device::{Command, HardDiskDevice, Work};
use crate::device::Kind;

impl HardDiskDevice {
    pub(super) fn decide(&mut self, now: u64) {
        if self.busy.is_some() {
            return;
        }
        let is_writing_due = self.destage_due().is_some_and(|due| due <= now);
        let is_writes_turn = is_writing_due && self.is_waited_for() && self.in_row >= self.disk.reads_in_row;
        match self.choose(now).filter(|_| !is_writes_turn) {
            Some(at) => self.serve(at, now),
            None if is_writing_due => self.destage(now),
            None => {}
        }
    }

    /// Whether a request waits for a cached write to reach the platters.
    fn is_waited_for(&self) -> bool {
        !self.writers.is_empty() || self.flush_before().is_some()
    }

    /// The earliest time to write a cached piece.
    pub(super) fn destage_due(&self) -> Option<u64> {
        let (_, oldest) = self.cache.oldest()?;
        let is_urgent = self.is_waited_for() || self.cache.is_half_full();
        Some(if is_urgent { oldest.since } else { oldest.since.max(self.last_read + self.disk.idle) })
    }

    /// Index in the queue of the next command.
    fn choose(&self, now: u64) -> Option<usize> {
        let is_ready = |command: &Command| command.ready <= now;
        let first = self.active.iter().position(is_ready)?;
        if now.saturating_sub(self.active[first].arrived) > self.disk.age_limit {
            return Some(first);
        }
        let ready = self.active.iter().enumerate().filter(|(_, command)| is_ready(command));
        ready.min_by_key(|(_, command)| self.until(command, now)).map(|(at, _)| at)
    }

    /// The first sector that must come from the platters, and since when the head moves towards it.
    fn missing(&self, command: &Command, now: u64) -> (u64, u64) {
        let segment = if command.kind == Kind::Read { self.buffer.find(command.start) } else { None };
        let Some(segment) = segment else { return (command.start, now) };
        let from = self.buffer.get(segment).end;
        match self.buffer.stream {
            Some(stream) if stream.segment == segment => (from, stream.time),
            _ => (from, now),
        }
    }

    /// Nanoseconds until a command's first sector is under the head; 0 if it is passing.
    fn until(&self, command: &Command, now: u64) -> u64 {
        let (from, begun) = self.missing(command, now);
        let place = if from == command.start { command.place } else { self.disk.geometry.place(from) };
        let time = self.disk.position(self.arm, begun, &place, command.kind == Kind::Write);
        (begun + time).saturating_sub(now)
    }

    fn serve(&mut self, at: usize, now: u64) {
        let command = self.active.remove(at);
        let (from, begun) = self.missing(&command, now);
        let is_write = command.kind == Kind::Write;
        let (_, until) = self.disk.run(&mut self.arm, begun, (from, command.end), is_write, u64::MAX);
        self.in_row += 1;
        self.buffer.stream = None;
        let read = Work::Read { start: command.start, end: command.end };
        self.begin(until, if is_write { Work::Write } else { read }, Some(command.ticket));
    }

    fn destage(&mut self, now: u64) {
        let Some((oldest, piece)) = self.cache.oldest() else { return };
        let is_late = now.saturating_sub(piece.since) > self.disk.cache_age_limit;
        let start = if is_late { oldest } else { self.nearest(now).unwrap_or(oldest) };
        let Some(piece) = self.cache.begin(start) else { return };
        let (_, until) = self.disk.run(&mut self.arm, now, (start, piece.end), true, u64::MAX);
        self.in_row = 0;
        self.buffer.stream = None;
        self.begin(until, Work::Destage, None);
    }

    /// Of the pieces near the head, the one that is soonest under it.
    fn nearest(&self, now: u64) -> Option<u64> {
        let here = self.disk.geometry.first_sector(self.arm.cylinder);
        let before = self.flush_before().unwrap_or(u64::MAX);
        let near = self.cache.near(here, self.disk.window, now, before);
        let time = |start: u64| self.disk.position(self.arm, now, &self.disk.geometry.place(start), true);
        near.map(|(start, _)| start).min_by_key(|start| time(*start))
    }
}
