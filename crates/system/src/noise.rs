//! Noise: whether other activity disturbed a phase.
//! In: [`Evidence`]. Out: remarks; none means that no disturbance is visible.
//! All thresholds are here, each with its reason.

use crate::counters::Evidence;
use serde::{Deserialize, Serialize};

/// Share of CPU time stolen by the hypervisor above which a phase is disturbed.
/// 1 %: a third of the smallest effect that is worth reporting (3 %).
pub const STEAL_SHARE: f64 = 0.01;

/// Share of the test's own traffic that other devices may move before it counts as a disturbance.
pub const FOREIGN_SHARE: f64 = 0.01;

/// Bytes per second below which other devices' traffic is never a disturbance: logs and journals of an idle system. A phase shorter than a
/// second is allowed as much as a second: one write of a log must not count against 3 ms.
pub const FOREIGN_RATE: f64 = 256.0 * 1024.0;

/// Share by which the disk below may move more than the device under test: metadata of the filesystem that holds an image.
pub const LOWER_DISK_SHARE: f64 = 0.10;

/// Bytes that the disk below may write besides for each flush of the device under test: the journal of the filesystem that holds an image.
/// 1000 files of 5 kB, each created and synced on ext4, XFS and btrfs in a sparse image on ext4, cost 4.4 KiB a flush.
pub const LOWER_DISK_FLUSH: u64 = 8 * 1024;

/// Bytes per second below which the surplus of the disk below is not a disturbance; in a phase shorter than a second, bytes.
pub const LOWER_DISK_RATE: f64 = 1024.0 * 1024.0;

/// Share by which the mean processor frequency may change; throttling is larger, the governor's ripple smaller.
pub const FREQUENCY_SHARE: f64 = 0.05;

/// Shorter phases are not judged by steal: the kernel counts in ticks of 10 ms.
const STEAL_LEAST_NS: u64 = 200_000_000;

/// One thing that disturbed a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// What kind of disturbance.
    pub kind: Disturbance,
    /// How much, as a share; the text names of what.
    pub share: f64,
    /// In words.
    pub text: String,
}

/// Kinds of disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// The hypervisor ran another guest.
    Steal,
    /// Other devices moved data.
    ForeignTraffic,
    /// The disk below moved more than the device under test did.
    TrafficBeneath,
    /// Processors changed their frequency.
    Frequency,
}

/// What disturbed the time that this evidence covers.
pub fn disturbed(evidence: &Evidence) -> Vec<Remark> {
    [steal(evidence), foreign(evidence), below(evidence), frequency(evidence)].into_iter().flatten().collect()
}

fn steal(evidence: &Evidence) -> Option<Remark> {
    if evidence.elapsed_ns < STEAL_LEAST_NS || evidence.cpu.total_ns() == 0 {
        return None;
    }
    let share = evidence.cpu.steal_ns as f64 / evidence.cpu.total_ns() as f64;
    (share > STEAL_SHARE).then(|| Remark {
        kind: Disturbance::Steal,
        share,
        text: format!("the hypervisor took {:.1} % of the processors' time", share * 100.0),
    })
}

fn foreign(evidence: &Evidence) -> Option<Remark> {
    let bytes: u64 = evidence.foreign.values().map(|traffic| traffic.bytes()).sum();
    let own = evidence.device.map_or(0, |traffic| traffic.bytes());
    if rate(bytes, evidence) <= FOREIGN_RATE || bytes as f64 <= own as f64 * FOREIGN_SHARE {
        return None;
    }
    let names: Vec<&str> = evidence.foreign.keys().map(String::as_str).take(4).collect();
    Some(Remark {
        kind: Disturbance::ForeignTraffic,
        share: bytes as f64 / (own + bytes) as f64,
        text: format!("other devices ({}) transferred {:.1} MB meanwhile", names.join(", "), bytes as f64 / 1e6),
    })
}

/// Caches in between may make the lower device move less, which is no disturbance; moving more is one.
fn below(evidence: &Evidence) -> Option<Remark> {
    let device = evidence.device?;
    let own = device.bytes();
    let (name, traffic) = evidence.below.iter().max_by_key(|(_, traffic)| traffic.bytes())?;
    let written = traffic.written_bytes.saturating_sub(device.written_bytes);
    let of_journal = written.min(device.flushes.saturating_mul(LOWER_DISK_FLUSH));
    let surplus = traffic.bytes().saturating_sub(own.saturating_add(of_journal));
    if rate(surplus, evidence) <= LOWER_DISK_RATE || surplus as f64 <= own as f64 * LOWER_DISK_SHARE {
        return None;
    }
    Some(Remark {
        kind: Disturbance::TrafficBeneath,
        share: surplus as f64 / (own + surplus) as f64,
        text: format!(
            "the underlying disk ({name}) moved {:.1} MB more than the device under test and its flushes explain",
            surplus as f64 / 1e6
        ),
    })
}

