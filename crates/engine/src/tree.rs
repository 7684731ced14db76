//! Trees of directories, computed: the directory of a file from its index, the path of a directory from its number.
//! In: the levels of `Layout::Tree`. Out: directory numbers, level by level from the top; paths.
//! Nothing is stored per directory or file.

use crate::names::Name;
use workload::program::{Directories, LEVELS_LIMIT, level_counts};

/// A tree of directories.
#[derive(Debug, Clone)]
pub struct Tree {
    classes: Vec<Class>,
    levels: Vec<Level>,
}

/// Directories of one level with equally many files.
#[derive(Debug, Clone)]
struct Class {
    /// Index of the first file in its first directory.
    first_file: u64,
    /// Files in each directory.
    files: u64,
    level: usize,
    /// Position of its first directory among those of its level, before they are mixed.
    first: u64,
}

#[derive(Debug, Clone)]
struct Level {
    /// Number of its first directory.
    first: u64,
    /// Number of directories.
    count: u64,
    /// Distance between places of directories that follow one another in their class.
    step: u64,
}

impl Tree {
    /// The tree of valid levels (`workload::program::tree_problem`).
    pub fn new(levels: &[Vec<Directories>]) -> Tree {
        let (mut classes, mut file, mut number) = (Vec::new(), 0, 0);
        for (level, each) in levels.iter().enumerate() {
            let mut first = 0;
            for &Directories { count, files } in each {
                if count > 0 && files > 0 {
                    classes.push(Class { first_file: file, files, level, first });
                }
                file += count * files;
                first += count;
            }
        }
        let levels = level_counts(levels).into_iter().map(|count| {
            number += count;
            Level { first: number - count, count, step: coprime_step(count) }
        });
        Tree { classes, levels: levels.collect() }
    }

    /// Number of directories, the fileset's own included.
    pub fn directories(&self) -> u64 {
        self.levels.last().map_or(0, |level| level.first + level.count)
    }

    /// Number of the directory that holds a file.
    #[inline]
    pub fn directory_of(&self, index: u64) -> u64 {
        let at = self.classes.partition_point(|class| class.first_file <= index);
        let Some(class) = self.classes.get(at.wrapping_sub(1)) else { return 0 };
        let level = &self.levels[class.level];
        let position = class.first + (index - class.first_file) / class.files;
        level.first + (u128::from(position) * u128::from(level.step) % u128::from(level.count)) as u64
    }

    /// Level of a directory; 0 is the fileset's own.
    pub fn level_of(&self, directory: u64) -> usize {
        self.levels.partition_point(|level| level.first <= directory).saturating_sub(1)
    }

    /// Writes the path of a directory below the fileset's own; empty for that.
    pub fn path(&self, directory: u64, name: &mut Name) {
        let deepest = self.level_of(directory);
        let mut parts = [0; LEVELS_LIMIT];
        let mut position = directory - self.levels[deepest].first;
        for depth in (1..=deepest).rev() {
            let [above, own] = [&self.levels[depth - 1], &self.levels[depth]].map(|level| u128::from(level.count));
            let parent = u128::from(position) * above / own;
            // Numbered among its siblings, so that paths are short.
            parts[depth] = position - (parent * own).div_ceil(above) as u64;
            position = parent as u64;
        }
        for (depth, part) in parts.iter().enumerate().take(deepest + 1).skip(1) {
            name.push(if depth == 1 { b"d" } else { b"/d" });
            name.push_number(*part, 1);
        }
    }
}

/// A step that visits each of `count` places once, neighbours far apart: the first number without a common divisor from the golden section on
/// (Knuth, The Art of Computer Programming, volume 3, section 6.4).
pub fn coprime_step(count: u64) -> u64 {
    let has_common_divisor = |step: &u64| {
        let (mut a, mut b) = (*step, count);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a != 1
    };
    let golden = (count as f64 * 0.618_033_988_749_895) as u64;
    (golden.max(1)..).find(|step| !has_common_divisor(step)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn tree() -> Tree {
        let level =
            |classes: &[(u64, u64)]| classes.iter().map(|&(count, files)| Directories { count, files }).collect();
        Tree::new(&[level(&[(1, 2)]), level(&[(2, 0), (5, 3)]), level(&[(3, 1)]), level(&[(9, 0), (1, 40)])])
    }

    fn path(tree: &Tree, directory: u64) -> String {
        let mut name = Name::new();
        tree.path(directory, &mut name);
        name.text()
    }

    #[test]
    fn every_directory_has_its_own_path_and_its_parent_comes_first() {
        let tree = tree();
        assert_eq!((tree.directories(), path(&tree, 0).as_str()), (21, ""));
        let mut seen = BTreeSet::new();
        for directory in 0..tree.directories() {
            let path = path(&tree, directory);
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            assert!(directory == 0 || seen.contains(parent), "{path}");
            assert_eq!(path.split('/').filter(|part| !part.is_empty()).count(), tree.level_of(directory));
            assert!(seen.insert(path.clone()), "{path} twice");
        }
    }

    #[test]
    fn directories_hold_the_files_of_their_classes() {
        let tree = tree();
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        (0..60).for_each(|index| *held.entry(tree.directory_of(index)).or_default() += 1);
        let mut of_level: Vec<Vec<u64>> = vec![Vec::new(); 4];
        held.iter().for_each(|(directory, files)| of_level[tree.level_of(*directory)].push(*files));
        assert_eq!(of_level, [vec![2], vec![3; 5], vec![1; 3], vec![40]]);
    }

    #[test]
    fn a_step_visits_every_place_once() {
        for count in [1, 2, 3, 4, 10, 97, 1_000, 65_536] {
            let step = coprime_step(count);
            let places: BTreeSet<u64> = (0..count).map(|position| position * step % count).collect();
            assert_eq!(places.len() as u64, count);
        }
    }
}
