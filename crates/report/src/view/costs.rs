//! Costs of a filesystem other than speed: time to make, mount, unmount and check it, space, inodes, CPU, bytes written.
//! In: the trials that count. Out: medians for each workload and contender; what was not measured is absent, never zero.

use super::known::{counted_trials, trial_name};
use super::{ContenderView, Material, WorkloadView};
use judge::median;
use records::{Closing, Found, PhaseRecord, TrialRecord, Usage};
use serde::Serialize;

/// With fewer bytes written or allocated a share is meaningless, because of block sizes and journals.
const LEAST_BYTES: u64 = 1 << 20;

/// What the contenders of one workload cost.
#[derive(Debug, Clone, Serialize)]
pub struct CostsView {
    /// Name of the workload, as [`WorkloadView::name`].
    pub workload: String,
    /// Its heading.
    pub title: String,
    /// One for each contender with any known cost; imported figures have none.
    pub contenders: Vec<CostView>,
}

/// What one contender costs in one workload: medians over its trials, in base units.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CostView {
    /// Index into [`super::View::contenders`].
    pub contender: usize,
    /// Seconds to make the filesystem.
    pub make_seconds: Option<f64>,
    /// Seconds to mount it; absent where making also mounts it.
    pub mount_seconds: Option<f64>,
    /// Seconds to unmount it after the work.
    pub unmount_seconds: Option<f64>,
    /// Seconds to check it after the work.
    pub check_seconds: Option<f64>,
    /// Bytes of the device that are not free once it is made and empty.
    pub empty_bytes: Option<f64>,
    /// Bytes that are free then but reserved.
    pub reserved_bytes: Option<f64>,
    /// Bytes used for each byte in files, when most bytes were present.
    pub taken_per_byte: Option<f64>,
    /// Inodes of the empty filesystem; absent where it creates them as needed.
    pub inodes: Option<f64>,
    /// Inodes used when most files were present.
    pub inodes_taken: Option<f64>,
    /// CPU of the whole system for each operation, in seconds.
    pub cpu_per_operation: Option<f64>,
    /// Bytes that the device received for each byte that the workload wrote, from mounting until unmounted.
    pub written_per_byte: Option<f64>,
}

/// What each workload's contenders cost.
pub(super) fn costs(material: &Material, contenders: &[ContenderView], workloads: &[WorkloadView]) -> Vec<CostsView> {
    let of_work = |workload: &WorkloadView| {
        let key = (trial_name(material, workload), workload.scale.as_str());
        let lines = contenders.iter().enumerate().filter_map(|(place, contender)| {
            let trials: Vec<&TrialRecord> = counted_trials(material, key, contender.index).collect();
            let nothing = CostView { contender: place, ..CostView::default() };
            Some(cost(place, &trials)).filter(|cost| *cost != nothing)
        });
        CostsView { workload: workload.name.clone(), title: workload.title.clone(), contenders: lines.collect() }
    };
    workloads.iter().map(of_work).filter(|costs| !costs.contenders.is_empty()).collect()
}

fn cost(contender: usize, trials: &[&TrialRecord]) -> CostView {
    let of = |value: &dyn Fn(&TrialRecord) -> Option<f64>| {
        median(&trials.iter().filter_map(|trial| value(trial)).collect::<Vec<_>>())
    };
    let found = |value: fn(&Found) -> Option<f64>| of(&move |trial| value(trial.found.as_ref()?));
    let closing = |value: fn(&Closing) -> Option<f64>| of(&move |trial| value(trial.closing.as_ref()?));
    CostView {
        contender,
        make_seconds: found(|found| found.mkfs_seconds),
        mount_seconds: found(|found| found.mount_seconds),
        unmount_seconds: closing(|closing| closing.unmount_seconds),
        check_seconds: closing(|closing| closing.check_seconds),
        empty_bytes: found(empty_bytes),
        reserved_bytes: found(reserved_bytes),
        taken_per_byte: of(&taken_per_byte),
        inodes: found(|found| found.empty.inodes.map(|count| count as f64)),
        inodes_taken: of(&|trial| {
            trial.phases.iter().filter_map(|phase| phase.evidence.taken_inodes).max().map(|count| count as f64)
        }),
        cpu_per_operation: of(&cpu_per_operation),
        written_per_byte: of(&written_per_byte),
    }
}

