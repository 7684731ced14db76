//! Filesets: the files that a workload lays out, as rules that compute each file.
//! In: made by `workload` from a workload file. Out: part of a [`super::Program`].
//! Nothing is stored per file, so that millions cost nothing.

use serde::{Deserialize, Serialize};

/// Files that a workload lays out. Names, directories and sizes are computed from the index, never stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fileset {
    /// Name in the workload file.
    pub name: String,
    /// Directory below the root; empty for the root itself.
    pub directory: String,
    /// Number of files per owner.
    pub files: u64,
    /// With more than one owner, each worker has its own copy in `directory/<worker>`.
    pub per_worker: bool,
    /// How files are spread over directories.
    pub layout: Layout,
    /// How files are named.
    pub names: Names,
    /// How large files are.
    pub size: Size,
    /// Content of files.
    pub content: Content,
    /// The fileset that these are clones or copies of: with the same names and sizes, and the same content unless written since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<usize>,
}

/// How the files of a fileset are spread over directories below the fileset's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// All in one directory.
    Flat,
    /// Filled one directory after the other with this many files: file `i` is in directory `i / n`, named with five digits.
    PerDirectory(u64),
    /// Spread evenly over this many directories named with five digits, as Bonnie++ does: file `i` is in directory `i * n / files`.
    Directories(u64),
    /// Hashed by name into two levels of this many directories each, named with two or more hexadecimal digits.
    Hashed(u64, u64),
    /// A tree: for each level from the fileset's own directory down, numbers of directories and how many files each of these holds. The
    /// directories of a level are spread evenly over those of the level above, and named `d` and a decimal number.
    Tree(Vec<Vec<Directories>>),
}

/// Directories of one level of a tree that hold equally many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directories {
    /// Number of directories.
    pub count: u64,
    /// Files in each.
    pub files: u64,
}

/// Levels that a tree may have.
pub const LEVELS_LIMIT: usize = 64;
/// Longest path of a directory below the fileset's own, in bytes: the longest name in Linux.
const PATH_LIMIT: u64 = 255;

/// Number of directories of each level of a tree.
pub fn level_counts(levels: &[Vec<Directories>]) -> Vec<u64> {
    levels.iter().map(|level| level.iter().fold(0u64, |sum, each| sum.saturating_add(each.count))).collect()
}

/// Files in all directories of a tree.
pub fn files_of_levels(levels: &[Vec<Directories>]) -> u64 {
    levels.iter().flatten().fold(0u64, |sum, each| sum.saturating_add(each.count.saturating_mul(each.files)))
}

/// Why levels are no tree of so many files; None if they are one.
pub fn tree_problem(levels: &[Vec<Directories>], files: u64) -> Option<String> {
    let counts = level_counts(levels);
    if counts.first() != Some(&1) || counts.contains(&0) {
        return Some("its tree must have one directory on the first level, and at least one on each other".into());
    }
    if counts.len() > LEVELS_LIMIT {
        return Some(format!("its tree has {} levels; the limit is {LEVELS_LIMIT}", counts.len()));
    }
    let longest = |pair: &[u64]| 2 + u64::from(pair[1].div_ceil(pair[0]).saturating_sub(1).max(1).ilog10() + 1);
    if counts.windows(2).map(longest).sum::<u64>() > PATH_LIMIT {
        return Some(format!("paths of directories in its tree are longer than {PATH_LIMIT} bytes"));
    }
    let sum = files_of_levels(levels);
    (sum != files).then(|| format!("the directories of its tree hold {sum} files instead of {files}"))
}

/// How the files of a fileset are named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// Plain decimal numbers: 0, 1, 2 ...
    Decimal,
    /// Bonnie++, sequential: seven digits (uppercase hex is not used), then 0 to 12 random letters or digits.
    NumberThenRandom,
    /// Bonnie++, random: 0 to 12 random letters or digits, then seven digits.
    RandomThenNumber,
    /// Maildir: seconds, a unique part and a host name, about 40 bytes: `1700000000.M000001P0.bakeoff`.
    Maildir,
    /// A decimal number, then letters up to a length in bytes that is drawn from these classes. The number is never shortened.
    Lengths(Vec<Class>),
}

/// One class of a distribution: values from `least` to `most`, both included, evenly distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// How many values are of this class, in relation to the other classes.
    pub weight: u64,
    /// Smallest value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
}

/// How many of `count` values are in each class: the values' ranks are the middles of equal shares of the distribution. Classes with less than
/// half such a share may have none. Classes must have weights; `count` is at most 2^40, the sum of weights 2^60.
pub fn values_in_classes(classes: &[Class], count: u64) -> Vec<u64> {
    let weights: u128 = classes.iter().map(|class| u128::from(class.weight)).sum();
    // The first rank r with (r + 1/2) / count >= before / weights, in whole numbers.
    let first = |before: u128| ((2 * before * u128::from(count) + weights.max(1) - 1) / (2 * weights.max(1))) as u64;
    let mut before = 0;
    let shares = classes.iter().map(|class| {
        before += u128::from(class.weight);
        first(before) - first(before - u128::from(class.weight))
    });
    shares.collect()
}

/// Sizes of the files of a fileset, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Size {
    /// Uniform from the first to the second, both included, drawn from (seed, fileset, owner, index, generation).
    Uniform(u64, u64),
    /// The fileset holds this many bytes in total, in files of at most `largest` bytes; all but the last are full.
    Total {
        /// Bytes in all files together.
        bytes: u64,
        /// Most bytes of one file.
        largest: u64,
    },
    /// Distributed in classes, in ascending order: each file has its own rank in the distribution, so that the files of a fileset follow it
    /// as closely as their number allows.
    Classes(Vec<Class>),
}

/// Data that compresses as well as real data of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Sentences of an artificial language with the word frequencies of a natural one.
    Text,
    /// Lines of a web server's log.
    Logs,
}

/// Content of files. Shares in percent, of 4 KiB blocks; the rest is incompressible and unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// How blocks look to a compressor; absent: noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Share of every block that compresses to nothing.
    pub compressible_percent: u8,
    /// Share of blocks that repeat an earlier block.
    pub duplicate_percent: u8,
    /// All zeros; overrides the rest.
    pub zeros: bool,
    /// Each 4 KiB block records where and when it was written, and reads check it.
    pub verify: bool,
}
