//! Programs that workloads run: which are installed, and which packages provide the others.
//! In: workloads. Out: the missing programs, and the command that installs them.

use crate::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use workload::Workload;

/// A program that workloads run.
#[derive(Serialize, JsonSchema)]
pub struct Program {
    /// Its name, looked for where commands of workloads find theirs.
    pub program: String,
    /// Debian's package that has it.
    pub package: String,
    /// The workloads that run it.
    pub workloads: Vec<String>,
    /// Whether it is here.
    pub found: bool,
}

/// All programs that the workloads run, by name.
pub fn of<'a>(workloads: impl Iterator<Item = &'a Workload>) -> Vec<Program> {
    let mut all: BTreeMap<&str, Program> = BTreeMap::new();
    for workload in workloads {
        for (program, package) in &workload.needs {
            let known = all.entry(program).or_insert_with(|| Program {
                program: program.clone(),
                package: package.clone(),
                workloads: Vec::new(),
                found: is_here(program),
            });
            known.workloads.push(workload.name.clone());
        }
    }
    all.into_values().collect()
}

/// Refuses a workload whose programs are not all installed.
///
/// # Errors
/// Some are missing; the error has the command that installs them.
pub fn check(workload: &Workload) -> Result<(), Failure> {
    let all = of(std::iter::once(workload));
    let missing: Vec<&Program> = all.iter().filter(|program| !program.found).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|program| &*program.program).collect();
    Err(Failure::usage(format!(
        "{} runs {}, which is not installed: `{}`",
        workload.name,
        names.join(", "),
        install(&missing)
    )))
}

/// The command that installs missing programs.
pub fn install(missing: &[&Program]) -> String {
    let mut packages: Vec<&str> = missing.iter().map(|program| &*program.package).collect();
    packages.sort_unstable();
    packages.dedup();
    format!("apt-get install {}", packages.join(" "))
}

/// Whether commands of workloads find a program.
pub fn is_here(program: &str) -> bool {
    workload::command::PATH.split(':').any(|folder| Path::new(folder).join(program).is_file())
}
