//! Simulates complete bake-offs and counts their results.
//! In: scenarios and a stopping rule. Out: tallies of false statements, intervals that cover the truth, right winners, trials.
//! Tables are divided between two threads; each table has its own seed, so results do not depend on the threads.

use crate::draw::{Scenario, World, truth};
use judge::{Certainty, Estimand, Judgement, Looks, Policy, Relation, answer, decide, judge};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of intervals, and how many of them contain the truth.
#[derive(Debug, Clone, Copy, Default)]
pub struct Covered(pub u64, pub u64);

impl Covered {
    fn count(&mut self, low: f64, truth: f64, high: f64) {
        self.0 += 1;
        self.1 += u64::from(low.ln() <= truth && truth <= high.ln());
    }

    /// The sum of both.
    pub fn and(self, other: Covered) -> Covered {
        Covered(self.0 + other.0, self.1 + other.1)
    }

    /// Share of intervals that contain the truth, in percent.
    pub fn percent(self) -> f64 {
        100.0 * self.1 as f64 / self.0.max(1) as f64
    }
}

/// Results of one table or, summed, of many.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Number of tables.
    pub tables: u64,
    /// Tables in which a winner was named that is not better than all others.
    pub false_winners: u64,
    /// Tables that call any contender worse although it is not.
    pub false_statements: u64,
    /// Tables that call any contender worse or likely worse although it is not.
    pub false_likelies: u64,
    /// Those of them without a note that samples of a contender resemble each other.
    pub false_unwarned: u64,
    /// True differences; those called likely or more; those that a judge who knows the noise would call so: at one look, or summed over all.
    pub differences: [u64; 3],
    /// Tables in which the latter would also call likely what is no difference.
    pub false_known: u64,
    /// Tables that call contenders tied although their true difference is above the margin.
    pub false_ties: u64,
    /// Choices made, beyond doubt or not.
    pub choices: u64,
    /// Choices whose contender is further behind than the stated bound.
    pub wrong_bounds: u64,
    /// Choices called beyond doubt or likely although another contender's worst shortfall is smaller by more than a hundredth.
    pub wrong_choices: u64,
    /// Tables with a note that samples of a contender resemble each other.
    pub resembling: u64,
    /// Choices called likely or beyond doubt.
    pub certain_choices: u64,
    /// Blocks forecast at the first look divided by the blocks needed, where both are known.
    pub forecasts: Vec<f64>,
    /// Tables that name the true winner.
    pub right: u64,
    /// Intervals of cells: with fewer than ten samples, and with ten or more.
    pub cells: [Covered; 2],
    /// Intervals of ratios: with fewer than ten samples, and with ten or more.
    pub ratios: [Covered; 2],
    /// Sum of the widths of ratio intervals, on logarithms.
    pub widths: f64,
    /// Ordered runs: tables in which the mean ± standard deviation ranges of two contenders do not overlap.
    pub bars_apart: u64,
    /// Ordered runs: tables in which the 95 % intervals of two means do not overlap.
    pub intervals_apart: u64,
    /// Ordered runs: intervals of the ratio of two means, and how many contain the truth.
    pub custom: Covered,
    /// Trials of each table.
    pub trials: Vec<u32>,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Tally) {
        self.tables += other.tables;
        self.false_winners += other.false_winners;
        self.false_statements += other.false_statements;
        self.right += other.right;
        self.resembling += other.resembling;
        self.false_likelies += other.false_likelies;
        self.false_unwarned += other.false_unwarned;
        self.differences.iter_mut().zip(other.differences).for_each(|(own, other)| *own += other);
        self.false_known += other.false_known;
        self.false_ties += other.false_ties;
        self.choices += other.choices;
        self.wrong_bounds += other.wrong_bounds;
        self.wrong_choices += other.wrong_choices;
        self.certain_choices += other.certain_choices;
        self.forecasts.extend(other.forecasts);
        self.widths += other.widths;
        self.bars_apart += other.bars_apart;
        self.intervals_apart += other.intervals_apart;
        self.custom = self.custom.and(other.custom);
        for many in 0..2 {
            self.cells[many] = self.cells[many].and(other.cells[many]);
            self.ratios[many] = self.ratios[many].and(other.ratios[many]);
        }
        self.trials.extend(other.trials);
    }

    /// Mean width of a ratio interval, on logarithms.
    pub fn width(&self) -> f64 {
        self.widths / self.ratios[0].and(self.ratios[1]).0.max(1) as f64
    }

    /// Median number of trials.
    pub fn median_trials(&self) -> u32 {
        let mut trials = self.trials.clone();
        trials.sort_unstable();
        trials.get(trials.len() / 2).copied().unwrap_or(0)
    }
}

/// How a table is simulated.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// A fixed number of blocks, then one look.
    Fixed(u32),
    /// A look after every block up to this number; the first false statement counts, as if the run had stopped there.
    EveryLook(u32),
    /// This many runs of each contender, one contender after the other, judged as published comparisons usually do.
    Ordered(u32),
    /// Until the stopping rule ends the run.
    Stop(Policy),
    /// Until the stopping rule would end the run if it knew the true noise.
    Oracle(Policy),
}

