//! `bakeoff profile FOLDER`: the shape of a tree, a workload that lays out one like it, and how far both differ.
//! In: a folder and limits. Out: a workload file; both trees in histograms, as text or JSON.
//! The copy is computed from the written workload by the engine's own code, so that what is shown is what a run lays out.

mod compared;
mod written;

use crate::args::ProfileArgs;
use crate::failure::{Failure, given};
use crate::fio_jobs::name_of;
use crate::json::{self, Answer};
use crate::verbs::export::write_new;
use compared::{Copied, Distribution};
use records::show_bytes;
use report::view::plural;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tree::{LeftOut, Limits, Profile};
use workload::Workload;
use workload::quantity::parse_duration;

/// Files after which a scan ends, unless the user sets another number.
const FILES_LIMIT: u64 = 10_000_000;
/// Time after which a scan ends, unless the user sets another.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// Most files that the workload lays out, unless the user sets a number: as many as `small-files` does.
const USUAL_FILES: u64 = 20_000;
/// Bytes that these files have at most, on average; at least [`LEAST_FILES`] files are laid out.
const USUAL_BYTES: u64 = 4 << 30;
const LEAST_FILES: u64 = 100;
/// Width of a bar for all files.
const BAR: f64 = 40.0;

/// The profile of a folder and of the tree that its workload lays out.
#[derive(Serialize, JsonSchema)]
pub struct TreeProfile {
    /// The folder.
    folder: String,
    /// The workload file.
    workload: String,
    /// Duration of the scan, without samples.
    seconds: f64,
    /// Duration of reading samples.
    sampling_seconds: f64,
    /// The tree.
    tree: Totals,
    /// What the workload lays out.
    copy: Totals,
    /// Bytes that the tree's files occupy.
    allocated_bytes: u64,
    /// Sizes of files, levels of files (0: the folder itself), files per directory, and lengths of names.
    distributions: Vec<Distribution>,
    /// Share of the data that deflate saves; null if no file could be read.
    compressible_share: Option<f64>,
    /// Share of the data in copies of other files; null if no file could be compared.
    duplicate_share: Option<f64>,
    /// Names of files beyond the first of each (hard links).
    further_names: u64,
    /// Files that occupy less than their size: with holes, or compressed by the filesystem.
    sparse_files: u64,
    /// Share of files with attributes of the user; null if no file could be read.
    attributes_share: Option<f64>,
    /// Mean bytes of the attributes of these.
    attribute_bytes: u64,
    /// Symbolic links; the copy has none.
    symbolic_links: u64,
    /// Sockets, FIFOs and devices; the copy has none.
    special_files: u64,
    /// What the scan did not see, in sentences; empty if it saw everything.
    left_out: Vec<String>,
}

impl Answer for TreeProfile {
    const SCHEMA: &'static str = "bakeoff-profile";
}

/// A tree in three numbers.
#[derive(Serialize, JsonSchema)]
struct Totals {
    /// Regular files.
    files: u64,
    /// Directories, the folder itself included.
    directories: u64,
    /// Sum of the sizes of files.
    bytes: u64,
}

/// Scans the folder and writes the workload.
///
/// # Errors
/// The folder cannot be scanned or has no files; the file exists or cannot be written.
pub fn profile(args: &ProfileArgs) -> Result<u8, Failure> {
    let folder = &args.source;
    let time = args.tree.time.as_ref().map(|time| given("--time", time, parse_duration)).transpose()?;
    let to = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", name(folder))));
    if to.exists() {
        return Err(Failure::usage(format!("{} exists; name another file with -o", to.display())));
    }
    let limits = Limits {
        files: args.tree.limit.unwrap_or(FILES_LIMIT),
        time: time.unwrap_or(TIME_LIMIT),
        cross_mounts: args.tree.cross_mounts,
    };
    let found = tree::scan(folder, &limits)?;
    let files = args.tree.files.unwrap_or_else(|| usual_files(&found));
    let text = written::workload(&format!("tree-{}", name(folder)), folder, &found, files);
    let workload = Workload::parse(&text, &to.display().to_string())
        .and_then(|workload| workload.compile("quick", &BTreeMap::new(), 0))
        .map_err(|problem| Failure::new(format!("the tree cannot be written as a workload: {problem}")))?;
    let copied = Copied::of(&workload.program);
    write_new(&to, text.as_bytes())?;
    let profile = answer(folder, &to, &found, &copied);
    if args.tree.json {
        json::print(&profile)?;
    } else {
        print!("{}", in_words(&profile, &found));
        let line = crate::text::line_of(&["bakeoff".into(), "run".into(), to.to_string_lossy().into_owned()]);
        println!("Wrote the workload {}. To run it: {line} --fs ext4,xfs,btrfs", to.display());
    }
    Ok(0)
}

/// The name of a folder, as part of a workload's name.
fn name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    // Not the stem: `linux-6.1` is no file with an ending.
    match whole.file_name() {
        Some(last) => name_of(Path::new(&format!("{}.", last.to_string_lossy()))),
        None => "root".into(),
    }
}

fn usual_files(found: &Profile) -> u64 {
    let mean = (found.bytes() / u128::from(found.files().max(1))).max(1);
    let most = (u128::from(USUAL_BYTES) / mean) as u64;
    found.files().min(USUAL_FILES).min(most.max(LEAST_FILES))
}

