//! Cleaning after kill -9: the next start finds what was left by its cleanup record, and removes that and nothing else.
//! In: this test program itself, started again to stage something and then be killed. Out: a clean machine.
//! The moments of killing are spread over setup, work and teardown.

mod common;

use common::{Bench, Disk, by_id, clean, first_version, root, survey};
use staging::{Leftover, Where};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use system::Sysfs as _;

const FOLDER: &str = common::VICTIM;
const FILESYSTEM: &str = "BAKEOFF_TEST_FILESYSTEM";
const DEVICE: &str = "BAKEOFF_TEST_DEVICE";

/// Not a test by itself: the loop that the killed process runs.
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
    let mut target = bench.open(&place).expect("opened");
    loop {
        let mut stage = target.stage(&bench.contender(&name)).expect("staged");
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

fn kill_after(child: Child, milliseconds: u64) -> u32 {
    std::thread::sleep(Duration::from_millis(milliseconds));
    kill(child)
}

/// Kills a run that is still working. A child that it was starting holds its locks until exec. This waits for the child before the killed
/// process is reaped, since the kernel shows no locks of a process that is gone.
fn kill(mut child: Child) -> u32 {
    assert!(child.try_wait().expect("ours").is_none(), "it was still at work");
    child.kill().expect("ours");
    let holds = |line: &str| line.split_whitespace().nth(4).is_some_and(|pid| pid == child.id().to_string());
    let held = || std::fs::read_to_string("/proc/locks").expect("read").lines().any(holds);
    let free = (0..1000).any(|_| {
        let free = !held();
        if !free {
            std::thread::sleep(Duration::from_millis(10));
        }
        free
    });
    child.wait().expect("gone");
    assert!(free, "a process of run {} holds its locks for ever", child.id());
    child.id()
}

fn of(pid: u32, folder: &Path) -> Vec<Leftover> {
    survey(folder).leftovers.into_iter().filter(|leftover| leftover.pid == Some(pid)).collect()
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
        // Uneven steps, so that setup, work and teardown are all hit.
        let pid = kill_after(start(folder, filesystem, None), 90 + 137 * round as u64);
        let found = of(pid, folder);
        for cleaned in staging::clean(&found, &bench.journal) {
            assert!(cleaned.problems.is_empty(), "{filesystem}: {cleaned:?}");
        }
        assert!(of(pid, folder).is_empty());
        for leftover in &found {
            nothing_of(&leftover.id, folder);
        }
    }
}

