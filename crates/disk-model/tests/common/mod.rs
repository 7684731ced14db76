//! Shared by the tests of disks: a host that keeps a number of requests in progress, and the numbers of a description, parsed without the
//! crate's code.
//! In: a model's name and keys. Out: numbers, and rates.
#![allow(dead_code, reason = "each check uses a part of it")]

use disk_model::{Device, Kind, Model, Request};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// The file of a shipped model.
pub fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../disks/{name}.toml"));
    std::fs::read_to_string(path).expect("it is shipped")
}

/// Numbers of a description.
pub struct Numbers(toml::Table);

impl Numbers {
    pub fn of(name: &str) -> Numbers {
        Numbers(text(name).parse().expect("it is TOML"))
    }

    /// The number at `table.key`.
    pub fn get(&self, sort: &str, table: &str, key: &str) -> f64 {
        let number = &self.0[sort][table][key][0];
        number.as_float().or(number.as_integer().map(|whole| whole as f64)).expect("a number")
    }

    pub fn disk(&self, table: &str, key: &str) -> f64 {
        self.get("hard-disk", table, key)
    }

    pub fn flash(&self, table: &str, key: &str) -> f64 {
        self.get("flash", table, key)
    }

    pub fn capacity(&self) -> u64 {
        self.0["capacity_bytes"][0].as_integer().expect("a number") as u64
    }
}

/// The model with some lines of its file replaced, each identified by its key.
pub fn changed(name: &str, keys: &[(&str, &str)]) -> Model {
    let mut text = text(name);
    for (key, value) in keys {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).expect("the key").to_string();
        text = text.replace(&line, &format!("{key} = [{value}, \"for a test\"]"));
    }
    Model::parse(name, &text).expect("it is still good")
}

/// Result of a run.
pub struct Outcome {
    pub requests: u64,
    pub seconds: f64,
}

impl Outcome {
    pub fn a_second(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    pub fn mean_ms(&self) -> f64 {
        self.seconds * 1e3 / self.requests as f64
    }
}

/// A host that keeps `depth` requests in progress. Returns when the last one completed.
pub fn drive(
    device: &mut Device,
    from: Duration,
    depth: usize,
    mut requests: impl Iterator<Item = Request>,
) -> Duration {
    let mut under_way = HashMap::new();
    for request in requests.by_ref().take(depth) {
        under_way.insert(device.submit(from, request), from);
    }
    let mut now = from;
    while !under_way.is_empty() {
        let next = device.next().expect("a request waits");
        assert!(next >= now, "time goes on: {next:?} after {now:?}");
        now = next;
        for (ticket, at) in device.advance(now) {
            assert!(at <= now, "nothing is done before its time");
            assert!(
                at >= under_way.remove(&ticket).expect("it was asked for, and only once"),
                "an answer to no question"
            );
            if let Some(request) = requests.next() {
                under_way.insert(device.submit(now, request), now);
            }
        }
    }
    now
}

/// The same, from time zero.
pub fn run(model: &Model, depth: usize, count: u64, requests: impl Iterator<Item = Request>) -> Outcome {
    let mut device = Device::new(model, 7);
    let end = drive(&mut device, Duration::ZERO, depth, requests.take(count as usize));
    Outcome { requests: count, seconds: end.as_secs_f64() }
}

/// The same, after a warm-up.
pub fn run_warm(
    model: &Model,
    depth: usize,
    (warm, count): (u64, u64),
    mut requests: impl Iterator<Item = Request>,
) -> Outcome {
    let mut device = Device::new(model, 7);
    let begin = drive(&mut device, Duration::ZERO, depth, requests.by_ref().take(warm as usize));
    let end = drive(&mut device, begin, depth, requests.take(count as usize));
    Outcome { requests: count, seconds: (end - begin).as_secs_f64() }
}

/// Blocks of one size at random offsets.
pub fn anywhere(kind: Kind, size: u64, capacity: u64) -> impl Iterator<Item = Request> {
    let mut dice = ChaCha8Rng::seed_from_u64(size ^ capacity);
    let blocks = capacity / size;
    std::iter::repeat_with(move || Request { kind, offset: dice.random_range(0..blocks) * size, length: size })
}

/// Sequential blocks.
pub fn along(kind: Kind, size: u64, from: u64) -> impl Iterator<Item = Request> {
    (0..).map(move |at| Request { kind, offset: from + at * size, length: size })
}

/// Each followed by a flush.
pub fn flushed(requests: impl Iterator<Item = Request>) -> impl Iterator<Item = Request> {
    requests.flat_map(|request| [request, Request { kind: Kind::Flush, offset: 0, length: 0 }])
}

/// Fails if two numbers differ by more than 2 %.
pub fn agree(what: &str, found: f64, wanted: f64) {
    let ratio = found / wanted;
    println!("{what}: {found:.3}, expected {wanted:.3}, ratio {ratio:.4}");
    assert!((ratio - 1.0).abs() < 0.02, "{what}: {found}, and {wanted} was worked out");
}
