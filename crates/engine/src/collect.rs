//! The outcome of a pass, from its workers' shared memory.
//! In: a pass that has ended, normally or not. Out: `workload::outcome::PhaseOutcome`.
//! Values that were not measured are absent.

use crate::histogram::Merged;
use crate::ops::Ops;
use crate::phase::Pass;
use crate::shared::{Common, Count, INTERVAL_NS, Note, Slot};
use crate::tally::ERRORS_KEPT;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use workload::outcome::{
    CommandRun, CpuTime, Errors, GroupOutcome, Histogram, OperationError, Pace, PhaseOutcome, Series, Verified,
};
use workload::program::Group;

/// Share of late operations above which a rate counts as not sustained.
const SATURATED: f64 = 0.01;

/// A clock that differs from the kernel's by more than this share is reported.
const CLOCK_ERROR: f64 = 1e-3;

fn slots<'a>(pass: &'a Pass) -> impl Iterator<Item = Slot<'a>> {
    (0..pass.workers() as usize).map(|w| pass.shared.slot(w))
}

fn sum(pass: &Pass, count: Count) -> u64 {
    slots(pass).map(|s| s.get(count)).fold(0, u64::wrapping_add)
}

/// When counting began: the common start, or the end of the ramp.
pub fn begin(pass: &Pass) -> u64 {
    earliest(slots(pass)).unwrap_or_else(|| pass.shared.common(Common::Start).load(Relaxed))
}

/// Workers that never started have no begin time.
fn earliest<'a>(slots: impl Iterator<Item = Slot<'a>>) -> Option<u64> {
    slots.map(|s| s.get(Count::Begin)).filter(|begin| *begin > 0).min()
}

/// The complete outcome of a pass.
pub fn outcome(pass: &Pass, durable_ns: Option<u64>) -> PhaseOutcome {
    let mut groups = Vec::new();
    let mut first = 0;
    for group in &pass.of_phase().groups {
        groups.push(group_outcome(pass, group, first));
        first += pass.own(group) as usize;
    }
    let returned_ns = groups.iter().map(|g| g.returned_ns).max().unwrap_or(0);
    groups.extend(parts(pass, returned_ns));
    PhaseOutcome {
        phase: pass.phase,
        pass: pass.pass,
        items: sum(pass, Count::Items),
        bytes_read: sum(pass, Count::Read),
        bytes_written: sum(pass, Count::Written),
        returned_ns,
        durable_ns,
        cpu: CpuTime { user_ns: sum_cpu(pass, Count::User), system_ns: sum_cpu(pass, Count::System) },
        groups,
        series: series(pass),
        errors: errors(pass),
        verified: verified(pass),
        work_hash: sum(pass, Count::Hash),
        remarks: remarks(pass),
        commands: commands(pass),
        told: noted(pass, |note| if let Note::Told(word, value) = note { Some((word, value)) } else { None }).collect(),
        began_ns: None,
        together: None,
        slices_ns: pass.slice_ns.clone(),
    }
}

/// A killed worker leaves a negative start value; it is left out.
fn sum_cpu(pass: &Pass, count: Count) -> u64 {
    slots(pass).filter(|s| s.get(Count::Finished) == 1).map(|s| s.get(count)).sum()
}

fn group_outcome(pass: &Pass, group: &Group, first: usize) -> GroupOutcome {
    let slots: Vec<Slot> = (first..first + pass.own(group) as usize).map(|w| pass.shared.slot(w)).collect();
    let total = |count: Count| slots.iter().map(|s| s.get(count)).sum::<u64>();
    let begin = earliest(slots.iter().copied()).unwrap_or_else(|| begin(pass));
    let workers_ns: Vec<u64> = slots.iter().map(|s| s.get(Count::End).saturating_sub(begin)).collect();
    let returned_ns = workers_ns.iter().copied().max().unwrap_or(0);
    GroupOutcome {
        name: group.name.clone(),
        items: total(Count::Items),
        returned_ns,
        bytes_read: total(Count::Read),
        bytes_written: total(Count::Written),
        workers_ns,
        latency: latency(group, &slots),
        lead_ns: 0,
        pace: pace(group, &slots, returned_ns),
    }
}

