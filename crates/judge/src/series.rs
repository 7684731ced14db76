//! Samples of a cell, reduced to the level at which they are independent.
//! In: a cell's values with their block, format, mount and pass. Out: one logarithm for each trial and each block.
//! Kalibera and Jones (ISMM 2013): only the highest repeated level counts; ten passes on one formatted image are one sample. Lower levels
//! are reduced to their median: of short passes one in ten may take several times as long because of a pause of the machine.

use crate::numbers::median;
use crate::table::{Cell, Direction, Sample};

/// One cell's independent samples.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// One for each trial (block and format), in the order given: trial, block, log of the median of its values.
    pub trials: Vec<Trial>,
    /// One for each block, ascending: block, mean log of its trials.
    pub blocks: Vec<(u32, f64)>,
}

/// One trial of a cell.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// The ledger's number of the trial.
    pub trial: i64,
    /// Block.
    pub block: u32,
    /// Log of the value.
    pub log: f64,
    /// Share of processor time that the hypervisor took away, 0 to 1.
    pub stolen: f64,
}

impl Series {
    /// Reduces a cell.
    pub fn of(cell: &Cell) -> Self {
        let mut measured: Vec<&Sample> = cell.samples.iter().filter(|sample| sample.is_measured()).collect();
        let place = |sample: &Sample| (sample.block, sample.format, sample.mount);
        if !measured.is_sorted_by_key(|sample| place(sample)) {
            measured.sort_by_key(|sample| place(sample));
        }
        let mut trials: Vec<Trial> = Vec::with_capacity(measured.len());
        for trial in measured.chunk_by(|a, b| (a.block, a.format) == (b.block, b.format)) {
            let reduced = |value: &dyn Fn(&&Sample) -> f64| {
                let mounts = trial.chunk_by(|a, b| a.mount == b.mount).map(|mount| median_of(mount, value));
                median(&mounts.collect::<Vec<_>>()).unwrap_or(f64::NAN)
            };
            let share = |sample: &&Sample| if sample.stolen.is_finite() { sample.stolen.clamp(0.0, 1.0) } else { 0.0 };
            let (log, stolen) = (reduced(&|sample| sample.value.ln()), reduced(&share));
            trials.push(Trial { trial: trial[0].trial, block: trial[0].block, log, stolen });
        }
        let mut series = Series { trials, blocks: Vec::new() };
        series.average_blocks();
        series
    }

    /// Makes the blocks from the trials.
    pub fn average_blocks(&mut self) {
        let blocks = self.trials.chunk_by(|a, b| a.block == b.block);
        self.blocks = blocks.map(|block| (block[0].block, mean_of(block, |trial| trial.log))).collect();
    }

    /// The same with lower meaning better, whatever the direction.
    pub fn costs(&self, direction: Direction) -> Vec<(u32, f64)> {
        let sign = if direction == Direction::LowerIsBetter { 1.0 } else { -1.0 };
        self.blocks.iter().map(|&(block, log)| (block, sign * log)).collect()
    }
}

fn median_of<T>(items: &[T], value: impl Fn(&T) -> f64) -> f64 {
    median(&items.iter().map(value).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

fn mean_of<T>(items: &[T], value: impl Fn(&T) -> f64) -> f64 {
    items.iter().map(value).sum::<f64>() / items.len() as f64
}