fn frequency(evidence: &Evidence) -> Option<Remark> {
    let (before, after) = evidence.frequency_khz?;
    let share = (after as f64 - before as f64).abs() / before.max(1) as f64;
    (share > FREQUENCY_SHARE).then(|| Remark {
        kind: Disturbance::Frequency,
        share,
        text: format!("processors went from {} to {} MHz", before / 1000, after / 1000),
    })
}

/// Bytes per second, over at least one second.
fn rate(bytes: u64, evidence: &Evidence) -> f64 {
    bytes as f64 / (evidence.elapsed_ns as f64 / 1e9).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{SystemCpu, Traffic};

    fn quiet() -> Evidence {
        Evidence {
            elapsed_ns: 1_000_000_000,
            device: Some(moved(100_000_000)),
            cpu: SystemCpu { idle_ns: 2_000_000_000, ..SystemCpu::default() },
            frequency_khz: Some((3_000_000, 3_000_000)),
            ..Evidence::default()
        }
    }

    fn moved(bytes: u64) -> Traffic {
        Traffic { written_bytes: bytes, ..Traffic::default() }
    }

    fn kinds(evidence: &Evidence) -> Vec<Disturbance> {
        disturbed(evidence).into_iter().map(|remark| remark.kind).collect()
    }

    #[test]
    fn a_quiet_phase_has_no_remarks() {
        assert_eq!(kinds(&quiet()), []);
    }

    #[test]
    fn stolen_time_is_noticed_above_one_percent_only() {
        let mut evidence = quiet();
        evidence.cpu.steal_ns = 19_000_000;
        assert_eq!(kinds(&evidence), []);
        evidence.cpu.steal_ns = 25_000_000;
        assert_eq!(kinds(&evidence), [Disturbance::Steal]);
    }

    #[test]
    fn traffic_elsewhere_counts_when_it_is_more_than_a_log_file() {
        let mut evidence = quiet();
        evidence.foreign.insert("sdb".into(), moved(200_000));
        assert_eq!(kinds(&evidence), []);
        evidence.foreign.insert("sdb".into(), moved(20_000_000));
        assert_eq!(kinds(&evidence), [Disturbance::ForeignTraffic]);
    }

    #[test]
    fn a_lower_disk_that_serves_other_work_is_noticed() {
        let mut evidence = quiet();
        evidence.below.insert("sda".into(), moved(105_000_000));
        assert_eq!(kinds(&evidence), []);
        evidence.below.insert("sda".into(), moved(150_000_000));
        assert_eq!(kinds(&evidence), [Disturbance::TrafficBeneath]);
    }

    #[test]
    fn the_journal_of_the_host_does_not_disturb_a_phase_of_milliseconds() {
        let mut evidence = Evidence { elapsed_ns: 3_000_000, device: Some(moved(4096)), ..quiet() };
        evidence.below.insert("sda".into(), moved(200_000));
        evidence.foreign.insert("sdb".into(), moved(100_000));
        assert_eq!(kinds(&evidence), []);
        evidence.below.insert("sda".into(), moved(2_000_000));
        assert_eq!(kinds(&evidence), [Disturbance::TrafficBeneath]);
    }

    #[test]
    fn the_journal_of_the_host_does_not_disturb_a_phase_of_many_flushes() {
        let synced = |flushes| Evidence { device: Some(Traffic { flushes, ..moved(18_000_000) }), ..quiet() };
        let mut evidence = synced(2000);
        evidence.below.insert("sda".into(), moved(27_000_000));
        assert_eq!(kinds(&evidence), []);
        evidence.below.insert("sda".into(), moved(45_000_000));
        assert_eq!(kinds(&evidence), [Disturbance::TrafficBeneath], "more than flushes explain");
        let read = Traffic { read_bytes: 9_000_000, ..moved(18_000_000) };
        evidence.below.insert("sda".into(), read);
        assert_eq!(kinds(&evidence), [Disturbance::TrafficBeneath], "no flush reads");
        let mut evidence = synced(20);
        evidence.below.insert("sda".into(), moved(27_000_000));
        assert_eq!(kinds(&evidence), [Disturbance::TrafficBeneath], "without flushes it is other work");
    }

    #[test]
    fn throttled_processors_are_noticed() {
        let mut evidence = quiet();
        evidence.frequency_khz = Some((3_000_000, 2_500_000));
        assert_eq!(kinds(&evidence), [Disturbance::Frequency]);
    }
}
