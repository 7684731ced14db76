//! Ages from a user's view: axes on the command line, the same tree on every filesystem, no incomplete images after kills.
//! In: small images with loop devices. Out: the program's output, the images that it keeps and its leftovers.
//! Without root nothing can be formatted; the tests report that and pass.

mod support;

use ledger::{Access, Ledger, RunStatus, TrialRecord, TrialStatus};
use records::AgedState;
use records::ageing::Layout;
use std::collections::BTreeSet;
use std::time::Duration;
use support::{Place, leftovers, root};

/// A profile that takes a second or two on 400 MiB.
const SHORT: &str = r#"
about = "short"
fill = "50%"
sizes = [["4 KiB", "40%"], ["64 KiB", "90%"], ["1 MiB", "100%"]]
sync = "16 MiB"
[churn]
written = 0.3
mix = { create = 30, append = 25, overwrite = 15, truncate = 5, rename = 5, delete = 20 }
short-lived = "50%"
short-life = 100
"#;

fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path("config/bakeoff/ages")).expect("made");
    place.write("config/bakeoff/ages/short.toml", SHORT);
    place
}

fn trials(place: &Place) -> Vec<TrialRecord> {
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens");
    let run = ledger.run(None).expect("the run");
    ledger.trials(&run.id).expect("trials")
}

/// The recorded state of the aged volume on which a trial started; none for a fresh one.
fn aged_state(trial: &TrialRecord) -> Option<&AgedState> {
    Some(&trial.found.as_ref()?.aged.as_ref()?.state)
}

const RUN: &str = "run small-files --fs ext4,xfs,btrfs --image 320MiB --age fresh,short --samples 1 --set files=300 \
                   --set some=50 --no-twin --seed 7 --plain --no-report --scratch .";
const KILLED: &str = "run small-files --fs ext4,btrfs --image 320MiB --age short --samples 2 --set files=300 \
                      --set some=50 --no-twin --seed 7 --plain --no-report --scratch .";