/// Simulates tables of one scenario.
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
            let mut wrong = Errors::default();
            for block in 1..=blocks {
                world.run_full_block();
                if block >= 3 {
                    let judged = judge(&world.table).expect("a sound table");
                    wrong.and(&Errors::of(&world, &judged));
                    found(&world, &judged, &mut tally);
                }
            }
            wrong.count(&mut tally);
        }
        Rule::Stop(policy) => {
            let decision = |world: &World| decide(&world.table, &policy).expect("a sound table");
            let mut next = decision(&world);
            let (mut promised, mut blocks) = (None, 0);
            while next.goes_on() {
                world.run_block(&next.next);
                blocks += 1;
                next = decision(&world);
                if blocks == policy.min_blocks {
                    promised = next.blocks_left.filter(|_| next.goes_on()).map(|left| left + blocks);
                }
            }
            if let Some(promised) = promised.filter(|_| blocks < policy.max_blocks) {
                tally.forecasts.push(f64::from(promised) / f64::from(blocks));
            }
        }
        Rule::Oracle(policy) => {
            let all = decide(&world.table, &policy).expect("a sound table").next;
            let mut open: Vec<usize> = all.iter().map(|trial| trial.contender).collect();
            for block in 1..=policy.max_blocks {
                let next: Vec<_> = all.iter().filter(|trial| open.contains(&trial.contender)).cloned().collect();
                if next.is_empty() {
                    break;
                }
                world.run_block(&next);
                if block >= policy.min_blocks {
                    open = undecided(&world, &policy);
                }
            }
            tally.trials.push(world.trials);
            return tally;
        }
    }
    let judged = judge(&world.table).expect("a sound table");
    if !matches!(rule, Rule::EveryLook(_)) {
        Errors::of(&world, &judged).count(&mut tally);
    }
    let right =
        |r: &judge::Ranking| r.won && r.others.iter().all(|o| world.log_ratio(r.operation, o.contender, r.best) > 0.0);
    tally.right = u64::from(judged.rankings.iter().all(right));
    let resembles = |note: &judge::Note| note.kind == judge::NoteKind::Resemblance;
    tally.resembling = u64::from(judged.notes.iter().any(resembles));
    tally.false_unwarned = tally.false_likelies * (1 - tally.resembling);
    if matches!(rule, Rule::Fixed(_)) {
        found(&world, &judged, &mut tally);
    }
    choice(&world, &mut tally);
    cover(&world, &judged, known, &mut tally);
    tally.trials.push(world.trials);
    tally
}

