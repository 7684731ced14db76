//! Ways to move blocks between memory and the kernel, side by side: system calls, io_uring, mappings, the C library's streams.
//! In: a group's I/O settings and work on blocks. Out: the one that moves them.
//! Another way is a file beside these, and a line in [`of`].

use crate::blocks::BlockWork;
use crate::mapped::Mapping;
use crate::pace::Pacer;
use crate::stdio::Streams;
use crate::tally::Tally;
use crate::uring::Ring;
use workload::program::Engine;

/// A way to move blocks.
pub trait Mover {
    /// Moves all blocks of one worker; latencies and bytes go into the tally, each block is begun when the pacer says so.
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

/// The way that a group's settings ask for, made ready before the clock starts.
pub fn of(work: &BlockWork) -> Result<Box<dyn Mover>, String> {
    Ok(match work.io.engine {
        _ if work.io.stdio => Box::new(Streams),
        Engine::Calls => Box::new(Calls),
        Engine::IoUring(depth) => Box::new(Ring::new(work, depth)?),
        Engine::Mmap => Box::new(Mapping::default()),
    })
}
