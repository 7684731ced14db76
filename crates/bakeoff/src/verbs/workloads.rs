//! `bakeoff workloads`: which workloads and plans there are, and what can be set.
//! In: a name, or none. Out: text on standard output.

use crate::args::WorkloadsArgs;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use std::collections::BTreeMap;
use workload::Workload;
use workload::quantity::show_bytes;

/// Lists all, or shows one.
pub fn workloads(args: &WorkloadsArgs) -> Result<u8, Failure> {
    let catalogue = Catalogue::open()?;
    match &args.name {
        Some(name) => one(catalogue.work.workload(name)?)?,
        None => all(&catalogue),
    }
    Ok(0)
}

fn all(catalogue: &Catalogue) {
    println!("Workloads (bakeoff workloads NAME shows phases and options):");
    for workload in catalogue.work.workloads.values() {
        println!("  {:<22} {}", workload.name, workload.title);
    }
    println!("\nPlans:");
    for plan in catalogue.work.plans.values() {
        println!("  {:<22} {}", plan.name, plan.title);
    }
    for (path, problem) in &catalogue.work.problems {
        println!("\nNot usable: {}: {problem}", path.display());
    }
}

fn one(workload: &Workload) -> Result<(), Failure> {
    println!("{}: {}\n\n{}\n", workload.name, workload.title, workload.about);
    if let Some(source) = &workload.source {
        println!("Source: {source}\n");
    }
    for scale in &workload.scales {
        let compiled = workload.compile(scale, &BTreeMap::new(), 0)?;
        let estimate = &compiled.estimate;
        println!(
            "Scale {scale}: {} files at most, {} at most, {} written, {} read",
            estimate.files_at_most,
            show_bytes(estimate.bytes_at_most),
            show_bytes(estimate.bytes_written),
            show_bytes(estimate.bytes_read + estimate.device_bytes_read)
        );
        if scale == workload.scales.last().map_or("", String::as_str) {
            println!("\nPhases:");
            for phase in compiled.phases.iter().filter(|phase| !phase.preparation) {
                println!("  {:<26} {:<10} {}", phase.name, phase.cache_label, phase.doing);
            }
        }
    }
    println!("\nOptions (--set NAME=VALUE):");
    for option in &workload.options {
        let defaults: Vec<String> = option.default.iter().map(|(scale, value)| format!("{scale}: {value}")).collect();
        println!("  {:<16} {} [{}]", option.name, option.about, defaults.join(", "));
    }
    Ok(())
}
