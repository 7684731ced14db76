//! Compares runs with runs and claims with measurements; also mixes.
//! In: small tables. Out: the resulting statements.

mod support;

use judge::{
    Change, Claim, ClaimOutcome, ClaimRelation, FailOn, Mix, MixError, Side, compare, compare_contenders, judge_claims,
    judge_mix,
};
use support::{Bake, CALM, CALM_TOO, WILD, WILD_TOO};

#[test]
fn a_slower_run_is_worse_and_fails_the_gate() {
    let before = Bake::new().time("create").at("ext4", 10.0, &CALM).time("read").at("ext4", 5.0, &CALM);
    let after = Bake::new().time("create").at("ext4", 11.5, &CALM_TOO).time("read").at("ext4", 5.01, &CALM_TOO);
    let compared = compare(&before.table, &after.table);
    assert_eq!(compared.rows[0].change, Change::Worse);
    assert_eq!(compared.rows[1].change, Change::Same);
    let gate = FailOn::parse("worse:5%").unwrap();
    let failed = compared.failures(&gate);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].operation.operation, "create");
    assert!(compared.failures(&FailOn::parse("worse: 20 %").unwrap()).is_empty(), "15 % is below 20 %");
    let back = compare(&after.table, &before.table);
    assert_eq!(back.rows[0].change, Change::Better);
    assert!(back.failures(&gate).is_empty());
}

#[test]
fn noise_is_unresolved_and_fails_nothing() {
    let before = Bake::new().time("create").at("ext4", 10.0, &WILD);
    let after = Bake::new().time("create").at("ext4", 11.5, &WILD_TOO);
    let compared = compare(&before.table, &after.table);
    assert_eq!(compared.rows[0].change, Change::Unresolved);
    let gate = FailOn::parse("worse:0%,inconclusive").unwrap();
    assert!(compared.failures(&gate).is_empty() && gate.inconclusive);
    assert_eq!(compared.inconclusive(&gate).len(), 1);
    let far = FailOn::parse("worse:1000%").unwrap();
    assert!(compared.inconclusive(&far).is_empty(), "it is not eleven times worse");
}

#[test]
fn a_likely_worse_row_fails_only_the_gate_for_likely_changes() {
    let before = Bake::new().time("create").at("ext4", 10.0, &CALM);
    let after = Bake::new().time("create").at("ext4", 11.5, &CALM_TOO);
    let mut compared = compare(&before.table, &after.table);
    compared.rows[0].change = Change::LikelyWorse;
    let [worse, likely] = ["worse:5%", "likely: 5 %"].map(|gate| FailOn::parse(gate).unwrap());
    assert_eq!((compared.failures(&worse).len(), compared.failures(&likely).len()), (0, 1));
    assert_eq!(compared.inconclusive(&worse).len(), 1, "beyond doubt it is open");
    assert!(compared.failures(&FailOn::parse("likely:20%").unwrap()).is_empty(), "15 % is below 20 %");
}

#[test]
fn an_invalid_gate_is_an_error_that_shows_the_syntax() {
    for wrong in
        ["worse", "worse:5", "better:5%", "worse:-1%", "worse:x%", "", "worse:5%,else", "worse:5%,inconclusive,x"]
    {
        let error = FailOn::parse(wrong).unwrap_err().to_string();
        assert!(error.contains("worse:5%"), "{error}");
    }
}

#[test]
fn contenders_of_one_run_are_paired_by_block() {
    // Blocks differ by half; within each, xfs takes 10 % longer.
    let blocks = [10.0, 15.0, 12.0, 9.0, 14.0, 11.0];
    let longer: Vec<f64> = blocks.iter().zip([1.10, 1.11, 1.09, 1.10, 1.105, 1.095]).map(|(b, f)| b * f).collect();
    let bake = Bake::new().time("create").of("ext4", &blocks).of("xfs", &longer);
    let side = |contender| Side { table: &bake.table, contender };
    let compared = compare_contenders(side(0), side(1));
    assert_eq!(compared.rows[0].change, Change::Worse);
    assert!((compared.rows[0].ratio - 1.1).abs() < 0.01);
}

