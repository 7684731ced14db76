//! Hard disks against independent calculations: a device's results, and closed forms from the numbers of its description.
//! In: the shipped hard disks. Out: failures if the two differ by more than 2 %.

mod common;
#[path = "common/hard_disk.rs"]
mod hard_disk;

use common::{Numbers, agree, along, anywhere, changed, flushed, run, run_warm};
use disk_model::{Device, Kind, Request, named};
use hard_disk::Disk;
use std::time::Duration;

const DISKS: [&str; 3] = ["hdd-7200", "hdd-5400", "hdd-2008"];
const BLOCK: u64 = 4096;

fn each(check: impl Fn(&str, &Numbers, &Disk)) {
    for name in DISKS {
        let numbers = Numbers::of(name);
        check(name, &numbers, &Disk::of(&numbers));
    }
}

#[test]
fn random_reads_one_by_one_take_a_seek_half_a_turn_and_the_transfer() {
    each(|name, numbers, disk| {
        let found = run(named(name).expect("shipped"), 1, 20_000, anywhere(Kind::Read, BLOCK, numbers.capacity()));
        let wanted = disk.overhead + disk.mean_seek() + disk.turn / 2.0 + disk.mean_pass(8.0);
        agree(&format!("{name}, random reads, ms"), found.mean_ms(), wanted * 1e3);
    });
}

#[test]
fn random_writes_without_a_cache_settle_and_are_transferred_beforehand() {
    each(|name, numbers, disk| {
        let model = changed(name, &[("size_kib", "0")]);
        let found = run(&model, 1, 20_000, anywhere(Kind::Write, BLOCK, numbers.capacity()));
        let over = BLOCK as f64 / disk.rate;
        let wanted = disk.overhead + over + disk.mean_seek() + disk.settle + disk.turn / 2.0 + disk.mean_pass(8.0);
        agree(&format!("{name}, random writes without cache, ms"), found.mean_ms(), wanted * 1e3);
    });
}

#[test]
fn a_flush_after_each_write_waits_for_the_platter() {
    each(|name, numbers, disk| {
        let model = named(name).expect("shipped");
        let found = run(model, 1, 20_000, flushed(anywhere(Kind::Write, BLOCK, numbers.capacity())));
        let over = BLOCK as f64 / disk.rate;
        let wanted = disk.overhead + over + disk.mean_seek() + disk.settle + disk.turn / 2.0 + disk.mean_pass(8.0);
        agree(&format!("{name}, write and flush, ms"), 2.0 * found.mean_ms(), wanted * 1e3);
    });
}

#[test]
fn long_runs_go_at_the_rate_of_their_zone() {
    each(|name, _, disk| {
        let model = named(name).expect("shipped");
        for zone in [0, disk.zones as usize / 2] {
            let from = disk.zone_start(zone);
            for (kind, depth) in [(Kind::Read, 1), (Kind::Read, 8), (Kind::Write, 1), (Kind::Write, 8)] {
                let size = 128 << 10;
                let found = run_warm(model, depth, (1000, 4000), along(kind, size, from));
                let what = format!("{name}, {kind:?} along zone {zone}, depth {depth}, MB/s");
                agree(&what, found.a_second() * size as f64 / 1e6, disk.sustained(zone) / 1e6);
            }
        }
    });
}

/// If the head passes a block before the controller has decoded its command, blocks come from the buffer, each in the time of its command
/// and its transfer; otherwise the host keeps up with the head.
#[test]
fn runs_of_small_reads_go_at_the_rate_of_the_platter_or_of_the_host() {
    each(|name, _, disk| {
        let size = 16 << 10;
        let found = run_warm(named(name).expect("shipped"), 1, (1000, 20_000), along(Kind::Read, size, 0));
        let passes = size as f64 / (disk.tracks[0] as f64 * 512.0) * disk.turn;
        let host = size as f64 / (disk.overhead + size as f64 / disk.rate);
        let wanted = if passes < disk.overhead { disk.sustained(0).min(host) } else { disk.sustained(0) };
        agree(&format!("{name}, small reads along, MB/s"), found.a_second() * size as f64 / 1e6, wanted / 1e6);
    });
}

/// The buffer keeps what follows a read and nothing before it, so each block is a miss. From the start of a block to the end of the one
/// after it takes the time of two blocks; the head is at that end and waits for the rest of the turn. So one block costs a turn less the
/// time of a block.
#[test]
fn backward_runs_cost_a_turn_less_a_block() {
    each(|name, _, disk| {
        let size = 64 << 10;
        let top = 4000 * size;
        let backwards = (1..=4000).map(|at| Request { kind: Kind::Read, offset: top - at * size, length: size });
        let found = run(named(name).expect("shipped"), 1, 4000, backwards);
        let wanted = disk.turn - size as f64 / disk.sustained(0);
        agree(&format!("{name}, backwards, ms"), found.mean_ms(), wanted * 1e3);
    });
}

