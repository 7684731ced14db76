//! The outcome of a pass over all clients, from the outcome of each.
//! In: each outcome, and the client's clock offset. Out: one outcome as of one engine, including each client's part.
//! Counts are added, latencies are added bucket by bucket, and time runs from the first start to the last end.

use std::collections::{BTreeMap, BTreeSet};
use workload::outcome::{
    ClientOutcome, CpuTime, Errors, GroupOutcome, Histogram, Pace, PhaseOutcome, Series, Together, Verified,
};

/// Errors and wrong blocks that are kept in full.
const KEPT: usize = 16;

/// One client's part.
pub struct Part {
    /// Name of its machine.
    pub host: String,
    /// What its engine counted.
    pub outcome: PhaseOutcome,
    /// Its clock minus the first client's.
    pub offset_ns: i64,
    /// Error bound of that offset.
    pub error_ns: u64,
}

impl Part {
    /// Start time by the first client's clock.
    fn began(&self) -> i64 {
        self.outcome.began_ns.unwrap_or_default() as i64 - self.offset_ns
    }
}

/// Merges all parts.
///
/// # Errors
/// There is no part, or a histogram cannot be read.
pub fn merged(parts: &[Part], gathered_bytes: u64) -> Result<PhaseOutcome, String> {
    let first = parts.iter().map(Part::began).min().ok_or("no client took part")?;
    // Delay of each client after the first start.
    let late: Vec<u64> = parts.iter().map(|part| (part.began() - first) as u64).collect();
    let of = &parts[0].outcome;
    let sum =
        |count: fn(&PhaseOutcome) -> u64| parts.iter().map(|part| count(&part.outcome)).fold(0, u64::wrapping_add);
    let groups = of.groups.iter().enumerate();
    let groups = groups.map(|(index, _)| group(parts, &late, index)).collect::<Result<Vec<_>, String>>()?;
    let durable = parts.iter().zip(&late).map(|(part, late)| Some(part.outcome.durable_ns? + late));
    let lines: BTreeSet<String> = parts.iter().flat_map(|part| part.outcome.remarks.iter().cloned()).collect();
    Ok(PhaseOutcome {
        phase: of.phase,
        pass: of.pass,
        items: sum(|outcome| outcome.items),
        bytes_read: sum(|outcome| outcome.bytes_read),
        bytes_written: sum(|outcome| outcome.bytes_written),
        returned_ns: parts.iter().zip(&late).map(|(part, late)| part.outcome.returned_ns + late).max().unwrap_or(0),
        durable_ns: durable.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max()),
        cpu: CpuTime { user_ns: sum(|outcome| outcome.cpu.user_ns), system_ns: sum(|outcome| outcome.cpu.system_ns) },
        groups,
        series: series(parts),
        errors: errors(parts),
        verified: verified(parts),
        work_hash: sum(|outcome| outcome.work_hash),
        remarks: lines.into_iter().collect(),
        commands: Vec::new(),
        told: BTreeMap::new(),
        began_ns: None,
        together: Some(Box::new(together(parts, &late, gathered_bytes)?)),
        slices_ns: Vec::new(),
    })
}

fn group(parts: &[Part], late: &[u64], index: usize) -> Result<GroupOutcome, String> {
    let of: Vec<(&GroupOutcome, u64)> =
        parts.iter().zip(late).filter_map(|(part, late)| Some((part.outcome.groups.get(index)?, *late))).collect();
    let sum = |count: fn(&GroupOutcome) -> u64| of.iter().map(|(group, _)| count(group)).sum::<u64>();
    let steps: BTreeSet<&String> = of.iter().flat_map(|(group, _)| group.latency.keys()).collect();
    let mut latency = BTreeMap::new();
    for step in steps {
        let each: Vec<&Histogram> = of.iter().filter_map(|(group, _)| group.latency.get(step)).collect();
        latency.extend(engine::merged(each)?.map(|all| (step.clone(), all)));
    }
    Ok(GroupOutcome {
        name: of[0].0.name.clone(),
        items: sum(|group| group.items),
        returned_ns: of.iter().map(|(group, late)| group.returned_ns + late).max().unwrap_or(0),
        bytes_read: sum(|group| group.bytes_read),
        bytes_written: sum(|group| group.bytes_written),
        workers_ns: of.iter().flat_map(|(group, late)| group.workers_ns.iter().map(move |ns| ns + late)).collect(),
        latency,
        lead_ns: of.iter().map(|(group, _)| group.lead_ns).max().unwrap_or(0),
        pace: pace(&of),
    })
}

