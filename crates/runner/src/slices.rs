//! Number of slices of each phase of a round, so that contenders alternate within a fraction of a second.
//! In: a workload and its trials so far. Out: a number for each phase, the same for all contenders; 1: the phase is not divided.

use crate::steady::reads_again;
use records::TrialRecord;
use workload::facts::{Compiled, PhaseEstimate};
use workload::program::{Group, Order, Over, Phase, Step, has};

/// Approximate duration of a slice, until its calls return: a turn adds 5 to 10 ms, and disturbances of a machine last longer. A slice begins with
/// processor caches that other contenders have used, and ends with the slowest worker: slices of 60 ms made XFS 5 to 11 % slower at creating
/// files, and cost reads of two workers 3 to 4 ms each.
const SLICE_NS: u64 = 150_000_000;
/// Most slices of a phase.
const MOST: u32 = 32;
/// Least bytes of a file that a slice writes or reads: with less, delayed allocation is cut short, and read-ahead between two slices distorts
/// the result.
const LEAST_BYTES: u64 = 32 << 20;
/// The same where they are written through the page cache. The end of a slice waits for the device, while one piece is written to the device
/// during its later calls: with slices of 32 MiB, writes and rewrites of 192 MiB were 7 to 22 % slower.
const LEAST_CACHED_BYTES: u64 = 96 << 20;
/// Least items of a slice.
const LEAST_ITEMS: u64 = 8;
/// Least items of a slice for each of several workers that sync them. A slice ends when the last worker is done, so its last items are synced with
/// fewer others at the same time, and a journal commits those of all at once: with 3 items for each of 20 workers, ext4 and XFS were 15 % slower,
/// with 32 items 8 to 9 %.
const LEAST_SYNCED: u64 = 128;

/// Slices of each phase, by the first round of this workload, and before that by the time on a device of 500 MB/s.
pub fn slices(work: &Compiled, trials: &[TrialRecord]) -> Vec<u32> {
    if work.counts_instructions() {
        return vec![1; work.program.phases.len()];
    }
    let first = trials.iter().filter(|trial| trial.block == 0 && trial.workload == work.program.workload);
    let first: Vec<&TrialRecord> = first.filter(|trial| trial.scale == work.scale).collect();
    of_phases(&work.program.phases, &work.estimate.phases, &first)
}

fn of_phases(phases: &[Phase], estimates: &[PhaseEstimate], first: &[&TrialRecord]) -> Vec<u32> {
    // What a tool starts in the background would end during the turns of other contenders: cut, the first overwrite after a snapshot was 25 %
    // faster on btrfs.
    let follows_tool = |index: usize| index > 0 && phases[index - 1].uses_tools();
    let of = |(index, phase)| if follows_tool(index) { 1 } else { of_phase(phase, estimates.get(index), first) };
    phases.iter().enumerate().map(of).collect()
}

fn of_phase(phase: &Phase, estimate: Option<&PhaseEstimate>, first: &[&TrialRecord]) -> u32 {
    let Some(estimate) = estimate.filter(|_| phase.can_be_cut()) else { return 1 };
    let mut times: Vec<u64> = first
        .iter()
        .filter_map(|trial| trial.phases.iter().find(|pass| pass.name == phase.name))
        .map(|pass| pass.outcome.returned_ns)
        .collect();
    times.sort_unstable();
    let time = times.get(times.len() / 2).copied().unwrap_or_else(|| guessed_ns(estimate));
    let of_file =
        phase.groups.iter().all(|group| matches!(group.over, Over::Blocks { .. }) && group.order == Order::InOrder);
    let bytes = estimate.bytes_written.max(estimate.bytes_read);
    let is_cached = phase.writes && phase.groups.iter().any(|group| !group.io.direct);
    let least_bytes = if is_cached { LEAST_CACHED_BYTES } else { LEAST_BYTES };
    let by_bytes = if of_file { bytes / least_bytes } else { u64::from(MOST) };
    let least_items = phase.groups.iter().map(least_items).max().unwrap_or(LEAST_ITEMS);
    let most = by_bytes.min(estimate.items / least_items).clamp(1, u64::from(MOST));
    let are_several = phase.groups.iter().any(|group| group.workers > 1);
    // Undivided, a phase that can be read again would be repeated from a cold start each time, which takes longer than a short slice.
    let least = if reads_again(phase) && !are_several { most.min(2) } else { 1 };
    (time.saturating_add(SLICE_NS / 2) / SLICE_NS).clamp(least, most) as u32
}

fn least_items(group: &Group) -> u64 {
    let syncs =
        [Step::Fsync, Step::Fdatasync].iter().any(|step| has(&group.steps, step)) || group.io.sync_every.is_some();
    if syncs && group.workers > 1 { LEAST_SYNCED * u64::from(group.workers) } else { LEAST_ITEMS }
}

