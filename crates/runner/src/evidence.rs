//! Evidence of the machine during a pass, compared with what the engine reports.
//! In: two snapshots, the phase as requested, the outcome. Out: the ledger's [`Evidence`], with short remarks.
//! The rules and numbers are those of docs/method.md.

use records::{DiskLateness, Evidence};
use staging::Dropped;
use system::noise::Disturbance;
use workload::facts::PhaseEstimate;
use workload::outcome::{Ceiling, PhaseOutcome};
use workload::program::{Cache, Content, Engine, Phase, Program, Step, has};

/// If more than this share of a cold read did not come from the device, a cache served it.
pub const CACHE_SHARE: f64 = 0.02;
/// A rate above this share of the generator's ceiling may measure the generator and not the filesystem.
pub const CEILING_SHARE: f64 = 0.8;
/// Smaller reads are not compared with the device: read-ahead, metadata and block size blur them.
const CACHE_PROOF_LEAST: u64 = 1 << 20;

/// Facts before a pass began.
#[derive(Debug)]
pub struct Before<'a> {
    /// Result of emptying the caches; `None` if they were not to be emptied.
    pub emptied: Option<&'a Dropped>,
    /// Bytes of the phase's files that were still cached after that.
    pub cached_bytes: Option<u64>,
}

impl Before<'_> {
    fn dropped(&self) -> Option<bool> {
        self.emptied.map(|emptied| emptied.complete)
    }
}

/// Evaluates one pass by the counters.
pub fn weigh(
    before: &Before,
    seen: &system::counters::Evidence,
    program: &Program,
    phase: &Phase,
    outcome: &PhaseOutcome,
    ceiling: Option<&Ceiling>,
) -> Evidence {
    let mut evidence = Evidence {
        device_read_bytes: seen.device.map(|traffic| traffic.read_bytes),
        device_written_bytes: seen.device.map(|traffic| traffic.written_bytes),
        device_reads: seen.device.map(|traffic| traffic.reads),
        device_writes: seen.device.map(|traffic| traffic.writes),
        device_flushes: seen.device.map(|traffic| traffic.flushes),
        device_discarded_bytes: seen.device.map(|traffic| traffic.discarded_bytes),
        system_cpu_ns: Some(seen.cpu.busy_ns()),
        observed_ns: seen.elapsed_ns,
        steal: (seen.cpu.total_ns() > 0).then(|| seen.cpu.steal_ns as f64 / seen.cpu.total_ns() as f64),
        foreign_bytes: Some(seen.foreign.values().map(|traffic| traffic.bytes()).sum()),
        cached_before_bytes: before.cached_bytes,
        dropped: before.dropped(),
        cold: before.emptied.map(|emptied| emptied.start.clone()),
        disturbed: disturbances(seen),
        ..Evidence::default()
    };
    if expects_device_reads(phase, before) {
        judge_cold_read(&mut evidence, seen, outcome);
    } else if phase.cache == Cache::Warm {
        evidence.from_device = device_share(seen, outcome);
    } else if phase.cache == Cache::AsFound && was_in_memory(seen, outcome) {
        evidence.remarks.push("read from memory: caches were left as found".into());
    }
    // If caches could not be dropped, `dropped` records it, and the judge reports it.
    if before.dropped() != Some(false) && before.cached_bytes.is_some_and(|bytes| bytes > 0) {
        evidence.remarks.push("some pages were still cached after dropping".into());
    }
    if let Some(ceiling) = ceiling.filter(|_| generates(program, phase)) {
        let share = generator_share(ceiling, phase, outcome);
        evidence.of_generator = share;
        if share.is_some_and(|share| share > CEILING_SHARE) {
            evidence.remarks.push("limited by the data generator of this machine".into());
        }
    }
    evidence
}

/// Records how late a modelled disk was in the pass. A disk that is too fast for this machine counts as no disturbance, since a repetition
/// would not help.
pub fn note_lateness(evidence: &mut Evidence, late: Option<DiskLateness>) {
    evidence.disk_late = late;
    let Some(late) = late else { return };
    if late.is_disturbed() {
        evidence.disturbed.push("the modelled disk was late".into());
    }
    if late.is_too_fast() {
        evidence.remarks.push("the modelled disk is too fast for this machine: its requests were late".into());
    }
}

/// Bytes and inodes, each absent if unknown.
type Given = (Option<u64>, Option<u64>);

/// Records the space that the filesystem took for the files that exist after a phase.
pub fn note_space(evidence: &mut Evidence, empty: Given, now: Given, estimate: Option<&PhaseEstimate>) {
    let grown = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    evidence.taken_bytes = grown(empty.0, now.0);
    evidence.taken_inodes = grown(empty.1, now.1);
    evidence.present_bytes = estimate.map(|phase| phase.present_bytes);
}

