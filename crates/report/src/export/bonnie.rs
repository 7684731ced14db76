//! Results of the `bonnie` workload in the CSV of Bonnie++ 2.00 (format 1.98), which `bon_csv2html` reads.
//! In: a run's material. Out: one line for each completed trial; what was not measured is left empty.

use super::tables::csv_line;
use crate::number;
use crate::view::{self, Material};
use records::facts::PhaseFacts;
use records::{PhaseRecord, TrialRecord, WorkRecord};

/// File work and its position in a line: rates in KiB a second.
const BLOCKS: [&str; 5] = ["per-char-write", "block-write", "block-rewrite", "per-char-read", "block-read"];
/// Work on small files: files a second.
const FILES: [&str; 6] =
    ["sequential-create", "sequential-stat", "sequential-delete", "random-create", "random-stat", "random-delete"];
const SEEKS: &str = "random-seeks";

/// The file, or `None` if the run has no such workload.
pub(super) fn bonnie_csv(material: &Material) -> Option<String> {
    let counting = material.counting();
    let mut text = String::new();
    for work in material.run.new.works.iter().filter(|work| work.name == "bonnie") {
        for (number, trial) in material.trials.iter().enumerate() {
            let contender = material.contenders.iter().find(|record| record.index == trial.contender);
            let Some(contender) = contender.filter(|record| record.twin_of.is_none()) else {
                continue;
            };
            if counting.contains(&number) && trial.workload == work.name && trial.scale == work.scale {
                text.push_str(&csv_line(&line(&contender.label, work, trial)));
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

fn line(contender: &str, work: &WorkRecord, trial: &TrialRecord) -> Vec<String> {
    let setting = |name: &str| work.settings.get(name).cloned().unwrap_or_default();
    let whole_seconds = trial.began_ms.div_euclid(1000);
    let seekers = if setting("form") == "1.03" { "3" } else { "5" };
    let mut line: Vec<String> = vec![
        "1.98".into(),
        "2.00".into(),
        // The readers of Bonnie++ do not handle quotes.
        contender.replace([',', '"'], " "),
        "1".into(),
        whole_seconds.to_string(),
        mebibytes(work, trial),
        chunk(work, trial),
        String::new(),
        seekers.into(),
    ];
    for name in BLOCKS {
        line.extend(rate(work, trial, name, 1024.0));
    }
    line.extend(rate(work, trial, SEEKS, 1.0));
    line.extend(small_files(&setting("n")));
    for name in FILES {
        line.extend(rate(work, trial, name, 1.0));
    }
    for name in BLOCKS.iter().chain(&[SEEKS]).chain(&FILES) {
        line.push(longest(trial, name));
    }
    line
}

/// `-n number:max:min:directories` in the five fields that Bonnie++ 2.00 really writes: default values are left empty, and the directories
/// are in the last field, contrary to its manual.
fn small_files(n: &str) -> [String; 5] {
    let mut parts = n.split(':').map(|part| part.trim().to_owned());
    let mut next = |usual: &str| parts.next().filter(|part| part != usual).unwrap_or_default();
    let (number, max, min, directories) = (next(""), next("0"), next("0"), next("1"));
    [number, max, min, String::new(), directories]
}

/// Rate and CPU share of a phase, as Bonnie++ reports them: until its files were synced, which is the durable figure.
fn rate(work: &WorkRecord, trial: &TrialRecord, name: &str, unit: f64) -> [String; 2] {
    let Some((phase, facts)) = find(work, trial, name) else {
        return [String::new(), String::new()];
    };
    let value = samples::judged(trial, phase, facts).map(|value| rate_in_digits(value / unit));
    let cpu = samples::cpu_percent(phase).map(|cpu| format!("{cpu:.0}"));
    [value.unwrap_or_default(), cpu.unwrap_or_default()]
}

/// The longest operation, in microseconds as Bonnie++ writes it.
fn longest(trial: &TrialRecord, name: &str) -> String {
    let phases = trial.phases.iter().filter(|phase| phase.name == name);
    let groups = phases.flat_map(|phase| &phase.outcome.groups);
    let longest = groups
        .filter_map(|group| group.latency.get("item"))
        .filter(|histogram| view::read_histogram(&histogram.hdr).is_some())
        .map(|histogram| histogram.max_ns)
        .max();
    longest.map(|ns| format!("{}us", ns / 1000)).unwrap_or_default()
}

fn find<'a>(work: &'a WorkRecord, trial: &'a TrialRecord, name: &str) -> Option<(&'a PhaseRecord, &'a PhaseFacts)> {
    let phase = trial.phases.iter().find(|phase| phase.name == name)?;
    Some((phase, work.phases.iter().find(|facts| facts.name == name)?))
}

/// Bytes of the file work as Bonnie++ writes sizes: `192M`. If the size was not set explicitly, it follows from block writing.
fn mebibytes(work: &WorkRecord, trial: &TrialRecord) -> String {
    let set = work.settings.get("size").and_then(|text| number::quantity(text)).map(|bytes| bytes as u64);
    let written = || Some(find(work, trial, "block-write")?.0.outcome.bytes_written).filter(|bytes| *bytes > 0);
    set.or_else(written).map(|bytes| format!("{}M", bytes >> 20)).unwrap_or_default()
}

/// Bytes of one call of the block work.
fn chunk(work: &WorkRecord, trial: &TrialRecord) -> String {
    let set = work.settings.get("chunk").and_then(|text| number::quantity(text)).map(|bytes| bytes as u64);
    let measured = || {
        let (phase, _) = find(work, trial, "block-write")?;
        phase.outcome.bytes_written.checked_div(phase.outcome.items).filter(|bytes| *bytes > 0)
    };
    set.or_else(measured).map(|bytes| bytes.to_string()).unwrap_or_default()
}

/// A rate with the digits that Bonnie++ writes: whole from a hundred on, else with one decimal.
fn rate_in_digits(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
