//! Custody by bytes: a device is refused if another device, name or process uses the same bytes.
//! In: loop devices over files, over each other, beside each other, with users of every kind. Out: refusals that name the user.
//! Nothing is compared by name, so that hard links, nodes made elsewhere, other namespaces and roots are recognized.

mod common;

use common::{Attached, Bench, Disk, Helper, MIB, Mounted, root, run, write_at};
use staging::{StagingError, Where};
use std::path::{Path, PathBuf};
use system::Sysfs as _;

/// A sparse file in a folder.
fn file(folder: &Path, name: &str, mib: u64) -> PathBuf {
    let path = folder.join(name);
    std::fs::File::create(&path).and_then(|file| file.set_len(mib * MIB)).expect("sparse");
    path
}

/// The refusal, even if the owner named the device in every possible way.
fn refusal(device: &Path, words: &[&str]) -> String {
    let bench = Bench::new();
    let terms =
        records::custody::Terms { erase: words.iter().map(|word| (*word).to_string()).collect(), promised: Vec::new() };
    let place = Where::Device { path: device.into(), erase: None };
    let opened = staging::Target::open_under(&bench.registry, &place, &terms, &bench.journal);
    let error = opened.map(drop).expect_err("it must not be taken");
    assert!(matches!(error, StagingError::Refused { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_file_that_another_loop_device_has_mounted_is_refused_by_all_its_names_and_at_any_offset() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = file(folder.path(), "image", 64);
    let link = folder.path().join("link");
    std::fs::hard_link(&image, &link).expect("linked");
    let first = Attached::new(&image, &[]);
    run(&["mkfs.ext4", "-q", &first.text()]);
    let _mounted = Mounted::new(&[&first.text()], &folder.path().join("m"));
    for (name, options) in [
        (&image, &[][..]),
        (&link, &[]),
        (&link, &["--offset", "1048576"]),
        (&image, &["--offset", "33554432", "--sizelimit", "1048576"]),
    ] {
        let second = Attached::new(name, options);
        let text = refusal(&second.0, &[&name.display().to_string()]);
        assert!(text.contains("is mounted on"), "{options:?}: {text}");
    }
    // The name is gone, the file is not.
    let second = Attached::new(&link, &[]);
    std::fs::remove_file(&link).expect("removed");
    assert!(refusal(&second.0, &[]).contains("is mounted on"));
}

#[test]
fn an_idle_loop_device_on_the_same_bytes_is_refused_and_one_beside_them_is_not() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = file(folder.path(), "image", 64);
    let low = Attached::new(&image, &["--sizelimit", "33554432"]);
    let high = Attached::new(&image, &["--offset", "33554432"]);
    drop(Bench::new().open(&low.place()).expect("its half is free"));
    let across = Attached::new(&image, &["--offset", "16777216"]);
    let text = refusal(&low.0, &[]);
    assert!(text.contains("same bytes") && text.contains(&*across.0.file_name().expect("named").to_string_lossy()));
    drop(across);
    // A neighbour in use needs the owner's consent. No name can give it here: the file's name means both devices.
    run(&["mkfs.ext4", "-q", &high.text()]);
    let _mounted = Mounted::new(&[&high.text()], &folder.path().join("m"));
    let text = refusal(&low.0, &[&image.display().to_string()]);
    assert!(text.contains("another part of its disk or file") && text.contains("is mounted on"), "{text}");
}

#[test]
fn stacks_of_loop_devices_are_followed_in_both_directions() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = file(folder.path(), "image", 64);
    let lowest = Attached::new(&image, &[]);
    run(&["mkfs.ext4", "-q", &lowest.text()]);
    let mounted = Mounted::new(&[&lowest.text()], &folder.path().join("m"));
    let inner = file(&mounted.0, "inner", 16);
    let nested = Attached::new(&inner, &[]);
    assert!(refusal(&lowest.0, &[]).contains("is mounted on"), "a file on it is behind another device");
    // The nested one is on bytes of its own file, whatever else is below.
    drop(Bench::new().open(&nested.place()).expect("free"));
    let upper = Attached::new(&nested.0, &["--offset", "4096"]);
    let text = refusal(&nested.0, &[]);
    assert!(text.contains("is attached to"), "{text}");
    drop(Bench::new().open(&upper.place()).expect("free, down to its file"));
    run(&["mkswap", &nested.text()]);
    run(&["swapon", &nested.text()]);
    let text = refusal(&upper.0, &[]);
    run(&["swapoff", &nested.text()]);
    assert!(text.contains("is swap"), "{text}");
}

#[test]
fn a_device_node_elsewhere_that_was_removed_is_followed_still() {
    if !root() {
        return;
    }
    let disk = Disk::new("node", 64);
    run(&["mkfs.ext4", "-q", &disk.text()]);
    let folder = tempfile::tempdir_in("/dev").expect("devices may be made there");
    let node = folder.path().join("other");
    let number = system::BlockDevice::find(&disk.path).expect("there").number;
    run(&["mknod", &node.display().to_string(), "b", &number.major.to_string(), &number.minor.to_string()]);
    let upper = Attached::new(&node, &[]);
    std::fs::remove_file(&node).expect("removed");
    let mount = Mounted::new(&[&upper.text()], &folder.path().join("m"));
    let text = refusal(&disk.path, &[&disk.by_id]);
    assert!(text.contains("is mounted on"), "{text}");
    drop(mount);
    let text = refusal(&disk.path, &[&disk.by_id]);
    assert!(text.contains("is attached to") || text.contains("mount namespace"), "{text}");
}

#[test]
fn a_file_that_is_swap_is_refused() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder on a disk");
    let image = folder.path().join("swap file");
    std::fs::write(&image, vec![0; 16 << 20]).expect("no holes");
    let path = image.display().to_string();
    run(&["chmod", "600", &path]);
    run(&["mkswap", &path]);
    let device = Attached::new(&image, &[]);
    run(&["swapon", &path]);
    let text = refusal(&device.0, &[&path]);
    run(&["swapoff", &path]);
    assert!(text.contains("is in use as swap") && text.contains("swap file"), "{text}");
}

