//! Temporary failures cost a trial and are retried, permanent ones drop a contender, and every run ends: with a stand-in for the stages, a
//! clock that is set all the time, and ledgers that are removed.

mod stand_in;

use ledger::{Access, Cause, TrialRecord, TrialStatus};
use runner::{Ended, VenueError};
use staging::StagingError;
use stand_in::Bakeoff;

fn full() -> VenueError {
    VenueError::passing("cannot make xfs.img: No space left on device")
}

fn unclear() -> VenueError {
    VenueError::Contender { reason: "xfs: cannot be made: status 1".into(), cause: Cause::Unclear }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed,
}

fn outcome(trial: &TrialRecord) -> Outcome {
    if trial.status == TrialStatus::Failed { Outcome::Failed } else { Outcome::Done }
}

/// Round, attempt and outcome of a contender's trials. Trials disturbed by this machine's other work count as done.
fn of(bakeoff: &Bakeoff, contender: u32) -> Vec<(u32, u32, Outcome)> {
    let mine = |trial: &TrialRecord| trial.contender == contender;
    bakeoff
        .trials()
        .iter()
        .filter(|trial| mine(trial))
        .map(|trial| (trial.block, trial.attempt, outcome(trial)))
        .collect()
}

fn error(bakeoff: &Bakeoff, contender: usize) -> Option<(String, Option<Cause>)> {
    let contender = bakeoff.ledger(Access::Read).contenders(&bakeoff.id()).expect("contenders").remove(contender);
    contender.error.map(|error| (error, contender.cause))
}

#[test]
fn a_disk_that_is_full_for_a_moment_costs_one_attempt_and_no_block() {
    use Outcome::{Done, Failed};
    let bakeoff = Bakeoff::new(2).failing_times(1, 1, full());
    let (ended, _) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    assert_eq!(of(&bakeoff, 1), [(0, 0, Failed), (0, 1, Done), (1, 0, Done)]);
    assert_eq!(error(&bakeoff, 1), None);
    assert_eq!(bakeoff.trials().iter().find_map(|trial| trial.cause), Some(Cause::Passing));
    let ledger = bakeoff.ledger(Access::Read);
    let (run, trials) = (ledger.run(None).expect("a run"), bakeoff.trials());
    let table = samples::table(&run, &ledger.contenders(&run.id).expect("contenders"), &trials);
    assert!(table.cells.iter().all(|cell| cell.facts.failures == 0), "what was made good is no failure");
}

#[test]
fn a_disk_that_stays_full_ends_a_contender_after_three_blocks_and_more_samples_give_it_another_chance() {
    let bakeoff = Bakeoff::new(6).failing_times(1, usize::MAX, full());
    let (ended, _) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    assert_eq!(of(&bakeoff, 0).len(), 6, "the others go on");
    let tried = of(&bakeoff, 1);
    let last = tried.last().map(|(block, ..)| *block);
    assert_eq!((last, tried.len()), (Some(judge::FAILURES_IN_A_ROW - 1), 9), "three attempts in each of three blocks");
    assert!(error(&bakeoff, 1).is_some_and(|(why, cause)| why.contains("No space") && cause == Some(Cause::Passing)));

    let bakeoff = bakeoff.mended().samples(7);
    let (ended, _) = bakeoff.resume();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    assert_eq!(error(&bakeoff, 1), None);
    let done = of(&bakeoff, 1).into_iter().filter(|(.., status)| *status == Outcome::Done);
    assert_eq!(
        done.map(|(block, ..)| block).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6],
        "every block, also those it had lost"
    );
}

#[test]
fn the_number_of_retries_is_bounded_over_the_run() {
    let bakeoff = Bakeoff::new(40).failing_times(1, usize::MAX, full());
    bakeoff.run();
    for _ in 0..20 {
        bakeoff.resume();
    }
    assert!(of(&bakeoff, 1).len() < 60, "{}", of(&bakeoff, 1).len());
}

#[test]
fn a_status_that_may_mean_either_is_tried_once_more_and_lasts_where_it_comes_again() {
    use Outcome::{Done, Failed};
    let once = Bakeoff::new(2).failing_times(1, 1, unclear());
    once.run();
    assert_eq!(of(&once, 1), [(0, 0, Failed), (0, 1, Done), (1, 0, Done)]);
    let twice = Bakeoff::new(3).failing_times(1, usize::MAX, unclear());
    twice.run();
    assert_eq!(of(&twice, 1), [(0, 0, Failed), (0, 1, Failed)]);
    assert!(error(&twice, 1).is_some());
    // Before more samples are requested, other tools may have been installed.
    let twice = twice.mended().samples(4);
    twice.resume();
    assert_eq!(error(&twice, 1), None);
    assert_eq!(of(&twice, 1).iter().filter(|(.., status)| *status == Done).count(), 3);
}

