//! A workload: filesets and phases as somebody wrote them, checked when read, compiled for one scale and seed.
//! In: TOML in the language of `docs/workloads.md`. Out: [`Compiled`] programs, and what a user may set.
//! Reading compiles every scale once with its defaults, so a workload that was read can be run.

use crate::error::{Result, from_toml};
use crate::facts::Compiled;
use crate::syntax::RawWorkload;
use crate::{compile, scope};
use std::collections::BTreeMap;

/// Longest workload, plan or contender file, in bytes.
pub const FILE_LIMIT: usize = 1 << 20;

/// A workload file, read and checked.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Name by which plans and the command line call it.
    pub name: String,
    /// Heading of its section in a report.
    pub title: String,
    /// What it does and what for, in a few sentences.
    pub about: String,
    /// Key of the source in `published/sources.csv`, or any other reference.
    pub source: Option<String>,
    /// Names of its scales.
    pub scales: Vec<String>,
    /// What a user may set.
    pub options: Vec<OptionFacts>,
    /// Name of the file that it came from.
    pub file: String,
    /// Its text, so that a ledger can keep it.
    pub text: String,
    pub(crate) syntax: RawWorkload,
}

/// One option of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionFacts {
    /// Name, as in `--set name=value`.
    pub name: String,
    /// What it does.
    pub about: String,
    /// Value if nothing is said, for each scale.
    pub default: BTreeMap<String, String>,
    /// The only values that are taken; empty: any that fits where it is used.
    pub allowed: Vec<String>,
    /// Names of the parts, for an option written as `a:b:c`.
    pub parts: Vec<String>,
}

impl Workload {
    /// Reads a workload; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        crate::error::limit_length(text, file, FILE_LIMIT)?;
        let syntax: RawWorkload = toml::from_str(text).map_err(|error| from_toml(&error, text, file))?;
        let options = scope::options(&syntax).map_err(|problem| problem.within(text, file))?;
        let workload = Workload {
            name: syntax.name.get_ref().clone(),
            title: syntax.title.clone(),
            about: syntax.about.trim().to_owned(),
            source: syntax.source.clone(),
            scales: syntax.scales.keys().cloned().collect(),
            options,
            file: file.to_owned(),
            text: text.to_owned(),
            syntax,
        };
        for scale in &workload.scales {
            workload.compile(scale, &BTreeMap::new(), 0)?;
        }
        Ok(workload)
    }

    /// Compiles it for one scale. Settings are options by name; the seed decides every random choice of the engine.
    ///
    /// The program's `root`, `device` and `durable` are left empty for the runner to fill in.
    pub fn compile(&self, scale: &str, settings: &BTreeMap<String, String>, seed: u64) -> Result<Compiled> {
        let resolved = scope::resolve(&self.syntax, scale, settings).map_err(|problem| {
            let asked_for = problem.span.is_none();
            let mut error = problem.within(&self.text, &self.file);
            if asked_for {
                error.file = format!("workload {}", self.name);
            }
            error
        })?;
        compile::compile(&self.syntax, scale, resolved, seed).map_err(|problem| problem.within(&self.text, &self.file))
    }
}
