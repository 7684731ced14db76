//! Recordings of real commands: what both watchers see, and in which order.
//! In: shell lines in a scratch folder. Out: traces.

use prerequisites::needs;
use std::path::Path;
use trace::{Call, EntryKind, Recording, Trace, Watcher};

fn recorded(folder: &Path, watcher: Watcher, line: &str) -> Trace {
    let asked = Recording {
        command: ["sh", "-ec", line].map(str::to_owned).into(),
        folder: folder.to_owned(),
        watcher: Some(watcher),
        made_by: "a test".into(),
        now: "2026-01-01T00:00:00Z".into(),
        filesystem: "tmpfs".into(),
        kernel: "6.18".into(),
        free_memory: 1 << 30,
    };
    trace::record(&asked).unwrap_or_else(|why| panic!("{line}: {why}")).trace
}

/// The calls of a kind with their paths and results.
fn paths<'a>(trace: &'a Trace, kind: &str) -> Vec<(&'a str, i64)> {
    let of_kind = trace.actions.iter().filter(|action| action.call.name() == kind);
    of_kind.filter_map(|action| Some((action.call.paths().next()?, action.result))).collect()
}

/// A shell, its children, a pipe, a link, files inside and outside of the folder.
const LINE: &str = "mkdir new; echo hello > new/a; cat new/a | cat > copy; mv new/a 'new/b c'; ln -s old link; cat link/there > /dev/null
    (cd new; cat '../old/there' > d); rm -r new; cat /etc/hostname > /dev/null || true; cat missing 2> /dev/null || true";

fn laid_out() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("old")).unwrap();
    std::fs::write(folder.path().join("old/there"), vec![b'x'; 10_000]).unwrap();
    std::fs::hard_link(folder.path().join("old/there"), folder.path().join("old/zwin")).unwrap();
    folder
}

fn sees_the_line(watcher: Watcher) {
    let folder = laid_out();
    let trace = recorded(folder.path(), watcher, LINE);
    let tree: Vec<(&str, &EntryKind)> = trace.tree.iter().map(|entry| (entry.path.as_str(), &entry.kind)).collect();
    let link = EntryKind::Link("old/there".into());
    assert_eq!(tree, [("old", &EntryKind::Folder), ("old/there", &EntryKind::File(10_000)), ("old/zwin", &link)]);
    assert!(trace.header.compressible_before > 90, "{}", trace.header.compressible_before);
    assert_eq!(trace.header.status, Some(0));
    assert_eq!(paths(&trace, "mkdir"), [("new", 0)]);
    assert_eq!(paths(&trace, "rename"), [("new/a", 0)]);
    assert_eq!(paths(&trace, "symlink"), [("link", 0)]);
    assert!(paths(&trace, "create").iter().any(|(path, result)| *path == "new/d" && *result >= 0));
    assert!(paths(&trace, "open").contains(&("missing", -i64::from(libc::ENOENT))), "{:?}", paths(&trace, "open"));
    let opened: Vec<&str> = paths(&trace, "open").iter().map(|(path, _)| *path).collect();
    assert!(opened.contains(&"link/there") && opened.contains(&"old/there"), "{opened:?}");
    assert!(!opened.iter().any(|path| path.contains("hostname")), "what lies outside is not recorded: {opened:?}");
    // cat copies within the kernel if it can.
    let moves = trace.actions.iter().filter(|action| matches!(action.call.name(), "read" | "copy"));
    assert_eq!(moves.map(|action| action.result).sum::<i64>(), 6 + 2 * 10_000);
    let closes = trace.actions.iter().filter(|action| matches!(action.call, Call::Close { .. })).count();
    let opens =
        trace.actions.iter().filter(|action| matches!(action.call, Call::Open { .. }) && action.result >= 0).count();
    assert_eq!(closes, opens, "what was opened is closed once, by its last user");
}

#[test]
fn strace_sees_all_that_a_shell_and_its_children_do() {
    needs!(strace);
    sees_the_line(Watcher::Strace);
}

