//! A run that is killed at any moment loses nothing, counts nothing twice, and leaves nothing behind.
//! `BAKEOFF_KILLS=50` gives the long form; the default is short.

mod support;

use ledger::{Access, Ledger, RunStatus, TrialStatus};
use std::collections::BTreeSet;
use std::time::Duration;
use support::{Disk, Place, leftovers, root};

const RUN: &str = "run small-files --fs ext4,xfs,btrfs --image 400MiB --samples 2 --set files=300 --set some=50 \
                   --no-twin --seed 7 --plain --no-report --scratch .";

#[test]
fn a_killed_run_resumes_with_nothing_lost_and_nothing_twice_and_clean_leaves_nothing() {
    if !root("killed runs") {
        return;
    }
    resumes_after_kills(RUN);
}

#[test]
fn a_run_by_slices_that_is_killed_resumes_likewise() {
    if !root("killed runs") {
        return;
    }
    resumes_after_kills(&format!("{RUN} --turns slice"));
}

#[test]
fn a_run_on_parts_of_a_device_that_is_killed_resumes_likewise() {
    if !root("killed runs") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::new(folder.path().join("disk.raw"), 1200 << 20);
    let (node, file) = (&disk.node, disk.file.display());
    resumes_after_kills(&RUN.replace("--image 400MiB", &format!("--on {node} --split --erase {file}")));
    assert_eq!(disk.partitions(), Vec::<String>::new());
}

#[test]
fn turns_by_slices_have_all_contenders_mounted_at_once_or_say_why_not() {
    if !root("turns by slices") {
        return;
    }
    let place = Place::new();
    let one = RUN.replace("--samples 2", "--samples 1");
    place.bakeoff(&format!("{one} --turns slice")).well();
    let log = std::fs::read_to_string(place.path("bakeoff.log")).expect("the log");
    let (before, after) = log.split_once("create").expect("the first phase");
    assert_eq!(before.matches("making and mounting").count(), 3, "{log}");
    assert_eq!(after.matches("unmounting and checking").count(), 3, "{log}");
    assert!(!before.contains("unmounting"), "{log}");
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
    for folder in ["here", "there"] {
        std::fs::create_dir(place.path(folder)).expect("made");
    }
    let work = "run small-files --dir here --dir there --samples 1 --set files=50 --set some=10 --no-twin --plain --no-report --turns slice";
    let planned = place.bakeoff(&work.replace("run", "plan").replace(" --plain --no-report", "")).well();
    assert!(planned.out.contains("Turns: by whole trials: they share one place"), "{}", planned.out);
    let run = place.bakeoff(work).well();
    assert!(run.err.contains("whole trials: they share one place"), "{}", run.err);
}

/// Starts a run, kills it repeatedly at different moments, and lets it finish.
fn resumes_after_kills(run: &str) {
    let kills: u64 = std::env::var("BAKEOFF_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let place = Place::new();
    let mut kept: Vec<(u32, u32)> = Vec::new();
    let mut landed = 0;
    let mut started = false;
    for turn in 0..kills {
        let mut child = place.start(if started { "resume --plain --no-report" } else { run });
        // Delays spread over staging, work and saving; the multiplier only scatters them.
        std::thread::sleep(Duration::from_millis(40 + (turn * 7919 + 1234) % 1900));
        let ended = child.try_wait().expect("the child can be asked").is_some();
        child.kill().expect("SIGKILL is sent");
        child.wait().expect("the child is reaped");
        landed += u64::from(!ended);
        started = started || Ledger::open(&place.path("bakeoff.db"), Access::Read).is_ok_and(|l| l.run(None).is_ok());
        if started {
            kept = check_whole(&place, &kept);
        }
        if ended {
            // The run finished before the kill: start another.
            started = false;
            kept.clear();
        }
    }
    assert!(landed > 0, "no kill met a running process");
    // The last kill may have hit a finished run that only had to print its answer.
    let is_over = Ledger::open(&place.path("bakeoff.db"), Access::Read)
        .is_ok_and(|ledger| ledger.run(None).is_ok_and(|run| run.status == RunStatus::Finished));
    if !started {
        place.bakeoff(run).well();
    } else if !is_over {
        place.bakeoff("resume --plain --no-report").well();
    }
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens");
    let run = ledger.run(None).expect("the run");
    assert_eq!(run.status, RunStatus::Finished);
    let done: BTreeSet<(u32, u32)> = ledger
        .trials(&run.id)
        .expect("trials")
        .iter()
        .filter(|trial| trial.status != TrialStatus::Failed)
        .map(|trial| (trial.block, trial.contender))
        .collect();
    assert_eq!(done.len(), 6, "two blocks of three contenders: {done:?}");
    place.bakeoff("clean --scratch .").well();
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

/// Every trial in the ledger is complete and unique, and earlier trials are still there.
fn check_whole(place: &Place, before: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens after a kill");
    let run = ledger.run(None).expect("the run is there");
    let trials = ledger.trials(&run.id).expect("the trials can be read");
    for trial in &trials {
        assert!(trial.status == TrialStatus::Failed || trial.phases.len() == 6, "{trial:?}");
    }
    let keys: Vec<(u32, u32)> =
        trials.iter().filter(|trial| trial.attempt == 0).map(|trial| (trial.block, trial.contender)).collect();
    let distinct: BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len(), "a trial counts twice");
    assert_eq!(keys[..before.len()], *before, "a trial was lost");
    keys
}
