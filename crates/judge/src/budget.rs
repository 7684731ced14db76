//! Plans a time budget in advance, and spends it on the trials that decide most.
//! In: how long trials take, what is open, seconds left. Out: a [`BudgetPlan`], or the trials of the next block.
//! Times are measured ones, or the runner's estimates before the first trial.

use crate::decision::{BudgetPlan, Needed, Open, Policy};
use crate::figure::LEVEL;
use crate::numbers::t_critical;
use crate::stopping_rule::{self, everyone};
use crate::table::{Table, TableError};

/// Scatter that is assumed before any is measured: 5 %, the limit above which the method calls a cell unstable.
const ASSUMED: f64 = 0.05;

/// States what the time of a policy will buy, for a table whose cells have the duration of a trial.
///
/// # Errors
/// The table contradicts itself or passes a limit.
pub fn plan_budget(table: &Table, policy: &Policy) -> Result<BudgetPlan, TableError> {
    let decision = stopping_rule::decide(table, &Policy { seconds_left: None, ..*policy })?;
    let everything = everyone(table);
    let block_seconds = seconds(table, &everything).unwrap_or(0.0);
    let done = stopping_rule::blocks_done(table);
    let cap = policy.max_blocks.saturating_sub(done);
    let blocks = match policy.seconds_left {
        Some(left) if block_seconds > 0.0 => ((left / block_seconds).max(0.0) as u32).min(cap),
        _ => cap,
    };
    let measured = table.cells.iter().any(|cell| cell.samples.iter().any(crate::Sample::is_measured));
    let beyond = |figure: &&Open| figure.blocks_left.is_none_or(|needed| needed > blocks);
    let open: Vec<Open> = decision.open.iter().filter(beyond).cloned().collect();
    let needs = decision.blocks_left.map(|needed| needed.min(cap));
    let seconds_for_all = needs.filter(|_| block_seconds > 0.0).map(|blocks| f64::from(blocks) * block_seconds);
    let total = done + blocks;
    let text = if measured {
        measured_text(blocks, block_seconds, open.len(), seconds_for_all)
    } else {
        unmeasured_text(blocks, block_seconds, total)
    };
    let half_width = half_width(total);
    Ok(BudgetPlan {
        block_seconds,
        blocks,
        seconds_for_all,
        half_width,
        smallest_shown: smallest_shown(total),
        open,
        text,
    })
}

/// Half-width of a figure's interval after so many blocks at 5 % scatter, a share.
fn half_width(blocks: u32) -> Option<f64> {
    let count = f64::from(blocks);
    (blocks >= 3).then(|| t_critical(1.0 - LEVEL, count - 1.0) * ASSUMED / count.sqrt())
}

/// Difference of two contenders that is detected with a power of 80 % after so many blocks at 5 % scatter, a share.
fn smallest_shown(blocks: u32) -> Option<f64> {
    let count = f64::from(blocks);
    let level = crate::rank::ALPHA / 5.0;
    let reach = |df: f64| t_critical(level, df) + 0.84;
    (blocks >= 3).then(|| (reach(count - 1.0) * ASSUMED * (2.0 / count).sqrt()).exp_m1())
}

fn unmeasured_text(blocks: u32, block_seconds: f64, total: u32) -> String {
    let time = duration(f64::from(blocks) * block_seconds);
    let head = format!(
        "{blocks} {} of {} each, {time} in all",
        crate::notes::plural(blocks as usize, "round"),
        duration(block_seconds)
    );
    match (half_width(total), smallest_shown(total)) {
        (Some(half), Some(shown)) => format!(
            "{head}. With 5 % scatter between trials, figures are precise to ±{:.0} %, and differences of {:.0} % or more are shown.",
            half * 100.0,
            shown * 100.0
        ),
        _ => format!("{head}: too few for a verdict; at least three rounds are needed."),
    }
}

fn measured_text(blocks: u32, block_seconds: f64, open: usize, for_all: Option<f64>) -> String {
    let each = duration(block_seconds);
    let rest = for_all.map(|seconds| format!("; deciding everything would take about {}", duration(seconds)));
    let rest = rest.filter(|_| open > 0).unwrap_or_default();
    let likely = if open == 0 { "will likely decide everything" } else { "will likely not decide everything" };
    match blocks {
        0 => format!("no further round of {each} fits{rest}."),
        1 => format!("one more round of {each} {likely}{rest}."),
        many => format!("{many} more rounds of {each} {likely}{rest}."),
    }
}

/// Seconds that these trials take: each once, however many operations its workload has. Trials of unknown length count as the average of
/// the others; `None` where no length is known.
pub fn seconds(table: &Table, trials: &[Needed]) -> Option<f64> {
    let known: Vec<Option<f64>> = trials.iter().map(|trial| trial_seconds(table, trial)).collect();
    let count = known.iter().flatten().count();
    let sum: f64 = known.iter().flatten().sum();
    (count > 0).then(|| sum * trials.len() as f64 / count as f64)
}

fn trial_seconds(table: &Table, trial: &Needed) -> Option<f64> {
    let of_trial = table.cells.iter().filter(|cell| {
        cell.contender == trial.contender && table.operations[cell.operation].id.workload == trial.workload
    });
    of_trial.filter_map(|cell| cell.facts.trial_seconds).max_by(f64::total_cmp)
}

/// The part of a block that fits the time left: workloads with the fewest blocks first, so that each gets enough samples for a statement;
/// among equals those that need the least time until they are resolved. A forecast from three blocks is too uncertain to spend all
/// remaining time on one workload.
pub fn within(table: &Table, next: &[Needed], open: &[Open], left: f64) -> Vec<Needed> {
    let mut workloads: Vec<(u32, f64, f64, &str)> = Vec::new();
    for trial in next {
        let name = trial.workload.as_str();
        if workloads.iter().any(|known| known.3 == name) {
            continue;
        }
        let own: Vec<Needed> = next.iter().filter(|other| other.workload == name).cloned().collect();
        let block = seconds(table, &own).unwrap_or(0.0);
        let of_it = open.iter().filter(|figure| table.operations[figure.operation].id.workload == name);
        let blocks = of_it.filter_map(|figure| figure.blocks_left).max().unwrap_or(1);
        let cells = table.cells.iter().filter(|cell| table.operations[cell.operation].id.workload == name);
        workloads.push((stopping_rule::blocks_of(cells), block * f64::from(blocks), block, name));
    }
    workloads.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut spare = left;
    let mut taken: Vec<&str> = Vec::new();
    for (_, _, block, name) in workloads {
        if block <= spare {
            spare -= block;
            taken.push(name);
        }
    }
    next.iter().filter(|trial| taken.contains(&trial.workload.as_str())).cloned().collect()
}

/// "40 s", "12 min", "2 h 10 min".
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 5940.0 => format!("{:.0} min", s / 60.0),
        s => {
            let minutes = (s / 60.0).round() as u64;
            match minutes % 60 {
                0 => format!("{} h", minutes / 60),
                rest => format!("{} h {rest} min", minutes / 60),
            }
        }
    }
}
