//! A contender with a memory limit: its effect on the page cache, its display, and what remains of it.

mod support;

use ledger::{TrialRecord, TrialStatus};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use support::{Place, root, trials};

const RUN: &str = "run sequential --fs ext4 --set forms=newer --set size=96MiB --image 512MiB --samples 1 --seed 7 --no-twin \
                   --plain --no-report --scratch .";

/// Whether this machine can limit memory; if not, the test counts as left out.
fn limits() -> bool {
    let able = root("limits") && !hierarchy().is_empty();
    if hierarchy().is_empty() {
        prerequisites::leave_out("memory-controller", "no memory controller of control groups is mounted here");
    }
    able
}

/// Mountpoint below which groups with a memory limit are created; empty if there is none.
fn hierarchy() -> String {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let with_memory = |line: &&str| {
        let words: Vec<&str> = line.split(' ').collect();
        let controllers =
            || std::fs::read_to_string(Path::new(words[1]).join("cgroup.controllers")).unwrap_or_default();
        match words[2] {
            "cgroup" => words[3].split(',').any(|word| word == "memory"),
            "cgroup2" => controllers().split_whitespace().any(|word| word == "memory"),
            _ => false,
        }
    };
    mounts.lines().find(with_memory).and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned()
}

fn trial_of<'t>(trials: &'t [(String, TrialRecord)], label: &str) -> &'t TrialRecord {
    let found = trials.iter().find(|(name, _)| name == label);
    &found.unwrap_or_else(|| panic!("no {label} among {:?}", trials.iter().map(|(name, _)| name).collect::<Vec<_>>())).1
}

/// Least bytes that the device delivered in a pass over the file: other runs drop this machine's caches, which only adds to a pass.
fn read_again(trial: &TrialRecord) -> u64 {
    let again = trial.phases.iter().filter(|phase| phase.name == "read-repeated-warm");
    let read: Vec<u64> = again.map(|phase| phase.evidence.device_read_bytes.expect("the device counts")).collect();
    assert_eq!(read.len(), 3, "three passes");
    read.into_iter().min().unwrap_or_default()
}

#[test]
fn a_file_larger_than_the_limit_comes_from_the_device_again_and_without_one_from_the_cache() {
    if !limits() {
        return;
    }
    let place = Place::new();
    place.bakeoff(&format!("{RUN} --axis limit.memory=32M,default")).well();
    let all = trials(&place);
    let (limited, free) = (trial_of(&all, "ext4 memory=32M"), trial_of(&all, "ext4 memory=default"));
    for trial in [limited, free] {
        assert_ne!(trial.status, TrialStatus::Failed, "{:?}", trial.reason);
    }
    let (again, cached) = (read_again(limited), read_again(free));
    assert!(again > 48 << 20, "{again} bytes came from the device, of 96 MiB");
    assert!(cached < 4 << 20, "{cached} bytes came from the device although they fit into the cache");
    let found = limited.found.as_ref().expect("found");
    let limit = found.options.iter().find(|option| option.asked == "limit.memory 32M").expect("read back");
    assert_eq!(limit.found.as_deref(), Some("33554432"));
    assert!(free.found.as_ref().is_some_and(|found| found.options.iter().all(|one| !one.asked.contains("limit"))));
    let after = &limited.closing.as_ref().expect("closing").axes;
    let most: u64 = after[0].found.as_ref().and_then(|text| text.parse().ok()).expect("what was used at most");
    assert!((8 << 20..=32 << 20).contains(&most), "{after:?}");
    assert!(!Path::new(&limit.by).exists() && !Path::new(&limit.by).parent().is_some_and(Path::exists), "{}", limit.by);
    let output = place.bakeoff("show --pivot limit.memory").well();
    assert!(output.out.contains("32M") && output.out.contains("default"), "{}", output.out);
    let json: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    let axis = json["axes"].as_array().and_then(|axes| axes.iter().find(|axis| axis["name"] == "limit.memory"));
    let axis = axis.unwrap_or_else(|| panic!("{}", json["axes"]));
    assert_eq!(axis["values"], serde_json::json!(["32M", "default"]));
    assert_eq!(axis["groups"][0]["name"], "ext4");
}

