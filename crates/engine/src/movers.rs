//! Ways to move blocks between memory and the kernel: system calls, io_uring, mappings, the C library's streams.
//! In: a group's I/O settings and work on blocks. Out: the mover for them.
//! To add one, write another file and a line in [`of`].

use crate::blocks::BlockWork;
use crate::mapped::Mapping;
use crate::pace::Pacer;
use crate::stdio::Streams;
use crate::tally::Tally;
use crate::uring::Ring;
use workload::program::Engine;

/// A way to move blocks.
pub trait Mover {
    /// Moves all blocks of one worker; latencies and bytes go into the tally, and each block starts when the pacer allows it.
    fn run(&mut self, work: &mut BlockWork, tally: &mut Tally, pacer: &mut Pacer) -> Result<(), String>;
}

/// One system call for each step.
struct Calls;

impl Mover for Calls {
    fn run(&mut self, work: &mut BlockWork, tally: &mut Tally, pacer: &mut Pacer) -> Result<(), String> {
        work.by_calls(tally, pacer);
        Ok(())
    }
}

/// The mover for a group's settings, prepared before the clock starts.
pub fn of(work: &BlockWork) -> Result<Box<dyn Mover>, String> {
    Ok(match work.io.engine {
        _ if work.io.stdio => Box::new(Streams),
        Engine::Calls => Box::new(Calls),
        Engine::IoUring(depth) => Box::new(Ring::new(work, depth)?),
        Engine::Mmap => Box::new(Mapping::default()),
    })
}
