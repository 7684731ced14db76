//! What the kernel's log says of a device.
//! In: the device's name, and since when. Out: lines.

use rustix::time::{ClockId, clock_gettime};
use system::{Command, Journal};

/// Now, on the clock of the kernel's log: seconds since the machine started.
pub(crate) fn now() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The last lines that name a device, of those since then, without their time.
pub(crate) fn words_of(device: &str, since: f64, most: usize) -> Vec<String> {
    let log = Command::new(["dmesg"]).run(&Journal::new()).map(|answer| answer.stdout).unwrap_or_default();
    let lines: Vec<String> = log.lines().filter_map(|line| said(line, device, since)).collect();
    lines[lines.len().saturating_sub(most)..].to_vec()
}

/// What a line says, where it names the device and is not older.
fn said(line: &str, device: &str, since: f64) -> Option<String> {
    let (time, words) = line.strip_prefix('[')?.split_once(']')?;
    // The two clocks differ by a little.
    let recent = time.trim().parse::<f64>().is_ok_and(|time| time >= since - 0.1);
    let named = words
        .match_indices(device)
        .any(|(at, _)| !words[at + device.len()..].starts_with(|next: char| next.is_ascii_digit()));
    (recent && named && !device.is_empty()).then(|| words.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_that_name_the_device_and_are_new() {
        let taken = |line| said(line, "loop1", 100.0);
        assert_eq!(taken("[  100.5] EXT4-fs (loop1): mounted").as_deref(), Some("EXT4-fs (loop1): mounted"));
        assert_eq!(
            taken("[  101.5] BTRFS error (device loop1): bad").as_deref(),
            Some("BTRFS error (device loop1): bad")
        );
        for line in [
            "[   99.5] EXT4-fs (loop1): mounted",
            "[  101.5] XFS (loop12): mounted",
            "[  101.5] XFS: mounted",
            "loop1",
            "",
        ] {
            assert_eq!(taken(line), None, "{line}");
        }
    }
}
