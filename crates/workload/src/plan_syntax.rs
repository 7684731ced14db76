//! The shape of a plan file and of a contender file, key by key.
//! In: TOML. Out: raw tables turned into [`Plan`] and [`Contender`], with sizes, durations and shares read.
//! Unknown keys are errors; [`crate::names`] checks later whether names are known.

use crate::age_profiles::parse_fill;
use crate::axes::Axes;
use crate::compile::identifier;
use crate::contender::Contender;
use crate::error::{LanguageError, Problem, Result, from_toml, limit_length};
use crate::plan::{Place, Plan, PlannedWork, Sampling, Until};
use crate::quantity::{parse_bytes, parse_duration, parse_share};
use crate::syntax::Scalar;
use crate::workload::FILE_LIMIT;
use ::axes::{DEVICES, STACK};
use records::{ColdWay, Turns};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Spanned;

/// Contenders that one file or plan may define or name.
pub const CONTENDERS_LIMIT: usize = 1000;
/// Workloads that one plan may hold.
pub const WORKLOADS_LIMIT: usize = 100;

type Outcome<T> = std::result::Result<T, Problem>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawPlan {
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    about: String,
    r#where: Option<RawPlace>,
    #[serde(default)]
    compete: Vec<String>,
    #[serde(default)]
    contenders: BTreeMap<Spanned<String>, RawContender>,
    #[serde(default)]
    axes: RawAxes,
    workloads: Vec<RawPlanned>,
    #[serde(default)]
    sampling: RawSampling,
    seed: Option<u64>,
    cold: Option<ColdWay>,
    turns: Option<Turns>,
    #[serde(default)]
    split: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum RawPlace {
    Image(Spanned<Scalar>),
    Device(PathBuf),
    Directory(PathBuf),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawContender {
    fs: String,
    #[serde(default)]
    mkfs: Vec<String>,
    #[serde(default)]
    mount: String,
    scheduler: Option<String>,
    #[serde(default)]
    device: BTreeMap<String, Scalar>,
    kernel: Option<String>,
    age: Option<String>,
    fill: Option<Spanned<Scalar>>,
    devices: Option<Spanned<Scalar>>,
    stack: Option<Spanned<Scalar>>,
}

/// Tables of axes: lists of values by name, or by setting within a family, and excluded combinations.
#[derive(Debug, Default)]
struct RawAxes {
    values: Vec<(String, Vec<Spanned<Scalar>>)>,
    exclude: Vec<BTreeMap<String, Scalar>>,
}

#[derive(Debug)]
struct RawPlanned {
    name: Spanned<String>,
    scale: Option<String>,
    settings: BTreeMap<String, Scalar>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawSampling {
    samples: Option<Spanned<u32>>,
    min: Option<Spanned<u32>>,
    max: Option<Spanned<u32>>,
    precision: Option<Spanned<Scalar>>,
    budget: Option<Spanned<Scalar>>,
    #[serde(default)]
    until: Until,
    #[serde(default)]
    steady: bool,
}

impl<'de> Deserialize<'de> for RawAxes {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> std::result::Result<Self, D::Error> {
        struct Visit;
        impl<'de> serde::de::Visitor<'de> for Visit {
            type Value = RawAxes;
            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a table of axes, each with a list of values")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<RawAxes, A::Error> {
                let mut raw = RawAxes::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "exclude" {
                        raw.exclude = map.next_value()?;
                    } else if ::axes::is_family(&key) {
                        let settings: BTreeMap<String, Vec<Spanned<Scalar>>> = map.next_value()?;
                        raw.values.extend(settings.into_iter().map(|(name, values)| (format!("{key}.{name}"), values)));
                    } else if ::axes::find(&key).is_some() {
                        raw.values.push((key, map.next_value()?));
                    } else {
                        return Err(unknown_axis(&key));
                    }
                }
                Ok(raw)
            }
        }
        input.deserialize_map(Visit)
    }
}

/// Worded as an unknown key, so that the nearest is named.
fn unknown_axis<E: serde::de::Error>(key: &str) -> E {
    let mut known: Vec<&str> = ::axes::names().map(|name| name.split('.').next().unwrap_or(name)).collect();
    known.push("exclude");
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    E::custom(format!("unknown field `{key}`, expected one of {}", known.join(", ")))
}

/// A bare name, or a table with scale and settings.
impl<'de> Deserialize<'de> for RawPlanned {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct Table {
            name: Spanned<String>,
            scale: Option<String>,
            #[serde(default)]
            settings: BTreeMap<String, Scalar>,
        }
        struct Visit;
        impl<'de> serde::de::Visitor<'de> for Visit {
            type Value = RawPlanned;
            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("the name of a workload, or a table with `name`, `scale` and `settings`")
            }
            fn visit_str<E>(self, name: &str) -> std::result::Result<RawPlanned, E> {
                let name = Spanned::new(0..0, name.to_owned());
                Ok(RawPlanned { name, scale: None, settings: BTreeMap::new() })
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> std::result::Result<RawPlanned, A::Error> {
                let table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(RawPlanned { name: table.name, scale: table.scale, settings: table.settings })
            }
        }
        input.deserialize_any(Visit)
    }
}