#[test]
fn ebpf_sees_all_that_a_shell_and_its_children_do() {
    needs!(root, bpftrace);
    sees_the_line(Watcher::Ebpf);
}

#[test]
fn the_reader_of_a_pipe_comes_after_its_writer() {
    needs!(strace);
    let folder = tempfile::tempdir().unwrap();
    let trace = recorded(
        folder.path(),
        Watcher::Strace,
        "(echo first > a; sleep 0.2; echo go; sleep 0.2; echo late > b) | (read go; echo $go > c)",
    );
    let at = |name: &str| {
        let made =
            |action: &&trace::Action| action.call.paths().any(|path| path == name) && action.call.name() == "create";
        let action = trace.actions.iter().find(made).unwrap_or_else(|| panic!("{name} is not made"));
        (trace.actions.iter().position(|other| std::ptr::eq(other, action)).unwrap(), action.thread)
    };
    let ((_, writer), (reading, reader)) = (at("a"), at("c"));
    assert_ne!(writer, reader);
    let waits = trace.actions[..reading].iter().filter(|action| action.thread == reader && action.call == Call::Wait);
    let lines: Vec<u32> = waits.flat_map(|action| &action.after).copied().collect();
    assert!(lines.iter().any(|action| trace.actions[*action as usize].thread == writer), "{lines:?}");
    let slept: u64 = trace
        .actions
        .iter()
        .map(|action| if let Call::Sleep(sleep) = &action.call { sleep.ns } else { action.think_ns })
        .sum();
    assert!(slept > 300_000_000, "sleeping is the program's own time: {slept}");
}

#[test]
fn the_wait_for_a_processor_is_not_the_programs_own_time() {
    needs!(root, bpftrace);
    let folder = laid_out();
    // Four computing programs share one processor.
    let count = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let line = format!("taskset -pc 0 $$ >/dev/null; for each in 1 2 3 4; do sh -c '{count}' & done; wait");
    let trace = recorded(folder.path(), Watcher::Ebpf, &line);
    let own: u64 = trace.actions.iter().map(|action| action.think_ns).sum();
    let elapsed = trace.header.elapsed_ns;
    assert!(own < elapsed + elapsed / 4, "of {elapsed} ns on one processor {own} count as their own");
    assert!(own > elapsed / 2, "of {elapsed} ns {own}");
}

#[test]
fn a_trace_comes_back_from_its_file_as_it_was_and_others_are_refused_in_a_sentence() {
    needs!(strace);
    let folder = laid_out();
    let trace = recorded(folder.path(), Watcher::Strace, LINE);
    let file = folder.path().join("a.trace");
    std::fs::write(&file, trace::packed(&trace).unwrap()).unwrap();
    assert_eq!(trace::read(&file).unwrap(), trace);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(trace::read(&file).is_err());
    let refused = |change: &dyn Fn(&mut Trace), wanted: &str| {
        let mut trace = trace.clone();
        change(&mut trace);
        let why = trace.check().unwrap_err();
        assert!(why.contains(wanted), "{why}");
    };
    refused(&|trace| trace.tree[1].path = "../there".into(), "leads out of the folder");
    refused(&|trace| trace.actions[0].call = Call::Unlink { path: "/etc/passwd".into() }, "leads out of the folder");
    refused(&|trace| trace.actions[0].call = Call::Close { handle: 99_999 }, "was never opened");
    refused(&|trace| trace.actions[0].after = vec![0], "does not come before it");
    refused(&|trace| trace.actions[0].thread = 1, "has not started");
    refused(
        &|trace| trace.actions[0].call = Call::TruncatePath { path: "a".into(), size: u64::MAX },
        "beyond the maximum size",
    );
}

#[test]
fn the_status_of_a_command_that_fails_is_kept() {
    needs!(strace);
    let folder = tempfile::tempdir().unwrap();
    let trace = recorded(folder.path(), Watcher::Strace, "echo x > a; exit 3");
    assert_eq!(trace.header.status, Some(3));
}
