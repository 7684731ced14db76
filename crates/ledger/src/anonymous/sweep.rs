//! Cleans every text of a document, whatever its field: known secrets, paths, identifiers, addresses.
//! In: a document as JSON. Out: the same without them, keys included. Histograms are skipped: they hold only counts, and their encoding may
//! look like anything.
//! It walks JSON, not types, to catch what the typed rules miss: a serial number in a mount option, a path in an error message, a key of a
//! map. A new field, or a new type of a field, is swept without further code.

use super::secrets::Secrets;
use super::{LEFT_OUT, LeftOut, PATH, Rule};
use crate::json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Parts of field names whose values identify the machine or its owner.
const TELLING: [&str; 10] =
    ["hostname", "host_name", "serial", "wwn", "wwid", "uuid", "by_id", "machine_id", "username", "address"];
/// Names of fields that hold paths, absolute or not.
const PATHS: [&str; 7] = ["path", "scratch", "directories", "folder", "filesystems", "file", "backing_file"];
/// Paths that every Linux has, and that identify no one.
const EVERYWHERE: [&str; 4] = ["/proc/sys/", "/sys/kernel/mm/", "/sys/module/", "/dev/shm"];
/// Least number of digits of a world-wide name after its `0x`.
const WIDE: usize = 12;

/// A record, swept.
pub(super) fn swept<T: Serialize + DeserializeOwned>(
    record: T,
    secrets: &Secrets,
    left_out: &mut LeftOut,
) -> Result<T, String> {
    let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
    let mut value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let before = left_out.clone();
    Sweep { secrets, left_out, plain: BTreeSet::new() }.sweep(&mut value);
    if *left_out == before {
        return Ok(record);
    }
    json::read(&value.to_string()).map_err(|error| error.to_string())
}

/// The sweep of one document.
struct Sweep<'a> {
    secrets: &'a Secrets,
    left_out: &'a mut LeftOut,
    /// Field names already found harmless; a document has some hundred, each many times.
    plain: BTreeSet<String>,
}

impl Sweep<'_> {
    fn sweep(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = clean(text, self.secrets, self.left_out),
            Value::Array(items) => items.iter_mut().for_each(|item| self.sweep(item)),
            Value::Object(fields) if fields.keys().all(|name| self.is_plain(name)) => {
                let counts = |name: &str| name == "hdr";
                fields.iter_mut().filter(|(name, _)| !counts(name)).for_each(|(_, field)| self.sweep(field));
            }
            Value::Object(fields) => {
                for (name, mut field) in std::mem::take(fields) {
                    if is_telling(&name) {
                        put(&mut field, LEFT_OUT, Rule::Identifier, self.left_out);
                    } else if PATHS.contains(&name.as_str()) {
                        put(&mut field, PATH, Rule::Path, self.left_out);
                    }
                    if name != "hdr" {
                        self.sweep(&mut field);
                    }
                    let name = clean(&name, self.secrets, self.left_out);
                    fields.insert(free(fields, name), field);
                }
            }
            _ => {}
        }
    }

    /// Whether a field name marks no identifying value, and is harmless itself.
    fn is_plain(&mut self, name: &str) -> bool {
        if self.plain.contains(name) {
            return true;
        }
        let plain =
            !is_telling(name) && !PATHS.contains(&name) && clean(name, self.secrets, &mut LeftOut::default()) == name;
        if plain {
            self.plain.insert(name.to_owned());
        }
        plain
    }
}

/// Every text of a document, by its place (list items are written `[]`), each once, for a preview. Histograms, which hold only counts, are left out.
pub fn texts(document: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    gather(document, "", &mut found);
    found
}

fn gather(value: &Value, place: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::String(text) if !text.is_empty() => {
            found.entry(place.to_owned()).or_default().insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, &format!("{place}[]"), found)),
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| *name != "hdr") {
                let dot = if place.is_empty() { "" } else { "." };
                gather(field, &format!("{place}{dot}{name}"), found);
            }
        }
        _ => {}
    }
}