impl Plan {
    /// Reads a plan; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        limit_length(text, file, FILE_LIMIT)?;
        let raw: RawPlan = toml::from_str(text).map_err(|error| from_toml(&error, text, file))?;
        plan(raw).map_err(|problem| problem.within(text, file))
    }
}

/// Reads a file of contenders in the form of `published/contenders.toml`: one table for each, named by its label.
pub fn parse_contenders(text: &str, file: &str) -> Result<BTreeMap<String, Contender>> {
    limit_length(text, file, FILE_LIMIT)?;
    let raw: BTreeMap<Spanned<String>, RawContender> =
        toml::from_str(text).map_err(|error| from_toml(&error, text, file))?;
    contenders(raw).map_err(|problem| problem.within(text, file))
}

/// Reads old scheduler names and their replacements, in the form of `published/scheduler-aliases.toml`.
pub fn parse_aliases(text: &str, file: &str) -> Result<BTreeMap<String, String>> {
    limit_length(text, file, FILE_LIMIT)?;
    toml::from_str(text).map_err(|error| -> LanguageError { from_toml(&error, text, file) })
}

fn plan(raw: RawPlan) -> Outcome<Plan> {
    identifier("plan", raw.name.get_ref()).map_err(|problem| problem.at(raw.name.span()))?;
    if raw.workloads.is_empty() || raw.workloads.len() > WORKLOADS_LIMIT {
        let problem = Problem::new(format!("a plan has 1 to {WORKLOADS_LIMIT} workloads, not {}", raw.workloads.len()));
        return Err(problem.help("add `workloads = [\"small-files\"]`").at(raw.name.span()));
    }
    if raw.compete.len() > CONTENDERS_LIMIT {
        return Err(Problem::new(format!("{} contenders; the limit is {CONTENDERS_LIMIT}", raw.compete.len())));
    }
    let name = raw.name.into_inner();
    Ok(Plan {
        title: if raw.title.is_empty() { name.clone() } else { raw.title },
        about: raw.about.trim().to_owned(),
        name,
        place: raw.r#where.map(place).transpose()?,
        compete: raw.compete,
        contenders: contenders(raw.contenders)?,
        axes: axes(raw.axes)?,
        workloads: raw.workloads.into_iter().map(planned).collect(),
        sampling: sampling(&raw.sampling)?,
        seed: raw.seed,
        cold: raw.cold,
        turns: raw.turns,
        split: raw.split,
    })
}

fn read<T>(field: &Spanned<Scalar>, parse: impl Fn(&str) -> std::result::Result<T, String>) -> Outcome<T> {
    parse(&field.get_ref().0).map_err(|problem| Problem::new(problem).at(field.span()))
}

fn place(raw: RawPlace) -> Outcome<Place> {
    Ok(match raw {
        RawPlace::Image(size) => Place::Image(read(&size, parse_bytes)?),
        RawPlace::Device(path) => Place::Device(path),
        RawPlace::Directory(path) => Place::Directory(path),
    })
}