#[test]
fn data_that_was_read_ahead_arrives_at_the_rate_of_the_interface() {
    each(|name, numbers, disk| {
        let segment = numbers.disk("read_buffer", "segment_kib") as u64 * 1024;
        let mut device = Device::new(named(name).expect("shipped"), 3);
        let second = Duration::from_secs(1);
        common::drive(&mut device, second, 1, along(Kind::Read, BLOCK, 0).take(1));
        // A second later, read-ahead has filled the segment.
        let end = common::drive(
            &mut device,
            3 * second,
            1,
            along(Kind::Read, BLOCK, BLOCK).take((segment / BLOCK) as usize - 1),
        );
        let wanted = (disk.overhead + BLOCK as f64 / disk.rate) * (segment / BLOCK - 1) as f64;
        agree(&format!("{name}, from the buffer, ms"), (end - 3 * second).as_secs_f64() * 1e3, wanted * 1e3);
    });
}

#[test]
fn a_short_partition_at_the_outer_edge_is_faster_than_the_disk() {
    each(|name, numbers, disk| {
        let part = 2 << 30;
        let found = run(named(name).expect("shipped"), 1, 20_000, anywhere(Kind::Read, BLOCK, part));
        let whole = run(named(name).expect("shipped"), 1, 2_000, anywhere(Kind::Read, BLOCK, numbers.capacity()));
        // A stroke of these few cylinders, with all pairs equally likely; short seeks all have the first shape.
        let cylinders = part as f64 / (disk.tracks[0] * disk.heads * 512) as f64;
        let steps = 2000;
        let chance = |at: usize| 2.0 * (1.0 - (at as f64 + 0.5) / steps as f64) / steps as f64;
        let mean: f64 = (0..steps)
            .map(|at| {
                chance(at)
                    * disk
                        .seek((at as f64 + 0.5) / steps as f64 * cylinders)
                        .max(disk.switch * (1.0 - 1.0 / disk.heads as f64))
            })
            .sum();
        let wanted = disk.overhead + mean + disk.turn / 2.0 + disk.mean_pass(8.0);
        agree(&format!("{name}, random reads of 2 GiB, ms"), found.mean_ms(), wanted * 1e3);
        assert!(found.mean_ms() < 0.7 * whole.mean_ms());
    });
}

/// One request at a time, each after a pause in which the disk reads ahead as far as it can.
struct Slowly {
    device: Device,
    now: Duration,
}

impl Slowly {
    fn new(name: &str) -> Slowly {
        Slowly { device: Device::new(named(name).expect("shipped"), 3), now: Duration::ZERO }
    }

    /// Seconds that the request takes.
    fn ask(&mut self, kind: Kind, offset: u64, pause: f64) -> f64 {
        let begin = self.now + Duration::from_secs_f64(pause);
        self.now = common::drive(&mut self.device, begin, 1, std::iter::once(Request { kind, offset, length: BLOCK }));
        (self.now - begin).as_secs_f64()
    }
}

#[test]
fn where_reading_ahead_has_stopped_a_reader_that_goes_on_waits_half_a_turn() {
    each(|name, numbers, disk| {
        let segment = numbers.disk("read_buffer", "segment_kib") as u64 * 1024;
        let (mut slowly, count) = (Slowly::new(name), 2000);
        let mut sum = 0.0;
        for at in 0..count {
            let from = at * 8 * segment;
            slowly.ask(Kind::Read, from, 0.1);
            // The pauses differ by evenly spread shares of a turn.
            let pause = 0.3 + (at as f64 * 0.618).fract() * disk.turn;
            sum += slowly.ask(Kind::Read, from + BLOCK + segment, pause);
        }
        let pass = BLOCK as f64 / 512.0 / disk.tracks[0] as f64 * disk.turn;
        // If the track ends there, the head is switched first.
        let wanted = disk.overhead + disk.turn / 2.0 + pass;
        agree(&format!("{name}, where the buffer ends, ms"), sum / count as f64 * 1e3, wanted * 1e3);
    });
}

#[test]
fn the_buffer_keeps_the_streams_that_were_used_last() {
    each(|name, numbers, disk| {
        let segments = numbers.disk("read_buffer", "segments") as u64;
        let mut slowly = Slowly::new(name);
        let place = |stream: u64| (stream + 1) << 32;
        for stream in 0..=segments {
            slowly.ask(Kind::Read, place(stream), 0.5);
        }
        let hit = disk.overhead + BLOCK as f64 / disk.rate;
        for stream in 1..=segments {
            let taken = slowly.ask(Kind::Read, place(stream) + BLOCK, 0.5);
            agree(&format!("{name}, stream {stream}, ms"), taken * 1e3, hit * 1e3);
        }
        assert!(slowly.ask(Kind::Read, place(0) + BLOCK, 0.5) > 5.0 * hit, "the first made room for the last");
    });
}

#[test]
fn overwritten_data_is_read_anew() {
    each(|name, _, disk| {
        let mut slowly = Slowly::new(name);
        let hit = disk.overhead + BLOCK as f64 / disk.rate;
        slowly.ask(Kind::Read, 0, 0.5);
        agree(&format!("{name}, again, ms"), slowly.ask(Kind::Read, 0, 0.5) * 1e3, hit * 1e3);
        slowly.ask(Kind::Write, 0, 0.5);
        agree(&format!("{name}, from the write cache, ms"), slowly.ask(Kind::Read, 0, 0.0) * 1e3, hit * 1e3);
        slowly.ask(Kind::Write, 0, 0.5);
        slowly.ask(Kind::Flush, 0, 0.0);
        assert!(slowly.ask(Kind::Read, 0, 0.5) > 3.0 * hit, "{name}: what the buffer had is old");
    });
}
