//! The models against published figures: the models' column in docs/disks.md.
//! In: the table of the document. Out: the correct rows, if they differ.

mod common;

use common::{Numbers, along, anywhere, drive, flushed, run, text};
use disk_model::{Device, Kind, Model, named, shipped};
use std::path::Path;
use std::time::Duration;

const BLOCK: u64 = 4096;
const LARGE: u64 = 1 << 20;

fn megabytes_along(model: &Model, kind: Kind, from: u64, count: u64) -> f64 {
    run(model, 8, count, along(kind, LARGE, from)).a_second() * LARGE as f64 / 1e6
}

/// Random reads or writes of 4 KiB a second at a depth, after this many MiB of sequential writes.
fn random(model: &Model, kind: Kind, depth: usize, written: usize) -> f64 {
    let mut device = Device::new(model, 7);
    let begin = drive(&mut device, Duration::ZERO, 8, along(Kind::Write, LARGE, 0).take(written));
    // The buffer is equally full at the start and at the end.
    let warm = drive(&mut device, begin, depth, anywhere(kind, BLOCK, model.capacity()).take(20_000));
    let end = drive(&mut device, warm, depth, anywhere(kind, BLOCK, model.capacity()).take(20_000));
    20_000.0 / (end - warm).as_secs_f64()
}

fn along_behind(model: &Model, written: usize) -> f64 {
    let mut device = Device::new(model, 7);
    let mut writes = along(Kind::Write, LARGE, 0);
    let begin = drive(&mut device, Duration::ZERO, 8, writes.by_ref().take(written));
    let end = drive(&mut device, begin, 8, writes.take(1000));
    1000.0 * LARGE as f64 / 1e6 / (end - begin).as_secs_f64()
}

/// Samples at equal distances, whose rates are averaged, as HD Tach does.
fn mean_along(model: &Model) -> f64 {
    let samples = 64;
    let rate = |at: u64| megabytes_along(model, Kind::Read, model.capacity() / samples * at, 32);
    (0..samples).map(rate).sum::<f64>() / samples as f64
}

/// A model's figure for a row.
fn modelled(model: &Model, what: &str) -> f64 {
    let full = || Numbers::of(model.name()).flash("slc", "size_mib") as usize + 100;
    match what {
        "sequential reads, outer edge" => megabytes_along(model, Kind::Read, 0, 500),
        "sequential reads, mean over the disk" => mean_along(model),
        "one random read" => 1e3 / random(model, Kind::Read, 1, 0),
        "random reads, depth 32 beside depth 1" => random(model, Kind::Read, 32, 0) / random(model, Kind::Read, 1, 0),
        "sequential reads" => megabytes_along(model, Kind::Read, 0, 2000),
        "sequential writes" => megabytes_along(model, Kind::Write, 0, 2000),
        "sequential writes, SLC cache full" => along_behind(model, full()),
        "random reads, depth 1" => random(model, Kind::Read, 1, 0),
        "random reads, depth 32" => random(model, Kind::Read, 32, 0),
        "random reads, depth 128" => random(model, Kind::Read, 128, 0),
        "random writes, depth 1" => random(model, Kind::Write, 1, 0),
        "random writes, depth 32" => random(model, Kind::Write, 32, 0),
        "random writes, depth 128" => random(model, Kind::Write, 128, 0),
        "random writes, depth 128, SLC cache full" => random(model, Kind::Write, 128, full()),
        "a write and a flush" => {
            2.0 * run(model, 1, 10_000, flushed(anywhere(Kind::Write, BLOCK, model.capacity()))).mean_ms()
        }
        _ => panic!("docs/disks.md asks for {what:?}, which nothing works out"),
    }
}

/// Three digits, and whole numbers from a thousand on.
fn figure(value: f64) -> String {
    let digits = 2 - value.log10().floor() as i32;
    let rounded = (value * 10f64.powi(digits)).round() / 10f64.powi(digits);
    format!("{rounded:.*}", digits.max(0) as usize)
}

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/disks.md");
    std::fs::read_to_string(path).expect("the document is there")
}

#[test]
fn the_document_has_the_figures_of_the_models() {
    let document = document();
    let rows = document.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 7);
    let (mut stale, mut count) = (Vec::new(), 0);
    for row in rows {
        let mut cells: Vec<String> = row.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect();
        let model = named(cells[0].trim_matches('`')).expect("it is shipped");
        let value = modelled(model, &cells[1]);
        let published: f64 = cells[3].parse().expect("a number");
        (cells[5], cells[6]) = (figure(value), format!("{:.2}", value / published));
        let wanted = format!("| {} |", cells.join(" | "));
        assert!(cells[7] == "no" || (value / published - 1.0).abs() < 0.05, "this is not fitted: {wanted}");
        count += 1;
        if wanted != row {
            stale.push(wanted);
        }
    }
    assert!(count >= 30, "the table has {count} rows");
    assert!(stale.is_empty(), "docs/disks.md must say:\n{}", stale.join("\n"));
}

#[test]
fn the_document_names_every_model_and_every_key() {
    let document = document();
    for model in shipped() {
        let row = format!("| `{}` | {} |", model.name(), model.title());
        assert!(document.contains(&row), "docs/disks.md lacks {row}");
        for line in text(model.name()).lines().filter(|line| !line.starts_with(['#', '['])) {
            let Some((key, _)) = line.split_once(" = ") else { continue };
            let is_there = document.contains(&format!(".{key}`")) || document.contains(&format!("`{key}`"));
            assert!(is_there, "docs/disks.md does not say what {key} means");
        }
    }
}
