//! Blocks through io_uring, many in flight at a time: registered files and buffers, submitted and reaped in batches.
//! In: block work and a depth. Out: its tally.
//! An operation's latency runs from the submission of its batch until its completion is seen.
#![allow(unsafe_code)]

use crate::blocks::BlockWork;
use crate::movers::Mover;
use crate::ops::{Act, Op};
use crate::pace::Pacer;
use crate::region::Buffer;
use crate::space::Place;
use crate::sys::Errno;
use crate::tally::Tally;
use io_uring::{IoUring, opcode, squeue, types};

/// Most files of one ring; all are open at once.
pub const FILES: u64 = 1024;

/// Longest wait for a completion, so that a stop is noticed.
const WAIT_NS: u64 = 100_000_000;

/// A ring, its buffers, and its operations in flight. The ring is dropped before its registered buffers.
pub struct Ring {
    ring: IoUring,
    buffers: Buffer,
    block: usize,
    flags: [i32; 2],
    fixed_buffers: bool,
    slots: Vec<Slot>,
    free: Vec<u32>,
    prepared: Vec<u32>,
    reaped: Vec<(u32, i32)>,
}

/// One operation in flight.
#[derive(Clone, Copy)]
struct Slot {
    place: Place,
    done: usize,
    op: u32,
    writes: bool,
    started: u64,
    due: u64,
}

const IDLE: Slot =
    Slot { place: Place { file: 0, offset: 0, length: 0 }, done: 0, op: 0, writes: false, started: 0, due: 0 };

impl Mover for Ring {
    fn run(&mut self, work: &mut BlockWork, tally: &mut Tally, pacer: &mut Pacer) -> Result<(), String> {
        let list = std::mem::take(&mut work.ops.list);
        let registered = self.open_files(work, tally);
        let answer = match registered {
            Ok(()) => self.turn(&list, work, tally, pacer),
            Err((file, errno)) => {
                tally.skip();
                tally.fail("open", work.path(file), None, errno);
                Ok(())
            }
        };
        work.ops.list = list;
        let _ = self.ring.submitter().unregister_files();
        work.close_all(tally);
        answer
    }
}

impl Ring {
    /// Sets up a ring before the clock starts.
    pub fn new(work: &BlockWork, depth: u32) -> Result<Ring, String> {
        if work.space.files() > FILES {
            return Err(format!(
                "io_uring over {} files; at most {FILES} can be open at once: use fewer and larger files",
                work.space.files()
            ));
        }
        let failed = |e: std::io::Error| {
            format!(
                "setting up an io_uring of depth {depth}: {e}; kernel.io_uring_disabled or a seccomp filter may forbid it, \
                 or the limit on locked memory (ulimit -l) is too low"
            )
        };
        let ring = build(depth).map_err(failed)?;
        // Buffers are page-aligned for direct I/O.
        let block = (work.block as usize).next_multiple_of(4096);
        let buffers = Buffer::new(block * depth as usize)
            .map_err(|e| format!("no memory for {depth} blocks of {block} bytes: {e}"))?;
        let vectors: Vec<libc::iovec> = (0..depth as usize)
            .map(|i| libc::iovec { iov_base: buffers[i * block..].as_ptr().cast_mut().cast(), iov_len: block })
            .collect();
        // SAFETY: the buffers live as long as the ring: both belong to `Ring`, and the ring is dropped first.
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        let free = (0..depth).rev().collect();
        Ok(Ring {
            ring,
            buffers,
            block,
            flags: [work.call_flags & !crate::ops::RWF_ATOMIC, work.call_flags],
            fixed_buffers,
            slots: vec![IDLE; depth as usize],
            free,
            prepared: Vec::with_capacity(depth as usize),
            reaped: Vec::with_capacity(depth as usize),
        })
    }

    fn open_files(&mut self, work: &mut BlockWork, tally: &mut Tally) -> Result<(), (u64, Errno)> {
        let mut files = Vec::new();
        for file in 0..work.space.files() {
            let place = Place { file, offset: 0, length: 0 };
            files.push(work.fd(place, tally).map_err(|e| (file, e))?);
        }
        let failed = |e: std::io::Error| (0, Errno::from_io_error(&e).unwrap_or(Errno::IO));
        self.ring.submitter().register_files(&files).map_err(failed)
    }

    fn turn(&mut self, list: &[Op], work: &mut BlockWork, tally: &mut Tally, pacer: &mut Pacer) -> Result<(), String> {
        let mut next = (work.course.from < work.course.to).then_some(work.course.from);
        let mut due = None;
        tally.skip();
        loop {
            if !tally.running() {
                next = None;
            }
            self.fill(list, work, tally, pacer, &mut next, &mut due);
            let idle = self.free.len() == self.slots.len();
            if idle && next.is_none() {
                return Ok(());
            }
            self.enter(idle, due, tally)?;
            tally.skip();
            self.reap(list, work, tally, pacer);
        }
    }

    /// Prepares as many operations as there is room for and, with a rate, as are due.
    fn fill(
        &mut self,
        list: &[Op],
        work: &mut BlockWork,
        tally: &mut Tally,
        pacer: &mut Pacer,
        next: &mut Option<u64>,
        due: &mut Option<u64>,
    ) {
        while let (Some(position), Some(number)) = (*next, self.free.last().copied())
            && !tally.has_enough(self.slots.len() - self.free.len())
        {
            if pacer.is_open() {
                let when = match *due {
                    Some(when) => when,
                    None => pacer.next(tally.start()).unwrap_or(0),
                };
                *due = Some(when);
                if when >= tally.end() {
                    *next = None;
                    break;
                }
                if when > tally.now {
                    break;
                }
                pacer.start(tally, tally.now, when);
            }
            self.free.pop();
            self.prepare(number, list, work, position, due.take().unwrap_or(0));
            *next = work.course.after(position, work.task.repeats());
        }
        if work.writes && !self.prepared.is_empty() {
            // Data was generated since the last reading; that is no part of the operations' latency.
            tally.skip();
        }
        let now = tally.now;
        for number in self.prepared.drain(..) {
            self.slots[number as usize].started = now;
        }
    }

