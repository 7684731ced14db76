//! A contender's own devices in addition to the one under test: an external journal, an external log.
//! In: loop devices in place of disks, named by mkfs options. Out: assertions on what was made, found, refused and given back.
//! Each has the same custody as the device under test; only declared devices can be named.

mod common;

use common::{Attached, Bench, Disk, MIB, Mounted, root, run, write_at};
use records::custody::Terms;
use records::{Contender, OptionFound};
use staging::{Stage, StagingError, Target, Where};
use std::path::PathBuf;

fn with(bench: &Bench, name: &str, mkfs: &str) -> Contender {
    let mkfs = mkfs.split_whitespace().map(str::to_string).collect();
    Contender { mkfs, ..bench.contender(name) }
}

fn found(options: &[OptionFound], asked: &str) -> String {
    let one = options.iter().find(|one| one.asked == asked);
    one.unwrap_or_else(|| panic!("{asked} is not among {options:#?}")).found.clone().unwrap_or_default()
}

fn works(stage: Stage<'_>) {
    std::fs::write(stage.root().join("file"), vec![7; 4 << 20]).expect("written");
    stage.sync().expect("synced");
    let closing = stage.close().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(closing.whole, Some(true), "{closing:?}");
}

fn opened(bench: &Bench, place: &Where, terms: &Terms, contenders: &[Contender]) -> Result<Target, StagingError> {
    let mut target = Target::open_under(&bench.registry, place, terms, &bench.journal)?;
    target.take_devices(contenders)?;
    Ok(target)
}

fn words(words: &[&str]) -> Terms {
    Terms { erase: words.iter().map(|word| (*word).to_string()).collect(), promised: Vec::new() }
}

#[test]
fn a_journal_and_a_log_on_devices_of_their_own_are_made_mounted_read_back_and_given_back_empty() {
    if !root() {
        return;
    }
    let (disk, own) = (Disk::new("main", 400), Disk::new("own", 100));
    let bench = Bench::new();
    let node = own.text();
    let by_id = format!("/dev/disk/by-id/{}", own.by_id);
    for place in [bench.image(400), disk.place()] {
        let contenders = [
            with(&bench, "ext4", &format!("-J device={by_id}")),
            with(&bench, "xfs", &format!("-l logdev={node},size=80m")),
            with(&bench, "ext3", &format!("-b 1024 -J device={node}")),
            with(&bench, "ext4", ""),
        ];
        let mut target = opened(&bench, &place, &Terms::default(), &contenders).expect("both are empty");
        let stage = target.stage(&contenders[0]).unwrap_or_else(|error| panic!("{error}"));
        assert!(!found(&stage.found().options, &format!("mkfs -J device={by_id}")).is_empty());
        assert!(stage.found().inspected["dumpe2fs"].contains("Block size:               4096"));
        assert!(stage.durable().flush.contains(&own.path), "its data is safe when the journal's device has it");
        assert!(stage.watch().below.contains(&node.replace("/dev/", "")), "its traffic is the contender's own");
        let held = std::process::Command::new("mkfs.ext4").args(["-q", "-F", &node]).output().expect("started");
        assert!(!held.status.success(), "the mount holds its journal");
        works(stage);
        let stage = target.stage(&contenders[1]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found(&stage.found().options, &format!("mount logdev={node}")), format!("logdev={node}"));
        assert!(!found(&stage.found().options, &format!("mkfs -l logdev={node}")).is_empty());
        works(stage);
        let stage = target.stage(&contenders[2]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found(&stage.found().options, "mkfs -b 1024"), "Block size 1024");
        works(stage);
        let held = std::process::Command::new("mkfs.ext4").args(["-q", "-F", &node]).output().expect("started");
        assert!(!held.status.success(), "between trials the target holds it");
        works(target.stage(&contenders[3]).unwrap_or_else(|error| panic!("{error}")));
        drop(target);
        assert_eq!(run(&["wipefs", &node]), "");
    }
    drop(bench.open(&own.place()).expect("given back empty"));
}