/// A name that the object does not have yet.
fn free(fields: &Map<String, Value>, name: String) -> String {
    let numbered = (2..).map(|number: u32| format!("{name} {number}"));
    let found = std::iter::once(name.clone()).chain(numbered).find(|name| !fields.contains_key(name));
    found.unwrap_or(name)
}

fn is_telling(name: &str) -> bool {
    let name = name.to_lowercase().replace(['-', ' '], "_");
    TELLING.iter().any(|part| name.contains(part))
}

/// Replaces a text, or each text of a list, by a word; other types are left unchanged.
fn put(value: &mut Value, word: &str, rule: Rule, left_out: &mut LeftOut) {
    let stays = |text: &str| text.is_empty() || text == word || EVERYWHERE.contains(&text);
    match value {
        Value::String(text) if !stays(text) => {
            left_out.note(rule);
            *text = word.into();
        }
        Value::Array(items) => {
            items.iter_mut().filter(|item| item.is_string()).for_each(|item| put(item, word, rule, left_out));
        }
        _ => {}
    }
}

/// A text, cleaned by all rules.
pub(super) fn clean(text: &str, secrets: &Secrets, left_out: &mut LeftOut) -> String {
    let mut text = secrets.replaced(text, left_out);
    // Most texts hold none of this.
    if text.contains('-') {
        text = without_uuids(&text, left_out);
    }
    if text.contains('@') || text.contains("0x") || text.contains("eui.") {
        text = without_names(&text, left_out);
    }
    if text.contains('/') {
        text = without_paths(&text, left_out);
    }
    text
}

/// Removes absolute paths, whatever surrounds them. Units such as MB/s have no leading slash and stay.
fn without_paths(text: &str, left_out: &mut LeftOut) -> String {
    let mut out = String::new();
    let mut letters = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, letter)) = letters.next() {
        let begins = letter == '/' && !before.is_alphanumeric() && before != ')' && before != '/';
        let first = text[at + letter.len_utf8()..].chars().next();
        if !begins || !first.is_some_and(|first| first.is_alphanumeric() || "._-~".contains(first)) {
            out.push(letter);
            before = letter;
            continue;
        }
        let mut end = at + letter.len_utf8();
        while let Some((_, next)) = letters.next_if(|(_, next)| !next.is_whitespace() && !"\"',;:()<>|".contains(*next))
        {
            end += next.len_utf8();
        }
        let path = &text[at..end];
        let is_everywhere = path == "/dev/shm" || EVERYWHERE[..3].iter().any(|known| path.starts_with(known));
        if is_everywhere {
            out.push_str(path);
        } else {
            left_out.note(Rule::Path);
            out.push_str(PATH);
        }
        before = ')';
    }
    out
}

/// Removes words such as `user@host`, and world-wide names of devices.
fn without_names(text: &str, left_out: &mut LeftOut) -> String {
    let ends = |letter: char| letter.is_whitespace() || "\"',;()<>|=[]{}".contains(letter);
    let mut out = String::new();
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        let rule = if is_address(word) {
            Rule::User
        } else if is_wide(word) {
            Rule::Serial
        } else {
            out.push_str(piece);
            continue;
        };
        left_out.note(rule);
        out.push_str(LEFT_OUT);
        out.push_str(&piece[word.len()..]);
    }
    out
}

fn is_address(word: &str) -> bool {
    let part = |part: &str| part.chars().any(char::is_alphabetic);
    word.split_once('@').is_some_and(|(user, host)| part(user) && part(host))
}

fn is_wide(word: &str) -> bool {
    let digits = |from: &str| word.rsplit_once(from).map(|(_, rest)| rest);
    let hexadecimal = |text: &str| text.len() >= WIDE && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits("0x").or_else(|| digits("eui.")).is_some_and(hexadecimal)
}

/// Removes identifiers of the form 8-4-4-4-12, which tools print for what they create.
fn without_uuids(text: &str, left_out: &mut LeftOut) -> String {
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
        left_out.note(Rule::Identifier);
        out.push_str(&rest[..at]);
        out.push_str(LEFT_OUT);
        rest = &rest[at + LENGTH..];
    }
    out.push_str(rest);
    out
}
