//! Custody from the command line: every way to name a device or file is checked, and a resumed run requires the devices that it started on.
//! In: all options that can name a device; devices that are replaced between two sittings. Out: refusals, nothing changed.
//! The rules themselves are tested in `staging`.

mod support;

use std::path::PathBuf;
use std::process::Command;
use support::{Disk, Place, leftovers, root};

const WORK: &str = "small-files --set files=40 --set some=10 --samples 1 --no-twin --plain --no-report --scratch .";

fn empty(place: &Place, name: &str) -> Disk {
    Disk::new(place.path(name), 64 << 20)
}

/// A disk with a filesystem that must survive.
fn precious(place: &Place, name: &str) -> Disk {
    let disk = empty(place, name);
    assert!(Command::new("mkfs.ext4").args(["-q", "-L", "precious", &disk.node]).status().expect("mkfs").success());
    disk
}

fn is_precious(disk: &Disk) -> bool {
    let output = Command::new("blkid").args(["--probe", &disk.node]).output().expect("blkid");
    String::from_utf8_lossy(&output.stdout).contains("precious")
}

/// Attaches another file to the node of a disk.
fn replace(disk: &Disk, file: &PathBuf) {
    assert!(Command::new("losetup").args(["--detach", &disk.node]).status().expect("losetup").success());
    let again = || Command::new("losetup").arg(&disk.node).arg(file).status().expect("losetup").success();
    let done = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        again()
    });
    assert!(done, "the node was taken by another test");
}

/// A mount that ends with the test.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn options_that_name_a_device_are_refused_by_every_way_to_give_them() {
    if !root("devices in options") {
        return;
    }
    let place = Place::new();
    let disk = precious(&place, "precious.raw");
    let node = &disk.node;
    let name = node.trim_start_matches("/dev/");
    std::fs::create_dir_all(place.path("config/bakeoff")).expect("made");
    let plan = |file: &str, rest: &str| {
        place.write(file, &format!("name = \"mine\"\n{rest}workloads = [\"small-files\"]\n"));
    };
    let set = |words: &str| format!("[contenders.mine]\nfs = \"btrfs\"\n{words}\n");
    place.write(
        "mkfs.toml",
        &format!("name = \"a\"\nworkloads = [\"small-files\"]\n{}", set(&format!("mkfs = [\"{node}\"]"))),
    );
    place.write(
        "mount.toml",
        &format!("name = \"b\"\nworkloads = [\"small-files\"]\n{}", set(&format!("mount = \"device={node}\""))),
    );
    plan("axis.toml", &format!("compete = [\"ext4\"]\naxes = {{ mount.journal_path = [\"{node}\"] }}\n"));
    place.write("config/bakeoff/contenders.toml", &format!("[sly]\nfs = \"xfs\"\nmkfs = [\"-r\", \"rtdev={node}\"]\n"));
    let ways = [
        format!("{WORK} --image 400MiB --fs btrfs --mkfs btrfs={node}"),
        format!("{WORK} --image 400MiB --fs btrfs,ext4 --mkfs btrfs={name}"),
        format!("{WORK} --image 400MiB --fs ext4 --mount ext4=journal_path={node}"),
        format!("{WORK} --image 400MiB --fs ext4 --mount ext4=X-mount.subdir=x"),
        format!("{WORK} --image 400MiB --fs xfs --mount xfs=logdev={node}"),
        format!("{WORK} --image 400MiB --fs ext4 --axis mount.journal_path={node}"),
        format!("{WORK} --image 400MiB --fs ext4 --axis mkfs.block_size={node}"),
        format!("{WORK} --image 400MiB --fs sly"),
        "mkfs.toml --image 400MiB --scratch .".to_owned(),
        "mount.toml --image 400MiB --scratch .".to_owned(),
        "axis.toml --image 400MiB --scratch .".to_owned(),
    ];
    for way in &ways {
        for verb in ["run", "plan"] {
            let words = if verb == "plan" { way.replace("--plain --no-report ", "") } else { way.clone() };
            place.bakeoff(&format!("{verb} {words}")).refused(&[]);
            assert!(is_precious(&disk), "{verb} {words}");
        }
    }
    assert!(!place.path("bakeoff.db").exists());
    // Options that may name a device are refused because of the device's content.
    for mkfs in [format!("ext4=-Jdevice={node}"), format!("xfs=-llogdev={node},size=64m")] {
        let fs = mkfs.split('=').next().unwrap_or_default().to_owned();
        let output = place.bakeoff(&format!("run {WORK} --image 400MiB --fs {fs} --mkfs {mkfs}"));
        output.refused(&[node, "precious", "--erase", &disk.file.display().to_string()]);
        assert!(is_precious(&disk));
    }
    assert_eq!(leftovers(place.folder()).iter().filter(|line| line.ends_with(".img")).count(), 0);
}

