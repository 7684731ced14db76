//! One worker's measurements: the clock, read once per operation, its counters, histograms, series and errors.
//! In: the return of each step. Out: numbers in the worker's slot of the shared memory.
//! All hot-path cost of measuring is in this file.

use crate::clock::Clock;
use crate::histogram::Recorder;
use crate::process::{self, cpu_of_process, cpu_of_thread};
use crate::shared::{Common, Count, INTERVAL_NS, INTERVAL_WORDS, INTERVALS, Note, Shared, Slot, Stop};
use crate::sys::Errno;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use workload::outcome::{CpuTime, OperationError};
use workload::program::End;

/// Failed operations kept in full, for each worker.
pub const ERRORS_KEPT: u64 = 16;

/// The error's text; includes this process' file size limit if the file exceeded one.
fn answered(errno: Errno) -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    match limit.filter(|_| errno == Errno::FBIG) {
        Some(bytes) => {
            format!("{errno}: the limit for files of this process is {bytes} bytes (RLIMIT_FSIZE, see `ulimit -f`)")
        }
        None => errno.to_string(),
    }
}

/// One worker's measurements.
pub struct Tally<'a> {
    clock: Clock,
    process: bool,
    shared: &'a Shared,
    slot: Slot<'a>,
    stop: &'a AtomicU64,
    recorders: Vec<Recorder<'a>>,
    error_limit: u64,
    /// The last reading of the clock: the end of the previous operation, and so the start of the next.
    pub now: u64,
    items: u64,
    read: u64,
    written: u64,
    hash: u64,
    errors: u64,
    in_time: (u64, u64, u64),
    interval_ns: u64,
    interval: usize,
    next_tick: u64,
    /// Items, bytes, calls and their time in earlier intervals.
    shown: [u64; 4],
    ramp_end: u64,
    end: u64,
    /// Items and slices of the whole work; (0, 1) if it is not divided.
    cut: (u64, u64),
    /// Number of items at which the slice ends.
    slice_end: u64,
    slice: u64,
    /// Time between slices, which is not part of the work.
    apart: u64,
}