/// Space of a filesystem that was made for the trial, so that its space is its own.
fn own(found: &Found) -> Option<Usage> {
    found.mkfs_seconds.map(|_| found.empty)
}

fn empty_bytes(found: &Found) -> Option<f64> {
    let (own, device) = (own(found)?, found.device.as_ref()?.size_bytes);
    device.checked_sub(own.total_bytes.checked_sub(own.used_bytes)?).map(|bytes| bytes as f64)
}

fn reserved_bytes(found: &Found) -> Option<f64> {
    let own = own(found)?;
    let free = own.total_bytes.checked_sub(own.used_bytes)?;
    free.checked_sub(own.available_bytes).map(|bytes| bytes as f64)
}

/// At the phase after which most bytes were present.
fn taken_per_byte(trial: &TrialRecord) -> Option<f64> {
    let both = |phase: &PhaseRecord| Some((phase.evidence.present_bytes?, phase.evidence.taken_bytes?));
    let (present, taken) = trial.phases.iter().filter_map(both).max_by_key(|(present, _)| *present)?;
    (present >= LEAST_BYTES && taken > 0).then(|| taken as f64 / present as f64)
}

fn cpu_per_operation(trial: &TrialRecord) -> Option<f64> {
    let phases = trial.phases.iter().filter(|phase| !phase.preparation && phase.outcome.items > 0);
    let (mut spent, mut items) = (0, 0);
    for phase in phases {
        spent += phase.evidence.system_cpu_ns?;
        items += phase.outcome.items;
    }
    (items > 0 && spent > 0).then(|| spent as f64 / 1e9 / items as f64)
}

fn written_per_byte(trial: &TrialRecord) -> Option<f64> {
    let users: u64 = trial.phases.iter().map(|phase| phase.outcome.bytes_written).sum();
    let until_unmounted = trial.closing.as_ref().and_then(|closing| closing.written_bytes);
    let in_phases = || trial.phases.iter().map(|phase| phase.evidence.device_written_bytes).sum::<Option<u64>>();
    let taken = until_unmounted.or_else(in_phases)?;
    (users >= LEAST_BYTES && taken > 0).then(|| taken as f64 / users as f64)
}

/// Ratio of used space from which on a sentence mentions it.
const WORTH_A_SENTENCE: f64 = 1.2;
/// Most groups of contenders that the sentence names.
const MOST_GROUPS: usize = 4;

/// Below this share of their size files are stored smaller than they are, which users ask about.
const STORED_SMALLER: f64 = 0.9;

/// How much space the same files use, if that differs: for the workload where it differs most. Also whether any contender stores them smaller.
pub(super) fn space(costs: &[CostsView], contenders: &[&str]) -> Option<(String, bool)> {
    let taken = |one: &CostsView| {
        let each = one.contenders.iter().filter_map(|cost| Some((cost.taken_per_byte?, cost.contender)));
        let mut each: Vec<(f64, usize)> = each.collect();
        each.sort_by(|a, b| a.0.total_cmp(&b.0));
        let times = each.last()?.0 / each.first()?.0;
        (times >= WORTH_A_SENTENCE).then(|| (times, each, one.workload.clone()))
    };
    let (_, each, workload) = costs.iter().filter_map(taken).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let smaller = each.first().is_some_and(|(share, _)| *share < STORED_SMALLER);
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (share, contender) in each {
        let (share, name) = (crate::number::whole_percent(share), contenders[contender]);
        match groups.last_mut().filter(|(last, _)| *last == share) {
            Some((_, names)) => names.push(name),
            None => groups.push((share, vec![name])),
        }
    }
    // The largest is always named.
    if groups.len() > MOST_GROUPS {
        groups.drain(MOST_GROUPS - 1..groups.len() - 1);
    }
    let each = groups.iter().map(|(share, names)| format!("{share} with {}", judge::list(names)));
    let of_work = if costs.len() > 1 { format!(" in {workload}") } else { String::new() };
    let each = each.collect::<Vec<_>>().join(", ");
    Some((format!("Space, in percent of the files' size{of_work}: {each}."), smaller))
}

