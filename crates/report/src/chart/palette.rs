//! Colours: a contender has the same one in every chart, and colour-blind readers can distinguish them.
//! In: names of contenders. Out: positions in the palette of `assets/charts.js` (after Okabe and Ito, and Tol).

/// Colours of the palette; further contenders differ by shape.
const COLOURS: usize = 12;
/// Filesystems with a fixed colour, whatever they are compared with.
const KNOWN: [&str; 11] =
    ["ext4", "xfs", "btrfs", "zfs", "ext2", "ext3", "f2fs", "bcachefs", "nilfs2", "jfs", "reiserfs"];

/// A position for each name: a filesystem's own if it is free, else the next free one.
pub fn slots(names: &[&str]) -> Vec<usize> {
    let mut taken: Vec<usize> = Vec::new();
    let own = |name: &str| KNOWN.iter().position(|known| *known == name);
    let mut slots: Vec<Option<usize>> = names
        .iter()
        .map(|name| {
            let slot = own(name).filter(|slot| !taken.contains(slot));
            taken.extend(slot);
            slot
        })
        .collect();
    for (name, slot) in names.iter().zip(&mut slots) {
        if slot.is_none() {
            let first = name.split([' ', '+']).next().and_then(own).filter(|slot| !taken.contains(slot));
            let free = first
                .or_else(|| (0..).find(|slot| !taken.contains(slot) && (*slot < COLOURS || taken.len() >= COLOURS)));
            taken.extend(free);
            *slot = free;
        }
    }
    slots.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filesystem_keeps_its_colour_in_every_comparison() {
        assert_eq!(slots(&["xfs", "ext4"]), [1, 0]);
        assert_eq!(slots(&["btrfs", "xfs nobarrier", "ext4"]), [2, 1, 0]);
        assert_eq!(slots(&["btrfs+bfq", "xfs+bfq"]), [2, 1]);
    }

    #[test]
    fn no_two_contenders_share_a_place() {
        let names: Vec<String> = (0..20).map(|number| format!("ext4 variant {number}")).collect();
        let mut places = slots(&names.iter().map(String::as_str).collect::<Vec<_>>());
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 20);
    }
}
