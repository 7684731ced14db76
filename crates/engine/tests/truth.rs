//! The engine tells the truth about a device whose speed is known.
//! In: a throttled device. Out: the rates that the engine reports, held against the throttle's.
//! Rates are shares of what the throttle was told, so no test here knows how fast the machine is.

mod common;
#[path = "common/throttled.rs"]
mod throttled;

use common::*;
use std::sync::Mutex;
use throttled::Throttled;
use workload::outcome::PhaseOutcome;
use workload::program::*;

const MIB: u64 = 1 << 20;

/// Bytes a second that the device is limited to.
const RATE: u64 = 50 * MIB;

/// Operations a second.
const OPERATIONS: u64 = 500;

/// Two throttled devices at a time would take each other's processor time.
static ONE: Mutex<()> = Mutex::new(());

fn big(mebibytes: u64) -> Fileset {
    let bytes = mebibytes * MIB;
    fileset("big", 0, Size::Total { bytes, largest: bytes })
}

fn direct(engine: Engine, block: u64, step: Step) -> Group {
    let io = Io { direct: true, engine, ..Io::default() };
    Group { io, order: Order::Shuffled, ..group(blocks(block), &[step]) }
}

/// The throttle lets a burst through at first, so counting begins after a ramp.
fn for_a_while(group: Group) -> Phase {
    Phase { end: End::Time { measure_ns: 6_000_000_000, ramp_ns: 700_000_000 }, ..phase(vec![group]) }
}

fn lay_out() -> Phase {
    let io = Io { create: true, ..Io::default() };
    phase(vec![Group { io, ..group(blocks(MIB), &[Step::Write]) }])
}

fn off(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

/// Rates of direct reads and writes through `engine` are within `bound` of what the device is limited to.
fn direct_rates(engine: Engine, bound: f64) {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let Some(device) = Throttled::new(512) else { return };
    let large = |step| direct(engine, 16_384, step);
    let small = |step| direct(engine, 4096, step);
    let phases = [large(Step::Read), large(Step::Write), small(Step::Read), small(Step::Write)];
    let all = [lay_out()].into_iter().chain(phases.map(for_a_while)).collect();
    let mut agent = Agent::with(&program(device.mount.path(), vec![big(256)], all));
    agent.done(0);
    let limits = [("read_bps", RATE), ("write_bps", RATE), ("read_iops", OPERATIONS), ("write_iops", OPERATIONS)];
    for (number, (kind, limit)) in limits.iter().enumerate() {
        within(bound, *limit as f64, &format!("{kind} through {engine:?}"), || {
            device.limit(kind, *limit);
            let outcome = agent.done(number + 1);
            device.lift();
            assert!(outcome.remarks.is_empty(), "{:?}", outcome.remarks);
            plausible(&outcome);
            let bytes = outcome.bytes_read + outcome.bytes_written;
            let amount = if kind.ends_with("bps") { bytes } else { outcome.items };
            amount as f64 * 1e9 / outcome.returned_ns as f64
        });
    }
}

/// What is measured comes within `bound` of what is expected. Other work on this machine can hold the throttle's timer up,
/// and time lost so is not given back; an error of the engine's own would be there every time.
fn within(bound: f64, expected: f64, what: &str, mut measure: impl FnMut() -> f64) {
    let mut found = Vec::new();
    for _ in 0..6 {
        let rate = measure();
        eprintln!("{what}: {rate:.1} of {expected}, off by {:.3} %", off(rate, expected) * 100.0);
        if off(rate, expected) < bound {
            return;
        }
        found.push(rate);
    }
    if busy() {
        eprintln!("{what}: not judged, other work on this machine holds the throttle's timer up: {found:?}");
        return;
    }
    panic!("{what}: {found:?} instead of {expected}");
}

/// Whether more than this test is at work on this machine.
fn busy() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().and_then(|text| text.parse::<f64>().ok()).is_some_and(|load| load > 1.0)
}

/// No latency is below what a clock can tell, none is missing, none is longer than the phase.
fn plausible(outcome: &PhaseOutcome) {
    let item = &outcome.groups[0].latency["item"];
    // What was under way at the end is in the histogram, but not in the rate.
    assert!((outcome.items..=outcome.items + 32).contains(&item.count));
    assert!(item.min_ns > 100, "a direct operation of {} ns", item.min_ns);
    assert!(item.max_ns < outcome.returned_ns);
}

