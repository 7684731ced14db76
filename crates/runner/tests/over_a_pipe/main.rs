//! The whole runner over a stage in a child process, without root: order, staging, measuring, closing, resume and the ledger.
//! In: this program itself, as the tests, as the process that serves a directory, and as the engine. Out: the content of the ledger.
//! It starts itself again with its own folders, and as an unprivileged user if it is root, so that no test can need a privilege.

mod bench;
#[path = "../plans/mod.rs"]
mod plans;
mod served;

use bench::{Bench, Engine};
use records::{Cause, TrialRecord, TrialStatus};
use runner::Ended;
use staging::{Asked, Pipe, Remote};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::process::{Command, ExitCode};
use std::time::Duration;
use system::Journal;

/// This program, even if its path is not accessible.
pub const PROGRAM: &str = "/proc/self/exe";
/// Set in the process that runs the tests.
const INSIDE: &str = "BAKEOFF_TEST_INSIDE";
/// A user without rights.
const NOBODY: u32 = 65_534;
/// Seconds that a serving process may be silent here.
const SILENCE: &str = "8";

type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    (
        "a_plan_is_carried_out_and_leaves_nothing_but_its_ledger",
        a_plan_is_carried_out_and_leaves_nothing_but_its_ledger,
    ),
    ("a_stopped_run_goes_on_where_it_stood", a_stopped_run_goes_on_where_it_stood),
    ("a_child_that_is_killed_is_one_failed_trial", a_child_that_is_killed_is_one_failed_trial),
    ("an_engine_that_crashes_there_is_one_failed_trial", an_engine_that_crashes_there_is_one_failed_trial),
    ("invalid_messages_of_the_other_end_are_refused", invalid_messages_of_the_other_end_are_refused),
    (
        "a_line_without_an_end_takes_no_more_memory_than_a_message",
        a_line_without_an_end_takes_no_more_memory_than_a_message,
    ),
    ("a_process_that_falls_silent_is_ended", a_process_that_falls_silent_is_ended),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("stage") => served::stage(&words[1], &words[2]),
        Some("engine") => served::engine(&words[1]),
        Some("babble") => served::babble(&words[1]),
        _ if std::env::var_os(INSIDE).is_some() => return run(&words),
        _ => return as_nobody(&words),
    }
    ExitCode::SUCCESS
}

/// Starts this program again, with its own folders, and without root.
fn as_nobody(words: &[String]) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(PROGRAM);
    command.args(words).current_dir(folder.path()).env(INSIDE, "1").env("BAKEOFF_GUEST_SILENCE", SILENCE);
    for variable in ["HOME", "TMPDIR", "XDG_STATE_HOME"] {
        command.env(variable, folder.path());
    }
    if system::process::is_root() {
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("it is given away");
        command.uid(NOBODY).gid(NOBODY);
    }
    let status = command.status().expect("this program starts");
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the tests whose names contain one of these words, or all, and prints the same output as cargo's own tests.
fn run(words: &[String]) -> ExitCode {
    assert!(!system::process::is_root(), "nothing here may need root");
    let asked: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let chosen = |name: &str| asked.is_empty() || asked.iter().any(|word| name.contains(word.as_str()));
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in TESTS.iter().filter(|(name, _)| chosen(name)) {
        let ended = catch_unwind(test);
        *(if ended.is_ok() { &mut passed } else { &mut failed }) += 1;
        println!("test {name} ... {}", if ended.is_ok() { "ok" } else { "FAILED" });
    }
    let left = TESTS.len() - passed - failed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {left} filtered out");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn of(trials: &[TrialRecord], contender: u32) -> Vec<&TrialRecord> {
    trials.iter().filter(|trial| trial.contender == contender).collect()
}