    fn prepare(&mut self, number: u32, list: &[Op], work: &mut BlockWork, position: u64, due: u64) {
        let place = work.space.place(work.course.item(position));
        let op = match work.io.read_percent {
            Some(_) => list.iter().position(|op| work.is_chosen(&op.act, position)).unwrap_or(0),
            None => 0,
        };
        let writes = matches!(list[op].act, Act::Write);
        if writes {
            let source = work.source(place, position);
            let from = number as usize * self.block;
            work.generator.fill(&mut self.buffers[from..from + place.length], source, place.offset);
        }
        self.slots[number as usize] = Slot { place, done: 0, op: op as u32, writes, started: 0, due };
        self.prepared.push(number);
        self.push(number);
    }

    fn push(&mut self, number: u32) {
        let slot = self.slots[number as usize];
        let file = types::Fixed(slot.place.file as u32);
        let from = number as usize * self.block + slot.done;
        let start = self.buffers[from..].as_mut_ptr();
        let length = (slot.place.length - slot.done) as u32;
        let offset = slot.place.offset + slot.done as u64;
        let buffer = number as u16;
        let flags = self.flags[usize::from(slot.writes)];
        let entry = match (slot.writes, self.fixed_buffers) {
            (false, true) => opcode::ReadFixed::new(file, start, length, buffer).offset(offset).rw_flags(flags).build(),
            (true, true) => opcode::WriteFixed::new(file, start, length, buffer).offset(offset).rw_flags(flags).build(),
            (false, false) => opcode::Read::new(file, start, length).offset(offset).rw_flags(flags).build(),
            (true, false) => opcode::Write::new(file, start, length).offset(offset).rw_flags(flags).build(),
        };
        self.submit_entry(&entry.user_data(u64::from(number)));
    }

    fn submit_entry(&mut self, entry: &squeue::Entry) {
        // SAFETY: the entry's buffer is the slot's own part of `buffers`, which nothing else touches until the slot's
        // completion has been reaped. The queue has an entry for every slot, so it is never full.
        let pushed = unsafe { self.ring.submission().push(entry) };
        debug_assert!(pushed.is_ok());
    }

    /// Submits prepared operations and waits for a completion, or until the next operation is due.
    fn enter(&mut self, idle: bool, due: Option<u64>, tally: &Tally) -> Result<(), String> {
        let answer = if let Some(due) = due {
            let wait = due.saturating_sub(tally.now).clamp(1, WAIT_NS);
            let limit = types::Timespec::new().nsec(wait as u32);
            let arguments = types::SubmitArgs::new().timespec(&limit);
            self.ring.submitter().submit_with_args(1, &arguments)
        } else {
            self.ring.submit_and_wait(usize::from(!idle))
        };
        match answer.map_err(|e| e.raw_os_error()) {
            Ok(_) | Err(Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => Ok(()),
            Err(errno) => Err(format!("io_uring_enter: {}", errno.map_or(Errno::IO, Errno::from_raw_os_error))),
        }
    }

    fn reap(&mut self, list: &[Op], work: &mut BlockWork, tally: &mut Tally, pacer: &mut Pacer) {
        let mut reaped = std::mem::take(&mut self.reaped);
        reaped.extend(self.ring.completion().map(|c| (c.user_data() as u32, c.result())));
        for (number, result) in reaped.drain(..) {
            self.complete(number, result, list, work, tally, pacer);
        }
        self.reaped = reaped;
        tally.items(0);
    }

    fn complete(
        &mut self,
        number: u32,
        result: i32,
        list: &[Op],
        work: &mut BlockWork,
        tally: &mut Tally,
        pacer: &mut Pacer,
    ) {
        let slot = &mut self.slots[number as usize];
        let op = &list[slot.op as usize];
        if result > 0 {
            slot.done += result as usize;
            if slot.done < slot.place.length {
                self.push(number);
                return;
            }
        }
        let slot = *slot;
        self.free.push(number);
        if result <= 0 {
            let errno = match result {
                0 if slot.writes => libc::ENOSPC,
                0 => libc::ENODATA,
                negative => -negative,
            };
            tally.fail(op.name, work.path(slot.place.file), Some(slot.place.offset), Errno::from_raw_os_error(errno));
            return;
        }
        tally.span(op.histogram, slot.started);
        pacer.done(tally, work.ops.response, slot.due);
        work.fold(op.histogram, slot.place, tally);
        if slot.writes {
            tally.written(slot.done);
        } else {
            tally.read(slot.done);
            let from = number as usize * self.block;
            work.check(&self.buffers[from..from + slot.place.length], slot.place, tally);
        }
        if let Err(errno) = work.sync_if_due(slot.place, tally) {
            tally.fail("sync", work.path(slot.place.file), None, errno);
        }
        tally.part_of_batch(1);
    }
}

/// A ring for one thread; the flags save interrupts and locks, and are left out if the kernel does not know them.
fn build(depth: u32) -> std::io::Result<IoUring> {
    let entries = depth.next_power_of_two();
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(entries)
        .or_else(|_| IoUring::builder().setup_coop_taskrun().build(entries))
        .or_else(|_| IoUring::new(entries))
}
