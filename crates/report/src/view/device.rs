//! The health of a disk, from a run of the raw device alone.
//! In: its figures. Out: a sentence: how fast it reads, the kind of disk that is typical for, and what looks wrong.
//! The limits of the kinds are wider than the disks of docs/disks.md, which follow data sheets: 73 to 79 random reads a second of hard
//! disks (up to 250 in a small part of one), 10,000 of a SATA SSD, 19,000 of an NVMe disk, one read after the other.

use super::{DeviceRow, Material, View};
use records::program::Figure;
use records::{Evidence, show_bytes};
use std::collections::{BTreeSet, HashSet};

/// Kinds of disks, each from this many random reads of 4 KiB a second, one after the other.
const KINDS: [(f64, &str); 5] = [
    (0.0, "typical of a hard disk"),
    (500.0, "between a hard disk and an SSD, typical of memory cards, USB sticks and network volumes"),
    (4_000.0, "typical of a SATA SSD or a fast network volume"),
    (14_000.0, "typical of an NVMe disk"),
    (100_000.0, "more than a disk can do: a cache or memory answers"),
];
/// Sequential bytes a second below which any current disk is slow.
const SLOW: f64 = 60e6;
/// Sequential bytes a second that no single hard disk reaches.
const NO_HARD_DISK: f64 = 400e6;
/// Largest ratio of the fastest pass to the slowest.
const STEADY: f64 = 1.5;

/// The sentences; none if nothing was read.
pub(super) fn headline(view: &View) -> Option<String> {
    let of = |phase: &str, figure: Figure| {
        view.device.iter().find(|row| row.phase.ends_with(phase)).filter(|row| row.figure == figure)
    };
    let random = of("/read-random", Figure::ItemsPerSecond);
    let in_order = of("/read-sequential", Figure::BytesPerSecond);
    let rate = |row: &DeviceRow| format!("{} {}", row.unit.show(row.median, None), row.unit.sign);
    let figures: Vec<String> = [
        random.map(|row| format!("{} of 4 KiB at random ({:.2} ms each)", rate(row), 1000.0 / row.median)),
        in_order.map(|row| format!("{} in order", rate(row))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if figures.is_empty() {
        return None;
    }
    let kind = match random.and_then(|row| kind(row.median)) {
        _ if view.run.in_memory => ": memory, no disk".to_owned(),
        kind => kind.map_or_else(String::new, |kind| format!(": {kind}")),
    };
    let is_hard_disk = random.is_some_and(|row| row.median < KINDS[1].0);
    let odd = in_order.and_then(|row| match row.median {
        slow if slow < SLOW => Some("Sequential reads are slow for any current disk.".to_owned()),
        fast if is_hard_disk && fast > NO_HARD_DISK => Some(
            "Sequential reads are faster than those of a hard disk: there are several disks, or a cache reads ahead."
                .to_owned(),
        ),
        _ => None,
    });
    let unsteady = view.device.iter().filter(|row| row.range.1 > STEADY * row.range.0).map(|row| {
        let times = crate::number::times(row.range.1 / row.range.0);
        let cause = "something else uses the disk, or it is throttled";
        format!("\"{}\" differed by {times}x between passes: {cause}.", row.title)
    });
    let wrong: Vec<String> = odd.into_iter().chain(unsteady).collect();
    let verdict = if wrong.is_empty() { "Nothing looks wrong.".to_owned() } else { wrong.join(" ") };
    Some(format!("The device reads {}{kind}. {verdict}", figures.join(" and ")))
}

/// Other users of the measured device, and how much they moved meanwhile; none if there were none.
pub(super) fn in_use(material: &Material, counting: &HashSet<usize>) -> Option<String> {
    let counted = material.trials.iter().enumerate().filter(|(number, _)| counting.contains(number));
    let trials: Vec<_> = counted.map(|(_, trial)| trial).collect();
    let users: BTreeSet<&str> =
        trials.iter().flat_map(|trial| &trial.found).flat_map(|found| &found.in_use).map(String::as_str).collect();
    if users.is_empty() {
        return None;
    }
    let passes = || trials.iter().flat_map(|trial| &trial.phases);
    let of =
        |bytes: &dyn Fn(&Evidence) -> Option<u64>| -> u64 { passes().filter_map(|pass| bytes(&pass.evidence)).sum() };
    let own: u64 = passes().map(|pass| pass.outcome.bytes_read).sum();
    let read = show_bytes(of(&|seen| seen.device_read_bytes).saturating_sub(own));
    let written = show_bytes(of(&|seen| seen.device_written_bytes));
    let users = users.into_iter().collect::<Vec<_>>().join("; ");
    Some(format!("The device is in use: {users}. Others read {read} and wrote {written} while it was measured."))
}

fn kind(reads: f64) -> Option<&'static str> {
    KINDS.iter().rev().find(|(from, _)| reads >= *from).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_disks_are_known_by_the_data_sheets_of_the_described_ones() {
        let named = |reads, word: &str| kind(reads).is_some_and(|kind| kind.contains(word));
        assert!(named(73.0, "typical of a hard disk") && named(176.0, "typical of a hard disk"));
        assert!(named(10_000.0, "SATA") && named(19_000.0, "NVMe") && named(500_000.0, "memory"));
    }
}
