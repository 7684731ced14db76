//! A device that is split: all its parts are used at the same time, each is checked like a whole device, and none is left.
//! In: loop devices in place of disks. Out: stages on their parts, refusals, and disks as empty as before.

mod common;

use common::{Bench, Disk, MIB, Mounted, by_id, clean, partition_table, root, run, write_at};
use records::custody::Terms;
use staging::{StagingError, Target, Where};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::{BlockDevice, Command, Journal, Sysfs as _};

fn split(bench: &Bench, disk: &Disk, count: usize, erase: bool) -> Result<Vec<Target>, StagingError> {
    let journals: Vec<Journal> = (0..count).map(|_| bench.journal.clone()).collect();
    let erase = if erase { vec![disk.by_id.clone()] } else { Vec::new() };
    let terms = Terms { erase, promised: Vec::new() };
    Target::split(&bench.registry, &disk.path, &terms, &journals)
}

fn part(disk: &Disk, number: u32) -> PathBuf {
    PathBuf::from(format!("{}p{number}", disk.text()))
}

fn shown(disk: &Disk) -> Vec<String> {
    BlockDevice::find(&disk.path).expect("attached").partitions
}

/// Why a disk cannot be split.
fn refusal(bench: &Bench, disk: &Disk, erase: bool) -> String {
    split(bench, disk, 2, erase).map(drop).expect_err("refused").to_string()
}

/// Whether the whole disk can be taken without `--erase`.
fn is_free(bench: &Bench, disk: &Disk) -> bool {
    shown(disk).is_empty() && bench.open(&disk.place()).is_ok()
}

#[test]
fn all_parts_are_mounted_at_once_and_the_disk_is_empty_afterwards() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    // More than 512 MiB for each part, so that only some ranges are emptied.
    let disk = Disk::new("split", 1800);
    let mut targets = split(&bench, &disk, 3, false).expect("an empty disk");
    assert_eq!(shown(&disk).len(), 3);
    for round in 0..2 {
        let names = ["ext4", "xfs", "btrfs", "ext4", "xfs"];
        let staged = targets.iter_mut().zip(&names[round..]);
        let stages: Vec<_> = staged
            .map(|(target, name)| target.stage(&bench.contender(name)).unwrap_or_else(|error| panic!("{error}")))
            .collect();
        let nodes: Vec<PathBuf> = stages.iter().map(|stage| stage.device().expect("a part").path.clone()).collect();
        assert_eq!(nodes, [1, 2, 3].map(|number| part(&disk, number)));
        stages.iter().for_each(|stage| common::write_file(stage, "data", 60 << 20));
        for stage in stages {
            let closing = stage.close().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(closing.whole, Some(true), "{closing:?}");
        }
    }
    drop(targets);
    assert!(is_free(&bench, &disk), "{:?}", shown(&disk));
}

#[test]
fn the_planned_commands_for_parts_are_those_that_run() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = Disk::new("planned-split", 1300);
    let around = staging::split_commands(&disk.path, 2).expect("planned");
    let (contender, way) = (bench.contender("ext4"), records::ColdWay::Drop);
    let place = Where::Part { disk: disk.path.clone(), count: 2 };
    let planned = staging::commands_for(&bench.registry, &contender, &place, way).expect("planned");
    let mut targets = split(&bench, &disk, 2, false).expect("an empty disk");
    let typed = || bench.journal.drain().iter().map(system::Record::typed).collect::<Vec<_>>();
    assert_eq!(typed(), around.before);
    targets[1].start_cold_by(way);
    let id = targets[1].id().to_string();
    let mut stage = targets[1].stage(&contender).unwrap_or_else(|error| panic!("{error}"));
    stage.drop_caches().expect("dropped");
    stage.close().expect("closed");
    let node = part(&disk, 2).display().to_string();
    let ran: Vec<String> =
        typed().iter().map(|line| line.replace(&id, "ID").replace(&node, &format!("{}pN", disk.text()))).collect();
    assert!(ran.iter().all(|line| planned.contains(line)), "{ran:#?}\nplanned: {planned:#?}");
    assert!(planned.iter().all(|line| ran.contains(line)), "{ran:#?}\nplanned: {planned:#?}");
    drop(targets);
    assert_eq!(typed(), around.after);
}

#[test]
fn a_disk_in_use_or_with_data_is_not_split_and_a_table_is_only_erased_with_its_owners_word() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = Disk::new("kept", 300);
    write_at(&disk.path, 0, &partition_table(0x4242_0011, &[64, 64]));
    run(&["partx", "--update", &disk.text()]);
    assert!(refusal(&bench, &disk, false).contains("partition table"));
    run(&["mkfs.ext4", "-q", &part(&disk, 2).display().to_string()]);
    let point = bench.folder.path().join("used");
    let mounted = Mounted::new(&[&part(&disk, 2).display().to_string()], &point);
    assert!(refusal(&bench, &disk, true).contains("is mounted on"));
    drop(mounted);
    assert_eq!(shown(&disk).len(), 2, "nothing was changed");
    let targets = split(&bench, &disk, 3, true).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(shown(&disk).len(), 3);
    drop(targets);
    assert!(is_free(&bench, &disk));
    // A partition outside any table stays when the table is removed.
    run(&["addpart", &disk.text(), "5", "2048", "4096"]);
    let text = refusal(&bench, &disk, true);
    assert!(text.contains("p5 that this run did not make") && text.contains("partx --delete"), "{text}");
    assert_eq!(shown(&disk).len(), 1, "the partition of another stays, and none of ours");
}

