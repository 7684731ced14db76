//! The rounds: every work in every place by every tool, one after the other, in an order that turns with each round.
//! In: places and counts. Out: samples.
//! Interleaving is what makes figures comparable on a machine whose speed wanders.

use crate::ours;
use crate::places::Place;
use crate::rivals::{self, Figures, RANDOM, RING, SEQUENTIAL, Tool, WRITE};
use crate::table::{BARE, Measured, OURS, Samples};
use std::path::Path;
use std::process::Command;
use workload::program::Engine;

/// How much is done in each work.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Bytes of the large file.
    pub bytes: u64,
    /// Random reads.
    pub reads: u64,
    /// Times that the large file is read from beginning to end.
    pub times: u64,
    /// How often the works on the large file are done in each round: they are short, and memory's speed wanders in shared machines.
    pub turns: usize,
    /// Small files of each worker.
    pub files: u64,
    /// Workers of the second set of small-file works: the machine's cores, 2 at least.
    pub workers: u64,
}

type Run<'a> = Box<dyn Fn() -> Result<Figures, String> + 'a>;

/// One tool at one work.
struct Job<'a> {
    tool: &'a str,
    run: Run<'a>,
}

/// Carry out one round in one place.
pub fn round(number: usize, place: &Place, scale: &Scale, samples: &mut Samples, log: &mut Vec<String>) {
    large_file(&place.path, scale.bytes);
    let (random, ring) = (rivals::random(scale.bytes, scale.reads), rivals::ring(scale.bytes, scale.reads));
    let (sequential, write) = (rivals::sequential(scale.bytes, scale.times), rivals::write(scale.bytes));
    let sets = [1, scale.workers].map(|workers| (workers, rivals::small_files(scale.files, workers)));
    let path = place.path.as_path();
    for turn in number * scale.turns..(number + 1) * scale.turns {
        let mut works = vec![
            with(&random, path, bare_job(path, "random-read", RANDOM, scale), ours_random(path, scale, false)),
            with(&sequential, path, bare_job(path, "sequential-read", SEQUENTIAL, scale), ours_sequential(path, scale)),
        ];
        if place.name == "tmpfs" {
            works.push(with(&write, path, bare_job(path, "constant-write", WRITE, scale), ours_write(path, scale)));
        } else {
            works.push(with(&ring, path, bare_job(path, "ring-read", RING, scale), ours_random(path, scale, true)));
        }
        carry_out(turn, place, works, samples, log);
    }
    let small = sets.iter().map(|(workers, tools)| {
        let bare = Job { tool: BARE, run: Box::new(move || bare_small(path, scale.files, *workers)) };
        let ours = Job { tool: OURS, run: Box::new(move || ours_small(path, scale.files, *workers)) };
        with(tools, path, bare, ours)
    });
    carry_out(number, place, small.collect(), samples, log);
    let _ = std::fs::remove_file(place.path.join("0"));
}

/// Each work by each tool once, in an order that turns with the number.
fn carry_out(number: usize, place: &Place, works: Vec<Vec<Job>>, samples: &mut Samples, log: &mut Vec<String>) {
    for mut jobs in works {
        let turn = number % jobs.len().max(1);
        jobs.rotate_left(turn);
        for job in jobs {
            match undisturbed(&job, &place.path) {
                Ok(figures) => {
                    for (work, figure) in figures {
                        eprintln!("round {number}, {}: {work}: {}: {:.0}", place.name, job.tool, figure.per_second);
                        samples.add(number, &work, place.name, job.tool, figure);
                    }
                }
                Err(reason) => {
                    eprintln!("round {number}, {}: {}: {reason}", place.name, job.tool);
                    log.push(format!("{} on {}: {reason}", job.tool, place.name));
                }
            }
        }
    }
}

fn with<'a>(tools: &'a [Tool], path: &'a Path, bare: Job<'a>, ours: Job<'a>) -> Vec<Job<'a>> {
    let installed = tools.iter().filter(|t| rivals::find(t.program).is_some());
    let rivals = installed.map(|t| Job { tool: t.name, run: Box::new(move || t.run(path)) as Run });
    [bare, ours].into_iter().chain(rivals).collect()
}

/// The large file, written and so in the page cache; safe on its device, so that nothing is written under the works.
fn large_file(path: &Path, bytes: u64) {
    let file = path.join("0");
    let line = format!("head -c {bytes} /dev/urandom > {0} && sync {0} && cat {0} > /dev/null", file.display());
    let _ = Command::new("sh").args(["-c", &line]).status();
}

/// How often a work is tried when others drop the caches under it.
const TRIES: usize = 12;

