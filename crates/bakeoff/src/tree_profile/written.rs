//! The workload of a tree, as text.
//! In: the profile of a tree, a number of files. Out: a workload file: one fileset with the tree's distributions, and the usual steps.

use std::fmt::Write;
use std::path::Path;
use tree::{Bin, Histogram, Profile, Sampled};

/// Parts into which distributions of sizes and names are divided at least, and how far values of one class differ at most.
const CLASSES: (u32, f64) = (48, 2.0);
/// The same for files per directory on each level.
const DIRECTORIES: (u32, f64) = (16, 1.25);
/// Directories of the copy from which work on them takes long enough to be compared.
const MANY_DIRECTORIES: u64 = 100;
/// Names that a file of the copy has at most, after its first.
const FURTHER_NAMES: u64 = 8;
/// Share of files to rewrite, and to read at random: one in so many, as in `small-files`.
const SOME: u64 = 10;
/// What the workload does.
const ABOUT: &str =
    "Lays out a tree, lists and reads it, changes some files, and deletes it. Each step begins with cold caches.";
/// Bytes in which the engine arranges content.
const BLOCK: f64 = 4096.0;
/// Largest attribute that Linux has on all filesystems with attributes: ext4 limits all of a file to one block.
const ATTRIBUTE_BYTES: u64 = 3_800;

/// The text of a workload that lays out `files` files at its quick scale, and as many as the tree has at its full scale.
pub fn workload(name: &str, folder: &Path, found: &Profile, files: u64) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let shown = folder.display().to_string().escape_debug().to_string();
    let mut text = format!(
        "# The shape of the tree {shown}, made by bakeoff profile: sizes, lengths of names, levels and files per\n\
         # directory as in the tree, but no data of it.\n\
         # --set files=N lays out N files: sizes stay, the number of directories follows.\n\n\
         name = {}\ntitle = {}\nabout = {}\nsource = {}\n\n",
        quoted(name),
        quoted(&format!("A tree like {shown}")),
        quoted(ABOUT),
        quoted(&format!("{} files in {} directories, {} bytes", found.files(), found.directories(), found.bytes())),
    );
    text += "[options.files]\nabout = \"files in the tree\"\n\n";
    text += "[options.some]\nabout = \"files to read at random, and to rewrite\"\n\n";
    for (scale, files) in [("quick", files), ("full", found.files())] {
        let _ = writeln!(text, "[scales.{scale}]\nfiles = {files}\nsome = {}\n", (files / SOME).max(1));
    }
    text += &fileset(found);
    let mut phases = Phases { text, timed: Vec::new() };
    phases.all(found, found.directories() * files / found.files() >= MANY_DIRECTORIES);
    phases.text
}

fn fileset(found: &Profile) -> String {
    let mut text = "[[filesets]]\nname = \"tree\"\ndirectory = \"tree\"\nfiles = \"$files\"\n".to_owned();
    let compressible = compressible_percent(&found.sizes, found.compressible.share.unwrap_or(0.0));
    let _ = writeln!(text, "compressible = \"{compressible} %\"\nduplicate = \"{} %\"", percent(found.duplicate));
    text += "# Of so many files, the smallest and the largest size in bytes.\n";
    let _ = writeln!(text, "sizes = [{}]", classes(&found.sizes));
    text += "# Of so many files, the shortest and the longest name.\n";
    let _ = writeln!(text, "name-lengths = [{}]", classes(&found.names));
    text += "# Level by level: so many directories with so many files each.\nlayout = { tree = [\n";
    for level in &found.levels {
        let classes = level.classes(DIRECTORIES.0, DIRECTORIES.1);
        let _ = writeln!(text, "    [{}],", classes.iter().flat_map(directories).collect::<Vec<_>>().join(", "));
    }
    text + "] }\n\n"
}

