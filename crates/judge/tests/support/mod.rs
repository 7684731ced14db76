//! A builder for tables in tests.
//! In: names and numbers. Out: a [`Table`] as the runner passes it, one trial for each block and contender.
//! Numbers are literal in the tests, so that each shows what it depends on.
#![allow(dead_code)]

use judge::{Cell, Contender, Direction, Operation, OperationId, Sample, Table};

/// Five small factors that scatter by about 1 % around 1, for samples that agree.
pub const CALM: [f64; 5] = [1.0, 1.012, 0.991, 1.006, 0.988];
/// Five others.
pub const CALM_TOO: [f64; 5] = [0.995, 1.009, 1.004, 0.986, 1.011];
/// Five factors that scatter by about 20 %.
pub const WILD: [f64; 5] = [1.0, 1.31, 0.8, 1.18, 0.87];
/// Five others.
pub const WILD_TOO: [f64; 5] = [1.25, 0.86, 1.05, 0.78, 1.2];

/// A table under construction.
#[derive(Default)]
pub struct Bake {
    pub table: Table,
    trial: i64,
}

impl Bake {
    pub fn new() -> Self {
        Bake::default()
    }

    /// Adds a row in which less is better.
    pub fn time(mut self, operation: &str) -> Self {
        self.row(operation, "s", Direction::LowerIsBetter);
        self
    }

    /// Adds a row in which more is better.
    pub fn rate(mut self, operation: &str) -> Self {
        self.row(operation, "files/s", Direction::HigherIsBetter);
        self
    }

    fn row(&mut self, operation: &str, unit: &str, direction: Direction) {
        let id = OperationId::new("small-files", operation, "cold");
        self.table.operations.push(Operation { id, unit: unit.into(), direction, ..Operation::default() });
    }

    /// Adds samples of a contender to the last row: one trial a block.
    pub fn of(mut self, contender: &str, values: &[f64]) -> Self {
        let index = self.contender(contender);
        let mut samples = Vec::new();
        for (block, &value) in values.iter().enumerate() {
            self.trial += 1;
            samples.push(Sample { trial: self.trial, block: block as u32, value, ..Sample::default() });
        }
        let operation = self.table.operations.len() - 1;
        self.table.cells.push(Cell { operation, contender: index, samples, ..Cell::default() });
        self
    }

    /// The same, as a level times factors.
    pub fn at(self, contender: &str, level: f64, factors: &[f64]) -> Self {
        let values: Vec<f64> = factors.iter().map(|factor| level * factor).collect();
        self.of(contender, &values)
    }

    fn contender(&mut self, name: &str) -> usize {
        if let Some(found) = self.table.contender(name) {
            return found;
        }
        self.table.contenders.push(Contender { name: name.into(), ..Contender::default() });
        self.table.contenders.len() - 1
    }

    /// Changes a contender.
    pub fn who(mut self, name: &str, change: impl FnOnce(&mut Contender)) -> Self {
        let index = self.contender(name);
        change(&mut self.table.contenders[index]);
        self
    }

    /// Changes the last cell.
    pub fn cell(mut self, change: impl FnOnce(&mut Cell)) -> Self {
        change(self.table.cells.last_mut().expect("a cell"));
        self
    }

    /// The verdict.
    pub fn judge(&self) -> judge::Judgement {
        judge::judge(&self.table).expect("a sound table")
    }

    /// All sentences in one.
    pub fn sentences(&self) -> String {
        self.judge().sentences.into_iter().map(|sentence| sentence.text).collect::<Vec<_>>().join(" ")
    }
}
