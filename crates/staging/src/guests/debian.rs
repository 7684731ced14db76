//! Debian's kernels by name: which exist, which one is meant, and how one is downloaded.
//! In: a series, or none for the newest. Out: the folder that it is unpacked in, the kernels that are available, or why it is not.
//! A downloaded kernel is used as it is, without the network; all others come from Debian's suites.

mod choice;
mod list;
mod parts;
mod suites;
mod unpack;
mod version;

use super::kernel_file::{release, unpacked, wrong};
use crate::error::StagingError;
use crate::filesystems::tools::cache;
use list::{Current, KernelList};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use suites::Suites;
use system::Journal;

/// Kernels of Debian that can be had for guests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DebianKernels {
    /// When Debian's suites were read, milliseconds since 1970; absent where that never went well.
    #[serde(skip)]
    pub read_ms: Option<u64>,
    /// Why they could not be read now; null if they were, or if the last reading is at most a day old.
    pub not_read: Option<String>,
    /// Suites that could not be read then.
    pub unread: Vec<UnreadSuite>,
    /// The one that `debian:newest` means; null where none is known.
    pub newest: Option<String>,
    /// One for each series, in order.
    pub kernels: Vec<DebianKernel>,
}

/// A suite that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnreadSuite {
    /// Its name.
    pub suite: String,
    /// Error message of apt.
    pub why: String,
}

/// A kernel of Debian's.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DebianKernel {
    /// Its name, as `--kernel` takes it: `debian:6.12`.
    pub name: String,
    /// Its series: `6.12`.
    pub series: String,
    /// Version of the newest package; null if no suite has the series any longer.
    pub version: Option<String>,
    /// The package; null as the version is.
    pub package: Option<String>,
    /// The suite that has it; null as the version is.
    pub suite: Option<String>,
    /// Whether it is a release candidate, which `debian:newest` skips.
    pub is_candidate: bool,
    /// Release of the downloaded kernel that is used; null if it is downloaded on first use.
    pub release_here: Option<String>,
}

/// Every Debian kernel that is available or downloaded. The suites are read if the known list is older than a day.
///
/// # Errors
/// No list is known, the suites cannot be read, and no kernel is downloaded.
pub fn debian_kernels() -> Result<DebianKernels, StagingError> {
    let cache = cache();
    match current(&cache, None, &Journal::new()) {
        Ok(Current { list, not_refreshed }) => Ok(kernels_of(&cache, Some(list), not_refreshed)),
        Err(error) if here(&cache).is_empty() => Err(error),
        Err(error) => Ok(kernels_of(&cache, None, Some(error))),
    }
}

fn kernels_of(cache: &Path, list: Option<KernelList>, not_read: Option<StagingError>) -> DebianKernels {
    let (kept, here) = (list.as_ref(), here(cache));
    let offers = || kept.into_iter().flat_map(|list| &list.kernels);
    let series = all_series(kept, &here);
    let one = |series: &String| {
        let offer = offers().find(|offer| offer.series == *series);
        DebianKernel {
            name: format!("debian:{series}"),
            series: series.clone(),
            version: offer.map(|offer| offer.version.clone()),
            package: offer.map(|offer| offer.package.clone()),
            suite: offer.map(|offer| offer.suite.clone()),
            is_candidate: offer.is_some_and(choice::Offer::is_candidate),
            release_here: here.iter().find(|(known, _)| known == series).map(|(_, release)| release.clone()),
        }
    };
    let unread = |(suite, why): &(String, String)| UnreadSuite { suite: suite.clone(), why: why.clone() };
    let newest = newest_of(kept, &here, not_read.is_some());
    DebianKernels {
        read_ms: kept.map(|list| list.read_ms),
        not_read: not_read.map(|error| error.to_string()),
        unread: kept.map(|list| list.unread.iter().map(unread).collect()).unwrap_or_default(),
        newest: newest.map(|series| format!("debian:{series}")),
        kernels: series.into_iter().map(one).collect(),
    }
}

/// The newest released series; offline, the newest downloaded one, since no other is available.
fn newest_of(list: Option<&KernelList>, here: &[(String, String)], offline: bool) -> Option<String> {
    let listed = list.and_then(KernelList::newest).map(|offer| offer.series.clone());
    let best_here = || here.iter().map(|(series, _)| series).max_by(|a, b| version::compare(a, b)).cloned();
    match listed {
        Some(series) if !offline || here.iter().any(|(known, _)| *known == series) => Some(series),
        _ => best_here(),
    }
}

