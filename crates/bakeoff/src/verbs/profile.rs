//! `bakeoff profile`: converts a trace, or the shape of a folder's tree (`crate::tree_profile`), to a workload file that a person can edit.
//! In: a trace. Out: a workload file with the same numbers of files, sizes and shares; differences from a replay are printed.

use super::export::write_new;
use crate::args::{ProfileArgs, TreeArgs};
use crate::failure::Failure;
use crate::fio_jobs::name_of;
use crate::traces;
use std::fmt::Write;
use trace::{Profile, Trace};

/// Smallest size of block reads and writes.
const LEAST_BLOCK: u64 = 512;

/// Writes the workload file.
///
/// # Errors
/// The trace or the folder cannot be read, or the file exists.
pub fn profile(args: &ProfileArgs) -> Result<u8, Failure> {
    if args.source.is_dir() {
        return crate::tree_profile::profile(args);
    }
    let TreeArgs { files, limit, time, cross_mounts, json } = &args.tree;
    if files.is_some() || limit.is_some() || time.is_some() || *cross_mounts || *json {
        let source = args.source.display();
        return Err(Failure::usage(format!(
            "{source} is not a folder: --files, --limit, --time, --cross-mounts and --json need one"
        )));
    }
    let trace = traces::read(&args.source).map_err(|mut failure| {
        failure.text += "; name a trace or a folder";
        failure
    })?;
    let profile = Profile::of(&trace);
    let to = args.output.clone().unwrap_or_else(|| args.source.with_extension("toml"));
    let name = format!("profile-{}", name_of(&args.source));
    let text = heading(&trace, &profile) + &workload(&name, &trace, &profile);
    workload::Workload::parse(&text, &to.display().to_string()).map_err(|problem| {
        Failure::new(format!("{}: the trace cannot be written as a workload: {problem}", args.source.display()))
    })?;
    write_new(&to, text.as_bytes())?;
    print!("{}", table(&profile));
    let [made, of] = [&to, &args.source].map(|path| path.to_string_lossy().into_owned());
    let run = crate::text::line_of(&["bakeoff".into(), "run".into(), made, of]);
    println!("Wrote the workload {}. To run it and the replay of the trace: {run} --fs ext4,xfs,btrfs", to.display());
    Ok(0)
}

/// The mix of calls, for comparing programs.
fn table(profile: &Profile) -> String {
    let all: u64 = profile.calls.values().map(|(count, _)| count).sum();
    let mut rows: Vec<_> = profile.calls.iter().collect();
    rows.sort_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), **name));
    let mut text = format!("{:<12}{:>10}{:>8}{:>14}\n", "call", "count", "share", "mean size");
    for (name, (count, bytes)) in rows {
        let share = format!("{:.1} %", 100.0 * *count as f64 / all.max(1) as f64);
        let size = if *bytes > 0 { format!("{} B", bytes / count.max(&1)) } else { String::new() };
        let line = format!("{name:<12}{count:>10}{share:>8}{size:>14}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn heading(trace: &Trace, profile: &Profile) -> String {
    let mut text = format!(
        "# Operations of `{}` in numbers; made by bakeoff profile from a trace of {}.\n",
        traces::line(trace),
        trace.header.recorded
    );
    text += "# It keeps the number of files created, read, inspected (stat) and removed, their mean sizes and folders, and the operations on blocks of large\n";
    text += "# files. It does not keep the order of files, nor the program's own time";
    let _ = writeln!(text, " ({} % of all); the replay does.\n#", profile.think_percent);
    for line in table(profile).lines() {
        let _ = writeln!(text, "# {line}");
    }
    text + "\n"
}

/// Collects phases and their filesets as text.
struct Writer<'a> {
    profile: &'a Profile,
    filesets: String,
    phases: String,
    timed: Vec<&'static str>,
}

fn workload(name: &str, trace: &Trace, profile: &Profile) -> String {
    let mut writer = Writer { profile, filesets: String::new(), phases: String::new(), timed: Vec::new() };
    writer.files(trace);
    writer.blocks(trace);
    writer.ends();
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let line = traces::line(trace);
    let mut text = format!("name = {}\ntitle = {}\n", quoted(name), quoted(&format!("Profile: {line}")));
    let about = format!("The number of files, sizes and syncs of `{line}`; not its order.");
    let _ = writeln!(
        text,
        "about = {}\nsource = {}\n",
        quoted(&about),
        quoted(&format!("recorded on {}", trace.header.filesystem))
    );
    text += "# The same at both scales, until you change it.\n[scales.quick]\n[scales.full]\n\n";
    text += &writer.filesets;
    text += &writer.phases;
    if writer.timed.len() > 1 {
        let names: Vec<String> = writer.timed.iter().map(|name| format!("{name:?}")).collect();
        let _ = writeln!(
            text,
            "[[totals]]\nname = \"all\"\ntitle = \"all steps\"\ndoing = \"all steps\"\noperation = \"all\"\nlabel = \"\"\nof = [{}]",
            names.join(", ")
        );
    }
    text
}

