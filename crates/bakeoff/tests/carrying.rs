//! An exported run is the same run elsewhere; files that are not results of a supported program are refused.

mod support;

use ledger::{Access, Ledger, RunStatus};
use support::Place;

#[test]
fn an_exported_run_gives_the_same_tables_elsewhere() {
    let (here, there) = (Place::in_memory(), Place::in_memory());
    here.bakeoff("run small-files --dir . --set files=60 --set some=20 --samples 2 --plain --no-report").well();
    here.bakeoff("export -o run.json").well();
    here.bakeoff("export -o run.json").refused(&["run.json", "exists"]);
    there.bakeoff(&format!("import {}", here.path("run.json").display())).well();
    let (mine, theirs) = (here.bakeoff("show --csv").well().out, there.bakeoff("show --csv").well().out);
    assert_eq!(mine, theirs);
    there.bakeoff("resume").refused(&["it is an imported run"]);
}

#[test]
fn an_anonymous_export_names_neither_host_nor_folder() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("annas-disk")).expect("made");
    place
        .bakeoff("run small-files --dir annas-disk --set files=60 --set some=20 --samples 2 --plain --no-report")
        .well();
    place.bakeoff("export --anonymous -o run.json").well();
    let text = std::fs::read_to_string(place.path("run.json")).expect("written");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
    let host = format!("\"{}\"", host.trim());
    assert!(!text.contains(&host), "the host's name is in it");
    assert!(!text.contains(&*place.folder().to_string_lossy()), "the folder's path is in it");
    assert!(!text.contains("annas-disk"), "the folder's name is in it");
}

#[test]
fn a_file_that_no_program_wrote_is_refused_and_leaves_no_ledger() {
    let place = Place::new();
    place.write("notes.txt", "ext4 felt faster");
    place.bakeoff("import notes.txt").refused(&["notes.txt", "not a result of fio"]);
    assert!(!place.path("bakeoff.db").exists());
}

#[test]
fn a_finished_run_goes_on_to_more_blocks() {
    let place = Place::in_memory();
    place
        .bakeoff("run small-files --dir . --set files=60 --set some=20 --samples=2 --seed 5 --plain --no-report")
        .well();
    place.bakeoff("resume --no-report").refused(&["finished", "--samples"]);
    place.bakeoff("resume --samples 1 --no-report").refused(&["has 2 rounds already"]);
    let blocks = || {
        let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens");
        let run = ledger.run(None).expect("the run");
        let mut blocks: Vec<u32> = ledger.trials(&run.id).expect("trials").iter().map(|trial| trial.block).collect();
        blocks.dedup();
        (run.status, blocks, run.new.command_line.join(" "))
    };
    let (status, two, _) = blocks();
    assert_eq!((status, two), (RunStatus::Finished, vec![0, 1]));
    // Another user's ledger must not decide what a resumed run does, but can be read.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(place.path("bakeoff.db"), Some(54321), None).expect("root may");
        place.bakeoff("resume --samples 3 --plain --no-report").refused(&["bakeoff.db", "belongs to user 54321"]);
        place.bakeoff("show").well();
        std::os::unix::fs::chown(place.path("bakeoff.db"), Some(0), None).expect("root may");
        assert_eq!(blocks().1, [0, 1]);
    }
    place.bakeoff("resume --samples 3 --plain --no-report").well();
    let output = place.bakeoff("show --full").well().out;
    let (status, three, line) = blocks();
    assert_eq!((status, three), (RunStatus::Finished, vec![0, 1, 2]));
    assert!(line.ends_with("--samples 3") && !line.contains("--samples=2"), "{line}");
    assert!(output.contains("3 rounds"), "{output}");
}
