//! Contenders: a filesystem with its mkfs options, mount options, scheduler and queue settings, under a label.
//! In: a name on the command line, or a file of named option sets. Out: [`Contender`], with every name checked.
//! A name is a filesystem, or an option set, or either followed by `+SCHEDULER`.

use crate::devices::scheduler::Schedulers;
use crate::error::StagingError;
use crate::filesystems::registry::Registry;
use records::Contender;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One option set, as it stands in a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionSet {
    fs: String,
    #[serde(default)]
    mkfs: Vec<String>,
    #[serde(default)]
    mount: String,
    scheduler: Option<String>,
    #[serde(default)]
    queue: BTreeMap<String, String>,
    kernel: Option<String>,
}

/// All contenders that can be named: filesystems and option sets.
#[derive(Debug, Clone)]
pub struct Contenders {
    named: BTreeMap<String, Contender>,
    schedulers: Schedulers,
}

impl Contenders {
    /// The filesystems that are known, and the option sets of published benchmarks.
    pub fn known(registry: &Registry) -> Result<Contenders, StagingError> {
        let mut contenders = Contenders {
            named: registry.names().map(|name| (name.to_string(), Contender::plain(name))).collect(),
            schedulers: Schedulers::embedded()?,
        };
        let published = include_str!("../../published/contenders.toml");
        contenders.add(registry, "published/contenders.toml", published)?;
        Ok(contenders)
    }

    /// Adds the option sets of a file.
    pub fn add_file(&mut self, registry: &Registry, path: &Path) -> Result<(), StagingError> {
        let text = std::fs::read_to_string(path).map_err(|error| StagingError::file("read", path, error))?;
        self.add(registry, &path.display().to_string(), &text)
    }

    /// Adds the option sets of a text; `file` names it in errors.
    pub fn add(&mut self, registry: &Registry, file: &str, text: &str) -> Result<(), StagingError> {
        let sets: BTreeMap<String, OptionSet> = toml::from_str(text).map_err(|error| StagingError::Description {
            file: file.into(),
            problem: error.to_string().trim().to_string(),
        })?;
        for (label, set) in sets {
            registry.get(&set.fs)?;
            let scheduler = set.scheduler.as_deref().map(|name| self.schedulers.resolve(name)).transpose()?;
            let contender = Contender {
                label: label.clone(),
                base: label.clone(),
                filesystem: set.fs,
                mkfs: set.mkfs,
                mount: set.mount,
                scheduler,
                device: set.queue,
                kernel: set.kernel,
                ..Contender::default()
            };
            self.named.insert(label, contender);
        }
        Ok(())
    }

    /// Adds one that was put together elsewhere (by a plan).
    pub fn insert(&mut self, contender: Contender) {
        self.named.insert(contender.label.clone(), contender);
    }

    /// Looks a name up: `ext4`, `xfs-rmapbt`, `ext4+bfq`.
    pub fn get(&self, name: &str) -> Result<Contender, StagingError> {
        let (base, scheduler) = match name.split_once('+') {
            Some((base, scheduler)) => (base, Some(self.schedulers.resolve(scheduler)?)),
            None => (name, None),
        };
        let found = self
            .named
            .get(base)
            .ok_or_else(|| StagingError::unknown("filesystem or option set", base, self.names()))?;
        let mut contender = found.clone();
        if scheduler.is_some() {
            contender.label = name.into();
            contender.scheduler = scheduler;
        }
        Ok(contender)
    }

    /// Names of all, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// The schedulers that are understood.
    pub fn schedulers(&self) -> &Schedulers {
        &self.schedulers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Contenders {
        Contenders::known(&Registry::embedded().expect("the embedded ones are good")).expect("so are these")
    }

    #[test]
    fn the_published_option_sets_are_known_by_name() {
        for name in ["xfs-tuned", "xfs-normapbt", "xfs-rmapbt", "ext4-large-files", "ext4-large-and-small-files"] {
            let contender = known().get(name).expect("it is published");
            assert!(!contender.mkfs.is_empty() && !contender.mount.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_scheduler_can_follow_and_old_names_are_understood() {
        let contender = known().get("xfs-rmapbt+cfq").expect("both are known");
        assert_eq!(contender.label, "xfs-rmapbt+cfq");
        assert_eq!(contender.scheduler.as_deref(), Some("bfq"));
        let error = known().get("ext4+deadlin").expect_err("a slip");
        assert!(error.to_string().contains("did you mean \"deadline\""), "{error}");
        let error = known().get("xsf").expect_err("a slip");
        assert!(error.to_string().contains("did you mean \"xfs\""), "{error}");
    }

    #[test]
    fn an_unknown_key_in_an_option_set_is_an_error_that_names_file_and_key() {
        let registry = Registry::embedded().expect("good");
        let error = known().add(&registry, "mine.toml", "[a]\nfs = \"ext4\"\nmkfz = []\n").expect_err("mkfz");
        assert!(error.to_string().contains("mine.toml") && error.to_string().contains("mkfz"), "{error}");
    }
}
