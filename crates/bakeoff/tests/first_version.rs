//! Runs that version 0.1 started can be resumed by this version.

#[path = "../../../tests/earlier.rs"]
mod earlier;
mod support;

use earlier::Earlier;
use ledger::{Access, Ledger, RunStatus, TrialRecord, TrialStatus};
use support::{Place, root};

/// The trials of a ledger, and whether its run finished.
fn trials(path: &std::path::Path) -> (Vec<TrialRecord>, bool) {
    let ledger = Ledger::open(path, Access::Read).expect("it opens");
    let run = ledger.run(None).expect("a run");
    (ledger.trials(&run.id).expect("trials"), run.status == RunStatus::Finished)
}

/// Resumes a run of version 0.1; returns its trials before and after.
fn resumed(name: &str, words: &str) -> (Vec<TrialRecord>, Vec<TrialRecord>) {
    let earlier = Earlier::ledger(name);
    let (before, _) = trials(&earlier.path);
    let ledger = earlier.path.display();
    Place::new().bakeoff(&format!("--ledger {ledger} resume --plain --no-report {words}")).well();
    let (after, finished) = trials(&earlier.path);
    assert!(finished, "{name}");
    assert_eq!(after[..before.len()], before, "{name}: what was measured stays");
    (before, after)
}

#[test]
fn a_run_in_a_directory_gets_another_block() {
    let (before, after) = resumed("directory", "--samples 3");
    assert_eq!(before.len(), 2);
    // A disturbed trial is repeated.
    let last = after.last().expect("a trial");
    assert_eq!((last.block, last.status != TrialStatus::Failed), (2, true), "{:?}", last.reason);
}

#[test]
fn a_run_that_was_stopped_goes_on_where_it_stood() {
    if !root("a resumed run on images") {
        return;
    }
    let (_, after) = resumed("interrupted", "");
    let carried_out: std::collections::BTreeSet<(u32, u32)> =
        after.iter().map(|trial| (trial.block, trial.contender)).collect();
    assert_eq!(carried_out.len(), 12, "three blocks of three contenders and a second entry");
}
