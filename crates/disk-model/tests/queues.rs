//! Queues of hard disks against a plain simulation: a list of pending requests, all of which are tried, in floating point.
//! In: the shipped hard disks. Out: failures if the device and the plain simulation differ by more than 2 %.

mod common;
#[path = "common/hard_disk.rs"]
mod hard_disk;

use common::{Numbers, agree, anywhere, changed, run, run_warm};
use disk_model::{Kind, named};
use hard_disk::Disk;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const BLOCK: u64 = 4096;

/// A disk's head.
struct Head<'a> {
    disk: &'a Disk,
    cylinder: f64,
    surface: u64,
}

impl Head<'_> {
    /// Seconds until it is at the start of a sector.
    fn reach(&self, now: f64, sector: u64, is_write: bool) -> f64 {
        let (cylinder, surface, angle, _) = self.disk.locate(sector);
        let mut moved = self.disk.seek((cylinder - self.cylinder).abs());
        if is_write && cylinder != self.cylinder {
            moved += self.disk.settle;
        }
        if surface != self.surface {
            moved = moved.max(self.disk.switch);
        }
        let at = ((now + moved) / self.disk.turn).fract();
        moved + (angle - at).rem_euclid(1.0) * self.disk.turn
    }

    fn work(&mut self, now: f64, sector: u64, is_write: bool) -> f64 {
        let reached = now + self.reach(now, sector, is_write);
        let (cylinder, surface, _, sectors) = self.disk.locate(sector);
        (self.cylinder, self.surface) = (cylinder, surface);
        reached + 8.0 / sectors * self.disk.turn
    }
}

fn shortest<'a, T>(all: impl Iterator<Item = (usize, &'a T)>, time: impl Fn(&T) -> f64) -> Option<usize>
where
    T: 'a,
{
    all.min_by(|one, other| time(one.1).total_cmp(&time(other.1))).map(|(at, _)| at)
}

/// Reads a second with this many pending: next is the one reached soonest, or one that has waited too long.
fn reads(disk: &Disk, capacity: u64, depth: usize, count: usize) -> f64 {
    let mut dice = ChaCha8Rng::seed_from_u64(99);
    let mut new = |at: f64| (dice.random_range(0..capacity / BLOCK) * 8, at);
    let mut head = Head { disk, cylinder: 0.0, surface: 0 };
    let mut pending: Vec<(u64, f64)> = (0..depth).map(|_| new(0.0)).collect();
    let mut now = 0.0;
    for _ in 0..count {
        // The controller decodes commands while the head works; only a new arrival is not ready.
        let ready = |read: &(u64, f64)| read.1 + disk.overhead <= now + 1e-12;
        if !pending.iter().any(ready) {
            now = pending.iter().map(|read| read.1 + disk.overhead).fold(f64::MAX, f64::min);
        }
        let ready = |read: &(u64, f64)| read.1 + disk.overhead <= now + 1e-12;
        let late = pending.iter().position(|read| ready(read) && now - read.1 > disk.age_limit);
        let choice = late.or_else(|| {
            shortest(pending.iter().enumerate().filter(|(_, read)| ready(read)), |read| head.reach(now, read.0, false))
        });
        let read = pending.remove(choice.expect("one is ready"));
        now = head.work(now, read.0, false);
        pending.push(new(now));
    }
    count as f64 / now
}

#[test]
fn random_reads_at_depth_are_as_many_as_a_plain_simulation_has() {
    for name in ["hdd-7200", "hdd-5400", "hdd-2008"] {
        let numbers = Numbers::of(name);
        let disk = Disk::of(&numbers);
        for depth in [2, 4, 8, 16, 32] {
            let count = 20_000;
            let all = anywhere(Kind::Read, BLOCK, numbers.capacity());
            let found = run(named(name).expect("shipped"), depth, count, all);
            let wanted = reads(&disk, numbers.capacity(), depth, count as usize);
            agree(&format!("{name}, random reads at depth {depth}, a second"), found.a_second(), wanted);
        }
    }
}

#[test]
fn more_than_the_queue_wait_outside_and_bring_nothing() {
    let capacity = Numbers::of("hdd-7200").capacity();
    let model = changed("hdd-7200", &[("queue", "4")]);
    let rate = |depth| run(&model, depth, 10_000, anywhere(Kind::Read, BLOCK, capacity)).a_second();
    agree("64 requests for a queue of 4", rate(64), rate(4));
}

