//! Latency of each phase by contender, over all trials so far.
//! In: trials as they end. Out: shares of operations in columns of a quarter of a power of ten, for the current phase.

use records::{PhaseRecord, TrialRecord};
use report::live::{Latency, LatencyRow};
use std::collections::BTreeMap;

/// Columns, starting at 100 ns: four for each power of ten, up to about 56 s.
const COLUMNS: usize = 35;
const FIRST_NS: f64 = 100.0;
const A_DECADE: f64 = 4.0;
/// Limits on phases, and on contenders of each.
const PHASES: usize = 256;
const CONTENDERS: usize = 24;

/// A phase: names of the workload and the phase.
type Phase = (String, String);

/// Counts so far.
#[derive(Default)]
pub struct Latencies(BTreeMap<Phase, Vec<Counted>>);

struct Counted {
    name: String,
    columns: [u64; COLUMNS],
    median_ns: u64,
    p99_ns: u64,
}

impl Latencies {
    /// Adds a trial.
    pub fn add(&mut self, contender: &str, trial: &TrialRecord) {
        for phase in trial.phases.iter().filter(|phase| !phase.preparation) {
            let key = (trial.workload.clone(), phase.name.clone());
            if self.0.len() >= PHASES && !self.0.contains_key(&key) {
                continue;
            }
            let Some(found) = of_phase(contender, phase) else { continue };
            let rows = self.0.entry(key).or_default();
            let room = rows.len() < CONTENDERS;
            match rows.iter_mut().find(|row| row.name == contender) {
                Some(row) => {
                    row.columns.iter_mut().zip(found.columns).for_each(|(sum, more)| *sum = sum.saturating_add(more));
                    (row.median_ns, row.p99_ns) = (found.median_ns, found.p99_ns);
                }
                None if room => rows.push(found),
                None => {}
            }
        }
    }

    /// Latency of a phase so far; `title` is its heading.
    pub fn of(&self, workload: &str, phase: &str, title: String) -> Option<Latency> {
        let rows = self.0.get(&(workload.to_owned(), phase.to_owned()))?;
        let from_ns =
            (0..COLUMNS).map(|column| (FIRST_NS * 10f64.powf(column as f64 / A_DECADE)).round() as u64).collect();
        Some(Latency { title, from_ns, rows: rows.iter().map(shown).collect() })
    }
}

/// The latencies of whole items of a pass; `None` if there is none that can be decoded.
fn of_phase(contender: &str, phase: &PhaseRecord) -> Option<Counted> {
    let items = phase.outcome.groups.iter().filter_map(|group| group.latency.get("item"));
    let mut counted = Counted { name: contender.into(), columns: [0; COLUMNS], median_ns: 0, p99_ns: 0 };
    let mut most = 0;
    for item in items {
        let Ok(histogram) = ledger::histogram::read(&item.hdr) else { continue };
        for value in histogram.iter_recorded() {
            counted.columns[column(value.value_iterated_to())] += value.count_at_value();
        }
        // With several groups, percentiles are those of the group with most items.
        if item.count > most {
            most = item.count;
            counted.median_ns = histogram.value_at_quantile(0.5);
            counted.p99_ns = histogram.value_at_quantile(0.99);
        }
    }
    (most > 0).then_some(counted)
}

fn column(ns: u64) -> usize {
    let at = ((ns.max(1) as f64 / FIRST_NS).log10() * A_DECADE).floor();
    (at.max(0.0) as usize).min(COLUMNS - 1)
}

fn shown(row: &Counted) -> LatencyRow {
    let count: u64 = row.columns.iter().sum();
    let share = |count_in: &u64| (*count_in as f64 / count.max(1) as f64 * 1e5).round() / 1e5;
    LatencyRow {
        name: row.name.clone(),
        count,
        shares: row.columns.iter().map(share).collect(),
        median: report::Unit::of_nanoseconds(row.median_ns as f64),
        p99: report::Unit::of_nanoseconds(row.p99_ns as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_a_quarter_of_a_power_of_ten() {
        assert_eq!([0, 100, 177, 178, 1000, 10_000, u64::MAX].map(column), [0, 0, 0, 1, 4, 8, COLUMNS - 1]);
    }
}
