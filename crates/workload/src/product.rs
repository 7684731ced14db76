//! Multiplies contenders by axes, using the settings defined in each filesystem's file.
//! In: contenders, axes, and [`AxisFacts`] by filesystem. Out: an [`AxisProduct`]: the contenders, and what was not multiplied, in words.
//! An axis applies to filesystems that know it; the others enter once. A setting that no filesystem knows is an error.

use crate::axes::{self, Axes};
use crate::contender::Contender;
use crate::error::suggestion;
use ::axes::DEFAULT;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Contenders that a product may make.
pub const PRODUCT_LIMIT: usize = 1000;
/// Matches any value in a rule except [`DEFAULT`].
const ANY: &str = "*";

/// Settings for axes, as defined in a filesystem's file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AxisFacts {
    /// Its mkfs settings by name.
    pub mkfs: BTreeMap<String, SettingFacts>,
    /// Keys of the mount options that it knows; None: every option is accepted.
    pub mount: Option<BTreeSet<String>>,
    /// It supports volumes on several devices.
    pub several_devices: bool,
    /// Combinations that exclude each other.
    pub excludes: Vec<Exclusion>,
}

/// Facts about one mkfs setting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SettingFacts {
    /// A switch: `on`, `off`, `1`, `0`, `true` and `false` are its values.
    pub switch: bool,
    /// The only allowed values; empty: mkfs decides.
    pub values: Vec<String>,
}

/// Settings that exclude each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Values by axis (`mkfs.crc` = `off`); `*` matches any.
    pub when: BTreeMap<String, String>,
    /// Why.
    pub because: String,
}

/// A product.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AxisProduct {
    /// The contenders, each with its own label and its value on each axis.
    pub contenders: Vec<Contender>,
    /// What was excluded or not multiplied, a sentence each.
    pub notes: Vec<String>,
}

impl Axes {
    /// Every contender at every combination that its filesystem knows, except excluded ones; fails beyond [`PRODUCT_LIMIT`].
    pub fn product(
        &self,
        contenders: Vec<Contender>,
        facts: &BTreeMap<String, AxisFacts>,
    ) -> Result<AxisProduct, String> {
        let mut field = AxisProduct { contenders, notes: Vec::new() };
        let axes = self.list();
        let known: Vec<&str> = axes.iter().map(|(name, _)| *name).collect();
        if let Some(name) = self.exclude.iter().flat_map(BTreeMap::keys).find(|name| !known.contains(&name.as_str())) {
            return Err(format!("`exclude` names `{name}`, which is not an axis here ({})", suggestion(name, &known)));
        }
        for (name, values) in axes {
            let reach = Reach::of(name, values, &field.contenders, facts)?;
            field.notes.extend(reach.notes(name));
            if field.contenders.len().saturating_mul(values.len()) > PRODUCT_LIMIT {
                let text = format!("the axes give more than {PRODUCT_LIMIT} contenders; leave out some values");
                return Err(text);
            }
            field.contenders = field.contenders.iter().flat_map(|one| reach.along(one, name, values)).collect();
        }
        let excluded: Vec<_> = self.exclude.iter().map(as_kept).collect();
        field.contenders.retain(|contender| !excluded.iter().any(|row| matches_row(contender, row)));
        leave_out(&mut field, facts);
        match field.contenders.is_empty() {
            true => Err(["the axes leave no contender".to_owned()]
                .into_iter()
                .chain(field.notes)
                .collect::<Vec<_>>()
                .join("; ")),
            false => Ok(field),
        }
    }
}

/// A combination with its values in their axes' notation; a value that is invalid there stays as it is and matches nothing.
fn as_kept(row: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let kept = |axis: &str, value: &String| axes::read(axis, value).unwrap_or_else(|_| value.clone());
    row.iter().map(|(axis, value)| (axis.clone(), kept(axis, value))).collect()
}

