//! Output never replaces a user's files: neither by name nor through a link.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use support::Place;

const RUN: &str = "run small-files --dir . --set files=60 --set some=20 --samples 2 --plain";

/// A place with a finished run, and a folder `mine` with a user's file in it.
fn measured() -> Place {
    let place = Place::in_memory();
    place.bakeoff(&format!("{RUN} --no-report")).well();
    fs::create_dir(place.path("mine")).expect("made");
    place.write("mine/thesis.txt", "years of work");
    place
}

fn holds(place: &Place, name: &str, text: &str) {
    assert_eq!(fs::read_to_string(place.path(name)).expect("it is there"), text, "{name}");
}

#[test]
fn a_report_goes_into_no_folder_that_holds_anything_else() {
    let place = measured();
    place.bakeoff("report -o mine --format csv,pdf").refused(&["pdf", "markdown"]);
    place.bakeoff("report -o mine --format csv").refused(&["mine", "not empty", "did not make it", "-o"]);
    place.bakeoff("report -o .").refused(&["not empty"]);
    assert_eq!(fs::read_dir(place.path("mine")).expect("listed").count(), 1);
    place.bakeoff("report -o mine/thesis.txt --format csv").refused(&["mine/thesis.txt"]);
    holds(&place, "mine/thesis.txt", "years of work");
    fs::create_dir(place.path("empty")).expect("made");
    place.bakeoff("report -o empty --format csv").well();
}

#[test]
fn a_run_refuses_a_report_folder_in_use_before_it_measures() {
    let place = Place::in_memory();
    fs::create_dir(place.path("mine")).expect("made");
    place.write("mine/thesis.txt", "years of work");
    place.bakeoff(&format!("{RUN} --report mine")).refused(&["mine", "not empty", "--report"]);
    assert!(!place.path("bakeoff.db").exists());
}

#[test]
fn a_report_is_replaced_by_the_next_and_a_users_files_in_it_stay() {
    let place = measured();
    place.bakeoff("report -o out --format csv,json").well();
    place.write("out/notes.md", "look at the second table");
    place.write("out/tables/notes.md", "and at this");
    place.bakeoff("report -o out --format csv").well();
    assert!(place.path("out/results.json").exists(), "another form of the same run stays");
    place.bakeoff(&format!("{RUN} --seed 9 --no-report")).well();
    place.bakeoff("report -o out --format csv").well();
    assert!(!place.path("out/results.json").exists(), "a form of another run would be taken for this one's");
    holds(&place, "out/notes.md", "look at the second table");
    holds(&place, "out/tables/notes.md", "and at this");
    place.write("out/results.ods", "a sheet of my own");
    place.bakeoff("report -o out --format ods").refused(&["results.ods", "did not write it"]);
    holds(&place, "out/results.ods", "a sheet of my own");
}

#[test]
fn a_report_follows_no_links() {
    let place = measured();
    symlink("mine", place.path("link")).expect("linked");
    place.bakeoff("report -o link --format csv").refused(&["link is a symbolic link"]);
    place.bakeoff("report -o out --format csv").well();
    for (name, target) in [("out/samples.csv", "mine/thesis.txt"), ("out/.bakeoff-report", "mine/thesis.txt")] {
        fs::rename(place.path(name), place.path("kept")).expect("moved");
        symlink(place.path(target), place.path(name)).expect("linked");
        // A link with the name of our file is replaced itself; a link in place of the marker file that identifies our folder is refused.
        let output = place.bakeoff("report -o out --format csv");
        if name == "out/samples.csv" {
            output.well();
            assert!(!place.path(name).is_symlink());
        } else {
            output.refused(&["symbolic link"]);
        }
        holds(&place, target, "years of work");
        fs::rename(place.path("kept"), place.path(name)).expect("moved back");
    }
    fs::rename(place.path("out/tables"), place.path("tables")).expect("moved");
    symlink(place.path("mine"), place.path("out/tables")).expect("linked");
    place.bakeoff("report -o out --format csv").refused(&["tables is a symbolic link"]);
    assert_eq!(fs::read_dir(place.path("mine")).expect("listed").count(), 1);
}

#[test]
fn a_default_name_that_is_taken_is_refused_too() {
    let place = measured();
    let run = place.bakeoff("show --runs").well().out.split_whitespace().next().expect("an id").to_owned();
    symlink("mine", place.path(&format!("bakeoff-report-{run}"))).expect("linked");
    place.bakeoff("report --format csv").refused(&["symbolic link"]);
    symlink("mine/thesis.txt", place.path(&format!("bakeoff-{run}.json"))).expect("linked");
    place.bakeoff("export").refused(&["exists", "-o"]);
    holds(&place, "mine/thesis.txt", "years of work");
}

#[test]
fn an_export_takes_no_name_that_is_there() {
    let place = measured();
    place.bakeoff("export -o mine/thesis.txt").refused(&["mine/thesis.txt", "exists"]);
    symlink("nowhere", place.path("link")).expect("linked");
    place.bakeoff("export -o link").refused(&["link", "exists"]);
    assert!(!place.path("nowhere").exists());
    holds(&place, "mine/thesis.txt", "years of work");
}

#[test]
fn manual_pages_replace_their_own_kind_only() {
    let place = measured();
    place.bakeoff("manual --folder pages").well();
    place.bakeoff("manual --folder pages").well();
    place.write("pages/bakeoff-run.1", "my own page");
    place.bakeoff("manual --folder pages").refused(&["bakeoff-run.1", "did not write it"]);
    holds(&place, "pages/bakeoff-run.1", "my own page");
    fs::remove_file(place.path("pages/bakeoff-run.1")).expect("removed");
    symlink(place.path("mine/thesis.txt"), place.path("pages/bakeoff-run.1")).expect("linked");
    place.bakeoff("manual --folder pages").refused(&["symbolic link"]);
    holds(&place, "mine/thesis.txt", "years of work");
}

#[test]
fn a_log_is_appended_to_only_where_it_is_ours() {
    let place = measured();
    let lines = |name: &str| fs::read_to_string(place.path(name)).expect("a log").lines().count();
    let before = lines("bakeoff.log");
    place.bakeoff(&format!("{RUN} --no-report")).well();
    assert!(lines("bakeoff.log") > before);
    for name in ["soft", "own"] {
        if name == "soft" {
            symlink(place.path("mine/thesis.txt"), place.path("soft.log")).expect("linked");
        } else {
            place.write("own.log", "years of work");
        }
        let run = place.bakeoff(&format!("{RUN} --no-report --ledger {name}.db")).well();
        assert!(run.err.contains("no log is written"), "{run:#?}");
        holds(&place, &format!("{name}.log"), "years of work");
    }
    // A ledger with the name of its own log.
    place.bakeoff(&format!("{RUN} --no-report --ledger both.log")).well();
    place.bakeoff("show --ledger both.log").well();
}
