//! Replays of handmade traces: their order, calls that end differently, and that nothing leaves the root.
//! In: actions of threads. Out: outcomes, files, reasons.

use crate::common::*;
use std::path::{Path, PathBuf};
use trace::{Action, Call, Entry, EntryKind, Header, Sleep, Trace};
use workload::program::*;

fn action(thread: u32, call: Call, result: i64, after: &[u32]) -> Action {
    Action { thread, think_ns: 0, took_ns: 0, result, call, after: after.to_vec() }
}

fn open(path: &str, flags: i32, handle: u32) -> Call {
    Call::Open { path: path.into(), flags: flags as u32, mode: 0o644, handle }
}

fn made(threads: u32, handles: u32, tree: Vec<Entry>, actions: Vec<Action>) -> Trace {
    let header = Header { format: 1, threads, handles, elapsed_ns: 1, ..Header::default() };
    let trace = Trace { header, tree, actions };
    trace.check().unwrap();
    trace
}

fn entry(path: &str, kind: EntryKind) -> Entry {
    Entry { path: path.into(), mode: 0o644, kind }
}

/// A program that lays out a trace's tree, then makes its calls.
fn replaying(root: &Path, trace: &Trace, checksum: &str, think: bool) -> (tempfile::TempDir, Program) {
    let folder = folder();
    let file: PathBuf = folder.path().join("a.trace");
    std::fs::write(&file, trace::packed(trace).unwrap()).unwrap();
    let replay = || Box::new(Replay { trace: file.clone(), checksum: checksum.into(), think });
    let over = |step| Phase { writes: true, ..phase(vec![Group { processes: true, ..group(Over::Trace, &[step]) }]) };
    (folder, program(root, vec![], vec![over(Step::LayOut(replay())), over(Step::Replay(replay()))]))
}

