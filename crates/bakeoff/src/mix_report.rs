//! The best contender for a mix of operations: `create=1,read-random=10,delete=1`, or all the work of a workload.
//! In: the mix as typed, a run. Out: times with intervals and the verdict, in text; the judge computes them.

use crate::estimate;
use crate::failure::Failure;
use crate::text;
use judge::{Mix, MixJudgement, Table};
use records::program::Figure;
use records::{TrialRecord, TrialStatus, WorkRecord};
use report::{Material, Unit, View};
use runner::ResolvedPlan;

/// Refuses a mix that the run of a plan cannot answer, before the run starts.
pub fn check(asked: &str, plan: &ResolvedPlan) -> Result<(), Failure> {
    if plan.works.iter().any(|work| work.name == asked) {
        return Ok(());
    }
    let mix = parsed(asked, &plan.work_records())?;
    judge::judge_mix(&estimate::table(plan), &mix).map(|_| ()).map_err(Failure::usage)
}

/// The times of a mix, and the best contender for it.
pub fn rendered(asked: &str, material: &Material, view: &View) -> Result<String, Failure> {
    let works = &material.run.new.works;
    let mix = if works.iter().any(|work| work.name == asked) {
        of_workload(asked, material, &view.table)?
    } else {
        parsed(asked, works)?
    };
    let judged = judge::judge_mix(&view.table, &mix).map_err(Failure::usage)?;
    Ok(shown(asked, &mix, &judged, &view.table))
}

/// Parses a mix of operations; each is given by its name or by its title in tables.
fn parsed(asked: &str, works: &[WorkRecord]) -> Result<Mix, Failure> {
    let mut mix = Mix::parse(asked).map_err(|error| {
        let names: Vec<&str> = works.iter().map(|work| work.name.as_str()).collect();
        Failure::usage(format!("{error}, or a workload of this run: {}", names.join(", ")))
    })?;
    let titled = |title: &str| {
        works.iter().find_map(|work| {
            let facts = work.phases.iter().find(|facts| facts.title == title)?;
            Some(of_table(&samples::work_name(works, work), &facts.named(), &facts.cache_label))
        })
    };
    let is_operation = |name: &str| works.iter().flat_map(|work| &work.phases).any(|facts| facts.named() == name);
    for (name, _) in &mut mix.parts {
        if let Some(operation) = titled(name).filter(|_| !is_operation(name)) {
            *name = operation;
        }
    }
    Ok(mix)
}

/// The full name of an operation in the judge's table.
fn of_table(workload: &str, operation: &str, cache: &str) -> String {
    format!("{workload}/{operation} {cache}")
}

/// All the timed work of a workload, once: of each operation as many items or bytes as in one trial.
fn of_workload(name: &str, material: &Material, table: &Table) -> Result<Mix, Failure> {
    let lacks = || Failure::new(format!("run {} has no completed trial of {name}", material.run.id));
    let work = material.run.new.works.iter().rfind(|work| work.name == name).ok_or_else(lacks)?;
    let of_work = |trial: &&TrialRecord| {
        trial.status != TrialStatus::Failed && trial.workload == work.name && trial.scale == work.scale
    };
    let trial = material.trials.iter().find(of_work).ok_or_else(lacks)?;
    let heading = samples::work_name(&material.run.new.works, work);
    let mut parts = Vec::new();
    for facts in work.phases.iter().filter(|facts| !facts.preparation) {
        let id = judge::OperationId::new(&heading, &facts.named(), &facts.cache_label);
        let Some(row) = table.operations.iter().find(|row| row.id == id) else { continue };
        let passes = trial.phases.iter().filter(|phase| phase.name == facts.name);
        let amount: u64 = match row.unit.as_str() {
            "B/s" => passes.map(|pass| pass.outcome.bytes_read.max(pass.outcome.bytes_written)).sum(),
            "/s" => passes.map(|pass| pass.outcome.items).sum(),
            _ => passes.count() as u64,
        };
        if amount > 0 {
            parts.push((of_table(&heading, &facts.named(), &facts.cache_label), amount as f64));
        }
    }
    Ok(Mix { parts, name: format!("all the work of {name}") })
}

fn shown(asked: &str, mix: &Mix, judged: &MixJudgement, table: &Table) -> String {
    let width = text::width();
    let name = |contender: usize| text::harmless(&table.contenders[contender].name);
    let mut times: Vec<_> =
        judged.times.iter().filter(|time| table.contenders[time.contender].twin_of.is_none()).collect();
    times.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let unit = Unit::for_row(Figure::Seconds, times.iter().map(|time| time.seconds));
    let show = |seconds: f64| unit.show(seconds, None);
    let mut printed = text::wrapped(&format!("The mix {asked}, {}:", unit.words), width, "", "  ");
    let wide = times.iter().map(|time| name(time.contender).chars().count()).max().unwrap_or(0);
    for time in times {
        let interval = match time.interval {
            Some(interval) => format!("({} to {})", show(interval.low), show(interval.high)),
            None => "(too few samples for an interval)".into(),
        };
        let share = time.shares.iter().zip(&mix.parts).max_by(|a, b| a.0.total_cmp(b.0));
        let most = share.map_or_else(String::new, |(share, part)| format!("  {:.0} % of it {}", share * 100.0, part.0));
        printed.push_str(&format!("  {:<wide$}  {:>8}  {interval}{most}\n", name(time.contender), show(time.seconds)));
    }
    for (contender, lacking) in &judged.left_out {
        if table.contenders[*contender].twin_of.is_none() {
            let left_out = format!("{} is left out: it lacks {lacking}", name(*contender));
            printed.push_str(&text::wrapped(&left_out, width, "  ", "  "));
        }
    }
    for sentence in &judged.sentences {
        printed.push_str(&text::wrapped(&sentence.text, width, "> ", "  "));
    }
    printed
}