impl CostView {
    /// Its figures for readers, in the order of [`HEADINGS`]; a dash where there is none.
    pub fn figures(&self) -> [String; 9] {
        let plain = |value: Option<f64>| value.map_or_else(|| "–".into(), crate::number::plain);
        let seconds = |value: Option<f64>| value.map_or_else(|| "–".into(), short_seconds);
        let scaled = |value: Option<f64>, by: f64| plain(value.map(|value| value / by));
        let inodes = match self.inodes {
            Some(count) => crate::number::count(count),
            None if self.empty_bytes.is_some() => "any".into(),
            None => "–".into(),
        };
        [
            seconds(self.make_seconds),
            seconds(self.mount_seconds),
            seconds(self.unmount_seconds),
            seconds(self.check_seconds),
            scaled(self.empty_bytes, f64::from(1 << 20)),
            plain(self.taken_per_byte),
            inodes,
            scaled(self.cpu_per_operation, 1e-6),
            plain(self.written_per_byte),
        ]
    }
}

/// Seconds with only their significant digits.
fn short_seconds(value: f64) -> String {
    match value {
        value if value < 0.0995 => format!("{value:.3}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value if value < 99_999.5 => format!("{value:.0}"),
        // A whole program counts as one operation.
        value if value < 999_500.0 => format!("{:.0}k", value / 1e3),
        value => format!("{:.1}M", value / 1e6),
    }
}

/// Headings of the figures, each in two short words: what, and its unit.
pub const HEADINGS: [(&str, &str); 9] = [
    ("make", "s"),
    ("mount", "s"),
    ("unmount", "s"),
    ("check", "s"),
    ("empty", "MiB"),
    ("space", "B/B"),
    ("inodes", ""),
    ("CPU", "µs/op"),
    ("written", "B/B"),
];

/// Explanation of the figures.
pub const LEGEND: &str = "Medians. empty: space used by the empty filesystem; space: bytes used per byte in files, when \
    most files existed; inodes: inodes offered (any: created as needed); CPU: of the whole system, per \
    operation; written: bytes written to the device per byte written by the workload, from mount to unmount.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_a_sentence_where_it_differs() {
        let costs = |shares: &[f64]| {
            let of = |(contender, &share): (usize, &f64)| CostView {
                contender,
                taken_per_byte: Some(share),
                ..CostView::default()
            };
            let contenders = shares.iter().enumerate().map(of).collect();
            CostsView { workload: "logs".into(), title: "Logs".into(), contenders }
        };
        let names = ["ext4", "xfs", "btrfs", "zfs", "f2fs"];
        assert_eq!(space(&[costs(&[1.0, 1.1, 1.0])], &names), None);
        let (text, smaller) = space(&[costs(&[1.0, 1.0, 0.154])], &names).expect("it differs");
        assert_eq!(text, "Space, in percent of the files' size: 15 % with btrfs, 100 % with ext4 and xfs.");
        assert!(smaller);
        // Of many contenders the first and the last are named.
        let (text, smaller) = space(&[costs(&[1.5, 9.0, 3.0, 4.0, 2.0])], &names).expect("it differs");
        assert!(!smaller);
        assert!(text.ends_with("150 % with ext4, 200 % with f2fs, 300 % with btrfs, 900 % with xfs."), "{text}");
    }

    #[test]
    fn a_missing_measurement_is_a_dash_and_inodes_made_as_needed_are_any() {
        let value =
            CostView { empty_bytes: Some(4_194_304.0), make_seconds: Some(0.1), ..CostView::default() }.figures();
        assert_eq!(
            (value[0].as_str(), value[1].as_str(), value[4].as_str(), value[6].as_str()),
            ("0.10", "–", "4.00", "any")
        );
        assert_eq!(CostView::default().figures()[6], "–");
    }
}
