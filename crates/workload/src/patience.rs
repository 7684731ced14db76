//! Time after which a phase counts as hung, if its workload sets no `time-limit`.
//! In: a phase and its estimate. Out: seconds: a multiple of the time on a slow disk, never less than ten minutes.
//! Errs on the generous side: a phase that is cut off gives no figure.

use crate::compile::TIME_LIMIT_NS;
use records::facts::{Estimate, PhaseEstimate};
use records::program::{Group, Order, Over, Phase, Program, SyncMode};

/// Limit for a user's own program.
const COMMAND: u64 = 3_600;
/// Shortest limit of a phase.
const LEAST: u64 = 600;
/// Factor on the time of a slow disk.
const FACTOR: f64 = 3.0;
/// Operations per second of a disk that seeks for each.
const SLOW_SEEKS: f64 = 100.0;
/// Operations per second without seeks, one system call each, on a filesystem in user space that handles each of them.
const SLOW_CALLS: f64 = 10_000.0;
/// Bytes a second of a slow disk.
const SLOW_BYTES: f64 = 20e6;

/// Sets the limit of each phase. The program's own, which sizes the series, is at least as long.
pub(crate) fn set(program: &mut Program, estimate: &Estimate) {
    for (phase, part) in program.phases.iter_mut().zip(&estimate.phases) {
        phase.time_limit = seconds(phase, part);
        program.time_limit = program.time_limit.max(phase.time_limit);
    }
}

/// Time limit of a phase in seconds; 0, the program's own limit, if the amount of work is unknown.
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
    // Dirty data of earlier phases may be written back during this one.
    let bytes = part.bytes_written as f64 + part.bytes_read as f64 + part.present_bytes as f64;
    let paced = phase.groups.iter().filter_map(|group| Some(part.items as f64 / group.rate?.per_second));
    let slow = items / rate + bytes / SLOW_BYTES + part.fixed_ns as f64 / 1e9 + paced.fold(0.0, f64::max);
    ((FACTOR * slow).ceil() as u64).clamp(LEAST, TIME_LIMIT_NS / 1_000_000_000)
}
