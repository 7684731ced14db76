//! How far the time of a replay may be from that of the program, and why.
//! In: a trace. Out: a percentage and its reasons. The numbers come from `scripts/replay-error` (docs/own-work.md, "How far a replay can be trusted").

use crate::trace::{Call, Sleep, Trace};
use std::collections::HashMap;

/// Percent of the program's time by which replays of ordinary programs differ.
const ORDINARY: f64 = 10.0;
/// A smaller share of the program's time is not worth mentioning.
const WORTH: f64 = 0.2;
/// Nanoseconds of a hand-over between threads: a wake-up, and the start of the other thread.
const HAND_OVER: f64 = 5_000.0;

/// What to expect of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Percent of the program's time by which that of the replay may differ, on the filesystem of the recording.
    pub percent: u32,
    /// What makes it more than usual, each in a clause.
    pub reasons: Vec<String>,
}

/// What to expect of a replay of this trace.
pub fn expected(trace: &Trace) -> Expected {
    let header = &trace.header;
    let elapsed = header.elapsed_ns.max(1) as f64;
    let share = |ns: f64| (ns / elapsed).min(1.0);
    let (mut percent, mut reasons) = (ORDINARY, Vec::new());
    let mut counts = |share: f64, weight: f64, reason: String| {
        if share > WORTH {
            percent += 100.0 * weight * share;
            reasons.push(reason);
        }
    };
    let added = share(header.overhead.in_all_ns() as f64);
    counts(
        added,
        0.5,
        format!("recording took about {:.0} % of the time, which is estimated and left out", 100.0 * added),
    );
    if !header.think_on_processor {
        counts(1.0, 0.2, "strace does not show whether a thread computes or waits between its calls".into());
    }
    let waits = waits(trace);
    let hand_overs = share(waits as f64 * HAND_OVER);
    counts(hand_overs, 0.5, format!("threads and processes wait for each other {waits} times"));
    let syncs = if hand_overs > WORTH { share(synced(trace) as f64) } else { 0.0 };
    counts(
        syncs,
        1.0,
        "its syncs collect the work of others: a replay makes as many as were recorded, however long they take".into(),
    );
    let clock = paced(trace);
    let [working, timer] = [clock.working, clock.timer].map(|ns| share(ns as f64));
    counts(
        working,
        1.0,
        format!("a thread that works on files sleeps by its own clock for {:.0} % of the time", 100.0 * working),
    );
    counts(timer, 0.15, format!("a timer that sleeps for {:.0} % of the time wakes others", 100.0 * timer));
    if !header.unseen.is_empty() {
        counts(1.0, 0.2, "not all of its work is replayed (see above)".into());
    }
    Expected { percent: percent.round() as u32, reasons }
}

/// How often a thread waits for the action of another.
fn waits(trace: &Trace) -> usize {
    trace.actions.iter().filter(|action| action.call == Call::Wait && !action.after.is_empty()).count()
}

/// Most nanoseconds that a thread spends in calls that make data durable.
fn synced(trace: &Trace) -> u64 {
    let mut threads: HashMap<u32, u64> = HashMap::new();
    for action in trace.actions.iter().filter(|action| matches!(action.call.name(), "fsync" | "fdatasync" | "sync")) {
        *threads.entry(action.thread).or_default() += action.took_ns;
    }
    threads.into_values().max().unwrap_or(0)
}

/// Nanoseconds of sleep by threads' own clocks: the most of a thread that works on files, and of another for which threads wait.
#[derive(Default)]
struct Paced {
    working: u64,
    timer: u64,
}

fn paced(trace: &Trace) -> Paced {
    #[derive(Default)]
    struct Seen {
        slept: u64,
        /// What it slept until the last action for which others wait.
        paces: u64,
        works: bool,
    }
    let mut threads: HashMap<u32, Seen> = HashMap::new();
    for action in &trace.actions {
        let thread = threads.entry(action.thread).or_default();
        match action.call {
            Call::Sleep(Sleep { ns, wakes: false }) => thread.slept += ns,
            Call::Sleep(_) | Call::Start { .. } | Call::Tell | Call::Wait => {}
            _ => thread.works = true,
        }
        for other in &action.after {
            let by = threads.entry(trace.actions[*other as usize].thread).or_default();
            by.paces = by.slept;
        }
    }
    threads.into_values().fold(Paced::default(), |most, thread| match thread.works {
        true => Paced { working: most.working.max(thread.slept), ..most },
        false => Paced { timer: most.timer.max(thread.paces), ..most },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Action, Header, Overhead};

    fn action(thread: u32, call: Call, after: &[u32]) -> Action {
        Action { thread, think_ns: 0, took_ns: 0, result: 0, call, after: after.into() }
    }

    fn trace(actions: Vec<Action>) -> Trace {
        let header = Header { elapsed_ns: 1_000_000, think_on_processor: true, ..Header::default() };
        Trace { header, tree: Vec::new(), actions }
    }

    #[test]
    fn an_ordinary_program_has_no_reasons() {
        assert_eq!(expected(&trace(vec![action(0, Call::Tell, &[])])), Expected { percent: 10, reasons: Vec::new() });
    }

    #[test]
    fn each_reason_makes_the_error_larger() {
        let sleep = action(0, Call::Sleep(Sleep { ns: 800_000, wakes: false }), &[]);
        let paced = trace(vec![sleep.clone(), action(0, Call::Tell, &[]), action(1, Call::Wait, &[1])]);
        assert_eq!((expected(&paced).percent, expected(&paced).reasons.len()), (22, 1));
        let works = trace(vec![action(0, Call::Sync, &[]), sleep.clone()]);
        assert_eq!(expected(&works).percent, 90);
        let sync = Action { took_ns: 500_000, ..action(0, Call::Fdatasync { handle: 0 }, &[]) };
        let mut commits = vec![action(0, Call::Tell, &[]), sync];
        commits.extend((0..100).map(|_| action(1, Call::Wait, &[0])));
        assert_eq!((expected(&trace(commits.clone())).percent, expected(&trace(commits)).reasons.len()), (85, 2));
        let unheard = trace(vec![action(0, Call::Tell, &[]), action(1, Call::Wait, &[0]), sleep]);
        assert!(expected(&unheard).reasons.is_empty(), "{:?}", expected(&unheard));
        let mut slow = trace(Vec::new());
        slow.header.overhead = Overhead { calls: 100, between_ns: 4000, ..Overhead::default() };
        assert_eq!(expected(&slow).percent, 30);
        slow.header.think_on_processor = false;
        slow.header.unseen = vec!["writes through shared mappings: 3 times".into()];
        assert_eq!((expected(&slow).percent, expected(&slow).reasons.len()), (70, 3));
    }
}
