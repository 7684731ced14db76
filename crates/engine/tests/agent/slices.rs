//! Passes divided into slices: the same work, and nothing between two of them.
//! In: small programs, performed whole and in slices. Out: outcomes that agree, and identical files.

use crate::common::*;
use workload::message::{Reply, Request};
use workload::outcome::PhaseOutcome;
use workload::program::*;

/// Performs a phase in slices; the callback between two slices gets the number of finished ones.
fn cut(agent: &mut Agent, phase: usize, slices: u32, between: &mut dyn FnMut(u32)) -> PhaseOutcome {
    let mut reply = agent.ask(&Request::Perform { phase, pass: 0, slices });
    loop {
        match reply {
            Reply::Done(outcome) => return *outcome,
            Reply::Sliced { slices, .. } => between(slices),
            other => panic!("phase {phase}: {other:?}"),
        }
        reply = agent.ask(&Request::GoOn);
    }
}

fn workers(count: u32, group: Group) -> Group {
    Group { workers: count, ..group }
}

/// Groups over files and over blocks, by every interface and order.
fn groups() -> Vec<(Fileset, Vec<Group>)> {
    let by = |engine, steps: &[Step], order| {
        let create = steps == [Step::Write];
        Group { order, io: Io { engine, create, ..Io::default() }, ..group(blocks(4096), steps) }
    };
    let mut all = Vec::new();
    for count in [1, 2] {
        let files = [
            (create(), Order::InOrder),
            (read(), Order::Shuffled),
            (read(), Order::Readdir),
            (vec![Step::Unlink], Order::InOrder),
        ];
        let of_files = files.map(|(steps, order)| workers(count, Group { order, ..group(FILES, &steps) }));
        all.push((fileset("f", 100, Size::Uniform(3000, 3000)), of_files.to_vec()));
    }
    for engine in [Engine::Calls, Engine::IoUring(8), Engine::Mmap] {
        let of_blocks = [
            by(engine, &[Step::Write], Order::InOrder),
            by(engine, &[Step::Read], Order::Shuffled),
            workers(3, by(engine, &[Step::Read], Order::Strided)),
        ];
        all.push((fileset("b", 0, Size::Total { bytes: 300 << 12, largest: 1 << 20 }), of_blocks.to_vec()));
    }
    all
}

#[test]
fn in_slices_the_same_work_is_done_as_in_one_piece() {
    for (set, groups) in groups() {
        let phases: Vec<Phase> = groups.iter().map(|group| phase(vec![group.clone()])).collect();
        assert!(phases.iter().all(Phase::can_be_cut));
        let (whole, sliced) = (folder(), folder());
        let of = |dir: &tempfile::TempDir| Agent::with(&program(dir.path(), vec![set.clone()], phases.clone()));
        let mut agents = [of(&whole), of(&sliced)];
        for (at, group) in groups.iter().enumerate() {
            let mut between = 0;
            let one = agents[0].done(at);
            let cut = cut(&mut agents[1], at, 7, &mut |done| {
                between += 1;
                assert_eq!(done, between);
            });
            let counted =
                |of: &PhaseOutcome| (of.items, of.bytes_read, of.bytes_written, of.work_hash, of.errors.count);
            assert_eq!(counted(&cut), counted(&one), "{group:?}");
            let latencies = |of: &PhaseOutcome| {
                of.groups[0].latency.iter().map(|(name, all)| (name.clone(), all.count)).collect::<Vec<_>>()
            };
            assert_eq!(latencies(&cut), latencies(&one), "{group:?}");
            assert_eq!((one.slices_ns.len(), cut.slices_ns.len(), between), (0, 7, 6), "{group:?}");
            assert_eq!(one.durable_ns.is_some(), cut.durable_ns.is_some());
            let names = tree(whole.path());
            assert_eq!(names, tree(sliced.path()));
            let read = |dir: &tempfile::TempDir, name: &String| std::fs::read(dir.path().join(name)).expect("a file");
            assert!(names.iter().all(|name| read(&whole, name) == read(&sliced, name)), "{group:?}");
        }
    }
}

#[test]
fn a_slice_has_its_share_of_the_items_and_no_more() {
    let dir = folder();
    let p =
        program(dir.path(), vec![fileset("f", 100, Size::Uniform(10, 10))], vec![phase(vec![group(FILES, &create())])]);
    let mut seen = Vec::new();
    cut(&mut Agent::with(&p), 0, 8, &mut |_| seen.push(tree(dir.path()).len()));
    assert_eq!(seen, [12, 25, 37, 50, 62, 75, 87]);
}

#[test]
fn time_between_slices_is_none_of_the_pass() {
    let dir = folder();
    let p =
        program(dir.path(), vec![fileset("f", 100, Size::Uniform(10, 10))], vec![phase(vec![group(FILES, &create())])]);
    let mut agent = Agent::with(&p);
    let began = std::time::Instant::now();
    let mut apart = std::time::Duration::ZERO;
    let outcome = cut(&mut agent, 0, 4, &mut |_| {
        let began = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(50));
        apart += began.elapsed();
    });
    let most = (began.elapsed() - apart).as_nanos() as u64;
    let durable = outcome.durable_ns.expect("it writes");
    assert!(outcome.returned_ns <= durable && durable <= most, "{} {durable} {most}", outcome.returned_ns);
    assert!(outcome.slices_ns.iter().sum::<u64>() <= most);
    assert!(outcome.groups[0].latency["item"].count == 100);
}

#[test]
fn a_pass_that_is_not_gone_on_with_ends_and_the_agent_goes_on() {
    for end in [Request::Cancel, Request::Warm { phase: 0 }] {
        let dir = folder();
        let both = vec![phase(vec![group(FILES, &create())]), phase(vec![group(FILES, &read())])];
        let p = program(dir.path(), vec![fileset("f", 10, Size::Uniform(10, 10))], both);
        let mut agent = Agent::with(&p);
        assert!(matches!(
            agent.ask(&Request::Perform { phase: 0, pass: 0, slices: 2 }),
            Reply::Sliced { slices: 1, .. }
        ));
        let Reply::Failed { reason, partial, .. } = agent.ask(&end) else { panic!("it does not end") };
        assert!(reason.contains("between two slices"), "{reason}");
        assert_eq!(partial.map(|partial| partial.items), Some(5));
        assert_eq!(agent.done(0).items, 10);
        assert_eq!(agent.done(1).items, 10);
    }
}

#[test]
fn nothing_goes_on_where_no_pass_is_under_way() {
    let dir = folder();
    let p = program(dir.path(), vec![fileset("f", 1, Size::Uniform(1, 1))], vec![phase(vec![group(FILES, &create())])]);
    assert!(matches!(Agent::with(&p).ask(&Request::GoOn), Reply::Refused { .. }));
}
