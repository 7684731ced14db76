//! Rounds before a phase was steady are shown, and count nowhere.

mod support;

use ledger::PhaseRecord;
use report::view::{SampleView, latency, series};
use report::{Material, View};
use support::{Size, made_up};

/// The same pass, before it was steady: ten times as slow, and a pass earlier.
fn unsteady(phase: &PhaseRecord) -> PhaseRecord {
    let mut early = phase.clone();
    early.evidence.steady = Some(false);
    early.evidence.remarks.push("of an early round".into());
    early.evidence.from_cache = Some(1.0);
    early.outcome.returned_ns *= 10;
    early.outcome.durable_ns = early.outcome.durable_ns.map(|ns| ns * 10);
    if let Some(series) = &mut early.outcome.series {
        series.bytes.iter_mut().chain(&mut series.items).for_each(|count| *count /= 10);
    }
    early
}

#[test]
fn rounds_before_the_steady_ones_are_samples_that_do_not_count() {
    let bench = made_up(Size { contenders: 3, blocks: 3 });
    let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let mut more = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    for trial in &mut more.trials {
        trial.phases = trial.phases.iter().flat_map(|phase| [unsteady(phase), phase.clone()]).collect();
    }
    let plain = View::of(&material).expect("the run is judged");
    let steady = View::of(&more).expect("the run is judged");
    let (mut early, mut lines) = (0, 0);
    for (workload, other) in plain.workloads.iter().zip(&steady.workloads) {
        for (row, other) in workload.rows.iter().zip(&other.rows) {
            for (cell, other) in row.cells.iter().zip(&other.cells) {
                let place = format!("{} {}", workload.name, row.title);
                assert_eq!(cell.figure, other.figure, "{place}");
                assert_eq!(cell.returned, other.returned, "{place}");
                assert_eq!(cell.notes, other.notes, "{place}");
                let counted = |samples: &[SampleView]| samples.iter().filter(|sample| sample.counts).count();
                assert_eq!(counted(&cell.samples), counted(&other.samples), "{place}");
                let spread = |from: &Material| {
                    let key = (workload.name.as_str(), workload.scale.as_str());
                    let contender = plain.contenders[cell.contender].index;
                    (latency(from, row, key, contender), series(from, row, key, contender))
                };
                assert_eq!(spread(&material), spread(&more), "{place}");
                lines += usize::from(spread(&more).1.is_some());
                early +=
                    other.samples.iter().filter(|sample| sample.disturbed.as_deref() == Some("not steady yet")).count();
            }
        }
    }
    assert!(early > 0 && lines > 0, "{early} early rounds are shown, and {lines} lines over time");
}
