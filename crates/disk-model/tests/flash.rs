//! Flash disks against independent calculations: closed forms from the numbers of their descriptions, and a plain simulation in small steps of time.
//! In: the shipped flash disks. Out: failures if the two differ by more than 2 %.

mod common;

use common::{Numbers, agree, along, anywhere, changed, drive, flushed, run, run_warm};
use disk_model::{Device, Kind, Request, named};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

const DISKS: [&str; 3] = ["ssd-sata", "nvme-tlc", "nvme-qlc"];
const BLOCK: u64 = 4096;

/// Times in seconds, rates in bytes a second.
struct Chips {
    channels: usize,
    dies: usize,
    bus: f64,
    page: u64,
    read: f64,
    unit: f64,
    program: f64,
    slc_program: f64,
    slc: f64,
    rate: f64,
    command: f64,
    read_latency: f64,
    write_latency: f64,
    flush: f64,
}

impl Chips {
    fn of(name: &str) -> Chips {
        let numbers = Numbers::of(name);
        let us = |table, key| numbers.flash(table, key) / 1e6;
        let channels = numbers.flash("chips", "channels") as usize;
        Chips {
            channels,
            dies: channels * numbers.flash("chips", "dies_per_channel") as usize,
            bus: numbers.flash("chips", "bus_mb_s") * 1e6,
            page: numbers.flash("chips", "page_kib") as u64 * 1024,
            read: us("chips", "read_us"),
            unit: numbers.flash("chips", "program_kib") * 1024.0,
            program: us("chips", "program_us"),
            slc_program: us("slc", "program_us"),
            slc: numbers.flash("slc", "size_mib") * 1048576.0,
            rate: numbers.flash("interface", "rate_mb_s") * 1e6,
            command: us("interface", "command_us"),
            read_latency: us("interface", "read_us"),
            write_latency: us("interface", "write_us"),
            flush: us("write_buffer", "flush_us"),
        }
    }

    /// Bytes a second that all dies program: each takes a unit over its channel and programs it, and a channel carries one unit at a time.
    fn programs(&self, program: f64) -> f64 {
        let by_dies = self.dies as f64 * self.unit / (self.unit / self.bus + program);
        by_dies.min(self.channels as f64 * self.bus).min(self.rate)
    }

    /// Bytes a second that all dies read, in whole pages.
    fn reads(&self) -> f64 {
        let by_dies = self.dies as f64 * self.page as f64 / self.read;
        by_dies.min(self.channels as f64 * self.bus).min(self.rate)
    }
}

#[test]
fn random_reads_one_by_one_take_each_stage_once() {
    for name in DISKS {
        let chips = Chips::of(name);
        let all = anywhere(Kind::Read, BLOCK, Numbers::of(name).capacity());
        let found = run(named(name).expect("shipped"), 1, 10_000, all).mean_ms();
        let over = BLOCK as f64 / chips.bus + BLOCK as f64 / chips.rate;
        agree(
            &format!("{name}, random reads, ms"),
            found,
            (chips.command + chips.read_latency + chips.read + over) * 1e3,
        );
    }
}

/// Stage of a read in the plain simulation, and since when or until when.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Latency(f64),
    Die,
    Sensing(f64),
    Channel,
    Crossing(f64),
    Interface,
    Leaving(f64),
}

