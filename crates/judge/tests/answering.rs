//! Which contender to take, and how certain that is.
//! In: small tables. Out: answers as a reader gets them.

mod support;

use judge::{Certainty, Durability, Facts, Grade, SafetyClass, answer};
use support::{Bake, CALM, CALM_TOO, WILD, WILD_TOO};

fn safe(contender: &mut judge::Contender) {
    contender.durability =
        Durability { flushes: Some(true), ordered: Some(true), checksums: Some(false), ..Durability::default() };
}

fn unordered(contender: &mut judge::Contender) {
    contender.durability = Durability { flushes: Some(true), ordered: Some(false), ..Durability::default() };
}

#[test]
fn a_contender_that_is_never_far_behind_is_taken_and_its_bound_shown() {
    // ext4 is 1.2 times behind at both; the others are best at one and twice behind at the other.
    let bake = Bake::new()
        .time("create")
        .at("ext4", 12.0, &CALM)
        .at("xfs", 10.0, &CALM_TOO)
        .at("btrfs", 20.0, &CALM)
        .time("read")
        .at("ext4", 12.0, &CALM_TOO)
        .at("xfs", 20.0, &CALM)
        .at("btrfs", 10.0, &CALM_TOO);
    let answer = answer(&bake.table).unwrap();
    let group = &answer.groups[0];
    let take = group.take.as_ref().unwrap();
    assert_eq!(bake.table.contenders[take.shortfall.contender].name, "ext4");
    assert!(take.shortfall.at_most > 1.2 && take.shortfall.at_most < 1.4, "{take:?}");
    assert_eq!((take.certainty, take.rivals.len()), (Certainty::BeyondDoubt, 0));
    assert_eq!(group.order[0], 0);
    assert_eq!(answer.open.open, 0);
}

#[test]
fn before_there_is_a_bound_the_one_that_is_least_far_behind_leads() {
    let two = |bake: Bake| bake.time("read").at("ext4", 13.0, &CALM[..2]).at("xfs", 10.0, &CALM[..2]);
    let shown = |bake: &Bake| {
        let group = answer(&bake.table).unwrap().groups.remove(0);
        let (leading, ratio) = group.leading.unwrap();
        (bake.table.contenders[leading].name.clone(), (ratio * 10.0).round() / 10.0, group.take.is_some())
    };
    // In a row with enough samples ext4 is ahead; in the other, which has two, it is further behind.
    let first = || Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 11.0, &CALM_TOO);
    assert_eq!(shown(&first()), ("ext4".into(), 1.0, true));
    assert_eq!(shown(&two(first())), ("xfs".into(), 1.1, false));
    assert_eq!(shown(&two(Bake::new())), ("xfs".into(), 1.0, false));
}

#[test]
fn a_choice_is_not_beyond_doubt_if_its_lines_are_only_likely() {
    let mut found = [0; 3];
    for step in 0..150 {
        let slower = 10.0 * (1.0 + f64::from(step) / 1000.0);
        let lines = ["create", "read", "list", "delete", "rename", "copy"];
        let bake = lines
            .iter()
            .fold(Bake::new(), |bake, line| bake.time(line).at("xfs", 10.0, &CALM).at("ext4", slower, &CALM_TOO));
        let judgement = judge::judge(&bake.table).unwrap();
        let worse = judgement.rankings.iter().any(|line| line.others[0].relation.is_worse());
        let certainty = answer(&bake.table).unwrap().groups[0].take.as_ref().unwrap().certainty;
        assert!(worse || certainty != Certainty::BeyondDoubt, "{slower}: no line says so");
        found[certainty as usize] += 1;
    }
    assert!(found.iter().all(|count| *count > 0), "each is met: {found:?}");
}

#[test]
fn a_faster_one_that_keeps_data_less_safely_is_named_beside_the_answer() {
    let bake = Bake::new()
        .time("create")
        .at("ext2", 10.0, &CALM)
        .who("ext2", unordered)
        .at("ext4", 13.0, &CALM_TOO)
        .who("ext4", safe)
        .at("xfs", 26.0, &CALM)
        .who("xfs", safe);
    let answer = answer(&bake.table).unwrap();
    let group = &answer.groups[0];
    assert_eq!(group.take.as_ref().unwrap().shortfall.contender, 1, "ext4 leads those that keep data in order");
    let faster = &group.less_safe[0];
    assert_eq!((faster.contender, faster.class), (0, SafetyClass::Unordered));
    assert!((faster.ratio - 1.3).abs() < 0.03, "{faster:?}");
    assert_eq!(
        group.avoid.iter().map(|avoid| avoid.contender).collect::<Vec<_>>(),
        Vec::<usize>::new(),
        "2.0 is not surely twice"
    );
}

