//! The whole benchmark, and the page that it is written to.
//! In: what was asked for. Out: `results/benchmarks.md`, and the same on the terminal.
//! Rounds go through all places, and the page is written after each, so that an interrupted run keeps what it has.

use crate::against::Change;
use crate::places::{self, Place};
use crate::rivals::Tool;
use crate::rounds::{Scale, round, shrinkage};
use crate::table::{OURS, Samples, Spread};
use crate::{Asked, against, machine, memory, ours, rivals};
use std::fmt::Write;
use std::path::PathBuf;
use workload::outcome::Ceiling;

/// What is measured beside the table.
#[derive(Default)]
struct Others {
    ceiling: Option<Ceiling>,
    start: Option<Spread>,
    memory: Option<memory::Memory>,
    shrinkage: Option<f64>,
}

/// Measure and write.
pub fn make(asked: &Asked) -> Result<(), String> {
    let scale = scale(asked);
    // Read first: it may be the page that is written anew.
    let read = |file: &PathBuf| std::fs::read_to_string(file).map_err(|e| format!("reading {}: {e}", file.display()));
    let earlier = asked.against.as_ref().map(read).transpose()?;
    std::fs::create_dir_all(&asked.scratch).map_err(|e| format!("making {}: {e}", asked.scratch.display()))?;
    places::end_on_signals(&asked.scratch)?;
    let (mut samples, mut log, mut others) = (Samples::default(), Vec::new(), Others::default());
    let mut places = Vec::new();
    for name in ["tmpfs", "ext4", "xfs"].into_iter().filter(|n| asked.places.iter().any(|p| p == n)) {
        match Place::new(name, &asked.scratch) {
            Ok(place) => places.push(place),
            Err(reason) => log.push(format!("{name} was left out: {reason}")),
        }
    }
    for number in 0..asked.times {
        for place in &places {
            round(number, place, &scale, &mut samples, &mut log);
            // Written every time, so that an interrupted run keeps what it has.
            write(asked, &page(asked, &scale, &samples, &others, &log))?;
        }
    }
    if let Some(place) = places.iter().find(|p| p.name == "tmpfs") {
        measure_others(place, asked.quick, &mut others, &mut log);
    }
    let page = page(asked, &scale, &samples, &others, &log);
    println!("{page}");
    write(asked, &page)?;
    let held = earlier.map_or(Ok(()), |earlier| hold_against(&samples, &earlier, (asked.times, &places, &scale)));
    drop(places);
    let _ = std::fs::remove_dir(&asked.scratch);
    held
}

/// Each ratio then and now; an error where one was lost. Of so many ratios one or two fall by chance alone, so what was lost is measured once
/// more, with as many rounds, and only what is lost then, too, counts.
fn hold_against(samples: &Samples, earlier: &str, rounds: (usize, &[Place], &Scale)) -> Result<(), String> {
    let changes = against::changes(samples, earlier)?;
    println!("{}", against::lines(&changes));
    let lost: Vec<&Change> = changes.iter().filter(|change| change.is_loss()).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let again = against::changes(&measured_again(&lost, rounds), earlier)?;
    let again: Vec<Change> = again.into_iter().filter(|now| lost.iter().any(|then| then.what == now.what)).collect();
    println!("measured again:\n\n{}", against::lines(&again));
    match again.iter().filter(|change| change.is_loss()).count() {
        // One that could not be measured again stays lost.
        0 if again.len() == lost.len() => Ok(()),
        _ => Err(format!(
            "{} of {} ratios to the bare loop are lower than in every round of then, measured twice",
            lost.len() - again.iter().filter(|change| !change.is_loss()).count(),
            changes.len()
        )),
    }
}

/// Rounds of the places in which something was lost.
fn measured_again(lost: &[&Change], (times, places, scale): (usize, &[Place], &Scale)) -> Samples {
    let (mut samples, mut log) = (Samples::default(), Vec::new());
    let those = || places.iter().filter(|place| lost.iter().any(|change| change.what.1 == place.name));
    for number in 0..times {
        those().for_each(|place| round(number, place, scale, &mut samples, &mut log));
    }
    samples
}

fn form(asked: &Asked) -> &'static str {
    match (asked.quick, asked.brief) {
        (true, _) => ", in the quick form, whose figures mean nothing",
        (false, true) => ", in the brief form, with a third of the work",
        (false, false) => "",
    }
}

fn write(asked: &Asked, page: &str) -> Result<(), String> {
    std::fs::write(&asked.out, page).map_err(|e| format!("writing {}: {e}", asked.out.display()))
}

fn scale(asked: &Asked) -> Scale {
    let workers = std::thread::available_parallelism().map_or(2, |n| (n.get() as u64).max(2));
    if asked.quick {
        Scale { bytes: 64 << 20, reads: 100_000, times: 2, turns: 1, files: 10_240, workers }
    } else if asked.brief {
        Scale { bytes: 256 << 20, reads: 250_000, times: 6, turns: 1, files: 40_960, workers }
    } else {
        Scale { bytes: 1 << 30, reads: 500_000, times: 2, turns: 3, files: 102_400, workers }
    }
}

