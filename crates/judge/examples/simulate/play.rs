//! Bake-offs played to their end, and what came of them.
//! In: scenarios and a stopping rule. Out: tallies of false statements, covered intervals, right winners, trials.
//! Tables are spread over two threads; each has a seed of its own, so results do not depend on the threads.

use crate::draw::{Noise, Scenario, World, truth};
use judge::{Decision, Estimand, Judgement, Policy, Relation, decide, judge};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Intervals of cells, and how many of them held the truth.
    pub cells: (u64, u64),
    /// Intervals of ratios, and how many of them held the truth.
    pub ratios: (u64, u64),
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
        self.cells = (self.cells.0 + other.cells.0, self.cells.1 + other.cells.1);
        self.ratios = (self.ratios.0 + other.ratios.0, self.ratios.1 + other.ratios.1);
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
    /// As the stopping rule says.
    Stop(Policy),
}

/// Plays tables of one scenario.
pub fn play(scenario: &Scenario, rule: Rule, tables: u64, seed: u64) -> Tally {
    let known = truth(scenario.noise, scenario.size);
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
                    let world = World::new(scenario, seed.wrapping_mul(1_000_003).wrapping_add(table));
                    own.add(play_one(world, scenario.noise, rule, known));
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

fn play_one(mut world: World, noise: Noise, rule: Rule, known: (f64, f64)) -> Tally {
    let mut tally = Tally { tables: 1, ..Tally::default() };
    match rule {
        Rule::Fixed(blocks) => (0..blocks).for_each(|_| world.run_full_block()),
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
            while let Decision { next, .. } = decide(&world.table, &policy).expect("a sound table") {
                if next.is_empty() {
                    break;
                }
                world.run_block(&next);
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
    cover(&world, &judged, noise, known, &mut tally);
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

fn cover(world: &World, judged: &Judgement, noise: Noise, known: (f64, f64), tally: &mut Tally) {
    for figure in &judged.figures {
        let Some(interval) = figure.interval else { continue };
        // Where distributions move, the truth is taken at the start for want of a better one.
        let _ = noise;
        let centre = if interval.of == Estimand::Median { known.1 } else { known.0 };
        let true_log = world.cost(figure.contender) + centre;
        tally.cells.0 += 1;
        tally.cells.1 += u64::from(interval.low.ln() <= true_log && true_log <= interval.high.ln());
    }
    for ranking in &judged.rankings {
        for other in &ranking.others {
            let Some(interval) = other.interval else { continue };
            let true_log = world.log_ratio(other.contender, ranking.best);
            tally.ratios.0 += 1;
            tally.ratios.1 += u64::from(interval.low.ln() <= true_log && true_log <= interval.high.ln());
        }
    }
}
