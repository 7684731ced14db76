//! Estimated costs of a plan before any measurement: seconds per trial on a device of assumed speed.
//! In: a plan, its workloads' estimates. Out: seconds, a table with which the judge plans a budget, words.
//! After its first block the run replaces this by a measured estimate, and prints it.

use crate::resolve;
use judge::{Cell, Facts, Operation, OperationId, Table, duration};
use runner::{ResolvedPlan, Work};
use workload::facts::Compiled;

/// Assumed throughput of a device in bytes per second.
pub const ASSUMED_RATE: f64 = 300e6;
/// Assumed files per second over all steps of a workload.
const ASSUMED_FILES: f64 = 20_000.0;
/// Assumed reads or writes per second if they are of a few bytes.
const ASSUMED_CALLS: f64 = 1_000_000.0;
/// Assumed bytes per second through the C library's streams, one by one.
const ASSUMED_STREAM: f64 = 50_000_000.0;
/// Seconds for creating, mounting, settling, unmounting and checking. Images on an SSD take 0.5 s, hard disks several seconds.
const ASSUMED_STAGING: f64 = 1.0;

/// Seconds for booting a guest.
const ASSUMED_BOOT: f64 = 5.0;

/// Seconds of one trial of a workload on a fresh filesystem. Programs count with the time that the workload declares, otherwise not at all.
pub fn trial_seconds(compiled: &Compiled) -> f64 {
    let phases = compiled.program.phases.iter().zip(&compiled.estimate.phases);
    let of_phases: f64 = phases
        .map(|(phase, estimate)| {
            let moved = (estimate.bytes_written + estimate.bytes_read) as f64;
            let files = phase.groups.iter().any(|group| !group.over.is_of_blocks());
            let rate = match files {
                true => ASSUMED_FILES,
                false if phase.groups.iter().any(|group| group.io.stdio) => ASSUMED_STREAM,
                false => ASSUMED_CALLS,
            };
            let items = estimate.items as f64 / rate;
            moved / ASSUMED_RATE + items + estimate.fixed_ns as f64 / 1e9
        })
        .sum();
    of_phases + compiled.estimate.programs_ns.unwrap_or(0) as f64 / 1e9 + ASSUMED_STAGING
}

/// Names of workloads of unknown duration: programs do the work and no duration is declared.
pub fn of_unknown_time(plan: &ResolvedPlan) -> Vec<&str> {
    let unknown = |work: &&Work| resolve::runs_commands(work) && work.compiled.estimate.programs_ns.is_none();
    plan.works.iter().filter(unknown).map(|work| work.name.as_str()).collect()
}

/// Seconds of one block.
pub fn block_seconds(plan: &ResolvedPlan) -> f64 {
    let of_work =
        |work: usize| plan.contenders_of(work).into_iter().map(move |contender| staged_seconds(plan, contender, work));
    (0..plan.works.len()).flat_map(of_work).sum()
}

/// Seconds of one trial of a contender. An aged one takes longer: its image is read, written and verified, and work on
/// aged files reads it once more.
fn staged_seconds(plan: &ResolvedPlan, contender: usize, work: usize) -> f64 {
    let compiled = &plan.works[work].compiled;
    let boot = if staging::is_guest(plan.contenders[contender].asked.kernel.as_deref()) { ASSUMED_BOOT } else { 0.0 };
    let seconds = trial_seconds(compiled) + boot;
    let aged = plan.ages.as_ref().and_then(|ages| ages.of(&plan.contenders[contender].asked));
    let (Some((_, fill)), Some(volume)) = (aged, resolve::size_of(&plan.place)) else {
        return seconds;
    };
    let times = if compiled.estimate.needs_aged { 4.0 } else { 3.0 };
    seconds + times * fill * volume as f64 / ASSUMED_RATE
}

/// A table without samples whose cells have the estimated duration of a trial; it has the operations of the run.
pub fn table(plan: &ResolvedPlan) -> Table {
    let works = plan.work_records();
    let mut table = Table::default();
    for entry in &plan.contenders {
        let twin_of = entry.twin_of.map(|of| plan.contenders[of].asked.label.clone());
        let name = entry.asked.label.clone();
        table.contenders.push(judge::Contender { name, twin_of, ..judge::Contender::default() });
    }
    for (index, work) in works.iter().enumerate() {
        let name = samples::work_name(&works, work);
        for facts in work.phases.iter().filter(|facts| !facts.preparation) {
            let id = OperationId::new(&name, &facts.named(), &facts.cache_label);
            table.operations.push(Operation { id, unit: facts.unit().into(), ..Operation::default() });
            for contender in plan.contenders_of(index) {
                let seconds = staged_seconds(plan, contender, index);
                let facts = Facts { trial_seconds: Some(seconds), ..Facts::default() };
                let operation = table.operations.len() - 1;
                table.cells.push(Cell { operation, contender, facts, ..Cell::default() });
            }
        }
    }
    table
}

/// What the budget is estimated to buy; `None` without a budget.
pub fn budget(plan: &ResolvedPlan) -> Option<String> {
    let budget = plan.sampling.budget_seconds?;
    let unknown = of_unknown_time(plan);
    if !unknown.is_empty() {
        let works = unknown.join(", ");
        return Some(format!(
            "Budget: {}. The run time of the programs of {works} is unknown before the first round.",
            duration(budget)
        ));
    }
    let bought = judge::plan_budget(&table(plan), &runner::policy(&plan.sampling, 0.0, Some(budget))).ok()?;
    let least = plan.sampling.range().0;
    let block = duration(bought.block_seconds);
    let needed = report::view::plural(least as usize, "round");
    let bought = match (bought.blocks, bought.smallest_shown) {
        (0, _) => format!("less than one round of about {block}, which is run all the same"),
        (1, _) => format!("one round of about {block}; a verdict needs at least {needed}"),
        (blocks, Some(shown)) if blocks >= least => format!(
            "about {blocks} rounds of {block}; at 5 % scatter between trials they show differences of {:.0} % or more",
            shown * 100.0
        ),
        (blocks, _) => format!("about {blocks} rounds of {block}; a verdict needs at least {needed}"),
    };
    Some(format!(
        "Budget: {} allows {bought}, on a device of {} MB/s. The estimate improves after the first round.",
        duration(budget),
        ASSUMED_RATE / 1e6
    ))
}
