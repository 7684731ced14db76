//! Users' own programs as work: their environment, the report about them, and that no process outlives its phase.
//! In: shell lines, harmless and hostile. Out: outcomes and reasons; the process table afterwards.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use workload::message::Reply;
use workload::outcome::CommandRun;
use workload::program::*;

/// A phase that runs these words.
pub fn running(words: &[&str]) -> Phase {
    let environment =
        [("PATH", workload::command::PATH), ("LANG", "C.UTF-8")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let command = Command {
        words: words.iter().map(|w| (*w).to_owned()).collect(),
        environment: environment.into(),
        ..Command::default()
    };
    Phase { writes: true, ..phase(vec![group(Over::Command, &[Step::Run(Box::new(command))])]) }
}

pub fn shell(line: &str) -> Phase {
    running(&["sh", "-c", line])
}

pub fn ran(root: &Path, phase: Phase) -> CommandRun {
    let outcome = Agent::with(&program(root, vec![], vec![phase])).done(0);
    assert_eq!((outcome.items, outcome.commands.len()), (1, 1));
    assert!(outcome.returned_ns > 0 && outcome.durable_ns.is_some_and(|durable| durable >= outcome.returned_ns));
    outcome.commands.into_iter().next().unwrap()
}

/// The /proc folder of a process with this in its command line; ended processes have none.
fn process_with(mark: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let line = |process: &PathBuf| std::fs::read(process.join("cmdline")).unwrap_or_default();
    entries.into_iter().find(|process| String::from_utf8_lossy(&line(process)).contains(mark))
}

fn is_there(mark: &str) -> bool {
    process_with(mark).is_some()
}

/// A number of seconds that no other process sleeps.
fn long(which: u32) -> String {
    format!("{}.{which}", 1_000_000 + std::process::id())
}

fn gone_soon(mark: &str) -> bool {
    let begun = Instant::now();
    while is_there(mark) && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !is_there(mark)
}

#[test]
fn a_command_works_in_the_root_with_an_environment_of_its_own_and_nothing_to_read() {
    let dir = folder();
    let run = ran(dir.path(), shell("cat; env | sort; pwd; echo here > file; echo aside >&2"));
    let root = dir.path().display().to_string();
    for wanted in ["LANG=C.UTF-8", &format!("HOME={root}"), &format!("TMPDIR={root}"), &format!("\n{root}")] {
        assert!(run.output.contains(wanted), "{wanted}: {}", run.output);
    }
    assert!(!run.output.contains("CARGO"), "{}", run.output);
    assert_eq!((run.status, run.signal, run.errors.as_str()), (Some(0), None, "aside"));
    assert_eq!(std::fs::read_to_string(dir.path().join("file")).unwrap(), "here\n");
    assert!(run.peak_memory_bytes > 100_000 && run.context_switches > 0);
    let written = ran(dir.path(), shell("printf abc")).written_bytes;
    assert!(written.is_none_or(|written| written == 3), "what starting it wrote is not its own: {written:?}");
    assert!(run.left_behind.is_empty());
}

#[test]
fn a_failing_command_is_reported_with_its_last_lines() {
    let dir = folder();
    let mut agent =
        Agent::with(&program(dir.path(), vec![], vec![shell("seq 100; echo no room >&2; exit 3"), shell("exit 4")]));
    let (reason, partial) = agent.failed(0);
    assert!(reason.contains("ended with status 3: no room"), "{reason}");
    assert_eq!(partial.unwrap().commands[0].status, Some(3));
    assert!(agent.failed(1).0.contains("ended with status 4 without output"));
    let missing = Agent::with(&program(dir.path(), vec![], vec![running(&["no-such-program"])])).failed(0).0;
    assert!(missing.contains("no-such-program") && missing.contains("/usr/bin"), "{missing}");
}

#[test]
fn processes_that_a_command_leaves_behind_are_reported_and_ended() {
    let dir = folder();
    let (held, away) = (long(1), long(2));
    // One holds its output open, the other runs in its own session.
    let run = ran(
        dir.path(),
        shell(&format!("sleep {held} & setsid sh -c 'sleep {away} & exit' >/dev/null; sleep 0.5; exit 0")),
    );
    // The shell that started it may be ending; both have their final names by then.
    assert!(run.left_behind.iter().any(|name| name == "sleep"), "{:?}", run.left_behind);
    assert!(!is_there(&held) && !is_there(&away));
}

#[test]
fn a_process_that_ignores_sigterm_is_killed() {
    let dir = folder();
    let mark = long(3);
    let stubborn = shell(&format!("trap '' TERM; while :; do sleep {mark}; done"));
    let mut agent = Agent::with(&program(dir.path(), vec![], vec![Phase { time_limit: 1, ..stubborn }, shell("true")]));
    let (reason, _) = agent.failed(0);
    assert!(reason.contains("time limit of 1 s"), "{reason}");
    assert!(gone_soon(&mark));
    agent.done(1);
}

#[test]
fn more_processes_than_anybody_needs_cost_one_phase() {
    let dir = folder();
    let mark = long(4);
    let many = format!("for i in $(seq 6000); do sleep {mark} & done; wait");
    let mut agent = Agent::with(&program(dir.path(), vec![], vec![shell(&many), shell("true")]));
    let (reason, _) = agent.failed(0);
    assert!(reason.contains("more than 4096 processes"), "{reason}");
    assert!(gone_soon(&mark));
    agent.done(1);
}

#[test]
fn any_amount_of_output_is_counted_and_its_end_kept() {
    let dir = folder();
    let run = ran(dir.path(), shell("head -c 300000000 /dev/zero; echo the end; yes | head -c 5000000 >&2"));
    assert_eq!((run.output_bytes, run.error_bytes), (300_000_008, 5_000_000));
    assert!(run.output.ends_with("the end") && run.output.len() < 10_000);
}

#[test]
fn a_folder_that_was_deleted_fails_what_comes_after() {
    let dir = folder();
    let root = dir.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let mut removes = shell("rm -rf \"$PWD\"");
    if let Step::Run(command) = &mut removes.groups[0].steps[0] {
        command.unconfined = true;
    }
    let mut agent = Agent::with(&program(&root, vec![], vec![removes, shell("true")]));
    agent.done(0);
    assert!(agent.failed(1).0.contains("No such file or directory"));
}

#[test]
fn nothing_outlives_an_agent_that_is_killed() {
    let dir = folder();
    let mark = long(5);
    let line = format!("setsid sleep {mark} & echo > begun; sleep {mark}");
    let mut agent = Agent::with(&program(dir.path(), vec![], vec![shell(&line)]));
    agent.send(r#"{"perform":{"phase":0,"pass":0}}"#);
    let begun = Instant::now();
    while !(dir.path().join("begun").exists() && is_there(&mark)) && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(is_there(&mark), "it was begun");
    agent.child.kill().unwrap();
    assert!(gone_soon(&mark));
}

/// Runs a shell line in parallel with a command.
fn beside(line: &str) {
    let done = std::process::Command::new("sh").args(["-c", line]).status().unwrap();
    assert!(done.success(), "{line}");
}

/// A tmpfs with one file, mounted until this is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn at(point: PathBuf) -> Mounted {
        let at = point.display();
        beside(&format!("mkdir '{at}' && mount -t tmpfs tmpfs '{at}' && touch '{at}/stays'"));
        Mounted(point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").args(["-q", "--lazy"]).arg(&self.0).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_filesystem_that_is_unmounted_meanwhile_is_released_and_no_other() {
    prerequisites::needs!(root);
    let (dir, mark) = (folder(), long(8));
    let root = dir.path().display();
    let _mounted = ["one of two", "two"].map(|name| Mounted::at(dir.path().join(name)));
    let line = format!(": {mark}; while ! [ -e go ]; do sleep 0.01; done; echo */stays");
    let mut agent = Agent::with(&program(dir.path(), vec![], vec![shell(&line)]));
    agent.send(r#"{"perform":{"phase":0,"pass":0}}"#);
    // The first part of a name is enough: spaces are encoded there.
    let mounted = || {
        let mounts = std::fs::read_to_string(process_with(&mark)?.join("mountinfo")).ok()?;
        Some(["one", "two"].map(|name| mounts.contains(&format!("{root}/{name}"))))
    };
    let soon = |wanted| {
        let begun = Instant::now();
        while mounted() != Some(wanted) && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(mounted(), Some(wanted));
    };
    soon([true, true]);
    beside(&format!("umount '{root}/one of two'"));
    soon([false, true]);
    beside(&format!("touch '{root}/go'"));
    let ended = match agent.answer() {
        Reply::Done(ended) => ended,
        other => panic!("{other:?}"),
    };
    assert_eq!(ended.commands[0].output.trim(), "two/stays");
}

#[test]
fn several_commands_at_once_are_each_recorded() {
    let dir = folder();
    let mut phase = shell("echo $$ > $$.pid; mktemp -p . > /dev/null");
    (phase.groups[0].workers, phase.groups[0].processes) = (3, true);
    let outcome = Agent::with(&program(dir.path(), vec![], vec![phase])).done(0);
    assert_eq!((outcome.items, outcome.commands.len()), (3, 3));
}

#[test]
fn files_in_the_root_are_read_and_counted_before_a_command() {
    use workload::message::{Reply, Request};
    let dir = folder();
    std::fs::create_dir(dir.path().join("below")).unwrap();
    std::fs::write(dir.path().join("below/file"), vec![1; 100_000]).unwrap();
    let mut agent = Agent::with(&program(dir.path(), vec![], vec![shell("true")]));
    assert_eq!(agent.ask(&Request::Warm { phase: 0 }), Reply::Warmed { bytes: 100_000 });
    assert!(matches!(agent.ask(&Request::CountCached { phase: 0 }), Reply::Cached { files: 1, .. }));
}

#[test]
fn a_step_that_runs_belongs_to_commands_only() {
    use workload::message::{Reply, Request};
    let dir = folder();
    let mut wrong = shell("true");
    wrong.groups[0].over = FILES;
    let set = fileset("t", 1, Size::Uniform(1, 1));
    let asked = Request::Load(Box::new(program(dir.path(), vec![set], vec![wrong])));
    assert!(matches!(Agent::start().ask(&asked), Reply::Refused { reason } if reason.contains("run")));
}
