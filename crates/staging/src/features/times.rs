//! Timestamps: their range and resolution as stored on the device, not in memory.
//! In: a folder, before and after a remount. Out: answers.
//! The kernel clamps a time that a filesystem cannot store to the nearest that it can.

use super::limit::largest;
use super::{Answer, Found};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A time with an odd second and all nine digits of a fraction.
const EXACT: (i64, i64) = (1_000_000_001, 123_456_789);
/// Resolutions of filesystems, in nanoseconds.
const STEPS: [(i64, &str); 6] = [
    (1, "1 ns"),
    (100, "100 ns"),
    (1_000, "1 \u{b5}s"),
    (1_000_000, "1 ms"),
    (10_000_000, "10 ms"),
    (1_000_000_000, "1 s"),
];
/// Mean length of a calendar year, in seconds.
const YEAR: f64 = 31_556_952.0;

const FILES: [(&str, i64, i64); 3] =
    [("time-past", i64::MIN, 0), ("time-future", i64::MAX, 0), ("time-exact", EXACT.0, EXACT.1)];

/// Sets the times of three files.
pub(super) fn prepare(root: &Path) {
    for (name, seconds, nanoseconds) in FILES {
        let path = root.join(name);
        if File::create(&path).is_err() || takes(&path, seconds, nanoseconds) {
            continue;
        }
        // If the extreme is refused instead of clamped, the most extreme time that is accepted.
        let sign = seconds.signum();
        let most = largest(0, i64::MAX as u64, |far| takes(&path, sign * far as i64, 0));
        takes(&path, sign * most as i64, 0);
    }
}

fn takes(path: &Path, seconds: i64, nanoseconds: i64) -> bool {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::empty()).is_ok()
}

/// Reads them again.
pub(super) fn read(root: &Path, mounted_again: bool, found: &mut Found) {
    let when = if mounted_again { "read after a remount" } else { "read from memory, without a remount" };
    let of = |name: &str| {
        let facts = std::fs::metadata(root.join(name)).ok()?;
        Some((facts.mtime(), facts.mtime_nsec()))
    };
    let range = match (of("time-past"), of("time-future")) {
        (Some((past, _)), Some((future, _))) if past < 0 && future > i64::from(i32::MAX) - 1 => {
            let text = format!("{} to {}", year(past), year(future));
            Answer::words(
                text,
                format!("the extremes that can be set, {when}: {past} s to {future} s relative to 1970"),
            )
        }
        (Some((past, _)), Some((future, _))) => {
            // Wrapped around, or cut to nothing: the stored time is not the clamped one.
            Answer::words(
                "not kept",
                format!("the extremes that can be set, {when}: {past} s and {future} s relative to 1970"),
            )
        }
        _ => Answer::unknown("the files are missing"),
    };
    found.put("time_range", range);
    found.put(
        "time_step",
        of("time-exact").map_or_else(|| Answer::unknown("no time could be set"), |kept| step(kept, when)),
    );
}

fn step((seconds, nanoseconds): (i64, i64), when: &str) -> Answer {
    let how = format!("{}.{:09} s set, {when}: {seconds}.{nanoseconds:09} s", EXACT.0, EXACT.1);
    if seconds != EXACT.0 && nanoseconds == 0 && (EXACT.0 - seconds).abs() == 1 {
        return Answer::words("2 s", how);
    }
    let kept = |step: i64| seconds == EXACT.0 && nanoseconds == EXACT.1 / step * step;
    match STEPS.iter().find(|(step, _)| kept(*step)) {
        Some((_, text)) => Answer::words(*text, how),
        None => Answer::unknown(how),
    }
}

/// The year of a time in seconds relative to 1970; far ones as a power of ten.
fn year(seconds: i64) -> String {
    let year = 1970.0 + seconds as f64 / YEAR;
    match year.floor() {
        year if year.abs() >= 1e6 => {
            format!("{}{} billion", if year < 0.0 { "-" } else { "" }, (year.abs() / 1e9).round())
        }
        year => format!("{year}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_and_steps_follow_from_the_stored_times() {
        assert_eq!((year(i64::from(i32::MIN)), year(i64::from(i32::MAX))), ("1901".into(), "2038".into()));
        assert_eq!((year(15_032_385_535), year(i64::MAX)), ("2446".into(), "292 billion".into()));
        let of = |kept| step(kept, "").text;
        assert_eq!(
            (of(EXACT), of((EXACT.0, 123_456_700)), of((EXACT.0, 0))),
            ("1 ns".into(), "100 ns".into(), "1 s".into())
        );
        assert_eq!(of((EXACT.0 - 1, 0)), "2 s");
        assert_eq!(of((5, 5)), "?");
    }
}