fn answer(folder: &Path, to: &Path, found: &Profile, copied: &Copied) -> TreeProfile {
    let bytes = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
    TreeProfile {
        folder: folder.display().to_string(),
        workload: to.display().to_string(),
        seconds: found.duration.as_secs_f64(),
        sampling_seconds: found.sampling.as_secs_f64(),
        tree: Totals { files: found.files(), directories: found.directories(), bytes: bytes(found.bytes()) },
        copy: Totals {
            files: copied.sizes.count(),
            directories: copied.per_directory.count(),
            bytes: bytes(copied.sizes.sum()),
        },
        allocated_bytes: found.allocated,
        distributions: compared::distributions(found, copied),
        compressible_share: found.compressible.share,
        duplicate_share: found.duplicate.share,
        further_names: found.further_names,
        sparse_files: found.sparse,
        attributes_share: found.attributes.share,
        attribute_bytes: found.attribute_bytes,
        symbolic_links: found.symbolic_links,
        special_files: found.special,
        left_out: left_out(&found.left_out, found.too_deep),
    }
}

/// What the scan did not see, in sentences.
fn left_out(of: &LeftOut, too_deep: u64) -> Vec<String> {
    let unread = match of.limit {
        Some("files") => "the scan ended at --limit; known directories that were not read",
        Some(_) => "the scan ended at --time; known directories that were not read",
        None => "directories that were not read, since the list of directories was full",
    };
    let counted = [
        (of.unread, of.limit.is_some(), unread),
        (of.vanished, false, "entries that vanished during the scan"),
        (of.other_filesystems, false, "mounted filesystems that were not entered (--cross-mounts)"),
        (of.unsampled, false, "sampled files that could not be read"),
        (of.untracked_names, false, "names of files with several names that may count twice"),
        (too_deep, false, "directories deeper than those of the copy; they count to its last level"),
    ];
    let shown = counted.into_iter().filter(|(count, always, _)| *count > 0 || *always);
    let unreadable = of.first_unreadable.iter();
    let unreadable = unreadable.map(|first| format!("unreadable directories: {}, such as {first}", of.unreadable));
    shown.map(|(count, _, what)| format!("{what}: {count}")).chain(unreadable).collect()
}

fn in_words(profile: &TreeProfile, found: &Profile) -> String {
    let TreeProfile { tree, copy, seconds, sampling_seconds, .. } = profile;
    let totals = |of: &Totals| {
        let directories = if of.directories == 1 { "directory" } else { "directories" };
        format!("{} in {} {directories}, {}", plural(of.files as usize, "file"), of.directories, show_bytes(of.bytes))
    };
    let mut text = format!(
        "{}: {}, {} on disk\nIts copy: {}\n\
         Scanned in {seconds:.1} s ({:.0} files/s), samples read in {sampling_seconds:.1} s\n\n",
        profile.folder,
        totals(tree),
        show_bytes(profile.allocated_bytes),
        totals(copy),
        tree.files as f64 / seconds.max(1e-9),
    );
    profile.distributions.iter().for_each(|distribution| text += &histogram(distribution));
    let share = |share: Option<f64>| share.map_or("unknown".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    let of_files = |count: u64| share(Some(count as f64 / tree.files as f64));
    let seen = |count: u64, what: &str| format!("{count} {what}");
    let rows = [
        (
            "compressible",
            share(profile.compressible_share),
            seen(found.compressible.looked_at, "pieces of up to 64 KiB, by deflate"),
        ),
        (
            "duplicate",
            share(profile.duplicate_share),
            seen(found.duplicate.looked_at, "files compared by size and ends, by bytes"),
        ),
        (
            "hard links",
            of_files(profile.further_names),
            seen(profile.further_names, "names beyond the first of a file"),
        ),
        (
            "sparse",
            of_files(profile.sparse_files),
            seen(profile.sparse_files, "files with less space than their size (holes, or compressed)"),
        ),
        (
            "attributes",
            share(profile.attributes_share),
            format!("of {} files, {} B each (user.*)", found.attributes.looked_at, profile.attribute_bytes),
        ),
    ];
    for (name, share, basis) in rows {
        text += &format!("{name:<14}{share:>9}  {basis}\n");
    }
    text += &format!(
        "not in the copy: {} symbolic links, {} sockets, FIFOs and devices\n",
        profile.symbolic_links, profile.special_files
    );
    for sentence in &profile.left_out {
        text += &format!("left out: {sentence}\n");
    }
    text + "\n"
}

/// A histogram of both trees: shares, and a bar whose end marks the larger share.
fn histogram(of: &Distribution) -> String {
    let mut text = format!("{:<30}{:>9}{:>9}  distance {:.3}\n", of.title, "tree", "copy", of.distance);
    for row in of.rows.iter().filter(|row| row.tree_share + row.copy_share > 0.0) {
        let [tree, copy] = [row.tree_share, row.copy_share].map(|share| format!("{:.1} %", 100.0 * share));
        let bar = |share: f64| (share * BAR).round() as usize;
        let (both, more) = (bar(row.tree_share.min(row.copy_share)), bar(row.tree_share.max(row.copy_share)));
        let sign = if row.tree_share > row.copy_share { "-" } else { "+" };
        let bars = "#".repeat(both) + &sign.repeat(more - both);
        text += format!("  {:<28}{tree:>9}{copy:>9}  {bars}", row.label).trim_end();
        text.push('\n');
    }
    text + "\n"
}