/// Reads a second at this depth, in steps of 50 ns: each die, channel and the interface serve one read at a time, in order of arrival.
fn reads(chips: &Chips, capacity: u64, depth: usize, seconds: f64) -> f64 {
    let mut dice = ChaCha8Rng::seed_from_u64(5);
    let step = 50e-9;
    let (bus, over) = (BLOCK as f64 / chips.bus, BLOCK as f64 / chips.rate);
    let die =
        |dice: &mut ChaCha8Rng| (dice.random_range(0..capacity / BLOCK) * BLOCK / chips.page) as usize % chips.dies;
    // (die, stage, start of its wait), and when each die, channel and the interface are free.
    let mut controller = 0.0;
    let mut all: Vec<(usize, At, f64)> = Vec::new();
    let mut come = |now: f64, dice: &mut ChaCha8Rng| {
        controller = f64::max(controller, now) + chips.command;
        (die(dice), At::Latency(controller + chips.read_latency), now)
    };
    (0..depth).for_each(|_| all.push(come(0.0, &mut dice)));
    // Since when each is free; the end of time while it is busy.
    let (mut dies, mut channels, mut link) = (vec![0.0; chips.dies], vec![0.0; chips.channels], 0.0);
    let (mut now, mut done) = (0.0, 0);
    while now < seconds {
        for read in &mut all {
            let channel = read.0 % chips.channels;
            let (next, at) = match read.1 {
                At::Latency(until) if until <= now => (At::Die, until),
                At::Sensing(until) if until <= now => {
                    dies[read.0] = until;
                    (At::Channel, until)
                }
                At::Crossing(until) if until <= now => {
                    channels[channel] = until;
                    (At::Interface, until)
                }
                At::Leaving(until) if until <= now => {
                    (link, done) = (until, done + 1);
                    *read = come(until, &mut dice);
                    continue;
                }
                stage => (stage, read.2),
            };
            (read.1, read.2) = (next, at);
        }
        // The read that waits longest starts, at the earliest possible moment.
        all.sort_by(|one, other| one.2.total_cmp(&other.2));
        for read in &mut all {
            let channel = read.0 % chips.channels;
            let (free, takes, stage): (&mut f64, f64, fn(f64) -> At) = match read.1 {
                At::Die => (&mut dies[read.0], chips.read, At::Sensing),
                At::Channel => (&mut channels[channel], bus, At::Crossing),
                At::Interface => (&mut link, over, At::Leaving),
                _ => continue,
            };
            if *free < f64::MAX {
                (read.1, *free) = (stage(free.max(read.2) + takes), f64::MAX);
            }
        }
        now += step;
    }
    f64::from(done) / seconds
}

#[test]
fn random_reads_at_depth_are_as_many_as_a_plain_simulation_has() {
    for name in DISKS {
        let (chips, capacity) = (Chips::of(name), Numbers::of(name).capacity());
        for depth in [4, 32] {
            let found = run(named(name).expect("shipped"), depth, 20_000, anywhere(Kind::Read, BLOCK, capacity));
            let wanted = reads(&chips, capacity, depth, 0.04);
            agree(&format!("{name}, random reads at depth {depth}, a second"), found.a_second(), wanted);
        }
    }
}

#[test]
fn runs_of_reads_go_at_the_rate_of_the_narrowest_place() {
    for name in DISKS {
        let size = 128 << 10;
        let found = run(named(name).expect("shipped"), 32, 20_000, along(Kind::Read, size, 0));
        agree(
            &format!("{name}, reads along, MB/s"),
            found.a_second() * size as f64 / 1e6,
            Chips::of(name).reads() / 1e6,
        );
    }
}

#[test]
fn writes_go_at_the_rate_of_slc_until_it_is_full_and_then_at_that_of_the_chips() {
    for name in DISKS {
        let (chips, model) = (Chips::of(name), named(name).expect("shipped"));
        let size = 1 << 20;
        let mut requests = along(Kind::Write, size, 0);
        let mut device = Device::new(model, 1);
        let blocks = (chips.slc / size as f64) as usize;
        let filled = drive(&mut device, Duration::ZERO, 8, requests.by_ref().take(blocks));
        let what = format!("{name}, writes along, SLC, MB/s");
        agree(&what, blocks as f64 * size as f64 / 1e6 / filled.as_secs_f64(), chips.programs(chips.slc_program) / 1e6);
        let begin = drive(&mut device, filled, 8, requests.by_ref().take(200));
        let end = drive(&mut device, begin, 8, requests.by_ref().take(2000));
        let found = 2000.0 * size as f64 / 1e6 / (end - begin).as_secs_f64();
        agree(&format!("{name}, writes along, SLC full, MB/s"), found, chips.programs(chips.program) / 1e6);
    }
}

