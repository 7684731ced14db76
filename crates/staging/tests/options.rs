//! Options requested by axes: written in the form of each mkfs, read back, and restored afterwards, whatever happens.
//! In: images, and loop devices in place of real disks. Out: assertions on what was found and what was left.
//! Without root nothing can be formatted; the tests then print this and pass.

mod common;

use common::{Bench, Disk, read_file, root, write_file};
use records::ColdWay;
use staging::{Contender, OptionFound};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn with(bench: &Bench, name: &str, settings: &[(&str, &str)], mount: &str) -> Contender {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Contender { mkfs_settings: settings, mount: mount.into(), ..bench.contender(name) }
}

fn found(options: &[OptionFound], asked: &str) -> String {
    let one = options.iter().find(|one| one.asked == asked);
    let one = one.unwrap_or_else(|| panic!("{asked} is not among {options:#?}"));
    one.found.clone().unwrap_or_default()
}

#[test]
fn named_settings_are_made_and_read_back() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(400)).expect("an image");
    let xfs = with(&bench, "xfs", &[("rmapbt", "1"), ("reflink", "off"), ("agcount", "6")], "logbsize=256k,noatime");
    let stage = target.stage(&xfs).unwrap_or_else(|error| panic!("{error}"));
    let options = stage.found().options.clone();
    assert_eq!(found(&options, "mkfs -m rmapbt=1"), "rmapbt=1");
    assert_eq!(found(&options, "mkfs -m reflink=0"), "reflink=0");
    assert_eq!(found(&options, "mkfs -d agcount=6"), "agcount=6");
    assert_eq!(found(&options, "mount logbsize=256k"), "logbsize=256k");
    assert_eq!(found(&options, "mount noatime"), "noatime");
    stage.close().expect("closed");

    let ext4 = with(&bench, "ext4", &[("block_size", "1024"), ("has_journal", "off"), ("inode_size", "512")], "");
    let stage = target.stage(&ext4).unwrap_or_else(|error| panic!("{error}"));
    let options = stage.found().options.clone();
    assert_eq!(found(&options, "mkfs -b 1024"), "Block size 1024");
    assert_eq!(found(&options, "mkfs -O ^has_journal"), "no has_journal");
    assert_eq!(found(&options, "mkfs -I 512"), "Inode size 512");
    stage.close().expect("closed");

    let btrfs =
        with(&bench, "btrfs", &[("csum", "xxhash"), ("no-holes", "off"), ("metadata", "single")], "compress=zstd");
    let stage = target.stage(&btrfs).unwrap_or_else(|error| panic!("{error}"));
    let options = stage.found().options.clone();
    assert_eq!(found(&options, "mkfs --csum xxhash"), "csum_type xxhash");
    assert_eq!(found(&options, "mkfs -O ^no-holes"), "no NO_HOLES");
    assert_eq!(found(&options, "mkfs -m single"), "Metadata single");
    assert_eq!(found(&options, "mount compress=zstd"), "compress=zstd:3");
    stage.close().expect("closed");
}

#[test]
fn a_folder_that_the_filesystem_encrypts_has_its_policy_and_is_readable_after_a_cold_start() {
    if !root() {
        return;
    }
    if system::command::find_program("xfs_io").is_none() {
        prerequisites::leave_out("xfs_io", "xfs_io is not installed (apt-get install xfsprogs)");
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    target.start_cold_by(ColdWay::Remount);
    let ext4 = with(&bench, "ext4", &[("encrypt", "on")], "");
    let mut stage = target.stage(&ext4).unwrap_or_else(|error| panic!("{error}"));
    let options = stage.found().options.clone();
    assert_eq!(found(&options, "mkfs -O encrypt"), "encrypt");
    assert_eq!(found(&options, "encryption by the setting encrypt"), "AES-256-XTS");
    write_file(&stage, "file", 1 << 20);
    assert!(stage.drop_caches().expect("root may").mounted_anew, "with its key");
    assert_eq!(read_file(&stage, "file"), 1 << 20);
    stage.close().expect("closed");

    let plain = target.stage(&with(&bench, "ext4", &[("encrypt", "off")], "")).expect("without a key");
    assert!(plain.found().options.iter().all(|one| !one.asked.starts_with("encryption")));
    plain.close().expect("closed");
}

#[test]
fn a_setting_that_the_filesystem_does_not_know_is_refused_before_anything_is_made() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    let error = target.stage(&with(&bench, "ext4", &[("rmapbt", "1")], "")).expect_err("it is a setting of XFS");
    assert!(error.is_of_contender() && error.to_string().contains("block_size"), "{error}");
    assert_eq!(std::fs::read_dir(bench.folder.path()).expect("there").count(), 0);
}

