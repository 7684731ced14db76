//! The suite: what the judge promises, each promise beside what came of it.
//! In: how many tables to play. Out: a report in Markdown, and the promises that were not kept.
//! The scenarios are those of the promises: all equal, one better than the rest, a ladder; eight kinds of noise.

use crate::draw::{MODELS, Noise, Scenario};
use crate::play::{Covered, Rule, Tally, play};
use judge::{Policy, Until};
use std::fmt::Write;
use std::time::Instant;

/// How much is played.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Tables of each noise model whose contenders are all equal.
    pub equal: u64,
    /// Tables of each scenario with gaps.
    pub gaps: u64,
    /// Standard errors of the simulation itself that a promise may be missed by.
    pub slack: f64,
}

impl Effort {
    /// Minutes.
    pub const FULL: Effort = Effort { equal: 10_000, gaps: 200, slack: 0.0 };
    /// Seconds.
    pub const SHORT: Effort = Effort { equal: 220, gaps: 10, slack: 3.5 };
}

/// What came of the suite.
#[derive(Debug, Default)]
pub struct Report {
    /// The table.
    pub text: String,
    /// Promises that were not kept.
    pub broken: Vec<String>,
}

impl Report {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn promise(&mut self, kept: bool, what: String) {
        if !kept {
            self.broken.push(what);
        }
    }
}

/// Plays everything.
pub fn run(effort: Effort) -> Report {
    let mut report = Report::default();
    false_wins(effort, &mut report);
    custom(effort, &mut report);
    for until in [Until::Winner, Until::Precision] {
        coverage(effort, until, &mut report);
    }
    power(effort, &mut report);
    economy(effort, &mut report);
    time(&mut report);
    report
}

fn stopping(until: Until, cap: u32) -> Rule {
    Rule::Stop(Policy { until, max_blocks: cap, ..Policy::default() })
}

/// Tables of 2 to 12 equal contenders, as many of each.
fn equal(noise: Noise, rule: Rule, tables: u64) -> Tally {
    let mut sum = Tally::default();
    for contenders in 2..=12 {
        sum.add(play(&Scenario::equal(noise, 0.05, contenders, 1), rule, tables.div_ceil(11), 1));
    }
    sum
}

fn share(count: u64, of: u64) -> f64 {
    100.0 * count as f64 / of.max(1) as f64
}

/// What a share of 5 % may come out as in so many tables.
fn at_most(tables: u64, slack: f64) -> f64 {
    5.0 + 100.0 * slack * (0.05 * 0.95 / tables.max(1) as f64).sqrt()
}

fn false_wins(effort: Effort, report: &mut Report) {
    report.line("### False wins: tables, in percent, that call any of their equal contenders worse than another\n");
    report.line("| noise (5 %) | one look, 10 blocks | stopping rule, up to 30 | stopped at the first false word in 30 looks | the same, 2 contenders | the same, 4 contenders x 10 operations |");
    report.line("|---|---|---|---|---|---|");
    for noise in MODELS {
        let once = equal(noise, Rule::Fixed(10), effort.equal);
        let stopped = equal(noise, stopping(Until::Winner, 30), effort.equal);
        let every = equal(noise, Rule::EveryLook(30), effort.equal);
        let pair = play(&Scenario::equal(noise, 0.05, 2, 1), Rule::EveryLook(30), effort.equal, 3);
        let many = play(&Scenario::equal(noise, 0.05, 4, 10), Rule::EveryLook(30), effort.equal / 5, 4);
        let mut row = format!("| {} |", noise.name());
        for tally in [once, stopped, every, pair, many] {
            let found = share(tally.false_statements, tally.tables);
            let _ = write!(row, " {found:.1} |");
            let kept = found <= at_most(tally.tables, effort.slack.max(if tally.tables < 5000 { 2.0 } else { 0.0 }));
            report.promise(kept, format!("false wins, {}: {found:.1} % of {} tables", noise.name(), tally.tables));
        }
        report.line(&row);
    }
    report.line("");
}

fn custom(effort: Effort, report: &mut Report) {
    report
        .line("### The published custom: ten runs each, one contender after the other, mean and standard deviation\n");
    report.line("| noise (5 %) | equal contenders called different: no overlap of mean ± sd | 95 % intervals of means apart | intervals of ratios that hold the truth |");
    report.line("|---|---|---|---|");
    for noise in MODELS {
        let tally = equal(noise, Rule::Ordered(10), effort.equal.min(2200));
        report.line(&format!(
            "| {} | {:.1} | {:.1} | {:.1} |",
            noise.name(),
            share(tally.bars_apart, tally.tables),
            share(tally.intervals_apart, tally.tables),
            tally.custom.percent()
        ));
    }
    report.line("");
}

