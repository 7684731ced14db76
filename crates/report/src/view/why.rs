//! One cell down to its samples: the evidence of a figure.
//! In: a cell's name as `workload/operation/contender`. Out: [`Why`], which terminal and pages show.

use super::known::{counted_trials, trial_name};
use super::{CellView, FigureView, Material, RowView, View, WorkloadView};
use crate::ReportError;
use crate::number::{self, Unit};
use crate::safe;
use records::PhaseRecord;

/// The evidence of a cell's figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// Workload, operation and contender.
    pub title: String,
    /// The figure, its standing, its costs, its notes: a sentence each, the figure first.
    pub facts: Vec<String>,
    /// Headings of the samples' table.
    pub headings: [String; 7],
    /// Every sample: trial, block, pass, until returned, until durable, CPU, remark.
    pub samples: Vec<[String; 7]>,
    /// The samples as charts show them, in the unit of the headings.
    pub points: Vec<Point>,
    /// The unit of the points.
    pub unit: &'static str,
}

/// A sample in a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Block, from 0.
    pub block: u32,
    /// The judged figure.
    pub value: f64,
    /// Whether it counts in the figure.
    pub counts: bool,
    /// Whether it was disturbed.
    pub disturbed: bool,
}

/// The figure of a cell, its standing, its notes and every sample.
///
/// # Errors
/// The cell does not exist; the message lists the existing ones.
pub fn why(material: &Material, view: &View, asked: &str) -> Result<Why, ReportError> {
    let (workload, row, cell) = find(view, asked)?;
    let points = cell.samples.iter().filter_map(|sample| {
        let (counts, disturbed) = (sample.counts, sample.disturbed.is_some());
        Some(Point { block: sample.block, value: sample.value? / row.unit.divisor, counts, disturbed })
    });
    let unit = row.unit.sign;
    let (returned, durable) = (format!("returned {unit}"), format!("durable {unit}"));
    Ok(Why {
        title: format!("{}, {}, {}", workload.title, row.title, view.contenders[cell.contender].name),
        facts: facts(material, view, (workload, row, cell)),
        headings: ["trial", "round", "pass", &returned, &durable, "CPU %", "remark"].map(str::to_owned),
        samples: samples(row, cell),
        points: points.collect(),
        unit,
    })
}

fn facts(material: &Material, view: &View, found: (&WorkloadView, &RowView, &CellView)) -> Vec<String> {
    let (workload, row, cell) = found;
    let contender = &view.contenders[cell.contender];
    let mut facts = Vec::new();
    match &cell.figure {
        None => facts.push(cell.missing.clone().unwrap_or_else(|| "not measured".into())),
        Some(figure) => {
            let until = if row.durable { " until durable" } else { "" };
            facts.push(format!("{}{until}, {} trials", described(row, figure), figure.trials));
        }
    }
    let returned = cell.returned.as_ref();
    facts.extend(returned.map(|returned| format!("{} until the last call returned", described(row, returned))));
    facts.extend(ratio_to_best(view, row, cell));
    let cpu = cell.cpu.as_ref();
    facts.extend(cpu.map(|cpu| format!("CPU of the workers: {} % of one core", number::plain(cpu.median))));
    facts.extend(programs(material, workload, row, contender.index));
    facts.extend(cell.notes.iter().chain(&workload.notes).map(|note| format!("note: {}", note.text)));
    facts.extend(contender.safety.as_ref().map(|safety| format!("safety: {safety}")));
    facts.extend(contender.measured.as_ref().map(|measured| format!("measured: {measured}")));
    let latency = super::latency(material, row, (trial_name(material, workload), &workload.scale), contender.index);
    if let Some(latency) = latency {
        let points = latency.percentiles.iter().map(|(p, ns)| format!("p{p} {}", Unit::of_nanoseconds(*ns as f64)));
        let points = points.collect::<Vec<_>>().join(", ").replace("p100 ", "longest ");
        facts.push(format!("latency of {} operations: {points}", latency.count));
    }
    facts
}