#[test]
fn the_same_seed_leaves_the_same_tree_on_every_filesystem_and_is_made_once() {
    if !root("aged runs") {
        return;
    }
    let place = place();
    let output = place.bakeoff(RUN).well();
    assert_eq!(output.err.matches("ageing ").count(), 3, "each filesystem is aged once: {}", output.err);
    // A disturbed trial is repeated; only first attempts are checked here.
    let trials: Vec<TrialRecord> = trials(&place).into_iter().filter(|trial| trial.attempt == 0).collect();
    assert!(trials.iter().all(|trial| trial.status != TrialStatus::Failed), "{trials:?}");
    let aged: Vec<&TrialRecord> = trials.iter().filter(|trial| aged_state(trial).is_some()).collect();
    assert_eq!((trials.len(), aged.len()), (6, 3));
    let layouts: Vec<&Layout> = aged.iter().filter_map(|trial| Some(&aged_state(trial)?.layout)).collect();
    let trees: BTreeSet<(u64, u64, u64)> =
        layouts.iter().map(|layout| (layout.tree_hash, layout.files, layout.bytes)).collect();
    assert_eq!(trees.len(), 1, "the tree is the same on every filesystem: {trees:?}");
    assert!(layouts.iter().all(|layout| layout.layout_score.is_some()));
    let shown = place.bakeoff("show --full").well().out;
    for words in ["ext4 fresh", "ext4 short", "layout score", "on a fresh filesystem", "after ageing (short)"] {
        assert!(shown.contains(words) || shown.replace('\n', " ").contains(words), "`{words}` is missing: {shown}");
    }
    // A second run finds the images; `clean` lists what is kept, and removes it only on request.
    let again = place.bakeoff(&RUN.replace("--fs ext4,xfs,btrfs", "--fs ext4 --ledger other.db")).well();
    assert!(!again.err.contains("ageing "), "{}", again.err);
    let kept = place.bakeoff("clean --scratch .").well().out;
    assert!(kept.contains("kept for the next run") && kept.contains("ext4 short 50%"), "{kept}");
    place.bakeoff("clean --scratch . --aged").well();
    assert!(!place.bakeoff("clean --scratch .").well().out.contains("ext4 short"));
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn a_run_killed_while_ageing_or_restoring_resumes_and_takes_no_half_made_image() {
    if !root("killed aged runs") {
        return;
    }
    let kills: u64 = std::env::var("BAKEOFF_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let place = place();
    let mut started = false;
    let mut landed = 0;
    for turn in 0..kills {
        let mut child = place.start(if started { "resume --plain --no-report" } else { KILLED });
        // Delays spread over ageing, saving, restoring and work; the multiplier only scatters them.
        std::thread::sleep(Duration::from_millis(300 + (turn * 7919 + 411) % 2300));
        let ended = child.try_wait().expect("the child can be asked").is_some();
        child.kill().expect("SIGKILL is sent");
        child.wait().expect("the child is reaped");
        landed += u64::from(!ended);
        started = started || Ledger::open(&place.path("bakeoff.db"), Access::Read).is_ok_and(|l| l.run(None).is_ok());
        if ended {
            break;
        }
    }
    assert!(landed > 0, "no kill met a running process");
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens");
    if !started || ledger.run(None).is_ok_and(|run| run.status != RunStatus::Finished) {
        place.bakeoff(if started { "resume --plain --no-report" } else { KILLED }).well();
    }
    let trials = trials(&place);
    let done: BTreeSet<(u32, u32)> = trials
        .iter()
        .filter(|trial| trial.status != TrialStatus::Failed)
        .map(|trial| (trial.block, trial.contender))
        .collect();
    assert_eq!(done.len(), 4, "two blocks of two contenders: {trials:?}");
    // Each trial started on a verified image, and all of one contender on the same tree.
    let trees: BTreeSet<u64> = trials.iter().filter_map(|trial| Some(aged_state(trial)?.layout.tree_hash)).collect();
    assert_eq!(trees.len(), 1, "{trees:?}");
    place.bakeoff("clean --scratch . --aged").well();
    let cache = std::fs::read_dir(place.path("bakeoff-aged")).expect("the cache's folder");
    let left: Vec<_> = cache.flatten().map(|entry| entry.file_name()).filter(|name| name != "lock").collect();
    assert_eq!(left, Vec::<std::ffi::OsString>::new());
    assert_eq!(leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn a_fill_that_metadata_limits_goes_as_far_as_it_can_and_is_reported() {
    if !root("full filesystems") {
        return;
    }
    let place = place();
    place
        .bakeoff(
            "run aged-read --fs btrfs,ext4 --image 300MiB --age short --fill 95% --samples 1 --no-twin --plain \
             --no-report --scratch .",
        )
        .well();
    let shown = place.bakeoff("show --full").well().out.replace('\n', " ");
    assert!(shown.contains("failed for lack of space"), "{shown}");
    let trials = trials(&place);
    let of = |index: u32| trials.iter().find(|trial| trial.contender == index).expect("a trial");
    let history = |index: u32| &aged_state(of(index)).expect("it was aged").history;
    assert_eq!(history(0).history_hash, history(1).history_hash, "the history went on in the same order");
    assert!(history(0).no_space > 0, "{:?}", history(0));
}

#[test]
fn ages_are_planned_and_misspelt_ones_are_named() {
    let place = place();
    let plan = place.bakeoff("plan small-files --fs ext4 --image 400MiB --age fresh,old --fill 0,80% --scratch .");
    let output = plan.well().out;
    for words in ["ext4 fresh", "ext4 old 80%", "Ageing: 1 filesystem, once", "restored for each trial"] {
        assert!(output.contains(words), "`{words}`: {output}");
    }
    let plan =
        place.bakeoff("plan aged-read --fs ext4 --image 600MiB --age old --fill 80% --samples 3 --no-twin --scratch .");
    let output = plan.well().out;
    // 480 MiB are read, written, verified, and read by the work, at 300 MB/s, plus 1 s for all else.
    assert!(output.contains("reads 0 B, and all aged files") && output.contains("roughly 7.7 s per round"), "{output}");
    let line = "plan small-files --fs ext4 --image 400MiB --age odl";
    place.bakeoff(line).refused(&["unknown age", "did you mean `old`?"]);
    place.bakeoff("plan small-files --fs ext4 --image 400MiB --fill 140%").refused(&["--fill", "0 to 99%"]);
    place.bakeoff("plan small-files --fs ext4 --image 400MiB --axis fill=100%").refused(&["100%", "0 to 99%"]);
    place.bakeoff("run small-files --dir . --age old").refused(&["--dir", "--age"]);
}
