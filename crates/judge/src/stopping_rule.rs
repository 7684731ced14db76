//! The stopping rule: whether a run continues, and with which contenders.
//! In: a table so far and a [`Policy`]. Out: a [`Decision`].
//! A run stops when all is resolved: every rival is worse, or the leader is behind it by no more than matters (Bechhofer 1954; Kim and Nelson 2001).
//! [`crate::looks::Looks`] corrects for looking after every block, so stopping early does not raise the error rate.

use crate::budget;
use crate::choice;
use crate::decision::{Decision, FAILURES_IN_A_ROW, Needed, Open, Policy, REGRET, Reason, Unsettled, Until};
use crate::evidence::Evidence;
use crate::figure;
use crate::judgement::{Ranking, Standing};
use crate::looks::Looks;
use crate::numbers::t_critical;
use crate::rank::{ALPHA, Fit};
use crate::series::Series;
use crate::table::{Cell, Table, TableError};
use crate::verdict::Shortfall;
use crate::work;
use std::collections::BTreeSet;

/// Decides whether another block is run, and of what.
///
/// # Errors
/// The table contradicts itself or passes a limit.
pub fn decide(table: &Table, policy: &Policy) -> Result<Decision, TableError> {
    table.check()?;
    let series: Vec<Series> = table.cells.iter().map(Series::of).collect();
    let fit = Fit::of(table, &series);
    let rankings = fit.rankings(table);
    Ok(decide_by(table, policy, &Known { series: &series, fit: &fit, rankings: &rankings }))
}

/// What the decision is based on.
pub struct Known<'a> {
    /// One for each cell.
    pub series: &'a [Series],
    /// Its fit.
    pub fit: &'a Fit,
    /// The rankings of the fit.
    pub rankings: &'a [Ranking],
}

/// The same for a table that was checked and fitted.
pub fn decide_by(table: &Table, policy: &Policy, known: &Known) -> Decision {
    let everyone = everyone(table);
    let done = blocks_done(table);
    if everyone.is_empty() {
        return decision(Reason::Nothing, "No contender can be measured.".into(), Vec::new(), Vec::new());
    }
    let open = open(table, policy, known);
    if done < policy.min_blocks.max(1).min(policy.max_blocks) {
        let text = format!("Round {} of at least {}.", done + 1, policy.min_blocks);
        return with_budget(table, policy, decision(Reason::Minimum, text, everyone, open));
    }
    if done >= policy.max_blocks {
        let reason = if open.is_empty() || policy.until == Until::Blocks { Reason::Resolved } else { Reason::Cap };
        let text = match open.len() {
            0 => decided(table, done),
            _ => format!("Stopped at the limit of {}.", rounds(policy.max_blocks)),
        };
        return decision(reason, text, Vec::new(), open);
    }
    if open.is_empty() && policy.until != Until::Blocks {
        return decision(Reason::Resolved, decided(table, done), Vec::new(), open);
    }
    let next = if policy.until == Until::Blocks { everyone } else { needed(table, &open, known.rankings, policy) };
    let text = format!("Not decided after {}.", rounds(done));
    with_budget(table, policy, decision(Reason::Open, text, next, open))
}

/// "1 round", "30 rounds".
fn rounds(count: u32) -> String {
    format!("{count} {}", crate::notes::plural(count as usize, "round"))
}

/// States that nothing is open, and whether that is only because contenders did not do the same work.
fn decided(table: &Table, blocks: u32) -> String {
    let doubts = work::doubts(table);
    let unequal = doubts.iter().filter(|doubt| doubt.withholds()).map(|doubt| format!(" {}", doubt.text));
    format!("Decided after {}.{}", rounds(blocks), unequal.collect::<String>())
}

/// Half-width of the interval as a share: the wider of the interval shown and Student's t, so that a lucky cluster of samples does not pass
/// for precision.
fn half_width(series: &Series) -> Option<f64> {
    let logs: Vec<f64> = series.trials.iter().map(|trial| trial.log).collect();
    let shown = figure::interval(&logs)?;
    let by_t = figure::t_half_width(&logs)?;
    Some(((shown.high / shown.low).ln() / 2.0).max(by_t).exp_m1())
}

fn is_out(table: &Table, contender: usize) -> bool {
    table.contenders[contender].failed.is_some()
}

/// Whether more trials of a cell fail than give samples: no run waits for it.
fn keeps_failing(cell: &Cell) -> bool {
    cell.facts.failures >= FAILURES_IN_A_ROW && cell.facts.failures as usize > cell.samples.len()
}

