//! Blocks through a mapping of their file: loads and stores instead of calls.
//! In: block work. Out: its tally.
//! A page that the filesystem cannot provide kills the worker by SIGBUS; its slot holds the last accessed position.
#![allow(unsafe_code)]

use crate::blocks::BlockWork;
use crate::hash::{below, mix_all};
use crate::movers::Mover;
use crate::ops::{Act, Op};
use crate::pace::Pacer;
use crate::shared::Count;
use crate::space::Place;
use crate::sys::{self, Answer, Errno};
use crate::tally::Tally;

/// The mapped file; one at a time.
#[derive(Default)]
pub struct Mapping {
    mapped: Option<Map>,
    since_sync: u64,
}

struct Map {
    file: u64,
    start: *mut u8,
    length: usize,
}

impl Map {
    fn new(work: &mut BlockWork, place: Place, tally: &mut Tally) -> Answer<Map> {
        let fd = work.fd(place, tally)?;
        let length = place.offset + work.space.bytes_left(place);
        if sys::stat_open(fd)?.size < length {
            if !work.writes {
                // A load beyond the end of the file would raise SIGBUS.
                return Err(Errno::NODATA);
            }
            sys::truncate(fd, length)?;
        }
        let access = if work.writes { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a fresh mapping of an open file at an address chosen by the kernel.
        let start = unsafe { libc::mmap64(std::ptr::null_mut(), length as usize, access, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(sys::last_errno());
        }
        Ok(Map { file: place.file, start: start.cast(), length: length as usize })
    }

    fn load(&self, place: Place, to: &mut [u8]) {
        assert!(place.offset as usize + to.len() <= self.length);
        // SAFETY: within the mapping, by the line above; `to` is memory of ours elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(self.start.add(place.offset as usize), to.as_mut_ptr(), to.len()) };
        std::hint::black_box(to);
    }

    fn store(&self, place: Place, from: &[u8]) {
        assert!(place.offset as usize + from.len() <= self.length);
        // SAFETY: within the mapping, by the line above, which is writable wherever steps write.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.start.add(place.offset as usize), from.len()) };
    }

    fn sync(&self) -> Answer<()> {
        // SAFETY: the whole mapping, which is live.
        let r = unsafe { libc::msync(self.start.cast(), self.length, libc::MS_SYNC) };
        if r < 0 { Err(sys::last_errno()) } else { Ok(()) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

impl Mover for Mapping {
    fn run(&mut self, work: &mut BlockWork, tally: &mut Tally, pacer: &mut Pacer) -> Result<(), String> {
        let list = std::mem::take(&mut work.ops.list);
        let mut next = (work.course.from < work.course.to).then_some(work.course.from);
        while let Some(position) = next
            && tally.running()
        {
            let Some(due) = pacer.wait(tally) else { break };
            let start = tally.now;
            let place = work.space.place(work.course.item(position));
            if self.steps(&list, work, place, position, tally) {
                if let Some(histogram) = work.ops.item {
                    tally.span(histogram, start);
                }
                pacer.done(tally, work.ops.response, due);
                tally.items(1);
            }
            next = work.course.after(position, work.task.repeats());
        }
        if work.io.fsync_on_close
            && let Some(map) = &self.mapped
            && let Err(errno) = map.sync()
        {
            tally.fail("sync", work.path(map.file), None, errno);
        }
        self.mapped = None;
        tally.slot().set(Count::CurrentFile, 0);
        work.ops.list = list;
        work.close_all(tally);
        Ok(())
    }
}

impl Mapping {
    fn steps(&mut self, list: &[Op], work: &mut BlockWork, place: Place, position: u64, tally: &mut Tally) -> bool {
        for op in list {
            if let Act::Share(percent, number, inner) = &op.act {
                let chosen = mix_all(&[work.task.program.seed, *number, position]);
                if below(chosen, 100) < u64::from(*percent) && !self.steps(inner, work, place, position, tally) {
                    return false;
                }
                continue;
            }
            if work.io.read_percent.is_some() && !work.is_chosen(&op.act, position) {
                continue;
            }
            if let Err(errno) = self.act(op, work, place, position, tally) {
                tally.skip();
                tally.fail(op.name, work.path(place.file), Some(place.offset), errno);
                return false;
            }
        }
        true
    }

    fn act(&mut self, op: &Op, work: &mut BlockWork, place: Place, position: u64, tally: &mut Tally) -> Answer<()> {
        if self.mapped.as_ref().is_none_or(|m| m.file != place.file) {
            if let (Some(old), true) = (&self.mapped, work.io.fsync_on_close) {
                old.sync()?;
            }
            self.mapped = None;
            self.mapped = Some(Map::new(work, place, tally)?);
        }
        let Some(map) = &self.mapped else { return Err(Errno::BADF) };
        // Stored plus one; 0 means that no access is in progress.
        tally.slot().set(Count::CurrentFile, place.file + 1);
        tally.slot().set(Count::CurrentOffset, place.offset);
        match op.act {
            Act::Read => {
                map.load(place, &mut work.buffer[..place.length]);
                tally.read(place.length);
            }
            Act::Write => {
                if work.make_block(place, position) {
                    tally.skip();
                }
                map.store(place, &work.buffer[..place.length]);
                tally.written(place.length);
            }
            Act::Modify => {
                work.modify();
                return Ok(());
            }
            Act::Sync(_) => map.sync()?,
            _ => return Err(Errno::INVAL),
        }
        tally.lap(op.histogram);
        work.fold(op.histogram, place, tally);
        if matches!(op.act, Act::Read) {
            work.check_buffer(place, tally);
            tally.skip();
        }
        self.sync_if_due(work, tally)
    }

    fn sync_if_due(&mut self, work: &BlockWork, tally: &mut Tally) -> Answer<()> {
        let Some((_, every)) = work.io.sync_every else { return Ok(()) };
        self.since_sync += 1;
        if self.since_sync >= every {
            self.since_sync = 0;
            if let Some(map) = &self.mapped {
                map.sync()?;
                tally.lap(work.ops.sync);
            }
        }
        Ok(())
    }
}
