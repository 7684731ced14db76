//! Features tested on fresh images: the known features of two filesystems must be found, and nothing may stay behind.
//! In: images in a scratch folder. Out: assertions on answers.
//! Without root nothing can be formatted; the tests then print this and pass.

mod common;

use common::{Bench, root};
use staging::features::{Answer, Feature, QUESTIONS, probe_directory, probe_filesystem};

fn answer<'a>(features: &'a [Feature], key: &str) -> &'a Answer {
    &features.iter().find(|feature| feature.key == key).expect("it was asked").answer
}

fn has(features: &[Feature], keys: &[&str], expected: bool) {
    for key in keys {
        let answer = answer(features, key);
        assert_eq!(answer.has, Some(expected), "{key}: {answer:?}");
    }
}

fn probed(bench: &Bench, name: &str) -> Vec<Feature> {
    let mut target = bench.open(&bench.image(640)).expect("an image");
    let id = target.id().to_string();
    let features = probe_filesystem(&mut target, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    drop(target);
    assert_eq!(features.len(), QUESTIONS.len());
    assert!(!std::path::PathBuf::from(format!("/run/bakeoff/{id}")).exists(), "nothing stays mounted");
    assert_eq!(std::fs::read_dir(bench.folder.path()).expect("there").count(), 0, "no image stays");
    features
}

#[test]
fn probing_ext4_finds_its_known_features() {
    if !root() {
        return;
    }
    let features = probed(&Bench::new(), "ext4");
    assert_eq!(answer(&features, "name_bytes").amount, Some(255));
    assert_eq!(answer(&features, "name_letters").amount, Some(127));
    assert_eq!(answer(&features, "file_size").amount, Some((16 << 40) - 4096));
    assert_eq!(answer(&features, "links").amount, Some(65_000));
    assert_eq!(
        (answer(&features, "time_range").text.as_str(), answer(&features, "time_step").text.as_str()),
        ("1901 to 2446", "1 ns")
    );
    has(&features, &["sparse", "punch", "preallocate", "xattr", "direct", "checksum_metadata", "grow", "shrink"], true);
    has(&features, &["truncate", "copy_range", "forgets", "reads_ahead"], true);
    assert_eq!(answer(&features, "copy_range").text, "yes", "its copies have blocks of their own");
    has(
        &features,
        &["delete_snapshot", "reflink", "checksum_data", "snapshots", "compression", "several_devices"],
        false,
    );
}

#[test]
fn probing_btrfs_finds_its_known_features() {
    if !root() {
        return;
    }
    let features = probed(&Bench::new(), "btrfs");
    assert_eq!(answer(&features, "name_bytes").amount, Some(255));
    let yes = [
        "reflink",
        "checksum_data",
        "checksum_metadata",
        "snapshots",
        "delete_snapshot",
        "rollback",
        "copy_range",
        "compression",
        "several_devices",
        "grow",
        "shrink",
    ];
    has(&features, &yes, true);
}

#[test]
fn a_directory_answers_what_needs_no_formatting_and_is_left_as_it_was() {
    let bench = Bench::new();
    let mut target = bench.open(&staging::Where::Directory(bench.folder.path().into())).expect("writable");
    let features = probe_directory(&mut target).expect("probed");
    assert!(answer(&features, "name_bytes").amount.is_some_and(|bytes| bytes >= 100));
    assert_eq!(answer(&features, "shrink").text, "?");
    drop(target);
    assert_eq!(std::fs::read_dir(bench.folder.path()).expect("there").count(), 0);
}
