//! Every workload, plan and option set that can be named: those compiled in, and a user's own.
//! In: folders with `workloads/`, `plans/` and `contenders.toml`. Out: things by name, or the nearest name.
//! A user's broken file does not stop others: it is kept as a problem, and told when it is asked for.

use crate::ages::{Profile, parse_profile};
use crate::contender::Contender;
use crate::error::{LanguageError, Problem, Result};
use crate::plan::Plan;
use crate::plan_syntax::{parse_aliases, parse_contenders};
use crate::workload::{FILE_LIMIT, Workload};
use include_dir::{Dir, include_dir};
use records::FRESH;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

static WORKLOADS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");
static PLANS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../plans");
static AGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../ages");
const CONTENDERS: &str = include_str!("../../../published/contenders.toml");
const ALIASES: &str = include_str!("../../../published/scheduler-aliases.toml");

/// Files that are read from one folder.
pub const FILES_LIMIT: usize = 1000;

/// Everything that can be named.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Workloads by name.
    pub workloads: BTreeMap<String, Workload>,
    /// Plans by name.
    pub plans: BTreeMap<String, Plan>,
    /// Ageing profiles by name.
    pub ages: BTreeMap<String, Profile>,
    /// Option sets by name.
    pub contenders: BTreeMap<String, Contender>,
    /// Old scheduler names and what took their place.
    pub aliases: BTreeMap<String, String>,
    /// Files of a user that cannot be used, with the reason.
    pub problems: Vec<(PathBuf, LanguageError)>,
}

impl Catalog {
    /// What is compiled in.
    pub fn builtin() -> Result<Self> {
        let mut catalog = Catalog {
            contenders: parse_contenders(CONTENDERS, "published/contenders.toml")?,
            aliases: parse_aliases(ALIASES, "published/scheduler-aliases.toml")?,
            ..Catalog::default()
        };
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

    /// What is compiled in, and what lies in these folders; folders that do not exist are passed over.
    pub fn with_folders(folders: &[PathBuf]) -> Result<Self> {
        let mut catalog = Self::builtin()?;
        for folder in folders {
            catalog.add_folder(folder);
        }
        Ok(catalog)
    }

    /// Adds `workloads/*.toml`, `plans/*.toml`, `ages/*.toml` and `contenders.toml` of a folder.
    pub fn add_folder(&mut self, folder: &Path) {
        for path in list(&folder.join("workloads")) {
            let added = self.add_workload(&path).map(drop);
            self.keep_problem(path, added);
        }
        for path in list(&folder.join("plans")) {
            let added = self.add_plan(&path).map(drop);
            self.keep_problem(path, added);
        }
        for path in list(&folder.join("ages")) {
            let added = self.add_age(&path).map(drop);
            self.keep_problem(path, added);
        }
        let path = folder.join("contenders.toml");
        if path.is_file() {
            let added = self.add_contenders(&path);
            self.keep_problem(path, added);
        }
    }

    fn keep_problem(&mut self, path: PathBuf, outcome: Result<()>) {
        if let Err(problem) = outcome {
            self.problems.push((path, problem));
        }
    }

    /// Reads a workload file and adds it; returns its name.
    pub fn add_workload(&mut self, path: &Path) -> Result<String> {
        let workload = Workload::parse(&read(path)?, &path.display().to_string())?;
        let taken = self.workloads.get(&workload.name).map(|there| there.file.clone());
        not_taken("workload", &workload.name, taken, path)?;
        let name = workload.name.clone();
        self.workloads.insert(name.clone(), workload);
        Ok(name)
    }

    /// Reads a plan file and adds it; returns its name. The folder beside it is read too, as the plan's own.
    pub fn add_plan(&mut self, path: &Path) -> Result<String> {
        let plan = Plan::parse(&read(path)?, &path.display().to_string())?;
        let taken = self.plans.contains_key(&plan.name).then(|| "another file".to_owned());
        not_taken("plan", &plan.name, taken, path)?;
        let name = plan.name.clone();
        self.plans.insert(name.clone(), plan);
        Ok(name)
    }

    /// Reads an ageing profile and adds it; returns its name, which is the file's.
    pub fn add_age(&mut self, path: &Path) -> Result<String> {
        let name = stem(path);
        let profile = parse_profile(&name, &read(path)?, &path.display().to_string())?;
        let taken = (self.ages.contains_key(&name) || name == FRESH).then(|| "another file".to_owned());
        not_taken("age", &name, taken, path)?;
        self.ages.insert(name.clone(), profile);
        Ok(name)
    }

    /// An ageing profile by name.
    pub fn age(&self, name: &str) -> Result<&Profile> {
        self.ages.get(name).ok_or_else(|| self.missing("age", name, self.ages.keys()))
    }

    /// Reads a file of contenders and adds them.
    pub fn add_contenders(&mut self, path: &Path) -> Result<()> {
        for (name, contender) in parse_contenders(&read(path)?, &path.display().to_string())? {
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

    /// Why a name leads nowhere: its file is broken, or nothing has that name.
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

/// TOML files of a folder in order of their names.
fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(is_toml).take(FILES_LIMIT).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Result<String> {
    let fail = |problem: String| Problem::new(problem).within("", &path.display().to_string());
    let size = std::fs::metadata(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
    if !size.is_file() || size.len() > FILE_LIMIT as u64 {
        return Err(fail(format!("is no plain file of at most {FILE_LIMIT} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| fail(format!("cannot be read: {error}")))
}

fn not_taken(what: &str, name: &str, taken: Option<String>, path: &Path) -> Result<()> {
    match taken {
        Some(by) => Err(Problem::new(format!("the {what} `{name}` is already defined in {by}"))
            .help("give yours another name, so that nobody takes one for the other")
            .within("", &path.display().to_string())),
        None => Ok(()),
    }
}
