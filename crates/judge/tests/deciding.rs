//! When a run stops, and what it spends its time on.
//! In: incomplete tables. Out: decisions and budgets.

mod support;

use judge::{Policy, Reason, Unsettled, Until, decide, plan_budget};
use support::{Bake, CALM, CALM_TOO, WILD, WILD_TOO};

fn policy(until: Until) -> Policy {
    Policy { until, ..Policy::default() }
}

#[test]
fn three_blocks_are_run_in_any_case() {
    let empty = Bake::new().time("create").of("ext4", &[]).of("xfs", &[]);
    let first = decide(&empty.table, &policy(Until::Precision)).unwrap();
    assert_eq!((first.reason, first.next.len()), (Reason::Minimum, 2));
    let two = Bake::new().time("create").of("ext4", &[1.0, 1.0]).of("xfs", &[9.0, 9.0]);
    assert_eq!(decide(&two.table, &policy(Until::Winner)).unwrap().reason, Reason::Minimum);
}

#[test]
fn a_clear_winner_ends_the_run_when_only_the_winner_is_asked_for() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM[..3]).at("xfs", 30.0, &CALM_TOO[..3]);
    let decision = decide(&bake.table, &policy(Until::Winner)).unwrap();
    assert_eq!(decision.reason, Reason::Resolved, "{decision:?}");
    assert!(!decision.goes_on());
}

#[test]
fn a_loser_is_no_longer_run_while_the_front_is_open() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &WILD).at("xfs", 10.3, &WILD_TOO).at("slow", 900.0, &CALM);
    let decision = decide(&bake.table, &policy(Until::Winner)).unwrap();
    let who: Vec<&str> = decision.next.iter().map(|n| bake.table.contenders[n.contender].name.as_str()).collect();
    assert_eq!(who, ["ext4", "xfs"]);
    let precise = decide(&bake.table, &policy(Until::Precision)).unwrap();
    assert_eq!(precise.next.len(), 3, "whole blocks where figures are asked for");
}

#[test]
fn precise_figures_and_known_ranks_end_the_run_and_scattered_ones_do_not() {
    let calm = Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 12.0, &CALM_TOO);
    assert_eq!(decide(&calm.table, &policy(Until::Precision)).unwrap().reason, Reason::Resolved);
    let wild = Bake::new().time("create").at("ext4", 10.0, &WILD).at("xfs", 60.0, &WILD_TOO);
    let decision = decide(&wild.table, &policy(Until::Precision)).unwrap();
    assert_eq!(decision.reason, Reason::Open);
    assert!(
        decision.open.iter().all(|open| matches!(open.why, Unsettled::Imprecise(half) if half > 0.05)),
        "{:?}",
        decision.open
    );
    assert!(decision.blocks_left.unwrap() > 20, "20 % scatter needs many blocks: {decision:?}");
}

#[test]
fn the_cap_ends_the_run_and_names_what_stayed_open() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &WILD).at("xfs", 10.1, &WILD_TOO);
    let capped = Policy { max_blocks: 5, ..policy(Until::Precision) };
    let decision = decide(&bake.table, &capped).unwrap();
    assert_eq!(decision.reason, Reason::Cap);
    assert!(!decision.open.is_empty() && decision.text.contains("limit of 5 rounds"), "{}", decision.text);
}

#[test]
fn a_fixed_number_of_blocks_is_that_number() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM[..4]).at("xfs", 30.0, &CALM_TOO[..4]);
    let five = Policy { max_blocks: 5, ..policy(Until::Blocks) };
    assert_eq!(decide(&bake.table, &five).unwrap().next.len(), 2);
    let four = Policy { max_blocks: 4, ..five };
    assert_eq!(decide(&bake.table, &four).unwrap().reason, Reason::Resolved);
}

#[test]
fn a_spent_budget_names_the_time_that_the_rest_needs() {
    let timed = |cell: &mut judge::Cell| cell.facts.trial_seconds = Some(60.0);
    let bake = Bake::new().time("create").at("ext4", 10.0, &WILD).cell(timed).at("xfs", 10.1, &WILD_TOO).cell(timed);
    let spent = Policy { seconds_left: Some(30.0), ..policy(Until::Precision) };
    let decision = decide(&bake.table, &spent).unwrap();
    assert_eq!(decision.reason, Reason::Budget);
    assert!(decision.text.contains("deciding the rest would take about"), "{}", decision.text);
    let enough = Policy { seconds_left: Some(1e6), ..spent };
    assert!(decide(&bake.table, &enough).unwrap().goes_on());
}

