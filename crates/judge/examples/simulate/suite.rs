//! The suite: every promise of the judge with its simulated result.
//! In: how many tables to simulate. Out: a report in Markdown, and the broken promises.
//! The scenarios are those of the promises: all equal, one better than the rest, a ladder; eight kinds of noise.

use crate::draw::{MODELS, Noise, Scenario, Stolen};
use crate::picked;
use crate::play::{Covered, Rule, Tally, play};
use crate::recorded::Recorded;
use judge::{Policy, Until};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

/// How much is simulated.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Tables of each noise model with equal contenders.
    pub equal: u64,
    /// Tables of each scenario with gaps.
    pub gaps: u64,
    /// By how many standard errors of the simulation itself a result may miss its promise.
    pub slack: f64,
}

impl Effort {
    /// Takes minutes.
    pub const FULL: Effort = Effort { equal: 2_200, gaps: 60, slack: 2.0 };
    /// Takes seconds.
    pub const SHORT: Effort = Effort { equal: 220, gaps: 10, slack: 3.5 };
}

/// Results of the suite.
#[derive(Debug, Default)]
pub struct Report {
    /// The report in Markdown.
    pub text: String,
    /// Broken promises.
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

/// A part of the suite.
type Part = fn(Effort, &mut Report);

/// The parts of the suite, each with its name.
pub const PARTS: [(&str, Part); 13] = [
    ("false-wins", false_wins),
    ("calibration", calibration),
    ("trouble", trouble),
    ("recorded", recorded),
    ("stolen", stolen),
    ("sessions", sessions),
    ("answers", answers),
    ("picked", picked),
    ("custom", custom),
    ("coverage", coverage),
    ("power", power),
    ("economy", economy),
    ("time", time),
];

/// Runs these parts of the suite, or all of them if none is named.
pub fn run(effort: Effort, parts: &[&str]) -> Report {
    let mut report = Report::default();
    for (name, part) in PARTS {
        if parts.is_empty() || parts.contains(&name) {
            part(effort, &mut report);
        }
    }
    report
}

fn stopping(until: Until, cap: u32) -> Rule {
    Rule::Stop(Policy { until, max_blocks: cap, resolution: 0.0, ..Policy::default() })
}

/// Equal contenders with usual noise.
fn usual(contenders: usize, operations: usize) -> Scenario {
    Scenario::equal(Noise::LogNormal, 0.05, contenders, operations)
}

/// Tables of 2 to 12 equal contenders, the same number of tables for each.
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

/// Largest observed share that is consistent with a true share of 5 % in so many tables.
fn at_most(tables: u64, slack: f64) -> f64 {
    5.0 + 100.0 * slack * (0.05 * 0.95 / tables.max(1) as f64).sqrt()
}

fn false_wins(effort: Effort, report: &mut Report) {
    report.line("### False wins: tables, in percent, that call any of their equal contenders worse than another\n");
    report.line("| noise (5 %) | one look, 10 blocks | stopping rule, up to 30 | stopped at the first false word in 30 looks | the same, 2 contenders | the same, 4 contenders x 10 operations | of those, falsely \"likely\" at one look after 10 blocks |");
    report.line("|---|---|---|---|---|---|---|");
    for noise in MODELS {
        let once = equal(noise, Rule::Fixed(10), effort.equal);
        let stopped = equal(noise, stopping(Until::Winner, 30), effort.equal);
        let every = equal(noise, Rule::EveryLook(30), effort.equal);
        let pair = play(&Scenario::equal(noise, 0.05, 2, 1), Rule::EveryLook(30), effort.equal, 3);
        let many = play(&Scenario::equal(noise, 0.05, 4, 10), Rule::EveryLook(30), effort.equal / 5, 4);
        let mut row = format!("| {} |", noise.name());
        let once_many = play(&Scenario::equal(noise, 0.05, 4, 10), Rule::Fixed(10), effort.equal / 5, 4);
        let likely = share(once_many.false_likelies, once_many.tables);
        for tally in [once, stopped, every, pair, many] {
            let found = share(tally.false_statements, tally.tables);
            let _ = write!(row, " {found:.1} |");
            let kept = found <= at_most(tally.tables, effort.slack.max(if tally.tables < 5000 { 2.0 } else { 0.0 }));
            report.promise(kept, format!("false wins, {}: {found:.1} % of {} tables", noise.name(), tally.tables));
        }
        let _ = write!(row, " {likely:.1} |");
        let kept = likely <= at_most(effort.equal / 5, effort.slack.max(2.0));
        report.promise(kept, format!("false likelies, {}: {likely:.1} % of tables", noise.name()));
        report.line(&row);
    }
    report.line("");
}

/// After a fixed number of blocks, in tables of all kinds: error rates of statements and intervals, and how many true differences are found.
fn calibration(effort: Effort, report: &mut Report) {
    report.line("### Calibration: tables of so many blocks, one look\n");
    report.line("False words in percent of tables; intervals of ratios that hold the truth; bounds of the choice that do not; differences from the best that are called at least \"likely\", and as a share of what an oracle finds, who knows the noise. \"All\": a look after every block from the third to the twentieth; false words at any of them, and differences found over all of them.\n");
    report.line("| table | blocks | false beyond doubt | false likely | the oracle's | intervals that hold | wrong bounds | found | of the oracle's |");
    report.line("|---|---|---|---|---|---|---|---|---|");
    let rows = |size: f64, gap: f64| {
        let costs: Vec<f64> = (0..6).map(|at| if at < 3 { 0.0 } else { gap.ln() }).collect();
        Scenario::of(Noise::LogNormal, size, vec![costs; 5])
    };
    let cases: [(&str, Scenario); 9] = [
        ("2 equal, 1 operation", usual(2, 1)),
        ("3 equal, 8 operations", usual(3, 8)),
        ("6 equal, 7 operations", usual(6, 7)),
        ("3 of 6 worse by 10 %, 5 % noise, 5 operations", rows(0.05, 1.1)),
        ("3 of 6 worse by 30 %, 10 % noise, 5 operations", rows(0.1, 1.3)),
        ("2, one worse by 10 %, 5 % noise", Scenario::gap(Noise::LogNormal, 0.05, 2, 1.1)),
        ("quick run, 5 % noise", Scenario::like_a_quick_run(0.05)),
        ("quick run, 20 % noise", Scenario::like_a_quick_run(0.2)),
        ("6 equal, one scatters 5 times as much, 7 operations", Scenario::wild(6, 7, 5.0)),
    ];
    for (name, scenario) in &cases {
        for blocks in [2, 3, 5, 10, 20] {
            let tally = play(scenario, Rule::Fixed(blocks), effort.equal / 2, 31);
            let proven = share(tally.false_statements, tally.tables);
            let likely = share(tally.false_likelies, tally.tables);
            let held = tally.ratios[0].and(tally.ratios[1]).percent();
            let wrong = share(tally.wrong_bounds, tally.choices);
            let there = tally.differences[0];
            let (power, oracle) = (power_of(&tally), share(tally.false_known, tally.tables));
            report.line(&format!(
                "| {name} | {blocks} | {proven:.1} | {likely:.1} | {oracle:.1} | {held:.1} | {wrong:.1} | {power}"
            ));
            let (most, what) = (at_most(tally.tables, effort.slack.max(2.0)), format!("{name}, {blocks} blocks"));
            // Where some contenders are worse, 5 % of the differences called likely may be false, which can affect more than 5 % of the tables.
            report
                .promise(proven <= most && (there > 0 || likely <= most), format!("{what}: {proven:.1}, {likely:.1}"));
            // Intervals of one table are dependent: count them as one per table.
            let room = most - 5.0;
            let none = tally.ratios.iter().all(|covered| covered.0 == 0);
            report.promise(none || (94.0 - room..=98.0 + room).contains(&held), format!("{what}: {held:.1} % hold"));
            report.promise(wrong <= most, format!("{what}: {wrong:.1} % of bounds are wrong"));
        }
        let all = play(scenario, Rule::EveryLook(20), effort.equal / 10, 32);
        let [there, called, known] = all.differences;
        let falsely = [all.false_statements, all.false_likelies, all.false_known].map(|count| share(count, all.tables));
        let [proven, likely, oracle] = falsely;
        let power = power_of(&all);
        report.line(&format!("| {name} | all | {proven:.1} | {likely:.1} | {oracle:.1} | | | {power}"));
        report.promise(there == 0 || called as f64 >= 0.8 * known as f64, format!("{name}, all looks: {power}"));
    }
    report.line("");
}

/// The share of differences that a table finds, in percent, and the same as a share of what the oracle finds; empty where there are none.
fn power_of(tally: &Tally) -> String {
    let [there, called, known] = tally.differences;
    match there {
        0 => "| |".to_string(),
        _ => format!("{:.0} | {:.2} |", share(called, there), called as f64 / known.max(1) as f64),
    }
}

/// Problems of machines and filesystems beyond equal scatter.
fn trouble(effort: Effort, report: &mut Report) {
    report.line("### Trouble: false words, in percent, about equal contenders at any of 30 looks\n");
    report.line("5 % noise, log-normal. A look after every block from the third on; the first false word counts. \"Likely\" is what one look after five blocks says.\n");
    report.line("| trouble | tables that say something false beyond doubt | even \"likely\", after 5 blocks | and without warning | warned of, after 5 blocks | after 30 |");
    report.line("|---|---|---|---|---|---|");
    let kept = |step| Scenario { kept_state: step, ..usual(4, 7) };
    let mut noisy = usual(6, 7);
    noisy.noisy = vec![0.4, 1.0, 1.0, 2.0, 4.0, 8.0, 1.0];
    let cases: [(&str, Scenario, bool); 11] = [
        ("none: six contenders, seven operations", usual(6, 7), true),
        ("one of six scatters three times as much", Scenario::wild(6, 7, 3.0), true),
        ("one of six scatters five times as much", Scenario::wild(6, 7, 5.0), true),
        ("one of six scatters ten times as much", Scenario::wild(6, 7, 10.0), true),
        ("the same, five times, one operation", Scenario::wild(6, 1, 5.0), true),
        ("one of three, five times, one operation", Scenario::wild(3, 1, 5.0), false),
        ("operations scatter by 2 to 40 %", noisy, true),
        ("one contender is entered twice", Scenario { twin: true, ..usual(4, 7) }, true),
        ("a fifth of one contender's trials fail", Scenario { failing: 0.2, ..usual(4, 7) }, true),
        ("a state stays with each contender (0.4 from block to block)", kept(0.4), false),
        ("a state stays with each contender (0.7)", kept(0.7), false),
    ];
    for (name, scenario, promised) in cases {
        let tally = play(&scenario, Rule::EveryLook(30), effort.equal / 5, 11);
        let early = play(&scenario, Rule::Fixed(5), effort.equal / 5, 12);
        let tables = share(tally.false_statements, tally.tables);
        let [likely, silent] = [early.false_likelies, early.false_unwarned].map(|count| share(count, early.tables));
        let [soon, late] = [&early, &tally].map(|tally| share(tally.resembling, tally.tables));
        report.line(&format!("| {name} | {tables:.1} | {likely:.1} | {silent:.1} | {soon:.0} | {late:.0} |"));
        let most = at_most(tally.tables, effort.slack.max(2.0));
        report.promise(!promised || tables <= most, format!("{name}: {tables:.1} % of tables are false"));
        report.promise(silent <= most, format!("{name}: {silent:.1} % of tables say falsely \"likely\""));
    }
    report.line("\n### Called alike although they are not: tables, in percent, at any of 30 looks\n");
    report.line("| noise | true gap 5 % | 10 % |\n|---|---|---|");
    for size in [0.02, 0.05, 0.1, 0.2] {
        let found = [1.05, 1.1].map(|gap| {
            let scenario = Scenario { twin: true, ..Scenario::gap(Noise::LogNormal, size, 4, gap) };
            play(&scenario, Rule::EveryLook(30), effort.equal / 10, 12)
        });
        let shares = found.each_ref().map(|tally| share(tally.false_ties, tally.tables));
        report.line(&format!("| {:.0} % | {:.1} | {:.1} |", size * 100.0, shares[0], shares[1]));
        let kept = shares.iter().all(|share| *share <= at_most(found[0].tables, effort.slack.max(2.0)));
        report.promise(kept, format!("false ties at {size}: {shares:.1?}"));
    }
    report.line("");
}

/// Noise of a real machine, with contenders that are equal, and with contenders that differ.
fn recorded(effort: Effort, report: &mut Report) {
    report.line("### Noise of a real machine: ext4 under four names, and the same with a ladder of gaps of 1.3\n");
    report.line("Rounds follow each other as they were recorded, from any round on; contenders and operations are shuffled for each table. False words in percent of tables; intervals of ratios that hold the truth; bounds of the choice that do not; gaps that are called at least \"likely\".\n");
    report.line("| noise | rounds | false *worse* | false *likely* | the same, not warned of | intervals that hold | wrong bounds | gaps found |");
    report.line("|---|---|---|---|---|---|---|---|");
    for noise in Recorded::all().into_iter().map(Arc::new) {
        let [equal, ladder] = [1.0, 1.3].map(|gap| Scenario::recorded(&noise, gap));
        for rounds in [2, 3, 5, 10, 20] {
            let [none, gaps] =
                [&equal, &ladder].map(|scenario| play(scenario, Rule::Fixed(rounds), effort.equal / 5, 41));
            let all = [&none, &gaps].map(|tally| tally.ratios[0].and(tally.ratios[1]));
            let held = all[0].and(all[1]).percent();
            let [proven, likely, silent] = [none.false_statements, none.false_likelies, none.false_unwarned]
                .map(|count| share(count, none.tables));
            let wrong = share(none.wrong_bounds + gaps.wrong_bounds, none.choices + gaps.choices);
            let [there, called, _] = gaps.differences;
            let (name, found) = (noise.name, share(called, there));
            report.line(&format!(
                "| {name} | {rounds} | {proven:.1} | {likely:.1} | {silent:.1} | {held:.1} | {wrong:.1} | {found:.0} |"
            ));
            // Tables share the rounds that were recorded: as if there were one for each of these.
            let most = at_most(noise.rounds() as u64, effort.slack.max(2.0));
            report.promise(
                proven <= most && silent <= most,
                format!("{name}, {rounds} rounds: {proven:.1}, {silent:.1} % false"),
            );
            report.promise(
                held >= 95.0 - (most - 5.0),
                format!("{name}, {rounds} rounds: {held:.1} % of intervals hold"),
            );
            report.promise(wrong <= most, format!("{name}, {rounds} rounds: {wrong:.1} % of bounds are wrong"));
        }
    }
    report.line("");
}

/// Processor time that a hypervisor takes away: error rates and power with and without its correction.
fn stolen(effort: Effort, report: &mut Report) {
    report.line("### Processor time taken by the hypervisor: 5 % of it on average, which makes work 15 % longer\n");
    report.line("Four contenders (the last line: twelve), seven operations, 5 % noise besides, one look; a gap is 1.1. False words in percent of tables.\n");
    report.line(
        "| stolen time | rounds | false *worse* | false *likely* | intervals that hold | their width | gaps found |",
    );
    report.line("|---|---|---|---|---|---|---|");
    let each = Stolen { share: 0.05, first: 1.0, effect: 3.0, known: true };
    let useless = Stolen { effect: 0.0, ..each };
    let cases: [(&str, Stolen, usize, bool); 7] = [
        ("none", Stolen { share: 0.0, ..each }, 4, true),
        ("not recorded", Stolen { known: false, ..each }, 4, true),
        ("recorded", each, 4, true),
        ("recorded, without effect", useless, 4, true),
        ("not recorded, the first loses twice as much", Stolen { known: false, first: 2.0, ..each }, 4, false),
        ("recorded, the first loses twice as much", Stolen { first: 2.0, ..each }, 4, true),
        ("without effect, the first of twelve loses five times as much", Stolen { first: 5.0, ..useless }, 12, true),
    ];
    for (name, stolen, contenders, promised) in cases {
        for rounds in [3, 5, 10, 20] {
            let with = |scenario: Scenario| Scenario { stolen: Some(stolen), ..scenario };
            let ladder = (0..contenders).map(|contender| 1.1_f64.ln() * contender as f64).collect();
            let [none, gaps] = [usual(contenders, 7), Scenario::of(Noise::LogNormal, 0.05, vec![ladder; 7])]
                .map(|scenario| play(&with(scenario), Rule::Fixed(rounds), effort.equal / 5, 61));
            let [proven, likely] = [none.false_statements, none.false_likelies].map(|count| share(count, none.tables));
            let held = [&none, &gaps].map(|tally| tally.ratios[0].and(tally.ratios[1]));
            let held = held[0].and(held[1]).percent();
            let [there, called, _] = gaps.differences;
            let (width, found) = (100.0 * none.width(), share(called, there));
            report.line(&format!(
                "| {name} | {rounds} | {proven:.1} | {likely:.1} | {held:.1} | {width:.0} % | {found:.0} |"
            ));
            let most = at_most(none.tables, effort.slack.max(2.0));
            report.promise(
                !promised || (proven <= most && likely <= most && held >= 95.0 - (most - 5.0)),
                format!("{name}, {rounds} rounds: {proven:.1}, {likely:.1} % false, {held:.1} % hold"),
            );
        }
    }
    report.line("");
}

/// Tables of several sessions, in which a contender may do better in one state of the machine than in another.
fn sessions(effort: Effort, report: &mut Report) {
    report.line("### Sessions of five rounds, 5 % noise, equal contenders: intervals that hold the long-run truth, false words, and widths\n");
    report.line("The effect is a standard deviation on logarithms, drawn for each contender, session and operation. \"Unknown\": the same tables as one session. The width is that of an interval of a ratio against the same tables as one session without effects.\n");
    report.line("| contenders x operations | effect | sessions | intervals that hold, % | the same, unknown | tables with a false *worse*, % | the same, unknown | choices with a wrong bound, % | width |");
    report.line("|---|---|---|---|---|---|---|---|---|");
    // The short form covers the hardest cases: sessions of a usual table that differ much, and not at all.
    let few = effort.equal < Effort::FULL.equal;
    let sizes: &[(usize, usize)] = if few { &[(4, 7)] } else { &[(2, 1), (2, 12), (4, 7)] };
    let effects: &[f64] = if few { &[0.0, 0.1] } else { &[0.0, 0.03, 0.1] };
    for &(contenders, operations) in sizes {
        for &effect in effects {
            for count in [2, 3, 5] {
                let scenario = Scenario::in_sessions(contenders, operations, effect);
                let unknown = Scenario { known_sessions: false, ..scenario.clone() };
                let calm = Scenario { sessions: None, ..scenario.clone() };
                let tables = effort.equal * 2 / if operations > 1 { 5 } else { 1 };
                let played = |scenario: &Scenario| play(scenario, Rule::Fixed(5 * count), tables, 31);
                let [found, unknown, calm] = [&scenario, &unknown, &calm].map(played);
                let holding = |tally: &Tally| tally.ratios[0].and(tally.ratios[1]).percent();
                let falsely = |tally: &Tally| share(tally.false_statements, tally.tables);
                let wrong = share(found.wrong_bounds, found.choices);
                let width = found.width() / calm.width();
                report.line(&format!(
                    "| {contenders} x {operations} | {effect} | {count} | {:.1} | {:.1} | {:.1} | {:.1} | {wrong:.1} | {width:.2} |",
                    holding(&found),
                    holding(&unknown),
                    falsely(&found),
                    falsely(&unknown)
                ));
                let name = format!("{contenders} x {operations}, {count} sessions with effects of {effect}");
                // Intervals of one row share the best contender.
                let independent = (tables * operations as u64) as f64;
                let room = 100.0 * effort.slack * (0.06 * 0.94 / independent).sqrt();
                report.promise(holding(&found) >= 94.0 - room, format!("{name}: {:.1} % hold", holding(&found)));
                let most = at_most(tables, effort.slack);
                report.promise(falsely(&found).max(wrong) <= most, format!("{name}: {:.1} % false", falsely(&found)));
                let cheap = effect > 0.0 || count < 3 || operations == 1 || width <= 1.3;
                report.promise(cheap, format!("{name}: {width:.2} times as wide"));
            }
        }
    }
    report.line("");
}

/// The answer: trials until nothing that matters is open, compared with a judge who knows the noise and with ten trials each.
fn answers(effort: Effort, report: &mut Report) {
    report.line("### Trials until the answer, six contenders and seven operations with the gaps of a real quick run\n");
    report.line("The oracle stops by the same rule and levels, but knows how far every contender scatters in every operation. Medians; at most 60 blocks. A wrong bound: the contender to take is further behind than was stated. The forecast is what the third block promised over what it took.\n");
    report
        .line("| noise | resolution | trials | oracle | ratio | ten each | wrong bounds | wrong choices | forecast |");
    report.line("|---|---|---|---|---|---|---|---|---|");
    let (mut ratios, mut forecasts) = (Vec::new(), Vec::new());
    for size in [0.02, 0.05, 0.1, 0.2] {
        for resolution in [0.1, 0.3] {
            let policy = Policy { max_blocks: 60, resolution, ..Policy::default() };
            let scenario = Scenario::like_a_quick_run(size);
            let tables = effort.gaps * 2;
            let found = play(&scenario, Rule::Stop(policy), tables, 13);
            let oracle = play(&scenario, Rule::Oracle(policy), tables, 13).median_trials();
            let trials = found.median_trials();
            let ratio = f64::from(trials) / f64::from(oracle);
            let forecast = median(&mut found.forecasts.clone());
            let wrong = [share(found.wrong_bounds, found.choices), share(found.wrong_choices, found.choices)];
            report.line(&format!(
                "| {:.0} % | {:.0} % | {trials} | {oracle} | {ratio:.2} | 60 | {:.1} | {:.1} | {forecast:.2} |",
                size * 100.0,
                resolution * 100.0,
                wrong[0],
                wrong[1]
            ));
            let most = at_most(found.choices, effort.slack.max(2.0));
            report.promise(wrong.iter().all(|share| *share <= most), format!("choices at {size}: {wrong:.1?} % wrong"));
            ratios.push(ratio);
            if found.forecasts.len() >= 20 {
                forecasts.push(forecast);
            }
        }
    }
    let (ratio, forecast) = (median(&mut ratios), median(&mut forecasts));
    report.line(&format!("\nMedians over all of them: {ratio:.2} times the oracle's trials, forecasts {forecast:.2} times what it took.\n"));
    report.promise(ratio <= 1.5, format!("trials: {ratio:.2} times the oracle's"));
    // Too few tables for a median of forecasts.
    let few = effort.gaps < Effort::FULL.gaps;
    report.promise(few || (0.7..=1.3).contains(&forecast), format!("forecasts: {forecast:.2} times what it took"));
    chosen(effort, report);
}

/// Choices in tables with random gaps, at any look.
fn chosen(effort: Effort, report: &mut Report) {
    report.line("### The choice, in tables of random gaps: wrong by more than the stated bound, in percent\n");
    report.line("Two to eight contenders, one to ten operations, each contender up to twice behind in each; judged after so many blocks.\n");
    report.line("| noise | 2 blocks | 3 | 5 | 10 | called likely or beyond doubt, and wrong |");
    report.line("|---|---|---|---|---|");
    for size in [0.02, 0.05, 0.1, 0.2, 0.4] {
        let mut row = format!("| {:.0} % |", size * 100.0);
        let mut falsely = (0, 0);
        for blocks in [2, 3, 5, 10] {
            let mut sum = Tally::default();
            for seed in 0..effort.equal / 10 {
                let (contenders, operations) = (2 + seed as usize % 7, 1 + seed as usize / 7 % 10);
                let scenario = Scenario::random(size, contenders, operations, seed);
                sum.add(play(&scenario, Rule::Fixed(blocks), 1, seed + 1));
            }
            let wrong = share(sum.wrong_bounds, sum.choices);
            let _ = write!(row, " {wrong:.1} |");
            falsely = (falsely.0 + sum.wrong_choices, falsely.1 + sum.choices);
            let most = at_most(sum.choices, effort.slack.max(2.0));
            report.promise(wrong <= most, format!("choice at {size} after {blocks}: {wrong:.1} % wrong"));
        }
        let falsely = share(falsely.0, falsely.1);
        report.line(&format!("{row} {falsely:.1} |"));
        report.promise(falsely <= 5.0, format!("choices at {size}: {falsely:.1} % are falsely certain"));
    }
    report.line("");
}

/// Groups judged at their best value, picked from the same samples.
fn picked(effort: Effort, report: &mut Report) {
    report.line("### Groups at their best value, picked by the same samples: false words, in percent\n");
    report.line("Three groups of so many values, four operations, 5 % noise, log-normal; equal, and with the first group's values better by 20 %.\n");
    report.line("| values | blocks | tables that falsely call one worse | lines that falsely say even \"likely\" | the same, if only what was picked were looked at | lines in which the better group is found |");
    report.line("|---|---|---|---|---|---|");
    for (values, blocks) in [(2, 3), (2, 10), (4, 3), (4, 10)] {
        let equal = Scenario::equal(Noise::LogNormal, 0.05, 3 * values, 4);
        let found = picked::play(&equal, values, blocks, effort.equal / 4, 21);
        let row: Vec<f64> = (0..3 * values).map(|at| if at < values { 0.0 } else { 1.2_f64.ln() }).collect();
        let better = Scenario::of(Noise::LogNormal, 0.05, vec![row; 4]);
        let power = picked::play(&better, values, blocks, effort.equal / 20, 22);
        let falsely = share(found.falsely, found.tables);
        let [likely, naively] = [found.likely, found.naively].map(|count| share(count, found.lines));
        let right = share(power.rightly, power.lines);
        report.line(&format!("| {values} | {blocks} | {falsely:.1} | {likely:.1} | {naively:.1} | {right:.0} |"));
        let kept = falsely.max(likely) <= at_most(found.tables, effort.slack.max(2.0));
        report.promise(kept, format!("groups of {values} after {blocks} blocks: {falsely:.1} % of tables are false"));
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

fn coverage(effort: Effort, report: &mut Report) {
    for until in [Until::Winner, Until::Precision] {
        coverage_until(effort, until, report);
    }
}

fn coverage_until(effort: Effort, until: Until, report: &mut Report) {
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
                        // Too few intervals for a share.
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
        // Intervals of one table are dependent: about 60 scenarios times the tables of each count.
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
        let kept = right.iter().all(|share| *share >= 75.0 - room);
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
    report.promise(middle <= 0.4, format!("economy: {middle:.2} of ten each"));
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn time(_: Effort, report: &mut Report) {
    let scenario = Scenario::equal(Noise::LogNormal, 0.05, 12, 40);
    let mut world = crate::draw::World::new(&scenario, 9);
    (0..30).for_each(|_| world.run_full_block());
    let began = Instant::now();
    let judged = judge::judge(&world.table).expect("a sound table");
    let seconds = began.elapsed().as_secs_f64();
    report.line(&format!("Judging 12 contenders x 40 operations x 30 samples: {:.0} ms.", seconds * 1000.0));
    report.promise(judged.figures.len() == 480, format!("time: {} figures", judged.figures.len()));
}
