//! The engine measures a device of known speed correctly.
//! In: a throttled device. Out: the rates that the engine reports, compared with the throttle's.
//! Rates are shares of the throttle's setting, so no test here depends on the speed of the machine.

#[path = "common/bare.rs"]
mod bare;
mod common;
#[path = "common/throttled.rs"]
mod throttled;

use bare::{bare_durable_rate, bare_rate};
use common::*;
use prerequisites::needs;
use std::path::Path;
use std::sync::Mutex;
use throttled::Throttled;
use workload::outcome::PhaseOutcome;
use workload::program::*;

const MIB: u64 = 1 << 20;

/// Limit of the device in bytes per second.
const RATE: u64 = 50 * MIB;

/// Limit in operations per second.
const OPERATIONS: u64 = 500;

/// Two throttled devices at a time would compete for processor time.
static ONE: Mutex<()> = Mutex::new(());

fn big(mebibytes: u64) -> Fileset {
    let bytes = mebibytes * MIB;
    fileset("big", 0, Size::Total { bytes, largest: bytes })
}

fn direct(engine: Engine, block: u64, step: Step) -> Group {
    let io = Io { direct: true, engine, ..Io::default() };
    Group { io, order: Order::Shuffled, ..group(blocks(block), &[step]) }
}

/// The throttle allows an initial burst, so counting begins after a ramp.
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

/// Rates of direct reads and writes through `engine` are within `bound` of the device's limits.
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
    let file = device.mount.path().join("big/0");
    let workers = if let Engine::IoUring(depth) = engine { depth as usize } else { 1 };
    for (number, (kind, limit)) in limits.iter().enumerate() {
        device.limit(kind, *limit);
        let bytes = kind.ends_with("bps");
        let ours = || {
            let outcome = agent.done(number + 1);
            assert!(outcome.remarks.is_empty(), "{:?}", outcome.remarks);
            plausible(&outcome);
            let moved = outcome.bytes_read + outcome.bytes_written;
            let amount = if bytes { moved } else { outcome.items };
            amount as f64 * 1e9 / outcome.returned_ns as f64
        };
        let block = if bytes { 16_384 } else { 4096 };
        let theirs =
            || bare_rate(&file, kind.starts_with("write"), block, workers) * if bytes { block as f64 } else { 1.0 };
        within(bound, Some(*limit as f64), &format!("{kind} through {engine:?}"), ours, theirs);
        device.lift();
    }
}

/// The engine's figure is within `bound` of the device's setting, or of the rate of a bare loop of system calls (or a rival) at the same
/// time. The throttle's timer drifts when other work delays it, for the engine and for the loop alike; an error of the engine would occur
/// every time and only there.
fn within(
    bound: f64,
    output: Option<f64>,
    what: &str,
    mut measure: impl FnMut() -> f64,
    mut beside: impl FnMut() -> f64,
) {
    let mut references: Vec<f64> = output.into_iter().collect();
    let mut found = Vec::new();
    for _ in 0..6 {
        if references.is_empty() {
            references.push(beside());
        }
        let rate = measure();
        found.push(rate);
        if lies_within(rate, &references, bound) {
            eprintln!("{what}: {rate:.1} beside {references:.1?}");
            return;
        }
        references.push(beside());
        if lies_within(rate, &references, bound) {
            eprintln!("{what}: {rate:.1} beside {references:.1?}");
            return;
        }
    }
    panic!("{what}: {found:?} beside {references:?}");
}

/// Whether a rate is within the references, extended by `bound` at either end.
fn lies_within(rate: f64, references: &[f64], bound: f64) -> bool {
    let least = references.iter().copied().fold(f64::INFINITY, f64::min);
    let most = references.iter().copied().fold(0.0, f64::max);
    least * (1.0 - bound) <= rate && rate <= most * (1.0 + bound)
}

/// No latency is below the clock's resolution, none is missing, none is longer than the phase.
fn plausible(outcome: &PhaseOutcome) {
    let item = &outcome.groups[0].latency["item"];
    // Operations running at the end are in the histogram, but not in the rate.
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
    // Once without a limit, so that the filesystem's own writes are small against the data.
    agent.done(0);
    let rate = RATE / 2;
    device.limit("write_bps", rate);
    let ours = || {
        let outcome = agent.done(1);
        let per_second = |ns: u64| outcome.bytes_written as f64 * 1e9 / ns as f64;
        assert!(
            per_second(outcome.returned_ns) > 2.0 * rate as f64,
            "buffered writes return long before they are durable"
        );
        per_second(outcome.durable_ns.unwrap())
    };
    let file = device.mount.path().join("big/0");
    within(0.02, Some(rate as f64), "durable", ours, || bare_durable_rate(&file));
    device.lift();
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
    needs!(fio);
    let Some(device) = Throttled::new(512) else { return };
    let reads = for_a_while(direct(Engine::Calls, 16_384, Step::Read));
    let mut agent = Agent::with(&program(device.mount.path(), vec![big(256)], vec![lay_out(), reads]));
    agent.done(0);
    device.limit("read_bps", RATE);
    let ours = || {
        let outcome = agent.done(1);
        outcome.bytes_read as f64 * 1e9 / outcome.returned_ns as f64
    };
    let file = device.mount.path().join("big/0");
    within(0.01, None, "bakeoff beside fio", ours, || fio_bytes_per_second(&file));
    device.lift();
}

#[test]
fn the_engine_and_bonnie_agree_on_a_device_of_known_speed() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    needs!(bonnie);
    let Some(device) = Throttled::new(512) else { return };
    // As bonnie++ -D -f writes: 8 KiB at a time past the page cache, in order, until durable. Its reads are served from the page cache
    // anyway, so only writes can be compared.
    let in_order = Group { order: Order::InOrder, ..direct(Engine::Calls, 8192, Step::Write) };
    let phases = vec![lay_out(), phase(vec![in_order])];
    let mut agent = Agent::with(&program(device.mount.path(), vec![big(BONNIE_MIB)], phases));
    agent.done(0);
    device.limit("write_bps", RATE);
    let ours = || {
        let outcome = agent.done(1);
        outcome.bytes_written as f64 * 1e9 / outcome.durable_ns.unwrap() as f64
    };
    within(0.01, None, "bakeoff beside bonnie++", ours, || bonnie_bytes_per_second(device.mount.path()));
    device.lift();
}

fn fio_bytes_per_second(file: &Path) -> f64 {
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

/// Size of the file of bonnie++ and the engine.
const BONNIE_MIB: u64 = 192;

/// Field of the block write in the CSV of bonnie++ 2.00 (format 1.98), in whole KiB per second.
const BONNIE_WRITE: usize = 11;

fn bonnie_bytes_per_second(directory: &Path) -> f64 {
    let output = std::process::Command::new("bonnie++")
        .args(["-D", "-f", "-q", "-n", "0", "-r", "96", "-u", "root", "-s"])
        .arg(BONNIE_MIB.to_string())
        .arg("-d")
        .arg(directory)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line =
        text.lines().rfind(|line| line.starts_with("1.98,")).unwrap_or_else(|| panic!("no line of CSV in {text}"));
    line.split(',').nth(BONNIE_WRITE).unwrap().parse::<f64>().unwrap_or_else(|_| panic!("{line}")) * 1024.0
}