/// Carry out a work until nobody dropped the page cache meanwhile: a read that was to be cached would else be a disk's.
fn undisturbed(job: &Job, path: &Path) -> Result<Figures, String> {
    for _ in 0..TRIES {
        warm(path);
        let before = drops();
        let figures = (job.run)()?;
        if drops() == before {
            return Ok(figures);
        }
    }
    Err(format!("the page cache was dropped by others during each of {TRIES} tries"))
}

/// How often the page cache was dropped by hand since boot.
fn drops() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|l| l.strip_prefix("drop_pagecache "))?.trim().parse().ok()
}

/// Whatever else runs here may have dropped the caches since.
fn warm(path: &Path) {
    let _ = std::fs::File::open(path.join("0")).and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
}

fn bare_process(words: &[&str]) -> Result<Measured, String> {
    let own = std::env::current_exe().map_err(|e| format!("finding this program: {e}"))?;
    let output = Command::new(own).arg("bare").args(words).output().map_err(|e| format!("bare {words:?}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let said = || format!("bare {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [per_second, per_cpu_second] = numbers.as_slice() else { return Err(said()) };
    Ok(Measured { per_second: *per_second, per_cpu_second: Some(*per_cpu_second) })
}

fn bare_job<'a>(path: &'a Path, verb: &'a str, work: &'a str, scale: &'a Scale) -> Job<'a> {
    let run = move || {
        let file = path.join("0").display().to_string();
        let (bytes, reads, times) = (scale.bytes.to_string(), scale.reads.to_string(), scale.times.to_string());
        let words: Vec<&str> = match verb {
            "sequential-read" => vec![verb, &file, &times],
            "constant-write" => vec![verb, &file, &bytes],
            _ => vec![verb, &file, &bytes, &reads],
        };
        Ok(vec![(work.to_owned(), bare_process(&words)?)])
    };
    Job { tool: BARE, run: Box::new(run) }
}

fn bare_small(path: &Path, files: u64, workers: u64) -> Result<Figures, String> {
    let root = path.join("bare");
    std::fs::create_dir_all(&root).map_err(|e| format!("making {}: {e}", root.display()))?;
    let (root_text, files, workers_text) = (root.display().to_string(), files.to_string(), workers.to_string());
    let figures: Result<Figures, String> = ["create", "stat", "read", "unlink"]
        .iter()
        .map(|work| {
            let rate = bare_process(&[work, &root_text, &files, &workers_text])?;
            Ok((rivals::small(work, workers), rate))
        })
        .collect();
    let _ = std::fs::remove_dir_all(&root);
    figures
}

fn ours_small(path: &Path, files: u64, workers: u64) -> Result<Figures, String> {
    let rates = ours::small_files(path, files, workers as u32)?;
    let _ = std::fs::remove_dir_all(path.join("ours"));
    let works = ["create", "stat", "read", "unlink"];
    Ok(works.iter().zip(rates).map(|(work, rate)| (rivals::small(work, workers), rate)).collect())
}

fn ours_random<'a>(path: &'a Path, scale: &'a Scale, ring: bool) -> Job<'a> {
    let (engine, work) = if ring { (Engine::IoUring(32), RING) } else { (Engine::Calls, RANDOM) };
    let run = move || Ok(vec![(work.to_owned(), ours::random_read(path, scale.bytes, scale.reads, engine)?)]);
    Job { tool: OURS, run: Box::new(run) }
}

fn ours_sequential<'a>(path: &'a Path, scale: &'a Scale) -> Job<'a> {
    let run = move || Ok(vec![(SEQUENTIAL.to_owned(), ours::sequential_read(path, scale.bytes, scale.times)?)]);
    Job { tool: OURS, run: Box::new(run) }
}

fn ours_write<'a>(path: &'a Path, scale: &'a Scale) -> Job<'a> {
    Job { tool: OURS, run: Box::new(move || Ok(vec![(WRITE.to_owned(), ours::fresh_write(path, scale.bytes)?)])) }
}

/// Whether the written file shrinks under zstd with a long window: compressed bytes a byte.
pub fn shrinkage(place: &Place) -> Option<f64> {
    const BYTES: u64 = 64 << 20;
    large_file(&place.path, BYTES);
    ours::fresh_write(&place.path, BYTES).ok()?;
    let line = format!("zstd -q -19 --long=24 -T0 -c {} | wc -c", place.path.join("0").display());
    let output = Command::new("sh").args(["-c", &line]).output().ok()?;
    let _ = std::fs::remove_file(place.path.join("0"));
    let compressed: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
    (compressed > 0.0).then_some(compressed / BYTES as f64)
}