fn a_plan_is_carried_out_and_leaves_nothing_but_its_ledger() {
    let bench = Bench::new(2);
    let ended = bench.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let trials = bench.trials();
    assert_eq!((of(&trials, 0).len(), of(&trials, 1).len()), (2, 2));
    for trial in &trials {
        // Other work of this machine may disturb it.
        assert!(trial.status != TrialStatus::Failed, "{:?}", trial.reason);
        let found = trial.found.as_ref().expect("what was found");
        assert!(!found.filesystem.is_empty() && !found.cold_possible, "{found:?}");
        assert!(trial.remarks.iter().any(|remark| remark.contains("without root")), "{:?}", trial.remarks);
        assert!(trial.closing.is_some(), "it was closed");
        let measured: Vec<_> = trial.phases.iter().filter(|phase| !phase.preparation).collect();
        assert!(measured.len() > 3, "{}", measured.len());
        assert!(measured.iter().all(|phase| phase.outcome.returned_ns > 0 && phase.evidence.observed_ns > 0));
    }
    assert_eq!(trials[0].phases[1].outcome.work_hash, trials[1].phases[1].outcome.work_hash, "the same work");
    assert_eq!(bench.left(), Vec::<String>::new());
}

fn a_stopped_run_goes_on_where_it_stood() {
    let bench = Bench::new(2);
    assert_eq!(bench.run_for(1), Ended::Stopped);
    let before = bench.trials();
    assert_eq!(before.len(), 1);
    let ended = bench.resume();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let trials = bench.trials();
    assert_eq!(trials[0].began_ms, before[0].began_ms, "what was done is not done again");
    assert_eq!((of(&trials, 0).len(), of(&trials, 1).len()), (2, 2));
}

fn a_child_that_is_killed_is_one_failed_trial() {
    let bench = Bench::new(2).engine_of_trial(1, Engine::KillsTheStage);
    let ended = bench.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let trials = bench.trials();
    assert_eq!(trials.len(), 4);
    let failed: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.status == TrialStatus::Failed).collect();
    assert_eq!(failed.len(), 1, "the run goes on with the next");
    let output = "the engine's process ended during its work: the stage's process ended with signal 9";
    assert_eq!((failed[0].reason.as_deref(), failed[0].cause), (Some(output), Some(Cause::Unclear)));
    assert_eq!(bench.left().len(), 1, "who is killed leaves its folder");
    bench.clean();
    assert_eq!(bench.left(), Vec::<String>::new(), "its mark says whose it was");
}

fn an_engine_that_crashes_there_is_one_failed_trial() {
    let bench = Bench::new(1).engine_of_trial(0, Engine::Crashes);
    bench.run();
    let trials = bench.trials();
    let lines: Vec<&str> = trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    assert_eq!(lines, ["the engine's process ended during its work: exit status 42"]);
    assert_eq!((trials.len(), bench.left()), (2, Vec::<String>::new()));
}

/// The error of a request to a process that breaks the rules.
fn refused(how: &str) -> String {
    let command = [PROGRAM, "babble", how].map(String::from);
    let asked = Asked { contender: Box::new(bench::contender("it")), ..Asked::default() };
    let staged = Pipe::start(&command)
        .and_then(|pipe| Remote::stage(pipe, asked, Duration::from_secs(60), &Journal::new()).map(drop));
    staged.expect_err("it is refused").to_string()
}

fn invalid_messages_of_the_other_end_are_refused() {
    let lost = "it: the stage's process was lost";
    let cases = [
        ("garbage", format!("{lost}: it sent an invalid message and was killed: expected value at line 1")),
        ("unasked", "the stage's process: it sent an unexpected answer and was killed".to_owned()),
        ("end", format!("{lost}: the stage's process ended with exit status 7; its last output: out of luck")),
        ("other-version", "the stage's process: it has version 0.0.0 and this program has ".to_owned()),
        ("nothing", "the stage's process: the stage's process ended with exit status 7".to_owned()),
    ];
    for (how, output) in cases {
        let error = refused(how);
        assert!(error.starts_with(&output), "{how}: {error}");
    }
    let missing = Pipe::start(&["/nowhere/bakeoff".to_owned()]).err().expect("it is not there").to_string();
    assert!(missing.starts_with("the stage's process: `/nowhere/bakeoff` cannot be started"), "{missing}");
}

fn a_line_without_an_end_takes_no_more_memory_than_a_message() {
    let error = refused("long");
    assert!(error.contains("was killed: a line longer than any message"), "{error}");
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the most memory it had");
    let kib: u64 = most.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kib < 512 << 10, "{kib} KiB, for a line of which 65 MiB are read");
}

fn a_process_that_falls_silent_is_ended() {
    let error = refused("silent");
    assert!(error.ends_with(&format!("was lost: it sent nothing for {SILENCE} s and was killed")), "{error}");
}