fn nothing_of(id: &str, folder: &Path) {
    let run = Path::new("/run/bakeoff").join(id);
    // A run that another test or user starts meanwhile cleans too; wait for it.
    for _ in 0..200 {
        if !run.exists() && std::fs::read_dir(folder).expect("there").next().is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!run.exists());
    let images: Vec<_> = std::fs::read_dir(folder).expect("there").flatten().map(|entry| entry.path()).collect();
    assert!(images.is_empty(), "{images:?}");
    let attached = system::BlockDevice::all()
        .into_iter()
        .any(|device| device.backing_file.is_some_and(|file| file.starts_with(folder)));
    assert!(!attached);
    assert!(
        !system::mounts::everywhere().iter().any(|mount| mount.point.starts_with(Path::new("/run/bakeoff").join(id)))
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
        for cleaned in staging::clean(&of(pid, bench.folder.path()), &bench.journal) {
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
    let mut target = bench.open(&bench.image(64)).expect("an image");
    let stage = target.stage(&bench.contender("ext4")).expect("staged");
    assert!(of(std::process::id(), bench.folder.path()).is_empty());
    assert!(survey(bench.folder.path()).strangers.iter().all(|one| !one.path.starts_with(bench.folder.path())));
    assert!(stage.root().exists());
    stage.close().expect("closed");
}

/// Leftovers of a run that was killed with an image attached: its process, and the image.
fn killed_with_image(folder: &Path) -> (u32, PathBuf) {
    let child = start(folder, "ext4", None);
    let image = (0..5000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        let attached = system::BlockDevice::all().into_iter().filter_map(|device| device.backing_file);
        attached.into_iter().find(|file| file.starts_with(folder) && file.exists())
    });
    (kill(child), image.expect("it attached an image"))
}

fn cleaned_well(found: &[Leftover], bench: &Bench) {
    for cleaned in clean(found, bench) {
        assert!(cleaned.problems.is_empty(), "{cleaned:?}");
    }
}

/// Unmounts the mounts of a run, as the end of its mount namespace would.
fn unmount_of(id: &str) {
    let folder = Path::new("/run/bakeoff").join(id);
    for mount in system::mounts::here().into_iter().filter(|mount| mount.point.starts_with(&folder)) {
        common::run(&["umount", &mount.point.display().to_string()]);
    }
}

/// Removes the cleanup record of a run, as if its container was gone with its state folder.
fn lose_mark(id: &str) {
    for ending in ["json", "lock"] {
        let _ = std::fs::remove_file(format!("/var/lib/bakeoff/marks/{id}.{ending}"));
    }
}

#[test]
fn an_image_whose_mark_was_lost_is_known_by_the_record_beside_it() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let (pid, image) = killed_with_image(folder);
    let found = of(pid, folder);
    unmount_of(&found[0].id);
    lose_mark(&found[0].id);
    let recorded = of(pid, folder);
    assert_eq!(recorded.len(), 1, "{recorded:?}");
    cleaned_well(&recorded, &bench);
    assert!(!image.exists());
    assert_eq!(std::fs::read_dir(folder).expect("there").count(), 0, "nor is the record left");
    let _ = std::fs::remove_dir_all(format!("/run/bakeoff/{}", found[0].id));
}

#[test]
fn a_file_put_in_the_place_of_a_killed_runs_image_stays() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    for kind in ["file", "folder", "link"] {
        let (pid, image) = killed_with_image(folder);
        let elsewhere = folder.join(format!("moved-{kind}"));
        std::fs::rename(&image, &elsewhere).expect("moved");
        let target = folder.join("target");
        std::fs::write(&target, "precious").expect("written");
        match kind {
            "file" => std::fs::write(&image, "precious").expect("written"),
            "folder" => std::fs::create_dir(&image).expect("made"),
            _ => symlink(&target, &image).expect("linked"),
        }
        let cleaned = clean(&of(pid, folder), &bench);
        let text = format!("{cleaned:?}");
        assert!(text.contains("is not the image that run"), "{kind}: {text}");
        assert!(of(pid, folder).is_empty(), "{kind}: it is reported once and stops no run");
        assert!(image.symlink_metadata().is_ok() && elsewhere.exists(), "{kind}");
        assert_eq!(std::fs::read_to_string(&target).expect("there"), "precious");
        let on_it = |device: &system::BlockDevice| device.backing_file.as_ref().is_some_and(|file| *file == elsewhere);
        assert!(!system::BlockDevice::all().iter().any(on_it), "{kind}: the renamed image has a loop device");
    }
}

#[test]
fn loop_devices_of_an_image_that_was_renamed_are_found_without_its_mark() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let (pid, image) = killed_with_image(folder);
    let found = of(pid, folder);
    unmount_of(&found[0].id);
    lose_mark(&found[0].id);
    let elsewhere = folder.join("renamed");
    std::fs::rename(&image, &elsewhere).expect("renamed");
    std::fs::write(&image, "precious").expect("written");
    let recorded = of(pid, folder);
    assert!(format!("{recorded:?}").contains("on the image that was"), "{recorded:?}");
    let cleaned = clean(&recorded, &bench);
    assert!(cleaned[0].problems.is_empty() && !cleaned[0].left_alone.is_empty(), "{cleaned:?}");
    assert_eq!(std::fs::read_to_string(&image).expect("there"), "precious");
    let on_it = |device: &system::BlockDevice| device.backing_file.as_ref().is_some_and(|file| *file == elsewhere);
    assert!(!system::BlockDevice::all().iter().any(on_it), "it has a loop device");
    assert!(of(pid, folder).is_empty());
    let _ = std::fs::remove_dir_all(format!("/run/bakeoff/{}", found[0].id));
}

