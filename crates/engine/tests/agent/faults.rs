//! Failures are reported: failed operations, limits, bad programs, dead workers.
//! In: programs that cannot succeed. Out: reasons. The agent continues after each.
//! No test here depends on how long anything takes.

use crate::common::*;
use workload::message::{Reply, Request};
use workload::program::*;

#[test]
fn a_missing_file_is_named_with_its_step_and_errno() {
    let dir = folder();
    let p =
        program(dir.path(), vec![fileset("none", 10, Size::Uniform(1, 1))], vec![phase(vec![group(FILES, &read())])]);
    std::fs::create_dir(dir.path().join("none")).unwrap();
    let (reason, partial) = Agent::with(&p).failed(0);
    assert!(reason.contains("open of none/0: No such file or directory"), "{reason}");
    let error = &partial.unwrap().errors.first[0];
    assert_eq!((error.step.as_str(), error.file.as_str(), error.errno), ("open", "none/0", libc::ENOENT));
}

#[test]
fn errors_below_the_limit_are_counted_and_borne() {
    let dir = folder();
    let set = fileset("t", 100, Size::Uniform(1, 1));
    let some = Group { count: Some(90), ..group(FILES, &create()) };
    let mut p = program(dir.path(), vec![set], vec![phase(vec![some]), phase(vec![group(FILES, &[Step::Stat])])]);
    p.error_limit = 10;
    let mut agent = Agent::with(&p);
    agent.done(0);
    let outcome = agent.done(1);
    assert_eq!((outcome.items, outcome.errors.count, outcome.errors.first.len()), (90, 10, 10));
    p.error_limit = 9;
    assert!(Agent::with(&p).failed(1).0.contains("10 operations failed (the limit is 9)"));
}

#[test]
fn a_phase_that_never_ends_is_ended_by_its_time_limit() {
    let dir = folder();
    let forever = Group { order: Order::Random, count: Some(u64::MAX / 2), ..group(FILES, &[Step::Stat]) };
    let set = fileset("t", 10, Size::Uniform(1, 1));
    let mut p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), phase(vec![forever])]);
    p.time_limit = 1;
    let mut agent = Agent::with(&p);
    agent.done(0);
    let (reason, partial) = agent.failed(1);
    assert!(reason.contains("time limit of 1 s"), "{reason}");
    assert!(partial.unwrap().items > 0);
    agent.done(0);
}

#[test]
fn a_full_disk_fails_the_phase_with_file_and_offset() {
    let Some(mount) = Mounted::tmpfs("size=1m") else {
        prerequisites::leave_out("root", "a small tmpfs could not be mounted");
        return;
    };
    let io = Io { create: true, ..Io::default() };
    let write = Group { io, ..group(blocks(65_536), &[Step::Write]) };
    let set = fileset("big", 0, Size::Total { bytes: 4 << 20, largest: 4 << 20 });
    let p = program(mount.0.path(), vec![set], vec![phase(vec![write])]);
    let (reason, partial) = Agent::with(&p).failed(0);
    assert!(reason.contains("write of big/0 at offset") && reason.contains("No space left"), "{reason}");
    let outcome = partial.unwrap();
    assert_eq!(outcome.errors.first[0].errno, libc::ENOSPC);
    assert!(outcome.durable_ns.is_none());
}