/// The series that `debian:newest` means.
pub(super) fn newest(journal: &Journal) -> Result<String, StagingError> {
    let cache = cache();
    let here = here(&cache);
    let (found, why) = match current(&cache, None, journal) {
        Ok(Current { list, not_refreshed }) => (newest_of(Some(&list), &here, not_refreshed.is_some()), not_refreshed),
        Err(error) => (newest_of(None, &here, true), Some(error)),
    };
    match (found, why) {
        (Some(series), _) => Ok(series),
        (None, Some(error)) => Err(error),
        (None, None) => {
            Err(wrong("debian:newest", "is in none of Debian's suites", "name a series, such as debian:6.12"))
        }
    }
}

/// Rejects a series that is not downloaded and that no suite has. If the suites cannot be read, any series is accepted.
pub(super) fn check(name: &str, series: &str) -> Result<(), StagingError> {
    let cache = cache();
    let known = |list: KernelList| list.of(series).is_some();
    if unpacked(&folder_of(&cache, series)).is_some() || list::kept(&cache).is_some_and(known) {
        return Ok(());
    }
    match current(&cache, Some(series), &Journal::new()) {
        Ok(Current { list, not_refreshed: None }) if list.of(series).is_none() => {
            Err(nowhere(name, &list, &here(&cache)))
        }
        _ => Ok(()),
    }
}

/// Series that are available or downloaded, in order.
fn all_series<'a>(list: Option<&'a KernelList>, here: &'a [(String, String)]) -> Vec<&'a String> {
    let listed = list.into_iter().flat_map(|list| &list.kernels).map(|offer| &offer.series);
    let mut all: Vec<&String> = listed.chain(here.iter().map(|(series, _)| series)).collect();
    all.sort_by(|one, other| version::compare(one, other));
    all.dedup();
    all
}

fn nowhere(name: &str, list: &KernelList, here: &[(String, String)]) -> StagingError {
    let all: Vec<String> = all_series(Some(list), here).into_iter().map(|series| format!("debian:{series}")).collect();
    let suites: Vec<&str> = list.unread.iter().map(|(suite, _)| suite.as_str()).collect();
    let unread = if suites.is_empty() { String::new() } else { format!("; {} could not be read", suites.join(", ")) };
    let series = name.trim_start_matches("debian:");
    let problem = match list.incomplete.iter().find(|(known, _)| known == series) {
        Some((_, missing)) => format!("is in Debian's suites without {missing}, which it needs{unread}"),
        None => format!("is in none of Debian's suites{unread}"),
    };
    wrong(
        name,
        problem,
        format!("available: debian:newest, {}; `bakeoff systems --kernels` shows details", all.join(", ")),
    )
}

/// The folder of a series; downloads and unpacks it if it is not here yet.
pub(super) fn folder(name: &str, series: &str, journal: &Journal) -> Result<PathBuf, StagingError> {
    let cache = cache();
    let folder = folder_of(&cache, series);
    if unpacked(&folder).is_some() {
        return Ok(folder);
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(wrong(name, "is available for x86-64 only", "give the path of a kernel instead"));
    }
    let Current { list, not_refreshed } = current(&cache, Some(series), journal)?;
    let Some(offer) = list.of(series) else {
        return Err(not_refreshed.unwrap_or_else(|| nowhere(name, &list, &here(&cache))));
    };
    let suites = Suites::prepare(&cache, journal)?;
    let fresh = folder.with_file_name(format!("debian-{series}.{}.new", std::process::id()));
    let made = std::fs::create_dir_all(&fresh).map_err(|error| StagingError::file("make", &fresh, error));
    let fetched = made.and_then(|()| unpack::fetch(&suites, offer, &fresh, journal));
    let placed = fetched.and_then(|()| {
        std::fs::rename(&fresh, &folder).or_else(|error| {
            // Another run was faster.
            if unpacked(&folder).is_some() { Ok(()) } else { Err(StagingError::file("name", &folder, error)) }
        })
    });
    if fresh.exists() {
        // A partial package is useless.
        let _ = std::fs::remove_dir_all(&fresh);
    }
    placed.map(|()| folder)
}

/// Whether a text is a series: two numbers.
pub(super) fn is_series(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    text.split_once('.').is_some_and(|(first, second)| is_number(first) && is_number(second))
}

/// Whether a series is downloaded already.
pub(super) fn is_here(series: &str) -> bool {
    unpacked(&folder_of(&cache(), series)).is_some()
}

fn current(cache: &Path, series: Option<&str>, journal: &Journal) -> Result<Current, StagingError> {
    list::current(cache, series, || Suites::prepare(cache, journal)?.read(journal))
}

/// Folder of a series: `$XDG_CACHE_HOME/bakeoff/kernels/debian-SERIES`.
fn folder_of(cache: &Path, series: &str) -> PathBuf {
    cache.join("kernels").join(format!("debian-{series}"))
}

