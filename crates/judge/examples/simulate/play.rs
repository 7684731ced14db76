//! Bake-offs played to their end, and what came of them.
//! In: scenarios and a stopping rule. Out: tallies of false statements, covered intervals, right winners, trials.
//! Tables are spread over two threads; each has a seed of its own, so results do not depend on the threads.

use crate::draw::{Scenario, World, truth};
use judge::{Estimand, Judgement, Policy, Relation, decide, judge};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many intervals there were, and how many of them held the truth.
#[derive(Debug, Clone, Copy, Default)]
pub struct Covered(pub u64, pub u64);

impl Covered {
    fn count(&mut self, low: f64, truth: f64, high: f64) {
        self.0 += 1;
        self.1 += u64::from(low.ln() <= truth && truth <= high.ln());
    }

    /// The two together.
    pub fn and(self, other: Covered) -> Covered {
        Covered(self.0 + other.0, self.1 + other.1)
    }

    /// Share that held, in percent.
    pub fn percent(self) -> f64 {
        100.0 * self.1 as f64 / self.0.max(1) as f64
    }
}

/// What came of one table or, added up, of many.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Tables.
    pub tables: u64,
    /// Tables in which a winner was named that is not better than all others.
    pub false_winners: u64,
    /// Tables that said of any contender that it is worse although it is not.
    pub false_statements: u64,
    /// Tables that named the true winner.
    pub right: u64,
    /// Intervals of cells: of fewer than ten samples, of ten or more.
    pub cells: [Covered; 2],
    /// Intervals of ratios: of fewer than ten samples, of ten or more.
    pub ratios: [Covered; 2],
    /// Ordered runs: tables in which mean ± standard deviation of two contenders do not overlap.
    pub bars_apart: u64,
    /// Ordered runs: tables in which the 95 % intervals of two means do not overlap.
    pub intervals_apart: u64,
    /// Ordered runs: intervals of the ratio of two means, and how many held the truth.
    pub custom: Covered,
    /// Trials of each table.
    pub trials: Vec<u32>,
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: Tally) {
        self.tables += other.tables;
        self.false_winners += other.false_winners;
        self.false_statements += other.false_statements;
        self.right += other.right;
        self.bars_apart += other.bars_apart;
        self.intervals_apart += other.intervals_apart;
        self.custom = self.custom.and(other.custom);
        for many in 0..2 {
            self.cells[many] = self.cells[many].and(other.cells[many]);
            self.ratios[many] = self.ratios[many].and(other.ratios[many]);
        }
        self.trials.extend(other.trials);
    }

    /// Median number of trials.
    pub fn median_trials(&self) -> u32 {
        let mut trials = self.trials.clone();
        trials.sort_unstable();
        trials.get(trials.len() / 2).copied().unwrap_or(0)
    }
}

/// How a table is played.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// Exactly so many blocks, then one look.
    Fixed(u32),
    /// A look after every block up to so many; the first false statement counts, as if it had stopped there.
    EveryLook(u32),
    /// So many runs of each contender, one contender after the other, judged by the published custom.
    Ordered(u32),
    /// As the stopping rule says.
    Stop(Policy),
}

/// Plays tables of one scenario.
pub fn play(scenario: &Scenario, rule: Rule, tables: u64, seed: u64) -> Tally {
    let known = truth(scenario.noise, scenario.size);
    let planned = match rule {
        Rule::Fixed(blocks) | Rule::EveryLook(blocks) | Rule::Ordered(blocks) => blocks,
        Rule::Stop(policy) => policy.max_blocks,
    };
    let next = AtomicU64::new(0);
    let total = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(|| {
                let mut own = Tally::default();
                loop {
                    let table = next.fetch_add(1, Ordering::Relaxed);
                    if table >= tables {
                        break;
                    }
                    let world = World::new(scenario, planned, seed.wrapping_mul(1_000_003).wrapping_add(table));
                    own.add(play_one(world, rule, known));
                }
                total.lock().expect("no thread fails").push(own);
            });
        }
    });
    let mut sum = Tally::default();
    total.into_inner().expect("no thread fails").into_iter().for_each(|own| sum.add(own));
    sum
}