#[test]
fn direct_rates_at_depth_one_are_those_of_the_device() {
    direct_rates(Engine::Calls, 0.001);
}

#[test]
fn direct_rates_at_depth_32_are_those_of_the_device() {
    direct_rates(Engine::IoUring(32), 0.005);
}

#[test]
fn the_durable_rate_of_buffered_writes_is_that_of_the_device_and_the_returned_one_is_kept_apart() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let Some(device) = Throttled::new(512) else { return };
    let mut p = program(device.mount.path(), vec![big(256)], vec![lay_out(), lay_out()]);
    p.durable.flush = vec![device.node()];
    let mut agent = Agent::with(&p);
    // Once without a limit, so that what the filesystem writes for itself is small against the data.
    agent.done(0);
    let rate = RATE / 2;
    within(0.02, rate as f64, "durable", || {
        device.limit("write_bps", rate);
        let outcome = agent.done(1);
        device.lift();
        let per_second = |ns: u64| outcome.bytes_written as f64 * 1e9 / ns as f64;
        assert!(
            per_second(outcome.returned_ns) > 2.0 * rate as f64,
            "buffered writes return long before they are durable"
        );
        per_second(outcome.durable_ns.unwrap())
    });
}

#[test]
fn under_a_rate_beyond_the_device_response_times_grow_and_the_rate_is_called_saturated() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let Some(device) = Throttled::new(128) else { return };
    for engine in [Engine::Calls, Engine::IoUring(32)] {
        let seconds = 2;
        let rate = Some(Rate { per_second: 2.0 * OPERATIONS as f64, poisson: false });
        let read = Group { rate, count: Some(seconds * OPERATIONS), ..direct(engine, 4096, Step::Read) };
        let phases = vec![lay_out(), phase(vec![read])];
        let mut agent = Agent::with(&program(device.mount.path(), vec![big(64)], phases));
        agent.done(0);
        device.limit("read_iops", OPERATIONS);
        let outcome = agent.done(1);
        device.lift();
        let group = &outcome.groups[0];
        assert!(group.pace.as_ref().unwrap().saturated);
        // The last operation was due after half the time that the device took for all of them.
        let half = outcome.returned_ns / 2;
        let longest = group.latency["response"].max_ns;
        assert!(off(longest as f64, half as f64) < 0.2, "{engine:?}: {longest} instead of {half}");
        assert!(group.latency["read"].min_ns > 100);
    }
}

#[test]
fn an_operation_that_the_device_refuses_is_named() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let Some(device) = Throttled::new(64) else { return };
    let (reason, outcome) = Agent::with(&program(device.mount.path(), vec![big(256)], vec![lay_out()])).failed(0);
    assert!(reason.contains("No space left on device"), "{reason}");
    let error = &outcome.unwrap().errors.first[0];
    assert_eq!((error.step.as_str(), error.file.as_str()), ("write", "big/0"));
    assert!(error.offset.unwrap() > 0);
}

#[test]
fn the_engine_and_fio_agree_on_a_device_of_known_speed() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    if std::process::Command::new("fio").arg("--version").output().is_err() {
        eprintln!("skipped: fio is not installed");
        return;
    }
    let Some(device) = Throttled::new(512) else { return };
    let reads = for_a_while(direct(Engine::Calls, 16_384, Step::Read));
    let mut agent = Agent::with(&program(device.mount.path(), vec![big(256)], vec![lay_out(), reads]));
    agent.done(0);
    device.limit("read_bps", RATE);
    let fio = fio_bytes_per_second(&device.mount.path().join("big/0"));
    within(0.01, fio, "bakeoff beside fio", || {
        let outcome = agent.done(1);
        outcome.bytes_read as f64 * 1e9 / outcome.returned_ns as f64
    });
    device.lift();
}

fn fio_bytes_per_second(file: &std::path::Path) -> f64 {
    let words = "--name=a --rw=randread --bs=16k --direct=1 --ioengine=psync --time_based --runtime=6 --ramp_time=1";
    let output = std::process::Command::new("fio")
        .args(words.split(' '))
        .arg(format!("--filename={}", file.display()))
        .arg("--output-format=json")
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    json["jobs"][0]["read"]["bw_bytes"].as_f64().unwrap()
}
