//! A few of the hostile layouts of `scripts/torture`, each named in several ways: no foreign data changes.
//! In: the layouts that once destroyed data. Out: `ok` for each way. `make torture` runs all of them, and the kills: docs/torture.md.

use prerequisites::needs;
use std::path::Path;
use std::process::Command;

#[test]
fn nothing_of_anybody_changes_in_the_hostile_layouts_of_every_day() {
    needs!(root, loop_devices, python);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/torture");
    let tried =
        Command::new(script).args(["--quick", env!("CARGO_BIN_EXE_bakeoff")]).output().expect("the script starts");
    let text = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{text}{}", String::from_utf8_lossy(&tried.stderr));
    assert!(text.lines().filter(|line| line.starts_with("ok ")).count() > 20, "it tried too little: {text}");
}