/// The share of each 4 KiB block that must compress to nothing, in percent, so that this share of all data does. The engine puts it at the
/// end of each block, so that it is missing in part of the files' last blocks.
fn compressible_percent(sizes: &Histogram, wanted: f64) -> u64 {
    let all = sizes.sum() as f64;
    let reached = |percent: &u64| {
        let zeros = BLOCK * *percent as f64 / 100.0;
        let of = |bin: &Bin| match bin.sum as f64 / bin.count as f64 {
            size if size < BLOCK => (size - (BLOCK - zeros)).max(0.0),
            // On average half of the last block is there.
            size => (size / BLOCK - 0.5) * zeros + zeros * zeros / (2.0 * BLOCK),
        };
        let zeros: f64 = sizes.classes(u32::MAX, 1.0).iter().map(|bin| of(bin) * bin.count as f64).sum();
        zeros / all.max(1.0) >= wanted - 0.005
    };
    (0..100).find(reached).unwrap_or(100)
}

/// Directories of a class with its mean number of files; where that is no whole number, some with one more.
fn directories(class: &Bin) -> impl Iterator<Item = String> + use<> {
    let count = u128::from(class.count);
    let (files, more) = (class.sum / count, class.sum % count);
    let pairs = [(count - more, files), (more, files + 1)];
    pairs.into_iter().filter(|(count, _)| *count > 0).map(|(count, files)| format!("[{count}, {files}]"))
}

fn classes(of: &Histogram) -> String {
    let one = |bin: &Bin| format!("[{}, {}, {}]", bin.count, bin.least, bin.most);
    of.classes(CLASSES.0, CLASSES.1).iter().map(one).collect::<Vec<_>>().join(", ")
}

fn percent(of: Sampled) -> u64 {
    (of.share.unwrap_or(0.0) * 100.0).round() as u64
}

/// Collects phases as text.
struct Phases {
    text: String,
    timed: Vec<&'static str>,
}

impl Phases {
    fn all(&mut self, found: &Profile, many_directories: bool) {
        if many_directories {
            self.timed(
                "make-directories",
                "creating directories",
                "items/s",
                "directories = \"tree\", steps = [\"mkdir\"]",
            );
        } else {
            self.text += "[[phases]]\nname = \"make-directories\"\npreparation = true\n\
                          work = { directories = \"tree\", steps = [\"mkdir\"] }\n\n";
        }
        self.timed(
            "create",
            "creating files",
            "items/s",
            "files = \"tree\", steps = [\"create\", \"write\", \"close\"]",
        );
        self.rare(found);
        if many_directories {
            self.timed("list", "listing directories", "items/s", "directories = \"tree\", steps = [\"list\"]");
        }
        self.timed(
            "stat",
            "listing files with their attributes",
            "items/s",
            "files = \"tree\", order = \"readdir\", steps = [\"stat\"]",
        );
        let read = "steps = [\"open\", \"read\", \"close\"]";
        self.timed("read", "reading all files", "items/s", &format!("files = \"tree\", order = \"readdir\", {read}"));
        let some = "files = \"tree\", order = \"random\", count = \"$some\"";
        self.timed("read-random", "reading files at random", "items/s", &format!("{some}, {read}"));
        let write = "steps = [\"open-truncate\", \"write\", \"close\"]";
        self.timed("rewrite", "rewriting files at random", "items/s", &format!("{some}, {write}"));
        self.timed(
            "delete",
            "deleting files",
            "items/s",
            "files = \"tree\", order = \"readdir\", steps = [\"unlink\"]",
        );
        if many_directories {
            self.timed(
                "remove-directories",
                "removing directories",
                "items/s",
                "directories = \"tree\", steps = [\"rmdir\"]",
            );
        }
        let names: Vec<String> = self.timed.iter().map(|name| format!("{name:?}")).collect();
        let _ = writeln!(
            self.text,
            "[[totals]]\nname = \"total\"\ntitle = \"all steps\"\ndoing = \"all work on the tree together\"\n\
             operation = \"total\"\nlabel = \"cold\"\nof = [{}]",
            names.join(", ")
        );
    }

