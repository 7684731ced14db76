//! A run carried elsewhere is the same run; what is no result of any program is refused.

mod support;

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
    there.bakeoff("resume").refused(&["not measured here"]);
}

#[test]
fn an_anonymous_export_names_neither_host_nor_folder() {
    let place = Place::in_memory();
    place.bakeoff("run small-files --dir . --set files=60 --set some=20 --samples 2 --plain --no-report").well();
    place.bakeoff("export --anonymous -o run.json").well();
    let text = std::fs::read_to_string(place.path("run.json")).expect("written");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
    let host = format!("\"{}\"", host.trim());
    assert!(!text.contains(&host), "the host's name is in it");
    assert!(!text.contains(&*place.folder().to_string_lossy()), "the folder's path is in it");
}

#[test]
fn a_file_that_no_program_wrote_is_refused_and_leaves_no_ledger() {
    let place = Place::new();
    place.write("notes.txt", "ext4 felt faster");
    place.bakeoff("import notes.txt").refused(&["notes.txt", "no result of fio"]);
    assert!(!place.path("bakeoff.db").exists());
}