#[test]
fn a_write_cache_that_is_off_only_in_the_kernel_loses_the_flushes_and_is_reported() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    let mut contender = bench.contender("ext4");
    contender.device.insert("write_cache".into(), "off".into());
    contender.device.insert("read_ahead".into(), "1M".into());
    let stage = target.stage(&contender).unwrap_or_else(|error| panic!("{error}"));
    let name = stage.device().expect("a loop device").name.clone();
    let options = stage.found().options.clone();
    assert_eq!(found(&options, "write_cache off"), "write through");
    assert_eq!(found(&options, "read_ahead 1M"), "1024");
    assert_eq!(stage.found().durability.flushes, Some(false));
    assert!(stage.found().remarks.iter().any(|remark| remark.contains("no flushes")), "{:?}", stage.found().remarks);
    stage.close().expect("closed");
    assert_eq!(queue(&name, "write_cache"), "write back");
    contender.device.insert("write_cache".into(), "perhaps".into());
    let error = target.stage(&contender).expect_err("neither on nor off");
    assert!(error.is_of_contender() && error.to_string().contains("on or off"), "{error}");
}

fn queue(disk: &str, setting: &str) -> String {
    let text = std::fs::read_to_string(Path::new("/sys/block").join(disk).join("queue").join(setting)).expect("there");
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.unwrap_or(text.trim()).to_owned()
}

#[test]
fn settings_are_put_back_after_a_failure() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = Disk::new("settings", 100);
    let name = disk.path.file_name().expect("a name").to_string_lossy().into_owned();
    let before = (queue(&name, "scheduler"), queue(&name, "read_ahead_kb"), queue(&name, "nr_requests"));
    let mut target = bench.open(&disk.place()).unwrap_or_else(|error| panic!("{error}"));
    for (mkfs, mount) in [("no_such_feature", ""), ("dir_index", "no_such_option")] {
        let mut odd = bench.contender("ext4+bfq");
        odd.mkfs = vec!["-O".into(), mkfs.into()];
        odd.mount = mount.into();
        odd.device.insert("read_ahead".into(), "2M".into());
        odd.device.insert("requests".into(), "32".into());
        target.stage(&odd).expect_err("it is refused");
        let after = (queue(&name, "scheduler"), queue(&name, "read_ahead_kb"), queue(&name, "nr_requests"));
        assert_eq!(after, before);
    }
}

const VICTIM: &str = "BAKEOFF_TEST_OPTIONS_DEVICE";

/// Not a test by itself: the work of the process that is killed.
#[test]
fn victim() {
    let Ok(path) = std::env::var(VICTIM) else {
        return;
    };
    let bench = Bench::new();
    let place = staging::Where::Device { path: path.into(), erase: None };
    let mut target = bench.open(&place).expect("opened");
    let stage = target.stage(&bench.contender("ext4+bfq")).expect("staged");
    std::thread::sleep(Duration::from_secs(60));
    stage.close().expect("closed");
}

#[test]
fn settings_are_put_back_by_cleaning_after_a_kill() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = Disk::new("killed-settings", 100);
    let name = disk.path.file_name().expect("a name").to_string_lossy().into_owned();
    let before = queue(&name, "scheduler");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["victim", "--exact", "--test-threads=1"]).env(VICTIM, &disk.path);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let end = Instant::now() + Duration::from_secs(30);
    while queue(&name, "scheduler") != "bfq" && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    let set = queue(&name, "scheduler");
    child.kill().expect("ours");
    child.wait().expect("gone");
    assert_eq!(set, "bfq", "it was never set");
    let found = staging::survey(&[PathBuf::from(bench.folder.path())]).expect("the marks can be read").leftovers;
    let ours: Vec<_> = found.into_iter().filter(|leftover| leftover.pid == Some(child.id())).collect();
    assert!(ours.iter().any(|leftover| leftover.what.iter().any(|what| what.contains("scheduler was"))), "{ours:?}");
    for cleaned in staging::clean(&ours, &bench.journal) {
        assert!(cleaned.problems.is_empty(), "{cleaned:?}");
    }
    assert_eq!(queue(&name, "scheduler"), before);
}