#[test]
fn too_little_memory_fails_a_trial_with_that_reason_and_the_others_continue() {
    if !limits() {
        return;
    }
    let place = Place::new();
    place.bakeoff(&format!("{RUN} --axis limit.memory=1M,256M"));
    let all = trials(&place);
    let starved = trial_of(&all, "ext4 memory=1M");
    assert_eq!(starved.status, TrialStatus::Failed);
    let why = starved.reason.as_deref().unwrap_or_default();
    assert!(why.contains("limit.memory 1M is too low") && why.contains("oom_kill"), "{why}");
    assert_ne!(trial_of(&all, "ext4 memory=256M").status, TrialStatus::Failed);
    assert_eq!(support::leftovers(place.folder()), Vec::<String>::new());
}

/// A program that holds 150 MB: `tail` keeps a line until it ends.
const HOLDS: &str =
    "--shell --command 'head -c 150000000 /dev/zero | tail | wc -c' --samples 1 --no-twin --plain --no-report";

#[test]
fn one_limit_for_all_ends_a_command_that_holds_more() {
    if !limits() {
        return;
    }
    for target in ["--dir .", "--fs ext4 --image 100M --scratch ."] {
        let place = Place::new();
        place.shell(&format!("\"$BAKEOFF\" run {HOLDS} {target} --memory 64M"));
        let all = trials(&place);
        let (label, trial) = &all[0];
        assert!(!label.contains("memory"), "one limit for all is no part of a name: {label}");
        assert_eq!(trial.status, TrialStatus::Failed, "{target}: {trial:?}");
        let why = trial.reason.as_deref().unwrap_or_default();
        assert!(why.contains("limit.memory 64M") && why.contains("oom_kill"), "{target}: {why}");
        let found = trial.found.as_ref().expect("found");
        let limit = found.options.iter().find(|option| option.asked == "limit.memory 64M").expect("read back");
        assert_eq!(limit.found.as_deref(), Some("67108864"));
        assert_eq!(support::leftovers(place.folder()), Vec::<String>::new());
    }
    let place = Place::new();
    let output = place.shell(&format!("\"$BAKEOFF\" run {HOLDS} --dir . --memory 512M"));
    assert_ne!(trials(&place)[0].1.status, TrialStatus::Failed, "{output:?}");
}

/// Existing control groups of Bakeoff.
fn groups(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with("bakeoff-") {
                found.push(entry.path());
            }
            groups(&entry.path(), found);
        }
    }
}

/// Whether a process is a child of `parent`.
fn is_child(pid: &str, parent: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("PPid:").is_some_and(|rest| rest.trim() == parent.to_string()))
}