#[test]
fn a_contender_with_a_journal_of_its_own_runs_when_each_device_is_named() {
    if !root("an external journal") {
        return;
    }
    let place = Place::new();
    let (main, own) = (precious(&place, "main.raw"), precious(&place, "own.raw"));
    let run = format!("{WORK} --on {} --fs ext4 --mkfs ext4=-Jdevice={}", main.node, own.node);
    let word = |disk: &Disk| format!("--erase {}", disk.file.display());
    place.bakeoff(&format!("run {run} {}", word(&main))).refused(&[&own.node, "precious"]);
    place.bakeoff(&format!("run {run} {}", word(&own))).refused(&[&main.node, "precious"]);
    place
        .bakeoff(&format!("run {run} {} {} --erase sdb", word(&main), word(&own)))
        .refused(&["--erase sdb names no device"]);
    assert!(is_precious(&main) && is_precious(&own));
    let commands = place.bakeoff(&format!("plan {} --commands", run.replace("--plain --no-report ", ""))).well().out;
    assert!(
        commands.contains("journal_dev") && commands.contains(&format!("e2fsck -f -n -j {}", own.node)),
        "{commands}"
    );
    let unfolded = commands.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains(&format!("A run is refused: {} is not taken", main.node)), "{commands}");
    place.bakeoff(&format!("run {run} {} {}", word(&main), word(&own))).well();
    assert!(!is_precious(&main) && !is_precious(&own));
    // Both are empty after the run, so that neither needs --erase now.
    place.bakeoff(&format!("run {run}")).well();
    place.bakeoff(&format!("run small-files --dir . --erase {}", main.file.display())).refused(&["erases nothing"]);
    place.bakeoff(&format!("run {WORK} --image 400MiB --fs ext4 --erase x")).refused(&["--erase x names no device"]);
}

#[test]
fn a_mounted_device_is_read_and_its_users_are_named() {
    if !root("mounting") {
        return;
    }
    let place = Place::new();
    let disk = precious(&place, "precious.raw");
    let point = place.path("mnt");
    std::fs::create_dir(&point).expect("made");
    assert!(Command::new("mount").args(["-o", "ro,noload", &disk.node]).arg(&point).status().expect("mount").success());
    let mounted = Mounted(point.clone());
    let before = std::fs::read(&disk.file).expect("read");
    let words = format!("run device --on {} --plain --no-report --set size=8MiB --set reads=64", disk.node);
    let run = place.bakeoff(&format!("{words} --samples 2")).well();
    let use_of_it = format!("The device is in use: {} is mounted on {}", disk.node, point.display());
    let unfolded = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains(&use_of_it), "{}", run.out);
    assert!(run.out.contains("The device reads "), "{}", run.out);
    place.bakeoff(&format!("{words} --erase precious")).refused(&["--erase precious", "only read", "leave it out"]);
    let filesystem = format!("run {WORK} --fs ext4 --on {}", disk.node);
    for verb in ["run", "plan"] {
        place
            .bakeoff(&filesystem.replacen("run", verb, 1).replace("--plain --no-report ", ""))
            .refused(&["is mounted on", &point.display().to_string()]);
    }
    drop(mounted);
    assert!(before == std::fs::read(&disk.file).expect("read"), "something was written to it");
}

#[test]
fn a_device_that_was_read_must_be_found_again_by_resume() {
    if !root("loop devices") {
        return;
    }
    let place = Place::new();
    let disk = precious(&place, "precious.raw");
    let words = format!("run device --on {} --plain --no-report --set size=8MiB --set reads=64", disk.node);
    place.bakeoff(&format!("{words} --samples 2")).well();
    let other = place.path("other.raw");
    std::fs::File::create(&other).and_then(|made| made.set_len(64 << 20)).expect("a sparse file");
    replace(&disk, &other);
    place.bakeoff("resume --samples 3 --no-report").refused(&["not the device on which the run began", "precious.raw"]);
}

#[test]
fn resume_refuses_another_device_of_the_same_name_and_describes_both() {
    if !root("replaced devices") {
        return;
    }
    let place = Place::new();
    let disk = empty(&place, "first.raw");
    let other = precious(&place, "second.raw");
    let run = format!("run {WORK} --on {} --fs ext4", disk.node);
    place.bakeoff(&run).well();
    let other_file = other.file.clone();
    drop(other);
    replace(&disk, &other_file);
    let word = format!("--erase {}", other_file.display());
    let output = place.bakeoff(&format!("resume --samples 2 --plain --no-report {word}"));
    output.refused(&["not the device on which the run began", "first.raw", "second.raw"]);
    assert!(is_precious(&disk));
    replace(&disk, &disk.file);
    // It was detached meanwhile, and what came back has another disk sequence number.
    place.bakeoff("resume --samples 2 --plain --no-report").refused(&["disk sequence"]);
}

#[test]
fn a_run_of_an_earlier_version_is_resumed_only_on_a_device_that_is_named_again() {
    if !root("old ledgers") {
        return;
    }
    let place = Place::new();
    let disk = empty(&place, "disk.raw");
    place.bakeoff(&format!("run {WORK} --on {} --fs ext4", disk.node)).well();
    {
        use ledger::{Access, Ledger};
        let mut ledger = Ledger::open(&place.path("bakeoff.db"), Access::Write).expect("the ledger opens");
        let mut run = ledger.run(None).expect("the run");
        run.new.plan.as_mut().expect("a plan").terms = Default::default();
        ledger.reopen(&run.id, &run.new).expect("rewritten");
    }
    let resume = "resume --samples 2 --plain --no-report";
    place.bakeoff(resume).refused(&["earlier version", &disk.node, "--erase"]);
    place.bakeoff(&format!("{resume} --erase sdb")).refused(&["--erase sdb names no device"]);
    place.bakeoff(&format!("{resume} --erase {}", disk.file.display())).well();
}
