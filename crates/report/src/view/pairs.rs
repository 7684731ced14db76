//! A record for readers: pairs of heading and value.
//! In: any record. Out: pairs; no field is named here, so that a new one appears without a change.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most pairs of one record.
const MOST_PAIRS: usize = 400;
/// Longest value of a pair, in characters.
const LONGEST_VALUE: usize = 4000;

/// What can be shown of any record: the first variant that matches.
#[derive(Deserialize)]
#[serde(untagged)]
enum Shown {
    Nothing(()),
    Truth(bool),
    Count(u64),
    Number(serde_json::Number),
    Text(String),
    Fields(BTreeMap<String, Shown>),
    /// Maps whose order matters are stored like this.
    Named(Vec<(String, Shown)>),
    List(Vec<Shown>),
}

/// A record as pairs of heading and value, in alphabetical order.
pub(super) fn pairs(record: &impl Serialize) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    // Records hold only values that JSON can carry.
    let shown = serde_json::to_string(record).and_then(|text| serde_json::from_str(&text));
    descend(shown.unwrap_or(Shown::Nothing(())), "", &mut pairs);
    pairs
}

fn descend(value: Shown, heading: &str, pairs: &mut Vec<(String, String)>) {
    if pairs.len() >= MOST_PAIRS {
        return;
    }
    match value {
        Shown::Nothing(()) => {}
        Shown::Fields(fields) => fields.into_iter().for_each(|(name, field)| named(&name, field, heading, pairs)),
        Shown::Named(fields) => fields.into_iter().for_each(|(name, field)| named(&name, field, heading, pairs)),
        Shown::Count(count) if heading.ends_with("bytes") => {
            push(pairs, heading.trim_end_matches("bytes").trim_end_matches([',', ' ']), records::show_bytes(count));
        }
        Shown::List(items) if items.iter().any(|item| plain_text(item).is_none()) => {
            for (number, item) in items.into_iter().enumerate() {
                descend(item, &format!("{heading} {}", number + 1), pairs);
            }
        }
        Shown::List(items) => {
            let words: Vec<String> = items.iter().filter_map(plain_text).collect();
            push(pairs, heading, words.join(" "));
        }
        other => push(pairs, heading, plain_text(&other).unwrap_or_default()),
    }
}

fn named(name: &str, field: Shown, heading: &str, pairs: &mut Vec<(String, String)>) {
    let name = name.replace('_', " ");
    let below = if heading.is_empty() { name } else { format!("{heading}, {name}") };
    descend(field, &below, pairs);
}

fn push(pairs: &mut Vec<(String, String)>, heading: &str, text: String) {
    if text.is_empty() {
        return;
    }
    let short: String = text.chars().take(LONGEST_VALUE).collect();
    let text = if short.len() < text.len() { format!("{short} …") } else { text };
    pairs.push((heading.trim().to_owned(), text));
}

/// A value that is neither a list nor has fields, in a word.
fn plain_text(value: &Shown) -> Option<String> {
    Some(match value {
        Shown::Nothing(()) => "null".into(),
        Shown::Truth(true) => "yes".into(),
        Shown::Truth(false) => "no".into(),
        Shown::Count(count) => count.to_string(),
        Shown::Number(number) => number.to_string(),
        Shown::Text(text) => text.clone(),
        Shown::Fields(_) | Shown::Named(_) | Shown::List(_) => return None,
    })
}
