//! The content of Debian's suites when they were last read, kept in a file of the cache with its time.
//! In: that file, a requested series, and a way to read the suites. Out: a list that is fresh enough, or an older one and why.
//! The suites are read again if the list is a day old, or lacks the requested series; offline the old list stays.

use super::choice::{Incomplete, Offer, newest};
use super::suites::{Read, Unread};
use crate::error::StagingError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use system::create::Folder;
use system::input;

const FILE: &str = "kernels.json";
const LOCK: &str = "lock";
/// An older list is read again.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A more recent list is not read again for a series that it lacks.
const JUST_NOW: Duration = Duration::from_secs(600);

/// The kernels of the suites, as of a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelList {
    /// When the suites were read, milliseconds since 1970.
    pub read_ms: u64,
    /// The newest kernel of each series, in order.
    pub kernels: Vec<Offer>,
    /// Series of which the suites have no complete kernel, with a package that is missing.
    pub incomplete: Vec<Incomplete>,
    /// Suites that could not be read, with the reason.
    pub unread: Vec<Unread>,
}

impl KernelList {
    pub fn of(&self, series: &str) -> Option<&Offer> {
        self.kernels.iter().find(|offer| offer.series == series)
    }

    pub fn newest(&self) -> Option<&Offer> {
        newest(&self.kernels)
    }
}

/// A list, and why it is not of today, if it is not.
pub(super) struct Current {
    pub list: KernelList,
    pub not_refreshed: Option<StagingError>,
}

/// The cached list; None if there is none that can be read.
pub(super) fn kept(cache: &Path) -> Option<KernelList> {
    let text = input::text_file(&cache.join("apt").join(FILE), input::TEXT_LIMIT).ok()?;
    serde_json::from_str(&text).ok()
}

/// A list that is not older than a day and has the series, as far as the suites have it; `read` reads them.
pub(super) fn current(
    cache: &Path,
    series: Option<&str>,
    read: impl FnOnce() -> Result<Read, StagingError>,
) -> Result<Current, StagingError> {
    let fresh = |list: &KernelList| is_fresh(list, series, now());
    if let Some(list) = kept(cache).filter(fresh) {
        return Ok(Current { list, not_refreshed: None });
    }
    let folder = cache.join("apt");
    let _lock = lock(&folder).map_err(|error| StagingError::file("lock", &folder.join(LOCK), error))?;
    // Another run may have read them while this one waited.
    if let Some(list) = kept(cache).filter(fresh) {
        return Ok(Current { list, not_refreshed: None });
    }
    match (read(), kept(cache)) {
        (Ok(Read { kernels, incomplete, unread }), _) => {
            let list = KernelList { read_ms: now(), kernels, incomplete, unread };
            keep(&folder, &list)?;
            Ok(Current { list, not_refreshed: None })
        }
        (Err(error), Some(list)) => Ok(Current { list, not_refreshed: Some(error) }),
        (Err(error), None) => Err(error),
    }
}

fn is_fresh(list: &KernelList, series: Option<&str>, now: u64) -> bool {
    let limit = if series.is_none_or(|series| list.of(series).is_some()) { DAY } else { JUST_NOW };
    // A list from the future was written while the clock was wrong.
    now.checked_sub(list.read_ms).is_some_and(|age| u128::from(age) < limit.as_millis())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Locks the folder: two processes that write apt's private lists at once would disturb each other.
fn lock(folder: &Path) -> std::io::Result<File> {
    let file = Folder::make(folder)?.kept_file(LOCK, false)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

fn keep(folder: &Path, list: &KernelList) -> Result<(), StagingError> {
    let path = folder.join(FILE);
    let text = serde_json::to_vec_pretty(list).map_err(|error| StagingError::file("describe", &path, error))?;
    let written = Folder::open(folder).and_then(|folder| folder.replace(FILE, &text));
    written.map_err(|error| StagingError::file("keep the list of Debian's kernels in", &path, error))
}

#[cfg(test)]
mod tests {
    use super::super::choice::newest_of_each;
    use super::super::choice::tests::TABLE;
    use super::*;
    use std::cell::Cell;

    fn read() -> Result<Read, StagingError> {
        let (kernels, incomplete) = newest_of_each(TABLE, &[]);
        Ok(Read { kernels, incomplete, unread: vec![("sid".into(), "it was away".into())] })
    }

    fn offline() -> Result<Read, StagingError> {
        Err(StagingError::guest("no network"))
    }

    /// Makes the cached list older.
    fn aged(cache: &Path, by: Duration) {
        let mut list = kept(cache).expect("it is there");
        list.read_ms -= by.as_millis() as u64;
        keep(&cache.join("apt"), &list).expect("kept");
    }

    #[test]
    fn suites_are_read_once_a_day_and_when_a_series_is_missing() {
        let cache = tempfile::tempdir().expect("a folder");
        let count = Cell::new(0);
        let ask = |series: Option<&str>| {
            let reading = || {
                count.set(count.get() + 1);
                read()
            };
            current(cache.path(), series, reading).expect("a list")
        };
        let first = ask(None).list;
        assert_eq!((count.get(), first.newest().map(|offer| offer.series.clone())), (1, Some("7.3".into())));
        assert_eq!(first.unread[0].0, "sid");
        assert_eq!(ask(Some("6.16")).list, first, "what was kept is what was read");
        ask(Some("9.9"));
        assert_eq!(count.get(), 1, "it was read just now");
        aged(cache.path(), JUST_NOW);
        ask(Some("6.16"));
        assert_eq!(count.get(), 1);
        ask(Some("9.9"));
        assert_eq!(count.get(), 2);
        aged(cache.path(), DAY);
        ask(None);
        assert_eq!(count.get(), 3);
    }

    #[test]
    fn offline_an_old_list_is_kept_with_the_reason() {
        let cache = tempfile::tempdir().expect("a folder");
        assert!(current(cache.path(), None, offline).is_err(), "nothing is known yet");
        current(cache.path(), None, read).expect("a list");
        aged(cache.path(), 2 * DAY);
        let found = current(cache.path(), Some("6.1"), offline).expect("the old one");
        assert!(found.list.of("6.1").is_some());
        assert!(found.not_refreshed.is_some_and(|error| error.to_string().contains("no network")));
    }

    #[test]
    fn a_list_that_cannot_be_read_or_comes_from_the_future_is_made_anew() {
        let cache = tempfile::tempdir().expect("a folder");
        current(cache.path(), None, read).expect("a list");
        let mut list = kept(cache.path()).expect("it is there");
        list.read_ms += 1 << 40;
        assert!(!is_fresh(&list, None, now()));
        std::fs::write(cache.path().join("apt").join(FILE), "{").expect("written");
        assert!(kept(cache.path()).is_none());
        assert!(current(cache.path(), None, read).is_ok());
    }
}
