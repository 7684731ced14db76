//! Contenders that did not do the same work, and data that never reached a device: doubts come before any verdict.
//! In: constructed counts. Out: doubts, and the remaining rankings, answers, decisions and comparisons.

mod support;

use judge::{DoubtKind, FailOn, Policy, Reason, Side, Work, WorkDoubt, answer, compare_contenders, decide};
use support::{Bake, CALM, CALM_TOO};

const MB: f64 = 1e6;

/// A program by duration, bytes that its calls wrote, and bytes that the device received.
fn program(seconds: f64, written: f64, device: f64) -> Work {
    Work {
        phase: "run".into(),
        program: true,
        seconds: Some(seconds),
        written: Some(written),
        read: Some(20e3),
        device_written: Some(device),
        kept: Some(device),
        printed: Some(0.0),
        ..Work::default()
    }
}

/// A phase whose written bytes the engine knows.
fn known(due: f64, device: f64) -> Work {
    Work {
        phase: "run".into(),
        seconds: Some(1.0),
        written: Some(due),
        due_to_device: Some(due),
        device_written: Some(device),
        ..Work::default()
    }
}

fn cold_read(due: f64, device: f64) -> Work {
    Work {
        phase: "run".into(),
        read: Some(due),
        due_from_device: Some(due),
        device_read: Some(device),
        ..Work::default()
    }
}

fn of(bake: Bake, name: &str, seconds: f64, factors: &[f64], work: Work) -> Bake {
    bake.at(name, seconds, factors).cell(|cell| cell.facts.work = vec![work])
}

/// Two contenders in one row, the second one faster.
fn two(ext4: Work, xfs: Work) -> Bake {
    of(of(Bake::new().time("build"), "ext4", 4.0, &CALM, ext4), "xfs", 0.1, &CALM_TOO, xfs)
}

fn doubts(ext4: Work, xfs: Work) -> Vec<WorkDoubt> {
    two(ext4, xfs).judge().doubts
}

fn kinds(ext4: Work, xfs: Work) -> Vec<DoubtKind> {
    doubts(ext4, xfs).into_iter().map(|doubt| doubt.kind).collect()
}

#[test]
fn a_program_that_did_nothing_on_one_filesystem_leaves_no_verdict() {
    let bake = two(program(4.0, 105.0 * MB, 106.0 * MB), program(0.1, 26.0, 0.0));
    let judged = bake.judge();
    let text = "The contenders did not do the same work in small-files build (cold): ext4 wrote 105 MB, xfs almost nothing (26 B). \
                There is no verdict on it.";
    assert_eq!((bake.sentences().as_str(), judged.rankings.len()), (text, 0));
    assert!(
        judged.figures[1].notes.iter().any(|note| note.text.contains("less work")),
        "{:?}",
        judged.figures[1].notes
    );

    let answer = answer(&bake.table).unwrap();
    assert!(answer.groups.iter().all(|group| group.take.is_none() && group.workloads.is_empty()), "{answer:?}");
    let decision = decide(&bake.table, &Policy { min_blocks: 3, ..Policy::default() }).unwrap();
    assert_eq!((decision.reason, decision.next.len()), (Reason::Resolved, 0));
    assert!(decision.text.ends_with(text), "{}", decision.text);

    let side = |contender| Side { table: &bake.table, contender };
    let compared = compare_contenders(side(0), side(1));
    assert_eq!((compared.rows.len(), compared.doubts.as_slice()), (0, [text.to_owned()].as_slice()));
    assert_eq!(compared.sentences[0], text, "it comes first");
    assert!(compared.failures(&FailOn { worse: 0.0, likely: false, inconclusive: false }).is_empty());
}

#[test]
fn the_rest_of_the_work_is_judged_all_the_same_and_sums_with_the_doubtful_step_are_not() {
    let line = |bake: Bake, ext4: f64, xfs: f64, works: [Vec<Work>; 2]| {
        let [first, second] = works;
        let bake = bake.at("ext4", ext4, &CALM).cell(|cell| cell.facts.work = first);
        bake.at("xfs", xfs, &CALM_TOO).cell(|cell| cell.facts.work = second)
    };
    let read = || Work { phase: "read".into(), ..cold_read(50.0 * MB, 50.0 * MB) };
    let (done, idle) = (program(4.0, 105.0 * MB, 106.0 * MB), program(0.1, 26.0, 0.0));
    let bake = line(Bake::new().time("build"), 4.0, 0.1, [vec![done.clone()], vec![idle.clone()]]);
    let bake = line(bake.time("read"), 1.0, 1.5, [vec![read()], vec![read()]]);
    let mut bake = line(bake.time("total"), 5.0, 1.6, [vec![done, read()], vec![idle, read()]]);
    bake.table.operations[2].summary = true;
    let judged = bake.judge();
    assert_eq!(judged.rankings.iter().map(|ranking| ranking.operation).collect::<Vec<_>>(), [1]);
    assert_eq!((judged.doubts.len(), judged.doubts[0].operations.as_slice()), (1, [0, 2].as_slice()));
    let group = answer(&bake.table).unwrap().groups[0].clone();
    assert_eq!(group.take.unwrap().shortfall.contender, 0, "ext4 reads faster, and nothing else is known");
    assert!(bake.sentences().starts_with("The contenders did not do the same work"), "{}", bake.sentences());
}