/// Downloaded Debian kernels, by the names that `--kernel` takes, in order.
pub fn kernels_here() -> Vec<String> {
    here(&cache()).into_iter().map(|(series, _)| format!("debian:{series}")).collect()
}

/// Debian kernels that are downloaded or were in the last list of its suites, in order; the network is not used.
pub fn kernels_known() -> Vec<String> {
    let cache = cache();
    let (listed, here) = (list::kept(&cache), here(&cache));
    all_series(listed.as_ref(), &here).into_iter().map(|series| format!("debian:{series}")).collect()
}

/// Downloaded series, in order, each with the release of its kernel.
fn here(cache: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(cache.join("kernels")).into_iter().flatten().flatten();
    let one = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let series = name.strip_prefix("debian-").filter(|rest| is_series(rest))?;
        let (image, _) = unpacked(&entry.path())?;
        Some((series.to_owned(), release(&image).ok()?))
    };
    let mut found: Vec<(String, String)> = entries.filter_map(one).collect();
    found.sort_by(|(series, _), (other, _)| version::compare(series, other));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use choice::newest_of_each;
    use choice::tests::TABLE;

    fn list() -> KernelList {
        let (kernels, _) = newest_of_each(TABLE, &[]);
        let incomplete = vec![("7.0".into(), "linux-modules-7.0.13+deb13-amd64".into())];
        KernelList { read_ms: 1, kernels, incomplete, unread: vec![("sid".into(), "it was away".into())] }
    }

    /// A cache with these unpacked kernels: series and release.
    fn cache_with(kernels: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a folder");
        for (series, release) in kernels {
            let folder = folder_of(place.path(), series);
            let modules = folder.join("lib/modules").join(release);
            std::fs::create_dir_all(folder.join("boot")).expect("made");
            std::fs::create_dir_all(&modules).expect("made");
            std::fs::write(modules.join("modules.dep"), "").expect("written");
            let image = super::super::kernel_file::tests::image_of(release);
            std::fs::write(folder.join("boot").join(format!("vmlinuz-{release}")), image).expect("written");
        }
        place
    }

    #[test]
    fn available_and_downloaded_kernels_are_in_one_list_in_order() {
        let cache = cache_with(&[("6.12", "6.12.9+deb13-amd64"), ("5.10", "5.10.0-9-amd64")]);
        std::fs::create_dir(cache.path().join("kernels/debian-6.16.77.new")).expect("half of one");
        let found = kernels_of(cache.path(), Some(list()), None);
        let names: Vec<&str> = found.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(
            names,
            ["debian:5.10", "debian:6.1", "debian:6.12", "debian:6.16", "debian:7.2", "debian:7.3", "debian:7.4"]
        );
        let here: Vec<Option<&str>> = found.kernels.iter().map(|kernel| kernel.release_here.as_deref()).collect();
        assert_eq!(here[..3], [Some("5.10.0-9-amd64"), None, Some("6.12.9+deb13-amd64")]);
        assert_eq!(
            (found.kernels[0].version.as_deref(), found.kernels[2].version.as_deref()),
            (None, Some("6.12.117-1"))
        );
        let candidates: Vec<&str> =
            found.kernels.iter().filter(|kernel| kernel.is_candidate).map(|kernel| kernel.series.as_str()).collect();
        assert_eq!(candidates, ["7.4"]);
        assert_eq!(found.newest.as_deref(), Some("debian:7.3"));
        assert_eq!(found.unread[0].suite, "sid");
    }

    #[test]
    fn offline_the_newest_is_the_newest_that_is_here() {
        let here = [("6.9".to_owned(), String::new()), ("6.12".to_owned(), String::new())];
        assert_eq!(newest_of(Some(&list()), &here, false).as_deref(), Some("7.3"));
        assert_eq!(newest_of(Some(&list()), &here, true).as_deref(), Some("6.12"));
        assert_eq!(newest_of(None, &here, true).as_deref(), Some("6.12"));
        assert_eq!(newest_of(None, &[], true), None);
    }

    #[test]
    fn a_series_that_is_nowhere_brings_those_that_can_be_had() {
        let error = nowhere("debian:6.5", &list(), &[("5.10".into(), String::new())]).to_string();
        for words in ["debian:6.5", "debian:5.10, debian:6.1, debian:6.12", "debian:7.3", "sid could not be read"] {
            assert!(error.contains(words), "{words}: {error}");
        }
        let error = nowhere("debian:7.0", &list(), &[]).to_string();
        assert!(error.contains("without linux-modules-7.0.13+deb13-amd64"), "{error}");
    }

    #[test]
    fn a_series_is_two_numbers() {
        assert!(is_series("6.12") && is_series("10.0"));
        for other in ["6", "6.", ".1", "6.12.1", "6.x", "newest", ""] {
            assert!(!is_series(other), "{other}");
        }
    }
}
