//! Every pass of every phase of every trial as one line of CSV, counters and evidence included.
//! In: a run's material. Out: CSV; what was not measured is an empty field, never zero.

use super::tables::{Column, csv_lines};
use crate::number;
use crate::view::{Material, View};
use records::facts::PhaseFacts;
use records::{ContenderRecord, PhaseRecord, TrialRecord};

/// What a line is made from.
struct Line<'a> {
    run: &'a str,
    number: usize,
    trial: &'a TrialRecord,
    phase: &'a PhaseRecord,
    counts: bool,
    contender: Option<&'a ContenderRecord>,
    twin: Option<&'a ContenderRecord>,
    facts: Option<&'a PhaseFacts>,
}

impl Line<'_> {
    fn figure(&self, of: fn(&PhaseRecord, &PhaseFacts) -> Option<f64>) -> String {
        number::maybe(self.facts.and_then(|facts| of(self.phase, facts)))
    }

    fn remarks(&self) -> String {
        let PhaseRecord { outcome, evidence, .. } = self.phase;
        let remarks: Vec<&str> = evidence.remarks.iter().chain(&outcome.remarks).map(String::as_str).collect();
        remarks.join("; ")
    }
}

fn columns<'a>() -> [Column<Line<'a>>; 45] {
    [
        ("run", |line| line.run.to_owned()),
        ("trial", |line| line.number.to_string()),
        ("round", |line| line.trial.block.to_string()),
        ("position", |line| line.trial.position.to_string()),
        ("attempt", |line| line.trial.attempt.to_string()),
        ("status", |line| line.trial.status.name().into()),
        ("counts", |line| line.counts.to_string()),
        ("contender", |line| label(line.contender)),
        ("twin_of", |line| label(line.twin)),
        ("workload", |line| line.trial.workload.clone()),
        ("scale", |line| line.trial.scale.clone()),
        ("phase", |line| line.phase.name.clone()),
        ("operation", |line| line.phase.operation.clone()),
        ("cache", |line| line.phase.cache.name().into()),
        ("preparation", |line| line.phase.preparation.to_string()),
        ("pass", |line| line.phase.outcome.pass.to_string()),
        ("slices", |line| line.phase.outcome.slices().to_string()),
        ("unit", |line| line.facts.map_or(line.phase.figure.base_unit(), PhaseFacts::unit).into()),
        ("value", |line| number::maybe(line.facts.and_then(|facts| samples::judged(line.trial, line.phase, facts)))),
        ("value_returned", |line| line.figure(samples::returned)),
        ("value_durable", |line| line.figure(samples::durable)),
        ("returned_ns", |line| line.phase.outcome.returned_ns.to_string()),
        ("durable_ns", |line| whole(line.phase.outcome.durable_ns)),
        ("items", |line| line.phase.outcome.items.to_string()),
        ("bytes_read", |line| line.phase.outcome.bytes_read.to_string()),
        ("bytes_written", |line| line.phase.outcome.bytes_written.to_string()),
        ("cpu_user_ns", |line| line.phase.outcome.cpu.user_ns.to_string()),
        ("cpu_system_ns", |line| line.phase.outcome.cpu.system_ns.to_string()),
        ("system_cpu_ns", |line| whole(line.phase.evidence.system_cpu_ns)),
        ("device_read_bytes", |line| whole(line.phase.evidence.device_read_bytes)),
        ("device_written_bytes", |line| whole(line.phase.evidence.device_written_bytes)),
        ("device_reads", |line| whole(line.phase.evidence.device_reads)),
        ("device_writes", |line| whole(line.phase.evidence.device_writes)),
        ("device_flushes", |line| whole(line.phase.evidence.device_flushes)),
        ("device_discarded_bytes", |line| whole(line.phase.evidence.device_discarded_bytes)),
        ("steal", |line| number::maybe(line.phase.evidence.steal)),
        ("foreign_bytes", |line| whole(line.phase.evidence.foreign_bytes)),
        ("cached_before_bytes", |line| whole(line.phase.evidence.cached_before_bytes)),
        ("from_cache", |line| number::maybe(line.phase.evidence.from_cache)),
        ("of_generator", |line| number::maybe(line.phase.evidence.of_generator)),
        ("disk_late_share", |line| number::maybe(line.phase.evidence.disk_late.map(|late| late.share))),
        ("disk_late_median_ns", |line| whole(line.phase.evidence.disk_late.map(|late| late.median_ns))),
        ("errors", |line| line.phase.outcome.errors.count.to_string()),
        ("disturbed", |line| line.phase.evidence.disturbed.join("; ")),
        ("remarks", |line| line.remarks()),
    ]
}

/// All samples of a run, in the order of measurement.
pub fn samples_csv(material: &Material, view: &View) -> String {
    let counting = material.counting();
    let record = |index| material.contenders.iter().find(|record| record.index == index);
    let lines = material.trials.iter().enumerate().flat_map(|(number, trial)| {
        let contender = record(trial.contender);
        let twin = contender.and_then(|contender| record(contender.twin_of?));
        let (run, counts) = (view.run.id.as_str(), counting.contains(&number));
        trial.phases.iter().map(move |phase| {
            let facts = facts_of(material, trial, phase);
            Line { run, number, trial, phase, counts, contender, twin, facts }
        })
    });
    csv_lines(&columns(), lines)
}

fn label(record: Option<&ContenderRecord>) -> String {
    record.map(|record| record.label.clone()).unwrap_or_default()
}

pub(super) fn whole(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn facts_of<'a>(material: &'a Material, trial: &TrialRecord, phase: &PhaseRecord) -> Option<&'a PhaseFacts> {
    let works = &material.run.new.works;
    let work = works.iter().find(|work| work.name == trial.workload && work.scale == trial.scale)?;
    work.phases.iter().find(|facts| facts.name == phase.name)
}