#[test]
fn a_tree_is_laid_out_and_calls_are_made_by_threads_that_wait_for_each_other() {
    let dir = folder();
    let tree = vec![
        entry("old", EntryKind::Folder),
        entry("old/there", EntryKind::File(300_000)),
        entry("old/again", EntryKind::Link("old/there".into())),
        entry("link", EntryKind::Symlink("old/there".into())),
    ];
    let create = libc::O_CREAT | libc::O_WRONLY;
    // The second thread may look for the file only after the first has created it; the first ends with what the second creates.
    let actions = vec![
        action(0, Call::Start { thread: 1 }, 0, &[]),
        action(0, Call::Sleep(Sleep { ns: 50_000_000, wakes: false }), 0, &[]),
        action(0, open("new", create, 0), 3, &[]),
        action(0, Call::Write { handle: 0, length: 100_000 }, 100_000, &[]),
        action(0, Call::Close { handle: 0 }, 0, &[]),
        action(1, Call::Stat { path: "new".into(), follow: true }, 0, &[4]),
        action(1, open("link", libc::O_RDONLY, 1), 3, &[]),
        action(1, Call::ReadAt { handle: 1, offset: 200_000, length: 200_000 }, 100_000, &[]),
        action(1, Call::Rename { from: "new".into(), to: "old/new".into(), flags: 0 }, 0, &[]),
        action(0, Call::Truncate { handle: 2, size: 5 }, 0, &[]),
        action(0, Call::Unlink { path: "old/new".into() }, 0, &[8]),
    ];
    let mut actions = actions;
    actions.insert(9, action(0, open("old/there", libc::O_RDWR, 2), 4, &[8]));
    let trace = made(2, 3, tree, actions);
    let (_file, program) = replaying(dir.path(), &trace, "", true);
    let mut agent = Agent::with(&program);
    let laid_out = agent.done(0);
    assert_eq!((laid_out.items, laid_out.bytes_written), (4, 300_000));
    let data = std::fs::read(dir.path().join("old/there")).unwrap();
    assert!(data.chunks(4096).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
    let replayed = agent.done(1);
    assert_eq!(replayed.remarks, Vec::<String>::new());
    assert_eq!((replayed.bytes_written, replayed.bytes_read), (100_000, 100_000));
    assert!(replayed.returned_ns >= 50_000_000, "the program's own time passes: {}", replayed.returned_ns);
    assert_eq!(std::fs::metadata(dir.path().join("old/again")).unwrap().len(), 5);
    assert!(!dir.path().join("old/new").exists() && !dir.path().join("new").exists());
    assert_eq!(replayed.groups[0].latency["rename"].count, 1);
}

#[test]
fn calls_that_end_differently_are_counted_and_reported() {
    let dir = folder();
    let actions = vec![
        action(0, Call::Unlink { path: "missing".into() }, 0, &[]),
        action(0, Call::MakeFolder { path: "a".into(), mode: 0o755 }, -i64::from(libc::EEXIST), &[]),
        action(0, Call::RemoveFolder { path: "a".into() }, 0, &[]),
    ];
    let (_file, program) = replaying(dir.path(), &made(1, 0, vec![], actions), "", true);
    let outcome = Agent::with(&program).done(1);
    let [remark] = outcome.remarks.as_slice() else { panic!("{:?}", outcome.remarks) };
    assert!(remark.starts_with("2 of 3 calls ended differently from the recording"), "{remark}");
    assert!(remark.contains("unlink No such file or directory (os error 2) instead of done (1)"), "{remark}");
}

#[test]
fn without_the_programs_own_time_a_replay_does_not_sleep() {
    let dir = folder();
    let mut last = action(0, Call::Stat { path: ".".into(), follow: true }, 0, &[]);
    last.think_ns = 30_000_000_000;
    let trace =
        made(1, 0, vec![], vec![action(0, Call::Sleep(Sleep { ns: 30_000_000_000, wakes: false }), 0, &[]), last]);
    let (_file, program) = replaying(dir.path(), &trace, "", false);
    assert!(Agent::with(&program).done(1).returned_ns < 20_000_000_000);
}

#[test]
fn a_wait_that_was_in_vain_ends_when_what_ends_the_next_one_has_happened() {
    let dir = folder();
    let day = 86_400_000_000_000;
    let actions = vec![
        action(0, Call::Start { thread: 1 }, 0, &[]),
        action(0, Call::Sleep(Sleep { ns: day, wakes: true }), 0, &[]),
        action(0, Call::Stat { path: ".".into(), follow: true }, 0, &[]),
        action(0, Call::Sleep(Sleep { ns: day, wakes: true }), 0, &[]),
        action(1, Call::Sleep(Sleep { ns: 30_000_000, wakes: false }), 0, &[]),
        action(1, Call::Tell, 0, &[]),
        action(0, Call::Wait, 0, &[5]),
    ];
    let (_file, program) = replaying(dir.path(), &made(2, 0, vec![], actions), "", true);
    let outcome = Agent::with(&program).done(1);
    assert_eq!(outcome.groups[0].latency["stat"].count, 1);
    assert!(outcome.returned_ns >= 30_000_000, "not before: {}", outcome.returned_ns);
}

#[test]
fn no_link_of_a_trace_leads_out_of_the_root() {
    let outside = folder();
    std::fs::write(outside.path().join("kept"), "kept").unwrap();
    let dir = tempfile::tempdir_in(outside.path()).unwrap();
    let whole = outside.path().join("kept").display().to_string();
    let tree = vec![
        entry("whole", EntryKind::Symlink(whole.clone())),
        entry("a", EntryKind::Folder),
        entry("a/up", EntryKind::Symlink("../../kept".into())),
    ];
    let write = libc::O_WRONLY | libc::O_TRUNC;
    let actions = vec![
        action(0, open("whole", write, 0), 3, &[]),
        action(0, open("a/up", write, 1), 3, &[]),
        action(0, Call::Symlink { text: whole, path: "again".into() }, 0, &[]),
        action(0, Call::TruncatePath { path: "again".into(), size: 0 }, 0, &[]),
    ];
    let (_file, program) = replaying(dir.path(), &made(1, 2, tree, actions), "", true);
    let mut agent = Agent::with(&program);
    agent.done(0);
    let outcome = agent.done(1);
    assert!(outcome.remarks[0].starts_with("3 of 4 calls"), "{:?}", outcome.remarks);
    assert_eq!(std::fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
}

#[test]
fn another_trace_than_the_one_the_run_began_with_is_refused() {
    let dir = folder();
    let trace = made(1, 0, vec![], vec![action(0, Call::Sync, 0, &[])]);
    let (_file, program) = replaying(dir.path(), &trace, "00000000-1", true);
    let (reason, _) = Agent::with(&program).failed(1);
    assert!(reason.contains("is not the trace with which this run began"), "{reason}");
}