#[test]
fn a_killed_worker_is_a_failed_pass_and_the_agent_goes_on() {
    let dir = folder();
    let forever = Group { order: Order::Random, count: Some(u64::MAX / 2), ..group(FILES, &[Step::Stat]) };
    let set = fileset("t", 10, Size::Uniform(1, 1));
    let p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), phase(vec![forever])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    agent.send(&serde_json::to_string(&Request::Perform { phase: 1, pass: 0, slices: 1 }).unwrap());
    assert!(matches!(agent.receive(), Reply::Progress { items: 1.., .. }));
    let pid = agent.child.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let worker: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
    assert!(std::process::Command::new("kill").args(["-9", &worker.to_string()]).status().unwrap().success());
    loop {
        match agent.receive() {
            Reply::Progress { .. } => {}
            Reply::Failed { reason, killed, .. } => {
                assert!(reason.contains("killed by signal 9") && killed, "{reason}");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    agent.done(0);
}

#[test]
fn bad_requests_are_refused_with_a_reason() {
    let dir = folder();
    let refused = |p: Program, word: &str| match Agent::start().ask(&Request::Load(Box::new(p))) {
        Reply::Refused { reason } => assert!(reason.contains(word), "{reason}"),
        other => panic!("{other:?}"),
    };
    let with = |set: Fileset, group: Group| program(dir.path(), vec![set], vec![phase(vec![group])]);
    let set = || fileset("t", 10, Size::Uniform(1, 1));
    refused(with(fileset("../up", 1, Size::Uniform(0, 0)), group(FILES, &read())), "below the root");
    refused(with(fileset("/etc", 1, Size::Uniform(0, 0)), group(FILES, &read())), "below the root");
    refused(with(fileset("t", 1, Size::Uniform(9, 1)), group(FILES, &read())), "larger than the largest");
    refused(with(set(), group(Over::Files { fileset: 3 }, &read())), "fileset 3");
    refused(with(set(), group(FILES, &[])), "no steps");
    refused(with(set(), group(FILES, &[Step::Rename("../x".into())])), "name within a directory");
    refused(with(set(), Group { workers: 0, ..group(FILES, &read()) }), "workers");
    refused(with(set(), group(blocks(0), &[Step::Read])), "blocks of 0 bytes");
    refused(
        with(set(), Group { order: Order::Follow, ..group(FILES, &read()) }),
        "at least one must create files for them",
    );
    let mut agent = Agent::start();
    assert!(matches!(agent.perform(0), Reply::Refused { .. }));
    agent.send("{\"nonsense\": 1}");
    assert!(matches!(agent.receive(), Reply::Refused { .. }));
    assert!(matches!(agent.ask(&Request::MeasureCeiling), Reply::Ceiling(c) if c.record_ns > 0.0));
}

#[test]
fn nothing_measured_is_absent_and_not_zero() {
    let dir = folder();
    let none = Group { count: Some(0), ..group(FILES, &[Step::Stat]) };
    let p = program(dir.path(), vec![fileset("t", 10, Size::Uniform(1, 1))], vec![phase(vec![none])]);
    let outcome = Agent::with(&p).done(0);
    assert_eq!(outcome.items, 0);
    assert!(outcome.groups[0].latency.is_empty() && outcome.series.is_none() && outcome.durable_ns.is_none());
}

#[test]
fn a_command_that_is_killed_while_it_makes_data_safe_is_known_from_one_that_fails() {
    let dir = folder();
    let set = fileset("t", 10, Size::Uniform(1, 1));
    let mut p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())])]);
    // The second is the exit status by which `nsenter` reports a killed child.
    for (line, expected) in [("kill -9 $$", true), ("exit 137", true), ("exit 1", false)] {
        p.durable.command = ["sh", "-c", line].map(String::from).to_vec();
        match Agent::with(&p).perform(0) {
            Reply::Failed { killed, reason, .. } => assert_eq!(killed, expected, "{line}: {reason}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn data_that_cannot_be_made_safe_fails_the_phase_without_a_durable_time() {
    let dir = folder();
    let set = fileset("t", 10, Size::Uniform(1, 1));
    let mut p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())])]);
    p.time_limit = 2;
    let commands = [("false", "ended with exit status: 1"), ("no-such-program", "No such file"), ("yes", "time limit")];
    for (command, output) in commands {
        p.durable.command = vec![command.into()];
        let (reason, partial) = Agent::with(&p).failed(0);
        assert!(reason.contains("making the data durable failed") && reason.contains(output), "{reason}");
        assert!(partial.unwrap().durable_ns.is_none());
    }
    p.durable = Durable { syncfs: true, command: vec!["true".into()], flush: vec![dir.path().join("t/3")] };
    assert!(Agent::with(&p).done(0).durable_ns.is_some());
}

#[test]
fn a_phase_is_ended_by_its_own_time_limit_where_it_has_one() {
    let dir = folder();
    let forever = Group { order: Order::Random, count: Some(u64::MAX / 2), ..group(FILES, &[Step::Stat]) };
    let set = fileset("t", 10, Size::Uniform(1, 1));
    let hung = Phase { time_limit: 1, ..phase(vec![forever]) };
    let p = program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), hung]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    let (reason, _) = agent.failed(1);
    assert!(reason.contains("time limit of 1 s"), "{reason}");
}