#[test]
fn an_image_that_is_mounted_elsewhere_is_set_aside_until_it_is_free() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let images = folder.join("images");
    std::fs::create_dir(&images).expect("made");
    let (pid, image) = killed_with_image(&images);
    let found = of(pid, &images);
    unmount_of(&found[0].id);
    // Another user mounts what the dead run left; its mkfs may need a moment to end.
    let path = image.display().to_string();
    let node = common::run(&["losetup", "--noheadings", "--output", "NAME", "--associated", &path]).trim().to_string();
    let made = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        system::Command::new(["mkfs.ext2", "-q", "-F", &node]).run(&bench.journal).is_ok()
    });
    assert!(made, "{node} never became free");
    let point = folder.join("looking");
    let mounted = common::Mounted::new(&[&node], &point);
    std::fs::write(point.join("notes"), "precious").expect("written");
    let cleaned = clean(&found, &bench);
    let problems = format!("{:?}", cleaned[0].problems);
    assert!(problems.contains("is in use") && problems.contains(&point.display().to_string()), "{problems}");
    assert_eq!(std::fs::read_to_string(point.join("notes")).expect("there"), "precious");
    assert!(image.exists());
    let again = of(pid, &images);
    assert_eq!(again.len(), 1, "it is tried again");
    assert!(!again[0].problems.is_empty(), "and known why");
    drop(mounted);
    // A mount namespace that another test made in between has a copy of the mount while it exists.
    let freed = (0..600).any(|_| {
        let problems = clean(&again, &bench).into_iter().flat_map(|cleaned| cleaned.problems).collect::<Vec<_>>();
        assert!(problems.iter().all(|problem| problem.contains("is in use")), "{problems:?}");
        if !problems.is_empty() {
            std::thread::sleep(Duration::from_millis(100));
        }
        problems.is_empty()
    });
    assert!(freed, "what was mounted is in use for ever");
    assert!(!image.exists() && of(pid, &images).is_empty());
}

/// A mount namespace with a state folder of its own, as a container has; with a PID namespace if requested.
fn in_container(folder: &Path, own_processes: bool) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    if own_processes {
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    }
    let script = r#"mkdir -p "$STATE" /var/lib/bakeoff && mount --bind "$STATE" /var/lib/bakeoff && exec "$0" "$@""#;
    command.args(["sh", "-c", script]).arg(std::env::current_exe().expect("this program"));
    command.args(["victim", "--exact", "--test-threads=1"]).env(FOLDER, folder).env(FILESYSTEM, "ext4");
    command.env("STATE", folder.with_extension("state"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn images_of_another_container_that_shares_the_folder_are_left_alone_while_it_lives_and_removed_after() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    for own_processes in [false, true] {
        let mut child = in_container(folder, own_processes).spawn().expect("it starts");
        let mut seen = 0;
        for _ in 0..400 {
            std::thread::sleep(Duration::from_millis(5));
            seen += usize::from(std::fs::read_dir(folder).expect("there").next().is_some());
            let found = survey(folder);
            assert!(!format!("{found:?}").contains(&folder.display().to_string()), "{found:?}");
        }
        assert!(seen > 0, "it made no image");
        child.kill().expect("ours");
        child.wait().expect("gone");
        // Its processes and mounts end later: what is still in use stays recorded, and is tried again.
        let mut cleaned = Vec::new();
        for _ in 0..100 {
            let found = survey(folder).leftovers;
            let left: Vec<_> =
                found.into_iter().filter(|one| format!("{one:?}").contains(&folder.display().to_string())).collect();
            cleaned.extend(clean(&left, &bench));
            if std::fs::read_dir(folder).expect("there").next().is_none() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let images: Vec<_> = std::fs::read_dir(folder).expect("there").flatten().collect();
        assert!(images.is_empty(), "{images:?}: {cleaned:?}");
    }
    // A container would have a /run of its own, which ends with it.
    let state = folder.with_extension("state");
    for mark in std::fs::read_dir(state.join("marks")).expect("there").flatten() {
        let id = mark.path().file_stem().expect("an id").to_owned();
        let _ = system::Command::new(["rm", "-r", &Path::new("/run/bakeoff").join(id).display().to_string()])
            .run(&bench.journal);
    }
    let _ = std::fs::remove_dir_all(state);
}

#[test]
fn several_cleaners_at_once_do_not_disturb_each_other() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    for _ in 0..3 {
        let (pid, _) = killed_with_image(folder);
        let found = of(pid, folder);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| cleaned_well(&found, &bench));
            }
        });
        // One cleaner may have met something that another was just removing, and left it for the next time.
        cleaned_well(&of(pid, folder), &bench);
        assert!(of(pid, folder).is_empty());
        found.iter().for_each(|leftover| nothing_of(&leftover.id, folder));
    }
}

