//! Custody: no device is formatted unless its owner named it.
//! In: loop devices in place of real disks, in every state that forbids touching them. Out: refusals with a reason.
//! Devices are compared by number, so that partitions, holders, symbolic links and bind mounts are recognized.

mod common;

use common::{Bench, Disk, Mounted, partition_table, partitioned, root, run};
use staging::{StagingError, Where};
use std::path::{Path, PathBuf};
use system::{Command, Journal, Sysfs as _};

/// The refusal, which must come before anything is written.
fn refusal(place: &Where) -> String {
    let bench = Bench::new();
    let error = bench.open(place).expect_err("it must not be taken");
    assert!(matches!(error, StagingError::Refused { .. }), "{error}");
    error.to_string()
}

fn device(path: impl AsRef<Path>, erase: Option<&str>) -> Where {
    Where::Device { path: path.as_ref().into(), erase: erase.map(str::to_string) }
}

#[test]
fn an_empty_device_is_taken_used_and_given_back_empty() {
    if !root() {
        return;
    }
    let disk = Disk::new("empty", 64);
    let bench = Bench::new();
    let mut target = bench.open(&disk.place()).expect("nothing is on it");
    for name in ["ext4", "ext2"] {
        let stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{error}"));
        assert!(stage.root().exists());
        stage.close().expect("closed");
    }
    drop(target);
    assert_eq!(run(&["wipefs", &disk.text()]), "");
}

#[test]
fn a_signature_needs_the_word_that_names_this_very_device() {
    if !root() {
        return;
    }
    let disk = Disk::new("signed", 64);
    run(&["mkfs.ext4", "-q", "-L", "precious", &disk.text()]);
    let text = refusal(&disk.place());
    assert!(text.contains("ext4") && text.contains("precious") && text.contains(&disk.by_id), "{text}");
    let text = refusal(&device(&disk.path, Some("another-disk")));
    assert!(text.contains("another-disk") && text.contains(&disk.by_id), "{text}");
    let text = refusal(&device(&disk.path, Some(&disk.text())));
    assert!(text.contains("does not name it"), "a name that a reboot can move is not enough: {text}");
    assert!(run(&["blkid", "--probe", &disk.text()]).contains("precious"), "nothing was touched");
    let bench = Bench::new();
    let mut target = bench.open(&disk.erased()).expect("its owner named it");
    target.stage(&bench.contender("ext4")).expect("staged").close().expect("closed");
}

#[test]
fn a_device_that_is_opened_but_not_staged_keeps_what_it_has() {
    if !root() {
        return;
    }
    let disk = Disk::new("kept", 64);
    run(&["mkfs.ext4", "-q", "-L", "precious", &disk.text()]);
    drop(Bench::new().open(&disk.erased()).expect("named"));
    assert!(run(&["blkid", "--probe", &disk.text()]).contains("precious"));
}

#[test]
fn a_mounted_device_is_refused_by_any_of_its_names() {
    if !root() {
        return;
    }
    let disk = Disk::new("mounted", 64);
    run(&["mkfs.ext4", "-q", &disk.text()]);
    let folder = tempfile::tempdir().expect("a folder");
    let mounted = Mounted::new(&[&disk.text()], &folder.path().join("m"));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&disk.path, &link).expect("linked");
    for path in [disk.path.clone(), link, Path::new("/dev/disk/by-id").join(&disk.by_id)] {
        let text = refusal(&device(path, Some(&disk.by_id)));
        assert!(text.contains("is mounted on"), "{text}");
    }
    // A node with another name and the same number.
    let node = PathBuf::from(format!("/dev/bakeoff-test-{}", std::process::id()));
    let number = system::BlockDevice::find(&disk.path).expect("there").number;
    run(&["mknod", &node.display().to_string(), "b", &number.major.to_string(), &number.minor.to_string()]);
    let text = refusal(&device(&node, None));
    std::fs::remove_file(&node).expect("removed");
    assert!(text.contains("is mounted on"), "{text}");
    // Only a bind mount of a folder on it is left.
    std::fs::create_dir(mounted.0.join("sub")).expect("made");
    let bind = Mounted::new(&["--bind", &mounted.0.join("sub").display().to_string()], &folder.path().join("b"));
    drop(mounted);
    let text = refusal(&device(&disk.path, Some(&disk.by_id)));
    assert!(text.contains(&bind.0.display().to_string()), "{text}");
}