#[test]
fn right_before_mkfs_a_part_must_be_the_partition_that_was_made_and_unused() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let disk = Disk::new("moved", 200);
    let contender = bench.contender("ext4");
    let mut targets = split(&bench, &disk, 2, false).expect("an empty disk");
    let refused = |target: &mut Target| target.stage(&contender).map(drop).expect_err("refused");
    // Another partition beside the parts is not the run's.
    run(&["addpart", &disk.text(), "9", "0", "1024"]);
    let error = refused(&mut targets[0]);
    assert!(error.is_of_target() && error.to_string().contains("did not make"), "{error}");
    run(&["delpart", &disk.text(), "9"]);
    targets[0].stage(&contender).expect("as before").close().expect("closed");
    // A loop device on the whole disk reaches the bytes of every part.
    let over = common::Attached::new(&disk.path, &[]);
    let text = refused(&mut targets[1]).to_string();
    assert!(text.contains(&over.0.file_name().expect("named").to_string_lossy().into_owned()), "{text}");
    drop(over);
    // Foreign data on a part is not erased without `--erase`, which the empty disk did not need.
    write_at(&part(&disk, 2), 40 * MIB, b"precious");
    let text = refused(&mut targets[1]).to_string();
    assert!(text.contains("holds data") && text.contains(&disk.by_id), "{text}");
    write_at(&part(&disk, 2), 40 * MIB, &[0; 8]);
    targets[1].stage(&contender).expect("empty again").close().expect("closed");
    // The same number at another offset is another partition.
    let held = targets.remove(1);
    drop(held);
    run(&["addpart", &disk.text(), "2", "204800", "4096"]);
    assert!(refused(&mut targets[0]).to_string().contains("did not make"));
    run(&["delpart", &disk.text(), "2"]);
    drop(targets);
    assert!(is_free(&bench, &disk));
}

#[test]
fn a_partition_is_not_split_again() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let (disk, parts) = common::partitioned("nested", 0x4242_0012, &[64, 64]);
    let journals = [Journal::new(), Journal::new()];
    let error = Target::split(&bench.registry, &parts[0], &Terms::default(), &journals).map(drop).expect_err("refused");
    assert!(error.to_string().contains("name the whole disk"), "{error}");
    assert_eq!(shown(&disk).len(), 2);
}

const FOLDER: &str = common::VICTIM;
const DEVICE: &str = "BAKEOFF_TEST_DEVICE";

/// Not a test by itself: the loop that the killed process runs.
#[test]
fn victim() {
    let (Ok(_), Ok(path)) = (std::env::var(FOLDER), std::env::var(DEVICE)) else { return };
    let bench = Bench::new();
    loop {
        let journals = [Journal::new(), Journal::new(), Journal::new()];
        let mut targets =
            Target::split(&bench.registry, Path::new(&path), &Terms::default(), &journals).expect("an empty disk");
        let staged = targets.iter_mut().zip(["ext4", "btrfs", "ext4"]);
        let stages: Vec<_> =
            staged.map(|(target, name)| target.stage(&bench.contender(name)).expect("staged")).collect();
        stages.into_iter().for_each(|stage| drop(stage.close().expect("closed")));
    }
}

fn ids_of(pid: u32, folder: &Path) -> Vec<String> {
    let found = common::survey(folder).leftovers.into_iter().filter(|leftover| leftover.pid == Some(pid));
    found.map(|leftover| leftover.id).collect()
}

/// Starts the victim on a disk, and kills it at the moment that `wait` chooses.
fn killed(disk: &Disk, folder: &Path, wait: impl FnOnce()) -> u32 {
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["victim", "--exact", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(DEVICE, &disk.path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("started");
    wait();
    assert!(child.try_wait().expect("ours").is_none(), "it was still at work");
    child.kill().expect("ours");
    child.wait().expect("gone");
    child.id()
}

#[test]
fn whatever_moment_a_run_on_parts_is_killed_in_no_part_is_left() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let disk = Disk::new("killed", 420);
    let mut met = 0;
    for round in 0..6 {
        let pid = killed(&disk, folder, || std::thread::sleep(Duration::from_millis(250 + 610 * round)));
        met += usize::from(!shown(&disk).is_empty());
        for id in ids_of(pid, folder) {
            for cleaned in clean(&by_id(&id, folder), &bench) {
                assert!(cleaned.problems.is_empty() && cleaned.left_alone.is_empty(), "{cleaned:?}");
            }
        }
        assert_eq!((ids_of(pid, folder), shown(&disk)), (Vec::new(), Vec::new()), "round {round}");
        // The leftover of a killed mkfs has no label yet.
        run(&["blkdiscard", "--zeroout", &disk.text()]);
    }
    assert!(met > 0, "no kill met a disk with parts");
}

#[test]
fn a_partition_of_a_table_that_was_written_since_is_not_removed() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.folder.path();
    let disk = Disk::new("reused", 420);
    let all_parts = || {
        let there = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            shown(&disk).len() == 3
        });
        assert!(there, "the parts were made");
    };
    let pid = killed(&disk, folder, all_parts);
    let ids = ids_of(pid, folder);
    assert_eq!(shown(&disk).len(), 3);
    write_at(&disk.path, 0, &partition_table(0x4242_0013, &[139, 139]));
    let all: Vec<_> = ids.iter().flat_map(|id| clean(&by_id(id, folder), &bench)).collect();
    let left: Vec<&String> = all.iter().flat_map(|cleaned| &cleaned.left_alone).collect();
    assert!(left.len() == 3 && left[0].contains("partition table"), "{all:?}");
    assert_eq!(shown(&disk).len(), 3);
    let _ = Command::new(["partx", "--delete", &disk.text()]).run(&Journal::new());
}
