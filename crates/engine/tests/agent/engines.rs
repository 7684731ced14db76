//! The same work through every interface: calls, io_uring, mappings; mixes, ends by time, rates, verification.
//! In: small programs. Out: files and outcomes.
//! No test here depends on how long anything takes.

use crate::common::*;
use std::os::unix::fs::FileExt;
use workload::program::*;

const MIB: u64 = 1 << 20;
const ENGINES: [Engine; 3] = [Engine::Calls, Engine::IoUring(8), Engine::Mmap];

fn big(bytes: u64, largest: u64) -> Fileset {
    fileset("big", 0, Size::Total { bytes, largest })
}

fn by(engine: Engine, steps: &[Step], block: u64) -> Group {
    let create = steps == [Step::Write];
    Group { io: Io { engine, create, ..Io::default() }, ..group(blocks(block), steps) }
}

#[test]
fn every_engine_does_the_same_work() {
    let mut seen = Vec::new();
    for engine in ENGINES {
        let dir = folder();
        let shuffled = Group { order: Order::Shuffled, ..by(engine, &[Step::Read], 4096) };
        let p = program(
            dir.path(),
            vec![big(3 * MIB + 4097, MIB)],
            vec![phase(vec![by(engine, &[Step::Write], 65_536)]), phase(vec![shuffled])],
        );
        let mut agent = Agent::with(&p);
        let (written, read) = (agent.done(0), agent.done(1));
        assert_eq!((written.bytes_written, read.bytes_read), (3 * MIB + 4097, 3 * MIB + 4097), "{engine:?}");
        assert_eq!(read.groups[0].latency["read"].count, read.items);
        let content: Vec<Vec<u8>> =
            (0..4).map(|i| std::fs::read(dir.path().join(format!("big/{i}"))).unwrap()).collect();
        seen.push((written.work_hash, read.work_hash, content));
    }
    assert!(seen[0] == seen[1] && seen[1] == seen[2]);
}

#[test]
fn a_mix_reads_and_writes_in_the_share_that_was_asked_for() {
    for engine in ENGINES {
        let dir = folder();
        let mut mix =
            Group { order: Order::Random, count: Some(4_000), ..by(engine, &[Step::Read, Step::Write], 4096) };
        mix.io.read_percent = Some(70);
        let p = program(
            dir.path(),
            vec![big(MIB, MIB)],
            vec![phase(vec![by(Engine::Calls, &[Step::Write], MIB)]), phase(vec![mix])],
        );
        let mut agent = Agent::with(&p);
        agent.done(0);
        let outcome = agent.done(1);
        assert_eq!(outcome.items, 4_000);
        let share = outcome.bytes_read as f64 / (outcome.bytes_read + outcome.bytes_written) as f64;
        assert!((0.66..0.74).contains(&share), "{engine:?}: {share}");
    }
}

#[test]
fn a_phase_that_ends_by_time_counts_what_follows_the_ramp() {
    for engine in ENGINES {
        let dir = folder();
        let read = Group { order: Order::Shuffled, workers: 2, ..by(engine, &[Step::Read], 4096) };
        let mut timed = phase(vec![read]);
        let (measure_ns, ramp_ns) = (400_000_000, 200_000_000);
        timed.end = End::Time { measure_ns, ramp_ns };
        let p =
            program(dir.path(), vec![big(MIB, MIB)], vec![phase(vec![by(Engine::Calls, &[Step::Write], MIB)]), timed]);
        let mut agent = Agent::with(&p);
        agent.done(0);
        let outcome = agent.done(1);
        assert!(outcome.items > 256, "the work is begun again: {}", outcome.items);
        let under_way = outcome.groups[0].latency["read"].count - outcome.items;
        assert!(under_way <= 2 * 8, "{under_way} were under way at the end");
        assert_eq!(outcome.returned_ns, measure_ns);
        let series = outcome.series.unwrap();
        assert!(series.items.iter().sum::<u64>() <= outcome.items);
        let latency = &outcome.groups[0].latency["read"];
        assert!((1..=latency.count).contains(&series.calls.iter().sum::<u64>()), "{:?}", series.calls);
        assert!(series.longest_ns.iter().all(|longest| *longest <= latency.max_ns), "{:?}", series.longest_ns);
        for ((calls, ns), longest) in series.calls.iter().zip(&series.calls_ns).zip(&series.longest_ns) {
            assert!(ns >= longest && *ns <= calls * longest, "{calls} calls took {ns} ns, the longest {longest}");
        }
    }
}