/// Every contender and workload that can be measured. A pair without samples counts only while the workload or the contender has no samples
/// at all, since not every contender runs every workload.
pub fn everyone(table: &Table) -> Vec<Needed> {
    let mut workloads: Vec<&str> = table.operations.iter().map(|operation| operation.id.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let workload_of = |cell: &Cell| table.operations[cell.operation].id.workload.as_str();
    let can = (0..table.contenders.len()).filter(|&contender| !is_out(table, contender));
    let meets = |contender: usize, workload: &str| {
        let (mut same, mut of_workload, mut of_contender) = (false, false, false);
        for cell in &table.cells {
            let (mine, here) = (cell.contender == contender, workload_of(cell) == workload);
            same |= mine && here;
            of_workload |= here;
            of_contender |= mine;
        }
        same || !of_workload || !of_contender
    };
    can.flat_map(|contender| {
        let met = workloads.iter().filter(move |workload| meets(contender, workload));
        met.map(move |workload| Needed { contender, workload: (*workload).into() })
    })
    .collect()
}

/// Figures that are not resolved.
fn open(table: &Table, policy: &Policy, known: &Known) -> Vec<Open> {
    let mut open = Vec::new();
    if policy.until != Until::Winner {
        for (cell, series) in table.cells.iter().zip(known.series).filter(|(cell, _)| !is_out(table, cell.contender)) {
            let aside =
                table.operations[cell.operation].secondary || table.contenders[cell.contender].twin_of.is_some();
            if !aside && !keeps_failing(cell) {
                open.extend(imprecise(policy, cell, series));
            }
        }
    }
    for ranking in known.rankings.iter().filter(|ranking| !table.operations[ranking.operation].secondary) {
        let fails = |contender| table.cell(ranking.operation, contender).is_some_and(keeps_failing);
        let waited_for = |other: &&Standing| !is_out(table, other.contender) && !fails(other.contender);
        let won = blocks_to_win(known.fit, ranking);
        let Some(row) = known.fit.row_of(ranking.operation, ranking.best) else { continue };
        for other in ranking.others.iter().filter(waited_for) {
            if !known.fit.is_settled(row, other.contender, policy.resolution) && !fails(ranking.best) {
                open.push(Open {
                    operation: ranking.operation,
                    contender: other.contender,
                    half_width: other.interval.map(|i| (i.high / i.low).sqrt() - 1.0),
                    blocks_left: blocks_for(known.fit, ranking, other, policy.resolution).into_iter().chain(won).min(),
                    why: Unsettled::Against(ranking.best),
                });
            }
        }
    }
    if open.is_empty() && policy.until == Until::Winner {
        open = open_choice(table, known.fit);
    }
    open
}

/// What the choice still depends on when every row is resolved: that a contender is worse is known early, by how much is not.
fn open_choice(table: &Table, fit: &Fit) -> Vec<Open> {
    let open = |(shortfall, blocks_left): (Shortfall, Option<u32>)| Open {
        operation: shortfall.operation,
        contender: shortfall.contender,
        half_width: Some(shortfall.at_most / shortfall.ratio - 1.0),
        blocks_left,
        why: Unsettled::Choice,
    };
    choice::unsettled(table, fit, REGRET).into_iter().map(open).collect()
}

fn imprecise(policy: &Policy, cell: &Cell, series: &Series) -> Option<Open> {
    let half_width = half_width(series);
    let (why, blocks_left) = match half_width {
        None => (Unsettled::TooFew, None),
        Some(half) if half <= policy.precision => return None,
        Some(half) => {
            let more = series.blocks.len() as f64 * ((half / policy.precision).powi(2) - 1.0);
            (Unsettled::Imprecise(half), Some(whole(more)))
        }
    };
    Some(Open { operation: cell.operation, contender: cell.contender, half_width, blocks_left, why })
}

/// Blocks until a comparison is resolved, if the estimates do not change: the bound of each later look is known, and the error shrinks with
/// the samples.
fn blocks_for(fit: &Fit, ranking: &Ranking, other: &Standing, resolution: f64) -> Option<u32> {
    let row = fit.row_of(ranking.operation, ranking.best)?;
    let found = fit.versus(row, ranking.best, other.contender)?.evidence;
    let pairs = fit.pairs(row, other.contender);
    least(|more| would_resolve(&found, found.samples as u32 + more, pairs, resolution))
}

/// Blocks until the best of a row beats every other, if the estimates do not change: picking it costs nothing then.
fn blocks_to_win(fit: &Fit, ranking: &Ranking) -> Option<u32> {
    let row = fit.row_of(ranking.operation, ranking.best)?;
    let others = ranking.others.iter().map(|other| {
        let found = fit.versus(row, ranking.best, other.contender)?.evidence;
        least(|more| would_resolve(&found, found.samples as u32 + more, 1.0, 0.0))
    });
    others.collect::<Option<Vec<u32>>>()?.into_iter().max()
}

/// The smallest sufficient number of blocks, where sufficiency is monotonic.
fn least(enough: impl Fn(u32) -> bool) -> Option<u32> {
    let doubled = (0..).map(|power| 1 << power).take_while(|more| *more <= MOST_BLOCKS_AHEAD);
    let mut many = doubled.into_iter().find(|&more| enough(more))?;
    let mut few = many / 2;
    while many - few > 1 {
        let middle = few + (many - few) / 2;
        if enough(middle) { many = middle } else { few = middle }
    }
    Some(many)
}

/// Distance between estimate and truth that a forecast assumes, in standard errors, by simulation.
const FORECAST: f64 = 1.1;
/// Most blocks of a forecast.
const MOST_BLOCKS_AHEAD: u32 = 1024;

fn would_resolve(found: &Evidence, blocks: u32, pairs: f64, resolution: f64) -> bool {
    let (now, then) = (found.samples as f64, f64::from(blocks));
    let level = Looks::at(blocks as usize).level(ALPHA / pairs);
    let half = t_critical(level, then - 1.0 + found.prior_df) * found.error * (now / then).sqrt();
    // The truth is probably about one error away from the estimate. Close to the resolution limit, it can only be further from the limit.
    (found.log + resolution.ln_1p()).hypot(FORECAST * found.error) >= half
}

fn whole(blocks: f64) -> u32 {
    blocks.ceil().clamp(1.0, 1e6) as u32
}

/// Trials that the open figures need. A ratio needs both sides.
fn needed(table: &Table, open: &[Open], rankings: &[Ranking], policy: &Policy) -> Vec<Needed> {
    let mut needed: Vec<Needed> = Vec::new();
    let mut add = |operation: usize, contender: usize| {
        let workload = table.operations[operation].id.workload.clone();
        needed.push(Needed { contender, workload });
    };
    for figure in open {
        add(figure.operation, figure.contender);
        for ranking in rankings.iter().filter(|ranking| ranking.operation == figure.operation) {
            if ranking.others.iter().any(|other| other.contender == figure.contender) {
                add(figure.operation, ranking.best);
            }
        }
    }
    // A twin runs with the contender that it repeats, so that the noise floor has as many blocks.
    for (twin, contender) in table.contenders.iter().enumerate() {
        let of = contender.twin_of.as_deref().and_then(|of| table.contender(of));
        let beside: Vec<Needed> = needed.iter().filter(|n| Some(n.contender) == of).cloned().collect();
        needed.extend(beside.into_iter().map(|n| Needed { contender: twin, ..n }));
    }
    needed.retain(|n| !is_out(table, n.contender));
    needed.sort();
    needed.dedup();
    if policy.until == Until::Precision {
        // Whole blocks of a workload: order effects stay balanced, and every figure of the table gains.
        let wanted: Vec<String> = needed.iter().map(|n| n.workload.clone()).collect();
        needed = everyone(table).into_iter().filter(|n| wanted.contains(&n.workload)).collect();
    }
    needed
}

fn decision(reason: Reason, text: String, next: Vec<Needed>, open: Vec<Open>) -> Decision {
    let blocks_left = open.iter().filter_map(|figure| figure.blocks_left).max();
    Decision { next, reason, text, open, blocks_left, seconds_left: None }
}

/// Limits a decision to the time left.
fn with_budget(table: &Table, policy: &Policy, mut decision: Decision) -> Decision {
    let cost = budget::seconds(table, &decision.next);
    let least = policy.min_blocks.saturating_sub(blocks_done(table)).max(1);
    let blocks = decision.blocks_left.unwrap_or(1).max(least).min(policy.max_blocks);
    decision.seconds_left = cost.map(|cost| cost * f64::from(blocks));
    let (Some(left), Some(cost)) = (policy.seconds_left, cost) else { return decision };
    let whole = decision.seconds_left.unwrap_or(cost);
    if whole <= left {
        return decision;
    }
    let fits = budget::within(table, &decision.next, &decision.open, left);
    if fits.is_empty() {
        let text = match decision.open.len() {
            0 => format!("The budget is spent: another round takes {}.", budget::duration(cost)),
            _ => format!("The budget is spent; deciding the rest would take about {} more.", budget::duration(whole)),
        };
        return Decision { next: fits, reason: Reason::Budget, text, ..decision };
    }
    Decision { next: fits, ..decision }
}

/// Number of blocks begun.
pub fn blocks_done(table: &Table) -> u32 {
    blocks_of(table.cells.iter().filter(|cell| !is_out(table, cell.contender)))
}

/// Blocks in which any of these cells was measured.
pub fn blocks_of<'a>(cells: impl Iterator<Item = &'a Cell>) -> u32 {
    let measured = cells.flat_map(|cell| &cell.samples).filter(|sample| sample.is_measured());
    measured.map(|sample| sample.block).collect::<BTreeSet<_>>().len() as u32
}
