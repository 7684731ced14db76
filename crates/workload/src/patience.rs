//! How long a phase may take before it counts as hung, where its workload sets no `time-limit`.
//! In: a phase and what it takes. Out: seconds: a multiple of what a slow disk would need, never less than ten minutes.
//! Wrong only on the generous side: a phase that is cut off gives no figure at all.

use crate::compile::TIME_LIMIT_NS;
use records::facts::{Estimate, PhaseEstimate};
use records::program::{Group, Order, Over, Phase, Program, SyncMode};

/// A program of the user's own may take so long.
const COMMAND: u64 = 3_600;
/// No phase is ended sooner.
const LEAST: u64 = 600;
/// How many times as long as on a slow disk.
const FACTOR: f64 = 3.0;
/// Operations a second of a disk that has to move its head for each.
const SLOW_SEEKS: f64 = 100.0;
/// Operations a second that need no head, one system call each, where the filesystem is a process that answers each of them.
const SLOW_CALLS: f64 = 10_000.0;
/// Bytes a second of a slow disk.
const SLOW_BYTES: f64 = 20e6;

/// Gives each phase its limit. The program's own, by which series are laid out, holds them all.
pub(crate) fn set(program: &mut Program, estimate: &Estimate) {
    for (phase, part) in program.phases.iter_mut().zip(&estimate.phases) {
        phase.time_limit = seconds(phase, part);
        program.time_limit = program.time_limit.max(phase.time_limit);
    }
}

/// Seconds that a phase may take; 0, which stands for the program's own limit, where nobody knows how much it has to do.
fn seconds(phase: &Phase, part: &PhaseEstimate) -> u64 {
    if phase.groups.iter().any(|group| group.over == Over::Aged) {
        return 0;
    }
    if phase.is_opaque() || phase.groups.iter().any(|group| matches!(group.over, Over::Volume | Over::Space { .. })) {
        return COMMAND;
    }
    let by_blocks = |group: &Group| {
        let blocks = matches!(group.over, Over::Blocks { .. } | Over::Device { .. });
        let at_once = group.io.sync != SyncMode::None || group.io.sync_every.is_some_and(|(_, every)| every < 1000);
        blocks && group.order == Order::InOrder && !group.io.direct && !at_once
    };
    let rate = if phase.groups.iter().all(by_blocks) { SLOW_CALLS } else { SLOW_SEEKS };
    let looks_at_all = phase.groups.iter().any(|group| matches!(group.over, Over::Directories { .. }));
    let items = part.items as f64 + if looks_at_all { part.present_files as f64 } else { 0.0 };
    // What earlier phases left in memory may be written back under this one.
    let bytes = part.bytes_written as f64 + part.bytes_read as f64 + part.present_bytes as f64;
    let paced = phase.groups.iter().filter_map(|group| Some(part.items as f64 / group.rate?.per_second));
    let slow = items / rate + bytes / SLOW_BYTES + part.fixed_ns as f64 / 1e9 + paced.fold(0.0, f64::max);
    ((FACTOR * slow).ceil() as u64).clamp(LEAST, TIME_LIMIT_NS / 1_000_000_000)
}
