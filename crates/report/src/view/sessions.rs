//! When a run was measured: without a pause or in several sessions, and where the machine changed.
//! In: the sessions of its rounds, a view and the choice. Out: [`SessionView`]s, and sentences for the end of the confidence.
//! An interval of one session does not cover other times on the machine; these sentences do.

use super::View;
use crate::Material;
use crate::number::{self, Unit};
use judge::{Confidence, duration};
use records::facts::PER_OPERATION;
use samples::{Change, Sessions};
use serde::Serialize;

/// Rounds of a further session that a sentence proposes, as many as in the simulations of docs/judge.md.
const ROUNDS: u32 = 5;

/// One session of a run.
#[derive(Debug, Clone, Serialize)]
pub struct SessionView {
    /// Its first round, from 0.
    pub block: u32,
    /// Seconds from the first trial of the run to the first of the session, if a pause came before it; absent after a change of the
    /// machine, and for the first session.
    pub after_seconds: Option<f64>,
    /// How the machine changed, a sentence; absent where it did not.
    pub change: Option<String>,
}

/// All sessions.
pub(super) fn views(sessions: &Sessions) -> Vec<SessionView> {
    let pause = |block: u32| sessions.pauses.iter().find(|pause| pause.0 == block).map(|pause| pause.1 as f64 / 1e3);
    let change = |block: u32| sessions.changes.iter().find(|change| change.0 == block).map(changed);
    let view = |&block: &u32| SessionView { block, after_seconds: pause(block), change: change(block) };
    sessions.firsts.iter().map(view).collect()
}

/// The sentences, each after a space; `later`: how many times slower than the best the chosen contender is at most at another time.
pub(super) fn sentences(
    view: &View,
    sessions: &[SessionView],
    found: &Confidence,
    later: Option<f64>,
    open: bool,
) -> String {
    let mut all: Vec<String> = match found.sessions {
        0 | 1 => once(view, later, open).into_iter().collect(),
        several => vec![repeatedly(view, sessions, several, found.between)],
    };
    all.extend(sessions.iter().filter_map(|session| session.change.clone()));
    all.into_iter().map(|sentence| format!(" {sentence}")).collect()
}

/// None for a run that continues, for counts that do not depend on the state of a machine, and if no contender is taken.
fn once(view: &View, later: Option<f64>, open: bool) -> Option<String> {
    let later = later.filter(|later| later.is_finite())?;
    let counts = view.table.operations.iter().any(|operation| operation.unit == PER_OPERATION);
    let (seconds, is_elsewhere) = (view.run.seconds?, view.run.origin.is_some());
    if counts || view.machines.is_some() || view.run.status == "open" {
        return None;
    }
    let then = match number::times(later).as_str() {
        "1" => "at another time on the same machine as good".to_owned(),
        times => format!("at another time on the same machine at most {times}x"),
    };
    let head = format!("Measured in one session ({}); {then}.", duration(seconds));
    // If something is undecided, the next sentence has the same command.
    if open || is_elsewhere {
        return Some(head);
    }
    Some(format!("{head} Later, `{} --samples {}` makes sure.", view.run.resume, view.counts.blocks + ROUNDS))
}

fn repeatedly(view: &View, sessions: &[SessionView], several: usize, between: Option<f64>) -> String {
    let differ = match between {
        Some(share) if share >= 0.005 => format!("; ratios differ by {} between them", number::percent(share)),
        Some(_) => "; ratios differ no more between them than within".into(),
        None => String::new(),
    };
    match sessions.iter().filter_map(|session| session.after_seconds).reduce(f64::max) {
        Some(after) => format!("Measured in {several} sessions, the last {} after the first{differ}.", apart(after)),
        None => {
            let took = view.run.seconds.map(|seconds| format!(" ({})", duration(seconds))).unwrap_or_default();
            format!("Measured in one session{took}, in {several} states of the machine{differ}.")
        }
    }
}

/// "12 min", "5 h", "3 days".
fn apart(seconds: f64) -> String {
    const HOUR: f64 = 3600.0;
    match seconds / HOUR {
        few if few < 1.5 => duration(seconds),
        hours if hours < 47.5 => format!("{hours:.0} h"),
        hours => format!("{:.0} days", hours / 24.0),
    }
}

/// "The machine changed at round 9: reading the raw device in sequence fell from 2.5 to 1.2 GB/s."
fn changed((block, change): &(u32, Change)) -> String {
    format!("The machine changed at round {}: {}.", block + 1, rate_of(change))
}

/// "reading the raw device in sequence fell from 2.5 to 1.2 GB/s"
fn rate_of(change: &Change) -> String {
    let unit = Unit::for_row(change.figure, [change.before, change.after].into_iter());
    let (before, after) = (unit.show(change.before, None), unit.show(change.after, None));
    let verb = if change.after < change.before { "fell" } else { "rose" };
    format!("{} {verb} from {before} to {after} {}", change.doing, unit.sign)
}

/// How the machine changed between two runs, in a sentence; None where no rate proves a change.
pub fn machine_between(first: &Material, second: &Material) -> Option<String> {
    let rates = |of: &Material| samples::rates(&of.run, &of.contenders, &of.trials);
    let found: Vec<String> = samples::differences(&rates(first), &rates(second)).iter().map(rate_of).collect();
    (!found.is_empty()).then(|| format!("The machine was in another state: {}.", found.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::program::Figure;

    #[test]
    fn a_change_is_named_with_its_round_and_rates_and_times_are_short() {
        let doing = "reading the raw device in sequence".to_owned();
        let change = (8, Change { doing, figure: Figure::BytesPerSecond, before: 2.5e9, after: 1.2e9 });
        let text = "The machine changed at round 9: reading the raw device in sequence fell from 2.50 to 1.20 GB/s.";
        assert_eq!(changed(&change), text);
        let back = (8, Change { before: 0.6e9, after: 1.2e9, ..change.1 });
        assert!(changed(&back).contains("rose from 600 to 1200 MB/s"), "{}", changed(&back));
        assert_eq!([700.0, 5.0 * 3600.0, 80.0 * 3600.0].map(apart), ["12 min", "5 h", "3 days"]);
    }
}
