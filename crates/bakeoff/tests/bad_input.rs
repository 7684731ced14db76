//! Bad input gives one clear error and a non-zero status, and changes nothing.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use support::{Place, Printed, leftovers, root};

/// The error contains these words, and there is no ledger, image, loop device or mount.
fn untouched(place: &Place, output: Printed, words: &[&str]) {
    output.refused(words);
    assert!(!place.path("bakeoff.db").exists(), "a ledger was begun");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

fn refused(words: &str, expected: &[&str]) {
    let place = Place::new();
    let output = place.bakeoff(&format!("run {words} --scratch ."));
    untouched(&place, output, expected);
}

#[test]
fn unknown_names_bring_the_nearest_known_one() {
    refused("smal-files", &["smal-files", "did you mean `small-files`"]);
    refused("small-files --fs ext4,xsf", &["xsf", "did you mean `xfs`"]);
    refused("small-files --fs ext4 --scheduler mq-deadlin", &["mq-deadlin", "did you mean `mq-deadline`"]);
    refused("small-files --fs ext4 --image 5XiB", &["5XiB", "unit"]);
    refused("small-files --fs ext4 --set file=3", &["file", "no workload of this run", "did you mean `files`?"]);
    refused("small-files --fs ext4 --set files=300", &["files = 300", "which has 300", "other options", "some = 2000"]);
    refused("small-files --fs ext4 --axis mount.noatime=on,3", &["noatime=3", "takes none", "mount.noatime=on,off"]);
    refused("small-files --fs ext4 --budget 10x", &["--budget 10x"]);
    refused("small-files --fs ext4,xfs --against xsf", &["--against xsf", "did you mean `xfs`", "known: ext4, xfs"]);
}

#[test]
fn sizes_that_cannot_work_are_refused_before_anything_is_made() {
    if !root("sizes") {
        return;
    }
    refused("small-files --fs ext4 --image 1MiB", &["1 MiB", "too small for ext4"]);
    refused("small-files --fs btrfs --image 50MiB", &["50 MiB", "too small for btrfs"]);
    refused("small-files --fs ext4 --image 900TiB", &["900 TiB", "free"]);
    refused("small-files --scale full --fs ext4 --image 100MiB", &["293 MiB", "does not fit", "--image 5GiB"]);
    // mke2fs creates an inode for each 16 KiB.
    refused("small-files --scale full --fs xfs,ext4 --image 4GiB", &["300002 files", "ext4", "16 KiB", "--image 5GiB"]);
    refused("small-files --fs ext4 --mkfs ext4=-N1000", &["20002 files", "1000 inodes"]);
}

#[test]
fn a_plan_with_an_unknown_key_is_named_with_its_line() {
    let place = Place::new();
    place.write("mine.toml", "name = \"mine\"\ntitle = \"Mine\"\nworkload = [{ name = \"small-files\" }]\n");
    untouched(&place, place.bakeoff("run mine.toml"), &["mine.toml:3", "workload", "workloads"]);
}

#[test]
fn a_directory_that_cannot_be_written_is_refused() {
    let place = Place::new();
    untouched(&place, place.bakeoff("run small-files --dir /proc/self"), &["/proc/self"]);
    untouched(&place, place.bakeoff("run small-files --dir /no/such/place"), &["/no/such/place"]);
}

#[test]
fn without_root_images_are_refused_with_the_way_out() {
    if !root("dropping root") {
        return;
    }
    let place = Place::new();
    let open = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(place.folder(), open).expect("anybody may write there");
    // The build folder may be closed to other users; a copy beside the work is not.
    let program = place.path("program");
    std::fs::copy(env!("CARGO_BIN_EXE_bakeoff"), &program).expect("the program is copied");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["run", "small-files", "--fs", "ext4", "--image", "1GiB", "--scratch", "."])
        .current_dir(place.folder())
        .output()
        .expect("setpriv runs");
    let printed = Printed::from(output);
    std::fs::remove_file(program).expect("it was there");
    untouched(&place, printed, &["needs root", "--dir"]);
}

