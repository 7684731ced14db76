//! The effect of advice about the page cache: whether pages are dropped when they are not needed, and read ahead when they will be.
//! In: a folder. Out: answers, by the kernel's count of cached bytes, or by whether a read succeeds without waiting for the device.

use super::{Answer, Found};
use rustix::fs::Advice;
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the test file.
const LENGTH: usize = 1 << 20;
/// How long the device may take to read them.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval of the checks meanwhile.
const LOOK: Duration = Duration::from_millis(5);

pub(super) fn probe(root: &Path, found: &mut Found) {
    let (forgets, reads_ahead) = tried(root).unwrap_or_else(|error| {
        let unknown = Answer::unknown(format!("the test failed: {error}"));
        (unknown.clone(), unknown)
    });
    found.put("forgets", forgets);
    found.put("reads_ahead", reads_ahead);
}

fn tried(root: &Path) -> std::io::Result<(Answer, Answer)> {
    let path = root.join("advised");
    std::fs::write(&path, vec![7; LENGTH])?;
    let file = File::open(&path)?;
    file.sync_all()?;
    std::fs::read(&path)?;
    match served(&file) {
        Ok(true) => {}
        Ok(false) => return Ok(both("this filesystem caches data outside the page cache")),
        Err(error) => {
            return Ok(both(&format!("the kernel does not report whether a page is cached: preadv2: {error}")));
        }
    }
    advise(&file, Advice::DontNeed)?;
    let how = "POSIX_FADV_DONTNEED on a written and synced file of 1 MiB";
    if served(&file)? {
        let kept = Answer::no(format!("{how}: still cached"));
        return Ok((kept, Answer::unknown("its cache cannot be emptied by advice")));
    }
    let forgets = Answer::yes(format!("{how}: no longer cached"));
    advise(&file, Advice::WillNeed)?;
    let began = Instant::now();
    while !served(&file)? && began.elapsed() < PATIENCE {
        std::thread::sleep(LOOK);
    }
    let how = "POSIX_FADV_WILLNEED on an uncached file of 1 MiB";
    let reads_ahead = match served(&file)? {
        true => Answer::yes(format!("{how}: cached")),
        false => Answer::no(format!("{how}: not cached after {} s", PATIENCE.as_secs())),
    };
    Ok((forgets, reads_ahead))
}

fn both(why: &str) -> (Answer, Answer) {
    (Answer::unknown(why), Answer::unknown(why))
}

fn advise(file: &File, advice: Advice) -> std::io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, NonZeroU64::new(LENGTH as u64), advice)?)
}

/// Whether the file's last page is in memory, by the kernel's count (cachestat(2), Linux 6.5), or by whether a read succeeds without
/// waiting for the device.
fn served(file: &File) -> rustix::io::Result<bool> {
    if let Some(cached) = system::calls::cached_bytes(file) {
        return Ok(cached > LENGTH as u64 / 2);
    }
    let mut page = [0; 4096];
    let from = (LENGTH - page.len()) as u64;
    match rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut page)], from, ReadWriteFlags::NOWAIT) {
        Ok(read) => Ok(read == page.len()),
        Err(Errno::AGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_tested_and_an_unknown_result_has_its_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let (forgets, reads_ahead) = tried(folder.path()).expect("tried");
        assert!(!forgets.how.is_empty() && !reads_ahead.how.is_empty());
        // A filesystem in memory cannot drop pages; elsewhere, reading ahead is only tried on pages that were dropped.
        assert!(forgets.has == Some(true) || reads_ahead.has.is_none(), "{forgets:?} {reads_ahead:?}");
    }
}
