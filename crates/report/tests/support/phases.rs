//! Passes of the made-up run: consistent counts, times, histograms, series and evidence.
//! In: a phase, a contender's speed, random numbers. Out: phase records.

use super::draw::Draw;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use ledger::facts::PhaseFacts;
use ledger::outcome::{CpuTime, GroupOutcome, Histogram, PhaseOutcome, Series};
use ledger::program::{Cache, Figure};
use ledger::{Evidence, PhaseRecord};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;

pub fn passes(draw: &mut Draw, at: usize, facts: &PhaseFacts, label: &str, speed: f64) -> Vec<PhaseRecord> {
    let passes = if facts.name == "read-repeated" { 3 } else { 1 };
    (0..passes).map(|pass| record(draw, at, facts, label, speed, pass)).collect()
}

fn record(draw: &mut Draw, at: usize, facts: &PhaseFacts, label: &str, speed: f64, pass: u32) -> PhaseRecord {
    let writes = ["write", "create", "deliver", "delete"].iter().any(|word| facts.name.contains(word));
    // btrfs is made unstable at random reads, so that there is a cell with a wide range.
    let noise = if label == "btrfs" && facts.name == "read-random" { 0.14 } else { 0.025 };
    let own = match (label, facts.name.as_str()) {
        (_, "read-direct" | "read-repeated") => 1.0,
        ("btrfs", "delete") => 0.2,
        ("zfs", "create") => 0.11,
        _ => speed,
    };
    let rate = own * (1.0 + noise * draw.normal()).max(0.3);
    let (items, bytes) = match facts.figure {
        Figure::BytesPerSecond => (1024, 1024 * MIB),
        Figure::ItemsPerSecond | Figure::Seconds | Figure::Printed => (30_000, 30_000 * 1024),
    };
    let base = match facts.figure {
        Figure::BytesPerSecond if facts.name == "read-repeated" => 0.13e9,
        Figure::BytesPerSecond => 1.4e9,
        Figure::ItemsPerSecond => 0.9e9,
        Figure::Seconds | Figure::Printed => 2.6e9,
    };
    let returned_ns = (base / rate) as u64;
    let behind = if facts.name.contains("cached") || facts.name == "create" { 1.9 } else { 1.04 };
    let outcome = PhaseOutcome {
        phase: at,
        pass,
        items,
        bytes_read: if writes { 0 } else { bytes },
        bytes_written: if writes { bytes } else { 0 },
        returned_ns,
        durable_ns: writes.then_some((returned_ns as f64 * behind) as u64),
        cpu: CpuTime { user_ns: returned_ns / 12, system_ns: returned_ns / 3 },
        groups: vec![group(draw, items, bytes, returned_ns, writes)],
        series: Some(series(draw, items, bytes, returned_ns)),
        work_hash: 42,
        ..PhaseOutcome::default()
    };
    let evidence = evidence(facts, label, bytes, returned_ns, writes);
    PhaseRecord {
        name: facts.name.clone(),
        operation: facts.operation.clone(),
        cache: if facts.cache_label == "cold" { Cache::Cold } else { Cache::AsFound },
        figure: facts.figure,
        preparation: facts.preparation,
        outcome,
        evidence,
    }
}

fn evidence(facts: &PhaseFacts, label: &str, bytes: u64, returned_ns: u64, writes: bool) -> Evidence {
    let cold_read = facts.cache_label == "cold" && !writes;
    Evidence {
        device_read_bytes: Some(if writes { 0 } else { bytes }),
        device_written_bytes: Some(if writes { bytes } else { 0 }),
        system_cpu_ns: Some(returned_ns / 2),
        taken_bytes: writes.then_some(bytes + bytes / 4),
        taken_inodes: Some(1000),
        present_bytes: writes.then_some(bytes),
        observed_ns: returned_ns,
        steal: Some(0.002),
        from_cache: cold_read.then_some(if label == "zfs" { 0.31 } else { 0.0 }),
        of_generator: (facts.name == "write-cached" && label == "ext4").then_some(0.86),
        dropped: cold_read.then_some(label != "ext3"),
        ..Evidence::default()
    }
}

fn group(draw: &mut Draw, items: u64, bytes: u64, returned_ns: u64, writes: bool) -> GroupOutcome {
    GroupOutcome {
        name: "all".into(),
        items,
        returned_ns,
        bytes_read: if writes { 0 } else { bytes },
        bytes_written: if writes { bytes } else { 0 },
        workers_ns: vec![returned_ns],
        latency: BTreeMap::from([("item".into(), histogram(draw, items, returned_ns))]),
        lead_ns: 0,
        pace: None,
    }
}

fn histogram(draw: &mut Draw, items: u64, returned_ns: u64) -> Histogram {
    let mut recorded = hdrhistogram::Histogram::<u64>::new(3).expect("three digits");
    let typical = returned_ns as f64 / items as f64;
    for _ in 0..1500 {
        let tail = if draw.uniform() > 0.99 { 18.0 } else { 1.0 };
        let value = typical * 0.75 * (0.35 * draw.normal()).exp() * tail;
        recorded.record_n((value as u64).max(1), items / 1500 + 1).expect("an auto-resizing histogram takes any value");
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&recorded, &mut bytes).expect("it serialises into memory");
    Histogram {
        count: recorded.len(),
        min_ns: recorded.min(),
        max_ns: recorded.max(),
        mean_ns: recorded.mean(),
        hdr: BASE64_STANDARD.encode(bytes),
    }
}

fn series(draw: &mut Draw, items: u64, bytes: u64, returned_ns: u64) -> Series {
    let interval_ns = 100_000_000;
    let intervals = (returned_ns / interval_ns).max(1);
    let share = |draw: &mut Draw, whole: u64| {
        (0..intervals)
            .map(|_| (whole as f64 / intervals as f64 * (1.0 + 0.08 * draw.normal()).max(0.1)) as u64)
            .collect()
    };
    let (items, bytes): (Vec<u64>, Vec<u64>) = (share(draw, items), share(draw, bytes));
    let calls: Vec<u64> = items.iter().map(|items| 2 * items).collect();
    let calls_ns = calls.iter().map(|calls| calls * 1_000).collect();
    let longest_ns = calls.iter().map(|calls| calls * 10).collect();
    Series { interval_ns, items, bytes, calls, calls_ns, longest_ns }
}
