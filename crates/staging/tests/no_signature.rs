//! What needs `--erase` even without a known signature: data, neighbours in use; and the names that `--erase` accepts.
//! In: loop devices in place of disks with raw data, partitions and second copies. Out: refusals that name the word which allows it.
//! What Bakeoff itself leaves on a device needs no `--erase` the next time.

mod common;

use common::{Attached, Bench, Disk, Helper, MIB, Mounted, partitioned, root, run, write_at};
use staging::{StagingError, Where};
use std::path::Path;

fn refusal(place: &Where) -> String {
    let error = Bench::new().open(place).map(drop).expect_err("it must not be taken");
    assert!(matches!(error, StagingError::Refused { .. }), "{error}");
    error.to_string()
}

fn named(path: &Path, word: &str) -> Where {
    Where::Device { path: path.into(), erase: Some(word.into()) }
}

#[test]
fn data_without_a_signature_needs_the_word_wherever_it_lies_that_is_looked_at() {
    if !root() {
        return;
    }
    let disk = Disk::new("raw", 300);
    drop(Bench::new().open(&disk.place()).expect("zeros everywhere"));
    for at in [0, 4096, 300 * MIB - 1, 300 * MIB / 65 / MIB * MIB * 7 + 12_345, 128 * MIB + 1024] {
        write_at(&disk.path, at, b"x");
        let text = refusal(&disk.place());
        assert!(text.contains("holds data") && text.contains(&disk.by_id), "{at}: {text}");
        drop(Bench::new().open(&disk.erased()).expect("its owner named it"));
        write_at(&disk.path, at, &[0]);
    }
    drop(Bench::new().open(&disk.place()).expect("zeros again"));
}

#[test]
fn a_filesystem_of_which_only_second_copies_are_left_needs_the_word() {
    if !root() {
        return;
    }
    for (name, mib) in [("ext4", 300), ("xfs", 400), ("btrfs", 300)] {
        let disk = Disk::new(&format!("copies-{name}"), mib);
        run(&[&format!("mkfs.{name}"), "-q", "-L", "precious", &disk.text()]);
        run(&["wipefs", "--all", "--quiet", &disk.text()]);
        write_at(&disk.path, 0, &vec![0; MIB as usize]);
        let text = refusal(&disk.place());
        assert!(text.contains("holds data") || text.contains("carries"), "{name}: {text}");
    }
}

#[test]
fn a_formatted_device_is_emptied_and_the_next_run_needs_no_word() {
    if !root() {
        return;
    }
    let disk = Disk::new("again", 400);
    for name in ["xfs", "btrfs", "ext4", "ext2"] {
        let bench = Bench::new();
        let mut target = bench.open(&disk.place()).unwrap_or_else(|error| panic!("before {name}: {error}"));
        for _ in 0..2 {
            let stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            std::fs::write(stage.root().join("file"), vec![0xa5; 8 << 20]).expect("written");
            stage.close().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert_eq!(run(&["wipefs", &disk.text()]), "");
}

#[test]
fn a_mounted_sibling_needs_the_word_and_is_named() {
    if !root() {
        return;
    }
    let (_disk, parts) = partitioned("sibling", 0x1234_abcd, &[32, 32]);
    run(&["mkfs.ext4", "-q", &parts[0].display().to_string()]);
    let folder = tempfile::tempdir().expect("a folder");
    let mounted = Mounted::new(&[&parts[0].display().to_string()], &folder.path().join("m"));
    let free = Where::Device { path: parts[1].clone(), erase: None };
    let text = refusal(&free);
    let sibling = parts[0].display().to_string();
    assert!(text.contains(&sibling) && text.contains("is mounted on") && text.contains("1234abcd-02"), "{text}");
    // The sibling's name does not name this one.
    assert!(refusal(&named(&parts[1], "1234abcd-01")).contains("does not name it"));
    for word in ["1234abcd-02", "1234ABCD-02", "PARTUUID=1234abcd-02"] {
        drop(Bench::new().open(&named(&parts[1], word)).unwrap_or_else(|error| panic!("{word}: {error}")));
    }
    drop(mounted);
    drop(Bench::new().open(&free).expect("its sibling is at rest"));
}

#[test]
fn a_whole_disk_that_a_process_has_open_needs_the_word_for_its_partition() {
    if !root() {
        return;
    }
    let (disk, parts) = partitioned("open-disk", 0x1234_abce, &[32, 32]);
    let _opener = Helper::new(&format!("exec 3<{}", disk.text()));
    let text = refusal(&Where::Device { path: parts[1].clone(), erase: None });
    assert!(text.contains(&disk.text()) && text.contains("is opened by process"), "{text}");
    drop(Bench::new().open(&named(&parts[1], "1234abce-02")).expect("its owner named it"));
}

#[test]
fn a_loop_device_is_named_by_its_file_whatever_its_path_and_by_no_other() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [image, other, link] = ["image", "other", "link"].map(|name| folder.path().join(name));
    for path in [&image, &other] {
        std::fs::File::create(path).and_then(|file| file.set_len(32 * MIB)).expect("sparse");
    }
    std::os::unix::fs::symlink(&image, &link).expect("linked");
    let device = Attached::new(&image, &[]);
    write_at(&device.0, 5 * MIB, b"a raw database");
    assert!(refusal(&device.place()).contains(&format!("--erase {}", image.display())));
    assert!(refusal(&named(&device.0, &other.display().to_string())).contains("does not name it"));
    assert!(refusal(&named(&device.0, "image")).contains("does not name it"));
    for word in [&image, &link] {
        drop(Bench::new().open(&named(&device.0, &word.display().to_string())).expect("it is this file"));
    }
    // Another loop device on the same file has the same name.
    let _beside = Attached::new(&image, &["--offset", "67108864"]);
}

#[test]
fn a_lock_names_the_process_that_holds_it_and_none_that_is_gone() {
    if !root() {
        return;
    }
    let disk = Disk::new("stale", 32);
    let lock = format!("/run/bakeoff/locks/{}.lock", disk.path.file_name().expect("named").to_string_lossy());
    std::fs::create_dir_all("/run/bakeoff/locks").expect("made");
    // Content by an earlier holder does not identify the present one.
    std::fs::write(&lock, "999999").expect("written");
    let holder = Helper::under(&["flock", "--no-fork", &lock, "sh"], "true");
    let error = Bench::new().open(&disk.place()).map(drop).expect_err("held");
    let text = error.to_string();
    assert!(matches!(error, StagingError::Busy { .. }) && !text.contains("999999"), "{text}");
    assert!(text.contains("process "), "{text}");
    drop(holder);
}