/// Contenders that the same rule at the same levels would still run if the noise were known.
fn undecided(world: &World, policy: &Policy) -> Vec<usize> {
    let scenario = world.scenario();
    let contenders = scenario.costs[0].len();
    let mut open = Vec::new();
    for operation in 0..scenario.costs.len() {
        let samples = |contender: usize| &world.table.cell(operation, contender).expect("a cell").samples;
        let both = |a: usize, b: usize| -> Vec<f64> {
            let paired = samples(a).iter().filter_map(|x| Some((x, samples(b).iter().find(|y| y.block == x.block)?)));
            paired.map(|(x, y)| (y.value / x.value).ln()).collect()
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let best = (0..contenders).reduce(|a, b| if mean(&both(a, b)) < 0.0 { b } else { a }).expect("contenders");
        let size = |contender: usize| scenario.size * scenario.scatter[contender] * scenario.noisy[operation];
        let mut left = contenders;
        let mut order: Vec<usize> = (0..contenders).filter(|&other| other != best).collect();
        order.sort_by(|&a, &b| mean(&both(best, b)).total_cmp(&mean(&both(best, a))));
        for other in order {
            let found = both(best, other);
            let blocks = found.len();
            let error = (size(best).powi(2) + size(other).powi(2)).sqrt() / (blocks as f64).sqrt();
            let level = Looks::at(blocks).level(0.05 / (left * (left - 1)) as f64 * 2.0);
            let half = judge::normal_quantile(1.0 - level / 2.0) * error;
            if mean(&found) - half > 0.0 {
                left -= 1;
            } else if mean(&found) - half < -policy.resolution.ln_1p() {
                open.extend([best, other]);
            }
        }
    }
    open
}

/// Differences from the best that exist; those that the table calls likely; those that it would call likely if the noise were known: with z
/// instead of t, corrected in the same way for the picked best and over the table.
fn found(world: &World, judged: &Judgement, tally: &mut Tally) {
    let scenario = world.scenario();
    let truly = |ranking: &judge::Ranking, other: usize| world.log_ratio(ranking.operation, other, ranking.best) > 0.0;
    let mut there = 0;
    let mut called = 0;
    let mut known: Vec<(f64, bool)> = Vec::new();
    for ranking in &judged.rankings {
        let costs = |contender: usize| -> Vec<f64> {
            let cell = world.table.cell(ranking.operation, contender).expect("a cell");
            cell.samples.iter().map(|sample| sample.value.ln()).collect()
        };
        let size = |contender: usize| scenario.size * scenario.scatter[contender] * scenario.noisy[ranking.operation];
        let mean = |costs: Vec<f64>| costs.iter().sum::<f64>() / costs.len() as f64;
        let blocks = costs(ranking.best).len() as f64;
        let p = |other: usize| {
            let error = (size(ranking.best).powi(2) + size(other).powi(2)).sqrt() / blocks.sqrt();
            let z = (mean(costs(other)) - mean(costs(ranking.best))) / error;
            statrs::function::erf::erfc(z / std::f64::consts::SQRT_2)
        };
        let mut row: Vec<(f64, bool)> =
            ranking.others.iter().map(|other| (p(other.contender), truly(ranking, other.contender))).collect();
        row.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = row.len() + 1;
        for (p, _) in &mut row {
            *p *= (left as f64 / 2.0).max(1.0);
            left -= usize::from(*p <= 0.05);
        }
        there += row.iter().filter(|one| one.1).count();
        known.extend(row);
        let is_called = |other: &&judge::Standing| other.relation.is_worse() && truly(ranking, other.contender);
        called += ranking.others.iter().filter(is_called).count();
    }
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = known.len() as f64;
    let last = (0..known.len()).rev().find(|&at| known[at].0 <= 0.05 * (at + 1) as f64 / all);
    let by_oracle = &known[..last.map_or(0, |last| last + 1)];
    let rightly = by_oracle.iter().filter(|one| one.1).count();
    tally.false_known = tally.false_known.max(u64::from(rightly < by_oracle.len()));
    tally.differences.iter_mut().zip([there, called, rightly]).for_each(|(sum, count)| *sum += count as u64);
}

/// Which kinds of false statements a table makes.
#[derive(Default)]
struct Errors {
    winner: bool,
    statement: bool,
    likely: bool,
    tie: bool,
}

impl Errors {
    fn of(world: &World, judged: &Judgement) -> Self {
        let mut found = Errors::default();
        for ranking in &judged.rankings {
            for other in &ranking.others {
                let log = world.log_ratio(ranking.operation, other.contender, ranking.best);
                let worse = other.relation == Relation::Worse && log <= 0.0;
                found.statement |= worse;
                found.winner |= worse && ranking.won;
                found.likely |= other.relation.is_worse() && log <= 0.0;
                found.tie |= other.relation == Relation::Tie && log.abs() > judge::MARGIN.ln_1p();
            }
        }
        found
    }

    fn and(&mut self, other: &Errors) {
        self.winner |= other.winner;
        self.statement |= other.statement;
        self.tie |= other.tie;
        self.likely |= other.likely;
    }

    fn count(&self, tally: &mut Tally) {
        tally.false_winners = u64::from(self.winner);
        tally.false_statements = u64::from(self.statement);
        tally.false_ties = u64::from(self.tie);
        tally.false_likelies = u64::from(self.likely);
    }
}

/// Checks whether the choice keeps its bound, and whether a choice called certain is the right one.
fn choice(world: &World, tally: &mut Tally) {
    let answer = answer(&world.table).expect("a sound table");
    let Some(take) = answer.groups.first().and_then(|group| group.take.as_ref()) else { return };
    let truth = world.shortfall(take.shortfall.contender);
    let least = (0..world.scenario().costs[0].len()).map(|other| world.shortfall(other)).fold(f64::INFINITY, f64::min);
    tally.choices = 1;
    tally.wrong_bounds = u64::from(truth > take.shortfall.at_most);
    tally.certain_choices = u64::from(take.certainty >= Certainty::Likely);
    tally.wrong_choices = u64::from(take.certainty >= Certainty::Likely && truth > least * 1.01);
}

fn cover(world: &World, judged: &Judgement, known: (f64, f64), tally: &mut Tally) {
    for figure in &judged.figures {
        let Some(interval) = figure.interval.filter(|_| figure.contender < world.scenario().costs[0].len()) else {
            continue;
        };
        let centre = if interval.of == Estimand::Median { known.1 } else { known.0 };
        let truth = world.cost(figure.operation, figure.contender) + centre;
        tally.cells[usize::from(figure.samples >= 10)].count(interval.low, truth, interval.high);
    }
    for ranking in &judged.rankings {
        for other in &ranking.others {
            let Some(interval) = other.interval else { continue };
            let truth = world.log_ratio(ranking.operation, other.contender, ranking.best);
            tally.ratios[usize::from(other.samples >= 10)].count(interval.low, truth, interval.high);
            tally.widths += (interval.high / interval.low).ln();
        }
    }
}

/// Judges ordered runs by mean and standard deviation.
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
        tally.custom.count(ratio * (1.0 - relative), world.log_ratio(0, contender, 0), ratio * (1.0 + relative));
    }
}