#[test]
fn the_only_one_that_keeps_data_is_taken_however_fast_others_are() {
    let bake = Bake::new()
        .time("create")
        .at("ext2", 10.0, &CALM)
        .who("ext2", unordered)
        .at("ext4", 13.0, &CALM_TOO)
        .who("ext4", safe);
    let group = answer(&bake.table).unwrap().groups[0].clone();
    let take = group.take.as_ref().unwrap();
    assert_eq!((take.shortfall.contender, take.shortfall.at_most, take.rivals.len()), (1, 1.0, 0));
    assert!(group.is_alone() && group.order == [1, 0] && group.less_safe[0].contender == 0);

    let both = answer(&bake.at("xfs", 14.0, &CALM).who("xfs", safe).table).unwrap().groups[0].clone();
    assert!(!both.is_alone() && both.take.is_some());
    let one = answer(&Bake::new().time("create").at("ext4", 13.0, &CALM).who("ext4", safe).table).unwrap();
    assert!(one.groups[0].take.is_none() && !one.groups[0].is_alone(), "with no other beside it nothing is chosen");
}

#[test]
fn where_the_one_to_take_is_far_behind_too_no_other_is_to_be_avoided() {
    let bake = Bake::new()
        .time("create")
        .at("xfs", 1.0, &CALM)
        .at("ext4", 1.5, &CALM_TOO)
        .at("btrfs", 5.0, &CALM)
        .time("read")
        .at("xfs", 3.1, &CALM_TOO)
        .at("ext4", 3.6, &CALM)
        .at("btrfs", 1.0, &CALM_TOO);
    let group = answer(&bake.table).unwrap().groups[0].clone();
    let named = |who: usize| bake.table.contenders[who].name.as_str();
    assert_eq!(group.take.map(|take| named(take.shortfall.contender)), Some("xfs"));
    let avoided: Vec<_> = group.avoid.iter().map(|avoid| (named(avoid.contender), avoid.operation)).collect();
    assert_eq!(avoided, [("btrfs", 0)]);
}

#[test]
fn a_contender_far_behind_is_to_be_avoided_and_its_operation_named() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("zfs", 11.0, &CALM_TOO)
        .time("read")
        .at("ext4", 10.0, &CALM)
        .at("zfs", 80.0, &CALM_TOO);
    let avoid = answer(&bake.table).unwrap().groups[0].avoid.clone();
    assert_eq!((avoid.len(), avoid[0].contender, avoid[0].operation), (1, 1, 1));
    assert!((avoid[0].ratio - 8.0).abs() < 0.2 && avoid[0].certainty == Certainty::BeyondDoubt, "{avoid:?}");
}

#[test]
fn an_undecided_answer_is_open_and_names_the_samples_that_it_needs() {
    let timed = |cell: &mut judge::Cell| cell.facts.trial_seconds = Some(10.0);
    let bake = Bake::new().time("create").at("ext4", 10.0, &WILD).cell(timed).at("xfs", 10.6, &WILD_TOO).cell(timed);
    let answer = answer(&bake.table).unwrap();
    let take = answer.groups[0].take.as_ref().unwrap();
    assert_eq!((take.certainty, take.rivals.len()), (Certainty::Open, 1));
    assert_eq!(answer.confidence.grade, Grade::Low);
    assert_eq!((answer.open.open, answer.open.comparisons), (1, 1));
    let (blocks, trials) = (answer.open.blocks.unwrap(), answer.open.trials.unwrap());
    assert!(blocks > 5 && trials == 2 * blocks, "{:?}", answer.open);
    assert!((answer.open.seconds.unwrap() - 20.0 * f64::from(blocks)).abs() < 1e-6);
}

/// A cell in which the operation could not be done.
fn undone(cell: &mut judge::Cell) {
    cell.facts = Facts { undone: 5, why_undone: Some("No space left on device".into()), ..Facts::default() };
}

#[test]
fn one_that_can_do_nothing_of_a_line_is_no_choice_and_makes_no_other_look_far_behind() {
    let bake = Bake::new()
        .time("write at 95 %")
        .at("btrfs", 1.0, &CALM)
        .at("zfs", 4.0, &CALM_TOO)
        .time("write at 99 %")
        .of("btrfs", &[])
        .cell(undone)
        .at("zfs", 64.0, &CALM);
    let group = answer(&bake.table).unwrap().groups[0].clone();
    let take = group.take.as_ref().unwrap().shortfall;
    assert_eq!((bake.table.contenders[take.contender].name.as_str(), take.at_most), ("zfs", 1.0));
    assert!(group.is_alone() && group.is_for_the_able() && group.order == [1, 0], "{group:?}");
    assert!(group.workloads[0].alone);
    let cannot = &group.cannot[0];
    assert_eq!((cannot.contender, cannot.operations.as_slice(), cannot.operation), (0, [1].as_slice(), Some(0)));
    assert!((cannot.ratio - 4.0).abs() < 0.1, "its sentence has how much faster it is elsewhere: {cannot:?}");

    let both = bake.time("read").at("btrfs", 1.0, &CALM).at("zfs", 1.0, &CALM_TOO).at("ext4", 2.0, &CALM).table;
    let group = answer(&both).unwrap().groups[0].clone();
    assert_eq!(group.able, [1, 2], "one that was not measured in some lines, but could do all that it was measured in");
}

