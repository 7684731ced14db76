//! How a run is carried out, with a stand-in for the stages and a shell script for the engine: no device is touched.

mod stand_in;

use ledger::{Access, Ledger, TrialStatus};
use records::ColdWay;
use runner::Ended;
use stand_in::{Bakeoff, outcome};

#[test]
fn every_contender_comes_once_a_block_and_caches_are_dropped_before_a_cold_phase() {
    let bakeoff = Bakeoff::new(2);
    let (ended, log) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let trials = bakeoff.trials();
    let mut pairs: Vec<_> = trials.iter().map(|trial| (trial.block, trial.contender)).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let hooks: Vec<&str> = log.iter().filter(|line| !line.starts_with("settle")).map(String::as_str).collect();
    let expected = [hooks[0], "empty", "empty", "sync", "close"];
    assert_eq!(hooks[..5], expected, "as-found first, then a cold phase (emptied, counted, emptied), then its sync");
    assert!(hooks[0].starts_with("stage"));
}

/// Calls on the first contender's stage, except waiting.
fn hooks(log: &[String]) -> Vec<&str> {
    let first = log.iter().skip(1).take_while(|line| !line.starts_with("stage"));
    first.map(String::as_str).filter(|line| *line != "settle").collect()
}

#[test]
fn a_cold_start_by_mounting_anew_is_held_against_the_files_once_a_trial() {
    let (_, log) = Bakeoff::new(1).all_cold().cold_by(ColdWay::Drop).run();
    assert_eq!(hooks(&log), ["empty", "empty", "empty", "empty", "sync", "close"], "dropping: before each phase");
    let bakeoff = Bakeoff::new(1).all_cold().cold_by(ColdWay::Remount);
    let (_, log) = bakeoff.run();
    assert_eq!(hooks(&log), ["empty", "empty", "empty", "sync", "close"], "mounting anew: before the first that reads");
    let trial = &bakeoff.trials()[0];
    let starts: Vec<_> = trial.phases.iter().map(|phase| phase.evidence.cold.clone().expect("a start")).collect();
    assert_eq!(starts.iter().map(|start| start.files_looked_at).collect::<Vec<_>>(), [None, Some(1)]);
    assert!(starts.iter().all(|start| start.way == ColdWay::Remount && start.device_cached_bytes == Some(0)));
    assert_eq!(trial.phases[1].evidence.cached_before_bytes, Some(0));
}

#[test]
fn work_after_a_phase_is_not_repeated_where_the_next_phase_starts_cold() {
    let (_, log) = Bakeoff::new(1).all_cold().cold_by(ColdWay::Remount).run();
    let emptied = hooks(&log).iter().filter(|line| **line == "empty").count();
    assert_eq!(
        emptied, 3,
        "one look and one start each; the drops that follow both phases are the starts' own: {log:?}"
    );
}

#[test]
fn a_disturbed_read_is_repeated_at_once_and_costs_no_second_trial() {
    // Each trial writes, then reads: pass 1 is the first trial's read, pass 2 its repetition.
    let bakeoff = Bakeoff::new(1).disturbing(&[1]);
    bakeoff.run();
    let trials = bakeoff.trials();
    assert_eq!(trials.len(), 2, "two contenders, once each");
    assert_eq!(trials[0].status, TrialStatus::Done, "{:?}", trials[0].phases);
    let names: Vec<_> = trials[0].phases.iter().map(|pass| (pass.name.as_str(), pass.counts())).collect();
    assert_eq!(names, [("create", true), ("read", false), ("read", true)]);
    assert_eq!(trials[0].phases[1].evidence.disturbed, ["other disks at work"], "it is kept, and does not count");
    assert_eq!(trials[1].phases.len(), 2);
}

#[test]
fn a_read_that_is_disturbed_twice_makes_a_disturbed_trial() {
    let bakeoff = Bakeoff::new(1).disturbing(&[1, 2]);
    bakeoff.run();
    let trials = bakeoff.trials();
    let first: Vec<_> = trials.iter().filter(|trial| trial.contender == trials[0].contender).collect();
    assert_eq!(first[0].status, TrialStatus::Disturbed);
    assert_eq!((first.len(), first[1].status), (2, TrialStatus::Done), "then the whole trial is repeated");
}

