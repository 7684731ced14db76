//! The dies and their reads and programs.
//! In: pages to read, units to program. Out: when a page is sensed, and when a program ends.

use super::Flash;

/// Most reads that may suspend one program, so that it ends.
const SUSPENSIONS: u32 = 4;

/// A running program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    pub end: u64,
    pub bytes: u64,
    /// Programs are numbered in the order of their start.
    pub number: u64,
    suspensions: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Die {
    /// End of its reads.
    reads: u64,
    program: Option<Program>,
}

/// All dies.
#[derive(Debug)]
pub(super) struct Dies {
    dies: Vec<Die>,
    /// The die to program next, if it is free.
    turn: usize,
    programs: u64,
}

impl Dies {
    pub fn new(count: usize, first: usize) -> Dies {
        Dies { dies: vec![Die::default(); count], turn: first % count, programs: 0 }
    }

    pub fn count(&self) -> usize {
        self.dies.len()
    }

    /// Reads a page as soon as the die can; returns when it is sensed.
    pub fn read(&mut self, flash: &Flash, at: usize, ready: u64) -> u64 {
        let die = &mut self.dies[at];
        let mut start = ready.max(die.reads);
        if let Some(program) = die.program.as_mut().filter(|program| program.end > start) {
            if flash.suspend > 0 && program.suspensions < SUSPENSIONS {
                program.suspensions += 1;
                program.end += flash.suspend + flash.read;
                start += flash.suspend;
            } else {
                start = program.end;
            }
        }
        die.reads = start + flash.read;
        die.reads
    }

    /// The next free die, in turn.
    pub fn free(&self, now: u64) -> Option<usize> {
        let count = self.dies.len();
        let turns = (0..count).map(|step| (self.turn + step) % count);
        turns.into_iter().find(|at| self.dies[*at].program.is_none() && self.dies[*at].reads <= now)
    }

    /// When the first die becomes free, if none is free now.
    pub fn first_free(&self) -> Option<u64> {
        self.dies.iter().map(|die| die.reads.max(die.program.map_or(0, |program| program.end))).min()
    }

    /// Starts a program on a die.
    pub fn begin(&mut self, at: usize, bytes: u64, end: u64) {
        self.dies[at].program = Some(Program { end, bytes, number: self.programs, suspensions: 0 });
        self.programs += 1;
        self.turn = (at + 1) % self.dies.len();
    }

    /// The number of the next program.
    pub fn next_number(&self) -> u64 {
        self.programs
    }

    /// When the next program ends.
    pub fn first_end(&self) -> Option<u64> {
        self.programs().map(|program| program.end).min()
    }

    /// Whether a program with a lower number is running.
    pub fn works_before(&self, number: u64) -> bool {
        self.programs().any(|program| program.number < number)
    }

    fn programs(&self) -> impl Iterator<Item = Program> {
        self.dies.iter().filter_map(|die| die.program)
    }

    /// Ends finished programs, and returns their bytes.
    pub fn finish(&mut self, now: u64) -> u64 {
        let mut bytes = 0;
        for die in &mut self.dies {
            if let Some(program) = die.program.filter(|program| program.end <= now) {
                bytes += program.bytes;
                die.program = None;
            }
        }
        bytes
    }
}