#[test]
fn files_that_are_no_ledgers_stay_as_they_are() {
    let place = Place::new();
    place.write("diary.txt", "dear diary, this is long enough to have what would be a header of a database file");
    place.bakeoff("--ledger diary.txt show").refused(&["diary.txt", "it is not changed"]);
    place.bakeoff("--ledger diary.txt run small-files --dir .").refused(&["diary.txt", "it is not changed"]);
    assert!(std::fs::read_to_string(place.path("diary.txt")).expect("still there").starts_with("dear diary"));
    place.bakeoff("--ledger missing.db show").refused(&["missing.db", "no such file"]);
}

#[test]
fn devices_that_are_in_use_or_carry_something_are_refused() {
    if !root("devices") {
        return;
    }
    let place = Place::new();
    let disk = Disk::new(&place, "disk.raw", 1 << 30);
    assert!(Command::new("mkfs.ext4").args(["-q", &disk.node]).status().expect("mkfs").success());
    let run = format!("run small-files --fs ext4 --on {}", disk.node);
    place.bakeoff(&run).refused(&[&disk.node, "--erase"]);
    place.bakeoff(&format!("{run} --erase sdb")).refused(&[&disk.node]);

    let mountpoint = place.path("mnt");
    std::fs::create_dir(&mountpoint).expect("a mountpoint");
    assert!(Command::new("mount").arg(&disk.node).arg(&mountpoint).status().expect("mount").success());
    let output = place.bakeoff(&run);
    assert!(Command::new("umount").arg(&mountpoint).status().expect("umount").success());
    output.refused(&[&disk.node, "is mounted"]);
    assert!(!place.path("bakeoff.db").exists());
}

#[test]
fn a_read_only_device_is_refused() {
    if !root("read-only devices") {
        return;
    }
    let place = Place::new();
    let disk = Disk::new(&place, "disk.raw", 1 << 30);
    assert!(Command::new("blockdev").args(["--setro", &disk.node]).status().expect("blockdev").success());
    place.bakeoff(&format!("run small-files --fs ext4 --on {}", disk.node)).refused(&["read-only"]);
}

#[test]
fn more_files_than_inodes_are_refused_with_the_image_to_ask_for() {
    if !root("inodes") {
        return;
    }
    let place = Place::new();
    let run = "run small-files --fs ext4 --image 100MiB --samples 1 --set files=60000 --plain --no-report --scratch .";
    place.bakeoff(run).refused(&["60002 files", "inode", "--image 1GiB"]);
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn a_disk_that_fills_up_fails_that_trial_with_the_reason_and_the_others_go_on() {
    if !root("full disks") {
        return;
    }
    let place = Place::new();
    // The workload needs 105 MB of an image of 112 MiB: enough before the filesystems take their own share.
    let run = "run sequential --fs ext4,btrfs --image 112MiB --samples 1 --set size=105MiB --set forms=newer --plain \
               --no-report --scratch .";
    let output = place.bakeoff(run);
    assert!(
        output.err.contains("No space left on device") || output.err.contains("are free on this filesystem"),
        "{output:#?}"
    );
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn two_runs_on_one_ledger_at_once_are_refused() {
    if !root("two runs") {
        return;
    }
    let place = Place::new();
    let run = "run small-files --fs ext4,xfs --image 400MiB --samples 50 --plain --no-report --scratch .";
    let mut first = place.start(run);
    let lock = place.path("bakeoff.db");
    let began = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        lock.exists()
    });
    assert!(began, "the first run never began");
    place.bakeoff(run).refused(&["another bakeoff"]);
    first.kill().expect("the first is ended");
    first.wait().expect("and reaped");
    place.bakeoff("clean --scratch .").well();
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

/// A loop device of this test, used as a disk.
struct Disk {
    node: String,
}

impl Disk {
    fn new(place: &Place, name: &str, bytes: u64) -> Self {
        let path = place.path(name);
        std::fs::File::create(&path).and_then(|file| file.set_len(bytes)).expect("a sparse file");
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&path).output().expect("losetup runs");
        let node = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(Command::new("blockdev").args(["--setrw", &node]).status().expect("blockdev").success());
        Self { node }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The flag would outlive the file, and affect the next user of this loop device.
        let _ = Command::new("blockdev").args(["--setrw", &self.node]).status();
        let _ = Command::new("losetup").args(["--detach", &self.node]).status();
    }
}