fn latency(group: &Group, slots: &[Slot]) -> BTreeMap<String, Histogram> {
    let ops = Ops::new(group);
    let merged = |number: usize| {
        let mut merged = Merged::new();
        slots.iter().for_each(|s| merged.add(s.histogram(number)));
        merged.finish()
    };
    let mut latency: BTreeMap<String, Histogram> = ops
        .histograms
        .iter()
        .enumerate()
        .filter_map(|(number, name)| Some(((*name).to_owned(), merged(number)?)))
        .collect();
    if ops.item.is_none()
        && let Some(only) = ops.list.first().and_then(|op| latency.get(op.name)).cloned()
    {
        latency.insert("item".into(), only);
    }
    latency
}

fn pace(group: &Group, slots: &[Slot], returned_ns: u64) -> Option<Pace> {
    let rate = group.rate?;
    let total = |count: Count| slots.iter().map(|s| s.get(count)).sum::<u64>();
    let (late, started) = (total(Count::Late), total(Count::Started));
    if started == 0 || returned_ns == 0 {
        return None;
    }
    Some(Pace {
        asked_per_second: rate.per_second,
        started_per_second: started as f64 * 1e9 / returned_ns as f64,
        late,
        saturated: late as f64 > SATURATED * started as f64,
    })
}

fn series(pass: &Pass) -> Option<Series> {
    let each: Vec<Series> = slots(pass).filter_map(series_of).collect();
    Series::together(each.iter())
}

/// The series of one worker.
fn series_of(slot: Slot<'_>) -> Option<Series> {
    let filled = slot.get(Count::Intervals) as usize;
    let word = |place: usize| {
        let intervals = (0..filled).map_while(|number| slot.interval(number));
        intervals.map(|words| words[place].load(Relaxed)).collect()
    };
    let [items, bytes, calls, calls_ns, longest_ns] = std::array::from_fn(word);
    let interval_ns = INTERVAL_NS << slot.get(Count::Doublings);
    (filled > 0).then_some(Series { interval_ns, items, bytes, calls, calls_ns, longest_ns })
}

fn commands(pass: &Pass) -> Vec<CommandRun> {
    noted(pass, |note| if let Note::Ran(run) = note { Some(*run) } else { None }).collect()
}

/// Parts that programs reported. They report durations but not start times, so the time before the longest part counts as lead time.
fn parts(pass: &Pass, returned_ns: u64) -> Vec<GroupOutcome> {
    let parts = noted(pass, |note| if let Note::Part(part) = note { Some(*part) } else { None });
    let mut parts: Vec<GroupOutcome> = parts.collect();
    let longest = parts.iter().map(|part| part.returned_ns).max().unwrap_or(0);
    parts.iter_mut().for_each(|part| part.lead_ns = returned_ns.saturating_sub(longest));
    parts
}

/// Workers' notes of one kind.
fn noted<T>(pass: &Pass, pick: impl Fn(Note) -> Option<T>) -> impl Iterator<Item = T> {
    slots(pass).flat_map(|slot| slot.notes()).filter_map(pick)
}

/// Failed operations.
pub fn errors(pass: &Pass) -> Errors {
    let first = noted(pass, |note| if let Note::Error(error) = note { Some(error) } else { None });
    Errors {
        count: pass.shared.common(Common::Errors).load(Relaxed),
        first: first.take(ERRORS_KEPT as usize).collect(),
    }
}

/// One failed operation as a sentence.
pub fn sentence(error: &OperationError) -> String {
    let place = error.offset.map_or(String::new(), |offset| format!(" at offset {offset}"));
    format!("{} of {}{place}: {}", error.step, error.file, error.message)
}

fn verified(pass: &Pass) -> Option<Verified> {
    let verifies =
        pass.of_phase().groups.iter().filter_map(|g| g.over.content()).any(|f| pass.program.filesets[f].content.verify);
    let (blocks, wrong) = (sum(pass, Count::Checked), sum(pass, Count::Wrong));
    let first = noted(pass, |note| if let Note::Wrong(text) = note { Some(text) } else { None });
    verifies.then(|| Verified { blocks, wrong, first: first.take(ERRORS_KEPT as usize).collect() })
}

fn remarks(pass: &Pass) -> Vec<String> {
    let mut lines: BTreeSet<String> =
        noted(pass, |note| if let Note::Remark(text) = note { Some(text) } else { None }).collect();
    let start = pass.shared.common(Common::Start).load(Relaxed);
    let error = pass.clock.error_since(start);
    // Below a tenth of a second the two readings themselves are a share of that size.
    if error > CLOCK_ERROR && pass.clock.now().saturating_sub(start) > 100_000_000 {
        lines.insert(format!(
            "the processor's clock differed by {:.2} % from the kernel's; the latencies are off by as much",
            error * 100.0
        ));
    }
    lines.into_iter().collect()
}