#[test]
fn a_file_that_a_process_can_write_is_refused_and_one_that_is_only_read_is_not() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = file(folder.path(), "image", 32);
    let device = Attached::new(&image, &[]);
    let path = image.display().to_string();
    let reader = Helper::new(&format!("exec 3<{path}"));
    drop(Bench::new().open(&device.place()).expect("reading takes nothing away"));
    drop(reader);
    let writer = Helper::new(&format!("exec 3<>{path}"));
    let text = refusal(&device.0, &[&path]);
    assert!(text.contains("the file behind it") && text.contains("is opened by process"), "{text}");
    drop(writer);
    // Mapped, with the descriptor closed.
    let mapper = "import mmap,os,sys,time; f=os.open(sys.argv[1],os.O_RDWR); m=mmap.mmap(f,4096); os.close(f); \
                  print('mapped',flush=True); time.sleep(300)";
    let started =
        std::process::Command::new("python3").args(["-c", mapper, &path]).stdout(std::process::Stdio::piped()).spawn();
    let Ok(mut child) = started else { return };
    let mut output = [0; 7];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut output).expect("it maps");
    let text = refusal(&device.0, &[&path]);
    child.kill().expect("ours");
    child.wait().expect("gone");
    assert!(text.contains("is opened by process") && text.contains("python3"), "{text}");
}

#[test]
fn a_device_that_is_open_by_a_node_outside_of_dev_or_in_another_root_is_refused() {
    if !root() {
        return;
    }
    let disk = Disk::new("elsewhere-open", 32);
    // On a filesystem of its own, so that device nodes are allowed.
    let folder = tempfile::tempdir().expect("a folder");
    let _memory = Mounted::new(&["-t", "tmpfs", "-o", "dev", "tmpfs"], &folder.path().join("t"));
    let node = folder.path().join("t/n");
    let number = system::BlockDevice::find(&disk.path).expect("there").number;
    run(&["mknod", &node.display().to_string(), "b", &number.major.to_string(), &number.minor.to_string()]);
    let opener = Helper::new(&format!("exec 3<{}", node.display()));
    let text = refusal(&disk.path, &[&disk.by_id]);
    assert!(text.contains("is opened by process"), "{text}");
    drop(opener);
    // The mount through which it is open is no longer visible.
    let tmpfs = folder.path().join("t").display().to_string();
    let line = format!("exec 3<{} && umount -l {tmpfs}", node.display());
    let hidden = Helper::under(&["unshare", "-m", "--propagation", "private", "sh"], &line);
    let text = refusal(&disk.path, &[&disk.by_id]);
    assert!(text.contains("is opened by process"), "{text}");
    drop(hidden);
    // Another root directory, in which /dev is another folder.
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("made");
    let _whole = Mounted::new(&["--bind", "/"], &root);
    let _devices = Mounted::new(&["--bind", &folder.path().join("t").display().to_string()], &root.join("mnt"));
    let opener = Helper::under(&["chroot", &root.display().to_string(), "sh"], "exec 3</mnt/n");
    let text = refusal(&disk.path, &[&disk.by_id]);
    assert!(text.contains("is opened by process"), "{text}");
    drop(opener);
}

