//! Volumes on several devices: created, used with a device missing, rebuilt, and verified from the rebuilt device alone; a
//! failure in between costs one trial.

mod support;

use ledger::{TrialRecord, TrialStatus};
use std::collections::BTreeSet;
use support::{Place, leftovers, phase, root, trials};

const WAY: &str = "--seed 7 --no-twin --plain --no-report --scratch .";
const SMALL: &str = "--set size=16MiB --set pages=50 --image 512MiB";

fn failed(trials: &[(String, TrialRecord)]) -> Vec<&str> {
    let failed = trials.iter().filter(|(_, trial)| trial.status == TrialStatus::Failed);
    failed.map(|(_, trial)| trial.reason.as_deref().unwrap_or_default()).collect()
}

/// Number of blocks with a trial that did not fail.
fn blocks_done(trials: &[(String, TrialRecord)]) -> usize {
    let done = trials.iter().filter(|(_, trial)| trial.status != TrialStatus::Failed);
    done.map(|(_, trial)| trial.block).collect::<BTreeSet<_>>().len()
}

#[test]
fn reads_after_a_rebuild_come_from_the_rebuilt_device_alone() {
    if !root("a mirror") {
        return;
    }
    let place = Place::new();
    place.bakeoff(&format!("run mirror --fs btrfs,zfs --axis devices=1,2 --samples 1 {SMALL} {WAY}")).well();
    let trials = trials(&place);
    for (label, trial) in &trials {
        assert_ne!(trial.status, TrialStatus::Failed, "{label}: {:?}", trial.reason);
        let blocks = |name: &str| {
            let verified = phase(trial, name).outcome.verified.as_ref().expect("it is verified");
            assert_eq!(verified.wrong, 0, "{label}, {name}: {verified:?}");
            verified.blocks
        };
        assert_eq!(blocks("read-whole"), 4096, "{label}");
        let cannot = &trial.found.as_ref().expect("it stood").cannot;
        if label.ends_with("1 device") {
            assert!(cannot["rebuild"].starts_with("no second device"), "{label}: {cannot:?}");
            assert!(trial.phases.iter().all(|phase| !phase.name.contains("degraded")), "{label}");
            continue;
        }
        for read in ["read-degraded", "read-rebuilt", "read-again"] {
            assert_eq!(blocks(read), 4096, "{label}: {read}");
        }
        let rebuilt = phase(trial, "rebuild").evidence.device_written_bytes.unwrap_or(0);
        assert!(rebuilt >= 16 << 20, "{label}: all of the file is written once more, not {rebuilt} bytes");
        let written = |name: &str| phase(trial, name).evidence.device_written_bytes.unwrap_or(0);
        assert!(written("lay-out") >= 32 << 20, "{label}: both devices are counted");
        let closing = trial.closing.as_ref().expect("it was closed");
        assert_eq!(closing.whole, Some(true), "{label}: {:?}", closing.check_answer);
    }
    let shown = place.bakeoff("show --full").well();
    assert!(shown.out.contains("rebuild, written"), "{}", shown.out);
    assert!(shown.out.contains("no second device"), "{}", shown.out);
    let text = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("each block is on two of 2 devices (raid1)"), "{}", shown.out);
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn a_rebuild_that_is_killed_costs_one_trial() {
    if !root("a killed rebuild") {
        return;
    }
    let place = Place::new();
    let flag = place.path("was-killed");
    let own =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../filesystems/btrfs.toml")).expect("read");
    let killing = format!(
        "[ -e {0} ] || {{ touch {0}; btrfs replace start -B -f $0 $2 {{mountpoint}} & kill -9 $$; }}; ",
        flag.display()
    );
    let changed = own.replace("eval \\\"exec btrfs replace", &format!("{killing}eval \\\"exec btrfs replace"));
    assert_ne!(own, changed);
    place.write("btrfs.toml", &changed);
    let output = place
        .bakeoff(&format!("run mirror --filesystems btrfs.toml --fs btrfs --axis devices=2 --samples 3 {SMALL} {WAY}"));
    let trials = trials(&place);
    let failed = failed(&trials);
    // A disturbed trial is repeated, so there may be more of them.
    assert_eq!((blocks_done(&trials), failed.len()), (2, 1), "{}", output.err);
    assert!(failed[0].contains("rebuild") && failed[0].contains("signal 9"), "{failed:?}");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

/// Removes the second image of the first trial while the volume is written to.
const VANISHING: &str = r#"
name = "vanishing"
title = "A device vanishes"
about = "Takes a device away while it is written to."

[scales.quick]

[[filesets]]
name = "file"
total = "16 MiB"
content = "incompressible"
verify = true

[[phases]]
name = "write"
work = { blocks = "file", block = "1 MiB", create = true, steps = ["write"] }

[[phases]]
name = "vanish"
preparation = true
work = { shell = "for image in SCRATCH/bakeoff-*-2.img; do [ -e $image ] || exit 0; loop=$(losetup -n -O NAME -j $image); truncate -s 0 $image; losetup -c $loop; done", unconfined = true }

[[phases]]
name = "overwrite"
after = ["sync"]
work = { blocks = "file", block = "1 MiB", steps = ["write"] }

[[phases]]
name = "read"
cache = "as-found"
work = { blocks = "file", block = "1 MiB", steps = ["read"] }
"#;

#[test]
fn a_device_that_vanishes_costs_one_trial() {
    if !root("a device that vanishes") {
        return;
    }
    let place = Place::new();
    place.write("vanishing.toml", &VANISHING.replace("SCRATCH", &place.folder().display().to_string()));
    let output =
        place.bakeoff(&format!("run ./vanishing.toml --fs btrfs --axis devices=2 --samples 3 --image 512MiB {WAY}"));
    let trials = trials(&place);
    let failed = failed(&trials);
    // A lost trial is repeated in its block.
    assert_eq!((blocks_done(&trials), failed.len()), (3, 1), "{}", output.err);
    assert!(failed[0].contains("/dev/loop") && failed[0].contains("vanished"), "{failed:?}");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn several_devices_are_refused_where_there_are_none() {
    if !root("several devices") {
        return;
    }
    let place = Place::new();
    let refused = |words: &str, parts: &[&str]| {
        place.bakeoff(&format!("run mirror {words} --scratch .")).refused(parts);
    };
    refused("--fs ext4 --axis devices=2", &["unknown to ext4", "it is a setting of bcachefs, btrfs"]);
    refused("--fs btrfs --axis devices=9", &["1 to 8 devices"]);
    refused("--fs btrfs --axis devices=2 --disk hdd-7200", &["modelled disks"]);
    refused("--fs btrfs --axis devices=2 --fill 40%", &["neither with ages"]);
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}
