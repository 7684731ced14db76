//! Real staging: every filesystem and every published option set on loop devices.
//! In: images in a scratch folder. Out: assertions on what was found, and on a machine that is clean afterwards.
//! Without root nothing can be formatted; the tests then print this and pass.

mod common;

use common::{Bench, Mounted, each_way, root, run, write_file};
use records::Cause;
use staging::{DataMode, Journaling, StagingError, Where};
use std::path::PathBuf;
use std::time::Duration;
use system::Sysfs as _;

#[test]
fn every_filesystem_is_made_used_and_taken_down() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    for name in ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs"] {
        let mut target = bench.open(&bench.image(400)).expect("an image can be made");
        let id = target.id().to_string();
        let stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let device = stage.device().expect("a loop device").clone();
        assert_eq!(device.loop_direct, Some(true), "{name}");
        assert!(stage.found().mkfs_seconds.is_some_and(|seconds| seconds > 0.0), "{name}");
        assert!(stage.found().empty.available_bytes > 100 << 20, "{name}");
        assert!(stage.found().below.iter().any(|disk| disk.name != device.name), "{name}");
        let before = system::Snapshot::take();
        write_file(&stage, "file", 8 << 20);
        stage.sync().expect("synced");
        let written = |since: &system::Snapshot| {
            system::Snapshot::take().since(since, stage.watch()).device.expect("watched").written_bytes
        };
        assert!(written(&before) >= 8 << 20, "{name}: not all was written when sync returned");
        let after = system::Snapshot::take();
        std::thread::sleep(Duration::from_millis(300));
        assert!(written(&after) < 1 << 20, "{name}: writing went on after sync had returned");
        assert!(stage.usage().expect("asked").used_bytes > stage.found().empty.used_bytes, "{name}");
        assert!(stage.settle(Duration::from_secs(30)).idle, "{name}");
        let closing = stage.close().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(closing.whole, Some(true), "{name}: {closing:?}");
        assert!(closing.unmount_seconds.is_some(), "{name}");
        drop(target);
        nothing_is_left(&bench, &id);
    }
}

fn nothing_is_left(bench: &Bench, id: &str) {
    assert!(!PathBuf::from(format!("/run/bakeoff/{id}")).exists());
    assert!(!PathBuf::from(format!("/var/lib/bakeoff/marks/{id}.json")).exists());
    assert_eq!(std::fs::read_dir(bench.folder.path()).expect("there").count(), 0);
    let loops = system::BlockDevice::all();
    assert!(
        !loops
            .iter()
            .any(|device| device.backing_file.as_ref().is_some_and(|file| file.starts_with(bench.folder.path())))
    );
}

#[test]
fn the_published_option_sets_take_or_say_why_not() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(1200)).expect("an image");
    for name in ["xfs-normapbt", "xfs-rmapbt", "ext4-large-files", "ext4-large-and-small-files"] {
        let stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = stage.found().clone();
        if name.starts_with("ext4") {
            assert_eq!(found.durability.data, DataMode::Writeback, "{name}");
            assert_eq!(found.durability.checksums_metadata, Some(false), "{name}");
            assert_eq!(found.durability.journal, Journaling::Metadata, "{name}");
        }
        stage.close().expect("closed");
    }
    let error = target.stage(&bench.contender("xfs-tuned")).expect_err("nobarrier is gone");
    assert!(error.is_of_contender());
    let text = error.to_string();
    assert!(text.contains("nobarrier") && text.contains("4.19") && text.contains("remove"), "{text}");
    let mut without = bench.contender("xfs-tuned");
    without.mount = "logbsize=256k".into();
    target.stage(&without).expect("the way out works").close().expect("closed");
}

#[test]
fn a_failing_contender_leaves_the_ground_good_for_the_next() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(64)).expect("an image");
    let mut odd = bench.contender("ext4");
    odd.mkfs = vec!["-O".into(), "no_such_feature".into()];
    let error = target.stage(&odd).expect_err("mke2fs refuses");
    assert!(error.is_of_contender() && error.to_string().contains("no_such_feature"), "{error}");
    odd = bench.contender("ext4");
    odd.mount = "no_such_option".into();
    let error = target.stage(&odd).expect_err("mount refuses");
    assert!(error.is_of_contender() && error.to_string().contains("no_such_option"), "{error}");
    target.stage(&bench.contender("ext4")).expect("the next is fine").close().expect("closed");
}

