//! The output of dd, in any language.
//! In: text, with or without the shell's prompts and commands. Out: a pass for each completed copy.
//! dd does not print what it copied; the command line before a result shows it, else the work is called a copy. Commands on several machines
//! or disks become separate contenders, and commands with different options separate operations.

use super::records::{Pass, Round, Source, imported};
use super::{COUNT_LIMIT, Imported, shortened, stem};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Longest line that is parsed, in bytes.
const LINE_LIMIT: usize = 4096;
/// Allowed difference between amount over time and the rate on the same line: dd rounds up to two digits.
const ROUNDING: f64 = 0.16;
/// Options of dd that decide what its result measures.
const DETAILS: [&str; 4] = ["bs=", "conv=", "iflag=", "oflag="];

/// A dd command, as far as its line shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Command {
    operation: &'static str,
    /// The host in the prompt, if any.
    host: Option<String>,
    /// The disk or folder that it reads or writes, if the path is absolute.
    place: Option<String>,
    details: Vec<String>,
    /// Whether the page cache was dropped before it.
    cold: bool,
}

/// One result that dd printed.
struct Figure {
    bytes: u64,
    seconds: f64,
    /// Whether dd printed record counts just before: it does so at its end, not with its progress.
    ends: bool,
    /// Index of the command that it belongs to.
    command: usize,
}

/// Whether a text holds a result of dd.
pub(super) fn looks_like(text: &str) -> bool {
    lines(text).any(|line| copied(line).is_some())
}

/// Reads all results: the n-th of an operation of a contender belongs to its round n.
pub(super) fn read(text: &str, file: &str) -> Result<Imported, String> {
    let (commands, figures) = figures(text)?;
    let several = |of: &dyn Fn(&Command) -> Option<String>| {
        figures.iter().filter_map(|figure| of(&commands[figure.command])).collect::<BTreeSet<_>>().len() > 1
    };
    let (hosts, places) = (several(&|command| command.host.clone()), several(&|command| command.place.clone()));
    let contender = |command: &Command| {
        let host = command.host.clone().filter(|_| hosts);
        let parts: Vec<String> = host.into_iter().chain(command.place.clone().filter(|_| places)).collect();
        if parts.is_empty() { stem(file) } else { shortened(&parts.join(":")) }
    };
    let mut ways: BTreeMap<(&str, bool), BTreeSet<&[String]>> = BTreeMap::new();
    for figure in &figures {
        let command = &commands[figure.command];
        ways.entry((command.operation, command.cold)).or_default().insert(&command.details);
    }
    let mut rounds: Vec<Round> = Vec::new();
    for figure in &figures {
        let command = &commands[figure.command];
        let name = name(command, ways[&(command.operation, command.cold)].len() > 1);
        let pass = Pass {
            name: name.clone(),
            title: name.clone(),
            operation: name,
            writes: command.operation == "write",
            bytes: figure.bytes,
            seconds: figure.seconds,
            ..Pass::default()
        };
        let contender = contender(command);
        let has_room = |round: &&mut Round| {
            round.contender == contender && !round.passes.iter().any(|known| known.name == pass.name)
        };
        match rounds.iter_mut().find(has_room) {
            Some(round) => round.passes.push(pass),
            None => rounds.push(Round { contender, passes: vec![pass], ..Round::default() }),
        }
    }
    let source = Source { program: "dd".into(), file, workload: "dd", title: "Copying with dd".into() };
    imported(&source, rounds)
}

/// The name of an operation; `detailed` if others of its kind have other options.
fn name(command: &Command, detailed: bool) -> String {
    let cold = if command.cold { " after the cache was dropped" } else { "" };
    let details = command.details.join(" ");
    let details = if detailed && !details.is_empty() { format!(" ({details})") } else { String::new() };
    shortened(&format!("{}{cold}{details}", command.operation))
}

/// Lines as a terminal shows them: progress ends in a carriage return.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r'])
}

/// All commands, and the results of completed copies.
fn figures(text: &str) -> Result<(Vec<Command>, Vec<Figure>), String> {
    let unknown = Command { operation: "copy", host: None, place: None, details: Vec::new(), cold: false };
    let mut commands = vec![unknown];
    let mut figures: Vec<Figure> = Vec::new();
    let (mut dropped, mut counted) = (false, false);
    for line in lines(text).filter(|line| !line.trim().is_empty()) {
        dropped |= line.contains("drop_caches");
        if let Some(command) = command(line) {
            commands.push(Command { cold: std::mem::take(&mut dropped), ..command });
        }
        if let Some((bytes, seconds)) = copied(line) {
            if dropped {
                let last = commands[commands.len() - 1].clone();
                commands.push(Command { cold: std::mem::take(&mut dropped), ..last });
            }
            let command = commands.len() - 1;
            if counted {
                // Earlier results of the same copy were its progress.
                let is_progress = |known: &Figure| {
                    !known.ends && known.command == command && known.bytes <= bytes && known.seconds <= seconds
                };
                while figures.last().is_some_and(is_progress) {
                    figures.pop();
                }
            }
            figures.push(Figure { bytes, seconds, ends: counted, command });
            if figures.len() > COUNT_LIMIT || commands.len() > COUNT_LIMIT {
                return Err(format!("it holds more than {COUNT_LIMIT} figures or commands"));
            }
        }
        counted = counts_records(line);
    }
    Ok((commands, figures))
}

