//! Everything that can be named here: filesystems, workloads, plans, option sets, the compiled-in ones and the user's.
//! In: the configuration folder, folders of plan files, named descriptions. Out: catalogues, and errors that name the nearest name.
//! Nothing of a user's file is run to make one.

use crate::failure::Failure;
use crate::own_files::{self, Text, in_folder, one, refusal};
use staging::{Registry, StagingError};
use std::path::{Path, PathBuf};
use system::input::{TEXT_LIMIT, text_file};
use workload::catalogue::{Kind, WorkCatalogue};

/// What to do about a description that is not loaded unasked.
const NAME_IT: &str = "if you trust its commands, name it with --filesystems";

/// What to do about any other file that is not loaded unasked.
const OWN_IT: &str = "make yourself its owner and only writer (chown, chmod go-w), or name it on the command line";

/// All that can be named.
pub struct Catalogue {
    /// Filesystems; those of users' files are only described.
    pub filesystems: Registry,
    /// Workloads, plans, option sets.
    pub work: WorkCatalogue,
}

impl Catalogue {
    /// What is compiled in and what lies in the user's configuration folder.
    pub fn open() -> Result<Self, Failure> {
        Self::with(&[], &[])
    }

    /// The same with what lies in these folders, of plans that were named, and with these descriptions of filesystems: files,
    /// or folders of them, that were named themselves and are loaded whoever wrote them.
    pub fn with(folders: &[PathBuf], named: &[PathBuf]) -> Result<Self, Failure> {
        let mut catalogue = Self { filesystems: Registry::embedded()?, work: WorkCatalogue::builtin()? };
        for folder in system::folders::config().iter().chain(folders) {
            catalogue.add_folder(folder);
        }
        for path in named {
            catalogue.add_named(path)?;
        }
        Ok(catalogue)
    }

    fn add_folder(&mut self, folder: &Path) {
        for name in ["filesystems", "shared"] {
            in_folder(&folder.join(name), NAME_IT).into_iter().for_each(|text| self.add_filesystem_unasked(text));
        }
        for (name, kind) in [("workloads", Kind::Workload), ("plans", Kind::Plan), ("ages", Kind::Age)] {
            in_folder(&folder.join(name), OWN_IT).into_iter().for_each(|text| self.add_work(kind, text));
        }
        one(&folder.join("contenders.toml"), OWN_IT).into_iter().for_each(|text| self.add_work(Kind::Contenders, text));
    }

    fn add_work(&mut self, kind: Kind, (path, text): Text) {
        self.work.add(kind, &path, text.as_deref().map_err(ToString::to_string));
    }

    /// A file that nobody named stops nothing: it is passed over, with a warning.
    fn add_filesystem_unasked(&mut self, (path, text): Text) {
        let added = text.map_err(|why| why.to_string()).and_then(|text| {
            self.filesystems.add_file(&path, &text).map_err(|error| match error {
                StagingError::Description { problem, .. } => problem,
                other => other.to_string(),
            })
        });
        if let Err(why) = added {
            own_files::warn_once(&path, &format!("{} is ignored: {why}", path.display()));
            self.filesystems.pass_over(&path, why);
        }
    }

    fn add_filesystem(&mut self, (path, text): Text) -> Result<(), Failure> {
        let text = text.map_err(|why| Failure::usage(format!("reading the filesystem {}: {why}", path.display())))?;
        Ok(self.filesystems.add_file(&path, &text)?)
    }

    fn add_named(&mut self, path: &Path) -> Result<(), Failure> {
        let files = if path.is_dir() { own_files::toml_files(path) } else { vec![path.to_owned()] };
        if files.is_empty() {
            return Err(Failure::usage(format!("--filesystems {}: the folder has no NAME.toml", path.display())));
        }
        files.into_iter().try_for_each(|file| {
            let text = text_file(&file, TEXT_LIMIT);
            self.add_filesystem((file, text))
        })
    }

    /// The filesystems of a run that goes on: those of the files that it began with, which must be the user's own still, unless
    /// they are named again.
    pub fn of_run(files: &[PathBuf], named: &[PathBuf]) -> Result<Registry, Failure> {
        let mut catalogue = Self { filesystems: Registry::embedded()?, work: WorkCatalogue::default() };
        for path in named {
            catalogue.add_named(path)?;
        }
        for file in files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let is_named = catalogue.filesystems.get(&name).is_ok_and(|found| found.file.is_some());
            if is_named {
                continue;
            }
            system::owned_path(file).map_err(|untrusted| Failure::new(refusal(file, &untrusted, NAME_IT)))?;
            let text = text_file(file, TEXT_LIMIT);
            catalogue.add_filesystem((file.clone(), text))?;
        }
        Ok(catalogue.filesystems.may_run())
    }

    /// Filesystems of these names that come from users' files: file, and where its commands come from in words.
    pub fn origins(&self, names: &[&str]) -> Vec<(PathBuf, String)> {
        let foreign = self.filesystems.all().filter(|filesystem| names.contains(&filesystem.name.as_str()));
        let told = foreign.filter_map(|filesystem| {
            let file = filesystem.file.as_ref()?;
            let programs = filesystem.programs().into_iter().collect::<Vec<_>>().join(", ");
            let file = file.canonicalize().unwrap_or_else(|_| file.clone());
            let note = format!("{}: its commands ({programs}) come from {}", filesystem.name, file.display());
            Some((file, note))
        });
        told.collect()
    }
}
