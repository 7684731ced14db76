//! Axes: sets of values whose product is compared (`mkfs.rmapbt = [0, 1]`, `scheduler = ["none", "bfq"]`).
//! In: a plan's table, or `NAME=VALUE,VALUE` from a command line. Out: axes, which [`crate::product`] multiplies contenders by.
//! Each value changes a contender, gives it a readable label and its place on the axis.

use crate::age_profiles::parse_fill;
use crate::contender::Contender;
use crate::error::suggestion;
use crate::product::{Axis, DEFAULT};
use records::FRESH;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use crate::product::PRODUCT_LIMIT;

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

/// Values that one axis may have.
const VALUES_LIMIT: usize = 1000;

/// What one value of an axis does to a contender.
pub(crate) enum Change<'a> {
    Mkfs(&'a str, &'a str),
    Mount(&'a str, &'a str),
    Scheduler(&'a str),
    Device(&'a str, &'a str),
    Kernel(&'a str),
    Age(&'a str),
    Fill(f64),
}

impl Axes {
    /// Adds an axis as a command line names it: `mkfs.rmapbt=0,1`, `scheduler=none,bfq`. It takes the place of one of the same name.
    ///
    /// # Errors
    /// A name that is no axis, or no values.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, values) = text
            .split_once('=')
            .ok_or_else(|| format!("{text}: write NAME=VALUE,VALUE, such as mkfs.rmapbt=0,1 or scheduler=none,bfq"))?;
        let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
        let values: Vec<String> = values.map(String::from).collect();
        if values.is_empty() || values.len() > VALUES_LIMIT {
            return Err(format!("{text}: an axis has 1 to {VALUES_LIMIT} values, separated by commas"));
        }
        match name.split_once('.') {
            Some(("mkfs", setting)) => drop(self.mkfs.insert(setting.into(), values)),
            Some(("mount", option)) => drop(self.mount.insert(option.into(), values)),
            Some(("device", setting)) => drop(self.device.insert(setting.into(), values)),
            _ => match name {
                "scheduler" => self.scheduler = values,
                "kernel" => self.kernel = values,
                "age" => self.age = values,
                "fill" => self.fill = values.iter().map(|value| parse_fill(value)).collect::<Result<_, _>>()?,
                _ => {
                    let known = ["mkfs.", "mount.", "device.", "scheduler", "kernel", "age", "fill"];
                    return Err(format!("{text}: no axis is called `{name}` ({})", suggestion(name, &known)));
                }
            },
        }
        Ok(())
    }

    /// Adds a combination that is left out, as a command line names it: `mkfs.rmapbt=0,scheduler=bfq`.
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

    /// Every axis that has values.
    pub(crate) fn list(&self) -> Vec<Axis<'_>> {
        let mut axes: Vec<Axis<'_>> = Vec::new();
        axes.extend(self.mkfs.iter().map(|(name, values)| {
            axis(format!("mkfs.{name}"), values.iter().map(|value| (value.clone(), Change::Mkfs(name, value))))
        }));
        axes.extend(self.mount.iter().map(|(name, values)| {
            axis(format!("mount.{name}"), values.iter().map(|value| (value.clone(), Change::Mount(name, value))))
        }));
        axes.extend(self.device.iter().map(|(name, values)| {
            axis(format!("device.{name}"), values.iter().map(|value| (value.clone(), Change::Device(name, value))))
        }));
        axes.push(axis("kernel".into(), self.kernel.iter().map(|value| (value.clone(), Change::Kernel(value)))));
        axes.push(axis("age".into(), self.age.iter().map(|value| (value.clone(), Change::Age(value)))));
        axes.push(axis("fill".into(), self.fill.iter().map(|value| (percent(*value), Change::Fill(*value)))));
        let schedulers = self.scheduler.iter().map(|value| (value.clone(), Change::Scheduler(value)));
        axes.push(axis("scheduler".into(), schedulers));
        axes.retain(|axis| !axis.values.is_empty());
        axes
    }
}

fn axis<'a>(name: String, values: impl Iterator<Item = (String, Change<'a>)>) -> Axis<'a> {
    Axis { name, values: values.collect() }
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

impl Change<'_> {
    /// The contender at one value of one axis.
    pub(crate) fn applied(&self, contender: &Contender, axis: &str, text: &str) -> Contender {
        let mut contender = contender.clone();
        contender.axes.insert(axis.to_owned(), text.to_owned());
        let label = self.change(&mut contender, text);
        contender.label.push_str(&label);
        contender
    }

    /// Changes a contender; what its label gets.
    fn change(&self, contender: &mut Contender, text: &str) -> String {
        match self {
            Change::Mkfs(name, value) => {
                if *value != DEFAULT {
                    contender.mkfs_settings.insert((*name).to_owned(), (*value).to_owned());
                }
                format!(" {name}={value}")
            }
            Change::Mount(name, value) => {
                let word = match *value {
                    "on" => Some((*name).to_owned()),
                    "off" | DEFAULT => None,
                    value => Some(format!("{name}={value}")),
                };
                if let Some(word) = word {
                    let comma = if contender.mount.is_empty() { "" } else { "," };
                    contender.mount = format!("{}{comma}{word}", contender.mount);
                }
                format!(" {name}={value}")
            }
            Change::Device(name, value) => {
                if *value != DEFAULT {
                    contender.device.insert((*name).to_owned(), (*value).to_owned());
                }
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
            Change::Fill(value) => fill(contender, *value, text),
            Change::Scheduler(value) => {
                contender.scheduler = Some((*value).to_owned());
                format!("+{value}")
            }
        }
    }
}
