//! A contender as it is asked for: a filesystem with options, scheduler, kernel, age and fill.
//! In: a command line, tables of a plan or of a file in the form of `published/contenders.toml`. Out: [`Contender`].
//! What was asked is kept as text; whether it took is read back by others.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Filesystem of the pseudo contender that is the raw device beneath all others.
pub const DEVICE: &str = "device";
/// Filesystem of the pseudo contender that is a plain directory.
pub const DIRECTORY: &str = "directory";
/// What is added to the label of a contender's hidden second entry.
pub const TWIN: &str = " (again)";
/// Name of the age that is none.
pub const FRESH: &str = "fresh";
/// Name of the age of a contender that says only how full it is.
pub const USED: &str = "used";

/// One thing that is compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// Unique label, made of the base and its axes for display alone; nothing is read from it.
    pub label: String,
    /// What is varied: a filesystem's name, that of an option set, or a directory.
    pub base: String,
    /// Name of the filesystem.
    pub filesystem: String,
    /// Words added to the mkfs command, in order.
    pub mkfs: Vec<String>,
    /// Mount options, separated by commas; empty: the filesystem's defaults.
    pub mount: String,
    /// mkfs settings by name, from axes (`rmapbt` = `0`); the filesystem's own file says how each is written.
    pub mkfs_settings: BTreeMap<String, String>,
    /// I/O scheduler; None: the one in force.
    pub scheduler: Option<String>,
    /// Settings of the device's queue (`read_ahead_kb` = `128`, `write_cache` = `write through`).
    pub device: BTreeMap<String, String>,
    /// Kernel: None or `host`, a path, or `debian:6.12`.
    pub kernel: Option<String>,
    /// Age: None or `fresh`, `used`, `old`.
    pub age: Option<String>,
    /// Share of the volume that is filled before work begins, between 0 and 1.
    pub fill: Option<f64>,
    /// Where it stands on each axis that it was multiplied by (`mkfs.rmapbt` = `0`).
    pub axes: BTreeMap<String, String>,
    /// Whose nearest form it is, where its kernel no longer takes an option set as it was published; None: it is as it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
}

/// How a contender differs from the published option set that it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nearest {
    /// Name of the option set.
    pub of: String,
    /// Each difference.
    pub differs: Vec<Difference>,
}

/// One option of a published set that a kernel does not take.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// What is otherwise: `without delaylog`, `with device.flushes=off instead of nobarrier`.
    pub what: String,
    /// What became of the option, and what of its effect cannot be had, as a clause.
    pub why: String,
}

impl Nearest {
    /// Set and differences: `xfs-tuned with device.flushes=off instead of nobarrier`.
    pub fn in_short(&self) -> String {
        let differs: Vec<&str> = self.differs.iter().map(|one| one.what.as_str()).collect();
        format!("{} {}", self.of, differs.join(", "))
    }

    /// The same with the reason of each difference.
    pub fn in_full(&self) -> String {
        let differs: Vec<String> = self.differs.iter().map(|one| format!("{} ({})", one.what, one.why)).collect();
        format!("{} {}", self.of, differs.join(", "))
    }
}

impl Contender {
    /// A filesystem with all its defaults.
    pub fn plain(filesystem: &str) -> Self {
        Self::named(filesystem, filesystem)
    }

    /// A filesystem with all its defaults under a name of its own.
    pub fn named(base: &str, filesystem: &str) -> Self {
        Self { label: base.into(), base: base.into(), filesystem: filesystem.into(), ..Self::default() }
    }

    /// Its mount options, one by one.
    pub fn mount_options(&self) -> Vec<String> {
        self.mount.split(',').map(str::trim).filter(|option| !option.is_empty()).map(str::to_owned).collect()
    }

    /// Its age and share filled: None where it is fresh. Without an age a filled one is `used`; without a share the profile
    /// says it, which is `None` here.
    pub fn ageing(&self) -> Option<(&str, Option<f64>)> {
        match (self.age.as_deref(), self.fill) {
            (Some(FRESH), _) | (None, None) => None,
            (_, Some(fill)) if fill <= 0.0 => None,
            (Some(age), fill) => Some((age, fill)),
            (None, fill) => Some((USED, fill)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(age: Option<&str>, fill: Option<f64>) -> Contender {
        Contender { label: "x".into(), age: age.map(str::to_owned), fill, ..Contender::default() }
    }

    #[test]
    fn a_share_alone_means_used_and_an_empty_volume_is_fresh() {
        assert_eq!(contender(None, Some(0.4)).ageing(), Some((USED, Some(0.4))));
        assert_eq!(contender(Some("old"), None).ageing(), Some(("old", None)));
        for (age, fill) in [(None, None), (Some(FRESH), None), (Some(FRESH), Some(0.8)), (Some("old"), Some(0.0))] {
            assert_eq!(contender(age, fill).ageing(), None, "{age:?} {fill:?}");
        }
    }
}