fn measure_others(place: &Place, quick: bool, others: &mut Others, log: &mut Vec<String>) {
    let mut keep = |what: &str, reason: String| log.push(format!("{what}: {reason}"));
    others.ceiling = ours::ceiling(&place.path).map_err(|e| keep("ceiling", e)).ok();
    others.start = memory::start(place).map_err(|e| keep("start", e)).ok();
    if !quick {
        others.shrinkage = shrinkage(place);
        others.memory = memory::measure(place).map_err(|e| keep("memory", e)).ok();
    }
}

fn page(asked: &Asked, scale: &Scale, samples: &Samples, others: &Others, log: &[String]) -> String {
    let mut out = String::from(HEAD);
    let _ = writeln!(out, "\n## Machine\n");
    machine::facts().iter().for_each(|f| _ = writeln!(out, "- {f}"));
    let _ = writeln!(
        out,
        "\n## Result\n\nEvery tool in each round, one after the other, at small files once and at the large file {}; {} rounds were asked for{}.\n",
        match scale.turns {
            1 => "once".into(),
            turns => format!("{turns} times"),
        },
        asked.times,
        form(asked)
    );
    out += &samples.markdown();
    others_lines(others, &mut out);
    let _ = writeln!(out, "\n## Versions\n\n- {OURS}: {}", env!("CARGO_PKG_VERSION"));
    machine::versions().iter().for_each(|v| _ = writeln!(out, "- {v}"));
    commands(scale, &mut out);
    if !log.is_empty() {
        let _ = writeln!(out, "\n## What did not run\n");
        let mut said: Vec<&String> = log.iter().collect();
        said.sort();
        said.dedup();
        said.iter().for_each(|l| _ = writeln!(out, "- {l}"));
    }
    out
}

fn others_lines(others: &Others, out: &mut String) {
    if others.ceiling.is_some() || others.start.is_some() {
        let _ = writeln!(out, "\nBeside the table:\n");
    }
    if let Some(c) = &others.ceiling {
        let _ = writeln!(
            out,
            "- ceiling of this machine: {:.1} GB/s generated, {:.1} GB/s generated and copied once; a clock reading takes \
             {:.1} ns, recording a latency {:.1} ns with it; clock `{}`, {:.1} parts in a million off the kernel's",
            c.generate_bytes_per_second / 1e9,
            c.write_bytes_per_second / 1e9,
            c.clock_read_ns,
            c.record_ns,
            c.clock,
            c.clock_error * 1e6
        );
    }
    if let Some(s) = others.start {
        let (median, least, most) = (s.median * 1e3, s.least * 1e3, s.most * 1e3);
        let _ = writeln!(
            out,
            "- from starting the agent's process to the end of its first operation: {median:.1} ms ({least:.1} to {most:.1})"
        );
    }
    if let Some(m) = &others.memory {
        let _ = writeln!(
            out,
            "- memory of the agent on a fileset of {} files, {} of them created in shuffled order: {:.1} MiB at most",
            memory::FILES,
            m.created,
            m.peak as f64 / 1_048_576.0
        );
    }
    if let Some(s) = others.shrinkage {
        let _ = writeln!(out, "- 64 MiB of written data after `zstd -19 --long=24`: {:.3} % of its size", s * 100.0);
    }
}

fn commands(scale: &Scale, out: &mut String) {
    let _ = writeln!(out, "\n## Commands\n\n`DIR` is the place. Files have 1 KiB, directories 200 of them.\n\n```text");
    let large = [
        rivals::random(scale.bytes, scale.reads),
        rivals::ring(scale.bytes, scale.reads),
        rivals::sequential(scale.bytes, scale.times),
        rivals::write(scale.bytes),
    ];
    let small = [1, scale.workers].map(|workers| rivals::small_files(scale.files, workers));
    let all: Vec<&Tool> = large.iter().chain(&small).flatten().filter(|t| rivals::find(t.program).is_some()).collect();
    all.iter().for_each(|tool| _ = writeln!(out, "{}: {}", tool.name, tool.command));
    let _ = writeln!(out, "```");
}

const HEAD: &str = "\
# Benchmarks of the engine

Written by `make bench`; do not edit. Bakeoff works through its agent, as in a run, and keeps a latency histogram of every operation.
\"Bare loop\" makes the same system calls without statistics, with one clock reading at each end (`benches/src/bare.rs`).
Ratios are taken within a round, so most of the machine's noise cancels: ratios carry over to other machines, figures do not.
On a machine with other load, the ratio of the best rounds and the ratio of CPU time say more than the median.
fs_mark and Bonnie++ create directories of their own, and Bonnie++ reads in readdir order; the ratios include these differences.
";