#[test]
fn a_device_that_options_name_needs_its_own_word_and_is_refused_for_the_same_reasons() {
    if !root() {
        return;
    }
    let (disk, own) = (Disk::new("main-2", 64), Disk::new("own-2", 64));
    let bench = Bench::new();
    let contender = with(&bench, "ext4", &format!("-J device={}", own.text()));
    let refusal = |terms: &Terms| {
        opened(&bench, &disk.place(), terms, std::slice::from_ref(&contender))
            .map(drop)
            .expect_err("refused")
            .to_string()
    };
    run(&["mkfs.ext4", "-q", "-L", "precious", &own.text()]);
    let text = refusal(&Terms::default());
    assert!(text.contains(&own.text()) && text.contains("precious") && text.contains(&own.by_id), "{text}");
    // `--erase` for the device under test does not cover this one.
    write_at(&disk.path, 0, b"data");
    let text = refusal(&words(&[&disk.by_id]));
    assert!(text.contains("precious"), "{text}");
    let text = refusal(&words(&[&own.by_id]));
    assert!(text.contains(&disk.text()) && text.contains("holds data"), "{text}");
    let both = words(&[&own.by_id, &disk.by_id]);
    let text = refusal(&words(&[&own.by_id, &disk.by_id, "another"]));
    assert!(text.contains("--erase another names no device"), "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let mounted = Mounted::new(&[&own.text()], &folder.path().join("m"));
    assert!(refusal(&both).contains("is mounted on"));
    drop(mounted);
    assert!(run(&["blkid", "--probe", &own.text()]).contains("precious"), "nothing was touched");
    let mut target = opened(&bench, &disk.place(), &both, std::slice::from_ref(&contender)).expect("both are named");
    works(target.stage(&contender).unwrap_or_else(|error| panic!("{error}")));
}

#[test]
fn a_journal_that_a_mounted_filesystem_uses_is_refused() {
    if !root() {
        return;
    }
    let (disk, own, other) = (Disk::new("main-3", 64), Disk::new("own-3", 400), Disk::new("other-3", 400));
    let bench = Bench::new();
    let folder = tempfile::tempdir().expect("a folder");
    run(&["mke2fs", "-q", "-O", "journal_dev", "-b", "4096", &own.text()]);
    run(&["mkfs.ext4", "-q", "-J", &format!("device={}", own.text()), &other.text()]);
    let mounted = Mounted::new(&[&other.text()], &folder.path().join("m"));
    let contender = with(&bench, "ext4", &format!("-J device={}", own.text()));
    let refused = opened(&bench, &disk.place(), &words(&[&own.by_id]), &[contender]).map(drop);
    assert!(matches!(refused, Err(StagingError::Refused { .. })), "{refused:?}");
    drop(mounted);
    run(&["mkfs.xfs", "-q", "-f", "-l", &format!("logdev={},size=80m", own.text()), &other.text()]);
    let logdev = format!("logdev={}", own.text());
    let mounted = Mounted::new(&["-o", &logdev, &other.text()], &folder.path().join("m"));
    let contender = with(&bench, "xfs", &format!("-l {logdev},size=80m"));
    let refused = opened(&bench, &bench.image(400), &words(&[&own.by_id]), &[contender]).map(drop);
    assert!(matches!(refused, Err(StagingError::Refused { .. })), "{refused:?}");
    drop(mounted);
}

#[test]
fn the_device_under_test_and_its_parts_are_no_journal_of_its_own() {
    if !root() {
        return;
    }
    let bench = Bench::new();
    let (disk, parts) = common::partitioned("own-part", 0x5151_0001, &[64, 32]);
    let over = Attached::new(&disk.path, &["--offset", &(65 * MIB).to_string()]);
    let try_it = |place: &Where, journal: &PathBuf| {
        let contender = with(&bench, "ext4", &format!("-J device={}", journal.display()));
        let terms = words(&[&disk.by_id]);
        let terms = if matches!(place, Where::Device { path, .. } if *path == disk.path) { terms } else { words(&[]) };
        opened(&bench, place, &terms, &[contender]).map(drop)
    };
    drop(over);
    let part = Where::Device { path: parts[0].clone(), erase: None };
    for (place, journal) in [(disk.place(), &parts[1]), (disk.place(), &disk.path), (part.clone(), &parts[0])] {
        let text = try_it(&place, journal).expect_err("the same bytes").to_string();
        assert!(text.contains("uses already") || text.contains("in use"), "{text}");
    }
    try_it(&part, &parts[1]).expect("a partition beside it is another device");
}

#[test]
fn a_journal_left_by_an_interrupted_contender_is_recognized_by_its_label() {
    if !root() {
        return;
    }
    let (disk, own) = (Disk::new("main-4", 64), Disk::new("own-4", 64));
    let bench = Bench::new();
    let contender = with(&bench, "ext4", &format!("-J device={}", own.text()));
    let mut target = opened(&bench, &disk.place(), &Terms::default(), std::slice::from_ref(&contender)).expect("empty");
    let stage = target.stage(&contender).unwrap_or_else(|error| panic!("{error}"));
    let label = run(&["blkid", "--probe", "--output", "value", "--match-tag", "LABEL", &own.text()]);
    drop(stage);
    assert_eq!(label.trim(), format!("bo-{}", target.id()));
    // A contender that cannot be made gives its journal back, too.
    let odd = with(&bench, "ext4", &format!("-J device={} -O no_such_feature", own.text()));
    assert!(target.stage(&odd).expect_err("no such feature").is_of_contender());
    drop(target);
    assert_eq!(run(&["wipefs", &own.text()]), "");
    drop(bench.open(&own.place()).expect("empty"));
}
