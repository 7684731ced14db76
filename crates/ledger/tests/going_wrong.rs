//! A ledger under external problems: clocks that are set, files that are removed, contenders with temporary failures.

use ledger::{Access, Cause, ContenderRecord, Ledger, NewRun, Origin, TrialRecord};
use std::fs;
use std::path::PathBuf;

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a scratch folder") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("bakeoff.db")
    }

    fn writer(&self) -> Ledger {
        Ledger::open(&self.path(), Access::Write).expect("a fresh ledger opens")
    }
}

fn new_run() -> NewRun {
    NewRun {
        title: "ext4 and xfs on an image".into(),
        plan: None,
        seed: 7,
        machine: None,
        merged: None,
        version: "0.1.0".into(),
        command_line: vec!["bakeoff".into(), "run".into()],
        origin: Origin::Measured,
        works: vec![],
    }
}

fn contenders() -> Vec<ContenderRecord> {
    let record = |(index, label): (usize, &str)| ContenderRecord {
        index: index as u32,
        label: label.into(),
        asked: None,
        twin_of: None,
        error: None,
        cause: None,
    };
    ["ext4", "xfs"].into_iter().enumerate().map(record).collect()
}

fn trial(block: u32, contender: u32) -> TrialRecord {
    TrialRecord {
        began_ms: 1,
        ended_ms: 2,
        ..TrialRecord::begun((block, contender), contender, "small-files", "quick")
    }
}

#[test]
fn the_duration_of_a_trial_is_by_the_steady_clock_and_never_negative() {
    let of = |seconds, began_ms, ended_ms| TrialRecord { seconds, began_ms, ended_ms, ..trial(0, 0) }.took();
    assert_eq!(of(Some(2.5), 9_000_000, 1), 2.5, "whatever the wall clock did");
    assert_eq!(of(None, 1_000, 3_500), 2.5, "an older ledger has the wall clock only");
    assert_eq!(of(None, 9_000_000, 1), 0.0, "set back");
    assert!(of(None, 0, i64::MAX) < 30.0 * 86_400.0, "set forward");
    assert_eq!(of(Some(f64::NAN), 0, 1), 0.0);
}

#[test]
fn a_ledger_from_before_durations_were_kept_is_brought_up_to_date() {
    let scratch = Scratch::new();
    let mut ledger = scratch.writer();
    let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
    let seconds = Some(0.5);
    ledger.keep_trial(&run, &TrialRecord { seconds, cause: Some(Cause::Passing), ..trial(0, 0) }).expect("kept");
    drop(ledger);
    rusqlite::Connection::open(scratch.path())
        .and_then(|old| {
            old.execute_batch(
                "ALTER TABLE trials DROP COLUMN seconds; ALTER TABLE trials DROP COLUMN cause;
                 ALTER TABLE contenders DROP COLUMN cause; ALTER TABLE runs DROP COLUMN seconds;
                 PRAGMA user_version = 2;",
            )
        })
        .expect("made old");
    assert_eq!(scratch.writer().trials(&run).expect("read"), [trial(0, 0)]);
}

#[test]
fn a_contender_whose_error_passes_takes_part_again_and_more_blocks_try_all_but_those_whose_error_lasts() {
    let scratch = Scratch::new();
    let mut ledger = scratch.writer();
    let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
    ledger.set_contender_error(&run, 0, "no space", Cause::Passing).expect("noted");
    ledger.set_contender_error(&run, 1, "status 1", Cause::Unclear).expect("noted");
    let errors = |ledger: &Ledger| -> Vec<Option<Cause>> {
        ledger.contenders(&run).expect("read").iter().map(|contender| contender.cause).collect()
    };
    ledger.readmit(&run).expect("readmitted");
    assert_eq!(errors(&ledger), [None, Some(Cause::Unclear)]);
    ledger.set_contender_error(&run, 0, "no such option", Cause::Lasting).expect("noted");
    ledger.reopen(&run, &new_run()).expect("reopened");
    assert_eq!(errors(&ledger), [Some(Cause::Lasting), None]);
}

#[test]
fn a_ledger_that_was_removed_or_replaced_takes_nothing_more_and_what_it_held_can_be_saved() {
    for replaced in [false, true] {
        let scratch = Scratch::new();
        let mut ledger = scratch.writer();
        let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
        ledger.keep_trial(&run, &trial(0, 0)).expect("kept");
        ledger.still_the_same().expect("it is");
        fs::remove_file(scratch.path()).expect("removed");
        if replaced {
            fs::write(scratch.path(), "of another user").expect("written");
        }
        let error = ledger.keep_trial(&run, &trial(1, 0)).expect_err("it could never be read");
        assert!(error.to_string().contains(if replaced { "replaced" } else { "removed" }), "{error}");
        let saved = ledger.save_beside().expect("saved");
        drop(ledger);
        let kept = Ledger::open(&saved, Access::Write).expect("a ledger").trials(&run).expect("read");
        assert_eq!(kept, [trial(0, 0)]);
        assert_eq!(scratch.path().exists(), replaced, "nothing was put where the ledger was");
    }
}

#[test]
fn a_lock_names_no_process_that_has_ended() {
    let scratch = Scratch::new();
    let held = scratch.writer();
    let error = Ledger::open(&scratch.path(), Access::Write).expect_err("in use").to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    let mut child = std::process::Command::new("true").spawn().expect("started");
    let ended = child.id();
    child.wait().expect("ended");
    fs::write(scratch.folder.path().join("bakeoff.db.lock"), ended.to_string()).expect("written");
    let error = Ledger::open(&scratch.path(), Access::Write).expect_err("in use").to_string();
    assert!(error.contains("another bakeoff is using it"), "{error}");
    drop(held);
}