#[test]
fn an_open_loop_keeps_its_rate_and_reports_it() {
    for (poisson, engine) in [(false, Engine::Calls), (true, Engine::Calls), (true, Engine::IoUring(4))] {
        let dir = folder();
        let rate = Some(Rate { per_second: 2_000.0, poisson });
        let read =
            Group { rate, workers: 2, order: Order::Random, count: Some(1_000), ..by(engine, &[Step::Read], 4096) };
        let p = program(
            dir.path(),
            vec![big(MIB, MIB)],
            vec![phase(vec![by(Engine::Calls, &[Step::Write], MIB)]), phase(vec![read])],
        );
        let mut agent = Agent::with(&p);
        agent.done(0);
        let group = &agent.done(1).groups[0];
        let pace = group.pace.as_ref().unwrap();
        assert_eq!(pace.asked_per_second, 2_000.0);
        // A loop cannot start operations before they are due, whatever the load of the machine.
        assert!(pace.started_per_second < 2_600.0, "{pace:?}");
        let (service, response) = (&group.latency["read"], &group.latency["response"]);
        assert_eq!((service.count, response.count), (1_000, 1_000));
        assert!(response.mean_ns >= service.mean_ns * 0.99 && service.min_ns > 0);
    }
}

#[test]
fn a_rate_beyond_reach_is_called_saturated() {
    let dir = folder();
    let rate = Some(Rate { per_second: 1e9, poisson: false });
    let read = Group { rate, order: Order::Random, count: Some(20_000), ..by(Engine::Calls, &[Step::Read], 4096) };
    let p = program(
        dir.path(),
        vec![big(MIB, MIB)],
        vec![phase(vec![by(Engine::Calls, &[Step::Write], MIB)]), phase(vec![read])],
    );
    let mut agent = Agent::with(&p);
    agent.done(0);
    let pace = agent.done(1).groups[0].pace.clone().unwrap();
    assert!(pace.saturated && pace.late > 200, "{pace:?}");
}

#[test]
fn a_flipped_byte_is_found_and_named() {
    for engine in ENGINES {
        let dir = folder();
        let mut set = big(2 * MIB, MIB);
        set.content.verify = true;
        let p = program(
            dir.path(),
            vec![set],
            vec![phase(vec![by(engine, &[Step::Write], 65_536)]), phase(vec![by(engine, &[Step::Read], 16_384)])],
        );
        let mut agent = Agent::with(&p);
        agent.done(0);
        let sound = agent.done(1).verified.unwrap();
        assert_eq!((sound.blocks, sound.wrong), (512, 0), "{engine:?}");
        let file = std::fs::File::options().read(true).write(true).open(dir.path().join("big/1")).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, 300_001).unwrap();
        file.write_all_at(&[byte[0] ^ 1], 300_001).unwrap();
        let found = agent.done(1).verified.unwrap();
        assert_eq!((found.blocks, found.wrong), (512, 1));
        let (block, within) = (300_001 / 4096 * 4096, 300_001 % 4096);
        let output = &found.first[0];
        assert!(output.contains(&format!("big/1 at offset {block}: byte {within} ")), "{output}");
    }
}