#[test]
fn a_contender_of_only_one_run_is_listed_and_not_compared() {
    let before = Bake::new().time("create").at("ext4", 10.0, &CALM).at("jfs", 10.0, &CALM);
    let after = Bake::new().time("create").at("ext4", 10.0, &CALM_TOO);
    let compared = compare(&before.table, &after.table);
    assert_eq!(compared.rows.len(), 1);
    assert_eq!(compared.unmatched, ["jfs is only in the first"]);
}

fn claim(left: &str, relation: ClaimRelation, right: &str, factor: Option<f64>) -> Claim {
    Claim {
        id: "c".into(),
        source: "s".into(),
        workload: "small-files".into(),
        operation: "create".into(),
        cache: "cold".into(),
        left: left.into(),
        relation,
        right: right.into(),
        factor,
        statement: String::new(),
    }
}

#[test]
fn claims_hold_are_reversed_or_show_no_difference() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 15.0, &CALM_TOO).at("jfs", 10.05, &CALM);
    let claims = [
        claim("ext4", ClaimRelation::Faster, "xfs", Some(1.5)),
        claim("xfs", ClaimRelation::Faster, "ext4", Some(2.0)),
        claim("ext4", ClaimRelation::Faster, "jfs", None),
        claim("ext4", ClaimRelation::Equal, "jfs", Some(1.0)),
        claim("ext4", ClaimRelation::Equal, "xfs", Some(1.0)),
        claim("ext4", ClaimRelation::Faster, "reiserfs", Some(4.8)),
    ];
    let found = judge_claims(&bake.table, &claims);
    let outcomes: Vec<&ClaimOutcome> = found.iter().map(|verdict| &verdict.outcome).collect();
    assert_eq!(outcomes[0], &ClaimOutcome::Holds);
    assert_eq!(outcomes[1], &ClaimOutcome::Reversed);
    assert_eq!(outcomes[2], &ClaimOutcome::NoDifferenceShown);
    assert_eq!(outcomes[3], &ClaimOutcome::Holds);
    assert_eq!(outcomes[4], &ClaimOutcome::Reversed);
    assert_eq!(outcomes[5], &ClaimOutcome::NotTestable("reiserfs is not in this run".into()));
    assert_eq!(found[0].factor_agrees, Some(true));
    assert!(found[0].text.contains("measured 1.5 (") && found[0].text.contains("published 1.5"), "{}", found[0].text);
    assert!(found[1].measured.unwrap() < 1.0);
    assert_eq!(found[0].cells, vec![0, 1]);
}

#[test]
fn a_claim_of_another_cache_state_is_tested_only_where_there_is_no_choice() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 15.0, &CALM_TOO);
    let used = Claim { cache: "used".into(), ..claim("ext4", ClaimRelation::Faster, "xfs", None) };
    let found = &judge_claims(&bake.table, &[used])[0];
    assert_eq!(found.outcome, ClaimOutcome::Holds);
    assert!(found.text.contains("(measured cold, claimed used)"), "{}", found.text);
}

#[test]
fn too_few_samples_are_a_reason_not_to_test() {
    let bake = Bake::new().time("create").at("ext4", 10.0, &CALM[..2]).at("xfs", 15.0, &CALM_TOO[..2]);
    let found = &judge_claims(&bake.table, &[claim("ext4", ClaimRelation::Faster, "xfs", None)])[0];
    assert!(matches!(&found.outcome, ClaimOutcome::NotTestable(why) if why.contains("too few samples")));
}

