//! Bake-offs with known truth.
//! In: a noise model, true costs, a seed. Out: samples, block by block, as a machine with such noise would give them.
//! Noise that belongs to the machine runs on in time, trial after trial; contenders are shuffled within each block.

use crate::recorded::{Reading, Recorded};
use judge::{Cell, Contender, Direction, Needed, Operation, OperationId, Sample, Table};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};
use std::sync::{Arc, Mutex};

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

/// Mean and median of the logs of a noise model, from a million draws, cached.
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

/// Processor time that a hypervisor takes away.
#[derive(Debug, Clone, Copy)]
pub struct Stolen {
    /// Mean share of it; each sample has its own, exponentially distributed.
    pub share: f64,
    /// How many times more than the others the first contender loses.
    pub first: f64,
    /// What a share of 1 adds to the logarithm of a time.
    pub effect: f64,
    /// Whether samples record it.
    pub known: bool,
}

/// A bake-off whose true costs are known.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// How samples scatter.
    pub noise: Noise,
    /// Relative standard deviation of the noise.
    pub size: f64,
    /// True log cost of each contender, operation by operation.
    pub costs: Vec<Vec<f64>>,
    /// How many times more than the others each contender scatters.
    pub scatter: Vec<f64>,
    /// How many times more than the others each operation scatters.
    pub noisy: Vec<f64>,
    /// Autocorrelation of a state that each contender keeps from block to block; the state scatters as much as the noise.
    pub kept_state: f64,
    /// Blocks per session, and the standard deviation of each contender's own effect in each row; `None`: one session.
    pub sessions: Option<(u32, f64)>,
    /// Whether the table records where sessions begin.
    pub known_sessions: bool,
    /// Processor time that is taken away, in addition to the noise.
    pub stolen: Option<Stolen>,
    /// Noise of a real machine, used instead of a drawn one.
    pub recorded: Option<Arc<Recorded>>,
    /// Chance that a trial of the last contender fails.
    pub failing: f64,
    /// The first contender is entered twice.
    pub twin: bool,
}

impl Scenario {
    /// Contenders that are all equal.
    pub fn equal(noise: Noise, size: f64, contenders: usize, operations: usize) -> Self {
        Scenario::of(noise, size, vec![vec![0.0; contenders]; operations])
    }

    /// Any true log costs.
    pub fn of(noise: Noise, size: f64, costs: Vec<Vec<f64>>) -> Self {
        let (contenders, operations) = (costs[0].len(), costs.len());
        let (scatter, noisy) = (vec![1.0; contenders], vec![1.0; operations]);
        let (kept_state, failing, twin) = (0.0, 0.0, false);
        let (sessions, known_sessions) = (None, true);
        let (recorded, stolen) = (None, None);
        Scenario {
            noise,
            size,
            costs,
            scatter,
            noisy,
            kept_state,
            sessions,
            known_sessions,
            stolen,
            recorded,
            failing,
            twin,
        }
    }

    /// Equal contenders in sessions of five blocks, each contender with an effect of its own in each session and operation.
    pub fn in_sessions(contenders: usize, operations: usize, effect: f64) -> Self {
        let equal = Scenario::equal(Noise::LogNormal, 0.05, contenders, operations);
        Scenario { sessions: Some((5, effect)), ..equal }
    }

    /// The contenders and operations of recorded noise, each contender slower than the one before by a gap.
    pub fn recorded(recorded: &Arc<Recorded>, gap: f64) -> Self {
        let (contenders, operations) = recorded.most();
        let costs = (0..contenders).map(|contender| gap.ln() * contender as f64).collect();
        let drawn = Scenario::of(Noise::LogNormal, 0.05, vec![costs; operations]);
        Scenario { recorded: Some(Arc::clone(recorded)), ..drawn }
    }

    /// One contender is better than all others by a gap (1.1: they take 1.1 times as long); the others are equal.
    pub fn gap(noise: Noise, size: f64, contenders: usize, gap: f64) -> Self {
        let costs = (0..contenders).map(|contender| if contender == 0 { 0.0 } else { gap.ln() }).collect();
        Scenario::of(noise, size, vec![costs])
    }