fn guessed_ns(estimate: &PhaseEstimate) -> u64 {
    const OF_BYTE: u64 = 2;
    const OF_ITEM: u64 = 30_000;
    let bytes = estimate.bytes_written.saturating_add(estimate.bytes_read).saturating_mul(OF_BYTE);
    bytes.saturating_add(estimate.items.saturating_mul(OF_ITEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::program::{Cache, End, Figure, Io};

    fn phase(over: Over, writes: bool) -> Phase {
        let group = Group {
            name: "all".into(),
            workers: 1,
            processes: false,
            over,
            order: Order::InOrder,
            count: None,
            first: 0,
            steps: vec![if writes { Step::Write } else { Step::Read }],
            io: Io::default(),
            rate: None,
            shifted: false,
        };
        Phase {
            name: "phase".into(),
            operation: "phase".into(),
            cache: Cache::AsFound,
            figure: Figure::Seconds,
            writes,
            passes: 1,
            pause_ns: 0,
            end: End::Work,
            groups: vec![group],
            preparation: false,
            after: Default::default(),
            time_limit: 0,
            needs: Vec::new(),
        }
    }

    const FILES: Over = Over::Files { fileset: 0 };

    fn estimate(items: u64, bytes_written: u64) -> PhaseEstimate {
        PhaseEstimate { items, bytes_written, ..PhaseEstimate::default() }
    }

    #[test]
    fn a_phase_has_as_many_slices_as_its_time_holds_and_its_work_allows() {
        let slices = |phase: &Phase, items, bytes| of_phase(phase, Some(&estimate(items, bytes)), &[]);
        let files = phase(FILES, true);
        assert_eq!((slices(&files, 10_000, 0), slices(&files, 16, 1 << 30)), (2, 2));
        assert_eq!((slices(&files, 1_000_000, 0), slices(&files, 0, 0)), (MOST, 1));
        let file = phase(Over::Blocks { fileset: 0, block: 1 << 20, length: None }, true);
        assert_eq!((slices(&file, 1_024, 1 << 30), slices(&file, 64, 16 << 20)), (10, 1), "1 GiB in 96 MiB each");
        let mut direct = file.clone();
        direct.groups[0].io.direct = true;
        assert_eq!(slices(&direct, 262_144, 256 << 20), 8, "32 MiB each");
        assert_eq!(of_phase(&files, None, &[]), 1);
    }

    #[test]
    fn several_workers_that_sync_have_many_items_in_each_slice() {
        let slices = |workers, syncs: Option<Step>| {
            let mut phase = phase(FILES, true);
            phase.groups[0].workers = workers;
            phase.groups[0].steps.extend(syncs);
            of_phase(&phase, Some(&estimate(2_000, 1 << 30)), &[])
        };
        assert_eq!((slices(20, None), slices(1, Some(Step::Fsync))), (15, 15));
        assert_eq!((slices(5, Some(Step::Fsync)), slices(20, Some(Step::Fdatasync))), (3, 1));
    }

    #[test]
    fn a_short_phase_that_could_be_read_again_has_two_slices_where_its_items_allow() {
        let blocks = |cache, writes, items| {
            let mut phase = Phase { cache, ..phase(Over::Blocks { fileset: 0, block: 4096, length: None }, writes) };
            phase.groups[0].order = Order::Random;
            of_phase(&phase, Some(&estimate(items, 0)), &[])
        };
        assert_eq!((blocks(Cache::Cold, false, 64), blocks(Cache::Cold, false, 8)), (2, 1));
        assert_eq!((blocks(Cache::Cold, true, 64), blocks(Cache::AsFound, false, 64)), (1, 1));
        let mut several = phase(Over::Blocks { fileset: 0, block: 4096, length: None }, false);
        (several.cache, several.groups[0].order, several.groups[0].workers) = (Cache::Cold, Order::Random, 2);
        assert_eq!(of_phase(&several, Some(&estimate(64, 0)), &[]), 1);
    }

    #[test]
    fn a_phase_that_cannot_be_cut_is_one_slice() {
        let whole = |change: &dyn Fn(&mut Phase)| {
            let mut phase = phase(FILES, false);
            change(&mut phase);
            of_phase(&phase, Some(&estimate(1_000_000, 0)), &[])
        };
        assert_eq!(whole(&|_| ()), MOST);
        assert_eq!(whole(&|phase| phase.passes = 2), 1);
        assert_eq!(whole(&|phase| phase.end = End::Time { measure_ns: 1, ramp_ns: 0 }), 1);
        assert_eq!(whole(&|phase| phase.groups.push(phase.groups[0].clone())), 1);
        assert_eq!(whole(&|phase| phase.groups[0].order = Order::Follow), 1);
        assert_eq!(whole(&|phase| phase.groups[0].io.stdio = true), 1);
        assert_eq!(whole(&|phase| phase.groups[0].over = Over::Command), 1);
        assert_eq!(whole(&|phase| phase.groups.clear()), 1);
    }

    #[test]
    fn a_phase_right_after_a_snapshot_is_one_slice() {
        let phases = [phase(FILES, true), phase(Over::Volume, true), phase(FILES, true), phase(FILES, true)];
        let estimates = vec![estimate(1_000_000, 0); 4];
        assert_eq!(of_phases(&phases, &estimates, &[]), [MOST, 1, 1, MOST]);
    }
}