/// The rate is split among the clients.
fn pace(of: &[(&GroupOutcome, u64)]) -> Option<Pace> {
    let each: Vec<&Pace> = of.iter().filter_map(|(group, _)| group.pace.as_ref()).collect();
    (!each.is_empty()).then(|| Pace {
        asked_per_second: each.iter().map(|pace| pace.asked_per_second).sum(),
        started_per_second: each.iter().map(|pace| pace.started_per_second).sum(),
        late: each.iter().map(|pace| pace.late).sum(),
        saturated: each.iter().any(|pace| pace.saturated),
    })
}

/// Interval by interval; clients begin at the same time within the resolution of an interval.
fn series(parts: &[Part]) -> Option<Series> {
    Series::together(parts.iter().filter_map(|part| part.outcome.series.as_ref()))
}

fn errors(parts: &[Part]) -> Errors {
    let first = parts.iter().flat_map(|part| part.outcome.errors.first.iter().cloned());
    Errors { count: parts.iter().map(|part| part.outcome.errors.count).sum(), first: first.take(KEPT).collect() }
}

fn verified(parts: &[Part]) -> Option<Verified> {
    let each: Vec<(usize, &Verified)> =
        parts.iter().enumerate().filter_map(|(number, part)| Some((number, part.outcome.verified.as_ref()?))).collect();
    let wrong = |(number, verified): &(usize, &Verified)| {
        let number = *number;
        let shown: Vec<String> = verified.first.iter().map(|text| format!("read by client {number}: {text}")).collect();
        shown
    };
    (!each.is_empty()).then(|| Verified {
        blocks: each.iter().map(|(_, verified)| verified.blocks).sum(),
        wrong: each.iter().map(|(_, verified)| verified.wrong).sum(),
        first: each.iter().flat_map(wrong).take(KEPT).collect(),
    })
}

fn together(parts: &[Part], late: &[u64], gathered_bytes: u64) -> Result<Together, String> {
    let done: Vec<u64> = parts.iter().zip(late).map(|(part, late)| part.outcome.returned_ns + late).collect();
    let (skew_ns, first_done_ns) = (max(late), done.iter().copied().min().unwrap_or(0));
    let slowest = done.iter().position(|ns| *ns == max(&done)).unwrap_or(0);
    let (mut items, mut bytes) = (0.0, 0.0);
    for (part, late) in parts.iter().zip(late) {
        // In this client's own time, which began later by its delay.
        let window = (skew_ns.saturating_sub(*late), first_done_ns.saturating_sub(*late));
        let (own_items, own_bytes) = within(&part.outcome, window);
        items += own_items;
        bytes += own_bytes;
    }
    Ok(Together {
        skew_ns,
        clock_error_ns: parts.iter().map(|part| part.error_ns).max().unwrap_or(0),
        first_done_ns,
        last_done_ns: max(&done),
        slowest: slowest as u32,
        all_at_work_ns: first_done_ns.saturating_sub(skew_ns),
        all_at_work_items: items,
        all_at_work_bytes: bytes,
        gathered_bytes,
        clients: parts.iter().zip(late).map(|(part, late)| client(part, *late)).collect::<Result<_, _>>()?,
    })
}

fn client(part: &Part, late: u64) -> Result<ClientOutcome, String> {
    let of = &part.outcome;
    let latency = of.groups.iter().map(|group| group.latency.get("item").map(engine::percentiles).transpose());
    Ok(ClientOutcome {
        host: part.host.clone(),
        began_ns: late,
        returned_ns: of.returned_ns + late,
        durable_ns: of.durable_ns.map(|ns| ns + late),
        items: of.items,
        bytes_read: of.bytes_read,
        bytes_written: of.bytes_written,
        latency: latency.collect::<Result<_, _>>()?,
    })
}

fn max(of: &[u64]) -> u64 {
    of.iter().copied().max().unwrap_or(0)
}

