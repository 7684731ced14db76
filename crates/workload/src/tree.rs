//! Trees of directories at another scale.
//! In: levels of directories with their numbers of files, and a number of files. Out: levels with exactly so many files, whose directories are
//! a systematic sample: the shares of levels, and of directories with many and few files, are kept as closely as whole numbers allow.

use crate::program::{Directories, files_of_levels};

/// Share of all files from which directories that are too few for a sample are kept as one smaller directory.
const LARGE_SHARE: f64 = 0.005;

/// The tree with this many files; equal to the given one if that has so many. The given tree must have files, and one directory on its
/// first level.
pub(crate) fn scaled(levels: &[Vec<Directories>], wanted: u64) -> Vec<Vec<Directories>> {
    let held = files_of_levels(levels);
    if held == wanted || held == 0 {
        return levels.to_vec();
    }
    let scale = wanted as f64 / held as f64;
    let large = (LARGE_SHARE * wanted as f64).max(2.0);
    let mut seen = 0.0;
    let mut sampled: Vec<Vec<Directories>> = Vec::new();
    for (number, level) in levels.iter().enumerate() {
        let mut kept = Vec::new();
        for each in level {
            let share = each.count as f64 * scale;
            let files = each.files as f64 * share;
            if number == 0 || share < 1.0 && files >= large {
                kept.push(Directories { count: 1, files: files.round() as u64 });
                continue;
            }
            let count = (seen + share).round() as u64 - f64::round(seen) as u64;
            seen += share;
            if count > 0 {
                kept.push(Directories { count, files: each.files });
            }
        }
        sampled.push(kept);
    }
    let deepest = sampled.iter().rposition(|level| !level.is_empty()).unwrap_or(0);
    sampled.truncate(deepest + 1);
    for level in sampled.iter_mut().filter(|level| level.is_empty()) {
        level.push(Directories { count: 1, files: 0 });
    }
    fit(&mut sampled, wanted);
    sampled
}

/// Makes the sum of files exact: classes with most files get a few more or fewer, first by at most half, then by as much as it takes.
fn fit(levels: &mut [Vec<Directories>], wanted: u64) {
    let mut rest = i128::from(wanted) - i128::from(files_of_levels(levels));
    for part in [2, 1] {
        let mut order: Vec<(u64, usize, usize)> = Vec::new();
        for (number, level) in levels.iter().enumerate() {
            order.extend(level.iter().enumerate().map(|(at, each)| (each.count * each.files, number, at)));
        }
        order.sort_by_key(|(held, ..)| std::cmp::Reverse(*held));
        for (held, level, at) in order {
            let change = rest.clamp(-i128::from(held / part), i128::from(held / part));
            rest -= change;
            let count = levels[level][at].count;
            let goal = (i128::from(held) + change) as u64;
            // Whole numbers of files: some directories of the class hold one more than the others.
            let (files, more) = (goal / count, goal % count);
            levels[level][at] = Directories { count: count - more, files };
            if more > 0 {
                levels[level].push(Directories { count: more, files: files + 1 });
            }
        }
    }
    levels[0][0].files += u64::try_from(rest).unwrap_or(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{level_counts, tree_problem};

    fn level(classes: &[(u64, u64)]) -> Vec<Directories> {
        classes.iter().map(|&(count, files)| Directories { count, files }).collect()
    }

    fn example() -> Vec<Vec<Directories>> {
        vec![level(&[(1, 7)]), level(&[(10, 0), (30, 12)]), level(&[(100, 3), (400, 20), (1, 4_000)])]
    }

    #[test]
    fn a_scaled_tree_has_exactly_the_files_asked_for() {
        for wanted in [1, 2, 3, 10, 99, 1_000, 12_667, 100_000, 10_000_000] {
            let scaled = scaled(&example(), wanted);
            assert_eq!(tree_problem(&scaled, wanted), None, "{wanted}: {scaled:?}");
        }
    }

    #[test]
    fn a_tree_of_its_own_number_of_files_stays_as_it_is() {
        assert_eq!(scaled(&example(), files_of_levels(&example())), example());
    }

    #[test]
    fn shares_of_levels_and_of_large_directories_are_kept() {
        let scaled = scaled(&example(), files_of_levels(&example()) / 10);
        assert_eq!(level_counts(&scaled), [1, 4, 51]);
        let largest = scaled[2].iter().map(|each| each.files).max().unwrap();
        assert!((350..=450).contains(&largest), "a tenth of 4,000, not {largest}");
    }

    #[test]
    fn a_level_in_between_never_disappears() {
        let chain = vec![level(&[(1, 0)]), level(&[(1, 0)]), level(&[(1, 0)]), level(&[(1_000, 10)])];
        assert_eq!(level_counts(&scaled(&chain, 100)), [1, 1, 1, 10]);
    }
}
