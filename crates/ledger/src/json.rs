//! Reads a record from a JSON text, with the path to the part that cannot be read.
//! In: a text. Out: the record, or what is wrong and where: `found.device.size_bytes`.
//! A deserializer that tracks the path would be compiled a second time for every type, and slow down the many successful reads; so the path
//! is found afterwards, from the offset of the error.

use serde::de::DeserializeOwned;
use std::fmt::{Display, Formatter, Write};

/// Why a text is not the expected record.
#[derive(Debug)]
pub struct Unreadable {
    /// The path to the unreadable part, `a.b[3].c`; empty for the whole.
    pub way: String,
    /// What is wrong with it.
    pub why: String,
}

impl Display for Unreadable {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        match self.way.as_str() {
            "" => write!(to, "it cannot be read: {}", self.why),
            way => write!(to, "the field {way} cannot be read: {}", self.why),
        }
    }
}

/// Reads the record of a text.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| unreadable(text, &error))
}

fn unreadable(text: &str, error: &serde_json::Error) -> Unreadable {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    Unreadable { way: way_to(text, before + error.column()), why: error.to_string() }
}

/// An enclosing container at a position of a text.
enum Open {
    /// An object, and the name of the current value.
    Object(Option<String>),
    /// A list, and the index of the current value.
    List(usize),
}

/// The path to an offset of a text. The text is valid JSON up to there, since the parser reached it.
fn way_to(text: &str, offset: usize) -> String {
    let mut open: Vec<Open> = Vec::new();
    let mut name_begins = false;
    let mut bytes = text.bytes().enumerate().take(offset);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::List(0)),
            b'}' | b']' => _ = open.pop(),
            b',' => match open.last_mut() {
                Some(Open::List(number)) => *number += 1,
                Some(Open::Object(name)) => *name = None,
                None => {}
            },
            b'"' => {
                let mut end = at;
                while let Some((next, byte)) = bytes.next() {
                    end = next;
                    match byte {
                        b'\\' => _ = bytes.next(),
                        b'"' => break,
                        _ => {}
                    }
                }
                if let (true, Some(Open::Object(name))) = (name_begins, open.last_mut()) {
                    *name = text.get(at + 1..end).map(str::to_owned);
                }
            }
            _ => {}
        }
        name_begins = match byte {
            b'{' | b',' => true,
            byte if byte.is_ascii_whitespace() => name_begins,
            _ => false,
        };
    }
    let mut way = String::new();
    for step in &open {
        match step {
            Open::Object(Some(name)) if way.is_empty() => way.push_str(name),
            Open::Object(Some(name)) => way.extend([".", name]),
            Open::List(number) => _ = write!(way, "[{number}]"),
            Open::Object(None) => {}
        }
    }
    way
}

#[cfg(test)]
mod tests {
    use super::{read, way_to};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Deserialize, Debug)]
    struct Outer {
        #[serde(rename = "in")]
        _inner: Inner,
        #[serde(rename = "list")]
        _list: Vec<Inner>,
    }

    #[derive(Deserialize, Debug)]
    struct Inner {
        #[serde(rename = "n")]
        _n: u32,
        #[serde(rename = "s")]
        _s: Option<BTreeMap<String, Vec<bool>>>,
    }

    fn way(text: &str) -> String {
        read::<Outer>(text).expect_err("it cannot be read").way
    }

    #[test]
    fn the_path_of_an_unreadable_value_is_named() {
        assert_eq!(way(r#"{"in": {"n": "seven"}, "list": []}"#), "in.n");
        assert_eq!(way(r#"{"in": {"n": {"a": 1}}, "list": []}"#), "in.n");
        assert_eq!(way(r#"{"in": {"n": -1}, "list": []}"#), "in.n");
        assert_eq!(way("{\n \"in\": {\n \"n\": [1]\n}, \"list\": []}"), "in.n");
        assert_eq!(
            way(r#"{"in": {"n": 1}, "list": [{"n": 1}, {"n": 2, "s": {"a\",[{": [true, 3]}}]}"#),
            r#"list[1].s.a\",[{[1]"#
        );
    }

    #[test]
    fn the_path_of_an_object_without_a_field_is_named() {
        assert_eq!(way(r#"{"in": {}, "list": []}"#), "in");
        assert_eq!(way(r#"{"in": {"n": 1}, "list": [{"n": 1}, {"s": {}}, {"n": 2}]}"#), "list[1]");
        assert_eq!(way(r#"{"in": {"n": 1}}"#), "");
    }

    #[test]
    fn the_path_in_a_truncated_or_invalid_text_ends_where_reading_ended() {
        assert_eq!(way(r#"{"in": {"n": 1"#), "in.n");
        assert_eq!(way("nothing"), "");
        assert_eq!(way_to("\"\\", 9), "");
    }
}
