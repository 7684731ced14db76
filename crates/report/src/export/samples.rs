//! Every pass of every phase of every trial as one line of CSV, counters and evidence included.
//! In: a run's material. Out: CSV; what was not measured is an empty field, never zero.

use super::tables::csv_line;
use crate::number;
use crate::view::{Material, View};
use records::facts::PhaseFacts;
use records::{PhaseRecord, TrialRecord};
use std::collections::HashSet;

const COLUMNS: [&str; 42] = [
    "run",
    "trial",
    "block",
    "position",
    "attempt",
    "status",
    "counts",
    "contender",
    "twin_of",
    "workload",
    "scale",
    "phase",
    "operation",
    "cache",
    "preparation",
    "pass",
    "unit",
    "value",
    "value_returned",
    "value_durable",
    "returned_ns",
    "durable_ns",
    "items",
    "bytes_read",
    "bytes_written",
    "cpu_user_ns",
    "cpu_system_ns",
    "system_cpu_ns",
    "device_read_bytes",
    "device_written_bytes",
    "device_reads",
    "device_writes",
    "device_flushes",
    "device_discarded_bytes",
    "steal",
    "foreign_bytes",
    "cached_before_bytes",
    "from_cache",
    "of_generator",
    "errors",
    "disturbed",
    "remarks",
];

/// All samples of a run, in the order in which they were taken.
pub fn samples_csv(material: &Material, view: &View) -> String {
    let counting = material.counting();
    let mut text = csv_line(&COLUMNS);
    for (number, trial) in material.trials.iter().enumerate() {
        for phase in &trial.phases {
            text.push_str(&csv_line(&line(material, view, &counting, (number, trial), phase)));
        }
    }
    text
}

fn line(
    material: &Material,
    view: &View,
    counting: &HashSet<usize>,
    (number, trial): (usize, &TrialRecord),
    phase: &PhaseRecord,
) -> Vec<String> {
    let contender = material.contenders.iter().find(|record| record.index == trial.contender);
    let twin = contender.and_then(|record| record.twin_of);
    let twin = twin.and_then(|of| material.contenders.iter().find(|record| record.index == of));
    let facts = facts_of(material, trial, phase);
    let exact = |value: Option<f64>| value.map(number::exact).unwrap_or_default();
    let whole = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let (outcome, evidence) = (&phase.outcome, &phase.evidence);
    let remarks: Vec<&str> = evidence.remarks.iter().chain(&outcome.remarks).map(String::as_str).collect();
    vec![
        view.run.id.clone(),
        number.to_string(),
        trial.block.to_string(),
        trial.position.to_string(),
        trial.attempt.to_string(),
        trial.status.name().into(),
        counting.contains(&number).to_string(),
        contender.map(|record| record.label.clone()).unwrap_or_default(),
        twin.map(|record| record.label.clone()).unwrap_or_default(),
        trial.workload.clone(),
        trial.scale.clone(),
        phase.name.clone(),
        phase.operation.clone(),
        phase.cache.name().into(),
        phase.preparation.to_string(),
        outcome.pass.to_string(),
        facts.map_or(phase.figure.base_unit(), PhaseFacts::unit).into(),
        exact(facts.and_then(|facts| samples::judged(trial, phase, facts))),
        exact(facts.and_then(|facts| samples::returned(phase, facts))),
        exact(facts.and_then(|facts| samples::durable(phase, facts))),
        outcome.returned_ns.to_string(),
        whole(outcome.durable_ns),
        outcome.items.to_string(),
        outcome.bytes_read.to_string(),
        outcome.bytes_written.to_string(),
        outcome.cpu.user_ns.to_string(),
        outcome.cpu.system_ns.to_string(),
        whole(evidence.system_cpu_ns),
        whole(evidence.device_read_bytes),
        whole(evidence.device_written_bytes),
        whole(evidence.device_reads),
        whole(evidence.device_writes),
        whole(evidence.device_flushes),
        whole(evidence.device_discarded_bytes),
        exact(evidence.steal),
        whole(evidence.foreign_bytes),
        whole(evidence.cached_before_bytes),
        exact(evidence.from_cache),
        exact(evidence.of_generator),
        outcome.errors.count.to_string(),
        evidence.disturbed.join("; "),
        remarks.join("; "),
    ]
}

fn facts_of<'a>(material: &'a Material, trial: &TrialRecord, phase: &PhaseRecord) -> Option<&'a PhaseFacts> {
    let works = &material.run.new.works;
    let work = works.iter().find(|work| work.name == trial.workload && work.scale == trial.scale)?;
    work.phases.iter().find(|facts| facts.name == phase.name)
}