fn contenders(raw: BTreeMap<Spanned<String>, RawContender>) -> Outcome<BTreeMap<String, Contender>> {
    if raw.len() > CONTENDERS_LIMIT {
        return Err(Problem::new(format!("{} contenders; the limit is {CONTENDERS_LIMIT}", raw.len())));
    }
    raw.into_iter()
        .map(|(label, raw)| {
            let span = label.span();
            let label = label.into_inner();
            identifier("contender", &label).map_err(|problem| problem.at(span.clone()))?;
            let contender = contender(label.clone(), raw).map_err(|problem| problem.at(span))?;
            Ok((label, contender))
        })
        .collect()
}

fn contender(label: String, raw: RawContender) -> Outcome<Contender> {
    let unfit = |text: &&String| text.chars().any(char::is_control) || text.len() > 4096;
    if let Some(bad) = raw.mkfs.iter().chain([&raw.mount, &raw.fs]).find(unfit) {
        return Err(Problem::new(format!("`{}` contains control characters or is too long", bad.escape_debug())));
    }
    let on_axis = |name: &str, value: Option<Spanned<Scalar>>| -> Outcome<Option<(String, String)>> {
        let read = value.map(|value| read(&value, |text| crate::axes::read(name, text))).transpose()?;
        Ok(read.map(|value| (name.to_owned(), value)))
    };
    let (devices, stack) = (on_axis(DEVICES, raw.devices)?, on_axis(STACK, raw.stack)?);
    Ok(Contender {
        base: label.clone(),
        label,
        filesystem: raw.fs,
        mkfs: raw.mkfs,
        mount: raw.mount,
        mkfs_settings: BTreeMap::new(),
        scheduler: raw.scheduler,
        device: raw.device.into_iter().map(|(name, value)| (name, value.0)).collect(),
        kernel: raw.kernel,
        age: raw.age,
        fill: raw.fill.map(|fill| read(&fill, parse_fill)).transpose()?,
        axes: devices.into_iter().chain(stack).collect(),
        nearest: None,
    })
}

fn axes(raw: RawAxes) -> Outcome<Axes> {
    let mut axes = Axes::default();
    for (name, values) in raw.values {
        // Each value is checked separately first, so that an error has the position of the value.
        for value in &values {
            read(value, |text| crate::axes::read(&name, text))?;
        }
        let texts: Vec<&str> = values.iter().map(|value| value.get_ref().0.as_str()).collect();
        axes.give(&name, &texts).map_err(Problem::new)?;
    }
    let excluded = |row: BTreeMap<String, Scalar>| row.into_iter().map(|(axis, value)| (axis, value.0)).collect();
    axes.exclude = raw.exclude.into_iter().map(excluded).collect();
    Ok(axes)
}

fn planned(raw: RawPlanned) -> PlannedWork {
    PlannedWork {
        name: raw.name.into_inner(),
        scale: raw.scale,
        settings: raw.settings.into_iter().map(|(name, value)| (name, value.0)).collect(),
    }
}

fn sampling(raw: &RawSampling) -> Outcome<Sampling> {
    let count = |field: &Option<Spanned<u32>>| match field {
        Some(field) if (1..=10_000).contains(field.get_ref()) => Ok(Some(*field.get_ref())),
        Some(field) => {
            Err(Problem::new(format!("{} samples; the range is 1 to 10000", field.get_ref())).at(field.span()))
        }
        None => Ok(None),
    };
    let sampling = Sampling {
        samples: count(&raw.samples)?,
        least: count(&raw.min)?,
        most: count(&raw.max)?,
        precision: raw.precision.as_ref().map(|field| read(field, parse_share)).transpose()?,
        budget: raw.budget.as_ref().map(|field| read(field, parse_duration)).transpose()?,
        until: raw.until,
        steady: raw.steady,
    };
    if let (Some(samples), true) = (&raw.samples, raw.min.is_some() || raw.max.is_some()) {
        let problem = Problem::new("`samples` excludes `min` and `max`");
        return Err(problem
            .help("`samples` is the exact number; leave out either it or the others")
            .at(samples.span()));
    }
    if let (Some(least), Some(most), Some(field)) = (sampling.least, sampling.most, &raw.min)
        && least > most
    {
        return Err(Problem::new(format!("`min` ({least}) is larger than `max` ({most})")).at(field.span()));
    }
    Ok(sampling)
}
