//! Bytes through the C library's buffered streams, one putc or getc each, as Bonnie++ 1.03 does it.
//! In: block work whose blocks are single bytes. Out: its tally.
//! A character takes a few nanoseconds, less than reading a clock, so latency is recorded for every 4,096 of them: about one
//! buffer of the stream, and so about one system call.
#![allow(unsafe_code)]

use crate::blocks::BlockWork;
use crate::movers::Mover;
use crate::ops::Act;
use crate::pace::Pacer;
use crate::space::Place;
use crate::sys::{self, Answer, Errno, Fd};
use crate::tally::Tally;

/// Characters between two readings of the clock.
const CHARACTERS: u64 = 4096;

/// A stream over its own descriptor.
struct Stream(*mut libc::FILE);

impl Stream {
    fn new(fd: Fd, writes: bool, offset: u64) -> Answer<Stream> {
        sys::seek(fd, offset)?;
        // SAFETY: `dup` takes a number; the copy belongs to the stream, which closes it.
        let own = unsafe { libc::dup(fd) };
        if own < 0 {
            return Err(sys::last_errno());
        }
        let mode = if writes { c"w" } else { c"r" };
        // SAFETY: `own` is a fresh descriptor and `mode` a C string. fdopen does not truncate.
        let stream = unsafe { libc::fdopen(own, mode.as_ptr()) };
        if stream.is_null() { Err(sys::last_errno()) } else { Ok(Stream(stream)) }
    }

    #[inline]
    fn put(&mut self, byte: u8) -> Answer<()> {
        // SAFETY: the stream is open until `close`.
        if unsafe { libc::fputc(i32::from(byte), self.0) } == libc::EOF { Err(sys::last_errno()) } else { Ok(()) }
    }

    #[inline]
    fn get(&mut self) -> Answer<()> {
        // SAFETY: the stream is open until `close`.
        if unsafe { libc::fgetc(self.0) } != libc::EOF {
            return Ok(());
        }
        // SAFETY: as above.
        Err(if unsafe { libc::ferror(self.0) } != 0 { sys::last_errno() } else { Errno::NODATA })
    }

    fn close(self) -> Answer<()> {
        // SAFETY: the stream is open, and `self` is gone afterwards.
        if unsafe { libc::fclose(self.0) } == libc::EOF { Err(sys::last_errno()) } else { Ok(()) }
    }
}

/// Writes or reads every byte in order; streams have no rate limit.
pub struct Streams;

impl Mover for Streams {
    fn run(&mut self, work: &mut BlockWork, tally: &mut Tally, _pacer: &mut Pacer) -> Result<(), String> {
        let op = work.ops.list[0].clone();
        let writes = matches!(op.act, Act::Write);
        let mut position = work.course.from;
        let mut current: Option<(u64, Stream)> = None;
        while position < work.course.to && tally.running() {
            let place = work.space.place(work.course.item(position));
            let run = CHARACTERS.min(work.course.to - position);
            match stretch(work, &mut current, place, run, writes, position, tally) {
                Ok(done) => {
                    tally.lap(op.histogram);
                    work.fold(op.histogram, Place { length: done as usize, ..place }, tally);
                    if writes {
                        tally.written(done as usize)
                    } else {
                        tally.read(done as usize)
                    }
                    tally.items(done);
                    position += done;
                }
                Err(errno) => {
                    tally.skip();
                    tally.fail(op.name, work.path(place.file), Some(place.offset), errno);
                    position += run;
                }
            }
        }
        if let Some((file, stream)) = current.take()
            && let Err(errno) = stream.close()
        {
            tally.fail("close", work.path(file), None, errno);
        }
        work.close_all(tally);
        Ok(())
    }
}

/// Processes up to `run` characters, to the end of the file at most.
fn stretch(
    work: &mut BlockWork,
    current: &mut Option<(u64, Stream)>,
    place: Place,
    run: u64,
    writes: bool,
    position: u64,
    tally: &mut Tally,
) -> Answer<u64> {
    if current.as_ref().is_none_or(|(file, _)| *file != place.file) {
        if let Some((_, stream)) = current.take() {
            stream.close()?;
        }
        let fd = work.fd(place, tally)?;
        *current = Some((place.file, Stream::new(fd, writes, place.offset)?));
    }
    let Some((_, stream)) = current else { return Err(Errno::BADF) };
    let done = work.space.bytes_left(place).min(run);
    let source = work.source(place, position);
    let mut bytes = [0u8; CHARACTERS as usize];
    let bytes = &mut bytes[..done as usize];
    if writes {
        work.generator.fill(bytes, source, place.offset);
        bytes.iter().try_for_each(|b| stream.put(*b))?;
    } else {
        (0..done).try_for_each(|_| stream.get())?;
    }
    Ok(done)
}