#[test]
fn a_program_that_runs_for_a_fixed_time_does_less_where_the_filesystem_is_slow() {
    let slow = |written: f64| program(10.0, written, written);
    assert_eq!(kinds(slow(2_000.0 * MB), slow(60.0 * MB)), []);
    assert_eq!(kinds(slow(2_000.0 * MB), slow(20e3)), [DoubtKind::UnequalWork], "but it does something");
    assert_eq!(kinds(slow(2_000.0 * MB), program(1.0, 60.0 * MB, 60.0 * MB)), [DoubtKind::UnequalWork], "sooner done");
}

#[test]
fn overhead_and_savings_of_filesystems_raise_no_doubt() {
    // Journals and metadata of a program that writes little.
    assert_eq!(kinds(program(1.0, 2e3, 12.0 * MB), program(0.4, 2e3, 40e3)), []);
    // A thousand small commits: one filesystem writes far more for each.
    assert_eq!(kinds(program(9.0, 6.0 * MB, 160.0 * MB), program(1.0, 6.0 * MB, 8.0 * MB)), []);
    // Compression by two, and checksums.
    assert_eq!(kinds(program(2.0, 100.0 * MB, 105.0 * MB), program(1.5, 100.0 * MB, 51.0 * MB)), []);
    assert_eq!(kinds(known(100.0 * MB, 130.0 * MB), known(100.0 * MB, 50.0 * MB)), []);
    // Temporary files that are deleted before writeback; one filesystem wrote some of them.
    let gone = |device: f64| Work { kept: Some(0.0), ..program(1.0, 100.0 * MB, device) };
    assert_eq!(kinds(gone(100.0 * MB), gone(0.0)), []);
    let deleted = |device: f64| Work { due_to_device: Some(0.0), ..known(300.0 * MB, device) };
    assert_eq!(kinds(deleted(300.0 * MB), deleted(0.0)), []);
    // Files small enough for their inodes, and a warm read.
    assert_eq!(kinds(known(4.0 * MB, 30.0 * MB), known(4.0 * MB, 0.3 * MB)), []);
    let warm = Work { read: Some(200.0 * MB), ..program(1.0, 0.0, 0.0) };
    assert_eq!(kinds(warm.clone(), warm), []);
}

#[test]
fn counts_that_nothing_is_known_of_are_no_doubt_unless_a_device_was_idle() {
    assert_eq!(kinds(Work::default(), Work::default()), []);
    let old = |device: f64| Work { written: None, read: None, kept: None, ..program(1.0, 0.0, device) };
    assert_eq!(kinds(old(105.0 * MB), old(0.0)), [DoubtKind::UnequalWork], "nothing but the device tells");
    assert_eq!(kinds(old(105.0 * MB), old(9.0 * MB)), []);
    assert_eq!(kinds(old(15.0 * MB), old(0.0)), [], "a journal may be as large");
}

#[test]
fn output_and_reads_of_programs_tell_too() {
    let printing = |printed: f64, seconds: f64| Work { printed: Some(printed), ..program(seconds, 0.0, 0.0) };
    assert_eq!(kinds(printing(900e3, 2.0), printing(100.0, 0.1)), [DoubtKind::UnequalWork]);
    assert_eq!(kinds(printing(9e3, 2.0), printing(100.0, 0.1)), [], "a message more or less");
    let reading = |read: f64, seconds: f64| Work { read: Some(read), ..program(seconds, 0.0, 0.0) };
    let found = doubts(reading(300.0 * MB, 2.0), reading(0.0, 0.1));
    assert!(found[0].text.contains("ext4 read 300 MB, xfs nothing"), "{}", found[0].text);
    let making = |files: f64, seconds: f64| Work { files: Some(files), ..program(seconds, 0.0, 0.0) };
    let found = doubts(making(5000.0, 2.0), making(0.0, 0.1));
    assert!(found[0].text.contains("ext4 made 5000 files and folders, xfs none"), "{}", found[0].text);
    assert_eq!(kinds(making(90.0, 2.0), making(2.0, 0.1)), [], "files of the filesystem's own");
}

#[test]
fn zeros_on_a_compressing_filesystem_come_with_a_sentence_before_the_verdict() {
    let bake = two(known(300.0 * MB, 301.0 * MB), known(300.0 * MB, 10.0 * MB));
    let sentence = bake.sentences();
    let first = "In small-files build (cold) most of the data never reached the device: xfs wrote 300 MB, of which the device took 10 MB \
                 (compressed, deduplicated or left out as zeros). For small-files build (cold) on this device: xfs is best";
    assert!(sentence.starts_with(first), "{sentence}");
    // The same by a program whose calls are counted.
    let kept = |device: f64| Work { kept: Some(device), ..program(1.0, 300.0 * MB, device) };
    assert_eq!(kinds(kept(301.0 * MB), kept(10.0 * MB)), [DoubtKind::NotStored]);
}

