//! The CSV of Bonnie++: 1.03 (27 fields), 1.96 and 1.97 (48), 1.98 and 2.00 (50).
//! In: text, with or without Bonnie++'s other output. Out: a round per CSV line; its machine name names the contender, with the file size and
//! the number of processes where one machine has several.
//! `+++++` marks work that ended too soon to be timed; it stays missing.

use super::records::{Pass, Round, Source, imported};
use super::{COUNT_LIMIT, Imported, shortened, stem};
use std::collections::{BTreeMap, BTreeSet};

/// Limit in bytes of the per-character part of 2.00.
const CHARACTERS: u64 = 20 << 20;

/// Field positions of one form.
struct Form {
    version: &'static str,
    name: usize,
    size: usize,
    /// First of ten fields: putc, put_block, rewrite, getc, get_block, each with CPU; then seeks with CPU.
    blocks: usize,
    /// Field with the number of seeks, if any.
    seeks: Option<usize>,
    files: usize,
    /// First of twelve fields of file operations.
    creating: usize,
    /// Field with the number of processes, if any.
    processes: Option<usize>,
    /// Whether characters go through stdio one by one; later versions call write(2) and read(2) for each.
    stdio: bool,
}

const FORMS: [(usize, Form); 3] = [
    (
        27,
        Form {
            version: "1.03",
            name: 0,
            size: 1,
            blocks: 2,
            seeks: None,
            files: 14,
            creating: 15,
            processes: None,
            stdio: true,
        },
    ),
    (
        48,
        Form {
            version: "1.96",
            name: 2,
            size: 5,
            blocks: 7,
            seeks: None,
            files: 19,
            creating: 24,
            processes: Some(3),
            stdio: false,
        },
    ),
    (
        50,
        Form {
            version: "2.00",
            name: 2,
            size: 5,
            blocks: 9,
            seeks: Some(7),
            files: 21,
            creating: 26,
            processes: Some(3),
            stdio: false,
        },
    ),
];

const BLOCKS: [(&str, &str, bool); 5] = [
    ("per-char-write", "Write, per character", true),
    ("block-write", "Write, in blocks", true),
    ("block-rewrite", "Rewrite in place", true),
    ("per-char-read", "Read, per character", false),
    ("block-read", "Read, in blocks", false),
];
/// Version 1.03 does different work per character than later ones.
const STDIO: [(&str, &str); 2] = [
    ("per-char-write-stdio", "Write, per character through stdio (1.03)"),
    ("per-char-read-stdio", "Read, per character through stdio (1.03)"),
];
/// Least number of commas, which only a CSV line has.
const COMMAS: usize = 12;
const FILES: [(&str, &str, bool); 6] = [
    ("sequential-create", "Create, in order", true),
    ("sequential-stat", "Stat, in order", false),
    ("sequential-delete", "Delete, in order", true),
    ("random-create", "Create, at random", true),
    ("random-stat", "Stat, at random", false),
    ("random-delete", "Delete, at random", true),
];

/// Whether a line has the fields of Bonnie++.
pub(super) fn looks_like(text: &str) -> bool {
    results(text).any(|(_, line)| form_of(&fields(line)).is_some())
}

/// CSV lines with their numbers; the printed table and the progress around them are skipped.
fn results(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(str::trim).enumerate();
    lines.filter(|(_, line)| !is_heading(line) && line.bytes().filter(|byte| *byte == b',').count() >= COMMAS)
}

/// Reads every line.
pub(super) fn read(text: &str, file: &str) -> Result<Imported, String> {
    let mut read: Vec<(Vec<&str>, &Form)> = Vec::new();
    for (number, line) in results(text) {
        if read.len() >= COUNT_LIMIT {
            return Err(format!("it holds more than {COUNT_LIMIT} lines"));
        }
        let fields = fields(line);
        let form = form_of(&fields)
            .ok_or_else(|| format!("line {} has {} fields; Bonnie++ writes 27, 48 or 50", number + 1, fields.len()))?;
        read.push((fields, form));
    }
    let mut versions: Vec<String> = read
        .iter()
        .map(|(fields, form)| if form.name == 0 { form.version.into() } else { shortened(fields[1]) })
        .collect();
    versions.dedup();
    let mut works: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (fields, form) in &read {
        works.entry(machine(fields, form, file)).or_default().insert(work(fields, form));
    }
    let rounds = read.iter().map(|(fields, form)| {
        let machine = machine(fields, form, file);
        let several = works.get(&machine).is_some_and(|works| works.len() > 1);
        let contender = if several { shortened(&format!("{machine} ({})", work(fields, form))) } else { machine };
        Round { contender, passes: passes(fields, form), ..Round::default() }
    });
    let source = Source {
        program: shortened(&format!("Bonnie++ {}", versions.join(", "))),
        file,
        workload: "bonnie",
        title: "What Bonnie++ measures".into(),
    };
    imported(&source, rounds.collect())
}

