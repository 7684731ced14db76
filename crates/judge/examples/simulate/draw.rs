//! Bake-offs with known truth.
//! In: a noise model, true costs, a seed. Out: samples, block by block, as a machine with such noise would give them.
//! Noise that belongs to the machine runs on in time, trial after trial; contenders are shuffled within each block.

use judge::{Cell, Contender, Direction, Needed, Operation, OperationId, Sample, Table};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};
use std::sync::Mutex;

/// How samples scatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Normal around the true value.
    Normal,
    /// Normal on logarithms.
    LogNormal,
    /// Two modes, 6 standard deviations apart, a third of the trials in the slow one.
    Bimodal,
    /// Student's t with 3 degrees of freedom, on logarithms.
    HeavyTailed,
    /// Log-normal, and one trial in twenty takes 1.5 to 4 times as long.
    Outliers,
    /// Log-normal, and the machine becomes slower by 2 % with every block.
    Drift,
    /// Log-normal, and the whole first block takes 1.3 times as long.
    WarmUp,
    /// First-order autocorrelation of 0.6 from trial to trial, on logarithms.
    Autocorrelated,
}

/// All of them.
pub const MODELS: [Noise; 8] = [
    Noise::Normal,
    Noise::LogNormal,
    Noise::Bimodal,
    Noise::HeavyTailed,
    Noise::Outliers,
    Noise::Drift,
    Noise::WarmUp,
    Noise::Autocorrelated,
];

impl Noise {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Noise::Normal => "normal",
            Noise::LogNormal => "log-normal",
            Noise::Bimodal => "bimodal",
            Noise::HeavyTailed => "heavy-tailed",
            Noise::Outliers => "outliers",
            Noise::Drift => "drift",
            Noise::WarmUp => "first block warms up",
            Noise::Autocorrelated => "autocorrelated",
        }
    }

    /// Whether later blocks are drawn from another distribution than earlier ones.
    pub fn moves(self) -> bool {
        matches!(self, Noise::Drift | Noise::WarmUp)
    }

    /// Log of one sample's noise, of about this relative size; `before` is the machine's state.
    fn log(self, size: f64, block: u32, before: &mut f64, rng: &mut SmallRng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        match self {
            Noise::Normal => (1.0 + size * z).max(0.05).ln(),
            Noise::LogNormal => size * z,
            Noise::Bimodal => {
                let slow = if rng.random_bool(1.0 / 3.0) { 1.0 } else { 0.0 };
                // Within-mode scatter s and modes 6 s apart: s * sqrt(1 + 36 * 2/9) is the size.
                size / 3.0 * (z + 6.0 * slow)
            }
            Noise::HeavyTailed => {
                let t: f64 = StudentT::new(3.0).expect("3 degrees of freedom").sample(rng);
                size * t / 3.0_f64.sqrt()
            }
            Noise::Outliers => {
                let far = if rng.random_bool(0.05) { rng.random_range(1.5_f64..4.0).ln() } else { 0.0 };
                size * z + far
            }
            Noise::Drift => size * z + 0.02 * f64::from(block),
            Noise::WarmUp => size * z + if block == 0 { 1.3_f64.ln() } else { 0.0 },
            Noise::Autocorrelated => {
                const STEP: f64 = 0.6;
                *before = STEP * *before + (1.0 - STEP * STEP).sqrt() * z;
                size * *before
            }
        }
    }
}

/// Truth of a noise model, by a million draws, kept: mean and median of the logs.
pub fn truth(noise: Noise, size: f64) -> (f64, f64) {
    type Known = (Noise, f64, (f64, f64));
    static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().expect("no thread fails");
    if let Some(found) = known.iter().find(|found| (found.0, found.1) == (noise, size)) {
        return found.2;
    }
    let mut rng = SmallRng::seed_from_u64(7);
    let mut before = 0.0;
    let mut logs: Vec<f64> = (0..1_000_000).map(|_| noise.log(size, 1, &mut before, &mut rng)).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let found = (logs.iter().sum::<f64>() / logs.len() as f64, (logs[499_999] + logs[500_000]) / 2.0);
    known.push((noise, size, found));
    found
}

/// A bake-off of which the truth is known.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// How samples scatter.
    pub noise: Noise,
    /// Relative standard deviation of the noise.
    pub size: f64,
    /// True log cost of each contender.
    pub costs: Vec<f64>,
    /// Operations, all alike.
    pub operations: usize,
    /// Contenders scatter unequally: every third one five times as much as the others.
    pub uneven: bool,
}

