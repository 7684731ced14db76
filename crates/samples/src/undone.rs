//! Work that a trial could not do at all, although it continued: the device is full, or the filesystem does not support it.
//! In: a trial and the facts of a phase. Out: why there is no figure, in words; `None` if there is a basis for one.
//! The time of work that failed, or that had no data to work on, is not a result.

use crate::figures;
use records::facts::PhaseFacts;
use records::program::Figure;
use records::{PhaseRecord, TrialRecord};

/// Why a trial could do nothing of a phase.
pub fn undone(trial: &TrialRecord, facts: &PhaseFacts) -> Option<String> {
    of_phase(trial, &facts.name).or_else(|| without_ground(trial, facts)).or_else(|| nothing_there(trial, facts))
}

/// The judged figure of a pass; none if nothing could be done.
pub fn judged(trial: &TrialRecord, phase: &PhaseRecord, facts: &PhaseFacts) -> Option<f64> {
    let value = figures::headline(phase, facts)?;
    undone(trial, facts).is_none().then_some(value)
}

/// The same for the phase itself only.
pub fn of_phase(trial: &TrialRecord, name: &str) -> Option<String> {
    let cannot = trial.found.as_ref().and_then(|found| found.cannot.get(name)).cloned();
    cannot.or_else(|| all_failed(trial, name))
}

fn passes<'a>(trial: &'a TrialRecord, name: &'a str) -> impl Iterator<Item = &'a PhaseRecord> {
    trial.phases.iter().filter(move |phase| phase.name == name && phase.counts())
}

/// The system's error if each operation failed and errors were tolerated.
fn all_failed(trial: &TrialRecord, name: &str) -> Option<String> {
    let in_vain = |pass: &PhaseRecord| pass.outcome.items == 0 && pass.outcome.errors.count > 0;
    let mut all = passes(trial, name).peekable();
    let errors = &all.peek()?.outcome.errors;
    let first = errors.first.first()?;
    all.all(in_vain).then(|| {
        format!("{} operations failed, the first: {} of {}: {}", errors.count, first.step, first.file, first.message)
    })
}

/// The phase that should have made the data of this one, if nothing was done in it.
fn without_ground(trial: &TrialRecord, facts: &PhaseFacts) -> Option<String> {
    let failed = |name: &&String| all_failed(trial, name).is_some();
    let needed = facts.needs.iter().find(failed)?;
    Some(format!("there was nothing to work on: all of `{needed}` failed"))
}

/// A rate over no work.
fn nothing_there(trial: &TrialRecord, facts: &PhaseFacts) -> Option<String> {
    let is_rate = matches!(facts.figure, Figure::ItemsPerSecond | Figure::BytesPerSecond);
    let mut all = passes(trial, &facts.name).peekable();
    // Imported results may count bytes without items.
    let is_empty = |pass: &PhaseRecord| {
        let outcome = &pass.outcome;
        outcome.items == 0 && outcome.bytes_read == 0 && outcome.bytes_written == 0
    };
    (is_rate && facts.own.is_none() && all.peek().is_some() && all.all(is_empty))
        .then(|| "there was nothing to work on".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::outcome::{Errors, OperationError, PhaseOutcome};
    use records::program::Cache;

    fn facts(name: &str, figure: Figure, needs: &[&str]) -> PhaseFacts {
        let needs = needs.iter().map(|name| (*name).to_owned()).collect();
        PhaseFacts { name: name.into(), figure, needs, ..PhaseFacts::default() }
    }

    fn pass(name: &str, items: u64, errors: u64) -> PhaseRecord {
        let (step, file, message) = ("write".into(), "small/1".into(), "No space left on device".into());
        let first = OperationError { step, file, offset: None, errno: 28, message };
        let errors = Errors { count: errors, first: if errors > 0 { vec![first] } else { vec![] } };
        let outcome = PhaseOutcome { items, errors, returned_ns: 1_000_000, ..PhaseOutcome::default() };
        PhaseRecord::new(name, Cache::AsFound, Figure::ItemsPerSecond, outcome)
    }

    fn trial(phases: Vec<PhaseRecord>) -> TrialRecord {
        TrialRecord { phases, ..TrialRecord::begun((0, 0), 0, "nearly-full", "quick") }
    }

    #[test]
    fn a_phase_that_failed_completely_has_no_figure_nor_has_a_phase_that_needs_it() {
        let full = trial(vec![pass("create", 0, 50), pass("delete", 50, 0)]);
        let create = facts("create", Figure::ItemsPerSecond, &[]);
        let delete = facts("delete", Figure::ItemsPerSecond, &["create"]);
        assert!(
            undone(&full, &create)
                .expect("all failed")
                .starts_with("50 operations failed, the first: write of small/1: No space")
        );
        assert!(undone(&full, &delete).expect("only what was left of them").contains("all of `create` failed"));
        assert_eq!(judged(&full, &full.phases[1], &delete), None);
        let timed = facts("create", Figure::Seconds, &[]);
        assert!(undone(&full, &timed).is_some(), "failing takes time, too");

        let part = trial(vec![pass("create", 20, 30), pass("delete", 50, 0)]);
        assert_eq!((undone(&part, &create), undone(&part, &delete)), (None, None), "some of it was done");
        assert!(judged(&part, &part.phases[1], &delete).is_some());
    }

    #[test]
    fn a_rate_of_nothing_has_a_reason_and_an_absent_phase_has_none() {
        let rate = facts("read", Figure::BytesPerSecond, &[]);
        assert!(undone(&trial(vec![pass("read", 0, 0)]), &rate).expect("why").contains("nothing to work on"));
        assert_eq!(undone(&trial(vec![pass("read", 0, 0)]), &facts("read", Figure::Seconds, &[])), None);
        assert_eq!(undone(&trial(vec![]), &rate), None);
    }
}
