//! Directories and names of the files of a history, computed from their numbers.
//! In: a history's seed and sizes, numbers. Out: directories, names; equal input gives equal output.
//! Nothing is stored, so a tree of ten million files takes no memory.

use crate::hash::{below, mix, mix_all};
use crate::names::Name;
use workload::ageing::History;

/// Directories and names of files.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    seed: u64,
    directories: u64,
}

impl Places {
    /// As many directories as the files need.
    pub fn new(history: &History) -> Places {
        let directories = (history.expected_files() / u64::from(history.files_per_directory.max(1))).max(1);
        Places { seed: history.seed, directories: directories.min(u64::from(u32::MAX)) }
    }

    /// Number of the directory of a file. Low numbers are drawn far more often: most directories have few files, few have many.
    pub fn directory(&self, file: u32) -> u32 {
        let draw = mix_all(&[self.seed, 0xd1, u64::from(file)]);
        let upper = below(draw, self.directories) + 1;
        let spread = mix(self.seed ^ 0xd2);
        // Scattered, so that the full directories are not those at the top of the tree.
        ((below(mix(draw), upper).wrapping_mul(spread | 1)) % self.directories) as u32
    }

    /// Number of a directory's parent; None: the top. A random recursive tree, so that the depth of paths is about
    /// the logarithm of the number of directories.
    pub fn parent(&self, directory: u32) -> Option<u32> {
        let draw = mix_all(&[self.seed, 0xd3, u64::from(directory)]);
        let upper = below(draw, u64::from(directory) + 1);
        (upper > 0).then(|| (upper - 1) as u32)
    }

    /// Name of a directory within its parent.
    pub fn directory_name(&self, directory: u32, name: &mut Name) {
        self.name(b'd', u64::from(directory), name);
    }

    /// Name of a file within its directory: 5 to 22 letters, among them its number, so that no two are equal.
    pub fn file_name(&self, file: u32, name: &mut Name) {
        self.name(b'f', u64::from(file), name);
    }

    fn name(&self, kind: u8, number: u64, name: &mut Name) {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let mut text = [0u8; 32];
        let draw = mix_all(&[self.seed, u64::from(kind), number]);
        let random = 3 + below(draw, 12) as usize;
        let mut letters = mix(draw);
        for place in &mut text[..random] {
            *place = LETTERS[(letters & 31) as usize];
            letters >>= 5;
        }
        text[random] = b'-';
        let mut length = random + 1;
        let mut rest = number;
        loop {
            text[length] = LETTERS[(rest & 31) as usize];
            length += 1;
            rest >>= 5;
            if rest == 0 {
                break;
            }
        }
        *name = Name::from(&text[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::history;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn no_two_files_share_a_path_and_directories_form_a_tree() {
        let plan = history("used", 1 << 30, 0.8, 1);
        let places = Places::new(&plan);
        let mut paths = HashSet::new();
        let mut name = Name::new();
        let mut per_directory: HashMap<u32, u32> = HashMap::new();
        for file in 1..5000 {
            places.file_name(file, &mut name);
            let directory = places.directory(file);
            *per_directory.entry(directory).or_default() += 1;
            assert!(paths.insert((directory, name.bytes().to_vec())));
            assert!((5..=22).contains(&name.bytes().len()), "{}", name.text());
            let mut depth = 0;
            let mut at = directory;
            while let Some(up) = places.parent(at) {
                assert!(up < at, "a directory lies in one with a smaller number");
                at = up;
                depth += 1;
            }
            assert!(depth < 64);
        }
        let most = per_directory.values().max().copied().unwrap_or(0);
        assert!(most > 20, "some directories hold many files: {most}");
    }
}
