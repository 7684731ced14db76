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
    counts(added, 0.5, format!("recording took {:.0} % of the time, and how much of it is an estimate", 100.0 * added));
    if !header.think_on_processor {
        counts(1.0, 0.2, "strace does not show whether a thread computes or waits between its calls".into());
    }
    let hand_overs = share(waits(trace) as f64 * HAND_OVER);
    counts(hand_overs, 0.5, format!("threads and processes wait for each other {} times", waits(trace)));
    let clock = share(paced(trace) as f64);
    counts(
        clock,
        0.15,
        format!("a thread that sleeps by its own clock for {:.0} % of the time wakes others", 100.0 * clock),
    );
    if !header.unseen.is_empty() {
        counts(1.0, 0.2, "not all of its work is replayed (see above)".into());
    }
    Expected { percent: percent.round() as u32, reasons }
}

/// How often a thread waits for the action of another.
fn waits(trace: &Trace) -> usize {
    trace.actions.iter().filter(|action| action.call == Call::Wait && !action.after.is_empty()).count()
}

/// Most nanoseconds that a thread sleeps by its own clock, among the threads for which others wait.
fn paced(trace: &Trace) -> u64 {
    let mut slept: HashMap<u32, u64> = HashMap::new();
    let mut paces: HashMap<u32, u64> = HashMap::new();
    for action in &trace.actions {
        if let Call::Sleep(Sleep { ns, wakes: false }) = action.call {
            *slept.entry(action.thread).or_default() += ns;
        }
        for other in &action.after {
            let by = trace.actions[*other as usize].thread;
            paces.insert(by, slept.get(&by).copied().unwrap_or(0));
        }
    }
    paces.into_values().max().unwrap_or(0)
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