/// Disturbances by kind, without numbers: the same words for the same kind, so that notes can be merged. The numbers are in the evidence itself.
fn disturbances(seen: &system::counters::Evidence) -> Vec<String> {
    let word = |kind| match kind {
        Disturbance::Steal => "processor time taken by the hypervisor",
        Disturbance::ForeignTraffic => "other disks at work",
        Disturbance::TrafficBeneath => "other work on the underlying disk",
        Disturbance::Frequency => "processor clock changed",
    };
    system::noise::disturbed(seen).into_iter().map(|remark| word(remark.kind).into()).collect()
}

/// Whether every byte that this pass reads should come from the device: a cold start, or direct reads.
fn expects_device_reads(phase: &Phase, before: &Before) -> bool {
    let reads = phase.groups.iter().any(|group| has(&group.steps, &Step::Read));
    // A second pass within one phase, or a random draw with replacement, finds pages that the pass itself cached.
    let once = phase
        .groups
        .iter()
        .all(|group| !matches!(group.order, workload::program::Order::Random | workload::program::Order::Follow));
    let writes_too = phase.groups.iter().any(|group| has(&group.steps, &Step::Write));
    let direct = phase.groups.iter().all(|group| group.io.direct && group.io.engine != Engine::Mmap);
    reads && !writes_too && ((phase.cache == Cache::Cold && before.emptied.is_some() && once) || direct)
}

fn judge_cold_read(evidence: &mut Evidence, seen: &system::counters::Evidence, outcome: &PhaseOutcome) {
    let read = outcome.bytes_read;
    if read < CACHE_PROOF_LEAST {
        return;
    }
    let Some(device) = seen.device else { return };
    let missing = |delivered: u64| 1.0 - (delivered as f64 / read as f64).min(1.0);
    let share = missing(device.read_bytes);
    evidence.from_cache = Some(share);
    if share > CACHE_SHARE {
        // The share has its own field; the words are the same for every trial, so that notes can be merged.
        evidence.remarks.push(
            "not all bytes read came from the device: a cache served some, or the data is stored in less space".into(),
        );
        return;
    }
    // The device served the reads; the devices below it (a loop device's disk) must have served them too.
    let below = seen.below.values().map(|traffic| traffic.read_bytes).max();
    if let Some(share) = below.map(missing).filter(|share| *share > CACHE_SHARE) {
        evidence.from_cache = Some(share);
        evidence.remarks.push("bytes read came from a cache below the device".into());
    }
}

/// Whether most of what a pass read never came from the device. The plan may intend that or not: a file meant to be larger than memory may be
/// smaller here.
fn was_in_memory(seen: &system::counters::Evidence, outcome: &PhaseOutcome) -> bool {
    let read = outcome.bytes_read;
    read >= CACHE_PROOF_LEAST && seen.device.is_some_and(|device| device.read_bytes < read / 2)
}

/// The device's share of what a warm pass read. For programs the amount is their own report or the count of their calls.
fn device_share(seen: &system::counters::Evidence, outcome: &PhaseOutcome) -> Option<f64> {
    let reported: u64 = outcome.groups.iter().map(|group| group.bytes_read).sum();
    let calls: u64 = outcome.commands.iter().filter_map(|run| run.read_bytes).sum();
    let read = outcome.bytes_read.max(reported).max(calls);
    let delivered = seen.device.filter(|_| read >= CACHE_PROOF_LEAST)?.read_bytes;
    Some((delivered as f64 / read as f64).min(1.0))
}

fn generates(program: &Program, phase: &Phase) -> bool {
    phase.groups.iter().any(|group| {
        let Some(fileset) = group.over.content() else { return false };
        let content = program.filesets.get(fileset).map_or_else(Content::default, |fileset| fileset.content);
        has(&group.steps, &Step::Write) && !content.zeros
    })
}

fn generator_share(ceiling: &Ceiling, phase: &Phase, outcome: &PhaseOutcome) -> Option<f64> {
    let workers: u32 = phase.groups.iter().map(|group| group.workers).sum();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let most = ceiling.write_bytes_per_second * f64::from(workers.clamp(1, cores));
    let seconds = outcome.returned_ns as f64 / 1e9;
    (most > 0.0 && seconds > 0.0 && outcome.bytes_written > 0).then(|| outcome.bytes_written as f64 / seconds / most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_modelled_disk_disturbs_a_pass_and_one_that_is_too_fast_is_remarked() {
        let noted = |unreachable, avoidable| {
            let mut evidence = Evidence::default();
            let share = unreachable + avoidable;
            note_lateness(
                &mut evidence,
                Some(DiskLateness { share, unreachable, avoidable, ..DiskLateness::default() }),
            );
            assert_eq!(evidence.disk_late.map(|late| late.share), Some(share));
            (evidence.disturbed.len(), evidence.remarks.len())
        };
        assert_eq!(noted(0.0, 0.05), (0, 0));
        assert_eq!(noted(0.0, 0.5), (1, 0));
        assert_eq!(noted(1.5, 0.05), (0, 1));
        let mut other = Evidence::default();
        note_lateness(&mut other, None);
        assert_eq!(other, Evidence::default());
    }
}