/// `1024+0 records out`, in any language.
fn counts_records(line: &str) -> bool {
    let first = line.split_whitespace().next().and_then(|word| word.split_once('+'));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    first.is_some_and(|(whole, part)| digits(whole) && digits(part))
}

/// `1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.577 s, 1.9 GB/s` in any language: a number of bytes, a time and a rate, outside of brackets,
/// and the rate is bytes over time. The BSDs have the rate within brackets.
fn copied(line: &str) -> Option<(u64, f64)> {
    if line.len() > LINE_LIMIT || !(line.contains("/s") || line.contains("/с") || line.contains("/秒")) {
        return None;
    }
    let (mut outside, mut within, mut depth) = (String::new(), String::new(), 0);
    for letter in line.chars() {
        match letter {
            '(' | '（' => depth += 1,
            ')' | '）' => depth -= 1,
            _ => {}
        }
        let letter = if "，、（）()".contains(letter) { ' ' } else { letter };
        if depth > 0 { within.push(letter) } else { outside.push(letter) }
    }
    let numbers = numbers(&outside);
    let (rate, unit) = match numbers.as_slice() {
        [_, _, (rate, unit)] => (*rate, *unit),
        [_, _] => *self::numbers(&within).last()?,
        _ => return None,
    };
    let ((amount, _), (seconds, unit_of_time)) = (numbers[0], numbers[1]);
    let is_amount = amount >= 1.0 && amount.fract() == 0.0 && amount < 9e18;
    if !is_amount || !seconds.is_finite() || seconds <= 0.0 || unit_of_time.contains('/') {
        return None;
    }
    let value = rate * factor(unit)?;
    let measured = amount / seconds;
    ((value - measured).abs() <= ROUNDING * measured + 1.0).then_some((amount as u64, seconds))
}

/// Numbers at the beginning of words, each with the next word, or with the rest of the same word.
fn numbers(text: &str) -> Vec<(f64, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_of_number = |letter: char| letter.is_ascii_digit() || ".,e+-".contains(letter);
        let end = word.find(|letter| !is_of_number(letter)).unwrap_or(word.len());
        let digits = word[..end].trim_end_matches(['.', ',', 'e', '+', '-']);
        if !digits.starts_with(|letter: char| letter.is_ascii_digit()) {
            continue;
        }
        let Ok(number) = digits.replace(',', ".").parse::<f64>() else { continue };
        let unit = &word[digits.len()..];
        let unit =
            if unit.chars().any(char::is_alphabetic) { unit } else { words.get(at + 1).copied().unwrap_or_default() };
        found.push((number, unit));
    }
    found
}

/// Bytes per second in a unit such as `MB/s`, `GiB/s`, `Mo/s` or `bytes/sec`.
fn factor(unit: &str) -> Option<f64> {
    let (amount, _) = unit.split_once('/')?;
    let letters: Vec<char> = amount.chars().collect();
    let thousand = if letters.get(1) == Some(&'i') { 1024.0_f64 } else { 1000.0 };
    let power = match letters.as_slice() {
        [prefix, _] | [prefix, _, _] => "KMGTPE".find(prefix.to_ascii_uppercase()).map_or(0, |at| at + 1),
        _ => 0,
    };
    Some(thousand.powi(power as i32))
}

/// The operation of a dd command: a read (into /dev/null or standard output), a write (from a generated source or standard input), or a copy.
fn command(line: &str) -> Option<Command> {
    if line.len() > LINE_LIMIT {
        return None;
    }
    let words: Vec<&str> = line.split([' ', '\t', ';', '&', '|']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| *word == "dd" || word.ends_with("/dd"))?;
    let value = |name: &str| words[at..].iter().find_map(|word| word.strip_prefix(name));
    let made = ["/dev/zero", "/dev/urandom", "/dev/random"];
    let (operation, touched) = match (value("if="), value("of=")) {
        (source, Some("/dev/null")) => ("read", source),
        (Some(source), Some(target)) if made.contains(&source) => ("write", Some(target)),
        (None, Some(target)) => ("write", Some(target)),
        (Some(source), None) => ("read", Some(source)),
        (Some(_), Some(target)) => ("copy", Some(target)),
        (None, None) => return None,
    };
    let mut details: Vec<String> = words[at..]
        .iter()
        .filter(|word| DETAILS.iter().any(|detail| word.starts_with(detail)))
        .map(|word| (*word).to_owned())
        .collect();
    details.sort();
    Some(Command { operation, host: host(&words[..at]), place: touched.and_then(place), details, cold: false })
}

/// The host of a prompt such as `root@server:~#`.
fn host(before: &[&str]) -> Option<String> {
    let (_, rest) = before.iter().find_map(|word| word.split_once('@'))?;
    let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric() || "-._".contains(*letter)).collect();
    (!name.is_empty()).then_some(name)
}

/// A device, or the folder of a file; None for a relative path, whose working folder is unknown.
fn place(path: &str) -> Option<String> {
    let path = Path::new(path.trim_matches(['"', '\'']));
    match path.is_absolute() {
        true if path.starts_with("/dev") => Some(path.display().to_string()),
        true => path.parent().map(|folder| folder.display().to_string()),
        false => None,
    }
}
