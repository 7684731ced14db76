//! Workloads of daily use: snapshots, clones, full volumes, scrubs and checks; on real filesystems, with unsupported
//! operations left out and reported.

mod support;

use ledger::{TrialRecord, TrialStatus};
use support::{Place, leftovers, phase, root, trials};

const WAY: &str = "--samples 1 --seed 7 --no-twin --plain --no-report --scratch .";

fn of<'t>(trials: &'t [(String, TrialRecord)], label: &str) -> &'t TrialRecord {
    let found = trials.iter().rev().find(|(name, _)| name == label);
    let trial =
        &found.unwrap_or_else(|| panic!("no {label} among {:?}", trials.iter().map(|(n, _)| n).collect::<Vec<_>>())).1;
    assert_ne!(trial.status, TrialStatus::Failed, "{label}: {:?}", trial.reason);
    trial
}

/// Number of verified blocks in a phase; none may be wrong.
fn verified(trial: &TrialRecord, name: &str) -> u64 {
    let verified = phase(trial, name).outcome.verified.as_ref().expect("it is verified");
    assert_eq!(verified.wrong, 0, "{name}: {verified:?}");
    verified.blocks
}

/// Why a phase was left out.
fn left_out<'t>(trial: &'t TrialRecord, name: &str) -> &'t str {
    assert!(trial.phases.iter().all(|phase| phase.name != name), "{name} was done");
    trial.found.as_ref().and_then(|found| found.cannot.get(name)).map_or("", String::as_str)
}