    /// Each contender is worse than the one before by a gap.
    pub fn ladder(noise: Noise, size: f64, contenders: usize, gap: f64) -> Self {
        let costs = (0..contenders).map(|contender| gap.ln() * contender as f64).collect();
        Scenario::of(noise, size, vec![costs])
    }

    /// One of several equal contenders scatters several times as much as the others.
    pub fn wild(contenders: usize, operations: usize, times: f64) -> Self {
        let mut scenario = Scenario::equal(Noise::LogNormal, 0.05, contenders, operations);
        scenario.scatter[contenders / 2] = times;
        scenario
    }

    /// Random gaps up to 2.
    pub fn random(size: f64, contenders: usize, operations: usize, seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut row = || (0..contenders).map(|_| rng.random_range(0.0..2.0_f64.ln())).collect::<Vec<f64>>();
        let costs = (0..operations).map(|_| row()).collect();
        Scenario::of(Noise::LogNormal, size, costs)
    }

    /// Seven operations of six contenders, as a quick run of six filesystems measured them: 1 to 8 times behind the best, with noise that
    /// differs from row to row.
    pub fn like_a_quick_run(size: f64) -> Self {
        const TIMES: [[f64; 6]; 7] = [
            [1.3, 1.1, 1.2, 1.3, 1.0, 6.0],
            [2.2, 2.2, 2.3, 1.0, 2.2, 8.6],
            [1.1, 1.15, 1.5, 1.6, 1.0, 5.5],
            [1.5, 2.4, 1.0, 3.6, 2.2, 5.6],
            [1.0, 1.5, 1.02, 2.0, 1.4, 3.9],
            [1.2, 1.25, 1.0, 1.1, 1.3, 2.8],
            [1.0, 1.05, 1.03, 1.4, 1.1, 4.0],
        ];
        let costs = TIMES.map(|row| row.map(f64::ln).to_vec()).to_vec();
        let mut scenario = Scenario::of(Noise::LogNormal, size, costs);
        scenario.noisy = vec![1.0, 0.5, 1.0, 1.5, 2.0, 1.0, 0.7];
        scenario.scatter = vec![1.0, 1.0, 1.0, 1.0, 1.0, 2.0];
        scenario
    }
}

/// A bake-off in progress.
pub struct World {
    scenario: Scenario,
    /// Samples so far.
    pub table: Table,
    before: Vec<f64>,
    states: Vec<f64>,
    /// Effects of this session, operation by operation.
    effects: Vec<Vec<f64>>,
    reading: Reading,
    block: u32,
    /// Trials so far.
    pub trials: u32,
    rng: SmallRng,
}

