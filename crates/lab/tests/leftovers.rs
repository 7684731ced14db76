//! Cleaning after kill -9: the next start finds what was left by its mark, and removes that and nothing else.
//! In: this test program itself, started again to stage something and then be killed. Out: a clean machine.
//! The moments of killing are spread over staging, work and taking down.

mod common;

use common::{Bench, root};
use host::Sysfs as _;
use lab::{Leftover, Where};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FOLDER: &str = "BAKEOFF_TEST_FOLDER";
const FILESYSTEM: &str = "BAKEOFF_TEST_FILESYSTEM";
const DEVICE: &str = "BAKEOFF_TEST_DEVICE";

/// Not a test by itself: what the killed process does, over and over.
#[test]
fn victim() {
    let (Ok(folder), Ok(name)) = (std::env::var(FOLDER), std::env::var(FILESYSTEM)) else {
        return;
    };
    let bench = Bench::new();
    let image = Where::Image { bytes: 400 << 20, folder: folder.into() };
    let place = match std::env::var(DEVICE) {
        Ok(path) => Where::Device { path: path.into(), erase: None },
        Err(_) => image,
    };
    let mut ground = bench.open(&place).expect("opened");
    loop {
        let mut stage = ground.stage(&bench.contender(&name)).expect("staged");
        stage.drop_caches().expect("dropped");
        stage.close().expect("closed");
    }
}

fn start(folder: &Path, filesystem: &str, device: Option<&Path>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["victim", "--exact", "--test-threads=1"]).env(FOLDER, folder).env(FILESYSTEM, filesystem);
    if let Some(device) = device {
        command.env(DEVICE, device);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
}

fn kill_after(mut child: Child, milliseconds: u64) -> u32 {
    std::thread::sleep(Duration::from_millis(milliseconds));
    assert!(child.try_wait().expect("ours").is_none(), "it was still at work");
    child.kill().expect("ours");
    child.wait().expect("gone");
    child.id()
}

fn of(pid: u32, folder: &Path) -> Vec<Leftover> {
    let found = lab::leftovers(&[PathBuf::from(folder)]);
    found.into_iter().filter(|leftover| leftover.pid == Some(pid)).collect()
}

#[test]
fn whatever_moment_a_run_is_killed_in_its_traces_are_found_and_removed() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    for (round, filesystem) in
        ["ext4", "xfs", "zfs", "btrfs", "ext4", "zfs", "xfs+bfq", "ext4+kyber", "zfs", "zfs"].into_iter().enumerate()
    {
        // Uneven steps, so that staging, the work and the taking down are all hit.
        let pid = kill_after(start(folder, filesystem, None), 90 + 137 * round as u64);
        let found = of(pid, folder);
        for cleaned in lab::clean(&found, &bench.journal) {
            assert!(cleaned.problems.is_empty(), "{filesystem}: {cleaned:?}");
        }
        assert!(of(pid, folder).is_empty());
        for leftover in &found {
            nothing_of(&leftover.id, folder);
        }
    }
}

fn nothing_of(id: &str, folder: &Path) {
    assert!(!Path::new("/run/bakeoff").join(id).exists());
    let images: Vec<_> = std::fs::read_dir(folder).expect("there").flatten().map(|entry| entry.path()).collect();
    assert!(images.is_empty(), "{images:?}");
    let attached = host::BlockDevice::all()
        .into_iter()
        .any(|device| device.backing_file.is_some_and(|file| file.starts_with(folder)));
    assert!(!attached);
    assert!(
        !host::mounts::everywhere().iter().any(|mount| mount.point.starts_with(Path::new("/run/bakeoff").join(id)))
    );
}

#[test]
fn a_real_device_is_unmounted_and_emptied_and_can_be_taken_again_without_a_word() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = common::Disk::new("killed", 400);
    for (filesystem, milliseconds) in [("xfs", 400), ("zfs", 900), ("ext4", 250)] {
        let pid = kill_after(start(bench.folder.path(), filesystem, Some(&disk.path)), milliseconds);
        for cleaned in lab::clean(&of(pid, bench.folder.path()), &bench.journal) {
            assert!(cleaned.problems.is_empty(), "{cleaned:?}");
        }
        bench.open(&disk.place()).unwrap_or_else(|error| panic!("{filesystem}: {error}"));
    }
}

#[test]
fn a_run_that_lives_is_left_alone() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut ground = bench.open(&bench.image(64)).expect("an image");
    let stage = ground.stage(&bench.contender("ext4")).expect("staged");
    assert!(of(std::process::id(), bench.folder.path()).is_empty());
    assert!(lab::leftovers(&[bench.folder.path().into()]).iter().all(|leftover| leftover.pid.is_some()));
    assert!(stage.root().exists());
    stage.close().expect("closed");
}

#[test]
fn an_image_whose_mark_was_lost_is_known_by_its_name_and_others_are_not_touched() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let ours = folder.join("bakeoff-0123abcd-1.img");
    let theirs = folder.join("bakeoff-backup.img");
    for path in [&ours, &theirs] {
        std::fs::write(path, vec![0; 1 << 20]).expect("written");
    }
    let found: Vec<Leftover> =
        lab::leftovers(&[folder.into()]).into_iter().filter(|leftover| leftover.id == "0123abcd").collect();
    assert_eq!(found.len(), 1);
    assert!(lab::clean(&found, &bench.journal)[0].problems.is_empty());
    assert!(!ours.exists() && theirs.exists());
}

#[test]
fn a_filesystem_that_was_left_frozen_is_thawed_and_removed() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let mut child = start(folder, "ext4", None);
    let mut frozen = None;
    // Freeze it from outside as soon as it is mounted, and kill its owner then.
    for _ in 0..2000 {
        let point = of_living(child.id());
        frozen = point.filter(|point| host::Command::new(["fsfreeze", "--freeze", point]).run(&bench.journal).is_ok());
        if frozen.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("ours");
    child.wait().expect("gone");
    assert!(frozen.is_some(), "it was never mounted");
    let found = of(child.id(), folder);
    for cleaned in lab::clean(&found, &bench.journal) {
        assert!(cleaned.problems.is_empty(), "{cleaned:?}");
        nothing_of(&cleaned.id, folder);
    }
}

/// The mountpoint of a process's stage, told by the mark.
fn of_living(pid: u32) -> Option<String> {
    let marks = std::fs::read_dir("/var/lib/bakeoff/marks").ok()?;
    let text = marks.flatten().find_map(|entry| {
        let text = std::fs::read_to_string(entry.path()).ok()?;
        text.contains(&format!("\"pid\": {pid},")).then_some(text)
    })?;
    let id = text.split("\"id\": \"").nth(1)?.split('"').next()?.to_string();
    let point = PathBuf::from(format!("/run/bakeoff/{id}/mnt"));
    host::mounts::at(&point).map(|mount| mount.point.display().to_string())
}
