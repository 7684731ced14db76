//! Modelled disks from a user's view: they take the time that their description gives, and every figure is marked as modelled.

mod support;

use disk::Disk;
use prerequisites::needs;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::{Duration, Instant};
use support::Place;

const PROGRAM: &str = env!("CARGO_BIN_EXE_bakeoff");

#[test]
fn a_served_hard_disk_takes_its_seeks_and_its_turns() {
    needs!(root);
    let folder = tempfile::tempdir().expect("a folder");
    let mut serve = Command::new(PROGRAM);
    serve.arg("serve-disk").arg(folder.path()).arg((64u64 << 20).to_string()).args(["--model", "hdd-7200"]);
    let disk = Disk::start(&mut serve).expect("it serves");
    let path = folder.path().join("a.img");
    let file = File::options().read(true).write(true).create_new(true).open(&path).expect("made");
    file.set_len(100 << 30).expect("made larger");
    let mut block = vec![0; 4096];
    let (began, reads) = (Instant::now(), 40);
    for read in 0..reads {
        // From one end to the other and back, never the same place twice, so that no cache has it.
        file.read_exact_at(&mut block, (read % 2) * (90 << 30) + read * (64 << 20)).expect("read");
    }
    // No disk with 7200 rpm seeks over a tenth of its width and waits half a turn in less than 5 ms on average. A busy machine
    // may take longer, but never less.
    let took = began.elapsed();
    assert!(took > Duration::from_millis(5) * reads as u32, "{reads} reads took {took:?}");
    drop(file);
    disk.end().expect("ended");
}

/// A short run with these options, as `show --json` prints it.
fn run(place: &Place, words: &str) -> Value {
    let words = format!(
        "run small-files --image 320M --samples 1 --set files=100 --set some=20 --no-twin --plain --no-report --scratch . {words}"
    );
    place.bakeoff(&words).well();
    serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON")
}

#[test]
fn labels_name_the_modelled_disk_and_its_device_behaves_as_described() {
    needs!(root, loop_devices);
    let place = Place::new();
    let shown = run(&place, "--fs ext4 --disk hdd-7200,ssd-sata");
    let mut labels: Vec<&str> =
        shown["contenders"].as_array().expect("contenders").iter().filter_map(|one| one["name"].as_str()).collect();
    // The faster one comes first.
    labels.sort_unstable();
    assert_eq!(labels, ["ext4 modelled hdd-7200", "ext4 modelled ssd-sata"], "{shown}");
    let full = place.bakeoff("show --full").well().out.split_whitespace().collect::<Vec<_>>().join(" ");
    for output in [
        "hdd-7200 is modelled",
        "ssd-sata is served by Bakeoff itself: the round trip of a 4 KiB read takes",
        "(hdd-7200, ssd-sata): figures are not those of a real disk",
        "The modelled disk ",
    ] {
        assert!(full.contains(output), "{output}: {full}");
    }
    place.bakeoff("export -o run.json").well();
    let export = std::fs::read_to_string(place.path("run.json")).expect("exported");
    for output in ["hdd-7200 (modelled)", "rotational 1", "rotational 0", "avoidable"] {
        assert!(export.contains(output), "{output}");
    }
}

#[test]
fn a_disk_of_ones_own_is_described_in_a_file() {
    needs!(root, loop_devices);
    let place = Place::new();
    let shipped = include_str!("../../../disks/ssd-sata.toml");
    let mine = place.write("mine.toml", shipped);
    let shown = run(&place, &format!("--fs ext4 --disk {}", mine.display()));
    assert_eq!(shown["contenders"][0]["name"], "ext4 modelled mine");
    place.write("broken.toml", &shipped.replace("title", "tilte"));
    let broken = place.path("broken.toml");
    let words = format!("run small-files --fs ext4 --image 320M --no-report --scratch . --disk {}", broken.display());
    place.bakeoff(&words).refused(&["broken", "tilte"]);
}

#[test]
fn an_image_on_a_modelled_disk_takes_no_room_of_the_scratch_folder() {
    needs!(root, loop_devices);
    let place = Place::new();
    let small = place.path("small");
    std::fs::create_dir(&small).expect("made");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(&small).status();
    assert!(mounted.expect("mount").success());
    let words = "run small-files --fs ext4 --image 320M --samples 1 --set files=100 --set some=20 --no-twin --plain \
                 --no-report --scratch small";
    let refused = place.bakeoff(words);
    let modelled = place.bakeoff(&format!("{words} --disk ssd-sata"));
    let unmounted = Command::new("umount").arg(&small).status();
    refused.refused(&["320 MiB", "too large", "free"]);
    modelled.well();
    assert!(unmounted.expect("umount").success(), "something of it is left there");
}

#[test]
fn invalid_uses_of_a_modelled_disk_are_refused_with_their_reason() {
    needs!(root, loop_devices);
    let place = Place::new();
    let refused = |words: &str, output: &[&str]| {
        place.bakeoff(&format!("run small-files --no-report --scratch . {words}")).refused(output);
    };
    refused("--fs ext4 --disk hdd", &["there is no disk `hdd`", "hdd-7200, nvme-qlc"]);
    place.write("garbage.toml", "garbage");
    for (disk, why) in [("missing.toml", "No such file"), ("garbage.toml", "is not a disk description")] {
        refused(&format!("--fs ext4 --disk {disk}"), &[disk, why]);
        place.bakeoff(&format!("plan small-files --fs ext4 --disk {disk}")).refused(&[disk, why]);
    }
    refused("--fs ext4 --disk hdd-7200 --age used", &["aged images are on the scratch folder's disk"]);
    refused("--fs ext4 --disk hdd-7200 --dir .", &["--disk", "--dir"]);
}

#[test]
fn the_raw_device_of_one_modelled_disk_can_be_measured_and_nothing_to_measure_is_refused() {
    needs!(root, loop_devices);
    let place = Place::new();
    let planned = place.bakeoff("plan device --disk hdd-7200 --scratch .").well();
    assert!(planned.out.contains("device modelled hdd-7200"), "{}", planned.out);
    let refused = |words: &str, why: &str| {
        place.bakeoff(&format!("run device --no-report {words}")).refused(&["nothing can be measured", why]);
        assert!(!place.path("bakeoff.db").exists(), "{words}: refused before anything is made");
    };
    refused("--scratch . --disk hdd-7200,ssd-sata", "--disk names several");
    refused("--dir .", "a directory does not have");
}
