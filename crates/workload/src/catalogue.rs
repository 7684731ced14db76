//! Every workload, plan and option set that can be named: those compiled in, and a user's own.
//! In: texts of `workloads/`, `plans/`, `ages/` and `contenders.toml`, each with its file. Out: items by name, or the nearest name.
//! A user's broken file does not affect others: it is kept as a problem, and reported when it is requested.

use crate::age_profiles::{Profile, parse_profile};
use crate::contender::Contender;
use crate::error::{LanguageError, Problem, Result};
use crate::plan::Plan;
use crate::plan_syntax::{parse_aliases, parse_contenders};
use crate::workload::Workload;
use include_dir::{Dir, include_dir};
use records::FRESH;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

static WORKLOADS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/workloads");
static PLANS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/plans");
static AGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/ages");
const CONTENDERS: &str = include_str!("../published/contenders.toml");
const ALIASES: &str = include_str!("../published/scheduler-aliases.toml");

/// Content of a user's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A workload, in `workloads/`.
    Workload,
    /// A plan, in `plans/`.
    Plan,
    /// An ageing profile, in `ages/`.
    Age,
    /// Option sets, in `contenders.toml`.
    Contenders,
}

/// Everything that can be named.
#[derive(Debug, Clone, Default)]
pub struct WorkCatalogue {
    /// Workloads by name.
    pub workloads: BTreeMap<String, Workload>,
    /// Plans by name.
    pub plans: BTreeMap<String, Plan>,
    /// Ageing profiles by name.
    pub ages: BTreeMap<String, Profile>,
    /// Option sets by name.
    pub contenders: BTreeMap<String, Contender>,
    /// Names of published option sets, without a user's own.
    published: BTreeSet<String>,
    /// Old scheduler names and their replacements.
    pub aliases: BTreeMap<String, String>,
    /// Files of a user that cannot be used, with the reason.
    pub problems: Vec<(PathBuf, LanguageError)>,
}

impl WorkCatalogue {
    /// The compiled-in items.
    pub fn builtin() -> Result<Self> {
        let mut catalog = WorkCatalogue {
            contenders: parse_contenders(CONTENDERS, "published/contenders.toml")?,
            aliases: parse_aliases(ALIASES, "published/scheduler-aliases.toml")?,
            ..WorkCatalogue::default()
        };
        catalog.published = catalog.contenders.keys().cloned().collect();
        for file in toml_files(&WORKLOADS) {
            let workload = Workload::parse(file.contents_utf8().unwrap_or_default(), &builtin_name("workloads", file))?;
            catalog.workloads.insert(workload.name.clone(), workload);
        }
        for file in toml_files(&PLANS) {
            let plan = Plan::parse(file.contents_utf8().unwrap_or_default(), &builtin_name("plans", file))?;
            catalog.plans.insert(plan.name.clone(), plan);
        }
        for file in toml_files(&AGES) {
            let name = stem(file.path());
            let profile = parse_profile(&name, file.contents_utf8().unwrap_or_default(), &builtin_name("ages", file))?;
            catalog.ages.insert(name, profile);
        }
        Ok(catalog)
    }

    /// The published option set of this name; None if it is a user's own, or unknown.
    pub fn published(&self, name: &str) -> Option<&Contender> {
        self.contenders.get(name).filter(|_| self.published.contains(name))
    }

    /// Adds the content of a file; a file that cannot be used or read is kept as a problem.
    pub fn add(&mut self, kind: Kind, path: &Path, text: std::result::Result<&str, String>) {
        let added = match text {
            Err(why) => Err(Problem::new(format!("cannot be read: {why}")).within("", &path.display().to_string())),
            Ok(text) => match kind {
                Kind::Workload => self.add_workload(path, text).map(drop),
                Kind::Plan => self.add_plan(path, text).map(drop),
                Kind::Age => self.add_age(path, text).map(drop),
                Kind::Contenders => self.add_contenders(path, text),
            },
        };
        if let Err(problem) = added {
            self.problems.push((path.to_owned(), problem));
        }
    }

    /// Adds the workload of a file; returns its name.
    pub fn add_workload(&mut self, path: &Path, text: &str) -> Result<String> {
        let workload = Workload::parse(text, &path.display().to_string())?;
        let taken = self.workloads.get(&workload.name).map(|there| there.file.clone());
        not_taken("workload", &workload.name, taken, path)?;
        let name = workload.name.clone();
        self.workloads.insert(name.clone(), workload);
        Ok(name)
    }

    /// Adds the plan of a file; returns its name.
    pub fn add_plan(&mut self, path: &Path, text: &str) -> Result<String> {
        let plan = Plan::parse(text, &path.display().to_string())?;
        let taken = self.plans.contains_key(&plan.name).then(|| "another file".to_owned());
        not_taken("plan", &plan.name, taken, path)?;
        let name = plan.name.clone();
        self.plans.insert(name.clone(), plan);
        Ok(name)
    }

    /// Adds the ageing profile of a file; returns its name, which is the file's.
    pub fn add_age(&mut self, path: &Path, text: &str) -> Result<String> {
        let name = stem(path);
        let profile = parse_profile(&name, text, &path.display().to_string())?;
        let taken = (self.ages.contains_key(&name) || name == FRESH).then(|| "another file".to_owned());
        not_taken("age", &name, taken, path)?;
        self.ages.insert(name.clone(), profile);
        Ok(name)
    }

    /// An ageing profile by name.
    pub fn age(&self, name: &str) -> Result<&Profile> {
        self.ages.get(name).ok_or_else(|| self.missing("age", name, self.ages.keys()))
    }

    /// Adds the contenders of a file.
    pub fn add_contenders(&mut self, path: &Path, text: &str) -> Result<()> {
        for (name, contender) in parse_contenders(text, &path.display().to_string())? {
            let taken = self.contenders.contains_key(&name).then(|| "another file".to_owned());
            not_taken("contender", &name, taken, path)?;
            self.contenders.insert(name, contender);
        }
        Ok(())
    }

    /// A workload by name.
    pub fn workload(&self, name: &str) -> Result<&Workload> {
        self.workloads.get(name).ok_or_else(|| self.missing("workload", name, self.workloads.keys()))
    }

    /// A plan by name.
    pub fn plan(&self, name: &str) -> Result<&Plan> {
        self.plans.get(name).ok_or_else(|| self.missing("plan", name, self.plans.keys()))
    }

    /// Why a name is not found: its file is broken, or nothing has that name.
    fn missing<'a>(&self, what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> LanguageError {
        let broken = self.problems.iter().find(|(path, _)| path.file_stem().is_some_and(|stem| stem == name));
        if let Some((_, problem)) = broken {
            return problem.clone();
        }
        let known: Vec<&str> = known.map(String::as_str).collect();
        Problem::unknown(what, name, &known).within("", "command line")
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn toml_files(folder: &'static Dir<'static>) -> impl Iterator<Item = &'static include_dir::File<'static>> {
    folder.files().filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
}

fn builtin_name(folder: &str, file: &include_dir::File<'_>) -> String {
    format!("{folder}/{}", file.path().display())
}

fn not_taken(what: &str, name: &str, taken: Option<String>, path: &Path) -> Result<()> {
    match taken {
        Some(by) => Err(Problem::new(format!("the {what} `{name}` is already defined in {by}"))
            .help("give yours another name")
            .within("", &path.display().to_string())),
        None => Ok(()),
    }
}
