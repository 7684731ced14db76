//! A workload: filesets and phases as users write them, checked when read, compiled for one scale and seed.
//! In: TOML in the language of `docs/workloads.md`. Out: [`Compiled`] programs, and the options that a user may set.
//! Reading compiles every scale once with its defaults, so a workload that was read can run.

use crate::error::{LanguageError, Problem, Result, from_toml};
use crate::facts::Compiled;
use crate::syntax::RawWorkload;
use crate::{compile, data, scope};
use std::collections::BTreeMap;

/// Longest workload, plan or contender file, in bytes.
pub const FILE_LIMIT: usize = 1 << 20;

/// A workload file, read and checked.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Name in plans and on the command line.
    pub name: String,
    /// Heading of its section in a report.
    pub title: String,
    /// What it does and its purpose, in a few sentences.
    pub about: String,
    /// Key of the source in `published/sources.csv`, or any other reference.
    pub source: Option<String>,
    /// Programs that its commands run, and Debian's packages that contain them.
    pub needs: BTreeMap<String, String>,
    /// Names of its scales.
    pub scales: Vec<String>,
    /// Options that a user may set.
    pub options: Vec<OptionFacts>,
    /// Name of its file.
    pub file: String,
    /// Its text, to be stored in the database file.
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
    /// Default value for each scale.
    pub default: BTreeMap<String, String>,
    /// The only allowed values; empty: any value that is valid where it is used.
    pub allowed: Vec<String>,
    /// Values with which a crash may destroy data on filesystems that write in place.
    pub weaker_in_place: Vec<String>,
    /// Names of the parts, for an option written as `a:b:c`.
    pub parts: Vec<String>,
}

impl Workload {
    /// Reads a workload; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        crate::error::limit_length(text, file, FILE_LIMIT)?;
        let mut syntax: RawWorkload = toml::from_str(text).map_err(|error| from_toml(&error, text, file))?;
        data::add_options(&mut syntax);
        let options = scope::options(&syntax).map_err(|problem| problem.within(text, file))?;
        let workload = Workload {
            name: syntax.name.get_ref().clone(),
            title: syntax.title.clone(),
            about: syntax.about.trim().to_owned(),
            source: syntax.source.clone(),
            needs: syntax.needs.clone(),
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

    /// The given settings with which a crash may destroy data on filesystems that write in place.
    pub fn weaker_in_place(&self, settings: &BTreeMap<String, String>) -> Vec<String> {
        let is_weaker = |option: &&OptionFacts| {
            settings.get(&option.name).is_some_and(|value| option.weaker_in_place.contains(value))
        };
        self.options.iter().filter(is_weaker).map(|option| option.name.clone()).collect()
    }

    /// Compiles it for one scale. Settings are options by name; the seed determines every random choice of the engine.
    ///
    /// The program's `root`, `device` and `durable` are left empty for the runner to fill in.
    pub fn compile(&self, scale: &str, settings: &BTreeMap<String, String>, seed: u64) -> Result<Compiled> {
        self.compile_once(scale, settings, seed).map_err(|problem| match settings.is_empty() {
            true => problem.within(&self.text, &self.file),
            false => self.blame(scale, settings, problem),
        })
    }

    fn compile_once(
        &self,
        scale: &str,
        settings: &BTreeMap<String, String>,
        seed: u64,
    ) -> std::result::Result<Compiled, Problem> {
        let resolved = scope::resolve(&self.syntax, scale, settings)?;
        compile::compile(&self.syntax, scale, resolved, seed)
    }

    /// The file compiles with its defaults, so the error comes from the settings: name the ones that cause it.
    fn blame(&self, scale: &str, settings: &BTreeMap<String, String>, problem: Problem) -> LanguageError {
        let alone = |(name, value): &(&String, &String)| {
            self.compile_once(scale, &BTreeMap::from([((*name).clone(), (*value).clone())]), 0).is_err()
        };
        let mut guilty: Vec<(&String, &String)> = settings.iter().filter(alone).collect();
        if guilty.is_empty() {
            guilty = settings.iter().collect();
        }
        let guilty: Vec<String> = guilty.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let defaults = scope::resolve(&self.syntax, scale, &BTreeMap::new()).map(|resolved| resolved.settings);
        let others = defaults.unwrap_or_default().into_iter().filter(|(name, _)| !settings.contains_key(name));
        let others: Vec<String> = others.map(|(name, value)| format!("{name} = {value}")).collect();
        let others = (!others.is_empty()).then(|| format!("its other options: {}", others.join(", ")));
        let help: Vec<String> = problem.help.into_iter().chain(others).collect();
        // A position in the workload's file would mislead: the file is valid.
        LanguageError {
            file: format!("workload {} with {}", self.name, guilty.join(", ").escape_debug()),
            place: None,
            problem: problem.problem,
            help: (!help.is_empty()).then(|| help.join("; ")),
        }
    }
}