#[test]
fn a_mount_that_only_another_root_directory_of_this_namespace_shows_is_seen() {
    if !root() {
        return;
    }
    let disk = Disk::new("chroot", 64);
    run(&["mkfs.ext4", "-q", &disk.text()]);
    let folder = tempfile::tempdir().expect("a folder");
    let space = folder.path().join("m");
    std::fs::create_dir(&space).expect("made");
    // The first process of the namespace sees only its own root; another one sees the mount.
    let line = format!("mount --bind /proc {0} && (chroot / sleep 0.01); mount {1} {0}", space.display(), disk.text());
    let _other = Helper::under(&["unshare", "-m", "--propagation", "private", "sh"], &line);
    let text = refusal(&disk.path, &[&disk.by_id]);
    assert!(text.contains("is mounted on"), "{text}");
}

#[test]
fn a_disk_of_whose_bytes_a_loop_device_over_a_part_is_used_is_refused() {
    if !root() {
        return;
    }
    let (disk, parts) = common::partitioned("over-part", 0x77aa_0001, &[32, 32]);
    // Over the disk, at the bytes of its second partition.
    let over =
        Attached::new(&disk.path, &["--offset", &(33 * MIB).to_string(), "--sizelimit", &(32 * MIB).to_string()]);
    run(&["mkfs.ext4", "-q", &over.text()]);
    let folder = tempfile::tempdir().expect("a folder");
    let mounted = Mounted::new(&[&over.text()], &folder.path().join("m"));
    let text = refusal(&parts[1], &["77aa0001-02"]);
    assert!(text.contains("is mounted on"), "{text}");
    // The first partition is beside it.
    let text = refusal(&parts[0], &[]);
    assert!(text.contains("another part of its disk or file") && text.contains("77aa0001-01"), "{text}");
    drop(mounted);
    // A mount namespace that another program made meanwhile may keep a copy of the mount for a while.
    let text = refusal(&parts[1], &["77aa0001-02"]);
    assert!(text.contains("is attached to") || text.contains("mount namespace"), "{text}");
    // The loop device itself is on a mounted partition.
    let _mounted = Mounted::new(&[&parts[1].display().to_string()], &folder.path().join("m"));
    let text = refusal(&over.0, &[]);
    assert!(text.contains("is mounted on"), "{text}");
    write_at(&disk.path, 2 * MIB, b"");
}

#[test]
fn the_file_of_an_imported_pool_is_refused() {
    prerequisites::needs!(root, loop_devices, zfs);
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder on a disk");
    let image = file(folder.path(), "image", 128);
    let device = Attached::new(&image, &[]);
    let path = image.display().to_string();
    // A separate server, which sees no other pool and ends with its namespaces.
    let line = format!(
        "(for folder in /run/zfs /var/lib/zfs /var/lock/zfs; do mkdir -p $folder && mount -t tmpfs tmpfs $folder; done; \
         zfs-fuse -n --no-kstat-mount & \
         for turn in $(seq 300); do zpool status | grep -q . && break; sleep 0.1; done; \
         zpool create -f -o cachefile=none -m none bakeofftest {path}) >/dev/null 2>&1"
    );
    let words = "unshare --mount --propagation private --pid --fork --kill-child --mount-proc sh";
    let server = Helper::under(&words.split(' ').collect::<Vec<_>>(), &line);
    let text = refusal(&device.0, &[&path]);
    assert!(text.contains("the file behind it") && text.contains("zfs-fuse"), "{text}");
    drop(server);
}
