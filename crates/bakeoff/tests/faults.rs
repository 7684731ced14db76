//! Failing disks from a user's view, on real filesystems: returned wrong data is detected, reported errors are counted, and a normal run on
//! such a disk loses one trial and no more.

mod support;

use disk::{Disk, Fault};
use prerequisites::needs;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use support::{Place, leftovers};

/// One at a time: leftovers of one test must not be taken for another's.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poison| poison.into_inner())
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_bakeoff");
/// Number of files on each disk before the fault.
const FILES: u64 = 608;

/// Results of `faults` for a contender, one per fault.
fn harmed(fs: &str, faults: &str, more: &[&str]) -> Vec<Value> {
    let done = Command::new(PROGRAM)
        .args(["faults", "--json", "--in", "here", "--seed", "7", "--rounds", "1", "--fs", fs, "--fault", faults])
        .args(more)
        .output()
        .expect("it starts");
    assert!(done.status.success(), "{fs}, {faults}: {}", String::from_utf8_lossy(&done.stderr));
    let all: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(all["refused"].as_array().map(Vec::len), Some(0), "{all}");
    // Checksums as declared in filesystems/*.toml agree with the measurement, for every filesystem and option of these tests.
    assert_eq!(all["contenders"][0]["contradictions"].as_array().map(Vec::len), Some(0), "{all}");
    all["contenders"][0]["faults"].as_array().expect("faults").clone()
}

#[test]
fn on_a_whole_disk_nothing_is_amiss() {
    needs!(root, loop_devices, xfs, btrfs);
    let _alone = alone();
    for fs in ["ext2", "ext3", "ext4", "xfs", "btrfs"] {
        let none = &harmed(fs, "none", &[])[0];
        assert_eq!(none["verdict"], "unharmed", "{fs}: {none}");
        assert_eq!((&none["read"]["right"], &none["after"]["right"]), (&FILES.into(), &FILES.into()), "{fs}: {none}");
        assert_eq!((&none["acknowledged"], &none["kept"]["right"]), (&120.into(), &120.into()), "{fs}: {none}");
        assert_eq!((&none["met"], &none["damaged"]), (&0.into(), &0.into()), "{fs}: {none}");
    }
}

#[test]
fn flipped_bits_are_found_by_checksums_of_data_and_by_nothing_else() {
    needs!(root, loop_devices, xfs, btrfs);
    let _alone = alone();
    for fs in ["ext4", "xfs"] {
        let flips = &harmed(fs, "bit-flips", &[])[0];
        assert_eq!((&flips["verdict"], &flips["blocks"]), (&"silent".into(), &64.into()), "{fs}: {flips}");
        assert!(flips["read"]["wrong"].as_u64() > Some(20) && flips["read"]["failed"] == 0, "{fs}: {flips}");
    }
    let flips = &harmed("btrfs", "bit-flips", &[])[0];
    assert_eq!((&flips["verdict"], &flips["read"]["wrong"]), (&"reported".into(), &0.into()), "{flips}");
    assert!(flips["read"]["failed"].as_u64() > Some(20), "{flips}");
    // Metadata has a second copy; if the random faults hit both, an error is reported.
    let own = &harmed("btrfs", "bit-flips-metadata", &[])[0];
    assert_eq!(own["blocks"], 8, "{own}");
    assert_eq!((&own["read"]["wrong"], &own["read"]["missing"]), (&0.into(), &0.into()), "{own}");
    let nodatacow = &harmed("btrfs", "bit-flips", &["--mount", "btrfs=nodatacow"])[0];
    assert_eq!(nodatacow["verdict"], "silent", "without copy-on-write it has no checksums: {nodatacow}");
}

#[test]
fn a_description_that_contradicts_the_measurement_is_an_error() {
    needs!(root, loop_devices);
    let _alone = alone();
    let place = Place::new();
    let text = include_str!("../../../filesystems/ext4.toml");
    assert_eq!(text.matches("checksums_data = false").count(), 1);
    place.write("boaster.toml", &text.replace("checksums_data = false", "checksums_data = true"));
    let words = "faults --in here --filesystems boaster.toml --fs boaster --fault bit-flips --rounds 1 --seed 7";
    place.bakeoff(words).refused(&["boaster", "data has checksums, but reads returned wrong data"]);
}

#[test]
fn zfs_returns_no_wrong_data() {
    needs!(root, loop_devices, zfs);
    let _alone = alone();
    for flips in harmed("zfs", "bit-flips,bit-flips-metadata", &[]) {
        assert_eq!((&flips["read"]["wrong"], &flips["read"]["missing"]), (&0.into(), &0.into()), "{flips}");
        assert!(flips["name"] != "bit-flips" || flips["read"]["failed"].as_u64() > Some(0), "{flips}");
    }
}

#[test]
fn failed_requests_are_reported_and_no_acknowledged_data_is_lost() {
    needs!(root, loop_devices, xfs, btrfs);
    let _alone = alone();
    for fs in ["ext4", "xfs", "btrfs"] {
        for fault in harmed(fs, "read-errors,write-errors,full-below,dead", &[]) {
            let name = format!("{fs}, {}", fault["name"]);
            assert!(fault["met"].as_u64() > Some(0), "{name}: no request met it: {fault}");
            assert!(["reported", "stopped"].contains(&fault["verdict"].as_str().expect("a word")), "{name}: {fault}");
            let output = fault["failed_calls"].as_u64().max(fault["read"]["failed"].as_u64());
            assert!(output > Some(0), "{name}: {fault}");
            // On the repaired disk everything is readable again.
            assert_eq!(
                (&fault["after"]["right"], &fault["kept"]["wrong"]),
                (&FILES.into(), &0.into()),
                "{name}: {fault}"
            );
        }
    }
}

