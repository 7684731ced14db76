//! Results of several parallel clients: how closely they began together, when the first and the last ended, and the figures of each.
//! In: the trials that count. Out: medians for each operation, and the individual clients of the last pass.

use super::known::{counted_trials, trial_name};
use super::story::plural;
use super::{ContenderView, Material, RowView, WorkloadView};
use crate::number;
use judge::median;
use records::program::Figure;
use records::{ClientOutcome, Percentiles, PhaseRecord, Together, TrialRecord};
use serde::Serialize;
use std::collections::BTreeSet;

/// The clients of one contender in one workload.
#[derive(Debug, Clone, Serialize)]
pub struct ClientsView {
    /// Name of the workload, as [`WorkloadView::name`].
    pub workload: String,
    /// Its heading.
    pub title: String,
    /// Index into [`super::View::contenders`].
    pub contender: usize,
    /// How many clients there were.
    pub clients: usize,
    /// Number of machines.
    pub machines: usize,
    /// From the first start to the last, in seconds: the longest over all passes.
    pub skew_seconds: f64,
    /// Largest clock difference between them, in seconds, over all passes.
    pub clock_error_seconds: f64,
    /// Bytes that all others sent to the first client for a pass: the median.
    pub gathered_bytes: f64,
    /// One for each operation.
    pub operations: Vec<ClientsRow>,
}

/// One operation over all clients: medians over passes, in base units.
#[derive(Debug, Clone, Serialize)]
pub struct ClientsRow {
    /// Short label.
    pub title: String,
    /// Unit of the two rates, as files have it: `B/s` or `/s`.
    pub unit: &'static str,
    /// Rate over the whole time, from the first start until the last client ended.
    pub whole: f64,
    /// Rate while all clients worked, from the last start until the first ended; absent if they never all did.
    pub all_at_work: Option<f64>,
    /// Seconds until the first client ended.
    pub first_done_seconds: f64,
    /// Seconds until the last client ended.
    pub last_done_seconds: f64,
    /// Number of the client that ended last in most passes.
    pub slowest: u32,
    /// Latency over all clients, of the last pass; absent where none was measured.
    pub latency: Option<Percentiles>,
    /// The clients of the last pass, by number.
    pub clients: Vec<ClientRow>,
}

/// One client in one pass.
#[derive(Debug, Clone, Serialize)]
pub struct ClientRow {
    /// Name of its machine.
    pub host: String,
    /// When it began, in seconds after the first.
    pub began_seconds: f64,
    /// When it ended, in seconds after the first start.
    pub done_seconds: f64,
    /// Its rate over its own time.
    pub rate: f64,
    /// Latency of its items; absent where none was completed.
    pub latency: Option<Percentiles>,
}

impl ClientsView {
    /// How closely they began together, in a sentence.
    pub fn sentence(&self) -> String {
        let millis = |seconds: f64| format!("{} ms", number::plain(seconds * 1e3));
        format!(
            "{} on {} began within {} of each other (clock error at most {}); the first client received {} bytes per pass.",
            plural(self.clients, "client"),
            plural(self.machines, "machine"),
            millis(self.skew_seconds),
            millis(self.clock_error_seconds),
            number::count(self.gathered_bytes),
        )
    }
}

impl ClientsRow {
    /// A rate of this row in a unit that reads well.
    pub fn in_unit(&self, value: f64) -> String {
        let (by, unit) = if self.unit == "B/s" { (1e6, "MB/s") } else { (1e3, "k/s") };
        format!("{} {unit}", number::plain(value / by))
    }
}

/// Nanoseconds as seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Results of the clients of each workload and contender.
pub(super) fn clients(
    material: &Material,
    contenders: &[ContenderView],
    workloads: &[WorkloadView],
) -> Vec<ClientsView> {
    let mut found = Vec::new();
    for workload in workloads {
        let key = (trial_name(material, workload), workload.scale.as_str());
        for (place, contender) in contenders.iter().enumerate() {
            let trials: Vec<&TrialRecord> = counted_trials(material, key, contender.index).collect();
            found.extend(of_contender(workload, place, &trials));
        }
    }
    found
}

