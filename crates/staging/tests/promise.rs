//! Devices of a run keep their identity: the same ones are found before every mkfs, whatever their names lead to by then.
//! In: loop devices that are replaced by others of the same name, while a target is open and between two. Out: refusals that describe both.

mod common;

use common::{Attached, Bench, MIB, partitioned, root, run};
use records::custody::{Promise, Terms};
use staging::{StagingError, Target, Where};
use std::path::{Path, PathBuf};
use system::{Command, Journal};

fn sparse(folder: &Path, name: &str, mib: u64) -> PathBuf {
    let path = folder.join(name);
    std::fs::File::create(&path).and_then(|file| file.set_len(mib * MIB)).expect("sparse");
    path
}

fn opened(bench: &Bench, path: &Path, promised: &[Promise], erase: &[String]) -> Result<Target, StagingError> {
    let terms = Terms { erase: erase.to_vec(), promised: promised.to_vec() };
    Target::open_under(&bench.registry, &Where::Device { path: path.into(), erase: None }, &terms, &bench.journal)
}

/// Attaches another file to the same node.
fn swapped(device: &Attached, file: &Path) -> bool {
    run(&["losetup", "--detach", &device.text()]);
    (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        Command::new(["losetup", &device.text(), &file.display().to_string()]).run(&Journal::new()).is_ok()
    })
}

#[test]
fn another_device_that_has_the_name_now_is_refused_with_both_descriptions() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (sparse(folder.path(), "first", 64), sparse(folder.path(), "second", 64));
    let bench = Bench::new();
    let device = Attached::new(&first, &[]);
    let promised = opened(&bench, &device.0, &[], &[]).expect("empty").promises();
    drop(opened(&bench, &device.0, &promised, &[]).expect("the same one"));
    assert!(swapped(&device, &second), "the node was taken by another test");
    let erase = [second.display().to_string()];
    let error = opened(&bench, &device.0, &promised, &erase).map(drop).expect_err("another one");
    let text = error.to_string();
    assert!(matches!(error, StagingError::Refused { .. }), "{text}");
    assert!(text.contains(&first.display().to_string()) && text.contains(&second.display().to_string()), "{text}");
    // With another size, the size differs too.
    let large = sparse(folder.path(), "large", 128);
    assert!(swapped(&device, &large), "the node was taken by another test");
    let text = opened(&bench, &device.0, &promised, &[]).map(drop).expect_err("another one").to_string();
    assert!(text.contains("64 MiB") && text.contains("128 MiB"), "{text}");
}

#[test]
fn the_same_file_behind_another_node_is_the_same_after_a_boot_and_not_within_one() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = sparse(folder.path(), "file", 64);
    let bench = Bench::new();
    let device = Attached::new(&file, &[]);
    let mut promised = opened(&bench, &device.0, &[], &[]).expect("empty").promises();
    drop(device);
    let again = Attached::new(&file, &[]);
    promised[0].named = again.0.clone();
    let text = opened(&bench, &again.0, &promised, &[]).map(drop).expect_err("it was away").to_string();
    assert!(text.contains("disk sequence"), "{text}");
    promised[0].identity.boot_id = "another boot".into();
    drop(opened(&bench, &again.0, &promised, &[]).expect("the file tells"));
    promised[0].identity.backing = None;
    let text = opened(&bench, &again.0, &promised, &[]).map(drop).expect_err("nothing tells").to_string();
    assert!(text.contains("the boot"), "{text}");
}

#[test]
fn a_partition_is_identified_by_its_uuid_and_its_offset() {
    if !root() {
        return;
    }
    let (disk, parts) = partitioned("promised", 0x4242_0001, &[32, 32]);
    let bench = Bench::new();
    let promised = opened(&bench, &parts[0], &[], &[]).expect("empty").promises();
    let partition = promised[0].identity.partition.clone().expect("it is one");
    assert_eq!((partition.number, partition.start, partition.uuid.as_deref()), (1, MIB, Some("42420001-01")));
    // The same offset on a disk with another table.
    common::write_at(&disk.path, 0, &common::partition_table(0x4242_0002, &[32, 32]));
    run(&["partx", "--delete", &disk.text()]);
    run(&["partx", "--add", &disk.text()]);
    let text = opened(&bench, &parts[0], &promised, &[]).map(drop).expect_err("another table").to_string();
    assert!(text.contains("its partition") && text.contains("42420001-01") && text.contains("42420002-01"), "{text}");
}

#[test]
fn a_promise_is_read_again_from_what_it_was_written_as() {
    if !root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::new();
    let device = Attached::new(&sparse(folder.path(), "kept", 64), &[]);
    let promised = opened(&bench, &device.0, &[], &[]).expect("empty").promises();
    let text = serde_json::to_string(&Terms { erase: vec!["x".into()], promised }).expect("written");
    let read: Terms = serde_json::from_str(&text).expect("read");
    drop(opened(&bench, &device.0, &read.promised, &[]).expect("the same one"));
}
