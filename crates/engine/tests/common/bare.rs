//! Bare loops of system calls, for comparison with the engine on the same file.
//! In: a file and how to use it. Out: operations or bytes per second, counted without any of the engine's code.
//! They measure the device's real speed when other work delays the throttle's timer.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The ramp that this test's phases leave out of the count, and how long they count.
const RAMP: Duration = Duration::from_millis(700);
const MEASURE: Duration = Duration::from_secs(6);

/// Direct operations of `block` bytes at random offsets of a file, by `workers` in parallel: how many end per second.
pub fn bare_rate(file: &Path, write: bool, block: usize, workers: usize) -> f64 {
    let begin = Instant::now() + RAMP;
    let ended = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let ended = &ended;
            scope.spawn(move || one_worker(file, write, block, worker as u64, begin, ended));
        }
    });
    ended.into_inner() as f64 / MEASURE.as_secs_f64()
}

fn one_worker(file: &Path, write: bool, block: usize, worker: u64, begin: Instant, ended: &AtomicU64) {
    let opened = OpenOptions::new().read(true).write(write).custom_flags(libc::O_DIRECT).open(file).unwrap();
    let blocks = opened.metadata().unwrap().len() / block as u64;
    let mut room = vec![worker as u8; block + 4096];
    let start = room.as_ptr().align_offset(4096);
    let buffer = &mut room[start..start + block];
    let mut draw = worker + 1;
    loop {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (draw >> 33) % blocks * block as u64;
        if write {
            opened.write_all_at(buffer, offset).unwrap();
        } else {
            opened.read_exact_at(buffer, offset).unwrap();
        }
        let now = Instant::now();
        if now >= begin + MEASURE {
            return;
        }
        if now >= begin {
            ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Bytes per second of rewriting a whole file through the page cache, until durable.
pub fn bare_durable_rate(file: &Path) -> f64 {
    let opened = OpenOptions::new().write(true).open(file).unwrap();
    let bytes = opened.metadata().unwrap().len();
    let buffer = vec![7; 1 << 20];
    let began = Instant::now();
    for number in 0..bytes >> 20 {
        opened.write_all_at(&buffer, number << 20).unwrap();
    }
    opened.sync_all().unwrap();
    bytes as f64 / began.elapsed().as_secs_f64()
}