#[test]
fn a_short_budget_goes_to_the_workload_that_it_can_resolve() {
    let timed = |cell: &mut judge::Cell| cell.facts.trial_seconds = Some(10.0);
    let mut bake = Bake::new().time("create");
    bake = bake.at("ext4", 10.0, &WILD).cell(timed).at("xfs", 10.1, &WILD_TOO).cell(timed).time("read");
    bake.table.operations[1].id.workload = "mail".into();
    let near = [1.0, 1.03, 0.96, 1.02, 0.975];
    bake = bake.at("ext4", 10.0, &near).cell(timed).at("xfs", 14.0, &[0.98, 1.02, 1.03, 0.96, 1.01]).cell(timed);
    let short = Policy { precision: 0.03, seconds_left: Some(150.0), ..policy(Until::Precision) };
    let decision = decide(&bake.table, &short).unwrap();
    assert!(decision.goes_on());
    assert!(decision.next.iter().any(|n| n.workload == "mail"), "{:?}", decision.next);
    let long_needs = decision.open.iter().filter(|open| open.operation == 0).filter_map(|open| open.blocks_left).max();
    assert!(long_needs.unwrap() > 10, "the other one is out of reach");
}

#[test]
fn a_budget_that_resolves_nothing_goes_to_the_workload_with_the_fewest_blocks() {
    let timed = |cell: &mut judge::Cell| cell.facts.trial_seconds = Some(10.0);
    let mut bake = Bake::new().time("create");
    bake = bake.at("ext4", 10.0, &WILD).cell(timed).at("xfs", 10.1, &WILD_TOO).cell(timed).time("read");
    bake.table.operations[1].id.workload = "mail".into();
    bake = bake.at("ext4", 10.0, &WILD[..3]).cell(timed).at("xfs", 10.1, &WILD_TOO[..3]).cell(timed);
    let next = |left: f64| {
        let policy = Policy { seconds_left: Some(left), ..policy(Until::Winner) };
        decide(&bake.table, &policy).unwrap().next.into_iter().map(|needed| needed.workload).collect::<Vec<_>>()
    };
    assert_eq!(next(25.0), ["mail", "mail"], "one block of one of them");
    assert_eq!(next(45.0).len(), 4, "one of both");
}

#[test]
fn a_budget_is_planned_with_its_rounds_and_precision() {
    let timed = |cell: &mut judge::Cell| cell.facts.trial_seconds = Some(30.0);
    let bake = Bake::new().time("create").of("ext4", &[]).cell(timed).of("xfs", &[]).cell(timed);
    let two_hours = Policy { seconds_left: Some(600.0), ..policy(Until::Precision) };
    let plan = plan_budget(&bake.table, &two_hours).unwrap();
    assert_eq!((plan.block_seconds, plan.blocks), (60.0, 10));
    assert!(plan.text.starts_with("10 rounds of 60 s each, 10 min in all."), "{}", plan.text);
    let (half, shown) = (plan.half_width.unwrap(), plan.smallest_shown.unwrap());
    assert!(half > 0.03 && half < 0.04 && shown > 0.08 && shown < 0.12, "{half} {shown}");
    let little = Policy { seconds_left: Some(130.0), ..two_hours };
    assert!(plan_budget(&bake.table, &little).unwrap().text.contains("too few for a verdict"));
}

#[test]
fn a_contender_that_cannot_run_is_not_waited_for() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 20.0, &CALM_TOO)
        .of("zfs", &[])
        .who("zfs", |contender| contender.failed = Some("no module".into()));
    let decision = decide(&bake.table, &policy(Until::Precision)).unwrap();
    assert_eq!(decision.reason, Reason::Resolved, "{decision:?}");
    assert!(bake.judge().notes.iter().any(|note| note.text == "zfs was not measured: no module"));
}

#[test]
fn a_contender_whose_trials_keep_failing_is_not_waited_for() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 20.0, &CALM_TOO)
        .of("zfs", &[30.0])
        .cell(|cell| cell.facts.failures = 3);
    assert_eq!(decide(&bake.table, &policy(Until::Precision)).unwrap().reason, Reason::Resolved);
}

#[test]
fn a_pair_that_never_meets_is_not_asked_for() {
    let mut bake = Bake::new().time("create").at("ext4", 10.0, &WILD).at("xfs", 10.0, &WILD_TOO).time("read");
    bake.table.operations[1].id.workload = "device".into();
    bake = bake.at("raw", 5.0, &WILD);
    let decision = decide(&bake.table, &policy(Until::Precision)).unwrap();
    let pairs: Vec<(usize, &str)> = decision.next.iter().map(|n| (n.contender, n.workload.as_str())).collect();
    assert_eq!(pairs.len(), 3, "{pairs:?}");
    assert!(pairs.contains(&(2, "device")) && !pairs.contains(&(2, "small-files")));
}