/// The name of the machine in a line, else of the file.
fn machine(fields: &[&str], form: &Form, file: &str) -> String {
    let name = shortened(fields[form.name]);
    if name.is_empty() { stem(file) } else { name }
}

/// File size and number of processes: results with others are not samples of the same work.
fn work(fields: &[&str], form: &Form) -> String {
    match form.processes.map(|at| fields[at]).filter(|count| !count.is_empty() && *count != "1") {
        Some(count) => format!("{}, {count} processes", fields[form.size]),
        None => fields[form.size].to_owned(),
    }
}

fn fields(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn is_heading(line: &str) -> bool {
    line.starts_with("format_version") || line.starts_with("name,") || line.starts_with('#')
}

fn form_of(fields: &[&str]) -> Option<&'static Form> {
    let form = FORMS.iter().find(|(count, _)| *count == fields.len()).map(|(_, form)| form)?;
    let versioned = form.name == 0 || fields[0].starts_with("1.9") || fields[0].starts_with("2.");
    let has_figures = fields[form.blocks..form.blocks + 12]
        .iter()
        .all(|field| field.is_empty() || figure(field).is_some() || field.starts_with('+'));
    (versioned && has_figures).then_some(form)
}

fn passes(fields: &[&str], form: &Form) -> Vec<Pass> {
    let size = fields[form.size].split(':').next().and_then(bytes_of).unwrap_or(0);
    let mut passes = Vec::new();
    for (number, (name, title, writes)) in BLOCKS.into_iter().enumerate() {
        let at = form.blocks + 2 * number;
        let stdio = STDIO.iter().find(|(later, _)| form.stdio && later.strip_suffix("-stdio") == Some(name));
        let limited = form.seeks.is_some() && name.starts_with("per-char");
        let bytes = if limited { size.min(CHARACTERS) } else { size };
        let rate = figure(fields[at]).map(|rate| rate * 1024.0);
        let (name, title) = stdio.copied().unwrap_or((name, title));
        let pass = Pass { bytes, writes, ..named(name, title) };
        passes.extend(timed(pass, bytes as f64, rate, fields[at + 1]));
    }
    let seeks = form.seeks.and_then(|at| fields[at].parse().ok()).unwrap_or(8000);
    let pass = Pass { items: seeks, items_lead: true, ..named("random-seeks", "Random seeks") };
    passes.extend(timed(pass, seeks as f64, figure(fields[form.blocks + 10]), fields[form.blocks + 11]));
    let count = fields[form.files].split(':').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    let items = count.saturating_mul(1024);
    for (number, (name, title, writes)) in FILES.into_iter().enumerate() {
        let at = form.creating + 2 * number;
        let pass = Pass { items, items_lead: true, writes, ..named(name, title) };
        passes.extend(timed(pass, items as f64, figure(fields[at]), fields[at + 1]));
    }
    passes
}

fn named(name: &str, title: &str) -> Pass {
    Pass { name: name.into(), title: title.into(), operation: name.into(), ..Pass::default() }
}

/// Computes the time from a rate over a known amount; without both nothing was measured.
fn timed(pass: Pass, amount: f64, rate: Option<f64>, cpu: &str) -> Option<Pass> {
    let seconds = amount / rate.filter(|rate| *rate > 0.0)?;
    let cpu = figure(cpu).map(|percent| (0.0, percent / 100.0 * seconds));
    Some(Pass { seconds, cpu, ..pass })
}

/// A number; not `+++++` or `+++`.
fn figure(field: &str) -> Option<f64> {
    let value: f64 = field.parse().ok()?;
    (value.is_finite() && value >= 0.0 && !field.starts_with('+')).then_some(value)
}

/// `16G`, `300M`, `300` (MiB).
fn bytes_of(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "m" => 1 << 20,
        "k" => 1 << 10,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(factor)
}