#[test]
fn a_lasting_failure_is_not_retried_for_more_samples() {
    let bakeoff = Bakeoff::new(2).failing(1, "xfs: mount option no_such did not take");
    bakeoff.run();
    let bakeoff = bakeoff.samples(4);
    bakeoff.resume();
    assert_eq!(of(&bakeoff, 1).len(), 1);
    assert_eq!(error(&bakeoff, 1).map(|(_, cause)| cause), Some(Some(Cause::Lasting)));
}

#[test]
fn two_failures_in_a_row_are_borne() {
    let bakeoff = Bakeoff::new(4).failing_times(1, 6, full());
    bakeoff.run();
    let done = of(&bakeoff, 1).into_iter().filter(|(.., status)| *status == Outcome::Done).count();
    assert_eq!(done, 2, "two blocks were lost, three attempts each, and two measured");
}

#[test]
fn a_vanished_device_is_the_reason_and_not_what_the_work_saw_of_it() {
    let gone = |for_good| StagingError::Gone {
        device: "/dev/loop7".into(),
        during: "the work".into(),
        how: "it is gone".into(),
        for_good,
    };
    let image = Bakeoff::new(1).engine("fail").lost(gone(false));
    image.run();
    assert_eq!(image.trials()[0].reason, Some(gone(false).to_string()));
    let disk = Bakeoff::new(1).engine("fail").lost(gone(true));
    let (ended, _) = disk.run();
    assert_eq!(ended, Ended::GroundLost(gone(true).to_string()), "nothing more can be measured on it");
    assert!(disk.trials().is_empty(), "it is done again when the run goes on");
}

#[test]
fn a_wall_clock_that_is_set_back_makes_no_time_negative_and_overdraws_no_budget() {
    // An hour back at every reading. The last trial is begun if it fits and may take longer than earlier ones; a budget counted from zero
    // again would be 4 s in total.
    const MOST: f64 = 3.0;
    let bakeoff = Bakeoff::new(100_000).budget(2.0).wall_steps(-3_600_000);
    let (ended, _) = bakeoff.run();
    assert!(matches!(&ended, Ended::Finished(why) if why.contains("budget")), "{ended:?}");
    let trials = bakeoff.trials();
    assert!(trials.iter().all(|trial| trial.ended_ms >= trial.began_ms && trial.seconds.is_some_and(|s| s >= 0.0)));
    let spent: f64 = trials.iter().map(TrialRecord::took).sum();
    assert!(!trials.is_empty() && spent > 0.0 && spent < MOST, "{spent} s of 2 in {} trials", trials.len());
    let (ended, _) = bakeoff.resume();
    assert!(matches!(&ended, Ended::Finished(why) if why.contains("budget")), "what was spent stays spent: {ended:?}");
    assert!(bakeoff.trials().iter().map(TrialRecord::took).sum::<f64>() < MOST);
}

#[test]
fn a_ledger_that_is_taken_away_ends_the_run_at_the_next_trial_and_what_it_held_can_be_gone_on_with() {
    for replaced in [false, true] {
        let bakeoff = Bakeoff::new(3);
        let path = bakeoff.path();
        let bakeoff = bakeoff.after_close(move |trial| {
            if trial == 3 {
                std::fs::remove_file(&path).expect("removed");
                if replaced {
                    std::fs::write(&path, "of another user").expect("written");
                }
            }
        });
        let error = bakeoff.try_run().expect_err("it must not go on");
        assert!(error.contains(if replaced { "replaced" } else { "removed" }), "{error}");
        let saved = error.split_whitespace().skip_while(|word| *word != "--ledger").nth(1).expect("where it was saved");
        let kept = ledger::Ledger::open(saved.as_ref(), Access::Read).expect("a ledger");
        let run = kept.run(None).expect("the run");
        assert_eq!(kept.trials(&run.id).expect("trials").len(), 2, "the third had nowhere to be kept");
        assert!(error.contains(&run.id), "{error}");
        drop(kept);
        let bakeoff = bakeoff.after_close(|_| {});
        let (ended, _) = bakeoff.resume_at(saved.as_ref());
        assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
        assert_eq!(bakeoff.path().exists(), replaced);
    }
}