fn coverage(effort: Effort, until: Until, report: &mut Report) {
    let name = if until == Until::Winner { "the winner was known" } else { "all was precise to 5 %" };
    report.line(&format!("### 95 % intervals that hold the truth, in percent, as they stood when {name}\n"));
    report.line("Mean over scenarios: 2, 3, 4, 6 and 12 contenders, gaps of 1, 1.03, 1.1, 1.3, 2 and 10, noise of 5 % and 15 %.\n");
    report.line("| noise | figures | figures, 10 samples on | ratios to the best | ratios, 10 samples on | lowest scenario: figures, ratios |");
    report.line("|---|---|---|---|---|---|");
    for noise in MODELS {
        let mut shares: [Vec<f64>; 4] = Default::default();
        for size in [0.05, 0.15] {
            for contenders in [2, 3, 4, 6, 12] {
                for gap in [1.0, 1.03, 1.1, 1.3, 2.0, 10.0] {
                    let scenario = Scenario::gap(noise, size, contenders, gap);
                    let tally = play(&scenario, stopping(until, 30), effort.gaps, 6);
                    let found = |few: Covered, many: Covered| [few.and(many), many];
                    let all = [found(tally.cells[0], tally.cells[1]), found(tally.ratios[0], tally.ratios[1])].concat();
                    for (shares, covered) in shares.iter_mut().zip(all) {
                        // A handful of intervals is no share.
                        if covered.0 >= 2 * effort.gaps / 5 {
                            shares.push(covered.percent());
                        }
                    }
                }
            }
        }
        let lowest = |shares: &[f64]| shares.iter().copied().fold(100.0, f64::min);
        let low = [lowest(&shares[0]), lowest(&shares[2])];
        let found = shares.map(|shares| shares.iter().sum::<f64>() / shares.len().max(1) as f64);
        report.line(&format!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1}, {:.1} |",
            noise.name(),
            found[0],
            found[1],
            found[2],
            found[3],
            low[0],
            low[1]
        ));
        // Intervals of one table go together: about 60 scenarios times the tables of each count.
        let room = 100.0 * effort.slack * (0.05 * 0.95 / (60.0 * effort.gaps as f64)).sqrt();
        let what = format!("coverage, {}, until {until:?}: {found:.1?}", noise.name());
        if matches!(noise, Noise::Normal | Noise::LogNormal) {
            report.promise(found.iter().all(|share| (93.0 - room..=97.0 + room).contains(share)), what);
        } else if !noise.moves() {
            report.promise(found[1] >= 90.0 - room && found[3] >= 90.0 - room, what);
        }
    }
    report.line("");
}

fn power(effort: Effort, report: &mut Report) {
    report.line("### A gap of 10 % at 5 % noise: is the right winner named within 15 blocks?\n");
    report.line("| contenders | right, normal | right, log-normal | trials, median | ten each |");
    report.line("|---|---|---|---|---|");
    for contenders in [2, 3, 4, 6, 8, 12] {
        let tables = (effort.gaps * 10).max(160);
        let played = [Noise::Normal, Noise::LogNormal]
            .map(|noise| play(&Scenario::gap(noise, 0.05, contenders, 1.1), stopping(Until::Winner, 15), tables, 7));
        let right = played.each_ref().map(|tally| share(tally.right, tally.tables));
        let trials = played.iter().map(Tally::median_trials).max().unwrap_or(0);
        report.line(&format!("| {contenders} | {:.1} | {:.1} | {trials} | {} |", right[0], right[1], contenders * 10));
        let room = at_most(tables, effort.slack) - 5.0;
        let kept = right.iter().all(|share| *share >= 95.0 - room) && (trials as usize) < contenders * 10;
        report.promise(kept, format!("power, {contenders} contenders: {right:.1?} % right, {trials} trials"));
    }
    report.line("");
}

fn economy(effort: Effort, report: &mut Report) {
    report.line("### Gaps of 1.3 and more at 5 % noise: trials until the winner is known, as a share of ten each\n");
    report.line("Normal and log-normal noise together; one better than all others, and a ladder in which each is worse than the one before by the gap.\n");
    report.line("| gap | right | share of trials, median | of 2 contenders | of 4 | of 12 |");
    report.line("|---|---|---|---|---|---|");
    let mut all: Vec<f64> = Vec::new();
    for gap in [1.3, 1.5, 2.0, 3.0, 10.0] {
        let (mut shares, mut right, mut tables) = (Vec::new(), 0, 0);
        let mut medians = Vec::new();
        for contenders in [2, 4, 12] {
            let mut own = Vec::new();
            for noise in [Noise::Normal, Noise::LogNormal] {
                for scenario in
                    [Scenario::gap(noise, 0.05, contenders, gap), Scenario::ladder(noise, 0.05, contenders, gap)]
                {
                    let tally = play(&scenario, stopping(Until::Winner, 15), effort.gaps, 8);
                    own.extend(tally.trials.iter().map(|trials| f64::from(*trials) / (10 * contenders) as f64));
                    right += tally.right;
                    tables += tally.tables;
                }
            }
            medians.push(median(&mut own));
            shares.extend(own);
        }
        all.extend(&shares);
        report.line(&format!(
            "| {gap} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} |",
            share(right, tables),
            median(&mut shares),
            medians[0],
            medians[1],
            medians[2]
        ));
    }
    let middle = median(&mut all);
    report.line(&format!("\nOver all of them: {middle:.2}.\n"));
    report.promise(middle <= 1.0 / 3.0, format!("economy: {middle:.2} of ten each"));
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn time(report: &mut Report) {
    let scenario = Scenario::equal(Noise::LogNormal, 0.05, 12, 40);
    let mut world = crate::draw::World::new(&scenario, 30, 9);
    (0..30).for_each(|_| world.run_full_block());
    let began = Instant::now();
    let judged = judge::judge(&world.table).expect("a sound table");
    let seconds = began.elapsed().as_secs_f64();
    report.line(&format!("Judging 12 contenders x 40 operations x 30 samples: {:.0} ms.", seconds * 1000.0));
    report.promise(judged.figures.len() == 480 && seconds < 1.0, format!("time: {seconds:.2} s"));
}
