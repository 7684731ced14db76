//! Aged images on real filesystems: kept, restored, verified; on images and on a device.
//! In: filesystems with a file or two instead of years of use. Out: assertions on the restored content.
//! Without root nothing can be formatted; the tests then print this and pass.

mod common;

use common::{Bench, Disk, root};
use records::ColdWay;
use staging::{AgedCache, Target};
use std::path::PathBuf;

fn cache(bench: &Bench) -> AgedCache {
    let records = bench.folder.path().join("records");
    AgedCache::with_records(bench.folder.path().join("aged"), 8 << 30, records)
}

/// The path by which this process reaches a path of a stage that may be in a namespace.
fn reach(stage: &staging::Stage<'_>, path: &std::path::Path) -> PathBuf {
    match stage.enter().iter().position(|word| word == "-t").and_then(|at| stage.enter().get(at + 1)) {
        Some(pid) => PathBuf::from(format!("/proc/{pid}/root{}", path.display())),
        None => path.into(),
    }
}

/// Keeps an image with one file on it; returns its key.
fn keep(target: &mut Target, bench: &Bench, name: &str) -> String {
    let contender = bench.contender(name);
    let key = target.aged_key(&contender, "one file").expect("a key");
    let stage = target.stage_to_age(&contender, &cache(bench), &key).unwrap_or_else(|error| panic!("{name}: {error}"));
    let file = reach(&stage, stage.top()).join("years");
    std::fs::write(file, vec![7; 3 << 20]).expect("written");
    let mut state = |kept: staging::Kept| staging::AgedState {
        used: kept.used,
        free_space: kept.free_space,
        ..staging::AgedState::default()
    };
    let image = stage.keep(&cache(bench), &key, name, &mut state).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(image.state.used.used_bytes > 3 << 20, "{name}: {image:?}");
    key
}

fn restored(target: &mut Target, bench: &Bench, name: &str, key: &str, spoil: bool) -> staging::Found {
    let image = cache(bench).find(key).expect("it is kept");
    let contender = bench.contender(name);
    let stage = target.stage_aged(&contender, &cache(bench), &image).unwrap_or_else(|error| panic!("{name}: {error}"));
    let file = reach(&stage, stage.top()).join("years");
    assert_eq!(std::fs::read(&file).expect("it came back"), vec![7; 3 << 20], "{name}");
    assert!(stage.root().ends_with("work"), "{name}: work has a folder of its own beside the aged files");
    if spoil {
        std::fs::write(&file, "of the trial before").expect("written");
    }
    let found = stage.found().clone();
    let closing = stage.close().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_ne!(closing.whole, Some(false), "{name}: {closing:?}");
    found
}

#[test]
fn an_aged_image_comes_back_for_each_trial_whatever_the_trial_before_did() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    for name in ["ext4", "xfs", "btrfs", "zfs"] {
        let mut target = bench.open(&bench.image(400)).expect("an image can be made");
        let key = keep(&mut target, &bench, name);
        for spoil in [true, false] {
            let found = restored(&mut target, &bench, name, &key, spoil);
            assert!(found.aged.is_some_and(|aged| aged.state.used.used_bytes > 0), "{name}");
        }
        drop(target);
        let left: Vec<_> = std::fs::read_dir(bench.folder.path()).expect("there").flatten().collect();
        assert_eq!(left.len(), 2, "{name}: only the cache and its records are left: {left:?}");
    }
    assert_eq!(cache(&bench).all().len(), 4);
    let free = |name: &str| {
        let image = cache(&bench).all().into_iter().find(|image| image.title == name).expect("kept");
        image.state.free_space.and_then(|free| free.extents)
    };
    assert!(free("ext4").is_some_and(|extents| extents > 0) && free("xfs").is_some_and(|extents| extents > 0));
    assert_eq!(free("btrfs"), None, "no tool tells it");
}

