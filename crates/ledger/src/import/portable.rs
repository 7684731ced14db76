//! One portable file with everything of a run: written by `export`, read by `import`.
//! In: a run's records. Out: JSON; anonymous on request, without names of hosts, serial numbers and paths.

use super::{COUNT_LIMIT, Imported, said};
use crate::error::LedgerError;
use crate::histogram::{self, HistogramError};
use crate::store::Ledger;
use crate::{migrate, sound};
use records::{ContenderRecord, Origin, RunRecord, TrialRecord};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Version of the form; a later one is refused.
pub const PORTABLE_VERSION: u32 = 3;
const KIND: &str = "bakeoff-run";
/// Parts of the names of values that tell whose machine it is.
const TELLING: [&str; 10] =
    ["hostname", "host_name", "serial", "wwn", "wwid", "uuid", "by_id", "machine_id", "username", "address"];
/// Names of values that are paths, absolute or not.
const PATHS: [&str; 7] = ["path", "scratch", "directories", "folder", "filesystems", "file", "backing_file"];
/// Options whose value is a path or a device.
const PATH_OPTIONS: [&str; 9] =
    ["--dir", "--scratch", "--report", "--ledger", "--on", "--erase", "--filesystems", "--claims", "--file"];
/// Shortest secret that is looked for elsewhere; shorter ones would match by chance.
const SHORTEST: usize = 4;
const LEFT_OUT: &str = "(left out)";
const PATH: &str = "(path)";

#[derive(Serialize, Deserialize)]
struct Portable {
    kind: String,
    portable_version: u32,
    run: RunRecord,
    contenders: Vec<ContenderRecord>,
    trials: Vec<TrialRecord>,
}

/// What is read of every version.
#[derive(Deserialize)]
struct Head {
    kind: String,
    portable_version: u32,
}

/// A run as one JSON text.
///
/// # Errors
/// A run that is not there, a ledger that cannot be read.
pub fn export(ledger: &Ledger, run: &str, anonymous: bool) -> Result<String, LedgerError> {
    let run = ledger.run(Some(run))?;
    let (contenders, trials) = (ledger.contenders(&run.id)?, ledger.trials(&run.id)?);
    let portable = Portable { kind: KIND.into(), portable_version: PORTABLE_VERSION, run, contenders, trials };
    let mut value = serde_json::to_value(&portable).unwrap_or_default();
    if anonymous {
        let mut secrets = BTreeSet::new();
        gather(&value, &mut secrets);
        // Longest first, so that one that holds another goes as a whole.
        let mut secrets: Vec<String> = secrets.into_iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        scrub(&mut value, false, &secrets);
    }
    Ok(value.to_string())
}

pub(super) fn looks_like(json: &str) -> bool {
    json.contains(KIND) && json.contains("\"portable_version\"")
}

/// Reads an exported run; it is marked as measured elsewhere.
pub(super) fn read(json: &str) -> Result<Imported, String> {
    let head: Head = serde_json::from_str(json).map_err(|error| said(&error))?;
    if head.kind != KIND {
        return Err("it is of another kind".into());
    }
    let portable: Portable = match head.portable_version {
        PORTABLE_VERSION => whole(&mut serde_json::Deserializer::from_str(json))?,
        1 => whole(second_version(first_version(serde_json::from_str(json).map_err(|error| said(&error))?)))?,
        2 => whole(second_version(serde_json::from_str(json).map_err(|error| said(&error))?))?,
        version => return Err(format!("it is of version {version}; use the bakeoff that wrote it, or a newer one")),
    };
    if portable.trials.len() > COUNT_LIMIT || portable.contenders.len() > COUNT_LIMIT {
        return Err(format!("it holds more than {COUNT_LIMIT} trials or contenders"));
    }
    let Portable { mut run, contenders, trials, .. } = portable;
    check(&run, &contenders, &trials)?;
    if run.new.origin == Origin::Measured {
        run.new.origin = Origin::Exported;
    }
    Ok(Imported { run, contenders, trials })
}

/// All of a file, or the field that cannot be read.
fn whole<'a, T: Deserialize<'a>>(source: impl Deserializer<'a>) -> Result<T, String> {
    serde_path_to_error::deserialize(source)
        .map_err(|error| said(&format!("the field {} cannot be read: {}", error.path(), error.inner())))
}

/// Changes a field where there is one.
fn change(object: Option<&mut Value>, name: &str, change: fn(Value) -> Value) {
    if let Some(field) = object.and_then(|object| object.get_mut(name)) {
        *field = change(field.take());
    }
}

/// A file of version 2 in today's form.
fn second_version(mut file: Value) -> Value {
    change(file.get_mut("run"), "new", migrate::cold_run);
    for trial in file.get_mut("trials").and_then(Value::as_array_mut).into_iter().flatten() {
        for phase in trial.get_mut("phases").and_then(Value::as_array_mut).into_iter().flatten() {
            change(Some(phase), "evidence", migrate::cold_evidence);
        }
    }
    file
}