#[test]
fn where_instructions_are_judged_other_disks_disturb_nothing() {
    let bakeoff = Bakeoff::new(1).disturbing(&[0, 1, 2, 3]).counting();
    bakeoff.run();
    let trials = bakeoff.trials();
    assert_eq!(trials.len(), 2, "two contenders, once each");
    assert!(trials.iter().all(|trial| trial.status == TrialStatus::Done && trial.phases.len() == 2), "{trials:?}");
    let foreign = |phase: &records::PhaseRecord| phase.evidence.foreign_bytes.is_some_and(|bytes| bytes > 0);
    assert!(trials.iter().flat_map(|trial| &trial.phases).all(foreign), "what the others did is kept all the same");
}

/// Number of counting passes of the read phase of each trial, by round.
fn reads(bakeoff: &Bakeoff) -> Vec<(u32, usize)> {
    let is_read = |pass: &&records::PhaseRecord| pass.name == "read" && pass.counts();
    let read = |trial: &records::TrialRecord| trial.phases.iter().filter(is_read).count();
    let mut found: Vec<_> = bakeoff.trials().iter().map(|trial| (trial.block, read(trial))).collect();
    found.sort_unstable();
    found
}

#[test]
fn a_read_is_passed_as_often_as_its_noise_asks_for_once_that_is_known() {
    let bakeoff = Bakeoff::new(1).open_ended(4).cold_by(ColdWay::Remount).only_waits_take_time().disturbing(&[]);
    let (ended, log) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let expected = [(0, 5), (0, 5), (1, 5), (1, 5), (2, 5), (2, 5), (3, 1), (3, 1)];
    assert_eq!(
        reads(&bakeoff),
        expected,
        "passes of this engine never differ: five short ones to find that out, then one"
    );
    assert_eq!(hooks(&log), [&["empty"; 6][..], &["sync", "close"]].concat(), "each pass starts cold");
    let fixed = Bakeoff::new(2);
    fixed.run();
    assert!(reads(&fixed).iter().all(|(_, passes)| *passes == 1), "a number of samples is taken as the workload says");
}

#[test]
fn of_several_passes_a_disturbed_one_does_not_count() {
    // Each trial writes, then reads until it has enough passes.
    let bakeoff = Bakeoff::new(1).open_ended(1).disturbing(&[2]);
    bakeoff.run();
    let trials = bakeoff.trials();
    assert_eq!(trials[0].status, TrialStatus::Done, "{:?}", trials[0].phases);
    let counts: Vec<bool> = trials[0].phases.iter().map(|pass| pass.counts()).collect();
    assert_eq!(counts[1..].iter().filter(|counts| **counts).count(), 5, "it is made again, once: {counts:?}");
    assert_eq!(counts.len(), 7);
}

#[test]
fn a_writing_pass_is_never_repeated_on_the_same_mount() {
    let bakeoff = Bakeoff::new(1).disturbing(&[0]).writing();
    bakeoff.run();
    let trials = bakeoff.trials();
    assert_eq!(trials[0].status, TrialStatus::Disturbed);
    assert_eq!(trials[0].phases.len(), 2, "its read was not disturbed, and its write cannot be done again");
    assert_eq!(trials.len(), 3, "the trial is repeated");
}

#[test]
fn both_phases_are_kept_with_their_evidence() {
    let bakeoff = Bakeoff::new(1);
    bakeoff.run();
    let trial = &bakeoff.trials()[0];
    assert_ne!(trial.status, TrialStatus::Failed, "{:?}", trial.reason);
    assert_eq!(trial.phases.len(), 2);
    assert_eq!(trial.phases[1].evidence.dropped, Some(true));
    assert_eq!(trial.phases[0].evidence.dropped, None, "no cold start was requested there");
    assert!(trial.phases[0].evidence.observed_ns > 0);
    assert!(trial.phases[0].evidence.device_read_bytes.is_none(), "no device was watched: absent, not zero");
}

#[test]
fn a_contender_that_cannot_be_staged_goes_out_with_its_reason_and_the_others_go_on() {
    let bakeoff = Bakeoff::new(2).failing(1, "xfs: nobarrier left XFS in Linux 4.19; run without it");
    let (ended, _) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)));
    let contenders = bakeoff.ledger(Access::Read).contenders(&bakeoff.id()).expect("contenders");
    assert!(contenders[1].error.as_deref().is_some_and(|why| why.contains("nobarrier")));
    assert_eq!(bakeoff.trials().iter().filter(|trial| trial.contender == 1).count(), 1, "tried once");
    assert_eq!(bakeoff.trials().iter().filter(|trial| trial.contender == 0).count(), 2);
}

