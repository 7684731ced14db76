//! Cleanup records in odd states: of version 0.1, cut off, with things that no run makes; and images without any record.
//! In: records and files that were written by hand. Out: assertions on what is removed, and on what stays.
//! Without root there are no images and no records of them; the tests then print this and pass.

mod common;

use common::{Bench, by_id, clean, first_version, root, survey};
use staging::Where;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use system::Sysfs as _;

#[test]
fn an_image_without_a_record_is_left_alone_and_reported_once() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let target = folder.join("target");
    std::fs::write(&target, "precious").expect("written");
    let image = folder.join("bakeoff-0123abcd-1.img");
    std::fs::write(&image, vec![0; 1 << 20]).expect("written");
    symlink(&target, folder.join("bakeoff-0123abcd-2.img")).expect("linked");
    std::fs::create_dir(folder.join("bakeoff-0123abcd-3.img")).expect("made");
    std::fs::write(folder.join("bakeoff-backup.img"), "mine").expect("written");
    let found = survey(folder);
    assert!(found.leftovers.iter().all(|leftover| leftover.id != "0123abcd"), "{found:?}");
    let strangers: Vec<_> = found.strangers.into_iter().filter(|one| one.path.starts_with(folder)).collect();
    assert_eq!(strangers.len(), 3, "{strangers:?}");
    assert!(strangers.iter().all(|one| one.why.contains("no record")), "{strangers:?}");
    assert_eq!(staging::first_seen(strangers.clone()).len(), 3);
    assert_eq!(staging::first_seen(strangers.clone()).len(), 0, "reported once");
    let remembered = || std::fs::read_to_string("/var/lib/bakeoff/marks/reported").unwrap_or_default();
    let vanished = folder.join("bakeoff-0123abcd-3.img");
    assert!(remembered().contains(&vanished.display().to_string()));
    std::fs::remove_dir(&vanished).expect("removed");
    staging::first_seen(Vec::new());
    assert!(!remembered().contains(&vanished.display().to_string()), "what has vanished is forgotten");
    assert!(remembered().contains(&image.display().to_string()), "what has not is remembered");
    assert_eq!(std::fs::read_to_string(&target).expect("there"), "precious");
    assert!(image.exists());
    let gone = folder.to_owned();
    drop(bench);
    staging::first_seen(Vec::new());
    assert!(!remembered().contains(&gone.display().to_string()), "nothing of this test stays in the state folder");
}

#[test]
fn a_mark_of_the_first_version_is_cleaned_where_its_path_is_still_a_plain_file() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let image = |number: u32| folder.join(format!("bakeoff-0a0b0c0d-{number}.img"));
    let target = folder.join("target");
    std::fs::write(&target, "precious").expect("written");
    std::fs::write(image(1), "an image").expect("written");
    symlink(&target, image(2)).expect("linked");
    std::fs::write(folder.join("precious.img"), "precious").expect("written");
    let entry = |path: &Path| format!(r#"{{"kind": "image", "path": "{}"}}"#, path.display());
    let all = [entry(&image(1)), entry(&image(2)), entry(&folder.join("precious.img"))].join(",");
    let mark = first_version("0a0b0c0d", &all);
    let cleaned = clean(&by_id("0a0b0c0d", folder), &bench);
    assert_eq!(cleaned[0].left_alone.len(), 2, "{cleaned:?}");
    assert!(!image(1).exists() && image(2).is_symlink() && !mark.exists());
    for kept in [target, folder.join("precious.img")] {
        assert_eq!(std::fs::read_to_string(kept).expect("there"), "precious");
    }
}

/// A container that is killed during a checkpoint loses its mounts, and leaves the filesystem frozen.
#[test]
fn a_filesystem_that_is_frozen_and_mounted_nowhere_is_thawed_and_its_image_removed() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let image = folder.join("bakeoff-0a0b0c11-1.img");
    let script = r#"truncate -s 64M "$1" && mkfs.ext4 -q "$1" && mkdir "$2" && node=$(losetup --find --show "$1") &&
        mount "$node" "$2" && fsfreeze --freeze "$2""#;
    let frozen = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        .args([&image, &folder.join("mnt")])
        .status();
    assert!(frozen.expect("unshare is there").success());
    first_version("0a0b0c11", &format!(r#"{{"kind": "image", "path": "{}"}}"#, image.display()));
    let cleaned = clean(&by_id("0a0b0c11", folder), &bench);
    assert!(cleaned[0].problems.is_empty(), "{cleaned:?}");
    assert!(!image.exists());
    assert!(system::BlockDevice::all().iter().all(|device| device.backing_file.as_deref() != Some(&image)));
}

#[test]
fn a_mark_that_cannot_be_read_stops_nothing_and_is_forgotten_by_hand() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let mark = first_version("0a0b0c0f", "");
    std::fs::write(&mark, "{ cut off").expect("written");
    let found = by_id("0a0b0c0f", folder);
    assert_eq!(found.len(), 1);
    let cleaned = clean(&found, &bench);
    assert!(cleaned[0].problems[0].contains("--forget 0a0b0c0f"), "{cleaned:?}");
    let forgotten = staging::forget("0a0b0c0f", &[folder.into()]).expect("no process uses it");
    assert!(forgotten[0].contains("could not be read"), "{forgotten:?}");
    assert!(!mark.exists() && by_id("0a0b0c0f", folder).is_empty());
    let error = staging::forget("0a0b0c0f", &[folder.into()]).expect_err("it is gone").to_string();
    assert!(error.contains("no leftovers of that run"), "{error}");
    staging::forget("../../etc/passwd", &[folder.into()]).expect_err("a name that leads elsewhere");
}

#[test]
fn a_process_that_merely_has_the_id_of_a_server_is_not_ended() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut bystander = Command::new("sleep").arg("300").spawn().expect("it starts");
    let process = system::process::Process::of(bystander.id()).expect("it runs");
    let made = format!(
        r#"{{"kind": "daemon", "process": {{"pid": {}, "started": {}}}}}, {{"kind": "setting", "path": "/etc/hostname", "was": "x"}},
           {{"kind": "folder", "path": "/run"}}, {{"kind": "work", "path": "{}"}}"#,
        process.pid,
        process.started,
        bench.folder.path().display()
    );
    first_version("0a0b0c10", &made);
    let cleaned = clean(&by_id("0a0b0c10", bench.folder.path()), &bench);
    assert!(process.lives() && bench.folder.path().is_dir());
    assert_eq!((cleaned[0].left_alone.len(), cleaned[0].problems.len()), (3, 0), "{cleaned:?}");
    bystander.kill().expect("ours");
    bystander.wait().expect("gone");
}

#[test]
fn a_scratch_folder_that_is_none_is_refused_and_leaves_nothing_behind() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let file = bench.folder.path().join("a-file");
    std::fs::write(&file, "mine").expect("written");
    let error = bench.open(&Where::Image { bytes: 64 << 20, folder: file }).expect_err("a file").to_string();
    assert!(error.contains("is not a folder") || error.contains("it is not a folder"), "{error}");
    let own = survey(bench.folder.path()).leftovers.into_iter().find(|one| one.pid == Some(std::process::id()));
    assert_eq!(own, None);
}
