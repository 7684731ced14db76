//! The CSV of Bonnie++: 1.03 (27 fields), 1.96 and 1.97 (48), 1.98 and 2.00 (50).
//! In: text. Out: a round for each line; the machine's name in it names the contender.
//! `+++++` stands for work that ended too soon to be timed, and stays missing.

use super::records::{Pass, Round, Source, imported};
use super::{COUNT_LIMIT, Imported, shortened, stem};

/// Bytes that the per-character part of 2.00 is limited to.
const CHARACTERS: u64 = 20 << 20;

/// Places of the fields of one form.
struct Form {
    version: &'static str,
    name: usize,
    size: usize,
    /// First of ten fields: putc, put_block, rewrite, getc, get_block, each with CPU; then seeks with CPU.
    blocks: usize,
    /// Field with the number of seeks, where there is one.
    seeks: Option<usize>,
    files: usize,
    /// First of twelve fields of work on files.
    creating: usize,
}

const FORMS: [(usize, Form); 3] = [
    (27, Form { version: "1.03", name: 0, size: 1, blocks: 2, seeks: None, files: 14, creating: 15 }),
    (48, Form { version: "1.96", name: 2, size: 5, blocks: 7, seeks: None, files: 19, creating: 24 }),
    (50, Form { version: "2.00", name: 2, size: 5, blocks: 9, seeks: Some(7), files: 21, creating: 26 }),
];

const BLOCKS: [(&str, &str, bool); 5] = [
    ("per-char-write", "Write, per character", true),
    ("block-write", "Write, in blocks", true),
    ("block-rewrite", "Rewrite in place", true),
    ("per-char-read", "Read, per character", false),
    ("block-read", "Read, in blocks", false),
];
const FILES: [(&str, &str, bool); 6] = [
    ("sequential-create", "Create, in order", true),
    ("sequential-stat", "Stat, in order", false),
    ("sequential-delete", "Delete, in order", true),
    ("random-create", "Create, at random", true),
    ("random-stat", "Stat, at random", false),
    ("random-delete", "Delete, at random", true),
];

/// Whether the first line that holds anything has the fields of Bonnie++.
pub(super) fn looks_like(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !is_heading(line));
    first.is_some_and(|line| form_of(&fields(line)).is_some())
}

/// Reads every line.
pub(super) fn read(text: &str, file: &str) -> Result<Imported, String> {
    let mut rounds = Vec::new();
    let mut version = String::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || is_heading(line) {
            continue;
        }
        if rounds.len() >= COUNT_LIMIT {
            return Err(format!("it holds more than {COUNT_LIMIT} lines"));
        }
        let fields = fields(line);
        let form = form_of(&fields)
            .ok_or_else(|| format!("line {} has {} fields; Bonnie++ writes 27, 48 or 50", number + 1, fields.len()))?;
        version = if form.name == 0 { form.version.into() } else { shortened(fields[1]) };
        rounds.push(round(&fields, form, file));
    }
    let source = Source {
        program: format!("Bonnie++ {version}"),
        file,
        workload: "bonnie",
        title: "What Bonnie++ measures".into(),
    };
    imported(&source, rounds)
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

fn round(fields: &[&str], form: &Form, file: &str) -> Round {
    let name = shortened(fields[form.name]);
    let size = fields[form.size].split(':').next().and_then(bytes_of).unwrap_or(0);
    let mut passes = Vec::new();
    for (number, (name, title, writes)) in BLOCKS.into_iter().enumerate() {
        let at = form.blocks + 2 * number;
        let limited = form.seeks.is_some() && name.starts_with("per-char");
        let bytes = if limited { size.min(CHARACTERS) } else { size };
        let rate = figure(fields[at]).map(|rate| rate * 1024.0);
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
    Round { contender: if name.is_empty() { stem(file) } else { name }, began_ms: None, passes }
}

fn named(name: &str, title: &str) -> Pass {
    Pass { name: name.into(), title: title.into(), operation: name.into(), ..Pass::default() }
}

/// A rate over a known amount gives the time; without either nothing was measured.
fn timed(pass: Pass, amount: f64, rate: Option<f64>, cpu: &str) -> Option<Pass> {
    let seconds = amount / rate.filter(|rate| *rate > 0.0)?;
    let cpu = figure(cpu).map(|percent| (0.0, percent / 100.0 * seconds));
    Some(Pass { seconds, cpu, ..pass })
}

/// A number; `+++++` and `+++` are none.
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
