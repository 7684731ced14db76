//! Work on blocks: every byte of every file, in any order, by every interface.
//! In: small programs. Out: files and outcomes.
//! No test here depends on how long anything takes.

use crate::common::*;
use workload::program::*;

const MIB: u64 = 1 << 20;

fn write(block: u64) -> Group {
    Group { io: Io { create: true, ..Io::default() }, ..group(blocks(block), &[Step::Write]) }
}

fn big(bytes: u64, largest: u64) -> Fileset {
    fileset("big", 0, Size::Total { bytes, largest })
}

#[test]
fn a_total_is_written_in_blocks_over_files_of_limited_size() {
    let dir = folder();
    let p = program(
        dir.path(),
        vec![big(5 * MIB + 100, 2 * MIB)],
        vec![phase(vec![write(MIB)]), phase(vec![group(blocks(8192), &[Step::Read])])],
    );
    let mut agent = Agent::with(&p);
    let written = agent.done(0);
    assert_eq!((written.items, written.bytes_written), (6, 5 * MIB + 100));
    let lengths: Vec<u64> = (0..3).map(|i| dir.path().join(format!("big/{i}")).metadata().unwrap().len()).collect();
    assert_eq!(lengths, [2 * MIB, 2 * MIB, MIB + 100]);
    let read = agent.done(1);
    assert_eq!((read.items, read.bytes_read), (5 * 128 + 1, 5 * MIB + 100));
}

#[test]
fn written_data_is_incompressible_and_never_repeats() {
    let dir = folder();
    let p = program(dir.path(), vec![big(4 * MIB, 4 * MIB)], vec![phase(vec![write(MIB)])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    let first = std::fs::read(dir.path().join("big/0")).unwrap();
    agent.done_pass(0, 1);
    let second = std::fs::read(dir.path().join("big/0")).unwrap();
    let mut seen = std::collections::HashSet::new();
    assert!(first.chunks(4096).chain(second.chunks(4096)).all(|block| seen.insert(block)));
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &first).unwrap();
    assert!(encoder.finish().unwrap().len() >= first.len());
}

#[test]
fn rewriting_in_place_changes_one_byte_of_every_block() {
    let dir = folder();
    let rewrite = group(blocks(8192), &[Step::Read, Step::Modify, Step::Write]);
    let p = program(dir.path(), vec![big(MIB, MIB)], vec![phase(vec![write(MIB)]), phase(vec![rewrite])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    let before = std::fs::read(dir.path().join("big/0")).unwrap();
    let outcome = agent.done(1);
    let after = std::fs::read(dir.path().join("big/0")).unwrap();
    let changed: Vec<usize> = (0..before.len()).filter(|i| before[*i] != after[*i]).collect();
    assert_eq!(changed, (0..128).map(|b| b * 8192).collect::<Vec<_>>());
    assert_eq!(outcome.groups[0].latency.keys().collect::<Vec<_>>(), ["item", "read", "write"]);
}

#[test]
fn seekers_write_back_their_share_of_what_they_read() {
    let dir = folder();
    let back = Step::Share(10, vec![Step::Modify, Step::Write]);
    let seek = Group {
        workers: 3,
        processes: true,
        order: Order::Random,
        count: Some(8_000),
        ..group(blocks(8192), &[Step::Read, back])
    };
    let p = program(dir.path(), vec![big(4 * MIB, MIB)], vec![phase(vec![write(MIB)]), phase(vec![seek])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    let outcome = agent.done(1);
    assert_eq!((outcome.items, outcome.bytes_read), (8_000, 8_000 * 8192));
    let share = outcome.bytes_written as f64 / outcome.bytes_read as f64;
    assert!((0.08..0.12).contains(&share), "{share}");
}

#[test]
fn characters_go_through_streams_one_by_one() {
    let dir = folder();
    let stdio = Io { stdio: true, ..Io::default() };
    let put = Group { io: Io { create: true, ..stdio }, ..group(blocks(1), &[Step::Write]) };
    let get = Group { io: stdio, ..group(blocks(1), &[Step::Read]) };
    let p = program(dir.path(), vec![big(100_001, 60_000)], vec![phase(vec![put]), phase(vec![get])]);
    let mut agent = Agent::with(&p);
    let written = agent.done(0);
    assert_eq!((written.items, written.bytes_written), (100_001, 100_001));
    assert_eq!(dir.path().join("big/1").metadata().unwrap().len(), 40_001);
    assert_eq!(agent.done(1).bytes_read, 100_001);
}

#[test]
fn characters_go_through_system_calls_one_by_one() {
    let dir = folder();
    let p = program(
        dir.path(),
        vec![big(10_000, 10_000)],
        vec![phase(vec![write(1)]), phase(vec![group(blocks(1), &[Step::Read])])],
    );
    let mut agent = Agent::with(&p);
    assert_eq!(agent.done(0).groups[0].latency["write"].count, 10_000);
    assert_eq!(agent.done(1).groups[0].latency["read"].count, 10_000);
    let content = std::fs::read(dir.path().join("big/0")).unwrap();
    let kinds: std::collections::HashSet<u8> = content.into_iter().collect();
    assert_eq!(kinds.len(), 256);
}

#[test]
fn syncs_between_operations_are_counted() {
    let dir = folder();
    let io = Io { create: true, sync_every: Some((SyncCall::Fdatasync, 4)), fsync_on_close: true, ..Io::default() };
    let p = program(
        dir.path(),
        vec![big(MIB, MIB)],
        vec![phase(vec![Group { io, ..group(blocks(65_536), &[Step::Write]) }])],
    );
    // Sixteen blocks: four syncs in between, and one at the close.
    assert_eq!(Agent::with(&p).done(0).groups[0].latency["sync"].count, 5);
}

#[test]
fn a_device_is_read_and_never_written() {
    let dir = folder();
    let image = dir.path().join("image");
    std::fs::write(&image, vec![7u8; 100_000]).unwrap();
    let over = Over::Device { block: 4096, length: 90_000 };
    let read = Group { order: Order::Shuffled, ..group(over, &[Step::Read]) };
    let mut p = program(dir.path(), vec![], vec![phase(vec![read])]);
    p.device = Some(image.clone());
    let outcome = Agent::with(&p).done(0);
    assert_eq!((outcome.items, outcome.bytes_read), (21, 21 * 4096));
    p.phases[0].groups[0].steps = vec![Step::Write];
    let mut agent = Agent::start();
    let reply = agent.ask(&workload::message::Request::Load(Box::new(p)));
    assert!(matches!(reply, workload::message::Reply::Refused { .. }), "{reply:?}");
    assert_eq!(std::fs::read(&image).unwrap(), vec![7u8; 100_000]);
}

#[test]
fn many_workers_write_one_file_without_cutting_it_off() {
    let dir = folder();
    let four = Group { workers: 4, ..write(4096) };
    let p = program(dir.path(), vec![big(2 * MIB, 2 * MIB)], vec![phase(vec![four])]);
    let mut agent = Agent::with(&p);
    for pass in 0..2 {
        assert_eq!(agent.done_pass(0, pass).items, 512);
        let content = std::fs::read(dir.path().join("big/0")).unwrap();
        assert!(content.chunks(4096).all(|block| block.iter().any(|b| *b != 0)) && content.len() == 2 << 20);
    }
}
