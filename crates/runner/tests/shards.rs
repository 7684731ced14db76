//! A plan divided into shards does the same work as the whole, and their ledgers merge into one run.

mod stand_in;

use ledger::import::{Read, import_file};
use ledger::{Access, Ledger, RunStatus, TrialRecord};
use stand_in::Bakeoff;

/// Identity of a trial, whenever and wherever it was carried out.
fn places(trials: &[TrialRecord]) -> Vec<(u32, u32, u32)> {
    trials.iter().map(|trial| (trial.block, trial.position, trial.contender)).collect()
}

fn read(shard: &Bakeoff) -> Read {
    import_file(&shard.path()).expect("the shard's ledger is read")
}

fn target(folder: &tempfile::TempDir) -> Ledger {
    Ledger::open(&folder.path().join("all.db"), Access::Write).expect("a ledger")
}

#[test]
fn shards_put_together_are_the_run_that_was_cut() {
    let whole = Bakeoff::new(5);
    whole.run();
    let shards = ["1/3", "2/3", "3/3"].map(|part| Bakeoff::new(5).shard(part));
    shards.iter().for_each(|shard| drop(shard.run()));
    assert_eq!(places(&shards[1].trials()).iter().map(|place| place.0).collect::<Vec<_>>(), [1, 1, 4, 4]);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut ledger = target(&folder);
    let kept = ledger.keep_read(shards.iter().map(read).collect()).expect("they are put together");
    assert_eq!((kept.len(), kept[0].shards, kept[0].is_new), (1, Some((3, 3)), true));
    let run = ledger.run(Some(&kept[0].run)).expect("the run");
    assert_eq!(run.status, RunStatus::Finished, "{:?}", run.ending);
    let merged = ledger.trials(&run.id).expect("trials");
    assert_eq!(places(&merged), places(&whole.trials()), "the same blocks in the same order, each once");
}

#[test]
fn shards_come_in_one_by_one_and_none_counts_twice() {
    let shards = ["1/2", "2/2"].map(|part| Bakeoff::new(4).shard(part));
    shards.iter().for_each(|shard| drop(shard.run()));
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut ledger = target(&folder);
    let first = ledger.keep_read(vec![read(&shards[1])]).expect("the second shard comes first").remove(0);
    assert_eq!(first.shards, Some((1, 2)));
    let run = ledger.run(Some(&first.run)).expect("the run");
    assert_eq!(run.status, RunStatus::Interrupted);
    assert!(run.ending.is_some_and(|why| why.contains("missing: 1")));
    let again = ledger.keep_read(vec![read(&shards[1])]).expect("the same once more").remove(0);
    assert_eq!((again.run.as_str(), again.is_new), (first.run.as_str(), false));
    let both = ledger.keep_read(vec![read(&shards[0])]).expect("the other").remove(0);
    assert_eq!((both.run.as_str(), both.shards, both.is_new), (first.run.as_str(), Some((2, 2)), true));
    assert_eq!(ledger.runs().expect("runs").len(), 1);
    assert_eq!(ledger.trials(&both.run).expect("trials").len(), 8);
}

#[test]
fn shards_of_other_seeds_or_measured_twice_are_not_put_together() {
    let one = Bakeoff::new(4).shard("1/2");
    let (twice, other) = (Bakeoff::new(4).shard("1/2"), Bakeoff::new(6).shard("2/2"));
    [&one, &twice, &other].iter().for_each(|shard| drop(shard.run()));
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut ledger = target(&folder);
    let kept = ledger.keep_read(vec![read(&one), read(&other)]).expect("two plans");
    assert_eq!(kept.iter().map(|kept| kept.shards).collect::<Vec<_>>(), [Some((1, 2)), Some((1, 2))]);
    let error =
        ledger.keep_read(vec![read(&twice)]).expect_err("the shard is there, measured at another time").to_string();
    assert!(error.contains("shard 1/2 was measured twice"), "{error}");
}

#[test]
fn a_shard_that_was_stopped_is_taken_in_again_when_it_is_whole() {
    let shard = Bakeoff::new(4).shard("1/2").stopping_after(1);
    shard.run();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut ledger = target(&folder);
    let half = ledger.keep_read(vec![read(&shard)]).expect("what there is").remove(0);
    assert!(ledger.trials(&half.run).expect("trials").len() < 4);
    shard.resume();
    let whole = ledger.keep_read(vec![read(&shard)]).expect("all of it").remove(0);
    assert_eq!((whole.run == half.run, whole.is_new), (true, true));
    assert_eq!(places(&ledger.trials(&whole.run).expect("trials")), places(&shard.trials()));
}
