//! A record as people read it: pairs of heading and value.
//! In: any record. Out: pairs; nothing of it is known here by name, so that a new field shows itself.

use serde::Serialize;
use serde_json::Value;

/// Most pairs that one description is flattened to.
const MOST_PAIRS: usize = 400;
/// Longest value of a pair, in characters.
const LONGEST_VALUE: usize = 4000;

/// A record as pairs of heading and value, headings in the order of the alphabet.
pub(super) fn pairs(record: &impl Serialize) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    // Records hold only values that JSON can carry.
    descend(&serde_json::to_value(record).unwrap_or_default(), "", &mut pairs);
    pairs
}

fn descend(value: &Value, heading: &str, pairs: &mut Vec<(String, String)>) {
    if pairs.len() >= MOST_PAIRS {
        return;
    }
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('_', " ");
                let below = if heading.is_empty() { name } else { format!("{heading}, {name}") };
                descend(field, &below, pairs);
            }
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(|item| pair(item).is_some()) => {
            for (name, field) in items.iter().filter_map(pair) {
                descend(field, &format!("{heading}, {}", name.replace('_', " ")), pairs);
            }
        }
        Value::Number(number) if heading.ends_with("bytes") && number.is_u64() => {
            let count = number.as_u64().unwrap_or_default();
            push(pairs, heading.trim_end_matches("bytes").trim_end_matches([',', ' ']), records::show_bytes(count));
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (number, item) in items.iter().enumerate() {
                descend(item, &format!("{heading} {}", number + 1), pairs);
            }
        }
        Value::Array(items) => {
            let words: Vec<String> = items.iter().map(plain_text).collect();
            push(pairs, heading, words.join(" "));
        }
        other => push(pairs, heading, plain_text(other)),
    }
}

/// A list of two whose first is a name: how maps are kept where their order counts.
fn pair(item: &Value) -> Option<(&str, &Value)> {
    match item.as_array()?.as_slice() {
        [name, value] => Some((name.as_str()?, value)),
        _ => None,
    }
}

fn push(pairs: &mut Vec<(String, String)>, heading: &str, text: String) {
    if text.is_empty() {
        return;
    }
    let short: String = text.chars().take(LONGEST_VALUE).collect();
    let text = if short.len() < text.len() { format!("{short} …") } else { text };
    pairs.push((heading.trim().to_owned(), text));
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => other.to_string(),
    }
}