#[test]
fn of_several_disks_only_the_first_is_harmed() {
    needs!(root, loop_devices, btrfs);
    let _alone = alone();
    let mirror = ["--axis", "devices=2", "--mkfs", "btrfs=-d raid1 -m raid1"];
    for fault in harmed("btrfs", "bit-flips,dead", &mirror) {
        let touched = fault["blocks"].as_u64().max(fault["met"].as_u64());
        assert!(touched >= Some(64), "the first disk was not harmed: {fault}");
        // The second disk has a copy of each file.
        assert_eq!((&fault["read"]["wrong"], &fault["read"]["failed"]), (&0.into(), &0.into()), "{fault}");
    }
}

#[test]
fn a_disk_that_hangs_is_waited_for() {
    needs!(root, loop_devices);
    let _alone = alone();
    let hanging = &harmed("ext4", "hanging", &[])[0];
    assert_eq!((&hanging["verdict"], &hanging["stuck"]), (&"unharmed".into(), &0.into()), "{hanging}");
    assert!(hanging["slowest_seconds"].as_f64() > Some(5.0), "{hanging}");
}

#[test]
fn a_copy_of_its_mount_in_another_namespace_does_not_keep_a_served_disk_from_ending() {
    needs!(root, loop_devices);
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let disk = served(folder.path());
    // Like a service or container that starts meanwhile and copies all mounts.
    let words = ["--mount", "--propagation", "private", "sh", "-c", "echo copied; exec sleep 600"];
    let mut elsewhere = Command::new("unshare").args(words).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let output = elsewhere.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("it says so");
    let ended = disk.end();
    elsewhere.kill().expect("ours");
    elsewhere.wait().expect("gone");
    assert_eq!((line.as_str(), ended.map_err(|error| error.to_string())), ("copied\n", Ok(())));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("it can be read");
    assert!(!mounts.contains(&folder.path().display().to_string()), "{mounts}");
}

#[test]
fn invalid_options_of_faults_are_refused_with_their_reason() {
    let place = Place::new();
    place.bakeoff("faults --fault rust").refused(&["--fault rust", "bit-flips, "]);
    place.bakeoff("powercut --fs btrfs --axis devices=2").refused(&["needs several devices", "leave `devices` out"]);
    place
        .bakeoff("powercut --fs ext4 --axis stack=raid1 --kernel debian:6.12")
        .refused(&["needs several disks", "raid1:one-disk"]);
    place.bakeoff("faults --kernel linux:6").refused(&["linux:6", "debian:6.1"]);
    place.bakeoff("faults --image 100T").refused(&["choose a smaller size"]);
    place.bakeoff("faults --rounds 0").refused(&["1..=1000"]);
}

/// A folder of disks, served by this program, in which runs may place their images.
fn served(folder: &Path) -> Disk {
    let mut serve = Command::new(PROGRAM);
    Disk::start(serve.arg("serve-disk").arg(folder).arg((1u64 << 30).to_string())).expect("it serves")
}

fn waited_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_disk_that_dies_in_the_middle_of_a_run_costs_the_trial_and_no_more() {
    needs!(root, loop_devices);
    let _alone = alone();
    let (place, disks) = (Place::new(), tempfile::tempdir().expect("a folder"));
    let mut disk = served(disks.path());
    let words = format!(
        "run small-files --fs ext4 --image 256M --samples 3 --set files=3000 --no-twin --plain --no-report --scratch {}",
        disks.path().display()
    );
    let mut run = place.start(&words);
    let image = waited_for("an image", || {
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let image = std::fs::read_dir(disks.path()).ok()?.filter_map(name).find(|name| name.ends_with(".img"))?;
        // A run has a private mount namespace.
        let mounts = std::fs::read_to_string(format!("/proc/{}/mounts", run.id())).ok()?;
        mounts.lines().any(|line| line.contains("/bakeoff/") && line.contains(" ext4 ")).then_some(image)
    });
    disk.harm(&image, &Fault::Dead).expect("harmed");
    let log = || std::fs::read_to_string(place.path("bakeoff.log")).unwrap_or_default();
    waited_for("a failed trial", || log().contains(" failed in ").then_some(()));
    disk.mend().expect("mended");
    let status = waited_for("the end", || run.try_wait().expect("it can be waited for"));
    assert!(status.success(), "{status}: {}", log());
    let output = place.bakeoff("show --json").well().out;
    let run: Value = serde_json::from_str(&output).expect("JSON");
    let count = |of: &str| run["counts"][of].as_u64().expect("a count");
    assert!((1..=2).contains(&count("failed")) && count("done") > 0, "{}", run["counts"]);
    assert!(run["failures"][0]["reason"].as_str().is_some_and(|why| !why.is_empty()), "{}", run["failures"]);
    // The served folder itself belongs to this test.
    let left: Vec<String> =
        leftovers(disks.path()).into_iter().filter(|line| !line.starts_with("bakeoff-disk ")).collect();
    assert_eq!(left, Vec::<String>::new());
    disk.end().expect("ended");
}