impl<'a> Tally<'a> {
    /// A tally that begins at the common start.
    pub fn new(clock: Clock, shared: &'a Shared, worker: usize, histograms: usize, limits: Limits) -> Tally<'a> {
        let slot = shared.slot(worker);
        let start = shared.common(Common::Start).load(Relaxed);
        let (ramp_end, end) = match limits.end {
            End::Work => (0, u64::MAX),
            End::Time { measure_ns, ramp_ns } => (start + ramp_ns, start + ramp_ns + measure_ns),
        };
        slot.set(Count::Begin, start.max(ramp_end));
        let tally = Tally {
            clock,
            process: limits.process,
            shared,
            slot,
            stop: shared.common(Common::Stop),
            recorders: (0..histograms).map(|i| Recorder::new(slot.histogram(i))).collect(),
            error_limit: limits.errors,
            now: clock.now(),
            items: 0,
            read: 0,
            written: 0,
            hash: 0,
            errors: 0,
            in_time: (0, 0, 0),
            interval_ns: INTERVAL_NS,
            interval: 0,
            next_tick: if ramp_end > start { ramp_end } else { start + INTERVAL_NS },
            shown: [0; 4],
            ramp_end: if ramp_end > start { ramp_end } else { 0 },
            end,
            cut: (0, 1),
            slice_end: u64::MAX,
            slice: 0,
            apart: 0,
        };
        tally.mark_cpu();
        tally
    }

    /// Takes the common start for the last reading: what is measured first began with it.
    pub fn count_from_start(&mut self) {
        self.now = self.start();
    }

    /// Divides this worker's items into slices: at the end of each but the last it waits until the next may start.
    pub fn cut(&mut self, items: u64, slices: u32) {
        self.cut = (items, u64::from(slices));
        self.slice_end = self.end_of_slice();
    }

    /// Whether the finished and running items complete the slice.
    #[inline]
    pub fn has_enough(&self, under_way: usize) -> bool {
        self.items.saturating_add(under_way as u64) >= self.slice_end
    }

    fn end_of_slice(&self) -> u64 {
        let (items, slices) = self.cut;
        let next = self.slice + 1;
        if next < slices { (u128::from(items) * u128::from(next) / u128::from(slices)) as u64 } else { u64::MAX }
    }

    /// Reads the clock after a step. Its latency starts at the previous reading.
    #[inline]
    pub fn lap(&mut self, histogram: usize) {
        let now = self.clock.now();
        self.recorders[histogram].record(now.saturating_sub(self.now));
        self.now = now;
    }

    /// Records a time from `start` to the last reading.
    #[inline]
    pub fn span(&mut self, histogram: usize, start: u64) {
        self.recorders[histogram].record(self.now.saturating_sub(start));
    }

    /// Records a time that was measured elsewhere.
    #[inline]
    pub fn span_of(&mut self, histogram: usize, ns: u64) {
        self.recorders[histogram].record(ns);
    }

    /// Reads the clock without recording: the time since the last reading belongs to no step.
    #[inline]
    pub fn skip(&mut self) {
        self.now = self.clock.now();
    }

    /// Counts finished items of a batch; [`Tally::items`] ends the batch.
    #[inline]
    pub fn part_of_batch(&mut self, items: u64) {
        self.items += items;
    }

    /// Counts finished items.
    #[inline]
    pub fn items(&mut self, items: u64) {
        self.items += items;
        if self.now < self.end {
            self.in_time = (self.items, self.read, self.written);
        }
        if self.now >= self.next_tick {
            self.tick();
        }
        while self.items >= self.slice_end {
            self.wait_for_slice();
        }
    }

    /// Counts bytes returned by a read.
    #[inline]
    pub fn read(&mut self, bytes: usize) {
        self.read += bytes as u64;
    }

    /// Counts bytes accepted by a write.
    #[inline]
    pub fn written(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// Adds an operation to the hash of the work; the order does not matter.
    #[inline]
    pub fn fold(&mut self, done: u64) {
        self.hash = self.hash.wrapping_add(done);
    }

    /// Whether to continue: no stop was requested and the time is not over.
    #[inline]
    pub fn running(&self) -> bool {
        self.stop.load(Relaxed) == 0 && self.now < self.end
    }

    /// The common start.
    pub fn start(&self) -> u64 {
        self.shared.common(Common::Start).load(Relaxed)
    }

    /// Whether an operation due at this moment counts, or belongs to the ramp.
    pub fn counts(&self, due: u64) -> bool {
        self.ramp_end == 0 || due >= self.ramp_end
    }

    /// When the phase ends; u64::MAX if it ends with the work.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Counts a failed operation, keeps the first ones in full, and stops all workers if there are too many.
    #[cold]
    pub fn fail(&mut self, step: &str, file: String, offset: Option<u64>, errno: Errno) {
        self.errors += 1;
        if self.errors <= ERRORS_KEPT {
            let message = answered(errno);
            let error = OperationError { step: step.to_owned(), file, offset, errno: errno.raw_os_error(), message };
            self.slot.note(&Note::Error(error));
        }
        let before = self.shared.common(Common::Errors).fetch_add(1, Relaxed);
        if before >= self.error_limit {
            self.shared.stop(Stop::Errors);
        }
    }

    /// Counts a checked block, and what was wrong with it, if anything.
    pub fn checked(&mut self, wrong: Option<String>) {
        self.slot.add(Count::Checked, 1);
        if let Some(wrong) = wrong {
            self.slot.add(Count::Wrong, 1);
            if self.slot.get(Count::Wrong) <= ERRORS_KEPT {
                self.slot.note(&Note::Wrong(wrong));
            }
        }
    }

    /// Notes a remark on the result.
    pub fn remark(&self, text: String) {
        self.slot.note(&Note::Remark(text));
    }

    /// The worker's slot.
    pub fn slot(&self) -> Slot<'a> {
        self.slot
    }

    /// Ends an interval, or the ramp.
    #[cold]
    fn tick(&mut self) {
        if self.ramp_end != 0 {
            self.begin_counting();
            return;
        }
        while self.interval >= INTERVALS {
            self.join_intervals();
        }
        if self.now < self.next_tick {
            return;
        }
        let (items_now, read, written) = self.counted();
        let (calls, calls_ns) = self.recorders.iter().map(Recorder::totals).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let longest = self.recorders.iter_mut().map(Recorder::take_longest).max().unwrap_or(0);
        if let Some(words) = self.slot.interval(self.interval) {
            let now = [items_now, read + written, calls, calls_ns];
            for (word, (now, shown)) in words.iter().zip(now.iter().zip(self.shown)) {
                word.store(now.saturating_sub(shown), Relaxed);
            }
            words[INTERVAL_WORDS - 1].store(longest, Relaxed);
            self.slot.set(Count::Intervals, self.interval as u64 + 1);
            self.shown = now;
        }
        // Intervals in which nothing returned stay zero.
        let missed = (self.now - self.next_tick) / self.interval_ns + 1;
        self.interval += missed as usize;
        self.next_tick += missed * self.interval_ns;
        self.flush();
    }

    /// Joins the intervals of a full series, whose length doubles. The first half of one may not be over yet.
    fn join_intervals(&mut self) {
        self.slot.join_intervals();
        if self.interval.is_multiple_of(2) {
            self.next_tick += self.interval_ns;
        }
        self.interval /= 2;
        self.interval_ns *= 2;
    }

    /// Ends a slice: waits until the next may start, and excludes that time.
    #[cold]
    fn wait_for_slice(&mut self) {
        self.flush();
        self.slice += 1;
        self.slot.set(Count::Slices, self.slice);
        self.arrive();
        let slice = self.shared.common(Common::Slice);
        let mut current = slice.load(Acquire);
        while current < self.slice && self.stop.load(Relaxed) == 0 {
            process::wait_while(slice, current as u32);
            current = slice.load(Acquire);
        }
        let now = self.clock.now();
        let apart = now.saturating_sub(self.now);
        self.apart += apart;
        self.next_tick += apart;
        self.now = now;
        self.slice_end = self.end_of_slice();
    }

    fn arrive(&self) {
        let arrivals = self.shared.common(Common::Arrivals);
        arrivals.fetch_add(1, AcqRel);
        process::wake(arrivals);
    }

    /// Ends the ramp: discards what was counted so far.
    fn begin_counting(&mut self) {
        self.next_tick = self.ramp_end + self.interval_ns;
        self.ramp_end = 0;
        (self.items, self.read, self.written, self.hash) = (0, 0, 0, 0);
        (self.shown, self.in_time) = ([0; 4], (0, 0, 0));
        self.recorders.iter_mut().for_each(Recorder::clear);
        self.slot.clear_series();
        for count in [Count::Late, Count::Started, Count::Checked, Count::Wrong] {
            self.slot.set(count, 0);
        }
        // CPU time of the ramp is subtracted from the worker's final value.
        self.mark_cpu();
        self.flush();
    }

    /// Subtracts the CPU time so far from the value of [`Tally::finish`].
    fn mark_cpu(&self) {
        let cpu = self.cpu();
        self.slot.set(Count::User, 0u64.wrapping_sub(cpu.user_ns));
        self.slot.set(Count::System, 0u64.wrapping_sub(cpu.system_ns));
    }

    fn cpu(&self) -> CpuTime {
        if self.process { cpu_of_process() } else { cpu_of_thread() }
    }

    /// Items and bytes that count: in a phase that ends by time, those that returned within it. Operations running at its end are in the
    /// histograms, so that a stall there is visible, but in no rate.
    fn counted(&self) -> (u64, u64, u64) {
        if self.end == u64::MAX { (self.items, self.read, self.written) } else { self.in_time }
    }

    fn flush(&mut self) {
        let (items, read, written) = self.counted();
        self.slot.set(Count::Items, items);
        self.slot.set(Count::Read, read);
        self.slot.set(Count::Written, written);
        self.slot.set(Count::Hash, self.hash);
        self.slot.set(Count::End, self.now.min(self.end).saturating_sub(self.apart));
        self.recorders.iter().for_each(Recorder::flush);
    }

    /// Ends the work.
    pub fn finish(mut self) {
        // A last partial interval is left out: it gives no rate.
        self.flush();
        let cpu = self.cpu();
        self.slot.add(Count::User, cpu.user_ns);
        self.slot.add(Count::System, cpu.system_ns);
        self.slot.set(Count::Finished, 1);
        if self.cut.1 > 1 {
            self.arrive();
        }
    }
}

/// What ends or limits a worker.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// When the phase ends.
    pub end: End,
    /// Tolerated failed operations.
    pub errors: u64,
    /// The worker is a process, so all of the process' CPU time is its own.
    pub process: bool,
}
