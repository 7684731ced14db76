//! A program's results over all states of a contender.
//! In: the lines that it printed, and the check's result in each state. Out: in how many of them acknowledged data was gone.

use super::campaign::{Account, Cuts};
use super::hands::{Question, Seen};
use super::kept::{Proof, Shown};
use super::program::{FOLDER, Program};
use super::result::{Example, Given, ProgramResult, Survived};
use super::tally::{Looked, rate};
use disk::{Event, Moment, Record, State};

/// Counts of a program.
pub(crate) struct ProgramAccount<'p> {
    program: &'p Program,
    lines: Vec<String>,
    tested: u32,
    lost: u32,
    tested_in_order: u32,
    lost_in_order: u32,
    example: Option<Example>,
}

impl<'p> ProgramAccount<'p> {
    /// For a program that printed these lines.
    pub fn of(program: &'p Program, lines: Vec<String>) -> ProgramAccount<'p> {
        ProgramAccount { program, lines, tested: 0, lost: 0, tested_in_order: 0, lost_in_order: 0, example: None }
    }

    /// Its check, with the lines printed before the cut.
    fn proof(&self, record: &Record, cut: usize) -> Proof {
        let marked = |moment: &&Moment| matches!(moment.event, Event::Marked(_));
        let acknowledged = record.moments[..cut].iter().filter(marked).count();
        let lines = self.lines[..acknowledged.min(self.lines.len())].to_vec();
        Proof::Program { check: self.program.check.clone(), lines, limit_seconds: self.program.limit.as_secs_f64() }
    }
}

impl Account for ProgramAccount<'_> {
    fn states(&self, record: &Record, cuts: &Cuts) -> Vec<State> {
        disk::choose(record, 0..record.moments.len(), cuts.choice(cuts.states as usize, 0))
    }

    fn question(&self, record: &Record, cut: usize) -> Question {
        Question { proofs: vec![self.proof(record, cut)], diary: 0 }
    }

    fn note(&mut self, _: &Record, looked: &Looked, _: &Question, seen: &Seen) {
        let found = seen.findings.iter().find_map(|finding| finding.broken.clone());
        let lost = u32::from(found.is_some());
        (self.tested, self.lost) = (self.tested + 1, self.lost + lost);
        if looked.in_order {
            (self.tested_in_order, self.lost_in_order) = (self.tested_in_order + 1, self.lost_in_order + lost);
        }
        if let Some(found) = found {
            looked.example(&mut self.example, || found);
        }
    }

    fn shown(&self, record: &Record) -> Vec<Shown> {
        let of = |example: &Example| {
            let state = example.state?;
            let proof = self.proof(record, state.cut);
            Some(Shown { name: FOLDER.into(), state, example: example.clone(), proof })
        };
        self.example.iter().filter_map(of).collect()
    }

    fn tell(self: Box<Self>, survived: &mut Survived) {
        survived.program = Some(ProgramResult {
            command: self.program.command.join(" "),
            acknowledged: self.lines.len(),
            given: match (self.tested, self.lost) {
                (0, _) => Given::Untested,
                (_, 0) => Given::Kept,
                _ => Given::Broken,
            },
            lost: rate(self.lost, self.tested),
            lost_in_order: rate(self.lost_in_order, self.tested_in_order),
            example: self.example,
        });
    }
}
