//! A few of the hostile layouts of `scripts/torture`, each named in a few ways: nothing that is somebody's changes.
//! All of them, and the kills, are `make torture`; docs/torture.md says what they build.

mod support;

use std::path::Path;
use std::process::Command;
use support::root;

#[test]
fn nothing_changes_in_the_hostile_layouts_of_every_day() {
    if !root("hostile layouts") {
        return;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("hostile layouts: skipped, python3 is not installed");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/torture");
    let tried = Command::new(script)
        .args(["--quick", env!("CARGO_BIN_EXE_bakeoff")])
        .output()
        .expect("the script starts");
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{said}{}", String::from_utf8_lossy(&tried.stderr));
    assert!(said.contains(" ok ") || said.lines().any(|line| line.starts_with("ok")), "it tried nothing: {said}");
}