#[test]
fn idle_time_frees_the_slc_cache_at_its_rate() {
    let (chips, model) = (Chips::of("ssd-sata"), changed("ssd-sata", &[("size_mib", "1024")]));
    let numbers = Numbers::of("ssd-sata");
    let mut requests = along(Kind::Write, 1 << 20, 0);
    let mut device = Device::new(&model, 1);
    let filled = drive(&mut device, Duration::ZERO, 8, requests.by_ref().take(1100));
    // Long enough to free 512 MiB.
    let idle = numbers.flash("slc", "idle_ms") / 1e3 + 512.0 * 1.048576 / numbers.flash("slc", "fold_mb_s");
    let begin = filled + Duration::from_secs_f64(idle);
    let fast = drive(&mut device, begin, 8, requests.by_ref().take(512));
    agree("the first 512 MiB, s", (fast - begin).as_secs_f64(), 512.0 * 1048576.0 / chips.programs(chips.slc_program));
    let warm = drive(&mut device, fast, 8, requests.by_ref().take(100));
    let slow = drive(&mut device, warm, 8, requests.by_ref().take(512));
    agree("the next, s", (slow - warm).as_secs_f64(), 512.0 * 1048576.0 / chips.programs(chips.program));
}

#[test]
fn writes_are_answered_from_the_buffer() {
    for name in DISKS {
        let chips = Chips::of(name);
        let found =
            run(named(name).expect("shipped"), 1, 10_000, anywhere(Kind::Write, BLOCK, Numbers::of(name).capacity()));
        let wanted = chips.command + chips.write_latency + BLOCK as f64 / chips.rate;
        agree(&format!("{name}, random writes, ms"), found.mean_ms(), wanted * 1e3);
    }
}

#[test]
fn a_flush_after_each_write_waits_for_the_program() {
    for name in DISKS {
        let (chips, capacity) = (Chips::of(name), Numbers::of(name).capacity());
        let write = chips.command + chips.write_latency + BLOCK as f64 / chips.rate;
        let found = run(named(name).expect("shipped"), 1, 5_000, flushed(anywhere(Kind::Write, BLOCK, capacity)));
        let wanted = write + BLOCK as f64 / chips.bus + chips.slc_program + chips.flush;
        agree(&format!("{name}, write and flush, ms"), 2.0 * found.mean_ms(), wanted * 1e3);
        let safe = changed(name, &[("power_loss_protection", "true"), ("flush_us", "20")]);
        let found = run(&safe, 1, 5_000, flushed(anywhere(Kind::Write, BLOCK, capacity)));
        agree(
            &format!("{name} with protection, write and flush, ms"),
            2.0 * found.mean_ms(),
            (write + chips.command + 20e-6) * 1e3,
        );
    }
}

#[test]
fn a_read_waits_for_a_program_or_suspends_it() {
    let numbers = Numbers::of("nvme-qlc");
    let (chips, size) = (Chips::of("nvme-qlc"), 64 << 10);
    let keys = [("channels", "1"), ("dies_per_channel", "1"), ("size_mib", "0")];
    let read = Request { kind: Kind::Read, offset: 0, length: BLOCK };
    let write = Request { kind: Kind::Write, offset: 0, length: size };
    let alone = chips.command + chips.read_latency + chips.read + BLOCK as f64 / chips.bus + BLOCK as f64 / chips.rate;
    let time = |suspend: &str| {
        let mut device = Device::new(&changed("nvme-qlc", &[keys[0], keys[1], keys[2], ("suspend_us", suspend)]), 1);
        let begun = drive(&mut device, Duration::ZERO, 1, std::iter::once(write));
        let read_at = begun + Duration::from_millis(1);
        (drive(&mut device, read_at, 1, std::iter::once(read)) - read_at).as_secs_f64()
    };
    agree("a read that suspends, ms", time("30") * 1e3, (alone + 30e-6) * 1e3);
    let until_end = size as f64 / chips.bus + chips.program - 1e-3;
    agree("a read that waits, ms", time("0") * 1e3, (until_end + alone - chips.command - chips.read_latency) * 1e3);
    assert!(numbers.flash("chips", "suspend_us") == 0.0, "this disk does not suspend");
}

#[test]
fn write_amplification_makes_direct_writes_slower_by_its_number() {
    let size = 1 << 20;
    let rate = |number| {
        let model = changed("nvme-qlc", &[("size_mib", "0"), ("write_amplification", number)]);
        run_warm(&model, 8, (100, 500), along(Kind::Write, size, 0)).a_second()
    };
    agree("half as fast", rate("1.0") / rate("2.0"), 2.0);
}
