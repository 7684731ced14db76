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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// How the files of a fileset are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// Sizes of the files of a fileset, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