impl Writer<'_> {
    fn fileset(&mut self, name: &str, (files, bytes): (u64, u64), folders: u64, compressible: u8) {
        let mean = bytes / files.max(1);
        let layout = if folders > 1 { format!("{{ directories = {folders} }}") } else { "\"flat\"".into() };
        // Sizes are spread evenly around their mean.
        let (least, most) = (mean / 2, mean + mean / 2);
        let _ = writeln!(
            self.filesets,
            "[[filesets]]\nname = \"{name}\"\ndirectory = \"{name}\"\nfiles = {files}\nlayout = {layout}\nsmallest = \"{least} B\"\nlargest = \"{most} B\"\ncompressible = \"{} %\"\n",
            compressible.min(100)
        );
    }

    fn phase(&mut self, name: &'static str, doing: &str, work: &str) {
        self.timed.push(name);
        let _ = writeln!(
            self.phases,
            "[[phases]]\nname = \"{name}\"\ndoing = \"{doing}\"\ncache = \"cold\"\nfigure = \"seconds\"\nwork = {{ {work} }}\n"
        );
    }

    fn preparation(&mut self, name: &str, work: &str) {
        let _ = writeln!(self.phases, "[[phases]]\nname = \"{name}\"\npreparation = true\nwork = {{ {work} }}\n");
    }

    fn files(&mut self, trace: &Trace) {
        let Profile { found, made, read, looks, lists, .. } = self.profile;
        let at_once = self.profile.at_once.min(16);
        if found.0 > 0 {
            self.fileset("found", (found.0, found.1), found.2, trace.header.compressible_before);
            self.preparation("lay-out", "files = \"found\", steps = [\"create\", \"write\", \"close\"]");
        }
        if made.files > 0 {
            self.fileset(
                "made",
                (made.files, made.bytes),
                made.folders.min(made.files),
                trace.header.compressible_after,
            );
            let synced = 100 * made.synced / made.files;
            let sync = match synced {
                0 => String::new(),
                100 => ", \"fsync\"".into(),
                percent => format!(", {{ share = {{ percent = {percent}, steps = [\"fsync\"] }} }}"),
            };
            let work =
                format!("files = \"made\", workers = {at_once}, steps = [\"create\", \"write\"{sync}, \"close\"]");
            self.phase("make", "creating files", &work);
        }
        let (which, there) = if self.reads_made() { ("made", made.files) } else { ("found", found.0) };
        if there == 0 {
            return;
        }
        if read.0 > 0 {
            // Files that are read repeatedly are drawn with replacement; otherwise each is read once.
            let order = if self.profile.read_different < read.0 || read.0 > there { "random" } else { "shuffled" };
            let work = format!(
                "files = \"{which}\", workers = {at_once}, order = \"{order}\", count = {}, steps = [\"open\", \"read\", \"close\"]",
                read.0
            );
            self.phase("read", "reading whole files", &work);
        }
        if *looks > 0 {
            let work = format!(
                "files = \"{which}\", workers = {at_once}, order = \"random\", count = {looks}, steps = [\"stat\"]"
            );
            self.phase("look", "reading attributes of files", &work);
        }
        if *lists > 0 {
            self.phase("list", "listing folders", &format!("directories = \"{which}\", steps = [\"list\"]"));
        }
    }

    /// Whether whole-file reads concern created files rather than existing ones: the set whose mean size is closer.
    fn reads_made(&self) -> bool {
        let Profile { found, made, read, .. } = self.profile;
        let mean = |files: u64, bytes: u64| (bytes.max(1) as f64 / files.max(1) as f64).ln();
        let wanted = mean(read.0, read.1);
        let (of_found, of_made) = (mean(found.0, found.1), mean(made.files, made.bytes));
        made.files > 0 && (found.0 == 0 || (of_made - wanted).abs() < (of_found - wanted).abs())
    }

    fn blocks(&mut self, trace: &Trace) {
        let blocks = &self.profile.blocks;
        let calls = blocks.reads + blocks.writes;
        if calls == 0 {
            return;
        }
        let block = (blocks.bytes / calls).next_power_of_two().clamp(LEAST_BLOCK, 1 << 20);
        let size = blocks.reach.div_ceil(block).max(1) * block;
        let _ = writeln!(
            self.filesets,
            "[[filesets]]\nname = \"large\"\ndirectory = \"large\"\nfiles = 1\nsize = \"{size} B\"\ncompressible = \"{} %\"\n",
            trace.header.compressible_after.min(100)
        );
        self.preparation("lay-out-large", "blocks = \"large\", block = \"1 MiB\", create = true, steps = [\"write\"]");
        let order = if blocks.in_order * 2 > calls { "in-order" } else { "random" };
        let steps = match (blocks.reads, blocks.writes) {
            (_, 0) => "steps = [\"read\"]".to_owned(),
            (0, _) => "steps = [\"write\"]".to_owned(),
            (reads, _) => {
                format!("steps = [\"read\", \"write\"], read-share = \"{} %\"", (100 * reads / calls).clamp(1, 99))
            }
        };
        let sync = match blocks.syncs {
            0 => String::new(),
            syncs => format!(", sync-every = {}, sync-call = \"fdatasync\"", (calls / syncs).max(1)),
        };
        let most = if order == "in-order" { calls.min(size / block) } else { calls };
        let work =
            format!("blocks = \"large\", block = \"{block} B\", order = \"{order}\", count = {most}, {steps}{sync}");
        self.phase("blocks", "reading and writing blocks of large files", &work);
    }

    fn ends(&mut self) {
        let Profile { found, made, removed, renamed, .. } = self.profile;
        let (which, there) = if made.files > 0 { ("made", made.files) } else { ("found", found.0) };
        if there == 0 {
            return;
        }
        // Only files that are not removed can be moved.
        let (removed, moved) = ((*removed).min(there), (*renamed).min(there.saturating_sub(*removed)));
        if moved > 0 {
            let work =
                format!("files = \"{which}\", first = {removed}, count = {moved}, steps = [{{ rename = \"moved\" }}]");
            self.phase("move", "moving files", &work);
        }
        if removed > 0 {
            self.phase(
                "remove",
                "removing files",
                &format!("files = \"{which}\", count = {removed}, steps = [\"unlink\"]"),
            );
        }
    }
}
