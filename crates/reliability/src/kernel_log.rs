//! Messages of the kernel's log, about a device or all.
//! In: a start time, and the device's name. Out: lines.

use rustix::time::{ClockId, clock_gettime};
use std::fmt::Display;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

/// The log, one record at a time.
const LOG: &str = "/dev/kmsg";
/// Most bytes of a record.
const RECORD: usize = 8192;

/// Now, on the clock of the kernel's log: seconds since the machine started.
pub(crate) fn now() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The last lines since a time that name a device.
pub(crate) fn words_of(device: &str, since: f64, most: usize) -> Vec<String> {
    last(records().filter(|(time, words)| is_recent(*time, since) && names(words, device) && !is_dump(words)), most)
}

/// The last lines since a time.
pub(crate) fn words(since: f64, most: usize) -> Vec<String> {
    last(records().filter(|(time, words)| is_recent(*time, since) && !is_dump(words)), most)
}

/// Puts such lines before an error: they are more specific, and survive if the text is shortened.
pub(crate) fn explaining(lines: &[String], error: &impl Display) -> String {
    if lines.is_empty() { error.to_string() } else { format!("kernel: {}; {error}", lines.join("; ")) }
}

fn last(lines: impl Iterator<Item = (f64, String)>, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(|(_, words)| words).collect();
    lines.split_off(lines.len().saturating_sub(most))
}

/// All records of the log; none if it cannot be read.
fn records() -> impl Iterator<Item = (f64, String)> {
    // Does not wait for new records.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut log = File::options().read(true).custom_flags(nonblocking).open(LOG).ok();
    let mut buffer = vec![0; RECORD];
    std::iter::from_fn(move || {
        loop {
            match log.as_mut()?.read(&mut buffer) {
                Ok(length) if length > 0 => return Some(String::from_utf8_lossy(&buffer[..length]).into_owned()),
                // Records were overwritten meanwhile; reading continues after them.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
                _ => return None,
            }
        }
    })
    .filter_map(|record| taken_apart(&record))
}

/// Time and text of a record: "priority,number,microseconds,flags;text", followed by lines of properties.
fn taken_apart(record: &str) -> Option<(f64, String)> {
    let (head, words) = record.split_once(';')?;
    let microseconds: f64 = head.split(',').nth(2)?.parse().ok()?;
    Some((microseconds / 1e6, words.lines().next()?.trim().to_string()))
}

/// Whether a line dumps a block's content, as `00000040: 00 00 ...`, or announces that.
fn is_dump(words: &str) -> bool {
    words.ends_with(':')
        || words.split_once(": ").is_some_and(|(place, _)| place.len() == 8 && u32::from_str_radix(place, 16).is_ok())
}

/// The two clocks differ a little.
fn is_recent(time: f64, since: f64) -> bool {
    time >= since - 0.1
}

fn names(words: &str, device: &str) -> bool {
    let mut places = words.match_indices(device);
    !device.is_empty()
        && places.any(|(at, _)| !words[at + device.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_time_and_words() {
        let record = "4,1234,100500000,-;EXT4-fs (loop1): mounted\n SUBSYSTEM=block\n DEVICE=b7:1\n";
        assert_eq!(taken_apart(record), Some((100.5, "EXT4-fs (loop1): mounted".into())));
        assert_eq!(taken_apart(" a line that goes on"), None);
        assert_eq!(taken_apart("6,1,x,-;words"), None);
    }

    #[test]
    fn hex_dumps_in_the_kernel_log_are_recognized() {
        assert!(is_dump("00000040: 00 00 00 00 00 0a 00 bb  ................"));
        assert!(is_dump("XFS (loop0): First 128 bytes of corrupted metadata buffer:"));
        for line in ["XFS (vda): log mount failed", "BTRFS: device", "deadbeef is no place"] {
            assert!(!is_dump(line), "{line}");
        }
    }

    #[test]
    fn lines_are_taken_that_name_the_device_and_are_new() {
        for line in ["EXT4-fs (loop1): mounted", "BTRFS error (device loop1): bad"] {
            assert!(names(line, "loop1"), "{line}");
        }
        for line in ["XFS (loop12): mounted", "XFS: mounted", ""] {
            assert!(!names(line, "loop1"), "{line}");
        }
        assert!(!names("XFS (loop12): mounted", ""));
        assert!(is_recent(100.5, 100.0) && is_recent(99.95, 100.0) && !is_recent(99.5, 100.0));
    }
}