#[test]
fn whole_files_are_verified_too() {
    let dir = folder();
    let mut set = fileset("t", 50, Size::Uniform(10_000, 20_000));
    set.content.verify = true;
    let p =
        program(dir.path(), vec![set], vec![phase(vec![group(FILES, &create())]), phase(vec![group(FILES, &read())])]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    assert_eq!(agent.done(1).verified.unwrap().wrong, 0);
    let path = dir.path().join("t/7");
    let mut content = std::fs::read(&path).unwrap();
    content[8_192] ^= 0x80;
    std::fs::write(&path, content).unwrap();
    let found = agent.done(1).verified.unwrap();
    assert_eq!(found.wrong, 1);
    assert!(found.first[0].starts_with("t/7 at offset 8192: "), "{:?}", found.first);
}

#[test]
fn a_file_that_lost_its_end_is_an_error_through_every_engine() {
    for engine in ENGINES {
        let dir = folder();
        let p = program(
            dir.path(),
            vec![big(MIB, MIB)],
            vec![phase(vec![by(engine, &[Step::Write], 65_536)]), phase(vec![by(engine, &[Step::Read], 65_536)])],
        );
        let mut agent = Agent::with(&p);
        agent.done(0);
        std::fs::File::options().write(true).open(dir.path().join("big/0")).unwrap().set_len(500_000).unwrap();
        let (reason, _) = agent.failed(1);
        assert!(reason.contains("read of big/0 at offset"), "{engine:?}: {reason}");
    }
}

#[test]
fn a_mapping_on_a_full_disk_fails_with_its_place() {
    let Some(mount) = Mounted::tmpfs("size=1m") else {
        prerequisites::leave_out("root", "a small tmpfs could not be mounted");
        return;
    };
    let p = program(
        mount.0.path(),
        vec![big(4 * MIB, 4 * MIB)],
        vec![phase(vec![by(Engine::Mmap, &[Step::Write], 65_536)])],
    );
    let (reason, _) = Agent::with(&p).failed(0);
    assert!(reason.contains("SIGBUS") && reason.contains("of file 0"), "{reason}");
}

#[test]
fn a_pause_is_in_the_histogram_and_under_a_rate_in_all_that_was_due_meanwhile() {
    use workload::message::{Reply, Request};
    let dir = folder();
    let per_second = 1_000.0;
    let read = Group {
        rate: Some(Rate { per_second, poisson: false }),
        order: Order::Random,
        count: Some(2_500),
        ..by(Engine::Calls, &[Step::Read], 4096)
    };
    let p = program(
        dir.path(),
        vec![big(MIB, MIB)],
        vec![phase(vec![by(Engine::Calls, &[Step::Write], MIB)]), phase(vec![read])],
    );
    let mut agent = Agent::with(&p);
    agent.done(0);
    agent.send(&serde_json::to_string(&Request::Perform { phase: 1, pass: 0, slices: 1 }).unwrap());
    assert!(matches!(agent.receive(), Reply::Progress { .. }));
    let worker = agent.workers()[0].to_string();
    let signal =
        |name: &str| assert!(std::process::Command::new("kill").args([name, &worker]).status().unwrap().success());
    signal("-STOP");
    let stopped = std::time::Instant::now();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pause = stopped.elapsed();
    signal("-CONT");
    let outcome = loop {
        match agent.receive() {
            Reply::Progress { .. } => {}
            Reply::Done(outcome) => break *outcome,
            other => panic!("{other:?}"),
        }
    };
    let response = &outcome.groups[0].latency["response"];
    let hdr = decode(response);
    let pause_ns = pause.as_nanos() as u64;
    assert!(response.max_ns > pause_ns * 9 / 10, "the longest response was {} ns", response.max_ns);
    // Of the operations due in the first half of the pause, each waited for at least the other half.
    let waited = hdr.len() - hdr.count_between(0, pause_ns / 2);
    let due = (pause.as_secs_f64() / 2.0 * per_second) as u64;
    assert!(waited >= due * 9 / 10, "{waited} of {due} waited");
}

#[test]
fn a_pause_without_a_rate_is_in_one_latency() {
    use workload::message::{Reply, Request};
    let dir = folder();
    let mut timed = phase(vec![Group { order: Order::Random, ..by(Engine::Calls, &[Step::Read], 4096) }]);
    timed.end = End::Time { measure_ns: 2_000_000_000, ramp_ns: 0 };
    let p = program(dir.path(), vec![big(MIB, MIB)], vec![phase(vec![by(Engine::Calls, &[Step::Write], MIB)]), timed]);
    let mut agent = Agent::with(&p);
    agent.done(0);
    agent.send(&serde_json::to_string(&Request::Perform { phase: 1, pass: 0, slices: 1 }).unwrap());
    assert!(matches!(agent.receive(), Reply::Progress { .. }));
    let worker = agent.workers()[0].to_string();
    let signal =
        |name: &str| assert!(std::process::Command::new("kill").args([name, &worker]).status().unwrap().success());
    signal("-STOP");
    let stopped = std::time::Instant::now();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pause = stopped.elapsed().as_nanos() as u64;
    signal("-CONT");
    loop {
        match agent.receive() {
            Reply::Progress { .. } => {}
            Reply::Done(outcome) => {
                let read = &outcome.groups[0].latency["read"];
                assert!(read.max_ns > pause * 9 / 10, "the longest read was {} ns", read.max_ns);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}