#[test]
fn a_run_that_lives_is_known_by_its_lock_where_its_process_cannot_be_seen() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(64)).expect("an image");
    let stage = target.stage(&bench.contender("ext4")).expect("staged");
    let id = stage.found().filesystem.clone();
    assert_eq!(id, "ext4");
    // Another PID namespace with the same state folder: our processes are not visible there.
    let this = std::env::current_exe().expect("this program");
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc"])
        .arg(this)
        .args(["cleaner", "--exact", "--test-threads=1", "--nocapture"])
        .env(FOLDER, bench.folder.path())
        .env("BAKEOFF_TEST_CLEANER", "1")
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(stage.root().exists(), "it is still mounted");
    stage.close().expect("closed");
}

/// Not a test by itself: cleans everything that it considers left over in its folder, and expects nothing there.
#[test]
fn cleaner() {
    let (Ok(folder), Ok(_)) = (std::env::var(FOLDER), std::env::var("BAKEOFF_TEST_CLEANER")) else {
        return;
    };
    let found = survey(Path::new(&folder)).leftovers;
    let here: Vec<_> = found.into_iter().filter(|one| format!("{one:?}").contains(&folder)).collect();
    assert!(here.is_empty(), "{here:?}");
}

#[test]
fn a_leftover_that_cannot_be_removed_stops_nothing_else_and_is_tried_again() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let read_only = folder.join("read-only");
    let mounted = common::Mounted::new(&["-t", "tmpfs", "tmpfs"], &read_only);
    let image = read_only.join("bakeoff-0a0b0c0e-1.img");
    std::fs::write(&image, "an image").expect("written");
    common::run(&["mount", "-o", "remount,ro", &read_only.display().to_string()]);
    let file = folder.join("a-file");
    std::fs::write(&file, "mine").expect("written");
    let made = [image.clone(), file.join("bakeoff-0a0b0c0e-2.img"), folder.join("gone/bakeoff-0a0b0c0e-3.img")]
        .map(|path| format!(r#"{{"kind": "image", "path": "{}"}}"#, path.display()))
        .join(",");
    let mark = first_version("0a0b0c0e", &made);
    let (pid, other) = killed_with_image(folder);
    let mut found = by_id("0a0b0c0e", folder);
    found.extend(of(pid, folder));
    let cleaned = clean(&found, &bench);
    assert_eq!(cleaned[0].problems.len(), 1, "only the read-only one remains: {cleaned:?}");
    assert!(cleaned[0].problems[0].contains("Read-only file system"), "{cleaned:?}");
    assert!(cleaned[1].problems.is_empty() && !other.exists(), "the others are removed all the same");
    let again = by_id("0a0b0c0e", folder);
    assert_eq!((again.len(), again[0].what.len()), (1, 1), "{again:?}");
    common::run(&["mount", "-o", "remount,rw", &read_only.display().to_string()]);
    cleaned_well(&again, &bench);
    assert!(!image.exists() && !mark.exists() && file.exists());
    drop(mounted);
}

#[test]
fn forgetting_leaves_everything_where_it_is_and_is_refused_while_the_run_lives() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let mut target = bench.open(&bench.image(64)).expect("an image");
    let id = target.id().to_string();
    let stage = target.stage(&bench.contender("ext4")).expect("staged");
    let error = staging::forget(&id, &[folder.into()]).expect_err("it lives").to_string();
    assert!(error.contains("in use by another run"), "{error}");
    stage.close().expect("closed");
    drop(target);
    let (pid, image) = killed_with_image(folder);
    let id = of(pid, folder)[0].id.clone();
    let forgotten = staging::forget(&id, &[folder.into()]).expect("it is dead");
    assert!(forgotten.iter().any(|what| what.contains(&image.display().to_string())), "{forgotten:?}");
    assert!(image.exists() && of(pid, folder).is_empty());
    let strangers = survey(folder).strangers;
    assert!(strangers.iter().any(|one| one.path == image), "from now on it has no owner: {strangers:?}");
    unmount_of(&id);
    for device in system::BlockDevice::all() {
        if device.backing_file.is_some_and(|file| file == image) {
            common::run(&["losetup", "--detach", &device.path.display().to_string()]);
        }
    }
    let _ = std::fs::remove_dir_all(format!("/run/bakeoff/{id}"));
}

