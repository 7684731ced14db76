//! What a ledger guarantees: complete trials, one writer, and foreign files left unchanged.

mod support;

use ledger::{Access, Ledger, LedgerError, NewRun, Origin, RunStatus, TrialRecord};
use ledger::{CommandRecord, ContenderRecord, Evidence, PhaseRecord};
use records::outcome::{CpuTime, GroupOutcome, PhaseOutcome};
use records::program::{Cache, Figure};
use records::{Closing, Contender, Found, Machine};
use std::collections::BTreeMap;
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

    fn reader(&self) -> Ledger {
        Ledger::open(&self.path(), Access::Read).expect("the ledger opens for reading")
    }
}

fn new_run() -> NewRun {
    NewRun {
        title: "ext4 and xfs on an image".into(),
        plan: Some(support::plan(3)),
        seed: u64::MAX,
        machine: Some(Machine { kernel: "6.18".into(), ..Machine::default() }),
        merged: None,
        version: "0.1.0".into(),
        command_line: vec!["bakeoff".into(), "run".into()],
        origin: Origin::Measured,
        works: vec![],
    }
}

fn contenders() -> Vec<ContenderRecord> {
    ["ext4", "xfs"]
        .iter()
        .enumerate()
        .map(|(index, label)| ContenderRecord {
            index: index as u32,
            label: (*label).into(),
            asked: Some(Contender::plain(label)),
            twin_of: None,
            error: None,
            cause: None,
        })
        .collect()
}

fn trial(block: u32, contender: u32) -> TrialRecord {
    let group = GroupOutcome {
        name: "all".into(),
        items: 10,
        returned_ns: 2_000_000_000,
        bytes_read: 0,
        bytes_written: 4096,
        workers_ns: vec![2_000_000_000],
        latency: BTreeMap::new(),
        lead_ns: 0,
        pace: None,
    };
    let outcome = PhaseOutcome {
        items: 10,
        bytes_written: 4096,
        returned_ns: 2_000_000_000,
        durable_ns: Some(4_000_000_000),
        cpu: CpuTime { user_ns: 1, system_ns: 2 },
        groups: vec![group],
        work_hash: u64::MAX,
        ..PhaseOutcome::default()
    };
    TrialRecord {
        began_ms: 1,
        ended_ms: 2,
        found: Some(Found { mount_options: vec!["rw".into()], ..Found::nothing() }),
        closing: Some(Closing::default()),
        remarks: vec!["warm".into()],
        phases: vec![PhaseRecord {
            name: "create".into(),
            operation: "create".into(),
            cache: Cache::Cold,
            figure: Figure::ItemsPerSecond,
            preparation: false,
            outcome,
            evidence: Evidence { device_written_bytes: Some(8192), ..Evidence::default() },
        }],
        commands: vec![CommandRecord {
            line: "mkfs.ext4 /dev/loop0".into(),
            status: Some(0),
            output: String::new(),
            elapsed_ns: 7,
        }],
        ..TrialRecord::begun((block, contender), contender, "small-files", "quick")
    }
}

#[test]
fn a_kept_trial_comes_back_as_it_was() {
    let scratch = Scratch::new();
    let mut ledger = scratch.writer();
    let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
    ledger.keep_trial(&run, &trial(0, 1)).expect("the trial is kept");
    ledger.end_run(&run, RunStatus::Finished, "3 samples each", 60.0).expect("the run ends");
    drop(ledger);

    let ledger = scratch.reader();
    let record = ledger.run(None).expect("the latest run");
    assert_eq!(record.took(), Some(60.0), "however the wall clock went");
    assert_eq!((record.id.as_str(), record.status, record.new), (run.as_str(), RunStatus::Finished, new_run()));
    assert_eq!(ledger.contenders(&run).expect("contenders"), contenders());
    assert_eq!(ledger.trials(&run).expect("trials"), vec![trial(0, 1)]);
}

#[test]
fn the_same_trial_is_never_counted_twice() {
    let scratch = Scratch::new();
    let mut ledger = scratch.writer();
    let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
    ledger.keep_trial(&run, &trial(0, 0)).expect("the trial is kept");
    assert!(matches!(ledger.keep_trial(&run, &trial(0, 0)), Err(LedgerError::Refused { .. })));
    assert_eq!(ledger.trials(&run).expect("trials").len(), 1);
}

#[test]
fn a_trial_cut_off_in_the_middle_is_not_there_at_all() {
    let scratch = Scratch::new();
    let mut ledger = scratch.writer();
    let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
    let mut broken = trial(0, 0);
    broken.contender = 9;
    assert!(ledger.keep_trial(&run, &broken).is_err(), "a trial of an unknown contender is refused");
    assert!(ledger.trials(&run).expect("trials").is_empty());
}

#[test]
fn a_second_run_on_one_ledger_is_refused_and_a_reader_is_not() {
    let scratch = Scratch::new();
    let mut first = scratch.writer();
    first.begin_run(&new_run(), &contenders()).expect("the run begins");
    let error = Ledger::open(&scratch.path(), Access::Write).expect_err("the ledger is in use");
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    assert_eq!(scratch.reader().runs().expect("runs").len(), 1);
}

#[test]
fn a_text_file_is_no_ledger_and_stays_as_it_is() {
    let scratch = Scratch::new();
    fs::write(scratch.path(), "my diary, not to be overwritten, and long enough to have a header").expect("written");
    for access in [Access::Read, Access::Write] {
        let error = Ledger::open(&scratch.path(), access).expect_err("no ledger");
        assert!(matches!(error, LedgerError::Foreign { .. }), "{error}");
    }
    assert!(fs::read_to_string(scratch.path()).expect("still there").starts_with("my diary"));
}

#[test]
fn a_truncated_ledger_is_named_as_damaged() {
    let scratch = Scratch::new();
    let mut ledger = scratch.writer();
    let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
    ledger.keep_trial(&run, &trial(0, 0)).expect("kept");
    drop(ledger);
    let whole = fs::read(scratch.path()).expect("read");
    fs::write(scratch.path(), &whole[..whole.len() / 2]).expect("cut");
    let error = Ledger::open(&scratch.path(), Access::Read).expect_err("damaged");
    assert!(matches!(error, LedgerError::Foreign { .. }), "{error}");
}

#[test]
fn another_programs_database_is_refused() {
    let scratch = Scratch::new();
    rusqlite::Connection::open(scratch.path())
        .and_then(|other| other.execute_batch("CREATE TABLE cookies (crumbs TEXT)"))
        .expect("another database");
    let error = Ledger::open(&scratch.path(), Access::Write).expect_err("foreign");
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn a_newer_ledger_is_refused_by_its_version() {
    let scratch = Scratch::new();
    drop(scratch.writer());
    rusqlite::Connection::open(scratch.path())
        .and_then(|other| other.execute_batch("PRAGMA user_version = 999"))
        .expect("a later version");
    let error = Ledger::open(&scratch.path(), Access::Write).expect_err("newer");
    assert!(matches!(error, LedgerError::Newer { found: 999, .. }), "{error}");
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id_and_a_wrong_one_lists_what_there_is() {
    let scratch = Scratch::new();
    let mut ledger = scratch.writer();
    let run = ledger.begin_run(&new_run(), &contenders()).expect("the run begins");
    assert_eq!(ledger.run(Some(&run[..10])).expect("found").id, run);
    let error = ledger.run(Some("1999")).expect_err("no such run").to_string();
    assert!(error.contains(&run), "{error}");
}