#[test]
fn the_choice_is_among_those_that_can_do_all_of_it() {
    let line = |bake: Bake, name: &str, times: [f64; 2]| {
        bake.time(name).at("xfs", times[0], &CALM).at("ext4", times[1], &CALM_TOO)
    };
    let bake = line(Bake::new(), "create", [11.0, 10.0]).at("btrfs", 1.0, &CALM);
    let bake = line(bake, "clone", [10.0, 15.0]).of("btrfs", &[]).cell(undone);
    let group = answer(&bake.table).unwrap().groups[0].clone();
    let take = group.take.as_ref().unwrap();
    assert_eq!((take.shortfall.contender, take.certainty), (0, Certainty::BeyondDoubt));
    assert!(take.shortfall.at_most < 1.2, "ten times faster is one that cannot do the rest: {take:?}");
    assert!(!group.is_alone() && group.is_for_the_able() && group.able == [0, 1]);
}

#[test]
fn where_each_lacks_something_the_lines_that_all_can_do_decide() {
    let bake = Bake::new()
        .time("snapshot")
        .of("xfs", &[])
        .cell(undone)
        .at("btrfs", 1.0, &CALM)
        .time("write at 99 %")
        .at("xfs", 1.0, &CALM)
        .of("btrfs", &[])
        .cell(undone)
        .time("read")
        .at("xfs", 2.0, &CALM)
        .at("btrfs", 3.0, &CALM_TOO);
    let group = answer(&bake.table).unwrap().groups[0].clone();
    let take = group.take.as_ref().unwrap();
    assert_eq!((take.shortfall.contender, take.shortfall.operation, group.cannot.len()), (0, 2, 2));
    assert!(!group.is_alone() && !group.is_for_the_able(), "no contender was left out of the choice");
}

#[test]
fn beside_one_that_is_not_measured_enough_yet_no_choice_is_beyond_doubt() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 9.0, &CALM_TOO)
        .time("read")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 11.0, &CALM_TOO[..1]);
    let take = answer(&bake.table).unwrap().groups[0].take.clone().unwrap();
    assert_eq!((take.shortfall.contender, take.certainty, take.rivals), (0, Certainty::Open, vec![1]));
}

#[test]
fn one_that_was_not_measured_everywhere_is_not_taken() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 9.0, &CALM_TOO)
        .at("jfs", 5.0, &CALM)
        .time("read")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 11.0, &CALM_TOO);
    let answer = answer(&bake.table).unwrap();
    let take = answer.groups[0].take.as_ref().unwrap();
    assert_ne!(bake.table.contenders[take.shortfall.contender].name, "jfs");
    assert!(take.shortfall.at_most > 1.8, "but it counts as the best of what it was measured in: {take:?}");
}

#[test]
fn the_raw_device_does_not_compete_with_filesystems_and_hinders_no_answer() {
    let bake = Bake::new()
        .time("raw read")
        .at("device", 1.0, &CALM)
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 13.0, &CALM_TOO);
    let group = &answer(&bake.table).unwrap().groups[0];
    let take = group.take.as_ref().expect("ext4 and xfs were measured in all that both can do");
    assert_eq!(bake.table.contenders[take.shortfall.contender].name, "ext4");
    assert_eq!(group.order.len(), 2);
}

#[test]
fn one_sample_each_is_no_answer() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM[..1]).at("xfs", 20.0, &CALM[..1]);
    let answer = answer(&bake.table).unwrap();
    assert!(answer.groups[0].take.is_none());
    assert_eq!(answer.confidence.grade, Grade::None);
}

#[test]
fn one_that_was_measured_once_is_not_the_best() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 12.0, &CALM_TOO).at("jfs", 1.0, &CALM[..1]);
    let judged = bake.judge();
    assert_eq!(bake.table.contenders[judged.rankings[0].best].name, "ext4");
}

#[test]
fn the_worst_step_is_the_one_that_is_furthest_behind_as_measured() {
    // In the noisy row ext4 is ahead, with a wide bound.
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.4, &CALM)
        .at("xfs", 10.0, &CALM_TOO)
        .time("read")
        .at("ext4", 9.0, &WILD)
        .at("xfs", 10.6, &WILD_TOO);
    let group = answer(&bake.table).unwrap().groups.remove(0);
    assert_eq!(bake.table.contenders[group.take.unwrap().shortfall.contender].name, "ext4");
    let furthest = group.furthest.unwrap();
    assert_eq!(bake.table.operations[furthest.operation].id.operation, "create");
    assert!(furthest.ratio < 1.06 && furthest.at_most > 1.1, "the bound is that of all steps: {furthest:?}");
}