/// Items and bytes of one client between two moments of its pass. Uses its series, evenly within an interval; work beyond the series, or of
/// a pass without one, is spread evenly over its time.
fn within(outcome: &PhaseOutcome, (from, to): (u64, u64)) -> (f64, f64) {
    let bytes = outcome.bytes_read + outcome.bytes_written;
    let whole = (outcome.items as f64, bytes as f64);
    let evenly = |(begin, end): (u64, u64), (items, bytes): (f64, f64)| {
        let share = overlap((begin, end), (from, to)) / (end.saturating_sub(begin)).max(1) as f64;
        (items * share, bytes * share)
    };
    let Some(series) = &outcome.series else { return evenly((0, outcome.returned_ns), whole) };
    let (mut sum, mut left) = ((0.0, 0.0), whole);
    let intervals = series.items.iter().zip(&series.bytes).enumerate();
    for (at, (items, bytes)) in intervals {
        let begin = at as u64 * series.interval_ns;
        let end = (begin + series.interval_ns).min(outcome.returned_ns.max(begin + 1));
        let own = evenly((begin, end), (*items as f64, *bytes as f64));
        sum = (sum.0 + own.0, sum.1 + own.1);
        left = (left.0 - *items as f64, left.1 - *bytes as f64);
    }
    let covered = series.items.len() as u64 * series.interval_ns;
    if covered < outcome.returned_ns {
        let own = evenly((covered, outcome.returned_ns), (left.0.max(0.0), left.1.max(0.0)));
        sum = (sum.0 + own.0, sum.1 + own.1);
    }
    sum
}

/// Overlap of two spans in nanoseconds.
fn overlap(a: (u64, u64), b: (u64, u64)) -> f64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that began at `began` by its own clock and did `items` in `seconds`.
    fn part(began: u64, offset_ns: i64, items: u64, seconds: u64) -> Part {
        let returned_ns = seconds * 1_000_000_000;
        let group = GroupOutcome {
            name: "all".into(),
            items,
            returned_ns,
            bytes_read: 0,
            bytes_written: items * 10,
            workers_ns: vec![returned_ns],
            latency: BTreeMap::new(),
            lead_ns: 0,
            pace: None,
        };
        let outcome = PhaseOutcome {
            items,
            bytes_written: items * 10,
            returned_ns,
            durable_ns: Some(returned_ns + 500),
            groups: vec![group],
            verified: Some(Verified { blocks: items, wrong: 0, first: Vec::new() }),
            began_ns: Some(began),
            work_hash: u64::MAX,
            ..PhaseOutcome::default()
        };
        Part { host: "a".into(), outcome, offset_ns, error_ns: 7 }
    }

    #[test]
    fn time_runs_from_the_first_start_to_the_last_end_by_the_first_clock() {
        // The second clock is 1000 s ahead, and its client began 2 us later.
        let parts = [part(5_000_000, 0, 100, 4), part(1_000_005_002_000, 1_000_000_000_000, 300, 3)];
        let all = merged(&parts, 42).expect("merged");
        let together = all.together.as_deref().expect("clients");
        assert_eq!((together.skew_ns, together.clock_error_ns, together.gathered_bytes), (2_000, 7, 42));
        assert_eq!((all.items, all.bytes_written, all.returned_ns), (400, 4_000, 4_000_000_000));
        assert_eq!(all.durable_ns, Some(4_000_000_500));
        assert_eq!(
            (together.first_done_ns, together.last_done_ns, together.slowest),
            (3_000_002_000, 4_000_000_000, 0)
        );
        assert_eq!(all.groups[0].workers_ns, [4_000_000_000, 3_000_002_000]);
        assert_eq!(all.work_hash, u64::MAX.wrapping_mul(2));
        assert_eq!(all.verified.expect("verified").blocks, 400);
        assert_eq!(together.clients[1].began_ns, 2_000);
    }

    #[test]
    fn while_all_were_at_work_counts_what_each_did_then() {
        let parts = [part(0, 0, 100, 4), part(0, 0, 100, 2)];
        let all = merged(&parts, 0).expect("merged").together.expect("clients");
        assert_eq!(all.all_at_work_ns, 2_000_000_000);
        assert!((all.all_at_work_items - 150.0).abs() < 1e-6, "{}", all.all_at_work_items);
        // By its series the first client did nearly all items in its first half.
        let mut uneven = part(0, 0, 100, 4);
        let series = Series {
            interval_ns: 1_000_000_000,
            items: vec![40, 50, 5, 5],
            bytes: vec![400, 500, 50, 50],
            calls: Vec::new(),
            calls_ns: Vec::new(),
            longest_ns: Vec::new(),
        };
        uneven.outcome.series = Some(series);
        let all = merged(&[uneven, part(0, 0, 100, 2)], 0).expect("merged").together.expect("clients");
        assert!((all.all_at_work_items - 190.0).abs() < 1e-6, "{}", all.all_at_work_items);
        assert!((all.all_at_work_bytes - 1900.0).abs() < 1e-6);
    }

    #[test]
    fn nothing_is_durable_unless_all_of_it_is() {
        let mut other = part(0, 0, 1, 1);
        other.outcome.durable_ns = None;
        assert_eq!(merged(&[part(0, 0, 1, 1), other], 0).expect("merged").durable_ns, None);
        assert!(merged(&[], 0).is_err());
    }
}
