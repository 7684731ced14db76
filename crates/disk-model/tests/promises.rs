//! Properties of every disk under any requests: reproducible with a seed, times in order, each request answered once, no work after the
//! announced time.
//! In: all shipped models, and random requests. Out: failures.

mod common;

use common::{changed, text};
use disk_model::{Device, Kind, Model, ModelError, Request, Ticket, named, shipped};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::time::Duration;

const KINDS: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Flush, Kind::Discard];

/// Random requests at random times, and random calls of `advance`.
fn mixed(model: &Model, seed: u64, count: usize) -> Vec<(Ticket, Duration)> {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let mut device = Device::new(model, seed);
    let (mut now, mut done, mut submitted) = (Duration::ZERO, Vec::new(), BTreeMap::new());
    let span = if dice.random_bool(0.5) { 1 << 24 } else { 2 * model.capacity() };
    for _ in 0..count {
        let kind = KINDS[[0, 0, 0, 1, 1, 1, 2, 3][dice.random_range(0..8)]];
        let length = [0, 512, 1000, 4096, 65_536, 1 << 20, 40 << 20][dice.random_range(0..7)];
        let offset = if dice.random_bool(0.3) { 0 } else { dice.random_range(0..span) };
        submitted.insert(device.submit(now, Request { kind, offset, length }), now);
        if dice.random_bool(0.7) {
            let most = [1_000, 100_000, 20_000_000, 300_000_000][dice.random_range(0..4)];
            let before = now;
            now += Duration::from_nanos(dice.random_range(0..most));
            done.extend(look(&mut device, before, now));
        }
    }
    while let Some(next) = device.next() {
        now = now.max(next);
        done.extend(device.advance(now));
    }
    assert_eq!(device.advance(now + Duration::from_secs(3600)), []);
    assert!(done.windows(2).all(|two| two[0].1 <= two[1].1), "times are in order");
    for (ticket, at) in &done {
        assert!(*at >= submitted.remove(ticket).expect("it was asked for, and answered once"));
    }
    assert!(submitted.is_empty(), "{} were never answered", submitted.len());
    done
}

/// Nothing completes before the announced time.
fn look(device: &mut Device, before: Duration, now: Duration) -> Vec<(Ticket, Duration)> {
    let mut early = Vec::new();
    while let Some(next) = device.next().filter(|next| *next <= now) {
        if let Some(last) = next.checked_sub(Duration::from_nanos(1)).filter(|last| *last >= before) {
            assert_eq!(device.advance(last), [], "done before {next:?}");
        }
        early.extend(device.advance(next));
    }
    assert_eq!(device.advance(now), [], "next() reports all that is done");
    early
}

#[test]
fn every_request_is_answered_once_in_order_and_not_before_the_announced_time() {
    for model in shipped() {
        for seed in 0..6 {
            mixed(model, seed, 400);
        }
        println!("{}", model.name());
    }
}

#[test]
fn disks_with_the_least_of_everything_answer_too() {
    let least = [("command_us", "0"), ("queue", "1")];
    let hard_disk =
        [("pieces", "1"), ("window", "2"), ("idle_ms", "0"), ("segments", "1"), ("segment_kib", "4"), ("zones", "1")];
    let flash =
        [("channels", "1"), ("dies_per_channel", "1"), ("size_kib", "128"), ("size_mib", "0"), ("fold_mb_s", "0")];
    for model in shipped() {
        let own = if model.is_rotational() { &hard_disk[..] } else { &flash[..] };
        let keys: Vec<(&str, &str)> = least.iter().chain(own).copied().collect();
        for seed in 0..4 {
            mixed(&changed(model.name(), &keys), seed, 200);
        }
    }
    mixed(&changed("hdd-7200", &[("size_kib", "0"), ("head_switch_ms", "0"), ("write_settle_ms", "0")]), 1, 200);
}

