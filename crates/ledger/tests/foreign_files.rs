//! A ledger's own files never damage other files: locks, links, and files put in place of a ledger.

use ledger::{Access, Ledger, LedgerError};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a scratch folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn refused(&self, access: Access, words: &[&str]) {
        let error = Ledger::open(&self.path("bakeoff.db"), access).expect_err("refused").to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{word} is missing: {error}"));
    }
}

#[test]
fn a_lock_that_is_a_link_does_not_cost_what_it_leads_to() {
    let place = Place::new();
    fs::write(place.path("diary"), "dear diary").expect("written");
    symlink(place.path("diary"), place.path("bakeoff.db.lock")).expect("linked");
    place.refused(Access::Write, &["bakeoff.db.lock is a symbolic link"]);
    fs::remove_file(place.path("bakeoff.db.lock")).expect("removed");
    fs::hard_link(place.path("diary"), place.path("bakeoff.db.lock")).expect("linked");
    place.refused(Access::Write, &["bakeoff.db.lock is a hard link"]);
    assert_eq!(fs::read_to_string(place.path("diary")).expect("read"), "dear diary");
    assert!(!place.path("bakeoff.db").exists());
}

#[test]
fn a_file_that_only_has_the_name_of_a_lock_stays_as_it_is() {
    let place = Place::new();
    fs::write(place.path("bakeoff.db.lock"), "a poem about locks").expect("written");
    place.refused(Access::Write, &["bakeoff.db.lock is not a lock file of bakeoff"]);
    assert_eq!(fs::read_to_string(place.path("bakeoff.db.lock")).expect("read"), "a poem about locks");
}

#[test]
fn one_ledger_has_one_lock_by_whatever_name_it_is_opened() {
    let place = Place::new();
    symlink("real.db", place.path("bakeoff.db")).expect("linked");
    let writer = Ledger::open(&place.path("real.db"), Access::Write).expect("opened");
    place.refused(Access::Write, &["another bakeoff"]);
    drop(writer);
    Ledger::open(&place.path("bakeoff.db"), Access::Write).expect("one's own link is followed");
}

#[test]
fn no_ledger_is_made_through_a_link_that_leads_nowhere() {
    let place = Place::new();
    symlink(place.path("nothing"), place.path("bakeoff.db")).expect("linked");
    place.refused(Access::Write, &["a link that leads to", "does not exist"]);
    assert!(!place.path("nothing").exists());
}

#[test]
fn a_strangers_link_is_not_followed_to_make_a_ledger() {
    let place = Place::new();
    let victim = place.path("victim");
    symlink(&victim, place.path("bakeoff.db")).expect("linked");
    if std::os::unix::fs::lchown(place.path("bakeoff.db"), Some(54321), None).is_err() {
        return;
    }
    place.refused(Access::Write, &["is a symbolic link owned by user 54321"]);
    assert!(!victim.exists());
}

#[test]
fn a_ledger_that_is_no_regular_file_is_refused_at_once() {
    let place = Place::new();
    assert!(std::process::Command::new("mkfifo").arg(place.path("bakeoff.db")).status().expect("mkfifo").success());
    place.refused(Access::Read, &["not a regular file"]);
    place.refused(Access::Write, &["not a regular file"]);
    fs::remove_file(place.path("bakeoff.db")).expect("removed");
    fs::create_dir(place.path("bakeoff.db")).expect("made");
    place.refused(Access::Read, &["not a regular file"]);
    place.refused(Access::Write, &["not a regular file"]);
}

#[test]
fn a_ledger_that_was_removed_or_replaced_is_found_out() {
    let place = Place::new();
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Write).expect("opened");
    ledger.still_the_same().expect("nothing happened");
    fs::rename(place.path("bakeoff.db"), place.path("away")).expect("renamed");
    let error = ledger.still_the_same().expect_err("it is gone");
    assert!(matches!(error, LedgerError::Gone { .. }) && error.to_string().contains("was removed"), "{error}");
    fs::copy(place.path("away"), place.path("bakeoff.db")).expect("copied");
    assert!(ledger.still_the_same().expect_err("a copy").to_string().contains("was replaced"));
    fs::rename(place.path("away"), place.path("bakeoff.db")).expect("renamed");
    ledger.still_the_same().expect("it is back");
}

#[test]
fn saving_beside_a_ledger_follows_no_link() {
    let place = Place::new();
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Write).expect("opened");
    let saved = place.path(&format!("bakeoff.db.saved-{}", std::process::id()));
    symlink(place.path("victim"), &saved).expect("linked");
    assert_eq!(ledger.save_beside(), None, "a link is not followed");
    assert!(!place.path("victim").exists());
    fs::remove_file(&saved).expect("removed");
    assert_eq!(ledger.save_beside(), Some(saved.clone()));
    Ledger::open(&saved, Access::Read).expect("a whole ledger");
}
