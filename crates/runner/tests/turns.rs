//! Contenders that alternate by slices, all set up at the same time, with a stand-in for the stages.

mod stand_in;

use ledger::{Access, TrialStatus};
use runner::{Ended, VenueError};
use stand_in::Bakeoff;

/// Rounds and contenders of all trials, in order.
fn pairs(bakeoff: &Bakeoff) -> Vec<(u32, u32)> {
    let mut pairs: Vec<_> = bakeoff.trials().iter().map(|trial| (trial.block, trial.contender)).collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn all_are_set_up_before_the_first_phase_and_closed_after_the_last() {
    let bakeoff = Bakeoff::new(1).all_cold().by_phases();
    let (ended, log) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let log: Vec<&str> = log.iter().map(String::as_str).filter(|line| !line.starts_with("settle")).collect();
    assert!(log[..2].iter().all(|line| line.starts_with("stage")), "{log:?}");
    assert!(log[log.len() - 2..].iter().all(|line| line.starts_with("close")), "{log:?}");
    // The order of turns, without repetition: each has one turn in each of the two phases, in another order in the second.
    let mut turns: Vec<&str> = log[2..log.len() - 2].iter().filter_map(|line| line.split(' ').nth(1)).collect();
    turns.dedup();
    assert!(turns == ["0", "1", "0"] || turns == ["1", "0", "1"], "{log:?}");
    assert_eq!(pairs(&bakeoff), [(0, 0), (0, 1)]);
    assert!(bakeoff.trials().iter().all(|trial| trial.phases.len() == 2 && trial.closing.is_some()));
}

#[test]
fn data_of_a_phase_is_written_back_before_the_turn_of_another() {
    let (_, log) = Bakeoff::new(1).by_phases().run();
    let mut last: Option<(String, String)> = None;
    for line in log.iter().filter(|line| !line.starts_with("stage") && !line.starts_with("close")) {
        let (what, whose) = line.split_once(' ').expect("whose");
        if let Some((before, by)) = last.replace((what.into(), whose.into())) {
            assert!(by == whose || before == "sync", "{log:?}");
        }
    }
}

#[test]
fn a_contender_that_cannot_be_set_up_leaves_and_the_others_go_on() {
    let bakeoff = Bakeoff::new(2).failing(1, "xfs: nobarrier left XFS in Linux 4.19; run without it").by_phases();
    let (ended, _) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let contenders = bakeoff.ledger(Access::Read).contenders(&bakeoff.id()).expect("contenders");
    assert!(contenders[1].error.as_deref().is_some_and(|why| why.contains("nobarrier")));
    assert_eq!(pairs(&bakeoff), [(0, 0), (0, 1), (1, 0)]);
}

#[test]
fn one_that_fails_for_a_cause_that_passes_is_done_again_by_itself() {
    let full = VenueError::passing("the disk is full");
    let bakeoff = Bakeoff::new(1).failing_times(1, 1, full).only_waits_take_time().by_phases();
    let (ended, _) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    assert_eq!(pairs(&bakeoff), [(0, 0), (0, 1), (0, 1)]);
    let last = bakeoff.trials().into_iter().rfind(|trial| trial.contender == 1).expect("it was tried");
    assert_eq!((last.attempt, last.reason), (1, None));
}

#[test]
fn a_stopped_round_keeps_nothing_and_is_done_again() {
    let bakeoff = Bakeoff::new(3).by_phases().stopping_after(2);
    let (ended, _) = bakeoff.run();
    assert_eq!((ended, pairs(&bakeoff)), (Ended::Stopped, vec![(0, 0), (0, 1)]));
    let (ended, _) = bakeoff.resume();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    assert_eq!(pairs(&bakeoff), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)], "nothing lost, nothing twice");
}

#[test]
fn time_of_others_is_none_of_a_trials_own() {
    let bakeoff = Bakeoff::new(1).by_phases();
    let began = std::time::Instant::now();
    bakeoff.run();
    let own: f64 = bakeoff.trials().iter().filter_map(|trial| trial.seconds).sum();
    assert!(own > 0.0 && own <= began.elapsed().as_secs_f64(), "{own}");
}

#[test]
fn a_crash_of_the_engine_is_a_failed_trial_and_all_are_closed() {
    let bakeoff = Bakeoff::new(1).engine("crash").by_phases();
    let (_, log) = bakeoff.run();
    assert!(bakeoff.trials().iter().all(|trial| trial.status == TrialStatus::Failed));
    assert_eq!(log.iter().filter(|line| line.starts_with("close")).count(), bakeoff.trials().len(), "{log:?}");
}

#[test]
fn contenders_take_turns_slice_by_slice_and_caches_are_emptied_before_the_first() {
    let bakeoff = Bakeoff::new(1).all_cold().by_slices();
    let (ended, log) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let slices = bakeoff.slices();
    assert_eq!(slices.len(), 10, "{slices:?}");
    assert!(slices.chunks(2).all(|pair| pair[0] != pair[1]), "{slices:?}");
    // In the divided phase, the caches of all are emptied before anything of it is written back.
    let whose = |line: &str, what: &str| line.strip_prefix(what).map(|whose| whose.trim().to_string());
    let emptied: Vec<String> = log.iter().rev().filter_map(|line| whose(line, "settle")).take(2).collect();
    let last = log.iter().rposition(|line| line.starts_with("settle")).expect("settled");
    assert_ne!(emptied[0], emptied[1], "{log:?}");
    assert!(log[last + 1..].iter().all(|line| line.starts_with("sync") || line.starts_with("close")), "{log:?}");
    assert!(bakeoff.trials().iter().all(|trial| trial.phases.len() == 2 && trial.closing.is_some()));
}

#[test]
fn of_mixed_turns_every_second_contender_takes_its_slices_at_once() {
    let bakeoff = Bakeoff::new(1).mixed();
    let (ended, _) = bakeoff.run();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    let slices = bakeoff.slices();
    assert_eq!(slices.len(), 5, "{slices:?}");
    assert!(slices.iter().all(|engine| *engine == slices[0]), "{slices:?}");
    assert!(bakeoff.trials().iter().all(|trial| trial.phases.len() == 2 && trial.closing.is_some()));
}

#[test]
fn a_round_of_slices_that_is_stopped_keeps_nothing_and_is_done_again() {
    let bakeoff = Bakeoff::new(2).by_slices().stopping_after(2);
    let (ended, _) = bakeoff.run();
    assert_eq!((ended, pairs(&bakeoff)), (Ended::Stopped, vec![(0, 0), (0, 1)]));
    let (ended, _) = bakeoff.resume();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    assert_eq!(pairs(&bakeoff), [(0, 0), (0, 1), (1, 0), (1, 1)]);
}
