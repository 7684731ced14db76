//! A contender as requested: a filesystem with options, scheduler, kernel, age and fill.
//! In: a command line, tables of a plan or of a file in the form of `published/contenders.toml`. Out: [`Contender`].
//! Requests are kept as text; other modules read back whether they took effect.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Filesystem of the pseudo contender that is the raw device below all others.
pub const DEVICE: &str = "device";
/// Filesystem of the pseudo contender that is a plain directory.
pub const DIRECTORY: &str = "directory";
/// Suffix of the label of a contender's hidden second entry.
pub const TWIN: &str = " (again)";
/// Name of the age of an unaged filesystem.
pub const FRESH: &str = "fresh";
/// Name of the age of a contender that sets only its fill.
pub const USED: &str = "used";

/// One thing that is compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// Unique label, made of the base and its axes for display only; it is never parsed.
    pub label: String,
    /// What is varied: the name of a filesystem or of an option set, or a directory.
    pub base: String,
    /// Name of the filesystem.
    pub filesystem: String,
    /// Words added to the mkfs command, in order.
    pub mkfs: Vec<String>,
    /// Mount options, separated by commas; empty: the filesystem's defaults.
    pub mount: String,
    /// mkfs settings by name, from axes (`rmapbt` = `0`); the filesystem's own file defines how each is written.
    pub mkfs_settings: BTreeMap<String, String>,
    /// I/O scheduler; None: the current one.
    pub scheduler: Option<String>,
    /// Settings of the device's queue (`read_ahead_kb` = `128`, `write_cache` = `write through`).
    pub device: BTreeMap<String, String>,
    /// Kernel: None or `host`, a path, or `debian:6.12`.
    pub kernel: Option<String>,
    /// Age: None or `fresh`, `used`, `old`.
    pub age: Option<String>,
    /// Share of the volume that is filled before the work begins, between 0 and 1.
    pub fill: Option<f64>,
    /// Its value on each axis that it was multiplied by (`mkfs.rmapbt` = `0`).
    pub axes: BTreeMap<String, String>,
    /// Set if this is the nearest form of an option set that its kernel no longer accepts as published; None: it is as requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
}

/// How a contender differs from the published option set that it replaces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nearest {
    /// Name of the option set.
    pub of: String,
    /// Each difference.
    pub differs: Vec<Difference>,
}

/// One option of a published set that a kernel does not accept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The difference: `without delaylog`, `with device.flushes=off instead of nobarrier`.
    pub what: String,
    /// What happened to the option, and which part of its effect is unavailable, as a clause.
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

    /// A filesystem with all its defaults under another name.
    pub fn named(base: &str, filesystem: &str) -> Self {
        Self { label: base.into(), base: base.into(), filesystem: filesystem.into(), ..Self::default() }
    }

    /// Its mount options as a list.
    pub fn mount_options(&self) -> Vec<String> {
        self.mount.split(',').map(str::trim).filter(|option| !option.is_empty()).map(str::to_owned).collect()
    }

    /// Its age and fill share: None if fresh. A filled one without an age is `used`; without a share the profile's applies, which is `None` here.
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
