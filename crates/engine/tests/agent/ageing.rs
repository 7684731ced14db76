//! Ageing through the protocol: equal seeds give equal trees, a lack of space changes nothing later, memory use is flat.
//! In: histories from the profiles. Out: the agent's replies, and the files in the folder.
//! Filesystems are small, so that each history takes a moment.

use crate::common::*;
use std::path::Path;
use workload::age_profiles::parse_profile;
use workload::ageing::{Aged, Ageing, FOLDER, History, Layout, Survey};
use workload::message::{Reply, Request};
use workload::program::*;

fn history(name: &str, volume: u64, fill: f64) -> History {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ages");
    let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
    workload::age_profiles::history(&parse_profile(name, &text, name).unwrap(), volume, fill).unwrap()
}

fn asked(root: &Path, history: History) -> Request {
    let durable = Durable { syncfs: true, ..Durable::default() };
    Request::Age(Box::new(Ageing { root: root.into(), history, sync_bytes: 8 << 20, durable, time_limit: 600 }))
}

fn age(agent: &mut Agent, root: &Path, history: History) -> Aged {
    match agent.ask(&asked(root, history)) {
        Reply::Aged(aged) => *aged,
        other => panic!("{other:?}"),
    }
}

fn look(agent: &mut Agent, root: &Path) -> Layout {
    let survey = Survey { root: root.join(FOLDER), sample: 1000, expected: 0, content: true };
    match agent.ask(&Request::Survey(Box::new(survey))) {
        Reply::Surveyed(layout) => *layout,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_history_leaves_the_same_tree_and_another_seed_another() {
    let seeds = [1, 1, 2].map(|seed| {
        let dir = folder();
        let mut agent = Agent::start();
        let aged = age(&mut agent, dir.path(), History { seed, ..history("old", 24 << 20, 0.6) });
        let layout = look(&mut agent, dir.path());
        assert_eq!((aged.files, aged.bytes), (layout.files, layout.bytes));
        assert_eq!((aged.no_space, aged.skipped), (0, 0));
        assert!(aged.written >= 24 << 20 && aged.elapsed_ns > 0, "{aged:?}");
        (aged.history_hash, layout.tree_hash)
    });
    assert_eq!(seeds[0], seeds[1]);
    assert!(seeds[0].0 != seeds[2].0 && seeds[0].1 != seeds[2].1);
}

#[test]
fn freshly_written_files_have_the_names_and_sizes_of_the_aged_ones() {
    let names_of = |profile: &str| {
        let dir = folder();
        age(&mut Agent::start(), dir.path(), history(profile, 24 << 20, 0.6));
        let mut found = Vec::new();
        for path in tree(dir.path()) {
            let bytes = std::fs::metadata(dir.path().join(&path)).unwrap().len();
            found.push((path, bytes));
        }
        found
    };
    let (old, rewritten) = (names_of("old"), names_of("rewritten"));
    assert!(old.len() > 10);
    assert_eq!(old, rewritten);
}

#[test]
fn space_that_runs_out_is_counted_and_changes_nothing_for_what_follows() {
    let Some(mount) = Mounted::tmpfs("size=12m") else {
        prerequisites::leave_out("root", "a small tmpfs could not be mounted");
        return;
    };
    let plan = history("old", 24 << 20, 0.8);
    let mut agent = Agent::start();
    let cut = age(&mut agent, mount.0.path(), plan.clone());
    assert!(cut.no_space > 0 && cut.no_space_at.is_some(), "{cut:?}");
    let layout = look(&mut agent, mount.0.path());
    let dir = folder();
    let mut agent = Agent::start();
    let whole = age(&mut agent, dir.path(), plan);
    assert_eq!(cut.history_hash, whole.history_hash, "the history is the same whether there is space or not");
    assert_eq!((cut.files, cut.bytes, cut.operations), (whole.files, whole.bytes, whole.operations));
    assert!(layout.files < look(&mut agent, dir.path()).files);
    // Every existing file has its name and size from the history.
    for path in tree(mount.0.path()) {
        let size = |root: &Path| std::fs::metadata(root.join(&path)).map(|facts| facts.len());
        assert_eq!(size(mount.0.path()).unwrap(), size(dir.path()).unwrap(), "{path}");
    }
}

#[test]
fn memory_stays_flat_however_many_files_there_are() {
    let peak = |history: History| {
        let dir = folder();
        let mut agent = Agent::start();
        age(&mut agent, dir.path(), history);
        let status = std::fs::read_to_string(format!("/proc/{}/status", agent.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let small = |files: u64| History {
        sizes: vec![(64, 1_000_000)],
        churn: None,
        files_per_directory: 100,
        ..history("used", files * 4096 * 2, 0.5)
    };
    let (few, many) = (peak(small(1_000)), peak(small(40_000)));
    assert!(many < few + 4_000, "{few} KiB for a thousand files, {many} for forty thousand");
}

#[test]
fn aged_files_are_read_once_each_and_a_root_without_them_is_an_error() {
    let dir = folder();
    let root = dir.path().join("work");
    std::fs::create_dir(&root).unwrap();
    let read = Group { order: Order::Readdir, ..group(Over::Aged, &read()) };
    let p = program(&root, vec![], vec![phase(vec![read])]);
    let mut agent = Agent::with(&p);
    assert!(agent.failed(0).0.contains("was not aged"));
    let aged = age(&mut agent, dir.path(), history("used", 16 << 20, 0.6));
    let outcome = agent.done(0);
    assert_eq!((outcome.items, outcome.bytes_read), (aged.files, aged.bytes));
    assert_eq!(agent.done_pass(0, 1).work_hash, outcome.work_hash);
}

#[test]
fn a_failed_ageing_has_its_folder_and_reason() {
    let dir = folder();
    let mut agent = Agent::start();
    match agent.ask(&asked(&dir.path().join("missing"), history("used", 16 << 20, 0.6))) {
        Reply::Failed { reason, .. } => {
            assert!(reason.contains("missing") && reason.contains("No such file"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}
