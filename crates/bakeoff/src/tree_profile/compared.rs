//! The tree and its copy, histogram by histogram.
//! In: the profile of a tree; the program whose first fileset is its copy. Out: rows with both shares, and distances.

use engine::Planned;
use records::show_bytes;
use schemars::JsonSchema;
use serde::Serialize;
use tree::{Histogram, Profile};
use workload::program::Program;

/// The copy of a tree, as the engine will lay it out.
pub struct Copied {
    /// Sizes of files in bytes.
    pub sizes: Histogram,
    /// Lengths of names in bytes.
    pub names: Histogram,
    /// Levels of files.
    pub levels: Histogram,
    /// Files per directory.
    pub per_directory: Histogram,
}

impl Copied {
    /// The files of the program's first fileset.
    pub fn of(program: &Program) -> Copied {
        let planned = Planned::new(program.seed, 0, &program.filesets[0]);
        let [mut sizes, mut names, mut levels, mut per_directory] = [(); 4].map(|()| Histogram::default());
        let mut held = vec![0u64; planned.directories() as usize];
        for file in planned.files() {
            sizes.add(file.bytes);
            names.add(file.name_bytes);
            held[file.directory as usize] += 1;
        }
        for (directory, files) in (0..).zip(held) {
            levels.add_many(planned.level(directory) as u64, files);
            per_directory.add(files);
        }
        Copied { sizes, names, levels, per_directory }
    }
}

/// One property of both trees.
#[derive(Serialize, JsonSchema)]
pub struct Distribution {
    /// What is counted.
    pub title: &'static str,
    /// Kolmogorov-Smirnov distance: the largest difference between the shares of values up to any limit, from 0 (equal) to 1.
    pub distance: f64,
    /// Ranges of values, in ascending order.
    pub rows: Vec<Row>,
}

/// A range of values.
#[derive(Serialize, JsonSchema)]
pub struct Row {
    /// The range in words; not part of the JSON.
    #[serde(skip)]
    #[schemars(skip)]
    pub label: String,
    /// Smallest value.
    least: u64,
    /// Largest value.
    most: u64,
    /// Share in the tree.
    pub tree_share: f64,
    /// Share in the copy.
    pub copy_share: f64,
}

/// All properties, for comparison.
pub fn distributions(tree: &Profile, copy: &Copied) -> Vec<Distribution> {
    let bytes = |_, most: u64| match most {
        0 => "empty".to_owned(),
        _ => format!("below {}", show_bytes(most.saturating_add(1))),
    };
    let plain = |least: u64, most: u64| if least == most { least.to_string() } else { format!("{least} to {most}") };
    let quarters = |first: u64| [(0, 0), (1, first - 1)].into_iter().chain(powers_of_four(first));
    let names = [(1, 7), (8, 15), (16, 23), (24, 31), (32, 63), (64, 127), (128, 255)];
    vec![
        one("sizes of files", [&tree.sizes, &copy.sizes], quarters(256), &bytes),
        one("levels of files", [&tree.file_levels, &copy.levels], (0..).map(|level| (level, level)), &plain),
        one("files per directory", [&tree.per_directory(), &copy.per_directory], quarters(4), &plain),
        one("lengths of names, in bytes", [&tree.names, &copy.names], names.into_iter(), &plain),
    ]
}

/// `first` to 4 `first` - 1, and so on; `first` is a power of two.
fn powers_of_four(first: u64) -> impl Iterator<Item = (u64, u64)> {
    std::iter::successors(Some(first), |least| least.checked_mul(4)).map(|least| (least, least.saturating_mul(4) - 1))
}

fn one(
    title: &'static str,
    [tree, copy]: [&Histogram; 2],
    ranges: impl Iterator<Item = (u64, u64)>,
    label: &dyn Fn(u64, u64) -> String,
) -> Distribution {
    let largest = tree.largest().max(copy.largest());
    let rows = ranges.take_while(|(least, _)| *least <= largest).map(|(least, most)| {
        let [tree_share, copy_share] = [tree, copy].map(|histogram| histogram.share(least, most));
        Row { label: label(least, most), least, most, tree_share, copy_share }
    });
    Distribution { title, distance: tree.distance(copy), rows: rows.collect() }
}
