//! Axes: sets of values whose product is compared (`mkfs.rmapbt = [0, 1]`, `scheduler = ["none", "bfq"]`).
//! In: contenders and axes. Out: one contender for each combination, with readable labels and its place on each axis.
//! The product is limited, so that a slip in a plan does not ask for a year of work.

use crate::ages::FRESH;
use crate::contender::Contender;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values of each axis; an axis without values is not one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Axes {
    /// mkfs settings by name.
    pub mkfs: BTreeMap<String, Vec<String>>,
    /// Mount options by name; the value `on` stands for the bare word, `off` for its absence.
    pub mount: BTreeMap<String, Vec<String>>,
    /// I/O schedulers.
    pub scheduler: Vec<String>,
    /// Settings of the device's queue by name.
    pub device: BTreeMap<String, Vec<String>>,
    /// Kernels.
    pub kernel: Vec<String>,
    /// Ages.
    pub age: Vec<String>,
    /// Fills, as shares of 1.
    pub fill: Vec<f64>,
    /// Combinations that are left out, each by its value on some axes (`scheduler` = `bfq`, `mount.logbsize` = `32k`).
    pub exclude: Vec<BTreeMap<String, String>>,
}

/// Contenders that a product may make.
pub const PRODUCT_LIMIT: usize = 1000;

/// One axis as it is multiplied: its name, and for each value its text and what it does to a contender.
struct Axis<'a> {
    name: String,
    values: Vec<(String, Change<'a>)>,
}

/// What one value of an axis does to a contender.
enum Change<'a> {
    Mkfs(&'a str, &'a str),
    Mount(&'a str, &'a str),
    Scheduler(&'a str),
    Device(&'a str, &'a str),
    Kernel(&'a str),
    Age(&'a str),
    Fill(f64),
}

impl Axes {
    /// Every contender at every combination, minus the excluded ones; fails beyond [`PRODUCT_LIMIT`].
    pub fn multiply(&self, contenders: Vec<Contender>) -> std::result::Result<Vec<Contender>, String> {
        let mut product = contenders;
        let axes = self.list();
        for axis in &axes {
            if product.len().saturating_mul(axis.values.len()) > PRODUCT_LIMIT {
                return Err(format!(
                    "the axes multiply to more than {PRODUCT_LIMIT} contenders; leave out some values"
                ));
            }
            product = product
                .iter()
                .flat_map(|contender| axis.values.iter().map(|value| at(contender, &axis.name, value)))
                .collect();
        }
        let known: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        if let Some(name) = self.exclude.iter().flat_map(BTreeMap::keys).find(|name| !known.contains(&name.as_str())) {
            return Err(format!("`exclude` names the axis `{name}` ({})", crate::error::suggestion(name, &known)));
        }
        product.retain(|contender| !self.exclude.iter().any(|row| stands_at(contender, row)));
        match product.is_empty() {
            true => Err("the axes exclude every contender".to_owned()),
            false => Ok(product),
        }
    }

    fn list(&self) -> Vec<Axis<'_>> {
        let mut axes: Vec<Axis<'_>> = Vec::new();
        for (name, values) in &self.mkfs {
            axes.push(named(
                format!("mkfs.{name}"),
                values.iter().map(|value| (value.clone(), Change::Mkfs(name, value))).collect(),
            ));
        }
        for (name, values) in &self.mount {
            axes.push(named(
                format!("mount.{name}"),
                values.iter().map(|value| (value.clone(), Change::Mount(name, value))).collect(),
            ));
        }
        for (name, values) in &self.device {
            axes.push(named(
                format!("device.{name}"),
                values.iter().map(|value| (value.clone(), Change::Device(name, value))).collect(),
            ));
        }
        axes.push(named(
            "kernel".into(),
            self.kernel.iter().map(|value| (value.clone(), Change::Kernel(value))).collect(),
        ));
        axes.push(named("age".into(), self.age.iter().map(|value| (value.clone(), Change::Age(value))).collect()));
        axes.push(named(
            "fill".into(),
            self.fill.iter().map(|value| (percent(*value), Change::Fill(*value))).collect(),
        ));
        axes.push(named(
            "scheduler".into(),
            self.scheduler.iter().map(|value| (value.clone(), Change::Scheduler(value))).collect(),
        ));
        axes.retain(|axis| !axis.values.is_empty());
        axes
    }
}

fn named<'a>(name: String, values: Vec<(String, Change<'a>)>) -> Axis<'a> {
    Axis { name, values }
}

fn percent(share: f64) -> String {
    // Shares are binary fractions: 0.55 times 100 is not quite 55.
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// Fills a contender; what is added to its label. An empty filesystem has no age, and a fresh one no fill.
fn fill(contender: &mut Contender, share: f64, text: &str) -> String {
    if contender.age.as_deref() == Some(FRESH) {
        return String::new();
    }
    if share > 0.0 {
        contender.fill = Some(share);
        return format!(" {text}");
    }
    if let Some(age) = contender.age.replace(FRESH.into()) {
        let label = contender.label.strip_suffix(&format!(" {age}")).unwrap_or(&contender.label);
        contender.label = label.to_owned();
    }
    format!(" {FRESH}")
}

fn stands_at(contender: &Contender, row: &BTreeMap<String, String>) -> bool {
    row.iter().all(|(axis, value)| contender.axes.get(axis) == Some(value))
}

/// The contender at one value of one axis.
fn at(contender: &Contender, axis: &str, (text, change): &(String, Change<'_>)) -> Contender {
    let mut contender = contender.clone();
    contender.axes.insert(axis.to_owned(), text.clone());
    let suffix = match change {
        Change::Mkfs(name, value) => {
            contender.mkfs_settings.insert((*name).to_owned(), (*value).to_owned());
            format!(" {name}={value}")
        }
        Change::Mount(name, value) => {
            let word = match *value {
                "on" => Some((*name).to_owned()),
                "off" => None,
                value => Some(format!("{name}={value}")),
            };
            if let Some(word) = word {
                let comma = if contender.mount.is_empty() { "" } else { "," };
                contender.mount = format!("{}{comma}{word}", contender.mount);
            }
            format!(" {name}={value}")
        }
        Change::Device(name, value) => {
            contender.device.insert((*name).to_owned(), (*value).to_owned());
            format!(" {name}={value}")
        }
        Change::Kernel(value) => {
            contender.kernel = Some((*value).to_owned());
            format!(" on {value}")
        }
        Change::Age(value) => {
            contender.age = Some((*value).to_owned());
            format!(" {value}")
        }
        Change::Fill(value) => fill(&mut contender, *value, text),
        Change::Scheduler(value) => {
            contender.scheduler = Some((*value).to_owned());
            format!("+{value}")
        }
    };
    contender.label.push_str(&suffix);
    contender
}
