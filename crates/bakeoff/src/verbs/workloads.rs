//! `bakeoff workloads`: the available workloads and plans, and their options.
//! In: a name, or none. Out: text on standard output.

use crate::args::WorkloadsArgs;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::text;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use workload::Workload;
use workload::quantity::show_bytes;

/// What can be run.
#[derive(Serialize, JsonSchema)]
pub struct Workloads {
    /// Workloads, in order of their names; the one that was named, where one was.
    workloads: Vec<Shown>,
    /// Plans; none where a workload was named.
    plans: Vec<ShownPlan>,
    /// Files of yours that cannot be used.
    problems: Vec<Problem>,
}

/// A workload.
#[derive(Serialize, JsonSchema)]
struct Shown {
    /// Its name.
    name: String,
    /// Its heading in a report.
    title: String,
    /// What it does and what for.
    about: String,
    /// Key of `published/sources.csv`, or any other reference; null for none.
    source: Option<String>,
    /// Its scales.
    scales: Vec<Scale>,
    /// Its phases at the last of them, without those that only lay something out.
    phases: Vec<Phase>,
    /// What `--set` takes.
    options: Vec<Choice>,
}

/// A scale of a workload, with every option as it is by default.
#[derive(Serialize, JsonSchema)]
struct Scale {
    /// Its name: `quick`, `full`.
    name: String,
    /// Most files that exist at once.
    files_at_most: u64,
    /// Most bytes that exist in files at once.
    bytes_at_most: u64,
    /// Bytes that one trial writes.
    bytes_written: u64,
    /// Bytes that one trial reads, from the device or from a cache.
    bytes_read: u64,
    /// Whether programs are part of it, whose files and bytes are in none of these numbers.
    runs_programs: bool,
}

/// A phase of a workload.
#[derive(Serialize, JsonSchema)]
struct Phase {
    /// Its name.
    name: String,
    /// The operation as claims, mixes and published figures name it.
    operation: String,
    /// Cache state.
    cache: String,
    /// What it does, as a gerund.
    doing: String,
}

/// An option of a workload.
#[derive(Serialize, JsonSchema)]
struct Choice {
    /// Its name.
    name: String,
    /// What it does.
    about: String,
    /// Its default value, for each scale.
    default: BTreeMap<String, String>,
    /// The only valid values; empty: any that fits its use.
    allowed: Vec<String>,
    /// Those with which a crash may destroy data on filesystems that write in place.
    weaker_in_place: Vec<String>,
    /// Names of its parts, for one that is written as `a:b:c`.
    parts: Vec<String>,
}

/// A plan.
#[derive(Serialize, JsonSchema)]
struct ShownPlan {
    /// Its name.
    name: String,
    /// Its question in a line.
    title: String,
}

/// A file that cannot be used.
#[derive(Serialize, JsonSchema)]
struct Problem {
    /// The file.
    path: PathBuf,
    /// Why.
    why: String,
}

impl Answer for Workloads {
    const SCHEMA: &'static str = "bakeoff-workloads";
}

/// Lists all, or shows one.
pub fn workloads(args: &WorkloadsArgs) -> Result<u8, Failure> {
    let catalogue = Catalogue::open()?;
    let named = args.name.as_ref().map(|name| catalogue.work.workload(name)).transpose()?;
    match (named, args.json) {
        (Some(workload), true) => json::print(&listed(&catalogue, Some(workload))?)?,
        (Some(workload), false) => one(&shown(workload)?),
        (None, true) => json::print(&listed(&catalogue, None)?)?,
        (None, false) => all(&catalogue),
    }
    Ok(0)
}

fn listed(catalogue: &Catalogue, named: Option<&Workload>) -> Result<Workloads, Failure> {
    let work = &catalogue.work;
    let plan = |plan: &workload::plan::Plan| ShownPlan { name: plan.name.clone(), title: plan.title.clone() };
    Ok(Workloads {
        workloads: match named {
            Some(workload) => vec![shown(workload)?],
            None => work.workloads.values().map(shown).collect::<Result<_, _>>()?,
        },
        plans: if named.is_some() { Vec::new() } else { work.plans.values().map(plan).collect() },
        problems: work
            .problems
            .iter()
            .map(|(path, why)| Problem { path: path.clone(), why: why.to_string() })
            .collect(),
    })
}

fn shown(workload: &Workload) -> Result<Shown, Failure> {
    let mut scales = Vec::new();
    let mut phases = Vec::new();
    for name in &workload.scales {
        let compiled = workload.compile(name, &BTreeMap::new(), 0)?;
        let estimate = &compiled.estimate;
        scales.push(Scale {
            name: name.clone(),
            files_at_most: estimate.files_at_most,
            bytes_at_most: estimate.bytes_at_most,
            bytes_written: estimate.bytes_written,
            bytes_read: estimate.bytes_read + estimate.device_bytes_read,
            runs_programs: compiled.program.phases.iter().any(|phase| phase.is_opaque()),
        });
        let of_scale = compiled.phases.into_iter().filter(|phase| !phase.preparation);
        phases = of_scale
            .map(|phase| Phase {
                operation: phase.named(),
                name: phase.name,
                cache: phase.cache_label,
                doing: phase.doing,
            })
            .collect();
    }
    let options = workload.options.iter().map(|option| Choice {
        name: option.name.clone(),
        about: option.about.clone(),
        default: option.default.clone(),
        allowed: option.allowed.clone(),
        weaker_in_place: option.weaker_in_place.clone(),
        parts: option.parts.clone(),
    });
    Ok(Shown {
        name: workload.name.clone(),
        title: workload.title.clone(),
        about: workload.about.clone(),
        source: workload.source.clone(),
        scales,
        phases,
        options: options.collect(),
    })
}

fn all(catalogue: &Catalogue) {
    println!("Workloads (bakeoff workloads NAME shows phases and options):");
    for workload in catalogue.work.workloads.values() {
        text::print_beside(&format!("  {:<22} ", workload.name), &workload.title);
    }
    println!("\nPlans:");
    for plan in catalogue.work.plans.values() {
        text::print_beside(&format!("  {:<22} ", plan.name), &plan.title);
    }
    for (path, problem) in &catalogue.work.problems {
        println!("\nNot usable: {}: {problem}", path.display());
    }
}

fn one(workload: &Shown) {
    println!("{}: {}\n", workload.name, workload.title);
    text::print_beside("", &workload.about);
    println!();
    if let Some(source) = &workload.source {
        println!("Source: {source}\n");
    }
    for scale in &workload.scales {
        if scale.runs_programs {
            println!("Scale {}: runs programs; their files and bytes are not known beforehand", scale.name);
            continue;
        }
        let amounts = format!(
            "{} files at most, {} at most, {} written, {} read",
            scale.files_at_most,
            show_bytes(scale.bytes_at_most),
            show_bytes(scale.bytes_written),
            show_bytes(scale.bytes_read)
        );
        text::print_beside(&format!("Scale {}: ", scale.name), &amounts);
    }
    println!("\nPhases:");
    for phase in &workload.phases {
        text::print_beside(&format!("  {:<26} {:<10} ", phase.name, phase.cache), &phase.doing);
    }
    println!("\nOptions (--set NAME=VALUE):");
    for option in &workload.options {
        let defaults: Vec<String> = option.default.iter().map(|(scale, value)| format!("{scale}: {value}")).collect();
        let about = format!("{} [{}]", option.about, defaults.join(", "));
        text::print_beside(&format!("  {:<16} ", option.name), &about);
    }
}