#[test]
fn schedulers_take_effect_and_are_put_back() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(64)).expect("an image");
    for scheduler in ["bfq", "mq-deadline", "kyber"] {
        let name = format!("ext4+{scheduler}");
        let stage = target.stage(&bench.contender(&name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(stage.found().scheduler.as_deref(), Some(scheduler));
        let device = stage.device().expect("there").clone();
        stage.close().expect("closed");
        let now = system::BlockDevice::named(&device.name).expect("loop devices stay");
        assert_eq!(now.queue.scheduler.as_deref(), Some("none"), "{name}");
    }
    let mut odd = bench.contender("ext4");
    odd.device.insert("read_ahead_kb".into(), "64".into());
    let stage = target.stage(&odd).expect("it can be set");
    assert_eq!(
        stage.found().device.as_ref().and_then(|device| device.queue.settings.get("read_ahead_kb").cloned()),
        Some("64".into())
    );
    stage.close().expect("closed");
    odd.device.insert("no_such_setting".into(), "1".into());
    let error = target.stage(&odd).expect_err("it is not there");
    assert!(error.is_of_contender() && error.to_string().contains("no_such_setting"), "{error}");
}

#[test]
fn the_raw_device_delivers_what_was_filled_in() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(64)).expect("an image");
    let stage = target.stage_raw(&records::Contender::plain(records::DEVICE), 16 << 20).expect("filled");
    let device = stage.device().expect("a loop device").clone();
    let before = system::Snapshot::take();
    let mut data = vec![0; 16 << 20];
    let mut file = std::fs::File::open(&device.path).expect("opened");
    std::io::Read::read_exact(&mut file, &mut data).expect("read");
    drop(file);
    let evidence = system::Snapshot::take().since(&before, stage.watch());
    assert!(evidence.device.expect("watched").read_bytes >= 16 << 20);
    let zeros = data.chunks(4096).filter(|block| block.iter().all(|byte| *byte == 0)).count();
    assert_eq!(zeros, 0, "holes would be answered without a disk");
    assert_eq!(evidence.device.expect("watched").written_bytes, 0);
    stage.close().expect("closed");
}

#[test]
fn the_planned_commands_are_those_that_run() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    for (name, way) in each_way(&["xfs-rmapbt+bfq", "ext4", "btrfs", "zfs"]) {
        let place = bench.image(400);
        let planned = staging::commands_for(&bench.registry, &bench.contender(name), &place, way).expect("planned");
        let mut target = bench.open(&place).expect("an image");
        target.start_cold_by(way);
        let id = target.id().to_string();
        let mut stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{error}"));
        let device = stage.device().expect("there").name.clone();
        let pid = stage.enter().get(3).cloned().unwrap_or_default();
        stage.drop_caches().expect("dropped");
        stage.close().expect("closed");
        drop(target);
        let process = if pid.is_empty() { String::new() } else { format!("-t {pid} ") };
        let ran = bench.ran(&[(&id, "ID"), (&device, "loopN"), (&process, "-t PID ")]);
        assert_eq!(ran, planned, "{name}");
    }
}

#[test]
fn a_daemons_namespace_does_not_keep_what_other_runs_have_mounted() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut first = bench.open(&bench.image(400)).expect("an image");
    let mut second = bench.open(&bench.image(100)).expect("another");
    let mounted = first.stage(&bench.contender("xfs")).unwrap_or_else(|error| panic!("{error}"));
    let served = second.stage(&bench.contender("zfs")).unwrap_or_else(|error| panic!("{error}"));
    let number = mounted.device().expect("a loop device").number;
    let keeps = system::mounts::everywhere().into_iter().filter(|mount| mount.number == number).count();
    assert_eq!(keeps, 1, "only the run's own mount");
    let closing = mounted.close().expect("no process holds it");
    assert_eq!(closing.whole, Some(true), "{closing:?}");
    served.close().expect("closed");
}

#[test]
fn a_device_that_a_mount_out_of_sight_still_holds_is_checked_when_that_is_gone() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(400)).expect("an image");
    for name in ["ext4", "xfs", "btrfs"] {
        let stage = target.stage(&bench.contender(name)).expect("staged");
        let node = stage.device().expect("a loop device").path.display().to_string();
        let point = bench.folder.path().join(name);
        std::fs::create_dir(&point).expect("made");
        let at = point.display().to_string();
        run(&["mount", &node, &at]);
        let open = std::fs::File::create(point.join("open")).expect("opened");
        run(&["umount", "--lazy", &at]);
        let letting_go = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            drop(open);
        });
        let closing = stage.close().expect("no process holds it any more");
        assert_eq!((closing.whole, closing.damage.clone()), (Some(true), None), "{name}: {closing:?}");
        letting_go.join().expect("it let go");
    }
}

