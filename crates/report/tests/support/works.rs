//! Workloads of the made-up run: names and phases.
//! In: nothing. Out: work records as the workload language compiles them.

use ledger::WorkRecord;
use ledger::facts::{PhaseFacts, TotalFacts};
use ledger::program::Figure;
use std::collections::BTreeMap;

struct Line(&'static str, &'static str, &'static str, &'static str, Figure, Option<&'static str>);

pub fn all() -> Vec<WorkRecord> {
    use Figure::{BytesPerSecond, ItemsPerSecond, Seconds};
    let sequential = [
        Line("write-cached", "Write, cached", "writing a large file", "cached", BytesPerSecond, None),
        Line("write-direct", "Write, direct", "writing a large file past the cache", "direct", BytesPerSecond, None),
        Line(
            "read-direct",
            "Read, direct",
            "reading a large file past the cache",
            "direct",
            BytesPerSecond,
            Some("device/read-sequential"),
        ),
        Line("read-cold", "Read, cold", "reading a large file", "cold", BytesPerSecond, Some("device/read-sequential")),
        Line("read-repeated", "Read again", "reading a large file again and again", "warm", BytesPerSecond, None),
    ];
    let small = [
        Line("create", "Create", "creating many small files", "cold", Seconds, None),
        Line("rewrite", "Rewrite", "rewriting small files at random", "cold", Seconds, None),
        Line("read-linear", "Read in order", "reading small files in order", "cold", Seconds, None),
        Line("read-random", "Read at random", "reading small files at random", "cold", Seconds, None),
        Line("delete", "Delete all", "deleting many small files", "cold", Seconds, None),
    ];
    let bonnie = [
        Line("per-char-write", "Write, per character", "writing byte by byte", "as-found", BytesPerSecond, None),
        Line("block-write", "Write, in blocks", "writing blocks", "as-found", BytesPerSecond, None),
        Line("block-rewrite", "Rewrite in place", "rewriting blocks in place", "as-found", BytesPerSecond, None),
        Line(
            "block-read",
            "Read, in blocks",
            "reading blocks",
            "as-found",
            BytesPerSecond,
            Some("device/read-sequential"),
        ),
        Line("random-seeks", "Random seeks", "seeking at random", "as-found", ItemsPerSecond, None),
        Line("sequential-create", "Create, in order", "creating files in order", "as-found", ItemsPerSecond, None),
        Line("sequential-stat", "Stat, in order", "looking files up in order", "as-found", ItemsPerSecond, None),
        Line("sequential-delete", "Delete, in order", "deleting files in order", "as-found", ItemsPerSecond, None),
    ];
    let directories = [
        Line("create-flat", "Create, one directory", "creating files in one directory", "cold", ItemsPerSecond, None),
        Line("look-up-flat", "Look up", "looking up names in one directory", "cold", ItemsPerSecond, None),
        Line("list-flat", "List", "listing one directory", "cold", ItemsPerSecond, None),
    ];
    let mail = [Line("deliver", "Deliver", "delivering mail to twenty writers", "warm", ItemsPerSecond, None)];
    let device = [Line("read-sequential", "Sequential read", "reading the device", "direct", BytesPerSecond, None)];
    let mut works = vec![
        work("sequential", "One large file", &sequential),
        work("small-files", "Many small files", &small),
        work("bonnie", "What Bonnie++ measures", &bonnie),
        work("directories", "Large directories", &directories),
        work("mail", "Mail delivery", &mail),
        work("device", "The raw device", &device),
    ];
    works[1].totals.push(TotalFacts {
        name: "all".into(),
        title: "All steps".into(),
        doing: "all work on small files".into(),
        operation: "total".into(),
        cache_label: "cold".into(),
        of: ["create", "rewrite", "read-linear", "read-random", "delete"].map(str::to_owned).to_vec(),
        part: false,
    });
    works
}

/// The same work by one, two, four and eight processes.
pub fn scaled() -> Vec<WorkRecord> {
    use Figure::ItemsPerSecond;
    let lines = [
        Line("write", "Write", "writing small files from several processes", "cold", ItemsPerSecond, None),
        Line("stat", "Stat", "looking at small files from several processes", "cold", ItemsPerSecond, None),
    ];
    ["1", "2", "4", "8"]
        .map(|processes| {
            let mut work = work("small-files-parallel", "Small files, several processes", &lines);
            work.scale = format!("quick, processes {processes}");
            work.settings.insert("processes".into(), processes.into());
            work
        })
        .into()
}

fn work(name: &str, title: &str, lines: &[Line]) -> WorkRecord {
    WorkRecord {
        name: name.into(),
        scale: "quick".into(),
        about: String::new(),
        weaker_in_place: Vec::new(),
        title: title.into(),
        settings: settings(name),
        phases: lines.iter().map(facts).collect(),
        totals: vec![],
    }
}

fn settings(name: &str) -> BTreeMap<String, String> {
    let pairs: &[(&str, &str)] = match name {
        "bonnie" => &[("size", "192 MiB"), ("chunk", "8 KiB"), ("n", "8:0:0:1"), ("form", "2.00")],
        _ => &[("files", "30000")],
    };
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn facts(Line(name, title, doing, cache, figure, share_of): &Line) -> PhaseFacts {
    PhaseFacts {
        name: (*name).into(),
        title: (*title).into(),
        doing: (*doing).into(),
        operation: (*name).into(),
        cache_label: (*cache).into(),
        variant: None,
        figure: *figure,
        figure_group: None,
        share_of: share_of.map(str::to_owned),
        preparation: false,
        unranked: false,
        own: None,
        needs: Vec::new(),
    }
}
