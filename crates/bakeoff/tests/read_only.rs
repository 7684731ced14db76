//! A ledger that cannot be written can be read: another user's, and one on a read-only medium.

mod support;

use ledger::{Access, Ledger};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use support::{Place, root};

const RUN: &str = "run small-files --dir . --set files=60 --set some=20 --samples 2 --plain --no-report";

/// A filesystem in memory, unmounted on drop.
struct Medium {
    point: PathBuf,
}

impl Medium {
    fn new(place: &Place) -> Self {
        let point = place.path("medium");
        fs::create_dir(&point).expect("made");
        mount(&["-t", "tmpfs", "-o", "size=16m", "bakeoff-test"], &point);
        Self { point }
    }

    fn seal(&self) {
        mount(&["-o", "remount,ro"], &self.point);
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.point).status();
    }
}

fn mount(words: &[&str], point: &std::path::Path) {
    assert!(Command::new("mount").args(words).arg(point).status().expect("mount runs").success());
}

fn all_verbs(place: &Place, ledger: &str, before: &str) {
    let run = |words: &str| place.shell(&format!("{before} $BAKEOFF --ledger {ledger} {words}")).well();
    let runs = run("show --runs").out;
    let ids: Vec<&str> = runs.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids.len(), 2, "{runs}");
    for words in ["show", "show --json", "claims", &format!("compare {} {}", ids[0], ids[1])] {
        run(words);
    }
    run("report -o out --format csv,html");
    run("export -o out.json");
    fs::remove_dir_all(place.path("out")).expect("removed");
    fs::remove_file(place.path("out.json")).expect("removed");
}

#[test]
fn every_verb_that_looks_works_on_a_read_only_medium() {
    if !root("mounting") {
        return;
    }
    let place = Place::in_memory();
    let medium = Medium::new(&place);
    for _ in 0..2 {
        place.bakeoff(&format!("{RUN} --ledger medium/bakeoff.db")).well();
    }
    medium.seal();
    all_verbs(&place, "medium/bakeoff.db", "");
    place.bakeoff("import medium/bakeoff.db").well();
    place.bakeoff("--ledger medium/bakeoff.db resume").refused(&["Read-only file system", "--ledger"]);
}

#[test]
fn every_reading_verb_works_for_a_user_without_write_permission() {
    if !root("dropping root") {
        return;
    }
    let place = Place::in_memory();
    fs::create_dir(place.path("theirs")).expect("made");
    for _ in 0..2 {
        place.bakeoff(&format!("{RUN} --ledger theirs/bakeoff.db")).well();
    }
    fs::set_permissions(place.path("theirs/bakeoff.db"), fs::Permissions::from_mode(0o444)).expect("ours");
    fs::set_permissions(place.path("theirs"), fs::Permissions::from_mode(0o555)).expect("ours");
    fs::set_permissions(place.folder(), fs::Permissions::from_mode(0o777)).expect("ours");
    let before: Vec<_> = fs::read_dir(place.path("theirs")).expect("listed").flatten().map(|e| e.file_name()).collect();
    all_verbs(&place, "theirs/bakeoff.db", "setpriv --reuid=65534 --regid=65534 --clear-groups");
    let after: Vec<_> = fs::read_dir(place.path("theirs")).expect("listed").flatten().map(|e| e.file_name()).collect();
    assert_eq!(before, after, "nothing was made beside it");
}

#[test]
fn the_log_of_a_killed_run_is_read_on_a_read_only_medium_too() {
    if !root("mounting") {
        return;
    }
    let place = Place::in_memory();
    place.bakeoff(RUN).well();
    // Kept open, so that the write-ahead log stays; copied without its index, as after a crash.
    let writer = Ledger::open(&place.path("bakeoff.db"), Access::Write).expect("opened");
    place.bakeoff("export -o run.json").well();
    drop(writer);
    let other = place.path("other.db");
    let mut writer = Ledger::open(&other, Access::Write).expect("opened");
    let read = ledger::import::import_file(&place.path("run.json")).expect("read");
    writer.keep_read(vec![read]).expect("kept");
    assert!(fs::metadata(place.path("other.db-wal")).is_ok_and(|log| log.len() > 0), "what was kept is in the log");
    let medium = Medium::new(&place);
    for name in ["other.db", "other.db-wal"] {
        fs::copy(place.path(name), medium.point.join(name)).expect("copied");
    }
    drop(writer);
    medium.seal();
    let runs = place.bakeoff("--ledger medium/other.db show --runs").well().out;
    assert_eq!(runs.lines().count(), 1, "{runs}");
}

#[test]
fn an_older_ledger_is_shown_where_it_cannot_be_brought_up_to_date() {
    if !root("mounting") {
        return;
    }
    let place = Place::in_memory();
    let medium = Medium::new(&place);
    let older = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ledgers/0.1/plain.db.gz");
    place.shell(&format!("gzip -dc {older} > medium/older.db")).well();
    medium.seal();
    let before = fs::read(medium.point.join("older.db")).expect("read");
    let shown = place.bakeoff("--ledger medium/older.db show").well().out;
    assert!(shown.contains("small-files"), "{shown}");
    assert_eq!(fs::read(medium.point.join("older.db")).expect("read"), before);
}