/// The kernel shows a file by its former path, which leads nowhere once its folder is gone.
#[test]
fn an_image_whose_folder_was_removed_leaves_no_loop_device() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let (real, link) = (bench.folder.path().join("real"), bench.folder.path().join("link"));
    std::fs::create_dir(&real).expect("made");
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    let mut target = bench.open(&Where::Image { bytes: 64 << 20, folder: link.clone() }).expect("opened");
    let stage = target.stage(&bench.contender("ext2")).expect("staged");
    let node = stage.device().expect("a loop device").path.clone();
    let attached =
        || std::fs::read_to_string(format!("/sys/block/{}/loop/backing_file", node.file_name()?.to_str()?)).ok();
    assert!(attached().is_some_and(|file| file.starts_with(&real.display().to_string())));
    std::fs::remove_dir_all(&real).expect("removed");
    std::fs::remove_file(&link).expect("removed");
    stage.close().expect("what is gone needs no removing");
    assert!(attached().is_none_or(|file| !file.starts_with(&real.display().to_string())), "{:?}", attached());
}

#[test]
fn a_device_that_vanishes_under_the_work_is_not_taken_for_a_damaged_filesystem() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    let stage = target.stage(&bench.contender("ext4")).expect("staged");
    assert!(stage.failed_below("the work").is_none());
    let file = stage.device().and_then(|device| device.backing_file.clone()).expect("an image's file");
    std::fs::File::options().write(true).open(&file).and_then(|file| file.set_len(1 << 20)).expect("cut");
    let error = stage.close().expect_err("its device is gone");
    assert!(matches!(&error, StagingError::Gone { for_good: false, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("vanished during unmounting and checking") && text.contains("truncated"), "{text}");
    assert_eq!(error.cause(), Cause::Passing, "the next trial has an image of its own");
    target.stage(&bench.contender("ext4")).expect("the next is fine").close().expect("closed");
}

#[test]
fn the_reason_of_a_damaged_filesystem_is_one_line_and_the_whole_answer_is_kept() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    let stage = target.stage(&bench.contender("ext4")).expect("staged");
    write_file(&stage, "file", 1 << 20);
    stage.sync().expect("synced");
    // Bitmaps and the inodes in use are in the first megabyte.
    let file = stage.device().and_then(|device| device.backing_file.clone()).expect("an image's file");
    let image = std::fs::File::options().write(true).open(&file).expect("opened");
    std::os::unix::fs::FileExt::write_all_at(&image, &[0xa5; 1 << 20], 100 << 10).expect("written over");
    let closing = stage.close().expect("closed");
    assert_eq!(closing.whole, Some(false), "{closing:?}");
    let damage = closing.damage.expect("a reason");
    assert!(!damage.contains('\n') && !damage.starts_with("e2fsck") && !damage.starts_with("Pass"), "{damage}");
    assert!(closing.check_answer.lines().count() > 1);
}

#[test]
fn a_failure_for_lack_of_space_is_passing_and_a_mere_refusal_is_unclear() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let small = bench.folder.path().join("small");
    let _mounted = Mounted::new(&["-t", "tmpfs", "-o", "size=40m", "none"], &small);
    let mut target = bench.open(&Where::Image { bytes: 32 << 20, folder: small.clone() }).expect("it still fits");
    let mut odd = bench.contender("ext2");
    odd.mkfs = vec!["-O".into(), "no_such_feature".into()];
    assert_eq!(target.stage(&odd).expect_err("mke2fs refuses").cause(), Cause::Unclear);
    std::fs::write(small.join("of another user"), vec![1; 30 << 20]).expect("written");
    let error = target.stage(&bench.contender("ext2")).expect_err("no room");
    assert_eq!(error.cause(), Cause::Passing, "{error}");
    std::fs::remove_file(small.join("of another user")).expect("removed");
    target.stage(&bench.contender("ext2")).expect("there is room again").close().expect("closed");
}

#[test]
fn a_server_that_is_killed_under_the_work_is_a_passing_cause() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    let stage = target.stage(&bench.contender("zfs")).unwrap_or_else(|error| panic!("{error}"));
    assert!(stage.failed_below("the work").is_none());
    let at = stage.enter().iter().position(|word| word == "-t").expect("it is entered by its server's id");
    let pid = stage.enter()[at + 1].parse().expect("a process id");
    let server = system::process::Process::of(pid).expect("it runs");
    assert!(server.end(Duration::ZERO));
    let error = stage.failed_below("the work").expect("its server is gone");
    assert_eq!(error.cause(), Cause::Passing, "{error}");
    assert!(error.to_string().contains("serves"), "{error}");
    assert_eq!(stage.close().expect("it is taken down").whole, None);
}