type Pass<'a> = (&'a PhaseRecord, &'a Together);

fn of_contender(workload: &WorkloadView, contender: usize, trials: &[&TrialRecord]) -> Option<ClientsView> {
    let passes = |row: &RowView| -> Vec<Pass> {
        let phases = trials.iter().flat_map(|trial| &trial.phases);
        let mine = phases.filter(|phase| phase.counts() && row.phases.len() == 1 && row.phases[0] == phase.name);
        mine.filter_map(|phase| Some((phase, phase.outcome.together.as_deref()?))).collect()
    };
    let each: Vec<(&RowView, Vec<Pass>)> =
        workload.rows.iter().map(|row| (row, passes(row))).filter(|(_, passes)| !passes.is_empty()).collect();
    let all = || each.iter().flat_map(|(_, passes)| passes.iter().map(|(_, together)| *together));
    let most = |of: fn(&Together) -> u64| seconds(all().map(of).max().unwrap_or(0));
    let last = all().last()?;
    let hosts: BTreeSet<&str> = last.clients.iter().map(|client| client.host.as_str()).collect();
    Some(ClientsView {
        workload: workload.name.clone(),
        title: workload.title.clone(),
        contender,
        clients: last.clients.len(),
        machines: hosts.len(),
        skew_seconds: most(|together| together.skew_ns),
        clock_error_seconds: most(|together| together.clock_error_ns),
        gathered_bytes: median(&all().map(|together| together.gathered_bytes as f64).collect::<Vec<_>>())
            .unwrap_or(0.0),
        operations: each.iter().filter_map(|(row, passes)| operation(row, passes)).collect(),
    })
}

fn operation(row: &RowView, passes: &[Pass]) -> Option<ClientsRow> {
    let (phase, last) = passes.last()?;
    let by_bytes = row.figure == Figure::BytesPerSecond;
    let amount = |items: f64, bytes: f64| if by_bytes { bytes } else { items };
    let rate = |amount: f64, ns: u64| (ns > 0).then(|| amount / seconds(ns));
    let of = |value: &dyn Fn(&Pass) -> Option<f64>| median(&passes.iter().filter_map(value).collect::<Vec<_>>());
    let whole = of(&|(phase, together)| {
        let outcome = &phase.outcome;
        let bytes = (outcome.bytes_read + outcome.bytes_written) as f64;
        rate(amount(outcome.items as f64, bytes), together.last_done_ns)
    })?;
    let slowest = |number: u32| passes.iter().filter(|(_, together)| together.slowest == number).count();
    let clients = last.clients.iter().map(|client| one(client, by_bytes)).collect();
    let latency = phase.outcome.groups.first().and_then(|group| group.latency.get("item"));
    Some(ClientsRow {
        title: row.title.clone(),
        unit: if by_bytes { "B/s" } else { "/s" },
        whole,
        all_at_work: of(&|(_, together)| {
            rate(amount(together.all_at_work_items, together.all_at_work_bytes), together.all_at_work_ns)
        }),
        first_done_seconds: of(&|(_, together)| Some(seconds(together.first_done_ns)))?,
        last_done_seconds: of(&|(_, together)| Some(seconds(together.last_done_ns)))?,
        slowest: passes.iter().map(|(_, together)| together.slowest).max_by_key(|number| slowest(*number))?,
        latency: latency.and_then(super::spread::percentiles),
        clients,
    })
}

fn one(client: &ClientOutcome, by_bytes: bool) -> ClientRow {
    let own = client.returned_ns.saturating_sub(client.began_ns);
    let amount = if by_bytes { client.bytes_read + client.bytes_written } else { client.items };
    ClientRow {
        host: client.host.clone(),
        began_seconds: seconds(client.began_ns),
        done_seconds: seconds(client.returned_ns),
        rate: if own > 0 { amount as f64 / seconds(own) } else { 0.0 },
        latency: client.latency.first().copied().flatten(),
    }
}