#[test]
fn a_crash_of_the_engine_is_a_failed_trial_with_its_exit_status() {
    let bakeoff = Bakeoff::new(1).engine("crash");
    let (ended, _) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let trial = &bakeoff.trials()[0];
    assert_eq!(trial.status, TrialStatus::Failed);
    let reason = trial.reason.as_deref().unwrap_or_default();
    assert!(reason.contains("exit status 42") && reason.contains("out of luck"), "{reason}");
}

#[test]
fn a_failed_phase_keeps_its_reason_and_the_stage_is_still_closed() {
    let bakeoff = Bakeoff::new(1).engine("fail");
    let (_, log) = bakeoff.run();
    let trial = &bakeoff.trials()[0];
    assert_eq!(trial.reason.as_deref(), Some("create: write f/7 at 4096: No space left on device (28)"));
    assert_eq!(log.iter().filter(|line| *line == "close").count(), 2, "both contenders' stages");
}

#[test]
fn another_protocol_is_refused() {
    let bakeoff = Bakeoff::new(1).engine("other-protocol");
    let error = bakeoff.try_run().expect_err("the engine speaks another protocol");
    assert!(error.contains("protocol 999"), "{error}");
}

#[test]
fn a_stopped_run_keeps_whole_trials_only_and_goes_on_where_it_stopped() {
    let bakeoff = Bakeoff::new(3).stopping_after(2);
    let (ended, _) = bakeoff.run();
    assert_eq!(ended, Ended::Stopped);
    assert_eq!(bakeoff.trials().len(), 2);
    let before = bakeoff.trials();

    let (ended, _) = bakeoff.resume();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let after = bakeoff.trials();
    assert_eq!(after[..2], before[..], "what was kept stays as it was");
    let mut pairs: Vec<_> = after.iter().map(|trial| (trial.block, trial.contender)).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)], "nothing lost, nothing twice");
}

#[test]
fn the_same_seed_takes_contenders_in_the_same_order_and_gives_them_equal_work() {
    let order = |bakeoff: &Bakeoff| -> Vec<u32> { bakeoff.trials().iter().map(|trial| trial.contender).collect() };
    let (first, second) = (Bakeoff::new(4), Bakeoff::new(4));
    first.run();
    second.run();
    assert_eq!(order(&first), order(&second));
    assert_eq!(outcome(0).work_hash, first.trials()[0].phases[0].outcome.work_hash);
}

#[test]
fn a_second_run_on_the_same_ledger_is_refused() {
    let bakeoff = Bakeoff::new(1);
    let held = bakeoff.ledger(Access::Write);
    assert!(Ledger::open(held.path(), Access::Write).is_err());
}

#[test]
fn a_budget_ends_the_run_before_it_is_exceeded_and_the_ledger_records_it() {
    // Far more rounds are requested than two seconds allow.
    let bakeoff = Bakeoff::new(1000).budget(2.0);
    let (ended, _) = bakeoff.run();
    let Ended::Finished(why) = ended else { panic!("{ended:?}") };
    assert!(why.contains("budget"), "{why}");
    let trials = bakeoff.trials();
    let spent: i64 = trials.iter().map(|trial| (trial.took() * 1e3) as i64).sum();
    assert!(!trials.is_empty() && spent <= 2_000, "{} trials, {spent} ms", trials.len());
    let run = bakeoff.ledger(Access::Read).run(None).expect("a run");
    assert_eq!(run.ending.as_deref(), Some(why.as_str()));
}

#[test]
fn a_budget_that_holds_nothing_begins_nothing() {
    let bakeoff = Bakeoff::new(3).budget(0.0);
    let (ended, _) = bakeoff.run();
    assert!(matches!(&ended, Ended::Finished(why) if why.contains("within round 1")), "{ended:?}");
    assert!(bakeoff.trials().is_empty());
}

#[test]
fn a_run_of_one_contender_goes_on_until_it_is_known_which_way_of_working_to_take() {
    let blocks = |engine| {
        let bakeoff = Bakeoff::new(1).alone_in_two_ways((3, 8)).engine(engine);
        bakeoff.run();
        bakeoff.trials().len()
    };
    assert_eq!(blocks("first-is-faster"), 3, "nine times faster is known at once");
    assert_eq!(blocks("now-one-now-the-other"), 8, "to the limit, since they cannot be distinguished");
}

#[test]
fn a_contender_meets_only_the_workloads_that_were_chosen_for_it() {
    let bakeoff = Bakeoff::new(2).only(1, "another");
    bakeoff.run();
    assert!(bakeoff.trials().iter().all(|trial| trial.contender == 0));
    assert_eq!(bakeoff.trials().len(), 2);
}