impl Scenario {
    /// Contenders that are all equal.
    pub fn equal(noise: Noise, size: f64, contenders: usize, operations: usize) -> Self {
        Scenario { noise, size, costs: vec![0.0; contenders], operations, uneven: false }
    }

    /// One contender that is better than all others, which are equal, by a gap (1.1: they take 1.1 times as long).
    pub fn gap(noise: Noise, size: f64, contenders: usize, gap: f64) -> Self {
        let costs = (0..contenders).map(|contender| if contender == 0 { 0.0 } else { gap.ln() }).collect();
        Scenario { noise, size, costs, operations: 1, uneven: false }
    }
}

impl Scenario {
    /// Each contender is worse than the one before by a gap.
    pub fn ladder(noise: Noise, size: f64, contenders: usize, gap: f64) -> Self {
        let costs = (0..contenders).map(|contender| gap.ln() * contender as f64).collect();
        Scenario { costs, ..Scenario::equal(noise, size, contenders, 1) }
    }
}

/// A bake-off under way.
pub struct World {
    scenario: Scenario,
    /// Samples so far.
    pub table: Table,
    before: Vec<f64>,
    block: u32,
    /// Trials so far.
    pub trials: u32,
    rng: SmallRng,
}

impl World {
    /// A bake-off that has not begun.
    pub fn new(scenario: &Scenario, planned: u32, seed: u64) -> Self {
        let mut table = Table { planned_blocks: Some(planned), ..Table::default() };
        for contender in 0..scenario.costs.len() {
            table.contenders.push(Contender { name: format!("fs{contender}"), ..Contender::default() });
        }
        for operation in 0..scenario.operations {
            let id = OperationId::new("work", &format!("op{operation}"), "cold");
            let direction = Direction::LowerIsBetter;
            table.operations.push(Operation { id, unit: "s".into(), direction, ..Operation::default() });
            for contender in 0..scenario.costs.len() {
                table.cells.push(Cell { operation, contender, ..Cell::default() });
            }
        }
        let mut rng = SmallRng::seed_from_u64(seed);
        let before = (0..scenario.operations).map(|_| StandardNormal.sample(&mut rng)).collect();
        World { scenario: scenario.clone(), table, before, block: 0, trials: 0, rng }
    }

    /// Runs one block of these contenders, shuffled.
    pub fn run_block(&mut self, needed: &[Needed]) {
        let mut order: Vec<usize> = needed.iter().map(|trial| trial.contender).collect();
        order.shuffle(&mut self.rng);
        for contender in order {
            self.run_trial(contender);
        }
        self.block += 1;
    }

    /// Runs one block of everyone.
    pub fn run_full_block(&mut self) {
        let all = |contender| Needed { contender, workload: "work".into() };
        self.run_block(&(0..self.scenario.costs.len()).map(all).collect::<Vec<_>>());
    }

    /// Runs ten trials of each contender, one contender after the other: the published custom.
    pub fn run_ordered(&mut self, samples: u32) {
        for contender in 0..self.scenario.costs.len() {
            for round in 0..samples {
                // The machine's clock goes on: drift and warm-up follow time, not rounds.
                let contenders = self.scenario.costs.len() as u32;
                let time = contender as u32 * samples + round;
                self.block = time / contenders;
                self.run_trial(contender);
            }
        }
    }

    fn run_trial(&mut self, contender: usize) {
        self.trials += 1;
        let contenders = self.scenario.costs.len();
        let wild = self.scenario.uneven && contender.is_multiple_of(3);
        let size = self.scenario.size * if wild { 5.0 } else { 1.0 };
        for operation in 0..self.scenario.operations {
            let before = &mut self.before[operation];
            let noise = self.scenario.noise.log(size, self.block, before, &mut self.rng);
            let value = 10.0 * (self.scenario.costs[contender] + noise).exp();
            let trial = i64::from(self.trials);
            let sample = Sample { trial, block: self.block, value, ..Sample::default() };
            self.table.cells[operation * contenders + contender].samples.push(sample);
        }
    }

    /// True log ratio of one contender's cost to another's.
    pub fn log_ratio(&self, contender: usize, to: usize) -> f64 {
        self.scenario.costs[contender] - self.scenario.costs[to]
    }

    /// True log cost.
    pub fn cost(&self, contender: usize) -> f64 {
        self.scenario.costs[contender] + 10.0_f64.ln()
    }
}
