//! What dd prints, in English and in German.
//! In: text, with or without the shell's prompts and commands. Out: a pass for each line that says what was copied.
//! dd does not say what it did to what; a command line before the figure does, else the work is called a copy.

use super::records::{Pass, Round, Source, imported};
use super::{COUNT_LIMIT, Imported, stem};

/// Longest line that is looked at, in bytes.
const LINE_LIMIT: usize = 4096;

/// Whether a text holds a line of dd.
pub(super) fn looks_like(text: &str) -> bool {
    text.lines().any(|line| copied(line).is_some())
}

/// Reads all of them: the n-th figure of an operation belongs to block n.
pub(super) fn read(text: &str, file: &str) -> Result<Imported, String> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut operation = "copy";
    for line in text.lines() {
        if let Some(named) = operation_of(line) {
            operation = named;
        }
        let Some((bytes, seconds)) = copied(line) else {
            continue;
        };
        let pass = Pass {
            name: operation.into(),
            title: operation.into(),
            operation: operation.into(),
            writes: operation == "write",
            bytes,
            seconds,
            ..Pass::default()
        };
        let free = rounds.iter_mut().find(|round| !round.passes.iter().any(|known| known.name == pass.name));
        match free {
            Some(round) => round.passes.push(pass),
            None => rounds.push(Round { contender: stem(file), began_ms: None, passes: vec![pass] }),
        }
        if rounds.len() > COUNT_LIMIT {
            return Err(format!("it holds more than {COUNT_LIMIT} figures"));
        }
    }
    let source = Source { program: "dd".into(), file, workload: "dd", title: "Copying with dd".into() };
    imported(&source, rounds)
}

/// `1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.577 s, 1.9 GB/s`, and the German form with decimal commas.
fn copied(line: &str) -> Option<(u64, f64)> {
    if line.len() > LINE_LIMIT {
        return None;
    }
    let (before, after) = line.split_once(" copied, ").or_else(|| line.split_once(" kopiert, "))?;
    let mut words = before.split_whitespace();
    let bytes: u64 = words.next()?.parse().ok()?;
    if !words.next()?.to_lowercase().starts_with("byte") {
        return None;
    }
    let mut words = after.split_whitespace();
    let seconds: f64 = words.next()?.replace(',', ".").parse().ok()?;
    let unit = words.next()?.trim_end_matches([',', '.']).to_lowercase();
    if !["s", "sec", "second", "seconds", "sekunde", "sekunden"].contains(&unit.as_str()) {
        return None;
    }
    (bytes > 0 && seconds.is_finite() && seconds > 0.0).then_some((bytes, seconds))
}

/// What a dd command does: reading into nothing, writing what costs nothing to read, or copying.
fn operation_of(line: &str) -> Option<&'static str> {
    if line.len() > LINE_LIMIT || !line.split_whitespace().any(|word| word == "dd" || word.ends_with("/dd")) {
        return None;
    }
    let value = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name));
    let made = ["/dev/zero", "/dev/urandom", "/dev/random"];
    match (value("if="), value("of=")) {
        (_, Some("/dev/null")) => Some("read"),
        (Some(source), Some(_)) if made.contains(&source) => Some("write"),
        (None, Some(_)) => Some("write"),
        (Some(_), None) => Some("read"),
        (Some(_), Some(_)) => Some("copy"),
        (None, None) => None,
    }
}