#[test]
fn a_mount_that_is_gone_under_the_work_is_a_passing_cause() {
    prerequisites::needs!(root, loop_devices, zfs);
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    for name in ["ext4", "zfs"] {
        let stage = target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(stage.failed_below("the work").is_none(), "{name}");
        let mountpoint = stage.root().parent().expect("the work lies on it").to_owned();
        let taken = std::process::Command::new("env").args(stage.enter()).arg("umount").arg(mountpoint).status();
        assert!(taken.expect("umount runs").success(), "{name}");
        let error = stage.failed_below("the work").expect("its mount is gone");
        assert_eq!(error.cause(), Cause::Passing, "{name}: {error}");
        assert!(error.to_string().contains("no longer mounted"), "{name}: {error}");
        // Whatever closing returns after a foreign unmount, nothing is left.
        let _ = stage.close();
    }
    let id = target.id().to_string();
    drop(target);
    nothing_is_left(&bench, &id);
}

/// The result with zfs-fuse if its description has another text in one place.
fn staged_and_closed(place: &str, instead: &str) -> Result<(), StagingError> {
    let mut bench = Bench::new();
    let zfs = include_str!("../../../filesystems/zfs.toml");
    assert_eq!(zfs.matches(place).count(), 1, "{place}");
    bench.registry.add_file(std::path::Path::new("/x/dying.toml"), &zfs.replace(place, instead)).expect("it is sound");
    bench.registry = bench.registry.may_run();
    let mut target = bench.open(&bench.image(100)).expect("an image");
    target.stage(&records::Contender::plain("dying"))?.close().map(drop)
}

#[test]
fn a_server_that_is_killed_while_its_filesystem_is_set_up_or_checked_is_a_passing_cause() {
    prerequisites::needs!(root, loop_devices, zfs);
    let ways = [
        ("[mount]\n", "[mount]\ncommand = [\"sh\", \"-c\", \"kill -KILL {pid}; sleep 0.3\"]\n"),
        ("[inspect]\n", "[inspect]\nfirst = [\"sh\", \"-c\", \"kill -KILL {pid}; sleep 0.3; exit 1\"]\n"),
        ("\"zpool import -d {nodes}", "\"kill -KILL {pid}; sleep 0.3; exit 1; zpool import -d {nodes}"),
    ];
    for (place, instead) in ways {
        let error = staged_and_closed(place, instead).expect_err("nothing is served");
        assert_eq!(error.cause(), Cause::Passing, "{place}: {error}");
        assert!(error.to_string().contains("the process that serves it has ended"), "{place}: {error}");
    }
}

/// A process in a separate mount namespace, which has copied all mounts.
fn with_copied_mounts(folder: &std::path::Path) -> std::process::Child {
    let words = ["--mount", "--propagation", "private", "sleep", "61"];
    let mut command = std::process::Command::new("unshare");
    let holder = command.args(words).current_dir(folder).spawn().expect("unshare starts");
    let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    while namespace(&holder.id().to_string()) == namespace("thread-self") {
        std::thread::sleep(Duration::from_millis(5));
    }
    holder
}

#[test]
fn a_copy_of_the_mount_with_nothing_open_costs_nothing() {
    prerequisites::needs!(root, loop_devices);
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(64)).expect("an image can be made");
    let stage = target.stage(&bench.contender("ext4")).expect("staged");
    let mut holder = with_copied_mounts(std::path::Path::new("/"));
    let closing = stage.close().expect("closed");
    holder.kill().expect("ours");
    holder.wait().expect("gone");
    assert_eq!(
        (closing.whole, &closing.remarks),
        (Some(true), &Vec::new()),
        "it was unmounted everywhere, and checked"
    );
}

#[test]
fn a_loop_device_held_by_another_process_costs_no_trial_and_its_holder_is_named() {
    prerequisites::needs!(root, loop_devices);
    let bench = Bench::new();
    let mut target = bench.open(&bench.image(64)).expect("an image can be made");
    let stage = target.stage(&bench.contender("ext4")).expect("staged");
    let first = stage.device().expect("a loop device").name.clone();
    let mut holder = with_copied_mounts(stage.root());
    let closing = stage.close().expect("what was measured counts");
    let named = format!("process {} (sleep 61)", holder.id());
    assert!(closing.remarks.iter().any(|remark| remark.contains(&named) && remark.contains("mnt:[")), "{closing:?}");
    let stage = target.stage(&bench.contender("ext4")).expect("on another loop device");
    assert_ne!(stage.device().expect("a loop device").name, first);
    holder.kill().expect("ours");
    holder.wait().expect("gone");
    let closing = stage.close().expect("closed");
    assert!(closing.remarks.is_empty(), "{closing:?}");
    let id = target.id().to_string();
    drop(target);
    nothing_is_left(&bench, &id);
}