/// Filesystems to which an axis applies, and with which values.
struct Reach {
    /// Filesystems that do not know it.
    without: BTreeSet<String>,
    /// Values that a filesystem does not accept.
    refused: BTreeMap<String, BTreeSet<String>>,
}

impl Reach {
    fn of(
        axis: &str,
        values: &[String],
        contenders: &[Contender],
        facts: &BTreeMap<String, AxisFacts>,
    ) -> Result<Self, String> {
        let mut reach = Self { without: BTreeSet::new(), refused: BTreeMap::new() };
        let filesystems: BTreeSet<&str> = contenders.iter().map(|one| one.filesystem.as_str()).collect();
        for name in &filesystems {
            let Some(facts) = facts.get(*name) else { continue };
            match facts.knows(axis) {
                Known::No => {
                    reach.without.insert((*name).to_owned());
                }
                Known::Yes(None) => {}
                Known::Yes(Some(setting)) => {
                    let refused = values.iter().filter(|text| !setting.takes(text));
                    reach.refused.insert((*name).to_owned(), refused.cloned().collect());
                }
            }
        }
        if reach.without.len() == filesystems.len() && !filesystems.is_empty() {
            return Err(unknown(axis, &filesystems, facts));
        }
        let is_refused = |text: &String| {
            filesystems.iter().filter(|name| !reach.without.contains(**name)).all(|name| reach.refuses(name, text))
        };
        match values.iter().find(|text| is_refused(text)) {
            Some(text) => Err(not_taken(axis, text, &filesystems, facts)),
            None => Ok(reach),
        }
    }

    fn refuses(&self, filesystem: &str, value: &str) -> bool {
        self.refused.get(filesystem).is_some_and(|refused| refused.contains(value))
    }

    /// The contender at each value, or unchanged if its filesystem does not know the axis.
    fn along(&self, contender: &Contender, axis: &str, values: &[String]) -> Vec<Contender> {
        if self.without.contains(&contender.filesystem) {
            return vec![contender.clone()];
        }
        let taken = values.iter().filter(|text| !self.refuses(&contender.filesystem, text));
        taken.map(|text| axes::placed(contender, axis, text)).collect()
    }

    fn notes(&self, axis: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.without.is_empty() {
            let names: Vec<&str> = self.without.iter().map(String::as_str).collect();
            let enter = if names.len() == 1 { "enters" } else { "enter" };
            notes.push(format!("{} {enter} without {axis}, which is unknown there", names.join(", ")));
        }
        for (name, values) in self.refused.iter().filter(|(_, values)| !values.is_empty()) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            notes.push(format!("{name} is left out at {axis} = {}, which it does not support", values.join(", ")));
        }
        notes
    }
}

/// Whether a filesystem knows an axis, and the facts about its setting.
enum Known<'a> {
    No,
    Yes(Option<&'a SettingFacts>),
}

impl AxisFacts {
    fn knows(&self, axis: &str) -> Known<'_> {
        match axis.split_once('.') {
            Some(("mkfs", name)) => self.mkfs.get(name).map_or(Known::No, |setting| Known::Yes(Some(setting))),
            Some(("mount", name)) => match &self.mount {
                Some(known) if !known.contains(name) => Known::No,
                _ => Known::Yes(None),
            },
            _ if axis == ::axes::DEVICES && !self.several_devices => Known::No,
            _ => Known::Yes(None),
        }
    }
}

impl SettingFacts {
    fn takes(&self, value: &str) -> bool {
        value == DEFAULT
            || match self.switch {
                true => switched(value).is_some(),
                false => self.values.is_empty() || self.values.iter().any(|known| known == value),
            }
    }
}

/// The value of a switch: on or off; None for any other text.
pub fn switched(value: &str) -> Option<bool> {
    match value {
        "on" | "1" | "true" => Some(true),
        "off" | "0" | "false" => Some(false),
        _ => None,
    }
}