#[test]
fn a_filesystem_that_was_left_frozen_is_thawed_and_removed() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let (pid, _) = killed_while_frozen(start(folder, "ext4", None), &bench);
    let found = of(pid, folder);
    for cleaned in staging::clean(&found, &bench.journal) {
        assert!(cleaned.problems.is_empty(), "{cleaned:?}");
        nothing_of(&cleaned.id, folder);
    }
}

#[test]
fn a_real_device_whose_mount_went_while_it_was_frozen_is_thawed_and_emptied() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let disk = Disk::new("frozen", 400);
    let (pid, point) = killed_while_frozen(start(folder, "ext4", Some(&disk.path)), &bench);
    // A run's mount goes with its namespace.
    common::run(&["umount", &point]);
    let found = of(pid, folder);
    assert!(!found.is_empty(), "the device is in its cleanup record");
    for cleaned in staging::clean(&found, &bench.journal) {
        assert!(cleaned.problems.is_empty(), "{cleaned:?}");
    }
    assert_eq!(common::run(&["wipefs", &disk.text()]).trim(), "", "the device is empty again");
    // mkfs needs it exclusively.
    common::run(&["mkfs.ext4", "-q", &disk.text()]);
}

/// Freezes the filesystem of a run as soon as it is mounted, and kills the run; returns its process id and the mount point.
fn killed_while_frozen(mut child: Child, bench: &Bench) -> (u32, String) {
    let mut frozen = None;
    for _ in 0..2000 {
        let point = of_living(child.id());
        frozen =
            point.filter(|point| system::Command::new(["fsfreeze", "--freeze", point]).run(&bench.journal).is_ok());
        if frozen.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("ours");
    child.wait().expect("gone");
    (child.id(), frozen.expect("it was mounted"))
}

/// The mountpoint of a process's stage, by its cleanup record.
fn of_living(pid: u32) -> Option<String> {
    let marks = std::fs::read_dir("/var/lib/bakeoff/marks").ok()?;
    let text = marks.flatten().find_map(|entry| {
        let text = std::fs::read_to_string(entry.path()).ok()?;
        text.contains(&format!("\"pid\": {pid},")).then_some(text)
    })?;
    let id = text.split("\"id\": \"").nth(1)?.split('"').next()?.to_string();
    let point = PathBuf::from(format!("/run/bakeoff/{id}/mnt"));
    system::mounts::at(&point).map(|mount| mount.point.display().to_string())
}