#[test]
fn reads_that_never_reached_the_device_are_reported_for_all_contenders() {
    let found = doubts(cold_read(210.0 * MB, 0.0), cold_read(210.0 * MB, 30e3));
    assert_eq!((found[0].kind, found[0].less.as_slice()), (DoubtKind::NotFetched, [0, 1].as_slice()));
    let text = "most of the data never came from the device: ext4 and xfs read 210 MB, of which the device delivered almost nothing (30 kB)";
    assert!(found[0].text.contains(text), "{}", found[0].text);
    assert_eq!(kinds(cold_read(210.0 * MB, 215.0 * MB), cold_read(210.0 * MB, 90.0 * MB)), [], "compressed by two");
    assert_eq!(kinds(cold_read(9.0 * MB, 0.0), cold_read(9.0 * MB, 0.0)), [], "little is blurred by read-ahead");
    let holes = |device: f64| Work { device_read: Some(device), read: Some(210.0 * MB), ..program(1.0, 0.0, 0.0) };
    assert_eq!(kinds(holes(210.0 * MB), holes(0.0)), [DoubtKind::NotFetched]);
}

#[test]
fn a_twin_is_named_by_its_first_entry_and_many_are_counted() {
    let (done, idle) = (program(4.0, 105.0 * MB, 106.0 * MB), program(0.1, 26.0, 0.0));
    let bake = two(done, idle.clone());
    let bake =
        of(bake, "xfs, again", 0.1, &CALM, idle.clone()).who("xfs, again", |one| one.twin_of = Some("xfs".into()));
    assert!(bake.sentences().contains("ext4 wrote 105 MB, xfs almost nothing"), "{}", bake.sentences());
    let bake = ["jfs", "ext2", "f2fs"].into_iter().fold(bake, |bake, name| of(bake, name, 0.1, &CALM, idle.clone()));
    assert!(bake.sentences().contains("xfs, jfs and 2 others almost nothing"), "{}", bake.sentences());
}

#[test]
fn a_warm_pass_that_read_from_the_device_is_marked() {
    let note = |share: f64| {
        let bake = Bake::new().time("read").at("ext4", 1.0, &CALM).cell(|cell| cell.facts.device_served = Some(share));
        bake.judge().figures[0].notes.iter().map(|note| note.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(note(0.56), ["not warm: 56 % of the bytes came from the device"]);
    assert_eq!(note(0.02), Vec::<String>::new());
}

#[test]
fn one_item_in_a_few_milliseconds_has_figures_and_no_rank() {
    let lasts = |bake: Bake, name: &str, seconds: f64, factors: &[f64]| {
        bake.at(name, seconds, factors).cell(|cell| cell.facts.one_item_seconds = Some(seconds))
    };
    let mkdir =
        |ext4: f64, xfs: f64| lasts(lasts(Bake::new().time("mkdir"), "ext4", ext4, &CALM), "xfs", xfs, &CALM_TOO);
    let note = "too short to rank";
    let noted = |bake: &Bake| {
        let figures = bake.judge().figures;
        figures.iter().map(|figure| figure.notes.iter().filter(|of| of.text == note).count()).collect::<Vec<_>>()
    };

    let short = mkdir(0.002, 0.004);
    let judged = short.judge();
    assert_eq!((judged.rankings.len(), judged.comparisons, judged.too_short.as_slice()), (0, 0, [0].as_slice()));
    assert_eq!((noted(&short), short.sentences().as_str()), (vec![1, 1], ""));
    let decision = decide(&short.table, &Policy { min_blocks: 3, ..Policy::default() }).unwrap();
    assert_eq!((decision.reason, decision.next.len()), (Reason::Resolved, 0), "no run waits for it");
    let side = |contender| Side { table: &short.table, contender };
    let compared = compare_contenders(side(0), side(1));
    assert_eq!((compared.rows.len(), compared.unmatched.len()), (0, 1));
    assert!(compared.unmatched[0].ends_with(&format!("({note})")), "{:?}", compared.unmatched);

    // Ranked as soon as one of them needs longer, and where it is a mean over many items.
    let long = mkdir(0.002, 0.006);
    assert_eq!((long.judge().rankings.len(), noted(&long)), (1, vec![0, 0]));
    let many = mkdir(0.002, 0.004).cell(|cell| cell.facts.one_item_seconds = None);
    assert_eq!((many.judge().rankings.len(), noted(&many)), (1, vec![0, 0]));
    let mut declared = long;
    declared.table.operations[0].unranked = true;
    assert_eq!((declared.judge().rankings.len(), noted(&declared)), (0, vec![1, 1]));
}
