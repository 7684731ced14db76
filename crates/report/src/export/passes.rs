//! Series of values within each pass, as CSV: throughput and latency over time, percentiles of each step, figures that programs print.
//! In: a run's material. Out: CSV, one table each; what was not measured is an empty field, never zero.

use super::samples::whole;
use super::tables::csv_line;
use crate::number;
use crate::view::{self, Material, View};
use records::{PhaseRecord, TrialRecord};

/// Columns that identify the pass of a line.
const PASS: [&str; 9] = ["run", "trial", "counts", "contender", "workload", "scale", "phase", "cache", "pass"];
/// Quantiles in the table of latencies, each with its column.
const QUANTILES: [(f64, &str); 6] =
    [(0.5, "p50_ns"), (0.9, "p90_ns"), (0.95, "p95_ns"), (0.99, "p99_ns"), (0.999, "p99.9_ns"), (0.9999, "p99.99_ns")];

/// Throughput and latency in each interval of each pass.
pub(super) fn series(material: &Material, view: &View) -> String {
    let own = ["start_seconds", "seconds", "items", "bytes", "calls", "mean_ns", "longest_ns"];
    table(material, view, &own, |_, phase| {
        let Some(series) = &phase.outcome.series else { return Vec::new() };
        let length = series.interval_ns as f64 / 1e9;
        let at = |of: &[u64], place: usize| of.get(place).copied();
        let line = |place: usize| {
            let calls = at(&series.calls, place);
            let mean = calls.zip(at(&series.calls_ns, place)).filter(|(calls, _)| *calls > 0);
            vec![
                number::exact(length * place as f64),
                number::exact(length),
                whole(at(&series.items, place)),
                whole(at(&series.bytes, place)),
                whole(calls),
                number::maybe(mean.map(|(calls, ns)| ns as f64 / calls as f64)),
                // Where no call returned there is no longest one.
                whole(at(&series.longest_ns, place).filter(|_| calls != Some(0))),
            ]
        };
        (0..series.items.len()).map(line).collect()
    })
}

/// Percentiles of each step of each pass.
pub(super) fn latencies(material: &Material, view: &View) -> String {
    let own = ["group", "step", "count", "min_ns", "mean_ns"].into_iter().chain(QUANTILES.map(|(_, name)| name));
    let own: Vec<&str> = own.chain(["max_ns"]).collect();
    table(material, view, &own, |_, phase| {
        let groups = phase.outcome.groups.iter();
        let steps = groups.flat_map(|group| group.latency.iter().map(|(step, found)| (&group.name, step, found)));
        let line = |(group, step, found): (&String, &String, &records::outcome::Histogram)| {
            let read = view::read_histogram(&found.hdr)?;
            let mut line = vec![group.clone(), step.clone(), found.count.to_string(), found.min_ns.to_string()];
            line.push(number::exact(found.mean_ns));
            line.extend(QUANTILES.map(|(at, _)| read.value_at_quantile(at).min(found.max_ns).to_string()));
            line.push(found.max_ns.to_string());
            Some(line)
        };
        steps.filter_map(line).collect()
    })
}

/// Figures that programs print about themselves, such as transactions per second.
pub(super) fn printed(material: &Material, view: &View) -> String {
    let works = &material.run.new.works;
    table(material, view, &["operation", "unit", "more_is_better", "value"], |trial, phase| {
        let work = works.iter().find(|work| work.name == trial.workload && work.scale == trial.scale);
        let facts = work.into_iter().flat_map(|work| &work.phases).filter(|facts| facts.name == phase.name);
        let line = |facts: &records::facts::PhaseFacts| {
            let own = facts.own.as_ref()?;
            let value = number::exact(samples::judged(trial, phase, facts)?);
            Some(vec![facts.named(), own.unit.clone(), own.more_is_better.to_string(), value])
        };
        facts.filter_map(line).collect()
    })
}

/// A table of lines of every pass, in the order of measurement; empty where there is none.
fn table(
    material: &Material,
    view: &View,
    own: &[&str],
    lines: impl Fn(&TrialRecord, &PhaseRecord) -> Vec<Vec<String>>,
) -> String {
    let counting = material.counting();
    let label = |index| material.contenders.iter().find(|record| record.index == index);
    let mut text = String::new();
    for (number, trial) in material.trials.iter().enumerate() {
        let contender = label(trial.contender).map(|record| record.label.as_str()).unwrap_or_default();
        let counts = counting.contains(&number).to_string();
        for phase in &trial.phases {
            let (number, pass) = (number.to_string(), phase.outcome.pass.to_string());
            let of_pass: [&str; PASS.len()] = [
                &view.run.id,
                &number,
                &counts,
                contender,
                &trial.workload,
                &trial.scale,
                &phase.name,
                phase.cache.name(),
                &pass,
            ];
            for line in lines(trial, phase) {
                let cells: Vec<&str> = of_pass.into_iter().chain(line.iter().map(String::as_str)).collect();
                text.push_str(&csv_line(&cells));
            }
        }
    }
    if text.is_empty() { text } else { csv_line(&[&PASS, own].concat()) + &text }
}