/// What the programs of an operation used, and what the device did meanwhile: medians over the passes that count.
fn programs(material: &Material, workload: &WorkloadView, row: &RowView, contender: usize) -> Option<String> {
    let key = (trial_name(material, workload), workload.scale.as_str());
    let runs =
        |phase: &&PhaseRecord| row.phases.contains(&phase.name) && phase.counts() && !phase.outcome.commands.is_empty();
    let passes: Vec<&PhaseRecord> =
        counted_trials(material, key, contender).flat_map(|trial| &trial.phases).filter(runs).collect();
    let of = |value: &dyn Fn(&PhaseRecord) -> Option<u64>| {
        judge::median(&passes.iter().filter_map(|phase| value(phase)).map(|value| value as f64).collect::<Vec<_>>())
    };
    let memory = of(&|phase| phase.outcome.commands.iter().map(|run| run.peak_memory_bytes).max())?;
    let switches = of(&|phase| Some(phase.outcome.commands.iter().map(|run| run.context_switches).sum()))?;
    let bytes = |value: Option<f64>| value.map_or_else(|| "unknown".into(), |bytes| records::show_bytes(bytes as u64));
    let count = |value: Option<f64>| value.map_or_else(|| "unknown".into(), number::count);
    Some(format!(
        "programs: {} of memory at most, {} context switches; the device read {}, wrote {} and flushed {} times",
        bytes(Some(memory)),
        number::count(switches),
        bytes(of(&|phase| phase.evidence.device_read_bytes)),
        bytes(of(&|phase| phase.evidence.device_written_bytes)),
        count(of(&|phase| phase.evidence.device_flushes))
    ))
}

fn described(row: &RowView, figure: &FigureView) -> String {
    let show = |value| row.unit.show(value, figure.half_width());
    let interval = match figure.interval {
        Some((low, high)) => format!(" (95 % interval {} to {})", show(low), show(high)),
        None => String::new(),
    };
    let spread = figure.rsd.map(|rsd| format!(", varies by {}", number::percent(rsd))).unwrap_or_default();
    let range = if figure.unstable { format!(", {} to {}", show(figure.min), show(figure.max)) } else { String::new() };
    format!("median {} {}{interval}{spread}{range}", show(figure.median), row.unit.sign)
}

fn ratio_to_best(view: &View, row: &RowView, cell: &CellView) -> Option<String> {
    let ranking = view.judgement.rankings_of(row.operation).find(|ranking| {
        let index = view.contenders[cell.contender].index;
        ranking.best == index || ranking.others.iter().any(|other| other.contender == index)
    })?;
    let best = &view.table.contenders[ranking.best].name;
    let ratio = cell.ratio.filter(|_| view.contenders[cell.contender].name != *best)?;
    Some(format!("{}x slower than {best}{}", number::ratio(ratio), number::range(cell.ratio_interval)))
}

fn samples(row: &RowView, cell: &CellView) -> Vec<[String; 7]> {
    let exact = |value: Option<f64>| value.map(|value| number::plain(value / row.unit.divisor)).unwrap_or_default();
    let lines = cell.samples.iter().map(|sample| {
        let mut remark = sample.disturbed.clone().unwrap_or_default();
        if !sample.counts {
            remark = format!("set aside: {remark}");
        }
        let single = if sample.returned.is_none() && sample.durable.is_none() { sample.value } else { sample.returned };
        [
            sample.trial.to_string(),
            (sample.block + 1).to_string(),
            (sample.pass + 1).to_string(),
            exact(single),
            exact(sample.durable),
            sample.cpu.map(number::plain).unwrap_or_default(),
            remark,
        ]
    });
    lines.collect()
}

fn find<'a>(view: &'a View, asked: &str) -> Result<(&'a WorkloadView, &'a RowView, &'a CellView), ReportError> {
    let no_such = |why: String| ReportError::NoSuch { part: "cell", asked: safe::terminal(asked), why };
    let parts: Vec<&str> = asked.splitn(3, '/').collect();
    let [workload, row, contender] = parts[..] else {
        return Err(no_such("write it as workload/operation/contender".into()));
    };
    if let Some(found) = view.find(workload, row, contender) {
        return Ok(found);
    }
    let Some(section) = view.workloads.iter().find(|found| found.slug == workload || found.name == workload) else {
        let known: Vec<&str> = view.workloads.iter().map(|found| found.name.as_str()).collect();
        return Err(no_such(format!("the run has the workloads {}", known.join(", "))));
    };
    if section.row(row).is_none() {
        let known: Vec<&str> = section.rows.iter().map(|found| found.key.as_str()).collect();
        return Err(no_such(format!("{workload} has the operations {}", known.join(", "))));
    }
    let known: Vec<&str> = view.contenders.iter().map(|found| found.name.as_str()).collect();
    Err(no_such(format!("the contenders are {}", known.join(", "))))
}
