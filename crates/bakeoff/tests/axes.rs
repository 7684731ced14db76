//! Axes on the command line: what is multiplied, what is left out, and the errors for typing mistakes. Nothing is formatted.

mod support;

use support::Place;

fn planned(words: &str) -> String {
    Place::new().bakeoff(&format!("plan small-files --image 1GiB --seed 7 {words}")).well().out
}

fn refused(words: &str, expected: &[&str]) {
    let output = Place::new().bakeoff(&format!("plan small-files --image 1GiB {words}")).refused(expected);
    assert_eq!(output.status, Some(2), "{output:#?}");
}

#[test]
fn an_axis_multiplies_filesystems_that_know_it_and_the_plan_names_the_others() {
    let out = planned("--fs xfs,ext4 --axis mkfs.rmapbt=0,1 --axis mount.noatime=on,off");
    for label in ["xfs rmapbt=0 noatime=on", "xfs rmapbt=1 noatime=off", "ext4 noatime=on", "ext4 noatime=off"] {
        assert!(out.contains(label), "{label} is missing: {out}");
    }
    assert!(!out.contains("ext4 rmapbt"), "{out}");
    assert!(out.contains("ext4 enters without mkfs.rmapbt, which is unknown there"), "{out}");
}

#[test]
fn excluded_combinations_are_left_out_by_the_filesystems_file_and_by_option() {
    let out = planned(
        "--fs xfs --axis mkfs.crc=0,1 --axis mkfs.rmapbt=0,1 --scheduler none,bfq --exclude mkfs.crc=0,scheduler=bfq",
    );
    assert!(out.contains("xfs crc=1 rmapbt=1+bfq") && out.contains("xfs crc=0 rmapbt=0+none"), "{out}");
    assert!(!out.contains("crc=0 rmapbt=1") && !out.contains("crc=0 rmapbt=0+bfq"), "{out}");
    assert!(out.contains("of xfs left out: rmapbt needs crc"), "{out}");
}

#[test]
fn every_command_of_an_axis_is_known_beforehand() {
    let place = Place::new();
    let words = "plan small-files --image 1GiB --fs xfs --axis mkfs.rmapbt=1 --axis device.read_ahead=2M --axis device.write_cache=off";
    let output = place.bakeoff(&format!("{words} --commands"));
    if output.status != Some(0) || output.out.contains("it cannot compete") {
        prerequisites::leave_out("xfs", "XFS cannot compete here");
        return;
    }
    assert!(output.out.contains("-m rmapbt=1"), "{}", output.out);
    assert!(output.out.contains("echo 2048 > /sys/block/loopN/queue/read_ahead_kb"), "{}", output.out);
    assert!(output.out.contains("write through") && output.out.contains("loopN/queue/write_cache"), "{}", output.out);
}

#[test]
fn the_plan_shows_how_cold_phases_start() {
    let place = Place::new();
    let commands = |words: &str| place.bakeoff(&format!("plan small-files --image 1GiB --fs ext4 {words} --commands"));
    if commands("").status != Some(0) {
        prerequisites::leave_out("ext4", "ext4 cannot compete here");
        return;
    }
    let (remount, drop) = (commands("").out, commands("--cold drop").out);
    assert!(remount.contains("blockdev --flushbufs /dev/loopN") && !remount.contains("drop_caches"), "{remount}");
    assert!(drop.contains("echo 3 > /proc/sys/vm/drop_caches") && drop.contains("fsfreeze"), "{drop}");
    assert!(!drop.contains("--flushbufs"), "{drop}");
}

#[test]
fn a_slip_is_answered_with_what_is_known() {
    refused("--fs xfs --axis mkfs.rmapbtt=0,1", &["mkfs.rmapbtt", "did you mean `mkfs.rmapbt`?"]);
    refused("--fs ext4 --axis mkfs.rmapbt=0,1", &["unknown to ext4", "xfs"]);
    refused("--fs xfs --axis rmapbt=0,1", &["there is no axis `rmapbt`"]);
    refused("--fs xfs --axis mkfs.rmapbt=2", &["mkfs.rmapbt", "on or off"]);
    refused("--fs xfs --axis scheduler=none,bfk", &["bfk", "did you mean `bfq`?"]);
    refused(
        "--fs xfs --axis mkfs.rmapbt=0,1 --exclude scheduler=bfq",
        &["`exclude` names `scheduler`", "not an axis here"],
    );
}

#[test]
fn a_plans_axes_multiply_the_filesystems_of_the_command_line_too() {
    let place = Place::new();
    let out = place.bakeoff("plan schedulers --fs ext2 --image 1GiB").well().out;
    for label in ["ext2+none", "ext2+mq-deadline", "ext2+kyber", "ext2+bfq"] {
        assert!(out.contains(label), "{label} is missing: {out}");
    }
}

#[test]
fn encryption_by_a_filesystem_itself_is_printed_with_its_key_and_policy() {
    let place = Place::new();
    let words = "plan small-files --image 1GiB --fs ext4 --commands --axis mkfs.encrypt=on,off";
    let output = place.bakeoff(words);
    if output.status != Some(0) {
        prerequisites::leave_out("ext4", "ext4 cannot compete here");
        return;
    }
    assert!(output.out.contains("add_enckey") && output.out.contains("get_encpolicy"), "{}", output.out);
    assert_eq!(output.out.matches("set_encpolicy -v 2").count(), 1, "only with encrypt=on: {}", output.out);
    let both = planned(
        "--fs ext4,xfs --axis mkfs.encrypt=off,on --axis mount.noatime=on,off --exclude mount.noatime=on,mkfs.encrypt=on",
    );
    assert!(both.contains("xfs enters without mkfs.encrypt"), "{both}");
    assert!(both.contains("ext4 encrypt=on noatime=off") && !both.contains("encrypt=on noatime=on"), "{both}");
}