#[test]
fn the_planned_commands_of_an_aged_contender_are_those_that_run() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = Disk::new("planned-age", 320);
    for (place, name) in [(bench.image(400), "xfs"), (bench.image(400), "zfs"), (disk.place(), "ext4")] {
        let contender = bench.contender(name);
        let cache = cache(&bench);
        let folder = bench.folder.path().join("aged");
        let planned = staging::aged_commands_for(&bench.registry, &contender, &place, ColdWay::default(), &folder);
        let planned = planned.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut target = bench.open(&place).unwrap_or_else(|error| panic!("{name}: {error}"));
        let id = target.id().to_string();
        let key = target.aged_key(&contender, "planned").expect("a key");
        let stage = target.stage_to_age(&contender, &cache, &key).unwrap_or_else(|error| panic!("{name}: {error}"));
        // A plan knows a real device, but not the loop device of an image.
        let name_of = |stage: &staging::Stage<'_>| {
            let name = stage.device().map(|device| device.name.clone());
            name.filter(|name| !disk.text().ends_with(name))
        };
        let (device, pid) = (name_of(&stage).unwrap_or_default(), pid(&stage));
        let mut state = |_| staging::AgedState::default();
        let image = stage.keep(&cache, &key, name, &mut state).unwrap_or_else(|error| panic!("{name}: {error}"));
        let label = format!("bo-{}", &key[..8]);
        assert_eq!(bench.ran(&[(&label, "bo-ID"), (&id, "ID"), (&device, "loopN"), (&pid, "-t PID ")]), planned.once);
        let mut stage = target.stage_aged(&contender, &cache, &image).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (device, pid) = (name_of(&stage).unwrap_or_default(), self::pid(&stage));
        stage.drop_caches().expect("dropped");
        stage.close().expect("closed");
        let kept = std::fs::read_dir(&folder).expect("there").flatten().map(|entry| entry.path());
        let kept = kept.filter(|path| path.to_string_lossy().contains(&key)).map(|path| path.display().to_string());
        let (kept, plan) = (kept.last().expect("one is kept"), folder.join("KEY.img").display().to_string());
        let mut known = vec![(kept.as_str(), plan.as_str()), (&label, "bo-ID"), (&id, "ID"), (&device, "loopN")];
        known.extend([(pid.as_str(), "-t PID "), ("bakeoff-ID-2.img", "bakeoff-ID-1.img")]);
        assert_eq!(bench.ran(&known), planned.each, "{name}");
    }
}

/// The words that lead to the namespace of a stage's server; empty if it has none.
fn pid(stage: &staging::Stage<'_>) -> String {
    let at = stage.enter().iter().position(|word| word == "-t");
    at.and_then(|at| stage.enter().get(at + 1)).map_or_else(String::new, |pid| format!("-t {pid} "))
}

#[test]
fn keys_follow_from_everything_that_the_image_was_made_of() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let target = bench.open(&bench.image(400)).expect("an image can be made");
    let key = |name: &str, recipe: &str| target.aged_key(&bench.contender(name), recipe).expect("a key");
    assert_eq!(key("ext4", "a"), key("ext4", "a"));
    assert_eq!(key("ext4", "a"), key("ext4+bfq", "a"), "a scheduler leaves no mark on the disk");
    for other in [key("ext4", "b"), key("xfs", "a"), key("ext4-large-files", "a")] {
        assert_ne!(key("ext4", "a"), other);
    }
    let larger = bench.open(&bench.image(500)).expect("an image can be made");
    assert_ne!(larger.aged_key(&bench.contender("ext4"), "a").expect("a key"), key("ext4", "a"));
}

#[test]
fn a_real_device_is_aged_in_place_and_restored_by_blocks() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = Disk::new("aged", 320);
    let mut target = bench.open(&disk.place()).expect("it is empty");
    let key = keep(&mut target, &bench, "ext4");
    for spoil in [true, false] {
        restored(&mut target, &bench, "ext4", &key, spoil);
    }
    drop(target);
    let signatures = common::run(&["wipefs", &disk.text()]);
    assert_eq!(signatures.trim(), "", "the device is empty again");
}

#[test]
fn a_git_history_is_checked_out_commit_by_commit_and_its_repository_stays_as_it_is() {
    if !root() {
        return;
    }
    prerequisites::needs!(git);
    let bench = Bench::new();
    let repository = bench.folder.path().join("repository");
    let git = |words: &[&str]| {
        let at = repository.display().to_string();
        let own = ["git", "-C", &at, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        common::run(&own.iter().chain(words).copied().collect::<Vec<_>>())
    };
    std::fs::create_dir(&repository).expect("made");
    git(&["init", "--quiet"]);
    for number in 0..5 {
        std::fs::write(repository.join("same"), format!("{number}")).expect("written");
        std::fs::write(repository.join(format!("only-{number}")), "x").expect("written");
        if number > 0 {
            std::fs::remove_file(repository.join(format!("only-{}", number - 1))).expect("removed");
        }
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "one"]);
    }
    let all = staging::commits(&repository, 100).expect("it has commits");
    let some = staging::commits(&repository, 2).expect("it has commits");
    assert_eq!((all.len(), some.len()), (5, 2));
    assert_eq!(some.last(), all.last(), "the last commit is always among them");
    let status = git(&["status", "--porcelain"]);
    let mut target = bench.open(&bench.image(100)).expect("an image can be made");
    let stage = target.stage(&bench.contender("ext4")).expect("made");
    for commit in &all {
        stage.check_out(&repository, commit).expect("checked out");
    }
    let tree = stage.top().join("aged/git");
    let mut names: Vec<_> = std::fs::read_dir(&tree).expect("it is there").flatten().map(|e| e.file_name()).collect();
    names.sort();
    assert_eq!(names, ["only-4", "same"]);
    assert_eq!(std::fs::read_to_string(tree.join("same")).expect("read"), "4");
    stage.close().expect("closed");
    assert_eq!(git(&["status", "--porcelain"]), status);
    assert!(staging::commits(bench.folder.path(), 3).is_err(), "a folder that is no repository is refused");
}