/// The control group of a run's engine.
fn group_of(run: &mut Child) -> PathBuf {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let mut found = Vec::new();
        groups(Path::new(&hierarchy()), &mut found);
        let ours = |group: &PathBuf| {
            let members = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            members.lines().any(|pid| is_child(pid, run.id()))
        };
        if let Some(group) = found.into_iter().find(|group| ours(group)) {
            return group;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no engine entered a group");
}

#[test]
fn a_killed_run_leaves_a_group_that_clean_removes() {
    if !limits() {
        return;
    }
    let place = Place::new();
    let mut run = place.start(&format!("{RUN} --axis limit.memory=64M,128M"));
    let group = group_of(&mut run);
    run.kill().expect("SIGKILL is sent");
    run.wait().expect("it is reaped");
    assert!(group.exists(), "no process was left to remove {}", group.display());
    let output = place.bakeoff("clean --scratch .").well();
    assert!(output.out.contains("control group"), "{}", output.out);
    assert!(!group.exists(), "{} is still there", group.display());
    assert_eq!(support::leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn a_plan_names_limits_and_shows_their_commands_beforehand() {
    if !limits() {
        return;
    }
    let place = Place::new();
    let text = "name = \"small\"\nworkloads = [\"small-files\"]\ncompete = [\"ext4\"]\n\
                [axes]\nlimit.memory = [\"512M\", \"2 GiB\", \"1000 MB\"]\n";
    place.write("small.toml", text);
    let out = place.bakeoff("plan ./small.toml --image 1GiB --commands").well().out;
    for expected in
        ["ext4 memory=512M", "ext4 memory=2G", "ext4 memory=1000000000", "mkdir /sys/fs/cgroup", "rmdir /sys/fs/cgroup"]
    {
        assert!(out.contains(expected), "{expected} is missing: {out}");
    }
    assert!(out.contains("echo 536870912 > /sys/fs/cgroup"), "{out}");
    let out = place.bakeoff("plan ./small.toml --image 1GiB --exclude limit.memory=2048M").well().out;
    assert!(!out.contains("memory=2G") && out.contains("memory=512M"), "{out}");
}

#[test]
fn a_slip_in_a_limit_is_answered_before_anything_is_made() {
    let place = Place::new();
    let refused = |words: &str, expected: &[&str]| {
        place.bakeoff(&format!("plan small-files --fs ext4 --image 1GiB {words}")).refused(expected);
    };
    refused("--axis limit.memry=1G", &["there is no axis `limit.memry`", "did you mean `limit.memory`?"]);
    refused("--axis limit.memory=much", &["limit.memory=much", "`much`"]);
    refused("--axis limit.memory=4K", &["too little memory"]);
    refused("--memory 4K", &["--memory 4K", "too little memory"]);
    place.write("p.toml", "name = \"p\"\nworkloads = [\"mail\"]\n[axes]\nlimits.memory = [\"1G\"]\n");
    place.bakeoff("plan ./p.toml").refused(&["p.toml", "limits", "did you mean `limit`?"]);
}

/// A control group with a limit; removed on drop.
struct Pressed(PathBuf);

impl Pressed {
    fn to(bytes: u64) -> Pressed {
        let group = Path::new(&hierarchy()).join(format!("bakeoff-test-{}", std::process::id()));
        std::fs::create_dir(&group).expect("a group");
        let pressed = Pressed(group);
        let limit =
            if pressed.0.join("memory.limit_in_bytes").exists() { "memory.limit_in_bytes" } else { "memory.max" };
        if !pressed.0.join(limit).exists() {
            let above = pressed.0.parent().expect("a hierarchy").join("cgroup.subtree_control");
            std::fs::write(above, "+memory").expect("the controller is handed down");
        }
        std::fs::write(pressed.0.join(limit), bytes.to_string()).expect("limited");
        pressed
    }

    /// How often an allocation had to wait because the group was full.
    fn was_full(&self) -> u64 {
        let counter = std::fs::read_to_string(self.0.join("memory.failcnt")).unwrap_or_default();
        let events = std::fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        let of_events = events.lines().find_map(|line| line.strip_prefix("max ")).unwrap_or_default();
        [counter.as_str(), of_events].into_iter().filter_map(|text| text.trim().parse().ok()).max().unwrap_or(0)
    }
}

impl Drop for Pressed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The process that serves a disk keeps its content in the memory that writers to it use for their pages. If it had to wait for
/// writeback, it would wait for itself.
#[test]
fn a_served_disk_and_its_writers_in_too_little_memory_do_not_wait_for_each_other() {
    if !limits() {
        return;
    }
    let (place, group) = (Place::new(), Pressed::to(800 << 20));
    let run = "run sequential --fs ext4 --disk nvme-tlc --set forms=newer --set size=448MiB --image 700MiB --samples 1 --seed 7 \
               --no-twin --plain --no-report --scratch .";
    let line = format!("echo $$ >{}/cgroup.procs && exec timeout -s KILL 55 \"$BAKEOFF\" {run}", group.0.display());
    place.shell(&line).well();
    let all = trials(&place);
    let failed: Vec<&Option<String>> =
        all.iter().filter(|(_, trial)| trial.status == TrialStatus::Failed).map(|(_, trial)| &trial.reason).collect();
    assert!(failed.is_empty() && !all.is_empty(), "{failed:?}");
    assert!(group.was_full() > 100, "the group was full {} times: there was no pressure", group.was_full());
}
