//! Transient failures cost a trial but not a contender, and a removed ledger is noticed at once.
//! In: a mkfs that is killed once, a ledger that is removed during a run. Out: the content of the ledger, and the program's output.

mod support;

use ledger::{Access, Cause, Ledger, TrialStatus};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use support::{Place, root};

#[test]
fn a_mkfs_that_is_killed_once_costs_an_attempt_and_no_contender() {
    if !root("formatting images") {
        return;
    }
    let place = Place::new();
    // Only when it formats: mkfs is also run to print its version.
    let killed = place.path("killed").display().to_string();
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = -F ] && [ ! -e {killed} ]; then touch {killed}; kill -KILL $$; fi\n\
         exec /usr/sbin/mkfs.ext2 \"$@\"\n"
    );
    std::fs::create_dir(place.path("bin")).expect("made");
    let tool = place.write("bin/mkfs.ext2", &text);
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let run = "run small-files --fs ext2 --image 100MiB --samples 1 --set files=100 --set some=20 --no-twin --plain --no-report \
               --scratch .";
    let ended = place.start_with(run, &[("PATH", path.as_str())]).wait().expect("it ends");
    assert!(ended.success(), "{ended:?}");
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens");
    let id = ledger.run(None).expect("the run").id;
    let trials = ledger.trials(&id).expect("trials");
    assert_eq!((trials[0].status, trials[0].cause), (TrialStatus::Failed, Some(Cause::Passing)), "{trials:?}");
    assert!(trials[1..].iter().any(|trial| trial.status != TrialStatus::Failed), "{trials:?}");
    assert!(trials.iter().all(|trial| trial.seconds.is_some_and(|seconds| seconds >= 0.0)));
    assert_eq!(ledger.contenders(&id).expect("contenders")[0].error, None);
}

#[test]
fn a_ledger_that_is_removed_under_a_run_ends_it_with_the_way_to_go_on() {
    let place = Place::in_memory();
    let directory = place.folder().display().to_string();
    let run = format!(
        "run small-files --dir {directory} --samples 1000 --set files=100 --set some=20 --no-twin --plain --no-report"
    );
    let mut child = place.start(&run);
    let end = Instant::now() + Duration::from_secs(120);
    let kept = || {
        let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).ok()?;
        let run = ledger.run(None).ok()?;
        Some(ledger.trials(&run.id).ok()?.len())
    };
    while kept().is_none_or(|trials| trials < 2) {
        assert!(Instant::now() < end, "no trial was kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_file(place.path("bakeoff.db")).expect("removed");
    let ended = child.wait().expect("it ends by itself");
    assert!(!ended.success());
    assert!(!place.path("bakeoff.db").exists(), "no new file without the run in it");
    let saved = std::fs::read_dir(place.folder()).expect("there").flatten().map(|entry| entry.path());
    let saved = saved.into_iter().find(|path| path.to_string_lossy().contains(".db.saved-")).expect("it was saved");
    let ledger = Ledger::open(&saved, Access::Read).expect("a ledger");
    let id = ledger.run(None).expect("the run").id;
    assert!(ledger.trials(&id).expect("trials").len() >= 2);
}
