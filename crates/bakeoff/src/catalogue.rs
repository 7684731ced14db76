//! Everything that can be named: filesystems, workloads, plans and option sets, both compiled in and from the user's files.
//! In: the configuration folder, folders of plan files, named descriptions. Out: catalogues, or errors that suggest the nearest name.
//! Loading a user's file runs nothing from it.

use crate::failure::Failure;
use crate::own_files::{self, Text, in_folder, one, refusal};
use staging::{Registry, StagingError};
use std::path::{Path, PathBuf};
use system::input::{TEXT_LIMIT, text_file};
use workload::catalogue::{Kind, WorkCatalogue};

/// Advice for a description that is not loaded automatically.
const NAME_IT: &str = "if you trust its commands, name it with --filesystems";

/// Advice for any other file that is not loaded automatically.
const OWN_IT: &str = "make yourself its owner and only writer (chown, chmod go-w), or name it on the command line";

/// The catalogue of all names.
pub struct Catalogue {
    /// Filesystems; those from users' files are described, not run.
    pub filesystems: Registry,
    /// Workloads, plans, option sets.
    pub work: WorkCatalogue,
}

impl Catalogue {
    /// The compiled-in entries and those of the user's configuration folder.
    pub fn open() -> Result<Self, Failure> {
        Self::with(&[], &[])
    }

    /// As [`Self::open`], plus `folders` (of named plans) and `named` descriptions of filesystems: files, or folders of files.
    /// Named ones are loaded even if another user owns them.
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

    /// Adds a file that was not named. An error in it is only a warning: the file is skipped.
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

    /// The filesystems of a resumed run: those of the files it started with, unless they are named again. The files
    /// must still be owned by the user.
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

    /// The filesystems among `names` that come from users' files: the file, and a note on where their commands come from.
    pub fn origins(&self, names: &[&str]) -> Vec<(PathBuf, String)> {
        let foreign = self.filesystems.all().filter(|filesystem| names.contains(&filesystem.name.as_str()));
        let value = foreign.filter_map(|filesystem| {
            let file = filesystem.file.as_ref()?;
            let programs = filesystem.programs().into_iter().collect::<Vec<_>>().join(", ");
            let file = file.canonicalize().unwrap_or_else(|_| file.clone());
            let note = format!("{}: its commands ({programs}) come from {}", filesystem.name, file.display());
            Some((file, note))
        });
        value.collect()
    }
}
