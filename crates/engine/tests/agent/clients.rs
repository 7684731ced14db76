//! One engine among several: which files are its own, what it reads of others, and when it starts.

use crate::common::*;
use workload::message::{Reply, Request};
use workload::program::*;

const RECORD: u64 = 5_000;

/// The same program for each of two clients.
fn two(program: &Program) -> [Agent; 2] {
    [0, 1].map(|number| {
        let client = Some(Client { number, of: 2, shift: 1 });
        Agent::with(&Program { client, ..program.clone() })
    })
}

/// Both perform a phase together.
fn together(agents: &mut [Agent; 2], phase: usize) -> [Reply; 2] {
    for agent in agents.iter_mut() {
        assert_eq!(agent.ask(&Request::PerformTogether { phase, pass: 0 }), Reply::Ready);
    }
    agents.each_mut().map(|agent| agent.ask(&Request::Start { at_ns: 0 }))
}

fn outcomes(agents: &mut [Agent; 2], phase: usize) -> [workload::outcome::PhaseOutcome; 2] {
    together(agents, phase).map(|reply| match reply {
        Reply::Done(outcome) => *outcome,
        other => panic!("{other:?}"),
    })
}

fn own_files(root: &std::path::Path) -> Program {
    let mut set = fileset("own", 6, Size::Uniform(10_000, 10_000));
    set.per_worker = true;
    set.content.verify = true;
    let over = Over::Files { fileset: 0 };
    let both = |steps: &[Step]| Group { workers: 2, processes: true, ..group(over, steps) };
    let write = both(&[Step::Create, Step::Write, Step::Close]);
    let read = Group { shifted: true, ..both(&[Step::Open, Step::Read, Step::Close]) };
    program(root, vec![set], vec![phase(vec![write]), phase(vec![read])])
}

#[test]
fn each_client_has_files_of_its_own_and_reads_those_of_the_other() {
    let folder = folder();
    let mut agents = two(&own_files(folder.path()));
    for outcome in outcomes(&mut agents, 0) {
        assert_eq!((outcome.items, outcome.bytes_written), (6, 60_000));
        assert_eq!(outcome.groups[0].workers_ns.len(), 1, "its own worker and no other's");
        assert!(outcome.began_ns.is_some_and(|ns| ns > 0));
    }
    for owner in ["own/0", "own/1"] {
        assert_eq!(std::fs::read_dir(folder.path().join(owner)).expect("listed").count(), 6, "{owner}");
    }
    for outcome in outcomes(&mut agents, 1) {
        let verified = outcome.verified.expect("verified");
        assert_eq!((outcome.bytes_read, verified.blocks, verified.wrong), (60_000, 18, 0));
    }
    // The second client's files are gone: the first misses them, and the second does not.
    std::fs::remove_dir_all(folder.path().join("own/1")).expect("removed");
    let [first, second] = together(&mut agents, 1);
    assert!(matches!(&first, Reply::Failed { .. }), "{first:?}");
    assert!(matches!(&second, Reply::Done(_)), "{second:?}");
}

#[test]
fn records_of_one_file_lie_in_turn_and_a_wrong_one_is_found_by_its_reader() {
    let folder = folder();
    let mut set = fileset("one", 1, Size::Total { bytes: 20 * RECORD, largest: 20 * RECORD });
    set.content.verify = true;
    let over = Over::Blocks { fileset: 0, block: RECORD, length: None };
    let both = |steps: &[Step]| Group { workers: 2, processes: true, order: Order::Strided, ..group(over, steps) };
    let write = Group { io: Io { create: true, ..Io::default() }, ..both(&[Step::Write]) };
    let read = Group { shifted: true, ..both(&[Step::Read]) };
    let mut agents = two(&program(folder.path(), vec![set], vec![phase(vec![write]), phase(vec![read])]));
    for outcome in outcomes(&mut agents, 0) {
        assert_eq!((outcome.items, outcome.bytes_written), (10, 10 * RECORD));
    }
    let file = folder.path().join("one/0");
    let mut bytes = std::fs::read(&file).expect("read");
    assert_eq!(bytes.len() as u64, 20 * RECORD);
    let wrong = |agents: &mut [Agent; 2]| outcomes(agents, 1).map(|outcome| outcome.verified.expect("verified").wrong);
    assert_eq!(wrong(&mut agents), [0, 0]);
    // In the third record, which is the first client's and read by the second.
    bytes[(2 * RECORD + 4_000) as usize] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    assert_eq!(wrong(&mut agents), [0, 1]);
}

#[test]
fn a_phase_that_is_not_to_begin_leaves_the_engine_ready_for_another() {
    let folder = folder();
    let mut agents = two(&own_files(folder.path()));
    let agent = &mut agents[0];
    assert_eq!(agent.ask(&Request::PerformTogether { phase: 0, pass: 0 }), Reply::Ready);
    assert!(matches!(agent.ask(&Request::Cancel), Reply::Failed { .. }));
    assert!(matches!(agent.ask(&Request::Start { at_ns: 0 }), Reply::Refused { .. }));
    assert_eq!(outcomes(&mut agents, 0).map(|outcome| outcome.items), [6, 6]);
}
