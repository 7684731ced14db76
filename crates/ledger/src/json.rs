//! Reading a record from a JSON text, with the way to the part that cannot be read.
//! In: a text. Out: the record, or what is wrong and where: `found.device.size_bytes`.
//! A reader that keeps that way while it reads would be compiled for every type a second time, and slow down what is read a million times;
//! so it is found afterwards, from the place in the text at which reading ended.

use serde::de::DeserializeOwned;
use std::fmt::{Display, Formatter, Write};

/// Why a text is not the record that it should be.
#[derive(Debug)]
pub struct Unreadable {
    /// The way to the part of it that cannot be read, `a.b[3].c`; empty where it is the whole.
    pub way: String,
    /// What is wrong with that.
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

/// The record that a text holds.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| unreadable(text, &error))
}

fn unreadable(text: &str, error: &serde_json::Error) -> Unreadable {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    Unreadable { way: way_to(text, before + error.column()), why: error.to_string() }
}

/// What is open at some place of a text.
enum Open {
    /// An object, and the name whose value is read.
    Object(Option<String>),
    /// A list, and the number of the value that is read.
    List(usize),
}

/// The way to what stands in a text before an offset. The text is JSON as far as that, since a reader came there.
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
    fn what_cannot_be_read_is_named() {
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
    fn what_lacks_a_field_is_named() {
        assert_eq!(way(r#"{"in": {}, "list": []}"#), "in");
        assert_eq!(way(r#"{"in": {"n": 1}, "list": [{"n": 1}, {"s": {}}, {"n": 2}]}"#), "list[1]");
        assert_eq!(way(r#"{"in": {"n": 1}}"#), "");
    }

    #[test]
    fn a_text_that_ends_early_and_one_that_is_none_are_told() {
        assert_eq!(way(r#"{"in": {"n": 1"#), "in.n");
        assert_eq!(way("nothing"), "");
        assert_eq!(way_to("\"\\", 9), "");
    }
}
