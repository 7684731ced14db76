//! A ledger that decides which commands run and which devices are formatted is opened only if no user but the caller and root can have
//! written it. Each case is one arrangement that another user can create. Reading stays possible in all of them.

use ledger::{Access, Ledger, LedgerError, NewRun, Origin};
use prerequisites::needs;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

const STRANGER: u32 = 54321;

/// A ledger with a run, in its own folder within a sticky one.
struct Shared {
    _outer: tempfile::TempDir,
    outer: PathBuf,
    ledger: PathBuf,
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("mode is set");
}

fn give_away(path: &Path) {
    chown(path, Some(STRANGER), Some(STRANGER)).expect("root may");
}

impl Shared {
    fn new() -> Self {
        let outer = tempfile::tempdir().expect("a folder");
        let path = outer.path().canonicalize().expect("there");
        mode(&path, 0o1777);
        let inner = path.join("own");
        fs::create_dir(&inner).expect("made");
        mode(&inner, 0o755);
        let ledger = inner.join("bakeoff.db");
        write_run(&ledger);
        Shared { _outer: outer, outer: path, ledger }
    }

    /// The same ledger directly in the sticky folder.
    fn sticky(&self) -> PathBuf {
        let path = self.outer.join("bakeoff.db");
        fs::copy(&self.ledger, &path).expect("copied");
        path
    }

    fn next_to_it(&self, ending: &str) -> PathBuf {
        PathBuf::from(format!("{}{ending}", self.ledger.display()))
    }
}

fn write_run(path: &Path) {
    let mut ledger = Ledger::open(path, Access::Write).expect("a ledger");
    let new = NewRun {
        title: "a run".into(),
        plan: None,
        seed: 1,
        machine: None,
        merged: None,
        version: "0.1.0".into(),
        command_line: Vec::new(),
        origin: Origin::Measured,
        works: Vec::new(),
    };
    ledger.begin_run(&new, &[]).expect("a run begins");
}

/// The refusal names the file or folder at fault, and reading still works.
fn refused(path: &Path, at_fault: &Path, why: &str) {
    let error = Ledger::open_trusted(path).expect_err("it is not trusted");
    let text = error.to_string();
    assert!(matches!(error, LedgerError::Untrusted { .. }), "{text}");
    assert!(text.contains(&at_fault.display().to_string()) && text.contains(why), "{text}");
    assert!(text.contains("bakeoff show") && text.contains("--ledger"), "it names a way out: {text}");
    let read = Ledger::open(path, Access::Read).and_then(|ledger| ledger.runs());
    assert_eq!(read.expect("anyone's ledger is read").len(), 1);
}

#[test]
fn ones_own_ledger_is_trusted_also_directly_in_a_sticky_folder() {
    let shared = Shared::new();
    for path in [shared.ledger.clone(), shared.sticky()] {
        assert_eq!(Ledger::open_trusted(&path).expect("it is one's own").runs().expect("runs").len(), 1);
    }
    let link = shared.outer.join("link.db");
    symlink(&shared.ledger, &link).expect("linked");
    Ledger::open_trusted(&link).expect("one's own link");
}

#[test]
fn a_ledger_or_a_folder_that_others_can_write_is_not_trusted() {
    let shared = Shared::new();
    let folder = shared.ledger.parent().expect("a folder").to_owned();
    mode(&shared.ledger, 0o666);
    refused(&shared.ledger, &shared.ledger, "can be written by everybody");
    mode(&shared.ledger, 0o664);
    refused(&shared.ledger, &shared.ledger, "can be written by its group");
    mode(&shared.ledger, 0o644);
    mode(&folder, 0o777);
    refused(&shared.ledger, &folder, "can be written by everybody");
    mode(&folder, 0o755);
    mode(&shared.outer, 0o777);
    refused(&shared.ledger, &shared.outer, "can be written by everybody");
    mode(&shared.outer, 0o1777);
    Ledger::open_trusted(&shared.ledger).expect("as it was");
}

#[test]
fn files_next_to_a_ledger_that_others_can_write_are_not_trusted() {
    for ending in ["-wal", "-shm", ".lock"] {
        let shared = Shared::new();
        let file = shared.next_to_it(ending);
        fs::write(&file, "").expect("written");
        mode(&file, 0o666);
        refused(&shared.ledger, &file, "can be written by everybody");
    }
}

#[test]
fn a_ledger_of_another_user_is_not_trusted_wherever_it_is() {
    needs!(root);
    let shared = Shared::new();
    let sticky = shared.sticky();
    give_away(&sticky);
    refused(&sticky, &sticky, "belongs to user 54321");
    let folder = shared.ledger.parent().expect("a folder").to_owned();
    give_away(&folder);
    refused(&shared.ledger, &folder, "belongs to user 54321");
    chown(&folder, Some(0), Some(0)).expect("root may");
    let link = shared.outer.join("link.db");
    symlink(&shared.ledger, &link).expect("linked");
    std::os::unix::fs::lchown(&link, Some(STRANGER), None).expect("root may");
    refused(&link, &link, "belongs to user 54321");
}

#[test]
fn a_log_or_lock_that_another_user_put_next_to_ones_own_ledger_is_not_trusted() {
    needs!(root);
    for ending in ["-wal", "-shm", "-journal", ".lock"] {
        let shared = Shared::new();
        let path = shared.sticky();
        let file = PathBuf::from(format!("{}{ending}", path.display()));
        fs::write(&file, "").expect("written");
        give_away(&file);
        let before = fs::read(&path).expect("read");
        let text = Ledger::open_trusted(&path).expect_err("not trusted").to_string();
        assert!(text.contains(&file.display().to_string()) && text.contains("user 54321"), "{text}");
        assert_eq!(fs::read(&path).expect("read"), before, "nothing of it is taken over");
    }
}