    /// What only some files have, each in its own phase: a filesystem that lacks it leaves out no other work.
    fn rare(&mut self, found: &Profile) {
        let files = found.files().max(1);
        let mut percent_left = (100 * found.further_names + files / 2) / files;
        let mut steps = Vec::new();
        for number in 1..=FURTHER_NAMES {
            match percent_left.min(100) {
                0 => break,
                100 => steps.push(format!("{{ link = \".{number}\" }}")),
                percent => steps.push(share(percent, &format!("{{ link = \".{number}\" }}"))),
            }
            percent_left -= percent_left.min(100);
        }
        if !steps.is_empty() {
            let work = format!("files = \"tree\", steps = [{}]", steps.join(", "));
            self.timed("link", "making hard links", "seconds", &work);
        }
        let attributes = percent(found.attributes);
        if attributes > 0 {
            let set = format!("{{ set-xattr = {} }}", found.attribute_bytes.clamp(1, ATTRIBUTE_BYTES));
            self.changed("set-attributes", "setting extended attributes", attributes, &set);
        }
        let sparse = (100 * found.sparse + files / 2) / files;
        if sparse > 0 {
            self.changed("punch-holes", "making files sparse", sparse, "\"punch-hole\"");
        }
    }

    fn changed(&mut self, name: &'static str, doing: &str, percent: u64, step: &str) {
        let steps = share(percent.min(100), &format!("\"open-read-write\", {step}, \"close\""));
        self.timed(name, doing, "seconds", &format!("files = \"tree\", steps = [{steps}]"));
    }

    fn timed(&mut self, name: &'static str, doing: &str, figure: &str, work: &str) {
        self.timed.push(name);
        let _ = writeln!(
            self.text,
            "[[phases]]\nname = \"{name}\"\ndoing = \"{doing}\"\ncache = \"cold\"\nfigure = \"{figure}\"\n\
             after = [\"sync\", \"drop-caches\"]\nwork = {{ {work} }}\n"
        );
    }
}

/// Steps on a share of the files.
fn share(percent: u64, steps: &str) -> String {
    format!("{{ share = {{ percent = {percent}, steps = [{steps}] }} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(of: impl IntoIterator<Item = u64>) -> Histogram {
        let mut sizes = Histogram::default();
        of.into_iter().for_each(|size| sizes.add(size));
        sizes
    }

    #[test]
    fn small_files_need_more_zeros_in_a_block_for_the_same_share() {
        let (large, small) = (sizes([1 << 20; 10]), sizes((0..10_000).map(|number| 1_000 + number % 3_000)));
        assert_eq!((compressible_percent(&large, 0.4), compressible_percent(&large, 0.0)), (40, 0));
        assert!((60..90).contains(&compressible_percent(&small, 0.4)), "{}", compressible_percent(&small, 0.4));
        assert_eq!(compressible_percent(&sizes([0, 0]), 0.5), 100);
    }

    #[test]
    fn directories_of_a_class_hold_exactly_its_files() {
        let written = |count, sum| directories(&Bin { count, least: 0, most: 9, sum }).collect::<Vec<_>>();
        assert_eq!((written(3, 6), written(3, 7)), (vec!["[3, 2]".to_owned()], vec!["[2, 2]".into(), "[1, 3]".into()]));
    }

    #[test]
    fn more_names_than_files_are_several_links() {
        let mut found = Profile { further_names: 250, ..Profile::default() };
        (0..100).for_each(|_| found.sizes.add(1));
        let mut phases = Phases { text: String::new(), timed: Vec::new() };
        phases.rare(&found);
        let steps = "{ link = \".1\" }, { link = \".2\" }, { share = { percent = 50, steps = [{ link = \".3\" }] } }";
        assert!(phases.text.contains(steps), "{}", phases.text);
    }
}