impl World {
    /// A bake-off that has not begun.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut table = Table::default();
        let contenders = scenario.costs[0].len();
        for contender in 0..contenders {
            table.contenders.push(Contender { name: format!("fs{contender}"), ..Contender::default() });
        }
        if scenario.twin {
            table.contenders.push(Contender {
                name: "fs0 again".into(),
                twin_of: Some("fs0".into()),
                ..Contender::default()
            });
        }
        for operation in 0..scenario.costs.len() {
            let id = OperationId::new("work", &format!("op{operation}"), "cold");
            let direction = Direction::LowerIsBetter;
            table.operations.push(Operation { id, unit: "s".into(), direction, ..Operation::default() });
            for contender in 0..table.contenders.len() {
                table.cells.push(Cell { operation, contender, ..Cell::default() });
            }
        }
        let mut rng = SmallRng::seed_from_u64(seed);
        let before = (0..scenario.costs.len()).map(|_| StandardNormal.sample(&mut rng)).collect();
        let states = (0..table.contenders.len()).map(|_| StandardNormal.sample(&mut rng)).collect();
        let (operations, recorded) = (scenario.costs.len(), scenario.recorded.as_ref());
        let reading = recorded.map(|recorded| recorded.read(contenders, operations, &mut rng)).unwrap_or_default();
        let (scenario, effects) = (scenario.clone(), Vec::new());
        World { scenario, table, before, states, effects, reading, block: 0, trials: 0, rng }
    }

    fn begin_session(&mut self) {
        let Some((blocks, size)) = self.scenario.sessions else { return };
        if !self.block.is_multiple_of(blocks) {
            return;
        }
        if self.scenario.known_sessions {
            self.table.sessions.push(self.block);
        }
        let contenders = self.scenario.costs[0].len();
        let rng = &mut self.rng;
        let mut effect = || size * Distribution::<f64>::sample(&StandardNormal, rng);
        let operations = 0..self.scenario.costs.len();
        self.effects = operations.map(|_| (0..contenders).map(|_| effect()).collect()).collect();
    }

    /// Runs one block of these contenders in random order.
    pub fn run_block(&mut self, needed: &[Needed]) {
        self.begin_session();
        let mut order: Vec<usize> = needed.iter().map(|trial| trial.contender).collect();
        order.shuffle(&mut self.rng);
        for contender in order {
            self.run_trial(contender);
        }
        self.block += 1;
    }

    /// Runs one block of all contenders.
    pub fn run_full_block(&mut self) {
        let all = |contender| Needed { contender, workload: "work".into() };
        self.run_block(&(0..self.table.contenders.len()).map(all).collect::<Vec<_>>());
    }

    /// Runs ten trials of each contender, one contender after the other, as published comparisons usually do.
    pub fn run_ordered(&mut self, samples: u32) {
        let contenders = self.table.contenders.len() as u32;
        for contender in 0..contenders {
            for round in 0..samples {
                // Drift and warm-up follow the machine's time, not rounds.
                self.block = (contender * samples + round) / contenders;
                self.run_trial(contender as usize);
            }
        }
    }

    fn run_trial(&mut self, contender: usize) {
        self.trials += 1;
        let entered = self.table.contenders.len();
        let contenders = self.scenario.costs[0].len();
        let truth = if contender < contenders { contender } else { 0 };
        let step = self.scenario.kept_state;
        let moved: f64 = StandardNormal.sample(&mut self.rng);
        self.states[contender] = step * self.states[contender] + (1.0 - step * step).sqrt() * moved;
        let kept = if step > 0.0 { self.scenario.size * self.states[contender] } else { 0.0 };
        if truth + 1 == contenders && self.rng.random_bool(self.scenario.failing) {
            let cells = self.table.cells.iter_mut().filter(|cell| cell.contender == contender);
            cells.for_each(|cell| cell.facts.failures += 1);
            return;
        }
        for operation in 0..self.scenario.costs.len() {
            let size = self.scenario.size * self.scenario.scatter[truth] * self.scenario.noisy[operation];
            let before = &mut self.before[operation];
            let noise = match &self.scenario.recorded {
                Some(recorded) => recorded.log(&self.reading, operation, self.block, truth),
                None => self.scenario.noise.log(size, self.block, before, &mut self.rng) + kept,
            };
            let of_session = self.effects.get(operation).map_or(0.0, |effects| effects[truth]);
            let share = self.scenario.stolen.map_or(0.0, |stolen| {
                let more = if truth == 0 { stolen.first } else { 1.0 };
                let drawn: f64 = Exp1.sample(&mut self.rng);
                stolen.share * more * drawn
            });
            let slowed = share * self.scenario.stolen.map_or(0.0, |stolen| stolen.effect);
            let stolen = if self.scenario.stolen.is_some_and(|stolen| stolen.known) { share } else { 0.0 };
            let value = 10.0 * (self.scenario.costs[operation][truth] + of_session + noise + slowed).exp();
            let trial = i64::from(self.trials);
            let sample = Sample { trial, block: self.block, value, stolen, ..Sample::default() };
            self.table.cells[operation * entered + contender].samples.push(sample);
        }
    }

    /// True log ratio of one contender's cost to another's in an operation.
    pub fn log_ratio(&self, operation: usize, contender: usize, to: usize) -> f64 {
        self.scenario.costs[operation][contender] - self.scenario.costs[operation][to]
    }

    /// True log cost.
    pub fn cost(&self, operation: usize, contender: usize) -> f64 {
        self.scenario.costs[operation][contender] + 10.0_f64.ln()
    }

    /// How many times behind the best of each operation a contender truly is, where it is furthest behind.
    pub fn shortfall(&self, contender: usize) -> f64 {
        let best = |costs: &Vec<f64>| costs.iter().copied().fold(f64::INFINITY, f64::min);
        self.scenario.costs.iter().map(|costs| costs[contender] - best(costs)).fold(0.0, f64::max).exp()
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