/// A file of version 1 in the form of version 2.
fn first_version(mut file: Value) -> Value {
    change(file.get_mut("run"), "new", migrate::new_run);
    for contender in file.get_mut("contenders").and_then(Value::as_array_mut).into_iter().flatten() {
        change(Some(contender), "asked", migrate::asked);
    }
    for trial in file.get_mut("trials").and_then(Value::as_array_mut).into_iter().flatten() {
        change(Some(&mut *trial), "found", migrate::found);
        change(Some(&mut *trial), "closing", migrate::closing);
        for phase in trial.get_mut("phases").and_then(Value::as_array_mut).into_iter().flatten() {
            change(Some(phase), "evidence", migrate::evidence);
        }
    }
    file
}

/// What the rest of the program takes for granted of records that it wrote itself.
pub(super) fn check(run: &RunRecord, contenders: &[ContenderRecord], trials: &[TrialRecord]) -> Result<(), String> {
    sound::run(run)?;
    sound::contenders(contenders)?;
    sound::trials(trials, contenders.len())?;
    sound::trial_times(trials)?;
    let groups = trials.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.outcome.groups);
    // A histogram that is none is shown as missing; one that would take the reader's memory is a trap.
    match groups.flat_map(|group| group.latency.values()).map(|latency| histogram::read(&latency.hdr)).find(is_trap) {
        Some(Err(trap)) => Err(trap.to_string()),
        _ => Ok(()),
    }
}

fn is_trap<T>(read: &Result<T, HistogramError>) -> bool {
    matches!(read, Err(HistogramError::TooLong | HistogramError::Size))
}

fn is_telling(name: &str) -> bool {
    let name = name.to_lowercase().replace(['-', ' '], "_");
    TELLING.iter().any(|part| name.contains(part))
}

/// Values under telling names, wherever they stand.
fn gather(value: &Value, secrets: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if is_telling(name) {
                    texts(field, secrets);
                }
                gather(field, secrets);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, secrets)),
        _ => {}
    }
}

fn texts(value: &Value, secrets: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() >= SHORTEST => {
            secrets.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, secrets)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, secrets)),
        _ => {}
    }
}

/// Histograms are left alone: they hold nothing but counts, and their letters may look like anything.
fn scrub(value: &mut Value, telling: bool, secrets: &[String]) {
    match value {
        Value::String(text) if telling => *text = LEFT_OUT.into(),
        Value::String(text) => *text = scrubbed(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(item, telling, secrets)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut().filter(|(name, _)| *name != "hdr") {
                match name.as_str() {
                    "command_line" => command_line(field),
                    name if PATHS.contains(&name) => path(field),
                    _ => {}
                }
                scrub(field, telling || is_telling(name), secrets);
            }
        }
        Value::Number(_) if telling => *value = Value::Null,
        _ => {}
    }
}

/// A path or a list of them; whatever else has the name is left alone.
fn path(value: &mut Value) {
    match value {
        Value::String(text) => *text = PATH.into(),
        Value::Array(items) => items.iter_mut().filter(|item| item.is_string()).for_each(path),
        _ => {}
    }
}

/// Words that are paths: values of options that take one, files and whatever else has a slash, but for the program's own name.
fn command_line(value: &mut Value) {
    let mut is_value = false;
    for word in value.as_array_mut().into_iter().flatten().skip(1) {
        let Value::String(text) = word else { continue };
        let option = text.split_once('=').filter(|(option, _)| PATH_OPTIONS.contains(option)).map(|(option, _)| option);
        let is_file = !text.starts_with('-') && (text.contains('/') || text.ends_with(".toml"));
        let next = PATH_OPTIONS.contains(&text.as_str());
        if let Some(option) = option {
            *text = format!("{option}={PATH}");
        } else if is_value || is_file {
            *text = PATH.into();
        }
        is_value = next;
    }
}

fn scrubbed(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), LEFT_OUT);
    }
    without_paths(&without_uuids(&text))
}

/// Absolute paths, whatever stands around them. Units such as MB/s hold no leading slash and stay.
fn without_paths(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, letter)) = letters.next() {
        let begins = letter == '/' && !before.is_alphanumeric() && before != ')' && before != '/';
        let first = text[at + letter.len_utf8()..].chars().next();
        if begins && first.is_some_and(|first| first.is_alphanumeric() || "._-".contains(first)) {
            while letters.next_if(|(_, next)| !next.is_whitespace() && !"\"',;:()<>|".contains(*next)).is_some() {}
            out.push_str(PATH);
            before = ')';
            continue;
        }
        out.push(letter);
        before = letter;
    }
    out
}

/// Identifiers of the form 8-4-4-4-12, which tools print of what they made.
fn without_uuids(text: &str) -> String {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    const LENGTH: usize = 36;
    let is_uuid = |part: &[u8]| {
        part.iter().enumerate().all(
            |(at, byte)| {
                if DASHES.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
            },
        )
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.as_bytes().windows(LENGTH).position(is_uuid) {
        out.push_str(&rest[..at]);
        out.push_str(LEFT_OUT);
        rest = &rest[at + LENGTH..];
    }
    out.push_str(rest);
    out
}