#[test]
fn a_mount_in_another_namespace_is_seen() {
    if !root() {
        return;
    }
    let disk = Disk::new("elsewhere", 64);
    run(&["mkfs.ext4", "-q", &disk.text()]);
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!(
        "mount {} {} && touch {} && exec sleep 60",
        disk.text(),
        folder.path().display(),
        folder.path().join("../ready").display()
    );
    let ready = folder.path().parent().expect("/tmp").join("ready");
    let script = script.replace(
        &folder.path().join("../ready").display().to_string(),
        &format!("{}-{}", ready.display(), std::process::id()),
    );
    let ready = PathBuf::from(format!("{}-{}", ready.display(), std::process::id()));
    let mut child = std::process::Command::new("unshare").args(["-m", "sh", "-c", &script]).spawn().expect("started");
    for _ in 0..500 {
        if ready.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let refused = Bench::new().open(&device(&disk.path, Some(&disk.by_id))).map(|_| ());
    child.kill().expect("ours");
    child.wait().expect("gone");
    std::fs::remove_file(&ready).expect("it was there");
    let text = refused.expect_err("it is mounted").to_string();
    assert!(text.contains("mount namespace"), "{text}");
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_and_a_free_partition_is_not() {
    if !root() {
        return;
    }
    let (disk, parts) = partitioned("parts", 0, &[32]);
    let part = parts[0].clone();
    let text = refusal(&disk.place());
    assert!(text.contains("partition table"), "{text}");
    run(&["mkfs.ext4", "-q", "-L", "inner", &part.display().to_string()]);
    let folder = tempfile::tempdir().expect("a folder");
    let mounted = Mounted::new(&[&part.display().to_string()], &folder.path().join("m"));
    let text = refusal(&disk.erased());
    assert!(text.contains("is mounted on"), "{text}");
    drop(mounted);
    let text = refusal(&device(&part, None));
    assert!(text.contains("inner"), "{text}");
    run(&["blkdiscard", "--zeroout", &part.display().to_string()]);
    let bench = Bench::new();
    let mut target = bench.open(&device(&part, None)).expect("a free partition of a plain disk");
    target.stage(&bench.contender("ext2")).expect("staged").close().expect("closed");
    let error = bench.open(&disk.erased()).expect_err("a partition of it is in use by us");
    assert!(matches!(error, StagingError::Busy { .. } | StagingError::Refused { .. }), "{error}");
    drop(target);
    let mut now = [0; 512];
    std::io::Read::read_exact(&mut std::fs::File::open(&disk.path).expect("there"), &mut now).expect("read");
    assert_eq!(now, partition_table(0, &[32]), "the partition table is whole");
}

#[test]
fn swap_and_loop_members_are_refused() {
    if !root() {
        return;
    }
    let disk = Disk::new("swap", 64);
    run(&["mkswap", &disk.text()]);
    let text = refusal(&disk.place());
    assert!(text.contains("swap"), "{text}");
    run(&["swapon", &disk.text()]);
    let bench = Bench::new();
    let refused = bench.open(&disk.erased()).map(|_| ());
    run(&["swapoff", &disk.text()]);
    assert!(refused.expect_err("in use").to_string().contains("is swap"));
    let upper = run(&["losetup", "--find", "--show", &disk.text()]);
    let refused = bench.open(&disk.erased()).map(|_| ());
    run(&["losetup", "--detach", upper.trim()]);
    assert!(refused.expect_err("in use").to_string().contains("is attached to"));
}

#[test]
fn a_member_of_a_mounted_btrfs_is_refused_though_its_name_is_in_no_mount() {
    if !root() {
        return;
    }
    let (first, second) = (Disk::new("b1", 200), Disk::new("b2", 200));
    run(&["mkfs.btrfs", "-q", "-f", &first.text(), &second.text()]);
    let folder = tempfile::tempdir().expect("a folder");
    run(&["btrfs", "device", "scan", &first.text(), &second.text()]);
    let mounted = Mounted::new(&[&first.text()], &folder.path().join("m"));
    for disk in [&first, &second] {
        let text = refusal(&disk.erased());
        assert!(text.contains("is mounted on") || text.contains("belongs to the btrfs"), "{text}");
    }
    drop(mounted);
    run(&["btrfs", "device", "scan", "--forget"]);
}

#[test]
fn a_read_only_device_is_refused() {
    if !root() {
        return;
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(64 << 20).expect("sparse");
    let node = run(&["losetup", "--find", "--show", "--read-only", &file.path().display().to_string()]);
    let refused = Bench::new().open(&device(node.trim(), None)).map(|_| ());
    run(&["losetup", "--detach", node.trim()]);
    let text = refused.expect_err("nothing can be written").to_string();
    assert!(text.contains("read-only"), "{text}");
}

#[test]
fn a_device_that_a_process_has_open_is_refused() {
    if !root() {
        return;
    }
    let disk = Disk::new("opened", 64);
    let mut child = std::process::Command::new("sh")
        .args(["-c", &format!("exec sleep 60 3<{}", disk.text())])
        .spawn()
        .expect("started");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let refused = Bench::new().open(&disk.place()).map(|_| ());
    child.kill().expect("ours");
    child.wait().expect("gone");
    let text = refused.expect_err("it is open").to_string();
    assert!(text.contains("is opened by process") && text.contains("sleep"), "{text}");
}

#[test]
fn a_device_that_only_a_thread_has_open_is_refused() {
    prerequisites::needs!(root, loop_devices, python);
    let disk = Disk::new("thread", 64);
    // A thread that has unshared its descriptor table has descriptors that /proc/PID/fd does not show.
    let script = "import ctypes, os, sys, threading\n\
        def hold():\n    ctypes.CDLL(None).unshare(0x400)\n    held = os.open(sys.argv[1], os.O_RDWR)\n    \
        print('open', flush=True)\n    threading.Event().wait()\n\
        threading.Thread(target=hold, daemon=True).start()\nsys.stdin.read()\n";
    let mut child = std::process::Command::new("python3")
        .args(["-c", script, &disk.text()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    let mut output = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut output).expect("it says when it is open");
    let refused = Bench::new().open(&disk.place()).map(|_| ());
    child.kill().expect("ours");
    child.wait().expect("gone");
    let text = refused.expect_err("it is open").to_string();
    assert!(text.contains("is opened by process") && text.contains("python"), "{text}");
}

#[test]
fn two_runs_on_one_device_refuse_each_other() {
    if !root() {
        return;
    }
    let disk = Disk::new("two", 64);
    let bench = Bench::new();
    let first = bench.open(&disk.place()).expect("free");
    let error = bench.open(&disk.place()).expect_err("taken");
    assert!(matches!(error, StagingError::Busy { .. }), "{error}");
    drop(first);
    bench.open(&disk.place()).expect("free again");
}

#[test]
fn while_a_device_is_held_other_processes_cannot_format_or_mount_it() {
    if !root() {
        return;
    }
    let disk = Disk::new("held", 64);
    let bench = Bench::new();
    let target = bench.open(&disk.place()).expect("free");
    let outsider = Command::new(["mkfs.ext4", "-q", "-F", &disk.text()]).run(&Journal::new());
    assert!(outsider.is_err(), "it is held exclusively");
    drop(target);
}

#[test]
fn a_foreign_write_to_the_device_is_seen_before_mkfs() {
    if !root() {
        return;
    }
    let disk = Disk::new("meanwhile", 64);
    let bench = Bench::new();
    let mut target = bench.open(&disk.place()).expect("free");
    // Writing the device through its backing file bypasses every lock, as another machine on a shared disk would.
    let other = tempfile::NamedTempFile::new().expect("a file");
    other.as_file().set_len(64 << 20).expect("sparse");
    run(&["mkfs.ext4", "-q", "-F", "-L", "precious", &other.path().display().to_string()]);
    let backing = system::BlockDevice::find(&disk.path).expect("there").backing_file.expect("a loop device");
    std::fs::copy(other.path(), &backing).expect("copied");
    run(&["blockdev", "--flushbufs", &disk.text()]);
    let error = target.stage(&bench.contender("ext4")).expect_err("it is read again").to_string();
    assert!(error.contains("precious"), "{error}");
    drop(target);
    assert!(run(&["blkid", "--probe", &disk.text()]).contains("precious"), "nothing was touched");
}
