//! Cold starts: by remounting and by dropping caches, and what prevents either.
//! In: images in a scratch folder, staged each way. Out: assertions on reads from the device, and on messages.
//! Without root nothing can be formatted; the tests then print this and pass.

mod common;

use common::{Attached, Bench, Mounted, each_way, reach, read_file, root, write_file};
use records::ColdWay;
use staging::{Stage, Where};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// Some of these tests start a process with a copy of all mounts, and a copied mount cannot start cold by remounting.
static MOUNTS: RwLock<()> = RwLock::new(());

/// For tests that start such a process.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MOUNTS.write().unwrap_or_else(PoisonError::into_inner)
}

/// For all others.
fn beside() -> RwLockReadGuard<'static, ()> {
    MOUNTS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Stages each of these on an image of its own, once for each way to start cold, runs the work there and closes it.
fn staged_each_way(names: &[&str], work: impl Fn(&str, ColdWay, &mut Stage<'_>)) {
    let bench = Bench::new();
    for (name, way) in each_way(names) {
        let mut target = bench.open(&bench.image(400)).expect("an image");
        target.start_cold_by(way);
        let mut stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        work(name, way, &mut stage);
        stage.close().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Stages ext4 there with a file of 1 MiB, runs the work and closes it.
fn with_file(bench: &Bench, place: &Where, work: impl FnOnce(&mut Stage<'_>)) {
    let mut target = bench.open(place).expect("empty, and ours");
    let mut stage = target.stage(&bench.contender("ext4")).unwrap_or_else(|error| panic!("{error}"));
    write_file(&stage, "file", 1 << 20);
    work(&mut stage);
    stage.close().expect("closed");
}

#[test]
fn a_cold_start_reads_from_the_device_and_a_warm_one_does_not() {
    if !root() {
        return;
    }
    let _alone = alone();
    staged_each_way(&["ext4", "xfs", "btrfs", "zfs"], |name, way, stage| {
        write_file(stage, "file", 16 << 20);
        stage.sync().expect("synced");
        let read = |stage: &Stage<'_>| {
            let before = system::Snapshot::take();
            assert_eq!(read_file(stage, "file"), 16 << 20);
            system::Snapshot::take().since(&before, stage.watch()).device.expect("watched").read_bytes
        };
        // Another test may drop caches in between, so the warm read is repeated.
        let warm = (0..10).map(|_| read(stage)).find(|bytes| *bytes < 8 << 20).unwrap_or(u64::MAX);
        let dropped = stage.drop_caches().expect("root may");
        assert!(dropped.complete, "{name}: {dropped:?}");
        // A filesystem with a cache of its own is emptied of both.
        let gone = if name == "zfs" { ColdWay::Drop } else { way };
        assert_eq!(dropped.start.way, gone, "{name}: {dropped:?}");
        assert_eq!(dropped.mounted_anew, name == "zfs" || way == ColdWay::Remount, "{name}");
        if gone == ColdWay::Remount && dropped.start.mounting_read_bytes.is_some() {
            assert_eq!(dropped.start.device_cached_bytes, Some(0), "{name}");
        }
        let cold = read(stage);
        assert!(cold >= 16 << 20, "{name}: a cold read took {cold} bytes from the device");
        assert!(warm < cold / 2, "{name}: a warm read took {warm} bytes from the device");
    });
}

#[test]
fn after_dropping_no_page_of_a_file_is_cached_and_names_and_inodes_are_forgotten() {
    if !root() {
        return;
    }
    let _beside = beside();
    staged_each_way(&["ext2", "ext4", "xfs", "btrfs"], |name, _, stage| {
        write_file(stage, "file", 4 << 20);
        for number in 0..2000 {
            write_file(stage, &format!("small-{number}"), 10);
        }
        let path = stage.root().join("file").display().to_string();
        let cached = || -> u64 {
            let shown = common::run(&["fincore", "--bytes", "--noheadings", "--output", "PAGES", &path]);
            shown.trim().parse().expect("a number")
        };
        // Dropping affects the whole machine: another test may do it in between, so the warm read is repeated.
        let warm = (0..10).any(|_| read_file(stage, "file") == 4 << 20 && cached() == 1024);
        assert!(warm, "{name}: a file that was read is cached");
        assert!(stage.drop_caches().expect("root may").complete, "{name}");
        assert_eq!(cached(), 0, "{name}");
        let looked_up = |stage: &Stage<'_>| {
            let before = system::Snapshot::take();
            for number in 0..2000 {
                std::fs::metadata(stage.root().join(format!("small-{number}"))).expect("there");
            }
            system::Snapshot::take().since(&before, stage.watch()).device.expect("watched").reads
        };
        assert!(looked_up(stage) > 0, "{name}: inodes came from a cache");
        assert!((0..10).any(|_| looked_up(stage) == 0), "{name}: the second look is warm");
    });
}

#[test]
fn a_cache_kept_by_an_open_file_is_reported_and_the_stage_continues() {
    if !root() {
        return;
    }
    let _alone = alone();
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    let mut stage = target.stage(&bench.contender("zfs")).unwrap_or_else(|error| panic!("{error}"));
    write_file(&stage, "file", 1 << 20);
    let open = std::fs::File::open(reach(&stage).join("file")).expect("opened");
    let dropped = stage.drop_caches().expect("the stage goes on");
    assert!(!dropped.complete && dropped.remarks.iter().any(|remark| remark.contains("warm")), "{dropped:?}");
    drop(open);
    assert!(stage.drop_caches().expect("nothing is open").complete);
    assert_eq!(read_file(&stage, "file"), 1 << 20);
    stage.close().expect("closed");
}

#[test]
fn an_image_in_memory_starts_cold_although_all_of_it_is_in_pages() {
    if !root() {
        return;
    }
    let _beside = beside();
    let bench = Bench::new();
    let memory = bench.folder.path().join("memory");
    let _mounted = Mounted::new(&["-t", "tmpfs", "-o", "size=200m", "none"], &memory);
    with_file(&bench, &Where::Image { bytes: 64 << 20, folder: memory.clone() }, |stage| {
        let dropped = stage.drop_caches().expect("emptied");
        assert!(dropped.complete && dropped.start.way == ColdWay::Remount, "{dropped:?}");
        assert_eq!(dropped.start.image_cached_bytes, None, "what lies in memory is no cache");
    });
}

#[test]
fn a_filesystem_on_a_loop_device_through_the_page_cache_has_its_caches_dropped() {
    if !root() {
        return;
    }
    let _beside = beside();
    let bench = Bench::new();
    let file = bench.folder.path().join("disk");
    std::fs::File::create(&file).and_then(|file| file.set_len(64 << 20)).expect("a file");
    let attached = Attached::new(&file, &["--direct-io=off"]);
    with_file(&bench, &attached.place(), |stage| {
        let dropped = stage.drop_caches().expect("emptied");
        assert_eq!(dropped.start.way, ColdWay::Drop, "unmounting would leave the file's pages: {dropped:?}");
    });
}

#[test]
fn a_filesystem_in_use_is_not_unmounted_for_a_cold_start_but_its_caches_are_dropped() {
    if !root() {
        return;
    }
    let _beside = beside();
    let bench = Bench::new();
    with_file(&bench, &bench.image(64), |stage| {
        let open = std::fs::File::open(stage.root().join("file")).expect("opened");
        let dropped = stage.drop_caches().expect("the stage goes on");
        assert_eq!(dropped.start.way, ColdWay::Drop);
        let text = |remark: &String| {
            let parts =
                ["could not be unmounted", "which is in use by", &format!("({}) by ", std::process::id()), "/file"];
            parts.iter().all(|part| remark.contains(part))
        };
        assert!(dropped.remarks.iter().any(text), "{dropped:?}");
        drop(open);
        assert_eq!(stage.drop_caches().expect("nothing is open").start.way, ColdWay::Remount);
        assert_eq!(read_file(stage, "file"), 1 << 20);
    });
}

#[test]
fn a_mount_in_another_namespace_keeps_its_caches_and_is_found_out() {
    if !root() {
        return;
    }
    let _alone = alone();
    let bench = Bench::new();
    with_file(&bench, &bench.image(64), |stage| {
        let mut holder = std::process::Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sleep", "60"])
            // A busy copy of the mount stays when the mount is detached.
            .current_dir(stage.root())
            .spawn()
            .expect("unshare starts");
        // Until it has its own namespace, it is in ours.
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        while namespace(&holder.id().to_string()) == namespace("thread-self") {
            std::thread::sleep(Duration::from_millis(5));
        }
        let dropped = stage.drop_caches().expect("the stage goes on");
        holder.kill().expect("killed");
        holder.wait().expect("ended");
        assert_eq!(dropped.start.way, ColdWay::Drop, "{dropped:?}");
        assert!(dropped.remarks.iter().any(|remark| remark.contains("still in use after unmounting")), "{dropped:?}");
        assert_eq!(stage.drop_caches().expect("no process holds it").start.way, ColdWay::Remount);
    });
}

#[test]
fn a_checkpoint_that_is_killed_leaves_nothing_frozen() {
    if !root() {
        return;
    }
    let _beside = beside();
    let mut bench = Bench::new();
    let text = include_str!("../../../filesystems/ext4.toml");
    let killed = text.replace("fsfreeze --freeze {mountpoint} &&", "fsfreeze --freeze {mountpoint} && kill -9 $$;");
    assert_ne!(killed, text, "its checkpoint is another one now");
    bench.registry.add_file(&bench.folder.path().join("ext4.toml"), &killed).expect("a description");
    bench.registry = bench.registry.only(&["ext4"]).may_run();
    let mut target = bench.open(&bench.image(64)).expect("an image");
    target.start_cold_by(ColdWay::Drop);
    let mut stage = target.stage(&bench.contender("ext4")).unwrap_or_else(|error| panic!("{error}"));
    let node = stage.device().expect("a loop device").path.clone();
    stage.drop_caches().expect_err("its checkpoint is killed");
    // On a frozen filesystem, this would block for ever.
    write_file(&stage, "file", 4096);
    stage.close().expect("closed");
    let attached = format!("/sys/block/{}/loop/backing_file", node.file_name().expect("a name").display());
    let own = |file: String| file.starts_with(&bench.folder.path().display().to_string());
    assert!(!std::fs::read_to_string(attached).is_ok_and(own), "unmounted while frozen, it keeps its loop device");
}
