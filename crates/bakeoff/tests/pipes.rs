//! A reader that goes away stops nothing: closed pipes, closed terminals, and texts with control characters.

mod support;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};
use support::{Place, Printed, Unread};

const RUN: &str = "run small-files --dir . --set files=60 --set some=20 --samples 2 --plain --no-report";

fn quiet(output: &Printed, words: &str) {
    assert!(output.err.is_empty(), "{words} should end quietly: {}", output.err);
}

#[test]
fn every_verb_that_prints_ends_quietly_when_its_reader_has_seen_enough() {
    let place = Place::in_memory();
    for _ in 0..2 {
        place.bakeoff(RUN).well();
    }
    let runs = place.bakeoff("show --runs").well().out;
    let ids: Vec<&str> = runs.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let verbs = [
        "plan small-files --dir .",
        "plan small-files --dir . --commands",
        "show",
        "show --runs",
        "show --json",
        "show --csv",
        "show --markdown",
        "show --published",
        "claims",
        "workloads",
        "workloads small-files",
        "systems",
        "doctor",
        "features --dir .",
        "export -o one.json",
        "report -o out --format csv",
        "manual --folder pages",
        "--help",
        &format!("compare {} {}", ids[0], ids[1]),
    ];
    for words in verbs {
        let output = place.unread(words, Unread::Out);
        quiet(&output, words);
        // As after head(1): ended by SIGPIPE, except for the parser's help.
        assert!(output.signal == Some(13) || words == "--help", "{words}: {output:#?}");
    }
    place.shell("$BAKEOFF plan small-files --dir . | head -3").well();
}

#[test]
fn a_full_standard_output_is_an_error_and_no_panic() {
    let place = Place::in_memory();
    place.shell("$BAKEOFF workloads > /dev/full").refused(&["writing to standard output", "No space left"]);
}

#[test]
fn a_run_continues_when_its_output_is_closed() {
    let place = Place::in_memory();
    let output = place.unread(RUN, Unread::Out).well();
    assert!(output.err.contains("standard output is closed") && output.err.contains("continues"), "{output:#?}");
    place.unread(RUN, Unread::Err).well();
    place.shell(&format!("$BAKEOFF {RUN} 2>&- >&-")).well();
    let runs = place.bakeoff("show --runs").well().out;
    assert_eq!(runs.matches("finished").count(), 3, "{runs}");
}

#[test]
fn an_error_with_closed_standard_error_still_has_exit_status_1() {
    let place = Place::new();
    let output = place.unread("show", Unread::Err);
    assert_eq!((output.status, output.signal), (Some(1), None), "{output:#?}");
}

/// Starts a run, sends it SIGHUP once it measures, and waits for its end.
fn hung_up(place: &Place, before: &str) -> Option<i32> {
    let line = format!("{before} exec $BAKEOFF {} --samples 12", RUN.replace(" --samples 2", ""));
    // Tests that are started with SIGHUP ignored (nohup) would pass that on.
    let mut run = Command::new("env")
        .args(["--default-signal=HUP", "sh", "-c", &line])
        .current_dir(place.folder())
        .env("BAKEOFF", env!("CARGO_BIN_EXE_bakeoff"))
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the shell starts");
    let end = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(place.path("bakeoff.log")).is_ok_and(|log| log.contains("begins")) {
        assert!(Instant::now() < end && run.try_wait().expect("waited").is_none(), "it never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-HUP", &run.id().to_string()]).status().expect("kill runs");
    let status = run.wait().expect("it ends");
    assert_eq!(status.signal(), None);
    status.code()
}

#[test]
fn a_hang_up_stops_a_run_in_order_unless_it_was_ignored_from_the_start() {
    assert_eq!(hung_up(&Place::in_memory(), ""), Some(3));
    assert_eq!(hung_up(&Place::in_memory(), "trap '' HUP;"), Some(0));
}

#[test]
fn texts_of_others_cannot_drive_the_terminal() {
    let place = Place::in_memory();
    let evil = "\\u001B[2J\\u001B]0;owned\\u0007";
    place.write("evil.toml", &format!("name = \"evil\"\ntitle = \"{evil}\"\nworkloads = [\"small-files\"]\n"));
    let words = RUN.replace("small-files", "./evil.toml");
    let plan = place.bakeoff("plan ./evil.toml --dir .").well();
    let run = place.bakeoff(&words).well();
    let shown = place.bakeoff("show").well();
    let listed = place.bakeoff("show --runs").well();
    let odd = place.shell("$BAKEOFF run ./$(printf 'a\\033[2Jb').toml; $BAKEOFF --$(printf 'a\\033[2Jb')");
    for output in [&plan, &run, &shown, &listed, &odd] {
        assert!(!output.out.contains(['\u{1b}', '\u{7}']) && !output.err.contains(['\u{1b}', '\u{7}']), "{output:#?}");
    }
    assert!(plan.out.contains("␛[2J"), "it is shown, not left out: {}", plan.out);
    assert!(odd.err.contains("␛[2J"), "{}", odd.err);
    let log = std::fs::read_to_string(place.path("bakeoff.log")).expect("a log");
    assert!(!log.contains('\u{1b}'));
}
