//! Axes: sets of values whose product is compared (`mkfs.rmapbt = [0, 1]`, `scheduler = ["none", "bfq"]`).
//! In: a plan's table, or `NAME=VALUE,VALUE` from a command line. Out: axes, which [`crate::product`] multiplies contenders by.
//! The crate `axes` defines what a value is and does; this module parses values as users write them.

use crate::age_profiles::parse_fill;
use crate::error::suggestion;
use crate::quantity::parse_bytes;
use axes::{DEFAULT, Takes};
use records::Contender;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values of each axis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Axes {
    /// Values by the axis' name (`mkfs.rmapbt`, `scheduler`), as the table keeps them.
    values: BTreeMap<String, Vec<String>>,
    /// Excluded combinations, each by its value on some axes (`scheduler` = `bfq`, `mount.logbsize` = `32k`).
    pub exclude: Vec<BTreeMap<String, String>>,
}

/// Most values of one axis.
const VALUES_LIMIT: usize = 1000;

impl Axes {
    /// Adds an axis in the command line's notation: `mkfs.rmapbt=0,1`, `scheduler=none,bfq`. It replaces one of the same name.
    ///
    /// # Errors
    /// An unknown axis, no values, or an invalid value.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, values) = text
            .split_once('=')
            .ok_or_else(|| format!("{text}: write NAME=VALUE,VALUE, such as mkfs.rmapbt=0,1 or scheduler=none,bfq"))?;
        let values: Vec<&str> = values.split(',').map(str::trim).filter(|value| !value.is_empty()).collect();
        if values.is_empty() {
            return Err(format!("{text}: an axis has 1 to {VALUES_LIMIT} values, separated by commas"));
        }
        self.give(name, &values).map_err(|problem| format!("{text}: {problem}"))
    }

    /// Sets the values of an axis, as users write them; an empty list removes the axis.
    ///
    /// # Errors
    /// An unknown axis, too many values, or an invalid value.
    pub fn give(&mut self, name: &str, values: &[impl AsRef<str>]) -> Result<(), String> {
        if values.len() > VALUES_LIMIT {
            return Err(format!("the axis `{name}` has {} values; the limit is {VALUES_LIMIT}", values.len()));
        }
        let read = values.iter().map(|value| read(name, value.as_ref())).collect::<Result<Vec<_>, _>>()?;
        self.values.remove(name);
        if !read.is_empty() {
            self.values.insert(name.to_owned(), read);
        }
        Ok(())
    }

    /// Removes an axis.
    pub fn drop(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Values of an axis; none if it does not vary.
    pub fn of(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Adds an excluded combination in the command line's notation: `mkfs.rmapbt=0,scheduler=bfq`.
    ///
    /// # Errors
    /// A part that is not `NAME=VALUE`.
    pub fn leave_out(&mut self, text: &str) -> Result<(), String> {
        let parts = text.split(',').map(|part| match part.split_once('=') {
            Some((axis, value)) => Ok((axis.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("{text}: write AXIS=VALUE,AXIS=VALUE, such as mkfs.rmapbt=0,scheduler=bfq")),
        });
        self.exclude.push(parts.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Every axis that has values, in the table's order.
    pub(crate) fn list(&self) -> Vec<(&str, &[String])> {
        let mut list: Vec<(&str, &[String])> =
            self.values.iter().map(|(name, values)| (name.as_str(), values.as_slice())).collect();
        list.sort_by_key(|(name, _)| axes::find(name).map(|named| named.place));
        list
    }
}

/// A value in its axis' notation.
///
/// # Errors
/// There is no such axis, or the value is invalid.
pub fn read(name: &str, value: &str) -> Result<String, String> {
    let named = axes::find(name).ok_or_else(|| {
        let known: Vec<&str> = axes::names().collect();
        format!("there is no axis `{name}` ({})", suggestion(name, &known))
    })?;
    let kept = match named.axis.about().takes {
        Takes::Words => value.to_owned(),
        Takes::Sizes if value == DEFAULT => value.to_owned(),
        Takes::Sizes => axes::exact_size(parse_bytes(value)?),
        // Shares are binary fractions: 0.55 times 100 is not exactly 55.
        Takes::Fills => format!("{}%", (parse_fill(value)? * 1e6).round() / 1e4),
    };
    named.axis.check(named.setting, &kept).map(|()| kept)
}

/// The contender at one value of one axis, with the label for it.
pub(crate) fn placed(contender: &Contender, name: &str, value: &str) -> Contender {
    let mut contender = contender.clone();
    axes::put(&mut contender, name, value);
    contender.label = axes::label(&contender);
    contender
}