#[test]
fn the_end_of_time_is_a_time() {
    for model in shipped() {
        let mut device = Device::new(model, 1);
        let ask = |kind| Request { kind, offset: u64::MAX, length: 1 << 26 };
        let tickets = KINDS.map(|kind| device.submit(Duration::ZERO, ask(kind)));
        assert_eq!(device.advance(Duration::MAX).len(), tickets.len());
        device.submit(Duration::MAX, Request { kind: Kind::Read, offset: 0, length: 4096 });
        assert!(device.next().is_some(), "{}", model.name());
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_something_else() {
    for model in shipped() {
        assert_eq!(mixed(model, 11, 200), mixed(model, 11, 200), "{}", model.name());
    }
    let first = |seed| {
        let mut device = Device::new(named("hdd-7200").expect("shipped"), seed);
        device.submit(Duration::ZERO, Request { kind: Kind::Read, offset: 1 << 35, length: 4096 });
        device.advance(Duration::from_secs(1))
    };
    assert_ne!(first(1), first(2), "platters stand somewhere else");
}

#[test]
fn the_result_does_not_depend_on_how_often_the_device_is_polled() {
    for model in shipped() {
        let times = |steps: bool| {
            let mut device = Device::new(model, 3);
            let mut done = Vec::new();
            for at in 0..200u64 {
                let kind = KINDS[(at % 3) as usize];
                device.submit(Duration::from_micros(at * 700), Request { kind, offset: at * 7_000_000, length: 8192 });
                if steps {
                    (0..7).for_each(|step| done.extend(device.advance(Duration::from_micros(at * 700 + step * 100))));
                }
            }
            done.extend(device.advance(Duration::from_secs(60)));
            done
        };
        assert_eq!(times(true), times(false), "{}", model.name());
    }
}

#[test]
fn a_cache_takes_no_more_than_it_holds() {
    // No head writes two pieces in two milliseconds, so at most the cached pieces and these two can complete.
    let model = changed("hdd-7200", &[("pieces", "20"), ("command_us", "1")]);
    let mut device = Device::new(&model, 1);
    for at in 0..30 {
        device.submit(Duration::ZERO, Request { kind: Kind::Write, offset: at << 32, length: 4096 });
    }
    let answered = device.advance(Duration::from_millis(2)).len();
    assert!((20..=22).contains(&answered), "{answered}");
    let small = changed("hdd-7200", &[("size_kib", "64"), ("command_us", "1")]);
    let mut device = Device::new(&small, 1);
    for at in 0..30 {
        device.submit(Duration::ZERO, Request { kind: Kind::Write, offset: at << 32, length: 16 << 10 });
    }
    let answered = device.advance(Duration::from_millis(2)).len();
    assert!((4..=6).contains(&answered), "{answered}");
    let flash = changed("nvme-qlc", &[("size_kib", "1024"), ("queue", "1024"), ("command_us", "0")]);
    let mut device = Device::new(&flash, 1);
    for at in 0..1000 {
        device.submit(Duration::ZERO, Request { kind: Kind::Write, offset: at << 20, length: 4096 });
    }
    // By then not even an SLC program has ended.
    let answered = device.advance(Duration::from_micros(560)).len();
    assert!((200..=256).contains(&answered), "{answered}");
}

#[test]
fn a_flush_covers_what_was_answered_before_it() {
    for model in shipped() {
        let mut device = Device::new(model, 2);
        let last = (0..20u64)
            .map(|at| device.submit(Duration::ZERO, Request { kind: Kind::Write, offset: at << 30, length: 4096 }))
            .last();
        let answered = device.advance(Duration::from_millis(20));
        assert!(answered.iter().any(|(ticket, _)| Some(*ticket) == last), "{}", model.name());
        let at = Duration::from_millis(20);
        let flush = device.submit(at, Request { kind: Kind::Flush, offset: 0, length: 0 });
        let done = device.advance(Duration::from_secs(10));
        assert_eq!(done.len(), 1);
        assert_eq!(done[0].0, flush);
        // Each of eighteen distant pieces costs a seek; the programs of a flash disk run in parallel.
        let least = if model.is_rotational() { Duration::from_millis(18) } else { Duration::from_micros(500) };
        assert!(done[0].1 - at > least, "{}: {:?}", model.name(), done[0].1 - at);
        let again = device.submit(Duration::from_secs(10), Request { kind: Kind::Flush, offset: 0, length: 0 });
        let second = device.advance(Duration::from_secs(20));
        assert_eq!(second[0].0, again);
        let nothing_to_do = Duration::from_micros(1100);
        assert!(
            second[0].1 - Duration::from_secs(10) < nothing_to_do,
            "{}: {:?}",
            model.name(),
            second[0].1 - Duration::from_secs(10)
        );
    }
}

fn error(name: &str, from: &str, to: &str) -> ModelError {
    let good = text(name);
    assert!(good.contains(from), "{from}");
    Model::parse("mine.toml", &good.replacen(from, to, 1)).expect_err("it is not good")
}

#[test]
fn an_error_in_a_description_names_file_key_and_range() {
    let all = |error: ModelError, words: &[&str]| {
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    all(
        error("hdd-7200", "rpm = [7200,", "rpm = [72,"),
        &["mine.toml", "hard-disk.platters.rpm", "72", "1000", "30000"],
    );
    all(error("hdd-7200", "rpm = ", "rpms = "), &["mine.toml", "rpms"]);
    all(error("hdd-7200", "[hard-disk.seek]", "[hard-disk.seeks]"), &["mine.toml", "seek"]);
    all(error("hdd-7200", "average_ms = [8.5", "average_ms = [14.0"), &["hard-disk.seek.average_ms", "curve"]);
    all(error("hdd-7200", "inner_sectors = [1273", "inner_sectors = [9000"), &["inner_sectors", "more sectors"]);
    all(error("hdd-7200", "heads = [4", "heads = [4.5"), &["heads", "whole"]);
    all(error("hdd-7200", "heads = [4, ", "heads = [nan, "), &["heads", "between"]);
    all(error("hdd-7200", "capacity_bytes = [1_000_204_886_016", "capacity_bytes = [-1"), &["mine.toml", "capacity"]);
    all(
        error("hdd-7200", "capacity_bytes = [1_000_204_886_016", "capacity_bytes = [1"),
        &["capacity_bytes", "between"],
    );
    all(error("ssd-sata", "size_kib = [8_192", "size_kib = [32"), &["flash.write_buffer.size_kib", "two"]);
    all(error("ssd-sata", "full_duplex = [false,", "full_duplex = [3,"), &["mine.toml", "full_duplex"]);
    let source = "\"Serial ATA: native command queuing has 32 tags\"";
    all(error("ssd-sata", source, "\" \""), &["flash.interface.queue", "source"]);
    for garbage in
        ["", "title", "title = 3", "\u{0}", "[hard-disk]", "title = \"x\"\ncapacity_bytes = [1_000_000_000, \"x\"]"]
    {
        all(Model::parse("mine.toml", garbage).expect_err("garbage"), &["mine.toml"]);
    }
}

#[test]
fn shipped_disks_have_titles_that_match_their_kind() {
    for model in shipped() {
        assert_eq!(named(model.name()), Some(model));
        assert_eq!(model.is_rotational(), model.title().starts_with("hard disk"), "{}", model.name());
        assert!(model.capacity() > 300_000_000_000 && model.capacity() % 512 == 0);
    }
    assert!(named("floppy").is_none());
}
