//! Reads one field of a row: a value of its type, or the place that could not be read.
//! In: rows of SQLite, JSON texts. Out: values, or a [`Fault`] that names the field, down to the part of a document.
//! An unreadable value never becomes a default.

use crate::json;
use rusqlite::Row;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why something could not be read.
#[derive(Debug)]
pub enum Fault {
    /// An error of SQLite.
    Sql(rusqlite::Error),
    /// Content that no ledger has, so that the whole file is not trusted.
    Strange {
        /// What it is.
        why: String,
    },
    /// A field with an invalid value.
    Field {
        /// Its place: run, trial, phase.
        place: String,
        /// Its name, with the path to the unreadable part: `found.device.size_bytes`.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::InvalidColumnType(_, field, kind) => Self::field(&field, format!("it holds {kind}")),
            other => Self::Sql(other),
        }
    }
}

impl Fault {
    fn field(name: &str, why: String) -> Self {
        Self::Field { place: String::new(), field: name.into(), why }
    }

    /// Adds the enclosing place, from the inside out.
    pub fn within(self, outer: &str) -> Self {
        match self {
            Self::Field { place, field, why } if place.is_empty() => Self::Field { place: outer.into(), field, why },
            Self::Field { place, field, why } => Self::Field { place: format!("{outer}, {place}"), field, why },
            whole => whole,
        }
    }
}

/// A column of JSON.
pub fn parsed<T: DeserializeOwned + Serialize>(row: &Row, column: &str) -> Result<T, Fault> {
    let text: String = row.get(column)?;
    from_json(column, &text)
}

/// A column that holds the kebab-case name of a value.
pub fn named<T: DeserializeOwned + Serialize>(row: &Row, column: &str) -> Result<T, Fault> {
    let text: String = row.get(column)?;
    from_json(column, &serde_json::json!(text).to_string())
}

/// As [`named`], for a column that may be absent.
pub fn maybe_named<T: DeserializeOwned + Serialize>(row: &Row, column: &str) -> Result<Option<T>, Fault> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => named(row, column).map(Some),
    }
}

/// A column that holds an integer; SQLite's are signed.
pub fn whole<T: TryFrom<i64>>(row: &Row, column: &str) -> Result<T, Fault> {
    let number: i64 = row.get(column)?;
    T::try_from(number).map_err(|_| Fault::field(column, format!("it holds the impossible value {number}")))
}

/// As [`whole`], for a column that may be absent.
pub fn maybe_whole<T: TryFrom<i64>>(row: &Row, column: &str) -> Result<Option<T>, Fault> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => whole(row, column).map(Some),
    }
}

/// The field names of a JSON text, without their values.
#[derive(Deserialize)]
#[serde(untagged)]
enum Fields {
    Named(BTreeMap<String, Fields>),
    Listed(Vec<Fields>),
    Value(IgnoredAny),
}

/// The value of a JSON text; `name` is its name in the error.
pub fn from_json<T: DeserializeOwned + Serialize>(name: &str, text: &str) -> Result<T, Fault> {
    let unreadable = |error: serde_json::Error| Fault::field(name, error.to_string());
    let kept: Fields = serde_json::from_str(text).map_err(unreadable)?;
    let value: T = json::read(text).map_err(|error| {
        let dot = if error.way.is_empty() || error.way.starts_with('[') { "" } else { "." };
        Fault::field(&format!("{name}{dot}{}", error.way), error.why)
    })?;
    let whole = serde_json::to_string(&value).and_then(|whole| serde_json::from_str(&whole)).map_err(unreadable)?;
    match missing(&kept, &whole) {
        Some(field) => Err(Fault::field(&format!("{name}{field}"), "it is missing".into())),
        None => Ok(value),
    }
}

/// The first field of a complete document that the kept one lacks. Unmeasured values are kept as null, so that a lost or renamed field is
/// never taken for an unmeasured one.
fn missing(kept: &Fields, whole: &Fields) -> Option<String> {
    match (kept, whole) {
        (Fields::Named(kept), Fields::Named(whole)) => whole.iter().find_map(|(name, field)| match kept.get(name) {
            Some(kept) => missing(kept, field).map(|within| format!(".{name}{within}")),
            None => Some(format!(".{name}")),
        }),
        (Fields::Listed(kept), Fields::Listed(whole)) => {
            let mut pairs = kept.iter().zip(whole).enumerate();
            pairs.find_map(|(at, (kept, item))| missing(kept, item).map(|within| format!("[{at}]{within}")))
        }
        _ => None,
    }
}