#[test]
fn a_mix_adds_times_and_names_its_winner() {
    // ext4 creates faster, xfs reads faster: ten reads to one create decide for xfs.
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 20.0, &CALM_TOO)
        .time("read")
        .at("ext4", 4.0, &CALM)
        .at("xfs", 2.0, &CALM_TOO);
    let judged = judge_mix(&bake.table, &Mix::parse("create=1,read=10").unwrap()).unwrap();
    assert_eq!((judged.rankings[0].best, judged.rankings[0].won), (1, true));
    assert!((judged.times[0].seconds - 50.0).abs() < 1.0 && (judged.times[1].seconds - 40.0).abs() < 1.0);
    assert!((judged.times[1].shares[0] - 0.5).abs() < 0.02);
    let other = judge_mix(&bake.table, &Mix::parse("create=10, read=1").unwrap()).unwrap();
    assert_eq!((other.rankings[0].best, other.rankings[0].won), (0, true));
    assert!(judged.sentences[0].text.contains("xfs is best"), "{}", judged.sentences[0].text);
    assert_eq!(judged.sentences[0].cells, vec![0, 1, 2, 3]);
}

#[test]
fn a_mix_of_rates_counts_items() {
    let bake = Bake::new().rate("create").at("ext4", 100.0, &[1.0; 4]).rate("read").at("ext4", 1000.0, &[1.0; 4]);
    let judged = judge_mix(&bake.table, &Mix::parse("create=200,read=1000").unwrap()).unwrap();
    assert!((judged.times[0].seconds - 3.0).abs() < 1e-9);
}

#[test]
fn a_mix_that_cannot_be_judged_is_an_error_with_its_reason() {
    for wrong in ["", "create", "create=0", "create=x", "=1", "create=-2"] {
        assert!(matches!(Mix::parse(wrong), Err(MixError::Unreadable { .. })), "{wrong}");
    }
    let bake =
        Bake::new().time("create").at("ext4", 10.0, &CALM).at("xfs", 10.0, &CALM).time("read").at("ext4", 5.0, &CALM);
    let error = judge_mix(&bake.table, &Mix::parse("write=1").unwrap()).unwrap_err().to_string();
    assert!(error.contains("small-files/create cold"), "{error}");
    let partly = judge_mix(&bake.table, &Mix::parse("create=1,read=1").unwrap()).unwrap();
    assert_eq!(partly.left_out, vec![(1, "read".to_string())]);
}

#[test]
fn a_gate_is_tested_for_its_own_threshold() {
    // 7 % worse on average, known to a few percent: worse beyond doubt, but not by more than 5 % beyond doubt.
    let before = Bake::new().time("create").at("ext4", 10.0, &CALM);
    let after = Bake::new().time("create").at("ext4", 10.6, &CALM_TOO);
    let compared = compare(&before.table, &after.table);
    assert_eq!(compared.rows[0].change, Change::Worse);
    assert!(compared.rows[0].ratio > 1.05 && compared.failures(&FailOn::parse("worse:5%").unwrap()).is_empty());
    assert_eq!(compared.failures(&FailOn::parse("worse:2%").unwrap()).len(), 1);
}

#[test]
fn a_comparison_of_one_run_agrees_with_its_table() {
    let bake = Bake::new()
        .time("create")
        .at("ext4", 10.0, &CALM)
        .at("xfs", 13.0, &CALM_TOO)
        .at("btrfs", 13.4, &WILD)
        .time("read")
        .at("ext4", 5.0, &WILD)
        .at("xfs", 5.5, &WILD_TOO)
        .at("btrfs", 9.0, &CALM);
    let judged = bake.judge();
    for (operation, ranking) in judged.rankings.iter().enumerate() {
        for other in &ranking.others {
            let side = |contender| Side { table: &bake.table, contender };
            let row = &compare_contenders(side(ranking.best), side(other.contender)).rows[operation];
            assert_eq!(row.interval, other.interval);
            let back = &compare_contenders(side(other.contender), side(ranking.best)).rows[operation];
            assert!((back.ratio * row.ratio - 1.0).abs() < 1e-9);
            let output = (row.change, back.change);
            let want = match other.relation {
                judge::Relation::Worse => (Change::Worse, Change::Better),
                judge::Relation::LikelyWorse => (Change::LikelyWorse, Change::LikelyBetter),
                judge::Relation::Tie => (Change::Same, Change::Same),
                _ => (Change::Unresolved, Change::Unresolved),
            };
            assert_eq!(output, want);
        }
    }
}