fn threads() -> usize {
    std::env::var("SIMULATE_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

fn play_one(mut world: World, rule: Rule, known: (f64, f64)) -> Tally {
    let mut tally = Tally { tables: 1, ..Tally::default() };
    match rule {
        Rule::Fixed(blocks) => (0..blocks).for_each(|_| world.run_full_block()),
        Rule::Ordered(runs) => {
            world.run_ordered(runs);
            judge_by_custom(&world, &mut tally);
            return tally;
        }
        Rule::EveryLook(blocks) => {
            let mut wrong = (false, false);
            for block in 1..=blocks {
                world.run_full_block();
                if block >= 3 {
                    let found = errors(&world, &judge(&world.table).expect("a sound table"));
                    wrong = (wrong.0 || found.0, wrong.1 || found.1);
                }
            }
            tally.false_winners = u64::from(wrong.0);
            tally.false_statements = u64::from(wrong.1);
        }
        Rule::Stop(policy) => {
            let decision = |world: &World| decide(&world.table, &policy).expect("a sound table");
            let mut next = decision(&world).next;
            while !next.is_empty() {
                world.run_block(&next);
                next = decision(&world).next;
            }
        }
    }
    let judged = judge(&world.table).expect("a sound table");
    if !matches!(rule, Rule::EveryLook(_)) {
        let wrong = errors(&world, &judged);
        tally.false_winners = u64::from(wrong.0);
        tally.false_statements = u64::from(wrong.1);
    }
    let right =
        |r: &judge::Ranking| r.won && r.others.iter().all(|other| world.log_ratio(other.contender, r.best) > 0.0);
    tally.right = u64::from(judged.rankings.iter().all(right));
    cover(&world, &judged, known, &mut tally);
    tally.trials.push(world.trials);
    tally
}

/// Whether a false winner is named, and whether anything false is said.
fn errors(world: &World, judged: &Judgement) -> (bool, bool) {
    let false_worse = |ranking: &judge::Ranking| {
        let wrong = |other: &judge::Standing| {
            other.relation == Relation::Worse && world.log_ratio(other.contender, ranking.best) <= 0.0
        };
        ranking.others.iter().any(wrong)
    };
    let statement = judged.rankings.iter().any(false_worse);
    let winner = judged.rankings.iter().any(|ranking| ranking.won && false_worse(ranking));
    (winner, statement)
}

fn cover(world: &World, judged: &Judgement, known: (f64, f64), tally: &mut Tally) {
    for figure in &judged.figures {
        let Some(interval) = figure.interval else { continue };
        let centre = if interval.of == Estimand::Median { known.1 } else { known.0 };
        let truth = world.cost(figure.contender) + centre;
        tally.cells[usize::from(figure.samples >= 10)].count(interval.low, truth, interval.high);
    }
    for ranking in &judged.rankings {
        for other in &ranking.others {
            let Some(interval) = other.interval else { continue };
            let truth = world.log_ratio(other.contender, ranking.best);
            tally.ratios[usize::from(other.samples >= 10)].count(interval.low, truth, interval.high);
        }
    }
}

/// What mean and standard deviation of ordered runs would have said.
fn judge_by_custom(world: &World, tally: &mut Tally) {
    let moments: Vec<(f64, f64, f64)> = world
        .table
        .cells
        .iter()
        .map(|cell| {
            let count = cell.samples.len() as f64;
            let mean = cell.samples.iter().map(|sample| sample.value).sum::<f64>() / count;
            let squares: f64 = cell.samples.iter().map(|sample| (sample.value - mean).powi(2)).sum();
            (mean, (squares / (count - 1.0)).sqrt(), count)
        })
        .collect();
    let apart = |width: &dyn Fn(&(f64, f64, f64)) -> f64| {
        let low = moments.iter().map(|m| m.0 + width(m)).fold(f64::INFINITY, f64::min);
        let high = moments.iter().map(|m| m.0 - width(m)).fold(0.0, f64::max);
        u64::from(low < high)
    };
    // Student's t for ten runs.
    let half = |m: &(f64, f64, f64)| 2.262 * m.1 / m.2.sqrt();
    tally.bars_apart = apart(&|m| m.1);
    tally.intervals_apart = apart(&half);
    for (contender, second) in moments.iter().enumerate().skip(1) {
        let first = &moments[0];
        let relative = ((half(first) / first.0).powi(2) + (half(second) / second.0).powi(2)).sqrt();
        let ratio = second.0 / first.0;
        tally.custom.count(ratio * (1.0 - relative), world.log_ratio(contender, 0), ratio * (1.0 + relative));
    }
}
