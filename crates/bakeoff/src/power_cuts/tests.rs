use super::*;
use reliability::power_cut::{Later, Mounts, ProgramResult};

pub(crate) fn rate(count: u32, of: u32) -> Rate {
    let (low, high) = judge::proportion(count, of);
    Rate { count, of, low, high }
}

pub(crate) fn promise(name: &str, strength: Strength, broken: u32) -> PromiseResult {
    PromiseResult {
        name: name.into(),
        title: name.into(),
        strength,
        given: if broken > 0 { Given::Broken } else { Given::Kept },
        broken: rate(broken, 1000),
        broken_in_order: rate(0, 300),
        example: None,
        worst: None,
        variants: vec![],
    }
}

pub(crate) fn survived(contender: &str, broken: u32) -> Survived {
    Survived {
        contender: contender.into(),
        filesystem: contender.into(),
        driver: None,
        class: records::Durability::unknown(),
        kernel: "6.18".into(),
        guest: false,
        mount_options: vec![],
        states: 1000,
        in_order: 300,
        events: 1,
        writes: 1,
        flushes: 1,
        promises: vec![promise("fsync", Strength::Promised, broken), promise("two-writes", Strength::Hoped, 10)],
        lost_seconds: Figures { median: Some(4.7), worst: Some(31.2) },
        foreign_bytes: 0,
        program: None,
        mounts: Mounts {
            refused: rate(0, 1000),
            refused_torn: rate(0, 60),
            refusal: None,
            kernel_lost: rate(0, 1000),
            kernel_loss: None,
            seconds: Figures { median: Some(0.004), worst: Some(0.02) },
            damaged: rate(0, 50),
            damage: None,
        },
        contradictions: vec![],
        kept: vec![],
        seed: 1,
        lying: false,
        torn: false,
        seconds: 100.0,
    }
}

/// A variant that so many of 40 cuts broke.
pub(crate) fn variant(later: Option<Later>, given: Given, broken: u32) -> VariantResult {
    VariantResult { later, given, broken: rate(broken, 40), broken_in_order: rate(0, 10), example: None }
}

fn printed(contenders: Vec<Survived>, width: usize) -> String {
    let (refused, mounted_by) = (vec![], MountedBy::asked_here());
    crate::findings::printed(
        &findings(&PowerCuts { contenders, refused, mounted_by, served_disk: None, beyond_posix: None }),
        width,
    )
}

#[test]
fn the_first_sentences_name_filesystems_that_kept_what_was_promised() {
    let text = printed(vec![survived("ext4", 0), survived("ext2", 400)], 80);
    assert!(text.starts_with("ext4 kept everything that was promised"), "{text}");
    assert!(text.contains("ext2 did NOT keep what was promised: fsync (in 400 of 1000 cuts"), "{text}");
    assert!(text.contains("broken 40 %") && text.contains("31 s"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_program_that_passes_only_by_what_posix_does_not_promise_is_named() {
    let mut one = survived("ext4", 0);
    one.promises.clear();
    one.program = Some(ProgramResult {
        command: "store".into(),
        acknowledged: 9,
        given: Given::Kept,
        lost: rate(0, 100),
        lost_in_order: rate(0, 30),
        example: None,
    });
    let output = |beyond_posix| {
        let (contenders, mounted_by) = (vec![one.clone()], MountedBy::asked_here());
        let all = PowerCuts { contenders, refused: vec![], mounted_by, served_disk: None, beyond_posix };
        crate::findings::printed(&findings(&all), 500)
    };
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    let looked = BeyondPosix { names, count: 30, found: Some("a is gone".into()), unseen: None };
    let fails = output(Some(looked.clone()));
    assert!(fails.contains("`store` relies on more than POSIX promises"), "{fails}");
    assert!(fails.contains("`a`, `b`, `c` and 27 more") && fails.contains("(\"a is gone\")"), "{fails}");
    assert!(fails.contains("Also call fsync on the folder"), "{fails}");
    let passes = output(Some(BeyondPosix { found: None, ..looked }));
    assert!(!passes.contains("relies on") && passes.contains("the check passes even then"), "{passes}");
    let unseen = output(Some(BeyondPosix { unseen: Some("no watcher works".into()), ..BeyondPosix::default() }));
    assert!(unseen.contains("could not be checked: no watcher works."), "{unseen}");
    let nothing = output(Some(BeyondPosix::default()));
    assert!(!nothing.contains("POSIX") && nothing == output(None), "{nothing}");
}

#[test]
fn states_that_a_torn_block_kept_from_being_mounted_are_counted_separately() {
    let mut one = survived("btrfs", 0);
    let refusal = serde_json::json!({ "found": "kernel: superblock checksum mismatch", "cut": 9, "left": "all of 1", "pending": 1 });
    one.mounts.refusal = serde_json::from_value(refusal).expect("an example");
    one.mounts.refused = rate(3, 1000);
    assert!(!printed(vec![one.clone()], 80).contains("torn"));
    one.mounts.refused_torn = rate(2, 60);
    let text = printed(vec![one], 200);
    assert!(
        text.contains("3 of 1000 states could not be mounted, 2 of them with a partly written 4 KiB block"),
        "{text}"
    );
    assert!(text.contains("mismatch)") && text.contains("of torn blocks") && text.contains("2 of 60"), "{text}");
}

#[test]
fn the_worst_variant_is_the_headline_and_all_variants_are_rows() {
    let mut one = survived("ext4", 0);
    let promise = &mut one.promises[1];
    promise.variants = vec![variant(None, Given::Kept, 0), variant(Some(Later::Folder), Given::Broken, 28)];
    (promise.given, promise.broken, promise.worst) = (Given::Broken, rate(28, 40), Some(Later::Folder));
    let text = printed(vec![one.clone()], 120);
    assert!(text.contains("70 %+folder") && text.contains("+ folder"), "{text}");
    assert!(text.lines().any(|line| line.contains("as it is") && line.contains("kept")), "{text}");
    one.promises[0] = PromiseResult { strength: Strength::Promised, ..one.promises[1].clone() };
    assert!(printed(vec![one], 200).contains("two-writes, then fsync of the folder (in 28 of 40 cuts"));
}

#[test]
fn a_contender_of_another_driver_is_shown_with_it_everywhere() {
    let one = Survived { driver: Some("ext4".into()), ..survived("ext2", 400) };
    let text = printed(vec![one], 120);
    assert!(text.starts_with("ext2 (ext4 driver) did NOT keep"), "{text}");
    // The head of the column has one word per line.
    assert!(text.lines().any(|line| line.trim() == "driver)" || line.contains(" driver)")), "{text}");
    assert!(text.contains("ext2 (ext4 driver): a cut loses the last"), "{text}");
}

#[test]
fn many_contenders_stand_in_several_tables() {
    let names = ["ext4", "xfs", "btrfs", "ext3", "ext4 data=writeback a-very-long-name"];
    let text = printed(names.map(|name| survived(name, 0)).to_vec(), 80);
    assert_eq!(text.matches("AFTER THE CUT").count(), 2, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