#[test]
fn snapshots_are_taken_kept_rolled_back_and_deleted_where_there_are_any() {
    if !root("snapshots") {
        return;
    }
    let place = Place::new();
    let work = "run snapshots --fs ext4,btrfs,zfs --set size=16MiB --set writes=200 --image 512MiB";
    place.bakeoff(&format!("{work} {WAY}")).well();
    let trials = trials(&place);
    for label in ["btrfs", "zfs"] {
        let trial = of(&trials, label);
        assert_eq!(phase(trial, "snapshot").outcome.items, 1, "{label}");
        let snapshots = &phase(trial, "month").outcome.groups[0];
        assert_eq!((snapshots.name.as_str(), snapshots.items), ("snapshots", 90), "{label}");
        assert_eq!(phase(trial, "delete-half").outcome.items, 50, "{label}");
        assert_eq!(verified(trial, "read-rolled-back"), 4096, "{label}");
        assert!(trial.found.as_ref().is_some_and(|found| found.cannot.is_empty()), "{label}");
    }
    let ext4 = of(&trials, "ext4");
    assert_eq!(verified(ext4, "read-after"), 4096);
    assert!(left_out(ext4, "snapshot").starts_with("no snapshots"), "{}", left_out(ext4, "snapshot"));
    assert!(left_out(ext4, "overwrite-10").starts_with("no snapshots"), "it makes no sense without them");
    let shown = place.bakeoff("show --full").well();
    assert!(shown.out.contains("no snapshots: it has no tool"), "{}", shown.out);
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn the_report_of_a_run_shows_what_its_filesystems_can_do_where_that_is_asked_for() {
    if !root("features in a report") {
        return;
    }
    let place = Place::new();
    let work = "run small-files --set files=50 --set some=10 --fs xfs --image 512MiB --samples 1 --no-twin --plain";
    place.bakeoff(&format!("{work} --features --scratch . --report report")).well();
    let shown = place.bakeoff("show --full").well().out;
    let table = shown.split("Features of the filesystems").nth(1).expect("it has a table of its own");
    let row = |question: &str| table.lines().find(|line| line.starts_with(question)).unwrap_or("").trim_end();
    assert!(row("reflinks").ends_with("yes") && row("snapshots").ends_with("no"), "{table}");
    assert!(row("copies within the kernel").contains("sharing"), "{table}");
    let page = std::fs::read_to_string(place.folder().join("report/index.html")).expect("a page");
    assert!(page.contains("id=\"features\"") && page.contains("FICLONE of a file of 4 MiB"));
    assert!(!shown.contains("features,"), "the machine's own list does not hold them again: {shown}");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn a_clone_is_written_to_without_its_source_and_copies_are_made_where_there_are_none() {
    if !root("clones") {
        return;
    }
    let place = Place::new();
    let work = "run clones --fs ext4,xfs,btrfs --set size=16MiB --set writes=100 --set files=100 --image 512MiB";
    place.bakeoff(&format!("{work} {WAY}")).well();
    let trials = trials(&place);
    for label in ["xfs", "btrfs"] {
        let trial = of(&trials, label);
        for read in ["read-source", "read-clone", "read-copy"] {
            assert_eq!(verified(trial, read), 4096, "{label}: {read}");
        }
        assert!(verified(trial, "read-small-clones") >= 100, "{label}");
    }
    let ext4 = of(&trials, "ext4");
    assert_eq!(verified(ext4, "read-copy"), 4096);
    let why = left_out(ext4, "clone");
    assert!(why.starts_with("no reflinks") && why.contains("not supported"), "{why}");
    assert!(left_out(ext4, "read-clone").starts_with("no reflinks"));
}

#[test]
fn a_filesystem_is_filled_to_each_level_and_to_the_last_byte_and_emptied() {
    if !root("nearly-full") {
        return;
    }
    let place = Place::new();
    let work = "run nearly-full --fs ext4,xfs,btrfs --set write=1MiB --set files=50 --image 384MiB --set volume=150MiB";
    place.bakeoff(&format!("{work} {WAY}")).well();
    let trials = trials(&place);
    for label in ["ext4", "xfs", "btrfs"] {
        let trial = of(&trials, label);
        let filled = |name: &str| phase(trial, name).outcome.items;
        assert!(filled("fill-50") > 20 && filled("fill-80") > 10, "{label}");
        let usable = phase(trial, "fill").outcome.told["usable-share"];
        assert!((50.0..=101.0).contains(&usable), "{label}: {usable} % of what was reported as free");
        assert_eq!(phase(trial, "write-again").outcome.errors.count, 0, "{label}: what was deleted is free again");
        let emptied = &phase(trial, "empty").outcome;
        assert_eq!(emptied.errors.count, 0, "{label}: nothing is looked for that was never made: {:?}", emptied.errors);
    }
}

/// Fills the volume completely before the work of the first trial.
const FULL: &str = r#"
name = "full"
title = "A volume runs full"
about = "Has a volume run full below the work of one trial."

[scales.quick]

[[filesets]]
name = "file"
total = "16 MiB"
content = "incompressible"

[[phases]]
name = "run-full"
preparation = true
after = ["sync"]
work = { shell = "[ -e FLAG ] || { touch FLAG; cat /dev/zero > hog 2> /dev/null; sync; }; true", unconfined = true }

[[phases]]
name = "write"
work = { blocks = "file", block = "1 MiB", create = true, steps = ["write"] }
"#;

#[test]
fn a_volume_that_runs_full_costs_one_trial() {
    if !root("a full volume") {
        return;
    }
    let place = Place::new();
    place.write("full.toml", &FULL.replace("FLAG", &place.path("ran-full").display().to_string()));
    let way = WAY.replace("--samples 1", "--samples 3");
    let output = place.bakeoff(&format!("run ./full.toml --fs ext4 --image 128MiB {way}"));
    assert!(output.status.is_some(), "it comes to an end: {}", output.err);
    let trials = trials(&place);
    let failed: Vec<&TrialRecord> =
        trials.iter().map(|(_, trial)| trial).filter(|trial| trial.status == TrialStatus::Failed).collect();
    let why = failed.iter().filter_map(|trial| trial.reason.as_deref()).collect::<Vec<_>>();
    assert!(why.len() == 1 && why[0].contains("No space left on device"), "{why:?}");
    let done = trials.iter().filter(|(_, trial)| trial.status != TrialStatus::Failed);
    let blocks: std::collections::BTreeSet<u32> = done.map(|(_, trial)| trial.block).collect();
    assert!(blocks.len() >= 2, "the others went on: {}", output.err);
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn scrubs_and_checks_are_timed_with_their_memory_and_leave_it_as_it_was() {
    if !root("scrub-and-check") {
        return;
    }
    let place = Place::new();
    let work = "run scrub-and-check --fs ext4,xfs,btrfs --set files=200 --set large=8MiB --image 384MiB";
    place.bakeoff(&format!("{work} {WAY}")).well();
    let trials = trials(&place);
    for (label, program) in [("ext4", "e2fsck"), ("xfs", "xfs_repair"), ("btrfs", "btrfs check")] {
        let trial = of(&trials, label);
        let run = &phase(trial, "check").outcome.commands[0];
        assert!(run.line.contains(program) && run.status == Some(0), "{label}: {run:?}");
        assert!(run.figures["memory"] > 0.5, "{label}: {run:?}");
        assert!(trial.closing.as_ref().is_some_and(|closing| closing.damage().is_none()), "{label}");
    }
    assert!(left_out(of(&trials, "ext4"), "scrub").starts_with("no scrub"));
    assert_eq!(phase(of(&trials, "btrfs"), "scrub").outcome.commands[0].status, Some(0));
}

#[test]
fn a_directory_is_neither_snapshot_nor_checked() {
    let place = Place::new();
    std::fs::create_dir(place.path("d")).expect("a folder");
    let run =
        place.bakeoff("run scrub-and-check --dir d --set files=50 --set large=1MiB --samples 1 --plain --no-report");
    assert_ne!(run.status, Some(0), "nothing was measured: {}", run.out);
    let text = format!("{}{}", run.out, run.err);
    assert!(text.contains("it supports no phase of this workload"), "{text}");
}