/// Cached writes a second with a full cache: of the nearest by address on both sides, next is the one reached soonest, or the oldest if it
/// is too old. The host always has the next write ready.
fn cached_writes(numbers: &Numbers, disk: &Disk, count: usize) -> f64 {
    let mut dice = ChaCha8Rng::seed_from_u64(98);
    let pieces = numbers.disk("write_cache", "pieces") as usize;
    let half = numbers.disk("write_cache", "window") as usize / 2;
    let capacity = numbers.capacity();
    let mut head = Head { disk, cylinder: 0.0, surface: 0 };
    let mut cached: Vec<(u64, f64)> = (0..pieces).map(|_| (dice.random_range(0..capacity / BLOCK) * 8, 0.0)).collect();
    let (mut now, mut begin) = (0.0, 0.0);
    for done in 0..2 * count {
        if done == count {
            begin = now;
        }
        cached.sort_by_key(|write| write.0);
        let here = cached.partition_point(|write| disk.locate(write.0).0 < head.cylinder);
        let window = here.saturating_sub(half)..(here + half).min(cached.len());
        let oldest = shortest(cached.iter().enumerate(), |write| write.1).expect("it is full");
        let nearest = shortest(cached.iter().enumerate().filter(|(at, _)| window.contains(at)), |write| {
            head.reach(now, write.0, true)
        });
        let choice = if now - cached[oldest].1 > disk.cache_age_limit { oldest } else { nearest.expect("it is full") };
        let write = cached.swap_remove(choice);
        now = head.work(now, write.0, true);
        // The next one was transferred as soon as there was space.
        cached.push((dice.random_range(0..capacity / BLOCK) * 8, now));
    }
    count as f64 / (now - begin)
}

#[test]
fn random_writes_into_a_full_cache_go_as_fast_as_they_are_written_out() {
    for name in ["hdd-7200", "hdd-5400", "hdd-2008"] {
        let numbers = Numbers::of(name);
        let wanted = cached_writes(&numbers, &Disk::of(&numbers), 10_000);
        let all = anywhere(Kind::Write, BLOCK, numbers.capacity());
        let found = run_warm(named(name).expect("shipped"), 4, (2_000, 20_000), all);
        agree(&format!("{name}, random writes with the cache full, a second"), found.a_second(), wanted);
    }
}

#[test]
fn writes_that_fit_into_the_cache_are_answered_at_the_rate_of_the_interface() {
    let numbers = Numbers::of("hdd-7200");
    let disk = Disk::of(&numbers);
    let found = run(named("hdd-7200").expect("shipped"), 4, 200, anywhere(Kind::Write, BLOCK, numbers.capacity()));
    agree("200 writes, ms", found.mean_ms(), (disk.overhead + BLOCK as f64 / disk.rate) * 1e3);
}

#[test]
fn reads_go_before_cached_writes_but_not_for_ever() {
    use disk_model::{Device, Request};
    use std::time::Duration;
    let numbers = Numbers::of("hdd-7200");
    let mut reads = anywhere(Kind::Read, BLOCK, numbers.capacity());
    let mut device = Device::new(named("hdd-7200").expect("shipped"), 5);
    let mut now = Duration::from_millis(1);
    // The head is busy already.
    device.submit(Duration::ZERO, Request { kind: Kind::Read, offset: 1 << 39, length: BLOCK });
    device.submit(now, Request { kind: Kind::Write, offset: 1 << 30, length: BLOCK });
    let flush = device.submit(now, Request { kind: Kind::Flush, offset: 0, length: 0 });
    for read in reads.by_ref().take(8) {
        device.submit(now, read);
    }
    let mut before = 0;
    loop {
        now = device.next().expect("a request waits");
        for (ticket, _) in device.advance(now) {
            if ticket == flush {
                let most = numbers.disk("write_cache", "reads_in_row") as u32;
                assert!((1..=most + 1).contains(&before), "{before} reads went before it");
                return;
            }
            before += u32::from(ticket > flush);
            device.submit(now, reads.next().expect("endless"));
        }
        assert!(before < 1000, "the flush starves");
    }
}