/// The error for a setting that no contender's filesystem knows.
fn unknown(axis: &str, filesystems: &BTreeSet<&str>, facts: &BTreeMap<String, AxisFacts>) -> String {
    let (kind, name) = axis.split_once('.').unwrap_or(("", axis));
    let list = |facts: &AxisFacts| -> Vec<String> {
        match kind {
            "mkfs" => facts.mkfs.keys().cloned().collect(),
            "" if facts.several_devices => vec![::axes::DEVICES.to_owned()],
            "" => Vec::new(),
            _ => facts.mount.iter().flatten().cloned().collect(),
        }
    };
    let here = filesystems.iter().filter_map(|name| Some((*name, list(facts.get(*name)?))));
    let here: Vec<(&str, Vec<String>)> = here.collect();
    let all: BTreeSet<&str> = here.iter().flat_map(|(_, names)| names).map(String::as_str).collect();
    let near = crate::error::nearest(name, all.iter().copied());
    let elsewhere: Vec<&str> = facts
        .iter()
        .filter(|(_, facts)| list(facts).iter().any(|known| known == name))
        .map(|(name, _)| name.as_str())
        .collect();
    let names: Vec<&str> = filesystems.iter().copied().collect();
    let hint = match near {
        _ if !elsewhere.is_empty() => format!("it is a setting of {}", elsewhere.join(", ")),
        Some(near) => format!("did you mean `{kind}.{near}`?"),
        None => {
            let known = here.iter().map(|(name, known)| match known.is_empty() {
                true => format!("{name} has no settings of this kind"),
                false => format!("{name} has {}", known.join(", ")),
            });
            known.collect::<Vec<_>>().join("; ")
        }
    };
    format!("the axis `{axis}` is unknown to {} ({hint})", names.join(", "))
}

/// The error for a value that no contender's filesystem accepts.
fn not_taken(axis: &str, value: &str, filesystems: &BTreeSet<&str>, facts: &BTreeMap<String, AxisFacts>) -> String {
    let takes = filesystems.iter().filter_map(|name| match facts.get(*name)?.knows(axis) {
        Known::Yes(Some(setting)) if setting.switch => Some(format!("{name} takes on or off")),
        Known::Yes(Some(setting)) => Some(format!("{name} takes {}", setting.values.join(", "))),
        _ => None,
    });
    format!("the axis `{axis}` cannot have the value `{value}` ({})", takes.collect::<Vec<_>>().join("; "))
}

/// Removes contenders that the filesystems' own rules exclude, with a note for each rule.
fn leave_out(field: &mut AxisProduct, facts: &BTreeMap<String, AxisFacts>) {
    let mut left: BTreeMap<(String, String), usize> = BTreeMap::new();
    field.contenders.retain(|contender| {
        let rules = facts.get(&contender.filesystem).map(|facts| facts.excludes.as_slice()).unwrap_or_default();
        let broken = rules.iter().find(|rule| rule.when.iter().all(|(axis, value)| is_at(contender, axis, value)));
        if let Some(rule) = broken {
            *left.entry((contender.filesystem.clone(), rule.because.clone())).or_default() += 1;
        }
        broken.is_none()
    });
    for ((filesystem, because), count) in left {
        let what = if count == 1 { "1 combination".to_owned() } else { format!("{count} combinations") };
        field.notes.push(format!("{what} of {filesystem} left out: {because}"));
    }
}

/// Whether a contender has a value on an axis. `*` matches any value, and switches match in any notation.
fn is_at(contender: &Contender, axis: &str, value: &str) -> bool {
    let Some(at) = contender.axes.get(axis).filter(|at| *at != DEFAULT) else {
        return false;
    };
    let alike = switched(value).is_some() && switched(value) == switched(at);
    at == value || alike || (value == ANY && switched(at) != Some(false))
}

fn matches_row(contender: &Contender, row: &BTreeMap<String, String>) -> bool {
    row.iter().all(|(axis, value)| is_at(contender, axis, value) || contender.axes.get(axis) == Some(value))
}
